/*
 * Pipes, with and without a name. A pipe is a ring of up to PIPE_PAGES pages. Each page is
 * allocated when the writer reaches it, and kept until the pipe is freed. Whenever the pipe is
 * empty it starts again at page 0, so small messages back and forth use one page only.
 *
 * All fields are protected by the pipe's mutex, which is held while user memory is copied (rank
 * MUTEX_INODE, before the address space's). A thread that must wait increments a count under the
 * mutex before it releases it, so the other side can tell from the count whether to wake a thread,
 * without looking at the wait queue.
 */
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/check/validate.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"

#define PIPE_PAGES (PIPE_BYTES / PAGE_SIZE)
#define PIPE_BUF   4096 /* bytes: a write of up to so many is not interleaved with others */

/* In nonpaged pool. All fields but `ends` are protected by lock. */
struct pipe {
    struct mutex lock;
    /* Open ends; the last one to close frees the pipe. Atomic; of a FIFO fifo_mutex protects it. */
    uint32_t ends;
    uint32_t readers, writers; /* open ends of each kind: 0 or 1, but of a FIFO any number */
    struct inode *fifo;        /* constant: the FIFO, kept by its open files, or NULL */
    /* FIFO: how often it was opened for each, free-running: for who waits for the other side. */
    uint32_t opened_read, opened_write;
    uint32_t reads_waiting, writes_waiting;
    uint64_t head, count; /* offset of the next byte to read, number of bytes in the pipe */
    uint64_t ino;
    uint16_t seen; /* used by the self-check */
    struct wait_queue read_queue, write_queue;
    struct poll_source polled; /* has a lock of its own; entries come under lock */
    uint8_t *page[PIPE_PAGES]; /* KSEG addresses; NULL: not allocated yet */
};

static uint64_t next_pipe_ino = 1; /* atomic */
/* Protects inode.fifo, and `ends` of a FIFO's pipe. Not held together with a pipe's mutex. */
static struct mutex fifo_mutex = MUTEX_INIT("fifos", MUTEX_INODE, fifo_mutex);

/* Wait on q for a change, with the mutex released meanwhile. 0 or -ERESTARTSYS. */
static int pipe_wait(struct pipe *p, struct wait_queue *q, uint32_t *waiting)
{
    struct waiter w;
    int err;

    ++*waiting;
    wait_enqueue(q, &w);
    mutex_unlock(&p->lock);
    err = wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
    wait_finish(&w);
    mutex_lock(&p->lock);
    --*waiting;
    return err ? -ERESTARTSYS : 0;
}

static long pipe_read(struct file *f, vaddr_t ubuf, size_t n)
{
    struct pipe *p = f->priv;
    size_t done = 0;
    long err = 0;
    bool wake;

    if (!n)
        return 0;
    mutex_lock(&p->lock);
    while (!p->count) {
        if (!p->writers)
            goto out;
        err = f->flags & O_NONBLOCK ? -EAGAIN : pipe_wait(p, &p->read_queue, &p->reads_waiting);
        if (err)
            goto out;
    }
    while (done < n && p->count && !thread_killed()) {
        size_t within = p->head & PAGE_MASK;
        size_t part = MIN(MIN(n - done, p->count), PAGE_SIZE - within);

        err = copyout(ubuf + done, p->page[p->head >> PAGE_SHIFT] + within, part);
        if (err)
            break;
        done += part;
        p->count -= part;
        p->head += part;
        if (p->head == PIPE_BYTES)
            p->head = 0;
    }
    if (!p->count)
        p->head = 0;
out:
    wake = done && p->writes_waiting;
    mutex_unlock(&p->lock);
    if (done) {
        if (wake)
            wake_all_follow(&p->write_queue);
        poll_notify(&p->polled, POLLOUT | POLLWRNORM);
    }
    return done ? (long)done : err;
}

/* The address for the next byte, and in *room how many bytes fit there. If a page was allocated for
 * it, its bit is set in *fresh. NULL: no memory. */
static uint8_t *pipe_room(struct pipe *p, size_t *room, unsigned *fresh)
{
    uint64_t tail = (p->head + p->count) % PIPE_BYTES;
    size_t within = tail & PAGE_MASK;
    uint8_t **page = &p->page[tail >> PAGE_SHIFT];

    if (!*page) {
        pfn_t pfn;

        if (page_alloc(0, PAGE_T_SYSTEM, RAD_ANY, &pfn))
            return NULL;
        *page = kseg_page(pfn);
        *fresh |= 1u << (tail >> PAGE_SHIFT);
    }
    *room = MIN(PAGE_SIZE - within, PIPE_BYTES - p->count);
    return *page + within;
}

