/*
 * What all file systems have in common: attributes, permissions, and the contents of regular files,
 * which are read and written through the pages of the file's object. The file system, as the
 * object's pager, decides where these pages come from and where they are kept. The rules for locks
 * are in inode.h. Contents can fail with -EFAULT and with the errors of the pager.
 */
#include "kernel/fs/inode.h"

#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/name.h"
#include "kernel/fs/notify.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/check/validate.h"
#include "mm/object/object.h"
#include "mm/phys/page.h"
#include "mm/space/aspace.h"

struct mutex rename_mutex = MUTEX_INIT("rename", MUTEX_RENAME, rename_mutex);
static uint64_t next_ino = 1; /* atomic */
static uint32_t next_dev = 1; /* atomic */

uint32_t fs_new_dev(void) { return __atomic_fetch_add(&next_dev, 1, __ATOMIC_RELAXED); }

struct fs_name fs_name(const char *text, size_t len)
{
    uint64_t hash = NAME_HASH_KEY;

    for (size_t at = 0; at <= len; at += 8)
        hash = name_mix(hash, name_word(text, len, at));
    return name_with_hash(text, len, (uint32_t)hash);
}

const char *name_scan_long(struct fs_name *name, const char *path)
{
    const char *end = path;

    while (*end && *end != '/')
        end++;
    *name = fs_name(path, (size_t)(end - path));
    return end;
}

void inode_init(struct inode *i, struct fs *fs, const struct inode_ops *ops,
                const struct fs_new *what)
{
    bool directory = (what->mode & S_IFMT) == S_IFDIR;

    i->refs = 1;
    i->mode = what->mode;
    i->uid = what->uid;
    i->gid = what->gid;
    i->rdev = what->rdev;
    i->ino = __atomic_fetch_add(&next_ino, 1, __ATOMIC_RELAXED);
    i->atime_ns = i->mtime_ns = i->ctime_ns = (int64_t)clock_wall_ns();
    i->ops = ops;
    i->fs = fs;
    mutex_init(&i->lock, directory ? "directory" : "inode",
               directory ? MUTEX_DIRECTORY : MUTEX_INODE);
}

void inode_end(struct inode *i)
{
    (void)__atomic_load_n(&i->refs, __ATOMIC_ACQUIRE); /* after what others did with it */
    if (notify_wanted(i))
        notify_ended(i);
    i->ops->end(i);
}

/* Readers take no lock. Who finds the same even version before and after has read nothing in
 * between that a writer stored. A word is stored after the odd version that begins the change
 * (release), so who reads that word (acquire) finds this version or a later one afterwards; and
 * before the version that ends the change (release), so who has read that version first (acquire)
 * reads no older word. */
void io_groups_set(struct io_groups *g, const uint32_t *gid, uint32_t n)
{
    uint32_t version = g->version;

    __atomic_store_n(&g->version, version + 1, __ATOMIC_RELAXED);
    for (uint32_t k = 0; k < n; k++)
        __atomic_store_n(&g->gid[k], gid[k], __ATOMIC_RELEASE);
    __atomic_store_n(&g->n, n, __ATOMIC_RELEASE);
    __atomic_store_n(&g->version, version + 2, __ATOMIC_RELEASE);
}

static bool unchanged_since(const struct io_groups *g, uint32_t version)
{
    return !(version & 1) && __atomic_load_n(&g->version, __ATOMIC_RELAXED) == version;
}

void io_groups_get(const struct io_groups *g, struct io_groups *to)
{
    uint32_t version;

    do {
        version = __atomic_load_n(&g->version, __ATOMIC_ACQUIRE);
        to->n = __atomic_load_n(&g->n, __ATOMIC_ACQUIRE);
        for (uint32_t k = 0; k < to->n; k++)
            to->gid[k] = __atomic_load_n(&g->gid[k], __ATOMIC_ACQUIRE);
    } while (!unchanged_since(g, version));
    to->version = 0;
}

bool io_in_group(const struct io_cred *cred, uint32_t gid)
{
    const struct io_groups *g = cred->groups;
    bool found = cred->gid == gid;
    uint32_t version, n;

    if (found || !g)
        return found;
    do {
        version = __atomic_load_n(&g->version, __ATOMIC_ACQUIRE);
        n = __atomic_load_n(&g->n, __ATOMIC_ACQUIRE);
        found = false;
        for (uint32_t k = 0; !found && k < n; k++)
            found = __atomic_load_n(&g->gid[k], __ATOMIC_ACQUIRE) == gid;
    } while (!unchanged_since(g, version));
    return found;
}

