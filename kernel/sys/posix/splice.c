/*
 * splice, tee and vmsplice. Bytes are copied: a pipe takes no pages over, so SPLICE_F_MOVE and
 * SPLICE_F_GIFT are hints without effect, and a program may use its memory again at once. The other
 * side of a pipe is another pipe, a regular file, a socket, a terminal or the master of one, or a
 * device without hardware as the target.
 */
#include "kernel/io/splice.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/tree.h"
#include "kernel/net/socket.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/sched/thread.h"
#include "kernel/sys/posix/file.h"
#include "kernel/sys/posix/side.h"
#include "mm/pool/pool_charged.h"

#define SPLICE_F_NONBLOCK 2u
#define SPLICE_F_ALL      15u

#define VECTOR_MAX 1024u

static bool nonblocking(const struct file *f, uint64_t flags)
{
    return (flags & SPLICE_F_NONBLOCK) || (f->flags & O_NONBLOCK);
}

static long to_side(void *side, const void *buf, size_t n) { return side_write(side, buf, n); }

struct to_socket {
    struct sock *s;
    bool nonblock;
};

static long to_socket(void *arg, const void *buf, size_t n)
{
    const struct to_socket *t = arg;

    return socket_send_kernel(t->s, buf, n, t->nonblock);
}

static long pipe_to_file(struct pipe *p, struct file *in, struct file *out, vaddr_t offset,
                         uint64_t n, uint64_t flags)
{
    struct side to = {.file = out};
    long err = 0, r;

    if (!out->ops->write_kernel || (out->flags & O_APPEND))
        return -EINVAL;
    if (socket_of(out) && !offset) {
        struct to_socket t = {socket_of(out), nonblocking(out, flags)};

        return splice_out(p, MIN(n, IO_MAX), nonblocking(in, flags), to_socket, &t);
    }
    if (offset)
        err = out->ops == &regular_ops ? side_begin(&to, out, offset) : -EINVAL;
    if (err)
        return err;
    r = splice_out(p, MIN(n, IO_MAX), nonblocking(in, flags), to_side, &to);
    if (r > 0 && offset)
        err = side_end(&to, offset);
    return err ? err : r;
}

/* Put what fits of n bytes into q. buf: a page. */
static long fill_from(struct side *from, struct pipe *q, uint64_t n, bool nonblock, void *buf)
{
    uint64_t done = 0;
    long r = 0;

    while (done < n) {
        uint64_t start = from->offset, want = MIN(n - done, PAGE_SIZE - (start & PAGE_MASK));
        long got;

        r = thread_killed() ? -EINTR : done ? 0 : splice_wait_room(q, nonblock);
        if (!r)
            r = side_read(from, buf, want);
        if (r <= 0)
            break;
        got = r;
        r = splice_in(q, buf, (size_t)got);
        from->offset = start + (uint64_t)MAX(r, 0l);
        if (r < 0)
            break;
        done += (uint64_t)r;
        if (r < got && done) /* it is full; if nothing was put in, others were faster: wait again */
            break;
    }
    return done ? (long)done : r;
}

static long file_to_pipe(struct file *in, vaddr_t offset, struct file *out, struct pipe *q,
                         uint64_t n, uint64_t flags)
{
    uint16_t account = pool_account();
    struct side from;
    void *page;
    long err, r;

    if (in->ops->read_kernel && !offset)
        return splice_from(q, in, MIN(n, IO_MAX), nonblocking(out, flags));
    if (in->ops != &regular_ops)
        return -EINVAL;
    err = side_begin(&from, in, offset);
    if (err)
        return err;
    page = pgd_alloc_charged(PAGE_SIZE, account);
    if (!page)
        return -ENOMEM;
    r = fill_from(&from, q, MIN(n, IO_MAX), nonblocking(out, flags), page);
    pgd_free_charged(page, PAGE_SIZE, account);
    if (r > 0)
        err = side_end(&from, offset);
    return err ? err : r;
}

static long splice(struct file *in, vaddr_t in_offset, struct file *out, vaddr_t out_offset,
                   uint64_t n, uint64_t flags)
{
    struct pipe *p, *q;

    if (!can_read(in) || !can_write(out))
        return -EBADF;
    p = pipe_of(in);
    q = pipe_of(out);
    if ((p && in_offset) || (q && out_offset))
        return -ESPIPE;
    if (p && q)
        return p == q ? -EINVAL
                      : splice_across(p, q, n, nonblocking(in, flags) || nonblocking(out, flags),
                                      false);
    if (p)
        return pipe_to_file(p, in, out, out_offset, n, flags);
    return q ? file_to_pipe(in, in_offset, out, q, n, flags) : -EINVAL;
}

