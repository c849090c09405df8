/*
 * The bytes of pipes, with and without a name; their ends are in pipe_file.c and fifo.c. A pipe is
 * a ring of up to PIPE_PAGES pages. Each page is allocated when the writer reaches it, and kept
 * until the pipe is freed. Whenever the pipe is empty it starts again at page 0, so small messages
 * back and forth use one page only.
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
#include "kernel/sched/mutex_inline.h"
#include "kernel/sched/thread.h"

/* Bytes have come: tell those who wait for them, and those who poll p. The barrier stands between
 * the store of pipe_set_count() and the looks at the mark and for entries, as that of
 * must_wait_to_read() between the mark and the look at the number, and that of look_unlocked()
 * (pipe_file.c) behind an entry. */
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

int pipe_wait(struct pipe *p, struct wait_queue *q, const uint32_t *others)
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

int pipe_lock_to_read(struct pipe *p, bool nonblock, bool *end)
{
    *end = false;
    for (;;) {
        int err = 0;

        if (is_idle(p))
            err = nonblock ? -EAGAIN : wait_to_read(p);
        if (!err)
            err = mutex_lock_killable(&p->lock);
        if (err)
            return err;
        if (pipe_is_taken(p)) {
            err = wait_taken_unlock(p);
            if (err)
                return err;
            continue;
        }
        if (p->count)
            return 0;
        *end = !pipe_ends(&p->writers);
        mutex_unlock(&p->lock);
        if (*end)
            return 0;
    }
}

/* The mutex is held, but there is nothing to take: release it, and do all of lock_to_read(). */
static int __attribute__((noinline)) lock_again_to_read(struct pipe *p, bool nonblock)
{
    bool end;
    int err;

    mutex_unlock(&p->lock);
    err = pipe_lock_to_read(p, nonblock, &end);
    return err ? err : end;
}

/* As pipe_lock_to_read(), in line for who usually finds bytes as soon as he has waited. 1: the
 * end. */
static inline __attribute__((always_inline)) int lock_to_read(struct pipe *p, bool nonblock)
{
    int err = 0;

    if (is_idle(p))
        err = nonblock ? -EAGAIN : wait_to_read(p);
    if (!err)
        err = mutex_lock_killable_inline(&p->lock);
    if (unlikely(err))
        return err;
    if (likely(!pipe_is_taken(p) && p->count))
        return 0;
    return lock_again_to_read(p, nonblock);
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
    bool wake;
    long err;

    if (!n)
        return 0;
    err = lock_to_read(p, nonblock);
    if (unlikely(err))
        return err < 0 ? err : 0;
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

long pipe_read(struct file *f, vaddr_t ubuf, size_t n)
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

long pipe_write(struct file *f, vaddr_t ubuf, size_t n) { return put(f, ubuf, NULL, n); }

long pipe_write_kernel(struct file *f, const void *buf, size_t n) { return put(f, 0, buf, n); }
