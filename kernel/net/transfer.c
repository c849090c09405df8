/*
 * Sending and receiving.
 *
 * A sender copies its bytes into a message without any lock, and puts that into the receiver's
 * queue. A receiver holds `reading` of its socket while it copies out of the first message, which
 * therefore stays; the queue itself has a spinlock, so that neither waits for the other's page
 * faults.
 *
 * A message counts against the space of the socket that sent it (SO_SNDBUF) until it was received;
 * its memory is charged to the user who sent it. A sender whose space is used up waits until less
 * than that is on its way. A datagram also waits for room in the queue of its receiver.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/net/private.h"
#include "kernel/sched/thread.h"
#include "mm/pool/pool.h"

#define OVERHEAD   256u   /* bytes of SO_SNDBUF that a message takes besides its own */
#define STREAM_MAX 32768u /* bytes of a stream in a message */

/* ---- buffers ---- */

/* Copy between a buffer and `at`. 0 or -EFAULT. */
static int copy_part(const struct sock_io *io, uint64_t base, uint8_t *at, size_t n, bool in)
{
    if (likely(!io->kernel))
        return in ? copyin(at, base, n) : copyout(base, at, n);
    if (in)
        memcpy(at, (const void *)base, n);
    else
        memcpy((void *)base, at, n);
    return 0;
}

/* Copy n bytes, at most io->left, between the buffers and `at`. */
static int io_copy(struct sock_io *io, uint8_t *at, size_t n, bool in)
{
    while (n) {
        size_t part = MIN(n, io->buffer->nbytes - io->within);

        if (part && copy_part(io, io->buffer->base + io->within, at, part, in))
            return -EFAULT;
        at += part;
        n -= part;
        io->left -= part;
        io->within += part;
        if (io->within == io->buffer->nbytes && io->left) {
            io->buffer++;
            io->within = 0;
        }
    }
    return 0;
}

static void pieces_free(struct piece *p)
{
    while (p) {
        struct piece *next = p->next;

        npp_free(p, sizeof(*p) + p->nbytes);
        p = next;
    }
}

/* The next n bytes of io as pieces. */
static int pieces_make(struct sock_io *io, size_t n, struct piece **out)
{
    struct piece *first = NULL, **last = &first;
    int err = 0;

    while (n && !err) {
        uint32_t part = (uint32_t)MIN(n, PIECE_MAX);
        struct piece *p = npp_alloc(sizeof(*p) + part);

        if (!p) {
            err = -ENOMEM;
            break;
        }
        p->next = NULL;
        p->nbytes = part;
        *last = p;
        last = &p->next;
        n -= part;
        err = thread_killed() ? -EINTR : io_copy(io, p->data, part, true);
    }
    if (err)
        pieces_free(first);
    *out = first;
    return err;
}

/* ---- messages ---- */

void message_free(struct message *m)
{
    struct sock *from = m->from;

    pieces_free(m->pieces);
    if (from) {
        __atomic_fetch_sub(&from->sent, m->charge, __ATOMIC_SEQ_CST);
        /* The barrier orders this with the looks at `sent` of who counts or registers first. */
        if (__atomic_load_n(&from->nwriters, __ATOMIC_SEQ_CST))
            wake_all(&from->writers);
        if (poll_is_watched(&from->polled) && sock_writable(from))
            poll_notify(&from->polled, POLLOUT | POLLWRNORM);
        sock_put(from);
    }
    npp_free(m, sizeof(*m));
}

/* A message of the next n bytes of io. */
static int message_make(struct sock *s, struct sock_io *io, size_t n, const struct sock_cred *cred,
                        struct message **out)
{
    struct message *m = npp_alloc_zeroed(sizeof(*m));
    int err;

    if (!m)
        return -ENOMEM;
    list_init(&m->link);
    err = pieces_make(io, n, &m->pieces);
    if (err) {
        npp_free(m, sizeof(*m));
        return err;
    }
    m->nbytes = (uint32_t)n;
    m->cred = *cred;
    m->charge = n + OVERHEAD;
    m->from = s;
    sock_get(s);
    __atomic_fetch_add(&s->sent, m->charge, __ATOMIC_RELAXED);
    *out = m;
    return 0;
}

/* Copy n bytes from offset `at` of m to io. */
static int message_copy(const struct message *m, size_t at, struct sock_io *io, size_t n)
{
    struct piece *p = m->pieces;

    for (; n && p; p = p->next) {
        size_t part = at < p->nbytes ? MIN(n, p->nbytes - at) : 0;
        int err = part ? io_copy(io, p->data + at, part, false) : 0;

        if (err)
            return err;
        at = at < p->nbytes ? 0 : at - p->nbytes;
        n -= part;
    }
    return 0;
}

