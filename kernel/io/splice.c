/*
 * Moving bytes between pipes and other files: splice.h.
 *
 * Bytes that are moved out of a pipe must not be lost when they cannot be written elsewhere, nor be
 * read twice. So who moves them claims them first (pipe.taken): no one else takes bytes from then
 * on, the bytes from head on stay where they are, and the mutex is free for writers. What was
 * written elsewhere is consumed at the end:
 *
 *     splice                                  writer, reader
 *     lock; taken = 1; unlock
 *     copies bytes from head on               writer: puts bytes behind the last one
 *     to another pipe, with the mutex         reader: sees taken, and waits
 *     of that one held
 *     lock; consume; taken = 0; unlock; wake
 *
 * No two mutexes of pipes are held at a time, so two splices in opposite directions cannot wait for
 * each other: a claim is not kept while its holder waits for room in a pipe.
 *
 * A thread that is to end does not wait for the mutex, whose holder may need as long as some memory
 * takes to come. It gives its claim up without consuming: then the pipe still has bytes that have
 * been moved. The reader on its way into the queue looks at `taken` once more (pipe_wait), so the
 * wake-up after the store is not missed.
 */
#include "kernel/io/splice.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/pipe_private.h"
#include "kernel/sched/thread.h"

/* Claim the bytes of p, when there are some. Their number; otherwise as splice_out(). */
static long claim(struct pipe *p, bool nonblock)
{
    bool end;
    long r = pipe_lock_to_read(p, nonblock, &end);

    if (r || end)
        return r;
    __atomic_store_n(&p->taken, 1, __ATOMIC_RELAXED);
    r = (long)p->count;
    mutex_unlock(&p->lock);
    return r;
}

/* End a claim, of whose bytes n are to go. */
static void unclaim(struct pipe *p, size_t n)
{
    bool writers = false;

    if (unlikely(mutex_lock_killable(&p->lock) != 0)) {
        __atomic_store_n(&p->taken, 0, __ATOMIC_SEQ_CST);
        wake_all(&p->read_queue);
        return;
    }
    if (n) {
        pipe_consume(p, n);
        writers = p->writes_waiting;
    }
    __atomic_store_n(&p->taken, 0, __ATOMIC_SEQ_CST);
    mutex_unlock(&p->lock);
    wake_all(&p->read_queue);
    if (n)
        pipe_drained(p, writers);
}

/* The claimed bytes that lie together `at` bytes behind head: at most n. */
static const uint8_t *claimed(const struct pipe *p, size_t at, size_t n, size_t *part)
{
    uint64_t from = (p->head + at) % PIPE_BYTES;

    *part = MIN(n, PAGE_SIZE - (from & PAGE_MASK));
    return p->page[from >> PAGE_SHIFT] + (from & PAGE_MASK);
}

long splice_out(struct pipe *p, size_t n, bool nonblock,
                long (*sink)(void *arg, const void *buf, size_t n), void *arg)
{
    long r = claim(p, nonblock);
    size_t done = 0, part = 0;

    if (r <= 0)
        return r;
    n = MIN(n, (size_t)r);
    for (r = 0; done < n; done += (size_t)r) {
        const uint8_t *from = claimed(p, done, n - done, &part);

        r = thread_killed() ? -EINTR : sink(arg, from, part);
        if (r <= 0)
            break;
    }
    unclaim(p, done);
    return done ? (long)done : r;
}

/* Where bytes that go into a pipe come from: one of the three. */
struct origin {
    const struct pipe *claimed;
    const uint8_t *buf;
    vaddr_t ubuf;
};

/* Copy the n bytes that are `at` bytes behind the first one. 0 or -EFAULT. */
static int get(const struct origin *o, uint8_t *to, size_t at, size_t n)
{
    if (o->buf)
        memcpy(to, o->buf + at, n);
    else if (!o->claimed)
        return copyin(to, o->ubuf + at, n);
    else
        for (size_t done = 0, part; done < n; done += part) {
            const uint8_t *from = claimed(o->claimed, at + done, n - done, &part);

            memcpy(to + done, from, part);
        }
    return 0;
}

