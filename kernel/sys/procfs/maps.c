/* What a process has in its memory: its mappings, arguments and environment. */
#include "kernel/base/errno.h"
#include "kernel/fs/memfs.h"
#include "kernel/io/tree.h"
#include "kernel/proc/ptrace.h"
#include "kernel/sys/procfs/procfs_private.h"
#include "mm/object/object.h"
#include "mm/section/huge_pool.h"
#include "mm/space/aspace_read.h"

/* A reference to the address space of a process; NULL with the reason in *err, which is 0 when the
 * process has none any more. */
static struct aspace *space_of(const struct proc_id *who, int *err)
{
    struct aspace *as = NULL;
    ipl_t ipl;

    *err = proc_may_look_into(who);
    if (*err)
        return NULL;
    ipl = spin_lock(&process_lock);
    const struct process *p = proc_find_locked(who);
    if (p && p->aspace) {
        as = p->aspace;
        aspace_ref(as);
    }
    spin_unlock(&process_lock, ipl);
    return as;
}

/* As a tracer would, who needs not trace the process. The caller may keep the file open while the
 * process changes, so its right is looked at each time. */
long proc_copy_memory(const struct proc_id *who, uint64_t offset, vaddr_t ubuf, size_t n,
                      bool write)
{
    struct aspace *as = NULL;
    ipl_t ipl = spin_lock(&process_lock);
    const struct process *p = proc_find_locked(who);
    long r = p ? ptrace_access_locked(p) : 0;

    if (p && !r)
        as = ptrace_space_locked(p);
    spin_unlock(&process_lock, ipl);
    if (!as)
        return r ? -EACCES : 0;
    r = ptrace_copy(as, offset, ubuf, n, PTRACE_COPY_FORCED | (write ? PTRACE_COPY_WRITE : 0));
    aspace_unref(as);
    return r;
}

/* The heap as brk has it. */
static void heap_of(const struct proc_id *who, vaddr_t *start, vaddr_t *end)
{
    ipl_t ipl = spin_lock(&process_lock);
    const struct process *p = proc_find_locked(who);

    *start = p ? p->brk_start : 0;
    *end = p ? p->brk : 0;
    spin_unlock(&process_lock, ipl);
}

static const char *kind_of(const struct proc_id *who, const struct mapping_view *m)
{
    vaddr_t start, end;

    heap_of(who, &start, &end);
    if (m->stack)
        return "[stack]";
    if (m->section)
        return "[section]";
    return !m->shared && m->start < end && m->end > start ? "[heap]" : "";
}

/* The path of the file i, on the rest of a line. A name may contain a line feed. */
static void put_path(struct proc_text *t, struct inode *i)
{
    char *at = t->at + t->n;
    long used = tree_path_of(i, at, PROC_TEXT_BYTES - t->n);

    for (long k = 0; k < used - 1; k++)
        if (at[k] == '\n')
            at[k] = '?';
    if (used > 0)
        t->n += (size_t)used - 1;
}

static void put_mapping(const struct proc_id *who, const struct mapping_view *m,
                        struct proc_text *t)
{
    struct inode *i = m->object ? memfs_inode_of(m->object) : NULL;
    const char *kind = i ? "" : kind_of(who, m);
    uint32_t dev = i ? i->fs->dev : 0;

    proc_print(t, "%08lx-%08lx %c%c%c%c %08lx %02x:%02x %lu%s%s", m->start, m->end,
               m->prot & MAP_R ? 'r' : '-', m->prot & MAP_W ? 'w' : '-',
               m->prot & MAP_X ? 'x' : '-', m->shared ? 's' : 'p', m->offset, dev >> 8, dev & 0xFF,
               i ? i->ino : 0, i || *kind ? "          " : "", kind);
    if (i) {
        put_path(t, i);
        inode_unref(i);
    }
    proc_put(t, "\n", 1);
}

#define PAGE_KIB (PAGE_SIZE / 1024)

/* What of a mapping is in memory. -EINTR: the reader is to end. There is no storage from which
 * memory comes back, so private memory counts as modified, and files as clean. */
static int put_pages(struct aspace *as, const struct mapping_view *m, struct proc_text *t)
{
    struct mapping_pages n = {0};
    uint64_t unit = (m->huge ? HUGE_BYTES : PAGE_SIZE) / 1024;

    for (vaddr_t at = m->start; at < m->end;) {
        if (thread_killed())
            return -EINTR;
        at = aspace_count(as, m, at, m->end, &n);
    }
    proc_print(t,
               "Size:           %8lu kB\nKernelPageSize: %8lu kB\nMMUPageSize:    %8lu kB\n"
               "Rss:            %8lu kB\nPss:            %8lu kB\n",
               (m->end - m->start) / 1024, unit, unit, (n.own + n.forked + n.object) * PAGE_KIB,
               n.share_bytes / 1024);
    proc_print(t,
               "Shared_Clean:   %8lu kB\nShared_Dirty:   %8lu kB\nPrivate_Clean:  %8lu kB\n"
               "Private_Dirty:  %8lu kB\nAnonymous:      %8lu kB\nSwap:           %8lu kB\n",
               n.object * PAGE_KIB, n.forked * PAGE_KIB, 0ul, n.own * PAGE_KIB,
               (n.own + n.forked) * PAGE_KIB, 0ul);
    proc_print(t, "Shared_Hugetlb: %8lu kB\nPrivate_Hugetlb:%8lu kB\n", n.huge_shared * PAGE_KIB,
               n.huge_own * PAGE_KIB);
    return 0;
}

/* One mapping a record; the cursor is its end. pages: with what is in memory. */
static int show_mapping(const struct proc_id *who, uint64_t *cursor, struct proc_text *t,
                        bool pages)
{
    struct mapping_view m;
    int err;
    struct aspace *as = space_of(who, &err);
    bool found;

    if (!as)
        return err;
    found = aspace_view(as, *cursor, &m);
    if (found) {
        put_mapping(who, &m, t);
        err = pages ? put_pages(as, &m, t) : 0;
        if (m.object)
            object_unref(m.object);
        *cursor = m.end;
    }
    aspace_unref(as);
    return err ? err : found;
}

int proc_show_maps(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    return show_mapping(who, cursor, t, false);
}

int proc_show_smaps(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    return show_mapping(who, cursor, t, true);
}

/* Copy the next part of the strings from offset `from` to `to` of the process, whose address is
 * kept in the process. */
static int show_strings(const struct proc_id *who, bool environment, uint64_t *cursor,
                        struct proc_text *t)
{
    uint8_t part[ASPACE_READ_MAX];
    vaddr_t at = 0, end = 0;
    size_t n;
    int err;
    struct aspace *as = space_of(who, &err);
    ipl_t ipl;

    if (!as)
        return err;
    ipl = spin_lock(&process_lock);
    const struct process *p = proc_find_locked(who);
    if (p) {
        at = (environment ? p->arg_end : p->arg_start) + *cursor;
        end = environment ? p->env_end : p->arg_end;
    }
    spin_unlock(&process_lock, ipl);
    n = at < end ? MIN(MIN(end - at, sizeof(part)), PAGE_SIZE - (at & PAGE_MASK)) : 0;
    err = n ? aspace_read(as, at, part, n) : 0;
    aspace_unref(as);
    if (err)
        return err == -ENOMEM || err == -EINTR ? err : 0; /* unmapped since: the end */
    proc_put(t, (const char *)part, n);
    *cursor += n;
    return at + n < end;
}

int proc_show_arguments(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    return show_strings(who, false, cursor, t);
}

int proc_show_environment(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    return show_strings(who, true, cursor, t);
}