/* A write has failed: free the pages that it allocated and that hold no data. */
static void pipe_undo(struct pipe *p, unsigned fresh)
{
    for (; fresh; fresh &= fresh - 1) {
        unsigned k = bit_lowest(fresh);

        if ((k * PAGE_SIZE + PIPE_BYTES - p->head) % PIPE_BYTES >= p->count) {
            page_free(paddr_to_pfn(kseg_paddr(p->page[k])));
            p->page[k] = NULL;
        }
    }
}

/* Up to PIPE_BUF bytes are written as one unit, all or none: bytes copied before an error are
 * removed again, and no reader has seen them, because the mutex was held. The bytes come from
 * kernel memory if kbuf is not NULL. */
static __attribute__((always_inline)) inline long put(struct file *f, vaddr_t ubuf,
                                                      const uint8_t *kbuf, size_t n)
{
    struct pipe *p = f->priv;
    unsigned fresh = 0;
    size_t done = 0;
    long err = 0;
    bool wake = false;

    if (!n)
        return 0;
    mutex_lock(&p->lock);
    while (done < n) {
        size_t room = PIPE_BYTES - p->count, part;
        uint8_t *to;

        if (!p->readers) {
            err = -EPIPE;
            break;
        }
        if (thread_killed()) {
            err = -EINTR;
            break;
        }
        if (!room || (n <= PIPE_BUF && room < n - done)) {
            if (f->flags & O_NONBLOCK) {
                err = -EAGAIN;
                break;
            }
            if (p->reads_waiting)
                wake_all_follow(&p->read_queue);
            poll_notify(&p->polled, POLLIN | POLLRDNORM);
            fresh = 0;
            err = pipe_wait(p, &p->write_queue, &p->writes_waiting);
            if (err)
                break;
            continue;
        }
        to = pipe_room(p, &room, &fresh);
        if (!to) {
            err = -ENOMEM;
            break;
        }
        part = MIN(n - done, room);
        if (kbuf)
            memcpy(to, kbuf + done, part);
        else
            err = copyin(to, ubuf + done, part);
        if (err)
            break;
        p->count += part;
        done += part;
    }
    if (err && n <= PIPE_BUF) {
        p->count -= done;
        done = 0;
    }
    if (err)
        pipe_undo(p, fresh);
    wake = done && p->reads_waiting;
    mutex_unlock(&p->lock);
    if (done) {
        if (wake)
            wake_all_follow(&p->read_queue);
        poll_notify(&p->polled, POLLIN | POLLRDNORM);
    }
    return done ? (long)done : err;
}

static long pipe_write(struct file *f, vaddr_t ubuf, size_t n) { return put(f, ubuf, NULL, n); }

static long pipe_write_kernel(struct file *f, const void *buf, size_t n)
{
    return put(f, 0, buf, n);
}

static unsigned pipe_read_poll(struct file *f, struct poll_entry *e)
{
    struct pipe *p = f->priv;
    unsigned r = 0;

    poll_register(&p->polled, e);
    mutex_lock(&p->lock);
    if (p->count)
        r |= POLLIN | POLLRDNORM;
    if (!p->writers && !(p->fifo && p->opened_write == f->pos))
        r |= POLLHUP;
    mutex_unlock(&p->lock);
    return r;
}

static unsigned pipe_write_poll(struct file *f, struct poll_entry *e)
{
    struct pipe *p = f->priv;
    unsigned r = 0;

    poll_register(&p->polled, e);
    mutex_lock(&p->lock);
    if (!p->readers)
        r |= POLLERR;
    if (PIPE_BYTES - p->count >= PIPE_BUF)
        r |= POLLOUT | POLLWRNORM;
    mutex_unlock(&p->lock);
    return r;
}

static int pipe_stat(struct file *f, struct file_stat *st)
{
    struct pipe *p = f->priv;
    int64_t now = (int64_t)clock_wall_ns();

    *st = (struct file_stat){.ino = p->ino,
                             .mode = S_IFIFO | 0600,
                             .nlink = 1,
                             .blksize = PIPE_BUF,
                             .atime_ns = now,
                             .mtime_ns = now,
                             .ctime_ns = now};
    return 0;
}

