/*
 * Calls that move bytes between files or change a file's storage without a buffer of the program:
 * sendfile, copy_file_range, fallocate. Bytes that are copied go through a page of paged pool,
 * charged to the user, so no lock of one file is held while the other is used. It is pool because a
 * thread that waits for room in a pipe may hold no page outside of structures (freeze.h).
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/fs/notify.h"
#include "kernel/io/memfd.h"
#include "kernel/io/tree.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/sched/thread.h"
#include "kernel/sys/posix/file.h"
#include "kernel/sys/posix/side.h"
#include "mm/pool/pool_charged.h"

#define FALLOC_FL_KEEP_SIZE  0x1u
#define FALLOC_FL_PUNCH_HOLE 0x2u
#define FALLOC_FL_ZERO_RANGE 0x10u

/* ---- copying ---- */

long side_read(struct side *s, void *buf, size_t n)
{
    struct inode *i = s->file->inode;
    long r = inode_read(i, s->offset, buf, n);

    if (r > 0) {
        s->offset += (uint64_t)r;
        inode_accessed(i);
    }
    return r;
}

long side_write(struct side *s, const void *buf, size_t n)
{
    long r;

    if (!s->at)
        return s->file->ops->write_kernel(s->file, buf, n);
    r = inode_write(s->file->inode, s->offset, buf, n);
    if (r > 0)
        s->offset += (uint64_t)r;
    return r;
}

/* Copy n bytes. The number copied, or an error if there are none. */
static long copy(struct side *in, struct side *out, uint64_t n)
{
    uint16_t account = pool_account();
    uint64_t done = 0;
    long r = 0;
    void *page = pgd_alloc_charged(PAGE_SIZE, account);

    if (!page)
        return -ENOMEM;
    while (done < n) {
        uint64_t want = MIN(n - done, PAGE_SIZE - (in->offset & PAGE_MASK)), start = in->offset;
        long got;

        r = thread_killed() ? -EINTR : side_read(in, page, want);
        if (r <= 0)
            break;
        got = r;
        r = side_write(out, page, (size_t)got);
        if (r < got)
            in->offset = start + (uint64_t)MAX(r, 0l);
        if (r <= 0)
            break;
        done += (uint64_t)r;
        if (r < got)
            break;
    }
    pgd_free_charged(page, PAGE_SIZE, account);
    if (done && out->at) /* else the file's own operation has done it */
        return regular_written(out->file, (long)done);
    return done ? (long)done : r;
}

long side_begin(struct side *s, struct file *f, vaddr_t offset)
{
    int64_t pos;

    *s = (struct side){.file = f, .at = offset != 0};
    if (offset) {
        /* Written back at once, so that nothing is copied if that cannot be done. */
        if (copyin_u64(&s->offset, offset) || copyout_u64(offset, s->offset))
            return -EFAULT;
        return (int64_t)s->offset < 0 ? -EINVAL : 0;
    }
    pos = f->ops->lseek(f, 0, SEEK_CUR);
    s->offset = (uint64_t)pos;
    return pos < 0 ? (long)pos : 0;
}

int side_end(const struct side *s, vaddr_t offset)
{
    if (offset)
        return copyout_u64(offset, s->offset);
    s->file->ops->lseek(s->file, (int64_t)s->offset, SEEK_SET);
    return 0;
}

static long send(struct file *out, struct file *in, vaddr_t offset, uint64_t n)
{
    struct side from, to = {.file = out};
    long err, r;

    if (!can_read(in) || !can_write(out))
        return -EBADF;
    if (in->ops != &regular_ops || !out->ops->write_kernel || (out->flags & O_APPEND))
        return -EINVAL;
    err = side_begin(&from, in, offset);
    if (err)
        return err;
    r = copy(&from, &to, MIN(n, IO_MAX));
    if (r > 0 || offset)
        err = side_end(&from, offset);
    return err ? err : r == -EPIPE ? broken_pipe() : r;
}

