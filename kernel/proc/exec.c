/*
 * exec: replacing the program of a process.
 *
 * execve builds everything that the new program needs before it changes the process: it copies the
 * arguments into kernel pages, checks the ELF headers, and creates and maps the new address space.
 * Then the thread switches to the new address space and writes the stack, and the zeroes after the
 * file's bytes in each segment, with ordinary user accesses; on an error it switches back. From
 * there on nothing can fail: descriptors and signals are reset, the old address space is released,
 * and the trap frame is set to the program's entry.
 *
 * The caller is the only thread of its process. So the process table lock is taken only to change
 * what other processes read (address space, name), and no lock is held while memory is allocated or
 * copied.
 */
#include "kernel/proc/exec.h"

#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/proc/elf.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/program_path.h"
#include "kernel/proc/signal.h"
#include "mm/phys/failure.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pt/pt_system.h"

#define STACK_BYTES (UINT64_C(8) << 20) /* as RLIMIT_STACK says */
#define STACK_TOP   LAYOUT_P1_TOP
#define AUX_MAX     20
#define PS_USER     8

enum {
    AT_NULL,
    AT_PHDR = 3,
    AT_PHENT,
    AT_PHNUM,
    AT_PAGESZ,
    AT_FLAGS = 8,
    AT_ENTRY,
    AT_UID = 11,
    AT_EUID,
    AT_GID,
    AT_EGID,
    AT_PLATFORM,
    AT_HWCAP,
    AT_CLKTCK,
    AT_SECURE = 23,
    AT_RANDOM = 25,
    AT_EXECFN = 31
};

/* What AMASK clears on an EV67: BWX, FIX, CIX, MVI, precise traps, prefetch. */
#define HWCAP  0x1307
#define CLKTCK 1024 /* ticks per second of times(), as on Linux/Alpha */

/* What is learned from the file before the process is changed. */
struct program {
    struct inode *inode;
    struct program_path *path; /* passes to the process */
    vaddr_t arg_end;           /* of the strings on the stack */
    struct elf_header header;
    struct elf_image image;
};

/* ---- arguments ---- */

void exec_args_init(struct exec_args *a) { memset(a, 0, sizeof(*a)); }

void exec_args_free(struct exec_args *a)
{
    for (unsigned k = 0; k < EXEC_ARG_PAGES && a->page[k]; k++)
        page_free(paddr_to_pfn(kseg_paddr(a->page[k])));
}

/* The address of the next byte to write, with the bytes that are free from there on in its page in
 * *room. NULL with the error in *err. */
static char *args_room(struct exec_args *a, size_t *room, int *err)
{
    size_t index = a->bytes >> PAGE_SHIFT;

    if (index >= EXEC_ARG_PAGES) {
        *err = -E2BIG;
        return NULL;
    }
    if (!a->page[index]) {
        pfn_t pfn;

        *err = page_alloc(0, PAGE_T_SYSTEM, RAD_ANY, &pfn);
        if (*err)
            return NULL;
        a->page[index] = kseg_page(pfn);
    }
    *room = PAGE_SIZE - (a->bytes & PAGE_MASK);
    return (char *)a->page[index] + (a->bytes & PAGE_MASK);
}

int exec_args_add(struct exec_args *a, const char *text)
{
    size_t left = strlen(text) + 1, room;
    int err = 0;

    while (left) {
        char *to = args_room(a, &room, &err);
        size_t n = MIN(left, room);

        if (!to)
            return err;
        memcpy(to, text, n);
        text += n;
        left -= n;
        a->bytes += n;
    }
    return 0;
}

/* Append the string at ustr in user memory. What does not fit in one page is continued in the
 * next. */
static int args_copyin(struct exec_args *a, vaddr_t ustr)
{
    for (;;) {
        int err = 0;
        size_t room;
        char *to = args_room(a, &room, &err);
        long n;

        if (!to)
            return err;
        n = copyin_str(to, ustr, room);
        if (n >= 0) {
            a->bytes += (size_t)n + 1;
            return 0;
        }
        if (n == -ENAMETOOLONG)
            n = copyin(to, ustr, room);
        if (n != 0)
            return (int)n;
        if (memchr(to, '\0', room)) { /* others have made the string shorter meanwhile */
            a->bytes += strlen(to) + 1;
            return 0;
        }
        a->bytes += room;
        ustr += room;
    }
}

