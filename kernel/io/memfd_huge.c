/*
 * Files of huge pages (memfd_create with MFD_HUGETLB).
 *
 * Such a file has no inode. Its contents are a section of huge pages (mm/section/section_huge.h),
 * made when they are first mapped: until then a size is all that it has, as on Linux. When the size
 * has changed since, a later mapping gets a new section, which has the pages of the old one, so
 * that both mappings show the same memory; of a file that became shorter the rest is free when no
 * mapping is left that shows it.
 *
 * The mutex protects all fields. Sections are made while it is held, hence its low rank; whoever
 * closes the file has the last reference and takes none.
 */
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "kernel/io/memfd.h"
#include "kernel/io/open_flags.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool_charged.h"
#include "mm/section/huge_cow.h"
#include "mm/section/section_map.h"

struct huge_file { /* nonpaged pool, charged to the user */
    struct mutex lock;
    uint64_t size;
    struct section *section; /* NULL: nothing was mapped yet */
    uint32_t seals;          /* SEAL_* */
    uint32_t uid, gid;       /* constant */
    int64_t made_ns;         /* constant */
    int64_t changed_ns;
    uint16_t account;
};

static const struct file_ops huge_ops;

static struct huge_file *huge_of(const struct file *f)
{
    return f->ops == &huge_ops ? f->priv : NULL;
}

bool memfd_is_huge(const struct file *f) { return f->ops == &huge_ops; }

/* ---- the section; mutex held ---- */

static void section_leave(struct huge_file *h)
{
    if (h->section)
        section_huge_leave(h->section);
    h->section = NULL;
}

/* The section for a file of `size` bytes, not 0, with a share for the caller, which section_keep()
   takes. 0, -ENOMEM, -EINTR. */
static int section_for(struct huge_file *h, uint64_t size, struct section **out)
{
    *out = h->section;
    if (h->section && h->section->npages * PAGE_SIZE == size)
        return section_try_share(h->section) ? 0 : -ENOMEM;
    return section_huge_resize("memfd_hugepage", size / HUGE_BYTES, h, h->section, out);
}

/* Take the caller's share of s: the file has its pages from now on. Not if the call has failed. */
static void section_keep(struct huge_file *h, struct section *s, int err)
{
    if (err || s == h->section) {
        section_drop(s);
        return;
    }
    section_huge_keep(s);
    section_leave(h);
    h->section = s;
}

static void changed(struct huge_file *h) { h->changed_ns = (int64_t)clock_wall_ns(); }

/* ---- the operations ---- */

/* Copy n bytes, which lie in one page, from offset on. */
static int read_part(const struct huge_file *h, uint64_t offset, vaddr_t ubuf, size_t n)
{
    const uint8_t *page;

    if (!h->section || offset >= h->section->npages * PAGE_SIZE)
        return clear_user(ubuf, n);
    page = kseg_page(section_frame(h->section, offset >> PAGE_SHIFT));
    return copyout(ubuf, page + (offset & PAGE_MASK), n);
}

static long read_locked(const struct huge_file *h, uint64_t offset, vaddr_t ubuf, size_t n)
{
    size_t done = 0;

    n = offset < h->size ? MIN(n, h->size - offset) : 0;
    while (done < n && !thread_killed()) {
        uint64_t at = offset + done;
        size_t part = MIN(n - done, PAGE_SIZE - (at & PAGE_MASK));

        if (read_part(h, at, ubuf + done, part) != 0)
            return done ? (long)done : -EFAULT;
        done += part;
    }
    return (long)done;
}

static long huge_read_at(struct file *f, vaddr_t ubuf, size_t n, uint64_t offset)
{
    struct huge_file *h = f->priv;
    long r = mutex_lock_killable(&h->lock);

    if (r)
        return r;
    r = read_locked(h, offset, ubuf, n);
    mutex_unlock(&h->lock);
    return r;
}

static long huge_read(struct file *f, vaddr_t ubuf, size_t n)
{
    struct huge_file *h = f->priv;
    long r = mutex_lock_killable(&h->lock);

    if (r)
        return r;
    r = read_locked(h, (uint64_t)f->pos, ubuf, n);
    f->pos += MAX(r, 0);
    mutex_unlock(&h->lock);
    return r;
}