static long pipe_ioctl(struct file *f, unsigned long req, vaddr_t arg)
{
    struct pipe *p = f->priv;
    uint64_t count;

    if (req != 0x4004667F) /* FIONREAD */
        return -ENOTTY;
    mutex_lock(&p->lock);
    count = p->count;
    mutex_unlock(&p->lock);
    return copyout_u32(arg, (uint32_t)count);
}

static void pipe_free(struct pipe *p)
{
    for (unsigned k = 0; k < PIPE_PAGES; k++) {
        if (p->page[k])
            page_free(paddr_to_pfn(kseg_paddr(p->page[k])));
    }
    npp_free(p, sizeof(*p));
}

/* An end was closed, and nothing of the pipe is in use by the caller any more. */
static void drop_end(struct pipe *p)
{
    bool last;

    if (!p->fifo) {
        last = __atomic_fetch_sub(&p->ends, 1, __ATOMIC_ACQ_REL) == 1;
    } else {
        mutex_lock(&fifo_mutex);
        last = --p->ends == 0;
        if (last)
            p->fifo->fifo = NULL;
        mutex_unlock(&fifo_mutex);
    }
    if (last)
        pipe_free(p);
}

/* One of `mine`, the ends of one kind, is closed. p->lock is held. */
static void leave_locked(uint32_t *mine, struct wait_queue *others)
{
    if (--*mine == 0)
        wake_all(others);
}

/*
 * Close one end. The count of ends is decremented only after the mutex is released: otherwise the
 * end that closes last could free the pipe while the other one is still inside mutex_unlock.
 */
static void pipe_close(struct pipe *p, uint32_t *mine, struct wait_queue *others)
{
    mutex_lock(&p->lock);
    leave_locked(mine, others);
    mutex_unlock(&p->lock);
    poll_notify(&p->polled, POLLHUP | POLLERR);
    drop_end(p);
}

static void pipe_read_close(struct file *f)
{
    struct pipe *p = f->priv;
    pipe_close(p, &p->readers, &p->write_queue);
}

static void pipe_write_close(struct file *f)
{
    struct pipe *p = f->priv;
    pipe_close(p, &p->writers, &p->read_queue);
}

static const struct file_ops pipe_read_ops = {.name = "pipe",
                                              .read = pipe_read,
                                              .stat = pipe_stat,
                                              .ioctl = pipe_ioctl,
                                              .poll = pipe_read_poll,
                                              .close = pipe_read_close};
static const struct file_ops pipe_write_ops = {.name = "pipe",
                                               .write = pipe_write,
                                               .write_kernel = pipe_write_kernel,
                                               .stat = pipe_stat,
                                               .ioctl = pipe_ioctl,
                                               .poll = pipe_write_poll,
                                               .close = pipe_write_close};

/* A pipe without ends; NULL: no memory. */
static struct pipe *pipe_new(void)
{
    struct pipe *p = npp_alloc_zeroed(sizeof(*p));

    if (p) {
        mutex_init(&p->lock, "pipe", MUTEX_INODE);
        wait_queue_init(&p->read_queue, "pipe read");
        wait_queue_init(&p->write_queue, "pipe write");
        poll_source_init(&p->polled);
        p->ino = __atomic_fetch_add(&next_pipe_ino, 1, __ATOMIC_RELAXED);
    }
    return p;
}

/* ---- named pipes ---- */

/* The pipe of a FIFO, with one more end; NULL: no memory. */
static struct pipe *fifo_get(struct inode *i)
{
    struct pipe *p;

    mutex_lock(&fifo_mutex);
    p = i->fifo;
    if (!p && (p = pipe_new()) != NULL) {
        p->fifo = i;
        i->fifo = p;
    }
    if (p)
        p->ends++;
    mutex_unlock(&fifo_mutex);
    return p;
}

/* Wait on q until the other side was opened, even if it is closed again by then. p->lock is held,
 * but not during the wait. */
static int wait_opened(struct pipe *p, struct wait_queue *q, uint32_t *waiting,
                       const uint32_t *opened)
{
    uint32_t was = *opened;
    int err = 0;

    while (!err && *opened == was)
        err = pipe_wait(p, q, waiting);
    return err;
}

