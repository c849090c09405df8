/*
 * Calls of Linux's asynchronous I/O: io_setup, io_submit and so on. Reads, writes and fsync of
 * disks that were opened with O_DIRECT are under way when io_submit returns (kernel/io/aio.c); all
 * others are carried out by it, as on Linux those of buffered files are. A request that begins and
 * fails is an event with the error; one that cannot begin ends io_submit. Requests to disks are
 * prepared one by one and submitted up to AIO_BATCH together. None of them is held back while the
 * thread waits for a page: as long as some are prepared, faults on user memory fail at once
 * (thread.no_faults), and who meets one submits them and tries again.
 *
 * No lock here. The descriptor is used from fd_get() to fd_put().
 */
#include "kernel/io/aio.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/timerfd.h"
#include "kernel/proc/aio.h"
#include "kernel/proc/fdtable.h"
#include "kernel/sched/thread.h"
#include "kernel/sys/posix/aio.h"
#include "kernel/sys/posix/file.h"
#include "kernel/sys/posix/poll.h"

#define PARTS_MOST 16u /* buffers of a vector that is transferred asynchronously */
#define EVENTS     16u /* copied to the user at a time */

#define IOCB_FLAG_RESFD 1u

enum { PREAD = 0, PWRITE = 1, FSYNC = 2, FDSYNC = 3, PREADV = 7, PWRITEV = 8 };

struct iocb { /* as user memory has it */
    uint64_t data;
    uint32_t key, rw_flags;
    uint16_t opcode;
    int16_t priority;
    uint32_t fd;
    uint64_t buf, nbytes;
    int64_t offset;
    uint64_t reserved;
    uint32_t flags, eventfd;
};

static struct aio_context *context(uint64_t number)
{
    struct aio_table *t = process_aio();

    return t ? aio_context_get(t, number) : NULL;
}

long sys_io_setup(uint64_t most, uint64_t to)
{
    uint32_t n = (uint32_t)most;
    struct aio_table *t;
    uint64_t number;
    int err;

    if (copyin_u64(&number, to))
        return -EFAULT;
    if (number || !n || n > INT32_MAX)
        return -EINVAL;
    err = n > AIO_TOTAL ? -EAGAIN : process_aio_make(&t);
    if (!err)
        err = aio_context_create(t, n, &number);
    if (!err && copyout_u64(to, number)) {
        (void)aio_context_destroy(t, number);
        err = -EFAULT;
    }
    return err;
}

long sys_io_destroy(uint64_t number)
{
    struct aio_table *t = process_aio();

    return t ? aio_context_destroy(t, number) : -EINVAL;
}

/* ---- submitting ---- */

#define OP_FLUSH  1u
#define OP_WRITE  2u
#define OP_VECTOR 4u
#define OP_KNOWN  8u

static inline unsigned traits(unsigned opcode)
{
    static const uint8_t of[] = {[PREAD] = OP_KNOWN,
                                 [PWRITE] = OP_KNOWN | OP_WRITE,
                                 [FSYNC] = OP_KNOWN | OP_FLUSH,
                                 [FDSYNC] = OP_KNOWN | OP_FLUSH,
                                 [PREADV] = OP_KNOWN | OP_VECTOR,
                                 [PWRITEV] = OP_KNOWN | OP_WRITE | OP_VECTOR};

    return opcode < ARRAY_SIZE(of) ? of[opcode] : 0;
}

/* May the file be used for what the request asks? */
static inline long check(const struct iocb *b, const struct file *f)
{
    unsigned is = traits(b->opcode);
    uint32_t mode = f->flags & O_ACCMODE;

    if (f->flags & O_PATH)
        return -EBADF;
    if (!is)
        return -EINVAL;
    if (is & OP_FLUSH)
        return 0;
    if (mode == (is & OP_WRITE ? O_RDONLY : O_WRONLY))
        return -EBADF;
    if (b->offset < 0 || (int64_t)b->nbytes < 0 || b->rw_flags)
        return b->rw_flags ? -EOPNOTSUPP : -EINVAL;
    return is & OP_VECTOR || user_range_ok(b->buf, b->nbytes) ? 0 : -EFAULT;
}

/* Carry the request out. */
static long __attribute__((noinline)) do_now(const struct iocb *b)
{
    uint64_t offset = (uint64_t)b->offset;

    switch (b->opcode) {
    case PREAD:
        return sys_pread64(b->fd, b->buf, b->nbytes, offset);
    case PWRITE:
        return sys_pwrite64(b->fd, b->buf, b->nbytes, offset);
    case PREADV:
        return sys_preadv(b->fd, b->buf, b->nbytes, offset);
    case PWRITEV:
        return sys_pwritev(b->fd, b->buf, b->nbytes, offset);
    case FSYNC:
        return sys_fsync(b->fd);
    default:
        return sys_fdatasync(b->fd);
    }
}