/* Append the strings of a user vector of pointers that ends with a null pointer, and count them.
 * Vector 0 counts as an empty vector, as on Linux. */
static int args_vector(struct exec_args *a, vaddr_t vector, unsigned *count)
{
    for (*count = 0; vector; vector += 8, ++*count) {
        uint64_t ustr;
        int err = thread_killed() ? -EINTR : copyin_u64(&ustr, vector);

        if (err || !ustr)
            return err;
        err = args_copyin(a, ustr);
        if (err)
            return err;
    }
    return 0;
}

/* Length, with its NUL, of the string that begins at offset `at` of the arguments. */
static size_t args_length(const struct exec_args *a, size_t at)
{
    size_t start = at;

    for (;;) {
        const char *page = (const char *)a->page[at >> PAGE_SHIFT];
        size_t within = at & PAGE_MASK;
        const char *end = memchr(page + within, '\0', MIN(PAGE_SIZE - within, a->bytes - at));

        if (end)
            return at + (size_t)(end - page - within) + 1 - start;
        at += PAGE_SIZE - within;
    }
}

/* ---- the program ---- */

static int program_open(const char *path, struct program *prog)
{
    struct process *p = process_self();
    struct io_cred cred = process_cred(p);
    struct cwd_use cwd = fs_cwd_get(p->fs);
    struct elf_phdr *ph;
    struct inode *i;
    size_t ph_bytes;
    long n;
    int err = program_lookup(&cred, cwd.dir, path, &i, &prog->path);

    fs_cwd_put(cwd);
    if (err)
        return err;
    prog->inode = i;
    if ((i->mode & S_IFMT) != S_IFREG)
        return -EACCES;
    err = inode_access(i, &cred, 1);
    if (err)
        return err;
    n = inode_read(i, 0, &prog->header, sizeof(prog->header));
    if (n < 0)
        return (int)n;
    if (n < (long)sizeof(prog->header))
        return -ENOEXEC;
    err = elf_check_header(&prog->header, i->size);
    if (err)
        return err;
    ph_bytes = prog->header.phnum * sizeof(*ph);
    ph = npp_alloc(ph_bytes);
    if (!ph)
        return -ENOMEM;
    n = inode_read(i, prog->header.phoff, ph, ph_bytes);
    if (n == (long)ph_bytes)
        err = elf_check_segments(&prog->header, ph, i->size, LAYOUT_P0_FIRST, LAYOUT_USER_TOP,
                                 &prog->image);
    else
        err = n < 0 ? (int)n : -ENOEXEC; /* the file was truncated since the header was read */
    npp_free(ph, ph_bytes);
    return err;
}

static unsigned map_prot(unsigned pf)
{
    return (pf & PF_R ? MAP_R : 0) | (pf & PF_W ? MAP_W : 0) | (pf & PF_X ? MAP_X | MAP_R : 0);
}

static int map_segment(struct aspace *as, struct program *prog, const struct elf_segment *s)
{
    unsigned prot = map_prot(s->prot);
    vaddr_t va = s->start;
    int err = 0;

    if (s->file_end > s->start)
        err = aspace_map_object(as, &va, s->file_end - s->start, prot, MAPF_FIXED_NOREPLACE,
                                prog->inode->object, s->offset);
    va = s->file_end;
    if (!err && s->end > s->file_end)
        err = aspace_map_anon(as, &va, s->end - s->file_end, prot, MAPF_FIXED_NOREPLACE);
    return err;
}

static struct aspace *build_space(struct program *prog, int *err)
{
    struct aspace *as = aspace_create(thread_self()->home_rad);
    vaddr_t stack = STACK_TOP - STACK_BYTES;

    if (!as) {
        *err = -ENOMEM;
        return NULL;
    }
    *err = aspace_map_anon(as, &stack, STACK_BYTES,
                           MAP_R | MAP_W | (prog->image.exec_stack ? MAP_X : 0),
                           MAPF_FIXED_NOREPLACE | MAPF_GROWSDOWN);
    for (unsigned k = 0; k < prog->image.nsegments && !*err; k++)
        *err = map_segment(as, prog, &prog->image.segment[k]);
    if (*err) {
        if (*err == -EEXIST || *err == -EINVAL)
            *err = -ENOEXEC; /* a segment overlaps the stack */
        aspace_unref(as);
        return NULL;
    }
    return as;
}

