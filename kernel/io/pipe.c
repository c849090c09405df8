/*
 * Pipes, with and without a name. A pipe is a ring of up to PIPE_PAGES pages. Each page is
 * allocated when the writer reaches it, and kept until the pipe is freed. Whenever the pipe is
 * empty it starts again at page 0, so small messages back and forth use one page only.
 *
 * All fields are protected by the pipe's mutex, which is held while user memory is copied (rank
 * MUTEX_INODE, before the address space's). A writer that must wait increments a count under the
 * mutex before it releases it, so readers can tell from the count whether to wake a thread, without
 * looking at the wait queue. The count may be too high: a thread that is killed while it waits does
 * not wait for the mutex to take itself out.
 *
 * A reader waits before it takes the mutex, as most of the pipes that are waited for are empty. So
 * the number of bytes is atomic, and the mark that readers wait, too:
 *
 *     reader                                 writer, or who opens for writing
 *     enters the queue                       stores the number of bytes
 *     sets the mark                          barrier
 *     barrier                                clears the mark; if it was set, wakes the queue
 *     there are no bytes: sleeps
 *
 * One of the two barriers is the first. If it is the reader's, the writer finds the mark; else the
 * reader finds the bytes. The mark is cleared by an exchange: a mark that is set before is found by
 * it, and its reader on the queue, and one that is set afterwards stays. Several readers have one
 * mark, as all that are on the queue are woken together. A reader that is woken looks at the number
 * of bytes with the mutex held, and waits again if another one has read them.
 *
 * User memory may be slow to come, as another thread may change the address space for as long as
 * that has pages. So waits for the mutex are killable, and who closes or polls an end does not take
 * it: the counts of ends are atomic, and so is the number of bytes that poll sees, stored whenever
 * the mutex is released. A waiter looks at the count of the other kind once more when it is on the
 * queue:
 *
 *     reader                                 the last writer closes
 *     writers is 1: has to wait
 *                                            decrements writers, wakes the queue: it is empty
 *     enters the queue
 *     writers is 0: does not sleep
 *
 * An end that is closed decrements after all its writes, each of which held the mutex. So a reader
 * that finds the pipe empty and then no writer, with the mutex held, has read everything.
 */
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/pipe_private.h"
#include "kernel/io/splice.h"
#include "kernel/sched/mutex_inline.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/check/validate.h"
#include "mm/pool/pool.h"

static uint64_t next_pipe_ino = 1; /* atomic */
/* All pipes, for the self-check. */
static struct spinlock pipes_lock = SPINLOCK_INIT("pipes", RANK_HOMES, IPL_ASTDEL);
static struct list pipes = LIST_INIT(pipes); /* protected by pipes_lock */
/* Protects inode.fifo, pipe.unnamed, and `ends` of a FIFO's pipe. Not held together with a pipe's
 * mutex. */
static struct mutex fifo_mutex = MUTEX_INIT("fifos", MUTEX_INODE, fifo_mutex);

/* Bytes have come: tell those who wait for them, and those who poll p. The barrier stands between
 * the store of pipe_set_count() and the looks at the mark and for entries, as that of
 * must_wait_to_read() between the mark and the look at the number, and that of look_unlocked()
 * behind an entry. */
static inline void tell_readers(struct pipe *p)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&p->read_waits, __ATOMIC_RELAXED) &&
        __atomic_exchange_n(&p->read_waits, 0, __ATOMIC_ACQUIRE))
        wake_all_follow(&p->read_queue);
    poll_notify(&p->polled, POLLIN | POLLRDNORM);
}

/* Must a reader wait? The mutex need not be held. */
static inline bool is_idle(const struct pipe *p)
{
    return !__atomic_load_n(&p->count, __ATOMIC_RELAXED) && pipe_ends(&p->writers);
}

/* On the queue: set the mark and look again. Whoever clears the mark then takes the queue's lock,
 * and finds the entry. */