/* ---- sending ---- */

static bool no_space(struct sock *s)
{
    return __atomic_load_n(&s->sent, __ATOMIC_SEQ_CST) >=
               __atomic_load_n(&s->sndbuf, __ATOMIC_RELAXED) &&
           !s->err && !(s->shut & SHUT_SEND);
}

/* Wait until s has space of its own. An error of the socket is reported first. */
static int wait_space(struct sock *s, bool nonblock, uint64_t deadline)
{
    int err = sock_wait(s, &s->writers, &s->nwriters, no_space, nonblock, deadline);
    ipl_t ipl;

    if (err)
        return err;
    ipl = spin_lock(&s->lock);
    if (s->err) {
        err = -s->err;
        s->err = 0;
    } else if (s->shut & SHUT_SEND) {
        err = -EPIPE;
    }
    spin_unlock(&s->lock, ipl);
    return err;
}

static bool queue_full(struct sock *s)
{
    return s->nmessages > DATAGRAMS_MAX && !s->dead && !(s->shut & SHUT_RECEIVE);
}

/* Put m into the queue of `to`. from: its sender. -EPIPE, -ECONNREFUSED: it takes nothing any more;
 * -EPERM: it takes datagrams from its peer only; -EAGAIN: it is full. */
static int deliver_locked(struct message *m, struct sock *to, const struct sock *from)
{
    if (to->dead)
        return to->type == SOCK_DGRAM ? -ECONNREFUSED : -EPIPE;
    if (to->shut & SHUT_RECEIVE)
        return -EPIPE;
    if (to->type == SOCK_DGRAM && to->peer && to->peer != from)
        return -EPERM;
    if (to->type != SOCK_STREAM && to->peer != from && queue_full(to))
        return -EAGAIN;
    list_add_tail(&to->queue, &m->link);
    to->nmessages++;
    to->nbytes += m->nbytes;
    return 0;
}

static int deliver(struct message *m, struct sock *to, const struct sock *from)
{
    bool flies = m->flight != NULL, wake;
    ipl_t ipl;
    int err;

    if (flies)
        mutex_lock(&flight_lock);
    ipl = spin_lock(&to->lock);
    err = deliver_locked(m, to, from);
    wake = to->nreaders != 0;
    spin_unlock(&to->lock, ipl);
    if (!err && flies)
        flight_begin_locked(m, to);
    if (flies)
        mutex_unlock(&flight_lock);
    if (err)
        return err;
    if (wake)
        wake_all_follow(&to->readers);
    poll_notify(&to->polled, POLLIN | POLLRDNORM);
    return 0;
}

struct sending {
    struct sock *s, *to;
    struct sock_io *io;
    bool nonblock;
    uint64_t deadline;
    const struct sock_cred *cred;
    struct flight *flight; /* until it is in a message */
};

/* Send n bytes as one message. */
static int send_one(struct sending *g, size_t n)
{
    struct message *m;
    int err = wait_space(g->s, g->nonblock, g->deadline);

    if (!err)
        err = message_make(g->s, g->io, n, g->cred, &m);
    if (err)
        return err;
    m->flight = g->flight;
    while ((err = deliver(m, g->to, g->s)) == -EAGAIN) {
        err = sock_wait(g->to, &g->to->room, &g->to->nroom, queue_full, g->nonblock, g->deadline);
        if (err)
            break;
    }
    if (err) {
        m->flight = NULL;
        message_free(m);
    } else {
        g->flight = NULL;
    }
    return err;
}

static long send_stream(struct sending *g)
{
    uint32_t most = MIN(STREAM_MAX, __atomic_load_n(&g->s->sndbuf, __ATOMIC_RELAXED) / 2 - 64);
    size_t all = g->io->left;
    int err = 0;

    while (g->io->left && !err) {
        size_t left = g->io->left;

        err = thread_killed() ? -EINTR : send_one(g, MIN(left, most));
        if (err)
            return all != left ? (long)(all - left) : err;
    }
    return (long)all;
}

static long send_packet(struct sending *g)
{
    size_t n = g->io->left;
    int err;

    if (n + 32 > __atomic_load_n(&g->s->sndbuf, __ATOMIC_RELAXED))
        return -EMSGSIZE;
    err = send_one(g, n);
    return err ? err : (long)n;
}