long sys_sendfile(uint64_t out_fd, uint64_t in_fd, uint64_t offset, uint64_t n)
{
    struct fd_use out = fd_get(process_self()->files, out_fd);
    struct fd_use in = fd_get(process_self()->files, in_fd);
    long r = out.file && in.file ? send(out.file, in.file, offset, n) : -EBADF;

    fd_put(in);
    fd_put(out);
    return r;
}

static long copy_range(struct file *in, vaddr_t in_offset, struct file *out, vaddr_t out_offset,
                       uint64_t n)
{
    struct side from, to;
    long r, err;

    if (in->ops == &directory_ops || out->ops == &directory_ops)
        return -EISDIR;
    if (in->ops != &regular_ops || out->ops != &regular_ops)
        return in->flags & O_PATH || out->flags & O_PATH ? -EBADF : -EINVAL;
    if (!can_read(in) || !can_write(out) || (out->flags & O_APPEND))
        return -EBADF;
    err = side_begin(&from, in, in_offset);
    if (!err)
        err = side_begin(&to, out, out_offset);
    if (err)
        return err;
    if (n > INT64_MAX - from.offset || n > INT64_MAX - to.offset)
        return -EOVERFLOW;
    n = MIN(n, IO_MAX);
    if (in->inode == out->inode && from.offset < to.offset + n && to.offset < from.offset + n)
        return -EINVAL;
    to.at = true; /* its position is set at the end */
    r = copy(&from, &to, n);
    if (r > 0) {
        err = side_end(&from, in_offset);
        if (!err)
            err = side_end(&to, out_offset);
    }
    return err ? err : r;
}

long sys_copy_file_range(uint64_t in_fd, uint64_t in_offset, uint64_t out_fd, uint64_t out_offset,
                         uint64_t n, uint64_t flags)
{
    struct fd_use in = fd_get(process_self()->files, in_fd);
    struct fd_use out = fd_get(process_self()->files, out_fd);
    long r = -EBADF;

    if (in.file && out.file)
        r = flags ? -EINVAL : copy_range(in.file, in_offset, out.file, out_offset, n);
    fd_put(out);
    fd_put(in);
    return r;
}

/* ---- fallocate ---- */

static long allocate(struct file *f, uint64_t mode, uint64_t offset, uint64_t n)
{
    bool keep = (mode & FALLOC_FL_KEEP_SIZE) != 0;
    struct file_stat st = {0};
    int err;

    if (f->flags & O_PATH)
        return -EBADF;
    if ((int64_t)offset < 0 || (int64_t)n <= 0)
        return -EINVAL;
    if ((mode & ~(uint64_t)(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) ||
        (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) ==
            (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE) ||
        ((mode & FALLOC_FL_PUNCH_HOLE) && !keep))
        return -EOPNOTSUPP;
    if (!can_write(f))
        return -EBADF;
    if (f->ops != &regular_ops && !memfd_is_huge(f)) {
        f->ops->stat(f, &st);
        return (st.mode & S_IFMT) == S_IFIFO ? -ESPIPE : -ENODEV;
    }
    if (n > INODE_MAX_BYTES || offset > INODE_MAX_BYTES - n)
        return -EFBIG;
    if (memfd_is_huge(f))
        return mode & FALLOC_FL_ZERO_RANGE
                   ? -EOPNOTSUPP
                   : memfd_huge_allocate(f, offset, n, keep, (mode & FALLOC_FL_PUNCH_HOLE) != 0);
    if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        err = inode_clear(f->inode, offset, n, !keep); /* a hole keeps the length */
    else
        err = inode_allocate(f->inode, offset, n, !keep);
    if (!err)
        notify(f->inode, IN_MODIFY);
    return err;
}

long sys_fallocate(uint64_t fd, uint64_t mode, uint64_t offset, uint64_t n)
{
    return fd_call(process_self()->files, fd, allocate, mode, offset, n);
}