/* Put into q what fits, as splice_in(). */
static long fill(struct pipe *q, const struct origin *o, size_t n)
{
    long err = mutex_lock_killable(&q->lock);
    unsigned fresh = 0;
    size_t done = 0;

    if (err)
        return err;
    if (!pipe_ends(&q->readers))
        err = -EPIPE;
    while (!err && done < n && q->count + done < PIPE_BYTES) {
        size_t room, part;
        uint8_t *to = pipe_room(q, q->count + done, &room, &fresh);

        part = MIN(n - done, room);
        err = to ? get(o, to, done, part) : -ENOMEM;
        if (!err)
            done += part;
    }
    pipe_set_count(q, q->count + done);
    if (err)
        pipe_undo(q, fresh);
    mutex_unlock(&q->lock);
    if (done)
        pipe_filled(q);
    return done ? (long)done : err;
}

long splice_in(struct pipe *q, const void *buf, size_t n)
{
    return fill(q, &(struct origin){.buf = buf}, n);
}

long splice_in_user(struct pipe *q, vaddr_t ubuf, size_t n)
{
    return fill(q, &(struct origin){.ubuf = ubuf}, n);
}

int splice_wait_room(struct pipe *q, bool nonblock)
{
    int err = mutex_lock_killable(&q->lock);

    if (err)
        return err;
    while (!err && q->count == PIPE_BYTES && pipe_ends(&q->readers))
        err = nonblock ? -EAGAIN : pipe_wait_write(q);
    if (!err && !pipe_ends(&q->readers))
        err = -EPIPE;
    if (err != -EINTR)
        mutex_unlock(&q->lock);
    return err;
}

long splice_across(struct pipe *p, struct pipe *q, size_t n, bool nonblock, bool keep)
{
    for (;;) {
        long r = claim(p, nonblock);

        if (r <= 0)
            return r;
        r = fill(q, &(struct origin){.claimed = p}, MIN(n, (size_t)r));
        unclaim(p, keep || r < 0 ? 0 : (size_t)r);
        if (!r)
            r = splice_wait_room(q, nonblock);
        if (r)
            return r;
    }
}

/* ---- from files that are no pipes and have no position ---- */

/* The room of q for n bytes as parts, at most PIPE_PAGES + 1, with their pages. Their number; 0: no
 * memory, and no pages. The mutex is held. */
static unsigned room_of(struct pipe *q, size_t n, struct file_part *part, unsigned *fresh)
{
    unsigned k = 0;
    size_t at = 0;

    for (; at < n; at += part[k++].nbytes) {
        part[k].base = pipe_room(q, q->count + at, &part[k].nbytes, fresh);
        if (!part[k].base) {
            pipe_undo(q, *fresh);
            return 0;
        }
        part[k].nbytes = MIN(part[k].nbytes, n - at);
    }
    return k;
}

/* Read into q what f has now, and what fits of n bytes. The number; 0: f has ended; -EAGAIN: it has
 * nothing, or (*full) q has no room; or another error. */
static long read_into(struct pipe *q, struct file *f, size_t n, bool *full, void **rest)
{
    struct file_part part[PIPE_PAGES + 1];
    unsigned fresh = 0, nparts;
    long r = mutex_lock_killable(&q->lock);

    *full = false;
    if (r)
        return r;
    n = MIN(n, PIPE_BYTES - q->count);
    if (!pipe_ends(&q->readers)) {
        r = -EPIPE;
    } else if (!n) {
        *full = true;
        r = -EAGAIN;
    } else {
        nparts = room_of(q, n, part, &fresh);
        r = nparts ? f->ops->read_kernel(f, part, nparts, rest) : -ENOMEM;
        if (r > 0)
            pipe_set_count(q, q->count + (uint64_t)r);
        if (nparts)
            pipe_undo(q, fresh);
    }
    mutex_unlock(&q->lock);
    if (r > 0)
        pipe_filled(q);
    return r;
}

long splice_from(struct pipe *q, struct file *f, size_t n, bool nonblock)
{
    for (;;) {
        void *rest = NULL;
        bool full;
        long r = splice_wait_room(q, nonblock);

        if (r)
            return r;
        r = read_into(q, f, n, &full, &rest);
        if (rest)
            f->ops->read_rest(rest);
        if (r != -EAGAIN)
            return r;
        if (!full)
            r = f->ops->read_wait(f, nonblock);
        if (!full && r)
            return r == -ETIMEDOUT ? 0 : r;
        if (thread_killed())
            return -EINTR;
    }
}

long splice_out_user(struct pipe *p, vaddr_t ubuf, size_t n, bool nonblock)
{
    return pipe_read_some(p, ubuf, n, nonblock);
}