static long huge_write(struct file *f, vaddr_t ubuf, size_t n)
{
    (void)f, (void)ubuf, (void)n;
    return -EINVAL;
}

static int64_t huge_lseek(struct file *f, int64_t off, int whence)
{
    struct huge_file *h = f->priv;
    int64_t to = mutex_lock_killable(&h->lock);

    if (to)
        return to;
    if ((unsigned)whence > SEEK_END ||
        __builtin_add_overflow(whence == SEEK_SET   ? 0
                               : whence == SEEK_CUR ? f->pos
                                                    : (int64_t)h->size,
                               off, &to) ||
        to < 0)
        to = -EINVAL;
    else
        f->pos = to;
    mutex_unlock(&h->lock);
    return to;
}

static int huge_stat(struct file *f, struct file_stat *st)
{
    struct huge_file *h = f->priv;

    mutex_lock(&h->lock);
    *st = (struct file_stat){.ino = 1,
                             .size = h->size,
                             .blocks = h->section ? h->section->npages * (PAGE_SIZE / 512) : 0,
                             .atime_ns = h->made_ns,
                             .mtime_ns = h->changed_ns,
                             .ctime_ns = h->changed_ns,
                             .mode = S_IFREG | 0777,
                             .uid = h->uid,
                             .gid = h->gid,
                             .blksize = HUGE_BYTES};
    mutex_unlock(&h->lock);
    return 0;
}

static int truncate_locked(struct huge_file *h, uint64_t size)
{
    uint64_t old = h->size;
    struct section *s;
    int err = 0;

    if ((size < old && (h->seals & SEAL_SHRINK)) || (size > old && (h->seals & SEAL_GROW)))
        return -EPERM;
    if (size == 0)
        section_leave(h);
    else if (h->section && h->section->npages * PAGE_SIZE > size) {
        err = section_for(h, size, &s); /* what is cut off is zero if the file grows again */
        if (!err)
            section_keep(h, s, 0);
    }
    if (!err) {
        h->size = size;
        changed(h);
    }
    return err;
}

static int huge_truncate(struct file *f, uint64_t size)
{
    struct huge_file *h = f->priv;
    int err;

    if (size % HUGE_BYTES)
        return -EINVAL;
    if (size > INODE_MAX_BYTES)
        return -EFBIG;
    err = mutex_lock_killable(&h->lock);
    if (err)
        return err;
    err = truncate_locked(h, size);
    mutex_unlock(&h->lock);
    section_reap();
    return err;
}

/* Have the pages below `size`, and a file as long as that. */
static int grow_locked(struct huge_file *h, uint64_t size)
{
    struct section *s;
    int err = size > h->size && (h->seals & SEAL_GROW) ? -EPERM : 0;

    if (!err)
        err = section_for(h, size, &s);
    if (err)
        return err;
    section_keep(h, s, 0);
    h->size = size;
    changed(h);
    return 0;
}

/* Make [at, end) zero. Its pages stay the file's: a section has all of its pages. */
static int clear_locked(struct huge_file *h, uint64_t at, uint64_t end)
{
    if (h->seals & (SEAL_WRITE | SEAL_FUTURE_WRITE))
        return -EPERM;
    end = MIN(end, h->section ? h->section->npages * PAGE_SIZE : 0);
    while (at < end) {
        uint64_t within = at & PAGE_MASK, n = MIN(end - at, PAGE_SIZE - within);

        if (thread_killed())
            return -EINTR;
        memset((uint8_t *)kseg_page(section_frame(h->section, at >> PAGE_SHIFT)) + within, 0, n);
        at += n;
    }
    changed(h);
    return 0;
}

int memfd_huge_allocate(struct file *f, uint64_t offset, uint64_t n, bool keep, bool clear)
{
    struct huge_file *h = huge_of(f);
    uint64_t end = offset + n;
    int err = mutex_lock_killable(&h->lock);

    if (err)
        return err;
    if (clear)
        err = clear_locked(h, offset, end);
    else if (h->size || !keep)
        err = grow_locked(h, keep ? h->size : MAX(h->size, align_up(end, HUGE_BYTES)));
    mutex_unlock(&h->lock);
    section_reap();
    return err == -ENOMEM ? -ENOSPC : err;
}