/* ---- user accesses in the new address space ---- */

/* Clear the bytes after the file's in the last page of each writable segment; in the others they do
 * not matter. */
static int clear_tails(const struct elf_image *image)
{
    int err = 0;

    for (unsigned k = 0; k < image->nsegments && !err; k++) {
        const struct elf_segment *s = &image->segment[k];

        if ((s->prot & PF_W) && s->zero_from < s->file_end)
            err = clear_user(s->zero_from, s->file_end - s->zero_from);
    }
    return err;
}

struct stack_writer {
    vaddr_t at;
    uint64_t word[32]; /* buffered, so that one copyout moves many */
    unsigned n;
    int err;
};

static void stack_flush(struct stack_writer *w)
{
    if (!w->err && w->n)
        w->err = copyout(w->at, w->word, w->n * sizeof(w->word[0]));
    w->at += w->n * sizeof(w->word[0]);
    w->n = 0;
}

static void stack_word(struct stack_writer *w, uint64_t v)
{
    w->word[w->n++] = v;
    if (w->n == ARRAY_SIZE(w->word))
        stack_flush(w);
}

/* Write pointers to `count` strings, the first of them at offset *at of the arguments, and a null
 * pointer. */
static void stack_pointers(struct stack_writer *w, const struct exec_args *a, unsigned count,
                           size_t *at, vaddr_t strings)
{
    for (; count && !w->err; count--) {
        if (thread_killed())
            w->err = -EINTR;
        stack_word(w, strings + *at);
        *at += args_length(a, *at);
    }
    stack_word(w, 0);
}

/*
 * Write the initial stack, from the highest address down:
 *
 *   strings    those of argv, of envp, and the path; contiguous
 *   random     16 random bytes for AT_RANDOM
 *   vectors    16-byte aligned: argc, argv, envp, the auxiliary vector
 *
 * Returns 0 with the stack pointer in *sp, -E2BIG, or -EFAULT.
 */
static __attribute__((noinline)) int write_stack(struct exec_args *a, const struct elf_image *image,
                                                 vaddr_t *sp)
{
    const struct process *p = process_self();
    vaddr_t strings = (STACK_TOP - 16 - a->bytes) & ~UINT64_C(15), random = strings - 16;
    uint64_t words = 1 + a->argc + 1 + a->envc + 1 + 2 * AUX_MAX;
    struct stack_writer w = {.at = (random - 8 * words) & ~UINT64_C(15)};
    uint64_t seed[2] = {clock_wall_ns() * 0x9E3779B97F4A7C15, clock_ns() ^ (uint64_t)p->pid << 40};
    const uint64_t aux[][2] = {
        {AT_PHDR, image->phdr},
        {AT_PHENT, sizeof(struct elf_phdr)},
        {AT_PHNUM, image->phnum},
        {AT_PAGESZ, PAGE_SIZE},
        {AT_FLAGS, 0},
        {AT_ENTRY, image->entry},
        {AT_UID, process_uid(p)},
        {AT_EUID, process_euid(p)},
        {AT_GID, process_gid(p)},
        {AT_EGID, process_egid(p)},
        {AT_HWCAP, HWCAP},
        {AT_CLKTCK, CLKTCK},
        {AT_SECURE, 0},
        {AT_RANDOM, random},
        {AT_EXECFN, strings + a->path_at},
        {AT_NULL, 0},
    };
    size_t at = 0;

    _Static_assert(ARRAY_SIZE(aux) <= AUX_MAX, "room for the auxiliary vector");
    if (a->bytes + 8 * words + PAGE_SIZE > STACK_BYTES / 4)
        return -E2BIG;
    *sp = w.at;
    for (size_t done = 0; done < a->bytes && !w.err; done += PAGE_SIZE)
        w.err = copyout(strings + done, a->page[done >> PAGE_SHIFT],
                        MIN(a->bytes - done, PAGE_SIZE));
    if (!w.err)
        w.err = copyout(random, seed, sizeof(seed));
    stack_word(&w, a->argc);
    stack_pointers(&w, a, a->argc, &at, strings);
    a->strings = strings;
    a->env_at = at;
    stack_pointers(&w, a, a->envc, &at, strings);
    for (unsigned k = 0; k < ARRAY_SIZE(aux); k++) {
        stack_word(&w, aux[k][0]);
        stack_word(&w, aux[k][1]);
    }
    stack_flush(&w);
    return w.err;
}