static int __attribute__((noinline)) prepare_vector(struct aio_request *r, const struct iocb *b,
                                                    struct file *f, bool *done)
{
    struct aio_part part[PARTS_MOST];
    unsigned n = (unsigned)b->nbytes;
    uint64_t sum = 0;

    if (!n || b->nbytes > PARTS_MOST)
        return -EOPNOTSUPP;
    if (copyin(part, b->buf, n * sizeof(part[0])))
        return -EFAULT;
    for (unsigned k = 0; k < n; k++) {
        if (part[k].nbytes > IO_MAX - sum || !user_range_ok(part[k].base, part[k].nbytes))
            return -EOPNOTSUPP; /* readv and writev know what is right then */
        sum += part[k].nbytes;
    }
    return aio_prepare(r, f, b->opcode == PWRITEV, part, n, (uint64_t)b->offset, done);
}

/* Prepare the request. As aio_prepare(). */
static inline int prepare(struct aio_request *r, const struct iocb *b, struct file *f, bool *done)
{
    unsigned is = traits(b->opcode);
    struct aio_part one = {b->buf, MIN(b->nbytes, IO_MAX)};

    if (unlikely(is & (OP_FLUSH | OP_VECTOR)))
        return is & OP_FLUSH ? aio_prepare_flush(r, f) : prepare_vector(r, b, f, done);
    return aio_prepare(r, f, is & OP_WRITE, &one, 1, (uint64_t)b->offset, done);
}

/* Where nobody is told of a signal, it was one. */
static long result_of(long r) { return r == -ERESTARTSYS ? -EINTR : r; }

/* A call of io_submit. */
struct submission {
    struct aio_context *context;
    int64_t left;           /* that the caller has asked for */
    struct aio_batch batch; /* prepared */
    unsigned nready;        /* made, and not begun yet */
    struct aio_request *ready[AIO_BATCH];
};

/* There are requests to begin, then. */
static int make_ready(struct submission *s)
{
    int n = aio_requests_create(s->context, (unsigned)MIN(s->left, AIO_BATCH), s->ready);

    s->nready = n > 0 ? (unsigned)n : 0;
    return n > 0 ? 0 : n;
}

/* What was prepared is submitted before the thread waits, and faults may supply pages again. */
static void before_wait(struct submission *s)
{
    thread_self()->no_faults = false;
    aio_submit(&s->batch);
}

static inline void prepared(struct submission *s, struct aio_request *r)
{
    s->batch.r[s->batch.n++] = r;
    if (s->batch.n == AIO_BATCH)
        aio_submit(&s->batch);
}

/* The request could not be prepared: try again, if that was for a page that was not there; carry it
 * out, or it has failed. */
static void __attribute__((noinline)) settle(struct submission *s, struct aio_request *r,
                                             const struct iocb *b, struct file *f, int err)
{
    bool done = false;

    if (err == -EFAULT && s->batch.n) {
        before_wait(s);
        err = prepare(r, b, f, &done);
    }
    if (err == -EOPNOTSUPP) {
        before_wait(s); /* also because what was asked for before comes first */
        /* Other threads may begin as many as the context has left, however long this takes. */
        if (s->nready)
            aio_requests_drop(s->context, s->nready, s->ready);
        s->nready = 0;
        aio_request_done(r, result_of(do_now(b)));
    } else if (err) {
        aio_request_done(r, err);
    } else if (!done) {
        prepared(s, r);
    }
}

static inline __attribute__((always_inline)) long submit_to(struct submission *s,
                                                            const struct iocb *b, uint64_t at,
                                                            struct file *f, struct file *eventfd)
{
    int err = likely(s->nready) ? 0 : make_ready(s);
    struct aio_request *r;
    bool done = false;

    if (unlikely(err))
        return err;
    r = s->ready[--s->nready];
    if (eventfd)
        file_ref(eventfd);
    aio_request_begin(r, b->data, at, eventfd);
    err = prepare(r, b, f, &done);
    if (unlikely(err))
        settle(s, r, b, f, err);
    else if (!done)
        prepared(s, r);
    return 0;
}

/* The same with an eventfd that is to tell of the end. */
static long __attribute__((noinline)) submit_telling(struct submission *s, const struct iocb *b,
                                                     uint64_t at, struct file *f)
{
    struct fd_use e = fd_get(process_self()->files, b->eventfd);
    long err = !e.file ? -EBADF : eventfd_is(e.file) ? submit_to(s, b, at, f, e.file) : -EINVAL;

    fd_put(e);
    return err;
}