static void huge_close(struct file *f)
{
    struct huge_file *h = f->priv;

    section_leave(h);
    npp_free_charged(h, sizeof(*h), h->account);
    section_reap();
}

static const struct file_ops huge_ops = {
    .name = "file of huge pages",
    .read = huge_read,
    .write = huge_write,
    .read_at = huge_read_at,
    .lseek = huge_lseek,
    .stat = huge_stat,
    .truncate = huge_truncate,
    .close = huge_close,
};

/* ---- mapping ---- */

/* Map as memfd_huge_map() does. As on Linux a mapping that may be written makes the file long
   enough. Mutex held. */
static int map_locked(struct huge_file *h, struct aspace *as, vaddr_t *va, uint64_t len,
                      uint64_t offset, unsigned prot, unsigned flags)
{
    bool sealed = (flags & MAPF_SHARED) && (h->seals & (SEAL_WRITE | SEAL_FUTURE_WRITE));
    uint64_t size = MAX(h->size, offset + len);
    struct section *s;
    int err;

    if (sealed && (prot & MAP_W))
        return -EPERM;
    if (size > h->size && !(prot & MAP_W))
        return -EINVAL;
    if (size > h->size && (h->seals & SEAL_GROW))
        return -EPERM;
    err = section_for(h, size, &s);
    if (err)
        return err;
    if (flags & MAPF_SHARED)
        err = section_huge_map(as, s, va, len, offset, prot, flags | (sealed ? MAPF_READONLY : 0),
                               &section_map_ops);
    else
        err = huge_private_map_section(as, s, va, len, offset, prot, flags);
    section_keep(h, s, err);
    if (!err)
        h->size = size;
    return err;
}

int memfd_huge_map(struct file *f, struct aspace *as, vaddr_t *va, uint64_t *len, uint64_t offset,
                   unsigned prot, unsigned flags)
{
    struct huge_file *h = huge_of(f);
    int err;

    *len = align_up(*len, HUGE_BYTES);
    if (offset % HUGE_BYTES)
        return -EINVAL;
    if (offset > INODE_MAX_BYTES || *len > INODE_MAX_BYTES - offset)
        return -ENOMEM;
    err = mutex_lock_killable(&h->lock);
    if (err)
        return err;
    err = map_locked(h, as, va, *len, offset, prot, flags);
    mutex_unlock(&h->lock);
    section_reap();
    return err;
}

/* ---- seals ---- */

long memfd_huge_seal(struct file *f, uint32_t seals)
{
    struct huge_file *h = huge_of(f);
    long err = mutex_lock_killable(&h->lock);

    if (err)
        return err;
    if (h->seals & SEAL_SEAL)
        err = -EPERM;
    else if ((seals & ~h->seals & SEAL_WRITE) && h->section && section_is_mapped(h->section))
        err = -EBUSY;
    else
        h->seals |= seals;
    mutex_unlock(&h->lock);
    return err;
}

long memfd_huge_seals(struct file *f)
{
    struct huge_file *h = huge_of(f);
    long seals = mutex_lock_killable(&h->lock);

    if (seals)
        return seals;
    seals = h->seals;
    mutex_unlock(&h->lock);
    return seals;
}

int memfd_huge_create(const struct io_cred *cred, bool sealable, struct file **out)
{
    uint16_t account = pool_account();
    struct huge_file *h = npp_alloc_charged(sizeof(*h), account);
    struct file *f = h ? file_alloc(&huge_ops, O_RDWR) : NULL;

    if (!f) {
        if (h)
            npp_free_charged(h, sizeof(*h), account);
        return h ? file_why_not() : -ENOMEM;
    }
    *h = (struct huge_file){.seals = sealable ? 0 : SEAL_SEAL,
                            .uid = cred->uid,
                            .gid = cred->gid,
                            .made_ns = (int64_t)clock_wall_ns(),
                            .account = account};
    h->changed_ns = h->made_ns;
    mutex_init(&h->lock, "file of huge pages", MUTEX_HUGE_FILE);
    f->priv = h;
    *out = f;
    return 0;
}