/* Switch the thread to the root of the new address space as well: the caller is the only thread. */
struct aspace *process_change_space(struct process *p, struct aspace *as)
{
    struct aspace *old = p->aspace;
    ipl_t ipl = spin_lock(&process_lock);

    p->aspace = as;
    spin_unlock(&process_lock, ipl);
    thread_set_root(thread_self(), as ? as->pt.root.n : system_root_pfn,
                    as ? &as->pt.loaded : NULL);
    return old;
}

static void start_frame(const struct elf_image *image, vaddr_t sp)
{
    struct trapframe *f = user_frame_of(current_hw);

    memset(f, 0, sizeof(*f));
    f->orig_v0 = ~UINT64_C(0);
    f->ps = PS_USER;
    f->pc = image->entry;
    f->t12 = image->entry;
    f->usp = sp;
}

/* Set what other processes see of the program. Returns the path of the previous one. */
static struct program_path *set_program(struct process *p, const char *path, struct program *prog,
                                        const struct exec_args *a)
{
    const char *base = strrchr(path, '/');
    struct program_path *old;
    ipl_t ipl = spin_lock(&process_lock);

    str_copy(p->name, base ? base + 1 : path, sizeof(p->name));
    old = p->program;
    p->program = prog->path;
    prog->path = NULL;
    p->arg_start = a->strings;
    p->arg_end = a->strings + a->env_at;
    p->env_end = a->strings + a->path_at;
    spin_unlock(&process_lock, ipl);
    str_copy(thread_self()->name, p->name, sizeof(p->name));
    return old;
}

int exec_program(const char *path, struct exec_args *a)
{
    struct process *p = process_self();
    struct program prog = {0};
    struct file_table *files = p->files;
    struct aspace *as = NULL, *old;
    vaddr_t sp = 0;
    int err = program_open(path, &prog);

    a->path_at = a->bytes;
    if (!err)
        err = exec_args_add(a, path);
    if (!err)
        as = build_space(&prog, &err);
    if (!err && fdtable_shared(files)) { /* the other processes keep what this program closes */
        files = fdtable_fork(files);
        err = files ? 0 : -ENOMEM;
    }
    if (err)
        goto undo;
    old = process_change_space(p, as);
    err = write_stack(a, &prog.image, &sp);
    if (!err)
        err = clear_tails(&prog.image);
    if (err) {
        process_change_space(p, old);
        err = err == -EFAULT ? -ENOMEM : err;
        goto undo;
    }
    /* Nothing below can fail. */
    failure_stop();
    if (unlikely(files != p->files)) {
        fdtable_release(p->files);
        p->files = files;
    }
    fdtable_exec(files);
    sighand_exec(p->sig);
    creds_exec(p);
    p->brk_start = p->brk = prog.image.end; /* brk_mutex is not needed: there is one thread */
    uthread_self()->ieee_control = 0;
    uthread_self()->clear_tid = 0;
    program_path_unref(set_program(p, path, &prog, a));
    fp_reset();
    pal_wrunique(0);
    start_frame(&prog.image, sp);
    process_vfork_release(p);
    if (old)
        aspace_unref(old);
    goto out;
undo:
    if (as)
        aspace_unref(as);
    if (files && files != p->files)
        fdtable_release(files);
out:
    program_path_unref(prog.path);
    if (prog.inode)
        inode_unref(prog.inode);
    return err;
}

int process_exec(const char *path, vaddr_t argv, vaddr_t envp)
{
    struct exec_args a;
    int err;

    exec_args_init(&a);
    err = args_vector(&a, argv, &a.argc);
    if (!err)
        err = args_vector(&a, envp, &a.envc);
    if (!err)
        err = exec_program(path, &a);
    exec_args_free(&a);
    return err;
}
