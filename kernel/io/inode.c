/*
 * Regular files: inodes whose bytes are the pages of an mm object.
 *
 * The pager answers at once, inside get: it takes a page, fills it from the initrd's bytes or with
 * zeroes, and supplies it. It takes no lock of ours, because it runs inside faults, also inside the
 * fault of a thread that stands in inode_write_user with the inode's mutex held. What it reads
 * (size, backing) is atomic; a page that is supplied while a truncate runs is dropped by the
 * truncate, which sets the size first.
 *
 * Lock order: inode mutex, then (by a fault while user memory is copied) the address space's.
 *
 * An object and its inode: the inode owns one reference to the object, and the object, while it
 * lives, keeps the inode's memory (not its reference count): the last inode reference drops the
 * object, and the object's end frees the memory. So a file that was unlinked lives on in its
 * mappings.
 */
#include "kernel/io/inode.h"

#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/sched/timer.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/space/aspace.h"

static uint64_t next_ino = 1; /* atomic */

static void inode_touch(struct inode *i)
{
    __atomic_store_n(&i->mtime_ns, clock_wall_ns(), __ATOMIC_RELAXED);
}

/* One page of a file, for the pager. */
static int supply_page(struct mm_object *o, struct inode *i, uint64_t offset, unsigned access)
{
    uint64_t backed = __atomic_load_n(&i->backing_bytes, __ATOMIC_ACQUIRE);
    uint64_t at = offset << PAGE_SHIFT;
    pfn_t pfn;
    int err;

    if (at >= __atomic_load_n(&i->size, __ATOMIC_ACQUIRE)) {
        mm_deny(o, offset, 1, -ENXIO);
        return 0;
    }
    err = page_alloc(at < backed ? 0 : PA_ZERO, PAGE_T_OBJECT, RAD_ANY, &pfn);
    if (err) {
        mm_deny(o, offset, 1, err);
        return 0;
    }
    if (at < backed) {
        size_t n = MIN(backed - at, PAGE_SIZE);
        uint8_t *page = kseg_page(pfn);

        memcpy(page, i->backing + at, n);
        if (n < PAGE_SIZE)
            memset(page + n, 0, PAGE_SIZE - n);
    }
    mm_supply(o, offset, pfn, access | MAP_R | MAP_W);
    return 0;
}

static int inode_get(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    struct inode *i = object_pager_data(o);

    for (uint64_t n = 0; n < count; n++)
        supply_page(o, i, offset + n, access);
    return 0;
}

/* The object's length follows the size, up or down; pages behind it go. lock held exclusively, or
 * nobody knows i. */
void inode_set_size_locked(struct inode *i, uint64_t size)
{
    uint64_t npages = (size + PAGE_MASK) >> PAGE_SHIFT, was = (i->size + PAGE_MASK) >> PAGE_SHIFT;

    __atomic_store_n(&i->size, size, __ATOMIC_RELEASE);
    if (npages != was)
        object_truncate(i->object, npages);
}

static void inode_free(struct inode *i)
{
    if (i->target)
        pgd_free(i->target, i->target_bytes + 1);
    npp_free(i, sizeof(*i));
}

static void inode_end(struct mm_object *o) { inode_free(object_pager_data(o)); }

/* Every page is supplied with all access, so there is nothing to upgrade; memory is where it lives.
 */
static const struct pager_ops inode_pager = {.name = "file", .get = inode_get, .end = inode_end};

struct inode *inode_create(uint32_t mode, const struct io_cred *cred)
{
    struct inode *i = npp_alloc_zeroed(sizeof(*i));

    if (!i)
        return NULL;
    i->refs = 1;
    i->mode = mode;
    i->uid = cred->uid;
    i->gid = cred->gid;
    i->ino = __atomic_fetch_add(&next_ino, 1, __ATOMIC_RELAXED);
    i->mtime_ns = clock_wall_ns();
    list_init(&i->names);
    mutex_init(&i->lock, "inode", MUTEX_INODE);
    i->fops = (mode & S_IFMT) == S_IFDIR ? &directory_ops : &regular_ops;
    if ((mode & S_IFMT) == S_IFREG) {
        i->object = object_create(0, &inode_pager, i);
        if (!i->object) {
            npp_free(i, sizeof(*i));
            return NULL;
        }
    }
    return i;
}

