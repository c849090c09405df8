/* Open regular files: the file position. kernel/fs/inode.c reads and writes the contents. */
#include "kernel/base/errno.h"
#include "kernel/fs/notify.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "mm/object/object.h"

/*
 * The position is read and changed under the inode's mutex. If the open file has several references
 * (processes or calls that share it), read takes the mutex exclusively, so that no two reads get
 * the same bytes.
 */
static long regular_read(struct file *f, vaddr_t ubuf, size_t n)
{
    struct inode *i = f->inode;
    bool shared = __atomic_load_n(&f->refs, __ATOMIC_RELAXED) == 1;
    long r = shared ? mutex_lock_shared_killable(&i->lock) : mutex_lock_killable(&i->lock);

    if (r)
        return r;
    r = inode_read_user_locked(i, (uint64_t)f->pos, ubuf, n);
    if (r > 0) {
        f->pos += r;
        if (!(f->flags & O_NOATIME))
            inode_accessed(i);
    }
    if (shared)
        mutex_unlock_shared(&i->lock);
    else
        mutex_unlock(&i->lock);
    if (r > 0)
        notify(i, IN_ACCESS);
    return r;
}

int regular_sync(struct file *f, bool only_data)
{
    int err = inode_sync(f->inode, only_data), before = inode_failure(f->inode, &f->failed);

    return before ? before : err;
}

/* Have n bytes on the disk that were just written. n, or an error: not -ENOMEM, which says that
 * nothing was written. */
static long __attribute__((noinline)) written_through(struct file *f, long n)
{
    int err;

    do
        err = regular_sync(f, (f->flags & O_SYNC) != O_SYNC);
    while (err == -ENOMEM && object_wait_for_memory && object_wait_for_memory());
    return err == -ENOMEM ? -EIO : err ? err : n;
}

long regular_written(struct file *f, long r)
{
    return r > 0 && unlikely(f->flags & O_DSYNC) ? written_through(f, r) : r;
}

static long regular_write(struct file *f, vaddr_t ubuf, size_t n)
{
    struct inode *i = f->inode;
    long r = mutex_lock_killable(&i->lock);

    if (r)
        return r;
    if (f->flags & O_APPEND)
        f->pos = (int64_t)i->size;
    r = inode_write_user_locked(i, (uint64_t)f->pos, ubuf, n);
    if (r > 0)
        f->pos += r;
    mutex_unlock(&i->lock);
    if (r > 0)
        notify(i, IN_MODIFY);
    return regular_written(f, r);
}

static long regular_write_kernel(struct file *f, const void *buf, size_t n)
{
    struct inode *i = f->inode;
    long r = mutex_lock_killable(&i->lock);

    if (r)
        return r;
    r = inode_write_locked(i, f->flags & O_APPEND ? INODE_APPEND : (uint64_t)f->pos, buf, n);
    if (r > 0)
        f->pos = f->flags & O_APPEND ? (int64_t)i->size : f->pos + r;
    mutex_unlock(&i->lock);
    if (r > 0)
        notify(i, IN_MODIFY);
    return regular_written(f, r);
}

/* SEEK_DATA and SEEK_HOLE: all of a file counts as data, followed by the hole at its end. */
static int64_t seek_storage(const struct inode *i, int64_t off, int whence)
{
    if (off < 0 || (uint64_t)off >= i->size)
        return -ENXIO;
    return whence == SEEK_DATA ? off : (int64_t)i->size;
}

static __attribute__((noinline)) int64_t seek_locked(struct file *f, int64_t off, int whence)
{
    struct inode *i = f->inode;
    int64_t base, to = mutex_lock_killable(&i->lock);

    if (to)
        return to;
    base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? f->pos : (int64_t)i->size;
    if (unlikely(whence == SEEK_DATA || whence == SEEK_HOLE))
        to = seek_storage(i, off, whence);
    else if ((unsigned)whence > SEEK_END || __builtin_add_overflow(base, off, &to) || to < 0)
        to = -EINVAL;
    if (to >= 0)
        f->pos = to;
    mutex_unlock(&i->lock);
    return to;
}

/* With one reference, which is the caller's, nobody else uses the position, so that it may be
 * changed without the mutex, which only the file's size needs. */
static int64_t regular_lseek(struct file *f, int64_t off, int whence)
{
    int64_t to;

    if (unlikely((unsigned)whence > SEEK_CUR || __atomic_load_n(&f->refs, __ATOMIC_RELAXED) != 1))
        return seek_locked(f, off, whence);
    if (__builtin_add_overflow(whence == SEEK_SET ? 0 : f->pos, off, &to) || to < 0)
        return -EINVAL;
    f->pos = to;
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

static struct mm_object *regular_object(struct file *f) { return f->inode->object; }

const struct file_ops regular_ops = {
    .name = "file",
    .read = regular_read,
    .write = regular_write,
    .write_kernel = regular_write_kernel,
    .lseek = regular_lseek,
    .stat = regular_stat,
    .truncate = regular_truncate,
    .object = regular_object,
};