int inode_access(const struct inode *i, const struct io_cred *cred, unsigned mask)
{
    uint32_t mode = __atomic_load_n(&i->mode, __ATOMIC_RELAXED);

    if (cred->uid == 0) /* user 0 has every permission, but executes only files with some x bit */
        return !(mask & 1) || (mode & 0111) || (mode & S_IFMT) == S_IFDIR ? 0 : -EACCES;
    if (cred->uid == __atomic_load_n(&i->uid, __ATOMIC_RELAXED))
        mode >>= 6;
    else if (io_in_group(cred, __atomic_load_n(&i->gid, __ATOMIC_RELAXED)))
        mode >>= 3;
    return (mode & mask) == mask ? 0 : -EACCES;
}

void inode_stat(const struct inode *i, struct file_stat *st)
{
    uint64_t size = __atomic_load_n(&i->size, __ATOMIC_RELAXED);

    *st = (struct file_stat){
        .ino = i->ino,
        .size = size,
        .blocks = i->object ? (size + 511) / 512 : 0,
        .atime_ns = __atomic_load_n(&i->atime_ns, __ATOMIC_RELAXED),
        .mtime_ns = __atomic_load_n(&i->mtime_ns, __ATOMIC_RELAXED),
        .ctime_ns = __atomic_load_n(&i->ctime_ns, __ATOMIC_RELAXED),
        .mode = __atomic_load_n(&i->mode, __ATOMIC_RELAXED),
        .nlink = __atomic_load_n(&i->nlink, __ATOMIC_RELAXED),
        .uid = __atomic_load_n(&i->uid, __ATOMIC_RELAXED),
        .gid = __atomic_load_n(&i->gid, __ATOMIC_RELAXED),
        .rdev = i->rdev,
        .blksize = PAGE_SIZE,
        .dev = i->fs->dev,
    };
}

/* Change attributes where they are stored, and report that. */
static int change_stored(struct inode *i, const struct fs_change *to, uint32_t event)
{
    int err = i->ops->change(i, to);

    if (!err)
        notify(i, event);
    return err;
}

int inode_set_mode(struct inode *i, uint32_t mode)
{
    uint32_t old = __atomic_load_n(&i->mode, __ATOMIC_RELAXED);

    if (unlikely(i->ops->change != NULL))
        return change_stored(i, &(struct fs_change){.which = FS_SET_MODE, .mode = mode & 07777},
                             IN_ATTRIB);
    __atomic_store_n(&i->mode, (old & S_IFMT) | (mode & 07777), __ATOMIC_RELAXED);
    inode_touch_attributes(i);
    notify(i, IN_ATTRIB);
    return 0;
}

static inline void drop_set_ids(struct inode *i)
{
    uint32_t bits = inode_set_id_bits(__atomic_load_n(&i->mode, __ATOMIC_RELAXED));

    if (unlikely(bits))
        __atomic_fetch_and(&i->mode, ~bits, __ATOMIC_RELAXED);
}

int inode_set_owner(struct inode *i, uint32_t uid, uint32_t gid)
{
    if (unlikely(i->ops->change != NULL))
        return change_stored(i, &(struct fs_change){.which = FS_SET_OWNER, .uid = uid, .gid = gid},
                             IN_ATTRIB);
    drop_set_ids(i);
    if (uid != UINT32_MAX)
        __atomic_store_n(&i->uid, uid, __ATOMIC_RELAXED);
    if (gid != UINT32_MAX)
        __atomic_store_n(&i->gid, gid, __ATOMIC_RELAXED);
    inode_touch_attributes(i);
    if (uid != UINT32_MAX || gid != UINT32_MAX)
        notify(i, IN_ATTRIB);
    return 0;
}

int inode_set_times(struct inode *i, int64_t atime_ns, int64_t mtime_ns)
{
    /* As Linux: one of the two is as if the contents had been read or changed. */
    uint32_t event = mtime_ns == TIME_UNCHANGED   ? IN_ACCESS
                     : atime_ns == TIME_UNCHANGED ? IN_MODIFY
                                                  : IN_ATTRIB;

    if (unlikely(i->ops->change != NULL))
        return change_stored(
            i,
            &(struct fs_change){.which = FS_SET_TIMES, .atime_ns = atime_ns, .mtime_ns = mtime_ns},
            event);
    if (atime_ns != TIME_UNCHANGED)
        __atomic_store_n(&i->atime_ns, atime_ns, __ATOMIC_RELAXED);
    if (mtime_ns != TIME_UNCHANGED)
        __atomic_store_n(&i->mtime_ns, mtime_ns, __ATOMIC_RELAXED);
    inode_touch_attributes(i);
    notify(i, event);
    return 0;
}