/* The peer of a datagram socket has ended: forget it. */
static void forget(struct sock *s, struct sock *peer)
{
    bool was;
    ipl_t ipl = spin_lock(&s->lock);

    was = s->peer == peer;
    if (was) {
        s->peer = NULL;
        s->state = SOCK_FREE;
    }
    spin_unlock(&s->lock, ipl);
    if (was)
        sock_put(peer);
}

/* What keeps s from sending to `to`; its own error comes first. */
static int may_send(struct sock *s, const struct sock *to)
{
    ipl_t ipl = spin_lock(&s->lock);
    int err = 0;

    if (s->err && s->type != SOCK_STREAM) {
        err = -s->err;
        s->err = 0;
    } else if (s->type != SOCK_DGRAM && s->state != SOCK_CONNECTED) {
        err = -ENOTCONN;
    } else if (s->shut & SHUT_SEND) {
        err = -EPIPE;
    } else if (!to) {
        err = -ENOTCONN;
    } else if (to->type != s->type) {
        err = -EPROTOTYPE;
    }
    spin_unlock(&s->lock, ipl);
    return err;
}

long socket_send(struct sock *s, struct sock *to, struct sock_io *io, uint32_t flags, bool nonblock,
                 const struct sock_cred *cred, struct flight *flight)
{
    struct sending g = {.s = s,
                        .io = io,
                        .nonblock = nonblock || (flags & MSG_DONTWAIT),
                        .cred = cred,
                        .flight = flight};
    struct sock *peer = to ? NULL : sock_peer(s);
    long r;

    g.to = to ? to : peer;
    g.deadline = sock_deadline(__atomic_load_n(&s->sndtimeo, __ATOMIC_RELAXED));
    r = flags & MSG_OOB ? -EOPNOTSUPP : may_send(s, g.to);
    if (!r)
        r = s->type == SOCK_STREAM ? send_stream(&g) : send_packet(&g);
    if (r == -ECONNREFUSED && peer)
        forget(s, peer);
    if (peer)
        sock_put(peer);
    if (r >= 0 && g.flight)
        flight_free(g.flight); /* a stream without bytes carries nothing */
    return r;
}

/* ---- receiving ---- */

static bool nothing_there(struct sock *s)
{
    return list_empty(&s->queue) && !s->err && !(s->shut & SHUT_RECEIVE);
}

long socket_wait_receive(struct sock *s, bool nonblock)
{
    uint64_t deadline = sock_deadline(__atomic_load_n(&s->rcvtimeo, __ATOMIC_RELAXED));

    return sock_wait(s, &s->readers, &s->nreaders, nothing_there, nonblock, deadline);
}

/* The first message of s; NULL: there is none, and *r is the result of the call, or -EAGAIN if it
 * has to wait. `reading` is held. */
static struct message *first_message(struct sock *s, long *r)
{
    ipl_t ipl = spin_lock(&s->lock);
    struct list *l = list_first(&s->queue);

    *r = 0;
    if (!l && s->err) {
        *r = -s->err;
        s->err = 0;
    } else if (!l && s->type != SOCK_DGRAM && s->state != SOCK_CONNECTED) {
        *r = s->type == SOCK_STREAM ? -EINVAL : -ENOTCONN;
    } else if (!l && !(s->shut & SHUT_RECEIVE)) {
        *r = -EAGAIN;
    }
    spin_unlock(&s->lock, ipl);
    return l ? list_entry(l, struct message, link) : NULL;
}

/* The message after m; NULL: there is none. `reading` is held. */
static struct message *next_message(struct sock *s, struct message *m)
{
    ipl_t ipl = spin_lock(&s->lock);
    struct list *l = list_next(&s->queue, &m->link);

    spin_unlock(&s->lock, ipl);
    return l ? list_entry(l, struct message, link) : NULL;
}

/* n bytes of m were received; all: take it off the queue, whatever is left. Its flight arrives. */
static void advance(struct sock *s, struct message *m, size_t n, bool all)
{
    bool flies = m->flight != NULL, wake = false, stalled = false;
    ipl_t ipl;

    if (flies) {
        mutex_lock(&flight_lock);
        flight_end_locked(m->flight);
    }
    ipl = spin_lock(&s->lock);
    m->done += (uint32_t)n;
    s->nbytes -= all ? n + m->nbytes - m->done : n;
    if (all) {
        list_remove(&m->link);
        s->nmessages--;
        wake = s->nroom != 0;
        stalled = !list_empty(&s->stalled_here);
    }
    spin_unlock(&s->lock, ipl);
    if (flies)
        mutex_unlock(&flight_lock);
    if (wake)
        wake_all(&s->room);
    if (stalled)
        sock_tell_stalled(s);
}