static inline long submit_one(struct submission *s, uint64_t at)
{
    struct fd_use f;
    struct iocb b;
    long err;

    if (copyin(&b, at, sizeof(b)))
        return -EFAULT;
    if (b.reserved || (b.flags & ~IOCB_FLAG_RESFD))
        return -EINVAL;
    f = fd_get(process_self()->files, b.fd);
    err = f.file ? check(&b, f.file) : -EBADF;
    if (!err && copyout_u32(at + offsetof(struct iocb, key), 0))
        err = -EFAULT;
    if (likely(!err))
        err = likely(!b.flags) ? submit_to(s, &b, at, f.file, NULL)
                               : submit_telling(s, &b, at, f.file);
    fd_put(f);
    return err;
}

/* The request whose address is at `list`. */
static inline __attribute__((always_inline)) long submit_next(struct submission *s, vaddr_t list)
{
    uint64_t at;

    return copyin_u64(&at, list) ? -EFAULT : submit_one(s, at);
}

static long __attribute__((noinline)) try_again(struct submission *s, vaddr_t list)
{
    before_wait(s);
    return submit_next(s, list);
}

long sys_io_submit(uint64_t number, uint64_t count, uint64_t list)
{
    struct submission s;
    int64_t n = (int64_t)count, done = 0;
    long err = 0;

    if (n < 0)
        return -EINVAL;
    s.context = context(number);
    s.batch.n = s.nready = 0;
    if (!s.context)
        return -EINVAL;
    for (; done < n && !err; done += !err) {
        vaddr_t next = list + (uint64_t)done * sizeof(uint64_t);

        s.left = n - done;
        thread_self()->no_faults = s.batch.n != 0;
        err = thread_killed() ? -EINTR : submit_next(&s, next);
        if (unlikely(err == -EFAULT) && s.batch.n)
            err = try_again(&s, next);
    }
    before_wait(&s);
    if (unlikely(s.nready))
        aio_requests_drop(s.context, s.nready, s.ready);
    aio_context_unref(s.context);
    return done ? done : err;
}

/* Nothing that a disk has begun can be taken back. */
long sys_io_cancel(uint64_t number, uint64_t iocb, uint64_t to)
{
    struct aio_context *c;
    uint32_t key;

    (void)to;
    if (copyin(&key, iocb + offsetof(struct iocb, key), sizeof(key)))
        return -EFAULT;
    c = context(number);
    if (c)
        aio_context_unref(c);
    return -EINVAL;
}

/* ---- events ---- */

/* Take what is there, up to `most` events, to user memory. */
static long take(struct aio_context *c, vaddr_t to, uint64_t most)
{
    struct aio_event e[EVENTS];
    uint64_t done = 0;
    unsigned n;

    while (done < most && (n = (unsigned)MIN(MIN(aio_ready(c), most - done), EVENTS)) != 0) {
        vaddr_t at = to + done * sizeof(e[0]);

        if (probe_write(at, n * sizeof(e[0])) != 0)
            return done ? (long)done : -EFAULT;
        n = aio_take(c, e, n);
        /* Who unmaps the memory meanwhile has lost these, but not those before. */
        if (copyout(at, e, n * sizeof(e[0])) != 0)
            return done ? (long)done : -EFAULT;
        done += n;
    }
    return (long)done;
}

static long events(uint64_t number, uint64_t least, uint64_t most, vaddr_t to, uint64_t deadline)
{
    struct aio_context *c;
    long done = 0, r, err = 0;

    if ((int64_t)least < 0 || (int64_t)most <= 0 || least > most)
        return -EINVAL;
    c = context(number);
    if (!c)
        return -EINVAL;
    for (;;) {
        r = take(c, to + (uint64_t)done * sizeof(struct aio_event), most - (uint64_t)done);
        done += r > 0 ? r : 0;
        if (r < 0 || err || done >= (long)least)
            break;
        err = aio_wait(c, (unsigned)MIN(least - (uint64_t)done, UINT32_MAX), deadline);
    }
    aio_context_unref(c);
    if (done)
        return done;
    return r < 0 ? r : err == -ETIMEDOUT ? 0 : err;
}

long sys_io_getevents(uint64_t number, uint64_t least, uint64_t most, uint64_t to, uint64_t timeout)
{
    uint64_t deadline;
    long err = poll_deadline(timeout, 1, &deadline);

    return err ? err : events(number, least, most, to, deadline);
}

long sys_io_pgetevents(uint64_t number, uint64_t least, uint64_t most, uint64_t to,
                       uint64_t timeout, uint64_t mask)
{
    uint64_t deadline;
    vaddr_t set;
    long err = poll_begin(timeout, mask, &deadline, &set);

    if (err)
        return err;
    err = events(number, least, most, to, deadline);
    poll_mask_end(set, err);
    return err;
}