/* inode.failed: an errno, whether somebody was told of it, and a count that makes the word another
 * one for an error that comes after that. */
#define FAILED_ERRNO 0xFFFu
#define FAILED_TOLD  0x1000u
#define FAILED_NEXT  0x2000u

void inode_write_failed(struct inode *i, int err)
{
    uint32_t was = __atomic_load_n(&i->failed, __ATOMIC_RELAXED), now;

    do
        now = ((was & ~(FAILED_ERRNO | FAILED_TOLD)) + (was & FAILED_TOLD ? FAILED_NEXT : 0)) |
              (uint32_t)-err;
    while (!__atomic_compare_exchange_n(&i->failed, &was, now, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

uint32_t inode_failures_seen(const struct inode *i)
{
    uint32_t now = __atomic_load_n(&i->failed, __ATOMIC_RELAXED);

    return now & FAILED_TOLD ? now : 0;
}

int inode_failure(struct inode *i, uint32_t *seen)
{
    uint32_t now = __atomic_load_n(&i->failed, __ATOMIC_ACQUIRE);

    if (likely(now == __atomic_load_n(seen, __ATOMIC_RELAXED)))
        return 0;
    /* The last error is the one that is told: with each that comes meanwhile, or with what another
     * one is told at the same time, `now` is the new word. */
    while (!(now & FAILED_TOLD) &&
           !__atomic_compare_exchange_n(&i->failed, &now, now | FAILED_TOLD, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
        ;
    __atomic_store_n(seen, now | FAILED_TOLD, __ATOMIC_RELAXED);
    return -(int)(now & FAILED_ERRNO);
}

void inode_changed_at(struct inode *i, int64_t ns)
{
    __atomic_store_n(&i->mtime_ns, ns, __ATOMIC_RELAXED);
    __atomic_store_n(&i->ctime_ns, ns, __ATOMIC_RELAXED);
}

void inode_touch(struct inode *i) { inode_changed_at(i, (int64_t)clock_wall_ns()); }

void inode_touch_attributes(struct inode *i)
{
    __atomic_store_n(&i->ctime_ns, (int64_t)clock_wall_ns(), __ATOMIC_RELAXED);
}

void inode_set_accessed(struct inode *i)
{
    __atomic_store_n(&i->atime_ns, (int64_t)clock_wall_ns(), __ATOMIC_RELAXED);
}

/*
 * Copy between the file's pages and user memory, or kernel memory if kbuf is not NULL, page by
 * page. The caller holds the inode's mutex as the direction requires. Returns the number of bytes
 * copied, or an error if there are none.
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

        if (thread_killed()) {
            if (!pfn_eq(pfn, PFN_NONE))
                page_unref(pfn);
            err = -EINTR;
        } else if (pfn_eq(pfn, PFN_NONE)) {
            if (i->ops->will_read)
                i->ops->will_read(i, index, (within + (n - done) + PAGE_MASK) >> PAGE_SHIFT);
            err = object_page_get(i->object, index, write ? MAP_R | MAP_W : MAP_R, &pfn);
        }
        if (err)
            return done ? (long)done : err;
        page = (uint8_t *)kseg_page(pfn) + within;
        if (kbuf && write)
            memcpy(page, (uint8_t *)kbuf + done, part);
        else if (kbuf)
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
    long r = mutex_lock_shared_killable(&i->lock);

    if (r)
        return r;
    if (offset < i->size)
        r = copy_pages(i, offset, 0, buf, MIN(n, i->size - offset), false);
    mutex_unlock_shared(&i->lock);
    if (r > 0)
        notify(i, IN_ACCESS);
    return r;
}

long inode_read_user_locked(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n)
{
    uint64_t size = i->size;

    return offset < size ? copy_pages(i, offset, ubuf, NULL, MIN(n, size - offset), false) : 0;
}

long inode_read_user(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n)
{
    long r = mutex_lock_shared_killable(&i->lock);

    if (r)
        return r;
    r = inode_read_user_locked(i, offset, ubuf, n);
    if (r > 0)
        inode_accessed(i);
    mutex_unlock_shared(&i->lock);
    if (r > 0)
        notify(i, IN_ACCESS);
    return r;
}

uint64_t (*file_size_limit)(bool exceeded);

/* How many of n bytes from offset on the process may write. */
static size_t within_limit(uint64_t offset, size_t n)
{
    uint64_t limit = file_size_limit ? file_size_limit(false) : UINT64_MAX;

    if (likely(n <= limit && offset <= limit - n))
        return n;
    if (offset < limit)
        return limit - offset;
    (void)file_size_limit(true);
    return 0;
}

int inode_check_seals(const struct inode *i, uint64_t size, bool write)
{
    uint32_t seals = i->seals;

    if ((write && (seals & (SEAL_WRITE | SEAL_FUTURE_WRITE))) ||
        (size > i->size && (seals & SEAL_GROW)) || (size < i->size && (seals & SEAL_SHRINK)))
        return -EPERM;
    return 0;
}

/*
 * The size is increased before the bytes are written, so that the pager supplies pages for them,
 * and reduced again by the bytes that could not be copied. A reader waits for the mutex and sees
 * neither state.
 */
static long write_locked(struct inode *i, uint64_t offset, vaddr_t ubuf, void *kbuf, size_t n)
{
    uint64_t old = i->size;
    int err = 0;
    long r;

    if (n == 0)
        return 0; /* also past the end: the file does not grow */
    if (offset == INODE_APPEND)
        offset = old;
    if (offset >= INODE_MAX_BYTES)
        return -EFBIG;
    n = MIN(n, INODE_MAX_BYTES - offset);
    n = within_limit(offset, n);
    if (n == 0)
        return -EFBIG;
    if (unlikely(i->seals))
        err = inode_check_seals(i, MAX(old, offset + n), true);
    if (!err && i->ops->write) {
        r = i->ops->write(i, offset, ubuf, kbuf, n);
        if (r > 0)
            inode_touch(i);
        return r;
    }
    if (!err && offset + n > old)
        err = i->ops->resize(i, offset + n, false);
    if (err)
        return err;
    r = copy_pages(i, offset, ubuf, kbuf, n, true);
    if (offset + n > old && r < (long)n) /* making it shorter cannot fail */
        (void)i->ops->resize(i, r > 0 ? MAX(old, offset + (uint64_t)r) : old, false);
    if (r > 0) {
        inode_touch(i);
        drop_set_ids(i);
    }
    return r == -ENOMEM ? -ENOSPC : r;
}

long inode_write_user_locked(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n)
{
    return write_locked(i, offset, ubuf, NULL, n);
}

long inode_write_user(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n)
{
    long r = mutex_lock_killable(&i->lock);

    if (r)
        return r;
    r = write_locked(i, offset, ubuf, NULL, n);
    mutex_unlock(&i->lock);
    if (r > 0)
        notify(i, IN_MODIFY);
    return r;
}

long inode_write_locked(struct inode *i, uint64_t offset, const void *buf, size_t n)
{
    return write_locked(i, offset, 0, (void *)buf, n);
}

long inode_write(struct inode *i, uint64_t offset, const void *buf, size_t n)
{
    long r = mutex_lock_killable(&i->lock);

    if (r)
        return r;
    r = inode_write_locked(i, offset, buf, n);
    mutex_unlock(&i->lock);
    if (r > 0)
        notify(i, IN_MODIFY);
    return r;
}

int inode_truncate(struct inode *i, uint64_t size)
{
    uint64_t old;
    int err;

    if (!i->object)
        return -EINVAL;
    if (size > INODE_MAX_BYTES)
        return -EFBIG;
    err = mutex_lock_killable(&i->lock);
    if (err)
        return err;
    old = i->size;
    err = size > i->size && !within_limit(size - 1, 1) ? -EFBIG : inode_check_seals(i, size, false);
    if (!err)
        err = i->ops->resize(i, size, true);
    if (!err || i->size != old) {
        inode_touch(i);
        drop_set_ids(i);
    }
    mutex_unlock(&i->lock);
    if (!err)
        notify(i, IN_MODIFY);
    return err;
}

void inode_validate(struct validate *v, struct inode *i)
{
    if (i->object)
        validate_file_object(v, i->object);
}