long sys_splice(uint64_t in_fd, uint64_t in_offset, uint64_t out_fd, uint64_t out_offset,
                uint64_t n, uint64_t flags)
{
    struct fd_use in, out;
    long r = -EBADF;

    if (!n)
        return 0;
    if ((uint32_t)flags & ~SPLICE_F_ALL)
        return -EINVAL;
    in = fd_get(process_self()->files, in_fd);
    out = fd_get(process_self()->files, out_fd);
    if (in.file && out.file)
        r = splice(in.file, in_offset, out.file, out_offset, n, flags);
    fd_put(out);
    fd_put(in);
    return r == -EPIPE ? broken_pipe() : r;
}

static long tee(const struct file *in, const struct file *out, uint64_t n, uint64_t flags)
{
    struct pipe *p = pipe_of(in), *q = pipe_of(out);

    if (!can_read(in) || !can_write(out))
        return -EBADF;
    if (!p || !q || p == q)
        return -EINVAL;
    return splice_across(p, q, n, nonblocking(in, flags) || nonblocking(out, flags), true);
}

long sys_tee(uint64_t in_fd, uint64_t out_fd, uint64_t n, uint64_t flags)
{
    struct fd_use in, out;
    long r = -EBADF;

    if ((uint32_t)flags & ~SPLICE_F_ALL)
        return -EINVAL;
    if (!n)
        return 0;
    in = fd_get(process_self()->files, in_fd);
    out = fd_get(process_self()->files, out_fd);
    if (in.file && out.file)
        r = tee(in.file, out.file, n, flags);
    fd_put(out);
    fd_put(in);
    return r == -EPIPE ? broken_pipe() : r;
}

struct iovec {
    uint64_t base, nbytes;
};

/* Move the bytes of one buffer. first: nothing was moved before, so it may wait. */
static long one_buffer(struct pipe *p, const struct iovec *v, bool into, bool nonblock, bool first)
{
    long r;

    if (!into) {
        r = splice_out_user(p, v->base, v->nbytes, nonblock || !first);
        return r == -EAGAIN && !first ? 0 : r;
    }
    do {
        r = first ? splice_wait_room(p, nonblock) : 0;
        if (!r)
            r = splice_in_user(p, v->base, v->nbytes);
    } while (!r && first); /* others have filled it since it had room */
    return r;
}

/* Check a vector. The number of its bytes, at most IO_MAX; -EFAULT, -EINVAL. */
static long check_vector(vaddr_t iov, uint64_t count)
{
    uint64_t sum = 0;

    if (count > VECTOR_MAX)
        return -EINVAL;
    for (uint64_t k = 0; k < count; k++) {
        struct iovec v;

        if (copyin(&v, iov + k * sizeof(v), sizeof(v)))
            return -EFAULT;
        if (v.nbytes > INT64_MAX)
            return -EINVAL;
        sum = MIN(sum + v.nbytes, IO_MAX);
    }
    return (long)sum;
}

/* As readv and writev, but only the first bytes are waited for. Each buffer is copied in once more
 * when its turn comes, and checked: others may have changed it. */
static long each_buffer(struct pipe *p, vaddr_t iov, uint64_t count, bool into, bool nonblock)
{
    uint64_t done = 0;
    long r = 0;

    for (uint64_t k = 0; k < count; k++) {
        struct iovec v;

        r = copyin(&v, iov + k * sizeof(v), sizeof(v));
        if (!r && v.nbytes > INT64_MAX)
            r = -EINVAL;
        if (r)
            break;
        v.nbytes = MIN(v.nbytes, IO_MAX - done);
        if (!v.nbytes)
            continue;
        r = one_buffer(p, &v, into, nonblock, !done);
        if (r > 0)
            done += (uint64_t)r;
        if (r < (long)v.nbytes)
            break;
    }
    return done ? (long)done : r;
}

long sys_vmsplice(uint64_t fd, uint64_t iov, uint64_t count, uint64_t flags)
{
    struct fd_use use;
    struct pipe *p;
    long r = -EBADF;

    if ((uint32_t)flags & ~SPLICE_F_ALL)
        return -EINVAL;
    use = fd_get(process_self()->files, fd);
    if (use.file && !(use.file->flags & O_PATH))
        r = check_vector(iov, count);
    p = r > 0 ? pipe_of(use.file) : NULL;
    if (p)
        r = each_buffer(p, iov, count, can_write(use.file), (flags & SPLICE_F_NONBLOCK) != 0);
    else if (r > 0)
        r = -EBADF;
    fd_put(use);
    return r == -EPIPE ? broken_pipe() : r;
}