/* What the first message of a call says about its sender; what it carries. */
static int note(struct sock *s, struct message *m, struct sock_message *out, bool peek)
{
    int err = 0;

    if (m->flight && peek)
        err = flight_copy(m->flight, &out->flight);
    if (err)
        return err;
    out->has_cred = __atomic_load_n(&s->passcred, __ATOMIC_RELAXED);
    out->cred = m->cred;
    out->name = m->from ? sock_name_get(m->from) : NULL;
    return 0;
}

/* May what m holds be received together with what came before? */
static bool belongs(const struct sock_message *out, const struct message *m)
{
    return !out->flight && (!out->has_cred || memcmp(&out->cred, &m->cred, sizeof(m->cred)) == 0);
}

/* Receive bytes of a stream that are there, in one or several messages. The number, or a negative
 * errno; -EAGAIN: there are none. */
static long take_stream(struct sock *s, struct sock_io *io, bool peek, bool first,
                        struct sock_message *out)
{
    struct message *m;
    size_t done = 0;
    long r;

    m = first_message(s, &r);
    if (!m)
        return r;
    while (m && io->left && !thread_killed() && (first || belongs(out, m))) {
        size_t n = MIN(io->left, m->nbytes - m->done);
        struct message *next = peek ? next_message(s, m) : NULL;
        int err = first ? note(s, m, out, peek) : 0;
        bool carries = m->flight != NULL;

        if (!err)
            err = message_copy(m, m->done, io, n);
        if (err)
            return done ? (long)done : err;
        first = false;
        done += n;
        if (!peek) {
            bool all = m->done + n == m->nbytes;

            advance(s, m, n, all);
            if (carries) {
                out->flight = m->flight;
                m->flight = NULL;
            }
            next = all ? first_message(s, &r) : NULL;
            if (all)
                message_free(m);
        }
        if (carries)
            break;
        m = next;
    }
    return done || !io->left ? (long)done : -EINTR;
}

static long take_packet(struct sock *s, struct sock_io *io, uint32_t flags,
                        struct sock_message *out)
{
    bool peek = (flags & MSG_PEEK) != 0;
    struct message *m;
    size_t n;
    int err;
    long r;

    m = first_message(s, &r);
    if (!m)
        return r;
    err = note(s, m, out, peek);
    if (err)
        return err;
    n = MIN(io->left, m->nbytes);
    if (m->nbytes > n)
        out->flags |= MSG_TRUNC;
    r = flags & MSG_TRUNC ? (long)m->nbytes : (long)n;
    err = message_copy(m, 0, io, n);
    if (!peek) {
        advance(s, m, 0, true);
        out->flight = m->flight;
        m->flight = NULL;
        message_free(m);
    }
    return err ? err : r;
}

static void forget_message(struct sock_message *m)
{
    if (m->name)
        socket_name_put(m->name);
    if (m->flight)
        flight_free(m->flight);
    m->name = NULL;
    m->flight = NULL;
}

long socket_receive(struct sock *s, struct sock_io *io, uint32_t flags, bool nonblock,
                    struct sock_message *m)
{
    uint64_t deadline = sock_deadline(__atomic_load_n(&s->rcvtimeo, __ATOMIC_RELAXED));
    bool stream = s->type == SOCK_STREAM, peek = (flags & MSG_PEEK) != 0;
    long done = 0, r;

    *m = (struct sock_message){.flags = 0};
    if (flags & MSG_OOB)
        return -EOPNOTSUPP;
    nonblock = nonblock || (flags & MSG_DONTWAIT);
    for (;;) {
        r = mutex_lock_killable(&s->reading);
        if (r)
            break;
        r = stream ? take_stream(s, io, peek, !done, m) : take_packet(s, io, flags, m);
        mutex_unlock(&s->reading);
        if (r > 0)
            done += r;
        if (r != -EAGAIN &&
            (r <= 0 || !stream || peek || !(flags & MSG_WAITALL) || !io->left || m->flight))
            break;
        if (r == -EAGAIN && done && !(flags & MSG_WAITALL))
            break;
        r = sock_wait(s, &s->readers, &s->nreaders, nothing_there, nonblock, deadline);
        if (r)
            break;
    }
    if (!done && r < 0)
        forget_message(m);
    return done ? done : r;
}