static int enter_reader_locked(struct pipe *p, struct file *f)
{
    bool nonblock = (f->flags & O_NONBLOCK) != 0;
    int err = 0;

    /* Until a writer comes, poll of a reader that did not wait for one reports no hang-up. */
    f->pos = p->writers || !nonblock ? -1 : (int64_t)p->opened_write;
    p->readers++;
    p->opened_read++;
    wake_all(&p->write_queue);
    if (!p->writers && !nonblock)
        err = wait_opened(p, &p->read_queue, &p->reads_waiting, &p->opened_write);
    if (err)
        leave_locked(&p->readers, &p->write_queue);
    return err;
}

static int enter_writer_locked(struct pipe *p, struct file *f)
{
    int err = 0;

    if (!p->readers && (f->flags & O_NONBLOCK))
        return -ENXIO;
    p->writers++;
    p->opened_write++;
    wake_all(&p->read_queue);
    if (!p->readers)
        err = wait_opened(p, &p->write_queue, &p->writes_waiting, &p->opened_read);
    if (err)
        leave_locked(&p->writers, &p->read_queue);
    return err;
}

/* Opening for both never waits: each side finds the other in itself. */
static void enter_both_locked(struct pipe *p, struct file *f)
{
    f->pos = -1;
    p->readers++;
    p->writers++;
    p->opened_read++;
    p->opened_write++;
    wake_all(&p->read_queue);
    wake_all(&p->write_queue);
}

static int fifo_open(struct file *f)
{
    struct pipe *p = fifo_get(f->inode);
    int err = 0;

    if (!p)
        return -ENOMEM;
    f->priv = p;
    mutex_lock(&p->lock);
    switch (f->flags & O_ACCMODE) {
    case O_RDONLY:
        err = enter_reader_locked(p, f);
        break;
    case O_WRONLY:
        err = enter_writer_locked(p, f);
        break;
    default:
        enter_both_locked(p, f);
    }
    mutex_unlock(&p->lock);
    if (err)
        drop_end(p);
    return err;
}

static void fifo_close(struct file *f)
{
    struct pipe *p = f->priv;

    mutex_lock(&p->lock);
    if ((f->flags & O_ACCMODE) != O_WRONLY)
        leave_locked(&p->readers, &p->write_queue);
    if ((f->flags & O_ACCMODE) != O_RDONLY)
        leave_locked(&p->writers, &p->read_queue);
    mutex_unlock(&p->lock);
    poll_notify(&p->polled, POLLHUP | POLLERR);
    drop_end(p);
}

static unsigned fifo_poll(struct file *f, struct poll_entry *e)
{
    switch (f->flags & O_ACCMODE) {
    case O_RDONLY:
        return pipe_read_poll(f, e);
    case O_WRONLY:
        return pipe_write_poll(f, e);
    default:
        return pipe_read_poll(f, e) | pipe_write_poll(f, NULL);
    }
}

static int fifo_stat(struct file *f, struct file_stat *st)
{
    inode_stat(f->inode, st);
    return 0;
}

const struct file_ops fifo_ops = {.name = "fifo",
                                  .open = fifo_open,
                                  .read = pipe_read,
                                  .write = pipe_write,
                                  .write_kernel = pipe_write_kernel,
                                  .stat = fifo_stat,
                                  .ioctl = pipe_ioctl,
                                  .poll = fifo_poll,
                                  .close = fifo_close};

bool file_is_pipe(const struct file *f)
{
    return f->ops == &pipe_read_ops || f->ops == &pipe_write_ops || f->ops == &fifo_ops;
}

/* ---- pipes ---- */

int pipe_create(struct file **rd, struct file **wr, uint32_t flags)
{
    struct pipe *p = pipe_new();
    struct file *r = file_alloc(&pipe_read_ops, O_RDONLY | (flags & O_NONBLOCK));
    struct file *w = file_alloc(&pipe_write_ops, O_WRONLY | (flags & O_NONBLOCK));

    if (!p || !r || !w) {
        if (p)
            npp_free(p, sizeof(*p));
        if (r)
            file_free(r);
        if (w)
            file_free(w);
        return file_why_not();
    }
    p->ends = 2;
    p->readers = p->writers = 1;
    r->priv = w->priv = p;
    *rd = r;
    *wr = w;
    return 0;
}

void pipe_validate(struct validate *v, struct file *f)
{
    struct pipe *p = f->priv;

    if (!file_is_pipe(f) || validate_seen(v, &p->seen))
        return;
    for (unsigned k = 0; k < PIPE_PAGES; k++)
        if (p->page[k])
            validate_page(v, paddr_to_pfn(kseg_paddr(p->page[k])), VALIDATE_PIPE);
}