void inode_unref(struct inode *i)
{
    struct mm_object *o;

    if (__atomic_fetch_sub(&i->refs, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    o = i->object;
    if (o)
        object_unref(o); /* inode_end frees i, now or when the last mapping goes */
    else
        inode_free(i);
}

int inode_access(struct inode *i, const struct io_cred *cred, unsigned mask)
{
    uint32_t mode = __atomic_load_n(&i->mode, __ATOMIC_RELAXED);

    if (cred->uid == 0) /* may do all, but execute only what somebody may */
        return !(mask & 1) || (mode & 0111) || (mode & S_IFMT) == S_IFDIR ? 0 : -EACCES;
    if (cred->uid == __atomic_load_n(&i->uid, __ATOMIC_RELAXED))
        mode >>= 6;
    else if (cred->gid == __atomic_load_n(&i->gid, __ATOMIC_RELAXED))
        mode >>= 3;
    return (mode & mask) == mask ? 0 : -EACCES;
}

void inode_stat(struct inode *i, struct file_stat *st)
{
    uint64_t size = __atomic_load_n(&i->size, __ATOMIC_RELAXED);

    *st = (struct file_stat){
        .ino = i->ino,
        .size = i->target ? i->target_bytes : size,
        .blocks = (size + 511) / 512,
        .mtime_ns = __atomic_load_n(&i->mtime_ns, __ATOMIC_RELAXED),
        .mode = __atomic_load_n(&i->mode, __ATOMIC_RELAXED),
        .nlink = __atomic_load_n(&i->nlink, __ATOMIC_RELAXED),
        .uid = __atomic_load_n(&i->uid, __ATOMIC_RELAXED),
        .gid = __atomic_load_n(&i->gid, __ATOMIC_RELAXED),
        .rdev = i->rdev,
        .blksize = PAGE_SIZE,
    };
}

/*
 * Copy between the file's pages and user (or, with ubuf 0, kernel) memory, page by page; the
 * inode's mutex is held by the caller as its direction asks. Returns the bytes done, or an error
 * when there are none.
 */
static long copy_pages(struct inode *i, uint64_t offset, vaddr_t ubuf, void *kbuf, size_t n,
                       bool write)
{
    size_t done = 0;

    while (done < n) {
        size_t within = (offset + done) & PAGE_MASK;
        size_t part = MIN(n - done, PAGE_SIZE - within);
        uint64_t index = (offset + done) >> PAGE_SHIFT;
        pfn_t pfn = object_page_try_get(i->object, index);
        uint8_t *page;
        int err = 0;

        if (pfn_eq(pfn, PFN_NONE))
            err = object_page_get(i->object, index, write ? MAP_R | MAP_W : MAP_R, &pfn);
        if (err)
            return done ? (long)done : err;
        page = (uint8_t *)kseg_page(pfn) + within;
        if (kbuf)
            memcpy((uint8_t *)kbuf + done, page, part);
        else if (write)
            err = copyin(page, ubuf + done, part);
        else
            err = copyout(ubuf + done, page, part);
        page_unref(pfn);
        if (err)
            return done ? (long)done : err;
        done += part;
    }
    return (long)done;
}

long inode_read(struct inode *i, uint64_t offset, void *buf, size_t n)
{
    long r = 0;

    mutex_lock_shared(&i->lock);
    if (offset < i->size)
        r = copy_pages(i, offset, 0, buf, MIN(n, i->size - offset), false);
    mutex_unlock_shared(&i->lock);
    return r;
}

long inode_read_user(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n)
{
    long r = 0;

    mutex_lock_shared(&i->lock);
    if (offset < i->size)
        r = copy_pages(i, offset, ubuf, NULL, MIN(n, i->size - offset), false);
    mutex_unlock_shared(&i->lock);
    return r;
}

/*
 * The size covers the bytes before they are written, so that the pager gives pages for them; what
 * could not be copied is taken off again. A reader waits for the mutex and sees neither.
 */
static long write_locked(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n)
{
    uint64_t old = i->size;
    long r;

    if (n == 0)
        return 0; /* also behind the end: nothing grows */
    if (offset >= INODE_MAX_BYTES)
        return -EFBIG;
    n = MIN(n, INODE_MAX_BYTES - offset);
    if (offset + n > old)
        inode_set_size_locked(i, offset + n);
    r = copy_pages(i, offset, ubuf, NULL, n, true);
    if (offset + n > old && r < (long)n)
        inode_set_size_locked(i, r > 0 ? MAX(old, offset + (uint64_t)r) : old);
    if (r > 0)
        inode_touch(i);
    return r == -ENOMEM ? -ENOSPC : r; /* memory is the disk */
}

long inode_write_user(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n)
{
    long r;

    mutex_lock(&i->lock);
    r = write_locked(i, offset, ubuf, n);
    mutex_unlock(&i->lock);
    return r;
}

int inode_truncate(struct inode *i, uint64_t size)
{
    if ((i->mode & S_IFMT) != S_IFREG)
        return -EINVAL;
    if (size > INODE_MAX_BYTES)
        return -EFBIG;
    mutex_lock(&i->lock);
    if (size < i->size) {
        size_t within = size & PAGE_MASK;

        if (i->backing_bytes > size)
            __atomic_store_n(&i->backing_bytes, size, __ATOMIC_RELEASE);
        inode_set_size_locked(i, size);
        if (within) { /* what a later extension shows must be zero */
            pfn_t pfn = object_page_try_get(i->object, size >> PAGE_SHIFT);

            if (!pfn_eq(pfn, PFN_NONE)) {
                memset((uint8_t *)kseg_page(pfn) + within, 0, PAGE_SIZE - within);
                page_unref(pfn);
            }
        }
    } else {
        inode_set_size_locked(i, size);
    }
    inode_touch(i);
    mutex_unlock(&i->lock);
    return 0;
}

/*
 * The position is read and moved under the inode's mutex. Reads of one description that several
 * processes share (refs above 1) take it exclusively, so that no two of them get the same bytes.
 */
static long regular_read(struct file *f, vaddr_t ubuf, size_t n)
{
    struct inode *i = f->inode;
    bool shared = __atomic_load_n(&f->refs, __ATOMIC_RELAXED) == 1;
    uint64_t pos, size;
    long r = 0;

    if (shared)
        mutex_lock_shared(&i->lock);
    else
        mutex_lock(&i->lock);
    pos = (uint64_t)f->pos;
    size = i->size;
    if (pos < size)
        r = copy_pages(i, pos, ubuf, NULL, MIN(n, size - pos), false);
    if (r > 0)
        f->pos = (int64_t)(pos + (uint64_t)r);
    if (shared)
        mutex_unlock_shared(&i->lock);
    else
        mutex_unlock(&i->lock);
    return r;
}

static long regular_write(struct file *f, vaddr_t ubuf, size_t n)
{
    struct inode *i = f->inode;
    long r;

    mutex_lock(&i->lock);
    if (f->flags & O_APPEND)
        f->pos = (int64_t)i->size;
    r = write_locked(i, (uint64_t)f->pos, ubuf, n);
    if (r > 0)
        f->pos += r;
    mutex_unlock(&i->lock);
    return r;
}

static int64_t regular_lseek(struct file *f, int64_t off, int whence)
{
    struct inode *i = f->inode;
    int64_t base, to;

    mutex_lock(&i->lock);
    base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? f->pos : (int64_t)i->size;
    if ((unsigned)whence > SEEK_END || __builtin_add_overflow(base, off, &to) || to < 0)
        to = -EINVAL;
    else
        f->pos = to;
    mutex_unlock(&i->lock);
    return to;
}

static int regular_stat(struct file *f, struct file_stat *st)
{
    inode_stat(f->inode, st);
    return 0;
}

static int regular_truncate(struct file *f, uint64_t size)
{
    return inode_truncate(f->inode, size);
}

static unsigned regular_poll(struct file *f)
{
    (void)f;
    return POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
}

static struct mm_object *regular_object(struct file *f) { return f->inode->object; }

const struct file_ops regular_ops = {
    .name = "file",
    .read = regular_read,
    .write = regular_write,
    .lseek = regular_lseek,
    .stat = regular_stat,
    .truncate = regular_truncate,
    .poll = regular_poll,
    .object = regular_object,
};