static bool must_wait_to_read(void *arg)
{
    struct pipe *p = arg;

    __atomic_store_n(&p->read_waits, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return is_idle(p);
}

/* Wait until there are bytes in p, or no writer any more, or an end was opened. The mutex is not
 * held. 0 or -ERESTARTSYS. */
static int wait_to_read(struct pipe *p)
{
    return wait_if(&p->read_queue, must_wait_to_read, p) ? -ERESTARTSYS : 0;
}

/* Wait on q for a change, with the mutex released meanwhile, but not if no end of the kind `others`
 * is open any more (or no splice goes on: `taken`). 0 or -ERESTARTSYS; -EINTR: the thread is to
 * end, and the mutex is not held any more. */
static int pipe_wait(struct pipe *p, struct wait_queue *q, const uint32_t *others)
{
    struct waiter w;
    int err = 0;

    wait_enqueue(q, &w);
    mutex_unlock(&p->lock);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the entry precedes the look at the count */
    if (likely(pipe_ends(others)))
        err = wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
    wait_finish(&w);
    if (unlikely(mutex_lock_killable(&p->lock) != 0))
        return -EINTR;
    return err ? -ERESTARTSYS : 0;
}

int __attribute__((noinline)) pipe_wait_write(struct pipe *p)
{
    int err;

    p->writes_waiting++;
    err = pipe_wait(p, &p->write_queue, &p->readers);
    if (err != -EINTR)
        p->writes_waiting--;
    return err;
}

/* Wait until a splice may have stopped taking bytes out. The mutex is held, and released. 0,
 * -ERESTARTSYS, -EINTR. */
static int __attribute__((noinline)) wait_taken_unlock(struct pipe *p)
{
    int err = pipe_wait(p, &p->read_queue, &p->taken);

    if (err != -EINTR)
        mutex_unlock(&p->lock);
    return err;
}

static inline __attribute__((always_inline)) int lock_to_read(struct pipe *p, bool nonblock,
                                                              bool *end)
{
    *end = false;
    for (;;) {
        int err = 0;

        if (is_idle(p))
            err = nonblock ? -EAGAIN : wait_to_read(p);
        if (!err)
            err = mutex_lock_killable_inline(&p->lock);
        if (unlikely(err))
            return err;
        if (pipe_is_taken(p)) {
            err = wait_taken_unlock(p);
            if (err)
                return err;
            continue;
        }
        if (likely(p->count))
            return 0;
        *end = !pipe_ends(&p->writers);
        mutex_unlock(&p->lock);
        if (*end)
            return 0;
    }
}

int pipe_lock_to_read(struct pipe *p, bool nonblock, bool *end)
{
    return lock_to_read(p, nonblock, end);
}

/* Bytes were read, and the mutex released: tell those who wait for room, and who polls p. */
static inline void tell_writers(struct pipe *p, bool wake)
{
    if (unlikely(wake))
        wake_all_follow(&p->write_queue);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    poll_notify(&p->polled, POLLOUT | POLLWRNORM);
}

/* Read as many bytes as there are, of whatever pages. The mutex is held, and released. */
static __attribute__((noinline)) long read_parts(struct pipe *p, vaddr_t ubuf, size_t n)
{
    size_t done = 0;
    long err = 0;
    bool wake;

    while (done < n && p->count && !thread_killed()) {
        size_t within = p->head & PAGE_MASK;
        size_t part = MIN(MIN(n - done, p->count), PAGE_SIZE - within);

        err = copyout(ubuf + done, p->page[p->head >> PAGE_SHIFT] + within, part);
        if (err)
            break;
        done += part;
        pipe_set_count(p, p->count - part);
        p->head += part;
        if (p->head == PIPE_BYTES)
            p->head = 0;
    }
    if (!p->count)
        p->head = 0;
    wake = done && p->writes_waiting;
    mutex_unlock(&p->lock);
    if (!done)
        return err;
    tell_writers(p, wake);
    return (long)done;
}

static inline __attribute__((always_inline)) long read_some(struct pipe *p, vaddr_t ubuf, size_t n,
                                                            bool nonblock)
{
    uint64_t rest;
    size_t within;
    bool end, wake;
    long err;

    if (!n)
        return 0;
    err = lock_to_read(p, nonblock, &end);
    if (err || end)
        return err;
    /* Often all that is wanted or there lies in one page. */
    within = p->head & PAGE_MASK;
    n = MIN(n, p->count);
    if (unlikely(n > PAGE_SIZE - within || thread_killed()))
        return read_parts(p, ubuf, n);
    err = copyout(ubuf, p->page[p->head >> PAGE_SHIFT] + within, n);
    if (unlikely(err)) {
        mutex_unlock(&p->lock);
        return err;
    }
    rest = p->count - n;
    pipe_set_count(p, rest);
    p->head = rest ? (p->head + n) % PIPE_BYTES : 0;
    wake = p->writes_waiting != 0;
    mutex_unlock_inline(&p->lock);
    tell_writers(p, wake);
    return (long)n;
}

long pipe_read_some(struct pipe *p, vaddr_t ubuf, size_t n, bool nonblock)
{
    return read_some(p, ubuf, n, nonblock);
}

static long pipe_read(struct file *f, vaddr_t ubuf, size_t n)
{
    return read_some(f->priv, ubuf, n, f->flags & O_NONBLOCK);
}

void pipe_filled(struct pipe *p) { tell_readers(p); }

void pipe_drained(struct pipe *p, bool wake) { tell_writers(p, wake); }

uint8_t *pipe_room(struct pipe *p, uint64_t count, size_t *room, unsigned *fresh)
{
    uint64_t tail = (p->head + count) % PIPE_BYTES;
    size_t within = tail & PAGE_MASK;
    uint8_t **page = &p->page[tail >> PAGE_SHIFT];

    if (!*page) {
        pfn_t pfn;

        if (page_alloc(0, PAGE_T_SYSTEM, RAD_ANY, &pfn))
            return NULL;
        *page = kseg_page(pfn);
        *fresh |= 1u << (tail >> PAGE_SHIFT);
    }
    *room = MIN(PAGE_SIZE - within, PIPE_BYTES - count);
    return *page + within;
}

void pipe_undo(struct pipe *p, unsigned fresh)
{
    for (; fresh; fresh &= fresh - 1) {
        unsigned k = bit_lowest(fresh);

        if ((k * PAGE_SIZE + PIPE_BYTES - p->head) % PIPE_BYTES >= p->count) {
            page_free(paddr_to_pfn(kseg_paddr(p->page[k])));
            p->page[k] = NULL;
        }
    }
}

/* Up to PIPE_BUF bytes are written as one unit, all or none: bytes are counted when all have been
 * copied. The bytes come from kernel memory if kbuf is not NULL. The mutex is held, and
 * released. */
static __attribute__((noinline)) long put_parts(struct file *f, vaddr_t ubuf, const uint8_t *kbuf,
                                                size_t n)
{
    struct pipe *p = f->priv;
    unsigned fresh = 0;
    size_t done = 0;
    uint64_t count = p->count; /* with what this call has written since it had the mutex */
    long err = 0;

    while (done < n) {
        size_t room = PIPE_BYTES - count, part;
        uint8_t *to;

        if (!pipe_ends(&p->readers)) {
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
            pipe_set_count(p, count);
            tell_readers(p);
            fresh = 0;
            err = pipe_wait_write(p);
            if (err == -EINTR) /* a write of one unit has not begun */
                return done ? (long)done : err;
            count = p->count;
            if (!err)
                continue;
            break;
        }
        to = pipe_room(p, count, &room, &fresh);
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
        count += part;
        done += part;
    }
    if (err && n <= PIPE_BUF)
        done = 0;
    else
        pipe_set_count(p, count);
    if (err)
        pipe_undo(p, fresh);
    mutex_unlock(&p->lock);
    if (!done)
        return err;
    tell_readers(p);
    return (long)done;
}

static __attribute__((always_inline)) inline long put(struct file *f, vaddr_t ubuf,
                                                      const uint8_t *kbuf, size_t n)
{
    struct pipe *p = f->priv;
    uint64_t tail;
    size_t within;
    uint8_t *page;
    long err;

    if (!n)
        return 0;
    err = mutex_lock_killable_inline(&p->lock);
    if (unlikely(err))
        return err;
    /* Often they fit into a page that is there. */
    tail = (p->head + p->count) % PIPE_BYTES;
    within = tail & PAGE_MASK;
    page = p->page[tail >> PAGE_SHIFT];
    if (unlikely(kbuf || !page || n > MIN(PAGE_SIZE - within, PIPE_BYTES - p->count) ||
                 !pipe_ends(&p->readers) || thread_killed()))
        return put_parts(f, ubuf, kbuf, n);
    err = copyin(page + within, ubuf, n);
    if (unlikely(err)) {
        mutex_unlock(&p->lock);
        return err;
    }
    pipe_set_count(p, p->count + n);
    mutex_unlock_inline(&p->lock);
    tell_readers(p);
    return (long)n;
}

static long pipe_write(struct file *f, vaddr_t ubuf, size_t n) { return put(f, ubuf, NULL, n); }

static long pipe_write_kernel(struct file *f, const void *buf, size_t n)
{
    return put(f, 0, buf, n);
}

/* Put e on p's source, before a look at p. The mutex is not taken: whoever asks may hold one that
 * others need (an epoll instance's), and must not wait for somebody's memory. */
static void look_unlocked(struct pipe *p, struct poll_entry *e)
{
    poll_register(&p->polled, e);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The order of the looks: who opens the FIFO is counted as a writer first, and then in
 * opened_write; what the last writer wrote was shown before it closed. */
static unsigned pipe_read_poll(struct file *f, struct poll_entry *e)
{
    struct pipe *p = f->priv;
    unsigned r = 0;
    bool since;

    look_unlocked(p, e);
    since = !p->fifo || __atomic_load_n(&p->opened_write, __ATOMIC_ACQUIRE) != f->pos;
    if (since && !__atomic_load_n(&p->writers, __ATOMIC_ACQUIRE))
        r |= POLLHUP;
    if (__atomic_load_n(&p->count, __ATOMIC_RELAXED))
        r |= POLLIN | POLLRDNORM;
    return r;
}

static unsigned pipe_write_poll(struct file *f, struct poll_entry *e)
{
    struct pipe *p = f->priv;
    unsigned r = 0;

    look_unlocked(p, e);
    if (PIPE_BYTES - __atomic_load_n(&p->count, __ATOMIC_RELAXED) >= PIPE_BUF)
        r |= POLLOUT | POLLWRNORM;
    if (!pipe_ends(&p->readers))
        r |= POLLERR;
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
    int err;

    if (req != 0x4004667F) /* FIONREAD */
        return -ENOTTY;
    err = mutex_lock_killable(&p->lock);
    if (err)
        return err;
    count = p->count;
    mutex_unlock(&p->lock);
    return copyout_u32(arg, (uint32_t)count);
}

static void pipe_free(struct pipe *p)
{
    ipl_t ipl;

    if (unlikely(p->unnamed != NULL)) {
        mutex_lock(&fifo_mutex);
        p->unnamed->fifo = NULL;
        mutex_unlock(&fifo_mutex);
        inode_unref(p->unnamed);
    }
    poll_source_end(&p->polled);
    for (unsigned k = 0; k < PIPE_PAGES; k++) {
        if (p->page[k])
            page_free(paddr_to_pfn(kseg_paddr(p->page[k])));
    }
    ipl = spin_lock(&pipes_lock);
    list_remove(&p->link);
    spin_unlock(&pipes_lock, ipl);
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

/* One of `mine`, the ends of one kind, is closed. */
static void leave(uint32_t *mine, struct wait_queue *others)
{
    if (__atomic_sub_fetch(mine, 1, __ATOMIC_SEQ_CST) == 0)
        wake_all(others);
}

/* Close one end. The pipe stays until drop_end(). */
static void pipe_close(struct pipe *p, uint32_t *mine, struct wait_queue *others)
{
    leave(mine, others);
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
    ipl_t ipl;

    if (p) {
        mutex_init(&p->lock, "pipe", MUTEX_INODE);
        wait_queue_init(&p->read_queue, "pipe read");
        wait_queue_init(&p->write_queue, "pipe write");
        poll_source_init(&p->polled);
        p->ino = __atomic_fetch_add(&next_pipe_ino, 1, __ATOMIC_RELAXED);
        ipl = spin_lock(&pipes_lock);
        list_add_tail(&pipes, &p->link);
        spin_unlock(&pipes_lock, ipl);
    }
    return p;
}

/* ---- named pipes ---- */

/* Count one more end of a pipe. Of one without a name the last end may be gone already, and its
 * closer then waits for fifo_mutex, which is held, before it frees the pipe. */
static bool add_end(struct pipe *p)
{
    uint32_t ends = __atomic_load_n(&p->ends, __ATOMIC_RELAXED);

    if (p->fifo) {
        p->ends++;
        return true;
    }
    while (ends && !__atomic_compare_exchange_n(&p->ends, &ends, ends + 1, true, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED))
        ;
    return ends != 0;
}

/* The pipe of a FIFO, with one more end; NULL: no memory, or the pipe has gone, which had no name.
 */
static struct pipe *fifo_get(struct inode *i)
{
    struct pipe *p;

    mutex_lock(&fifo_mutex);
    p = i->fifo;
    if (!p && (p = pipe_new()) != NULL) {
        p->fifo = i;
        i->fifo = p;
    }
    if (p && !add_end(p))
        p = NULL;
    mutex_unlock(&fifo_mutex);
    return p;
}

/* Wait on q until the other side was opened, even if it is closed again by then; `mine` counts the
 * own end. p->lock is held, but not during the wait. Errors as of pipe_wait. */
static int wait_opened(struct pipe *p, struct wait_queue *q, const uint32_t *mine,
                       const uint32_t *opened)
{
    uint32_t was = *opened;
    int err = 0;

    while (!err && *opened == was)
        err = pipe_wait(p, q, mine);
    return err;
}

/* The mutex is held. */
static void note_opened_for_writing(struct pipe *p)
{
    __atomic_store_n(&p->opened_write, p->opened_write + 1, __ATOMIC_RELEASE);
}
static void enter(uint32_t *mine) { __atomic_fetch_add(mine, 1, __ATOMIC_RELAXED); }

/* p->lock is held; if the result is -EINTR, it is not held any more. So for the next. A pipe
 * without a name is opened without waiting. */
static int enter_reader_locked(struct pipe *p, struct file *f)
{
    bool nonblock = (f->flags & O_NONBLOCK) != 0;
    int err = 0;

    /* Until a writer comes, poll of a reader that did not wait for one reports no hang-up. */
    f->pos = pipe_ends(&p->writers) || !nonblock || !p->fifo ? -1 : (int64_t)p->opened_write;
    enter(&p->readers);
    p->opened_read++;
    wake_all(&p->write_queue);
    if (!pipe_ends(&p->writers) && !nonblock && p->fifo)
        err = wait_opened(p, &p->read_queue, &p->readers, &p->opened_write);
    if (err)
        leave(&p->readers, &p->write_queue);
    return err;
}

static int enter_writer_locked(struct pipe *p, struct file *f)
{
    int err = 0;

    if (!pipe_ends(&p->readers) && (f->flags & O_NONBLOCK) && p->fifo)
        return -ENXIO;
    enter(&p->writers);
    note_opened_for_writing(p);
    wake_all(&p->read_queue);
    if (!pipe_ends(&p->readers) && p->fifo)
        err = wait_opened(p, &p->write_queue, &p->writers, &p->opened_read);
    if (err)
        leave(&p->writers, &p->read_queue);
    return err;
}

/* Opening for both never waits: each side finds the other in itself. */
static void enter_both_locked(struct pipe *p, struct file *f)
{
    f->pos = -1;
    enter(&p->readers);
    enter(&p->writers);
    p->opened_read++;
    note_opened_for_writing(p);
    wake_all(&p->read_queue);
    wake_all(&p->write_queue);
}

static int fifo_open(struct file *f)
{
    struct pipe *p = fifo_get(f->inode);
    int err;

    if (!p)
        return -ENOMEM;
    f->priv = p;
    err = mutex_lock_killable(&p->lock);
    if (err) {
        drop_end(p);
        return err;
    }
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
    if (err != -EINTR)
        mutex_unlock(&p->lock);
    if (err)
        drop_end(p);
    return err;
}

static void fifo_close(struct file *f)
{
    struct pipe *p = f->priv;

    if ((f->flags & O_ACCMODE) != O_WRONLY)
        leave(&p->readers, &p->write_queue);
    if ((f->flags & O_ACCMODE) != O_RDONLY)
        leave(&p->writers, &p->read_queue);
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

struct pipe *pipe_of(const struct file *f) { return file_is_pipe(f) ? f->priv : NULL; }

/* ---- pipes ---- */

int pipe_create(const struct io_cred *cred, struct file **rd, struct file **wr, uint32_t flags)
{
    struct pipe *p = pipe_new();
    struct file *r = file_alloc(&pipe_read_ops, O_RDONLY | (flags & O_NONBLOCK));
    struct file *w = file_alloc(&pipe_write_ops, O_WRONLY | (flags & O_NONBLOCK));

    if (!p || !r || !w) {
        if (p)
            pipe_free(p);
        if (r)
            file_free(r);
        if (w)
            file_free(w);
        return file_why_not();
    }
    p->ends = 2;
    p->readers = p->writers = 1;
    p->uid = cred->uid;
    p->gid = cred->gid;
    r->priv = w->priv = p;
    *rd = r;
    *wr = w;
    return 0;
}

int pipe_inode(struct file *f, struct inode **out)
{
    struct pipe *p = f->priv;
    struct fs_new what = {.mode = S_IFIFO | 0600};
    struct inode *i;
    int err;

    if (f->ops != &pipe_read_ops && f->ops != &pipe_write_ops)
        return -ENXIO;
    what.uid = p->uid;
    what.gid = p->gid;
    err = inode_root->ops->create_unnamed(inode_root, &what, false, &i);
    if (err)
        return err;
    mutex_lock(&fifo_mutex);
    if (!p->unnamed) {
        i->fifo = p;
        inode_ref(i);
        p->unnamed = i;
        mutex_unlock(&fifo_mutex);
        *out = i;
        return 0;
    }
    inode_ref(p->unnamed); /* another thread was faster, or it is not the first time */
    *out = p->unnamed;
    mutex_unlock(&fifo_mutex);
    inode_unref(i);
    return 0;
}

void pipes_validate(struct validate *v)
{
    const struct pipe *p;

    list_for_each_entry(p, &pipes, link) {
        for (unsigned k = 0; k < PIPE_PAGES; k++)
            if (p->page[k])
                validate_page(v, paddr_to_pfn(kseg_paddr(p->page[k])), VALIDATE_PIPE);
    }
}
