/*
 * Connections: listening, connecting, accepting, shutting down. README.md describes the locks; as
 * in socket.c, nobody holds those of two sockets.
 */
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/net/private.h"
#include "kernel/sched/thread.h"

#define BACKLOG_MAX 4096u

int socket_listen(struct sock *s, int backlog, const struct sock_cred *cred)
{
    ipl_t ipl = spin_lock(&s->lock);
    int err = 0;

    if (s->type == SOCK_DGRAM)
        err = -EOPNOTSUPP;
    else if (!__atomic_load_n(&s->name, __ATOMIC_RELAXED) ||
             (s->state != SOCK_FREE && s->state != SOCK_LISTENS))
        err = -EINVAL;
    if (!err) {
        s->state = SOCK_LISTENS;
        s->backlog = backlog < 0 || (unsigned)backlog > BACKLOG_MAX ? BACKLOG_MAX
                                                                    : (unsigned)backlog;
        s->peer_cred = *cred;
    }
    spin_unlock(&s->lock, ipl);
    if (!err)
        wake_all(&s->room); /* the backlog may have grown */
    return err;
}

static bool backlog_full(struct sock *s)
{
    return !s->dead && s->state == SOCK_LISTENS && !(s->shut & SHUT_RECEIVE) &&
           s->npending > s->backlog;
}

/* Put n into the queue of the listener, whose credentials go to *cred. -EAGAIN: that is full. */
static int enter(struct sock *l, struct sock *n, struct sock_cred *cred)
{
    ipl_t ipl = spin_lock(&l->lock);
    int err = 0;

    if (l->dead || l->state != SOCK_LISTENS || (l->shut & SHUT_RECEIVE))
        err = -ECONNREFUSED;
    else if (l->npending > l->backlog)
        err = -EAGAIN;
    if (!err) {
        list_add_tail(&l->pending, &n->pending_link);
        l->npending++;
        *cred = l->peer_cred;
    }
    spin_unlock(&l->lock, ipl);
    return err;
}

/* Begin or end the attempt of s to connect; false: its state is another one. */
static bool change_state(struct sock *s, enum sock_state from, enum sock_state to)
{
    ipl_t ipl = spin_lock(&s->lock);
    bool was = s->state == from;

    if (was)
        s->state = (uint8_t)to;
    spin_unlock(&s->lock, ipl);
    return was;
}

/* Create the socket that the listener accepts, n, and connect s with it. s is SOCK_CONNECTING,
 * which keeps other callers out. */
static int connect_new(struct sock *s, struct sock *l, struct sock *n)
{
    struct sock_cred cred;
    int err;
    ipl_t ipl;

    if (!n->name && !(n->name = sock_name_get(l)))
        return -ECONNREFUSED; /* only who has a name can listen */
    n->state = SOCK_CONNECTED;
    n->peer = s;
    sock_get(s);
    sock_get(n); /* for s->peer */
    mutex_lock(&flight_lock);
    n->listener = l;
    err = enter(l, n, &cred);
    mutex_unlock(&flight_lock);
    if (err) {
        n->peer = NULL;
        sock_put(s);
        sock_put(n);
        return err;
    }
    ipl = spin_lock(&s->lock);
    s->state = SOCK_CONNECTED;
    s->peer = n;
    s->peer_cred = cred;
    spin_unlock(&s->lock, ipl);
    sock_changed(s, POLLOUT | POLLWRNORM);
    wake_all(&l->readers);
    poll_notify(&l->polled, POLLIN | POLLRDNORM);
    return 0;
}

static int why_not_free(struct sock *s)
{
    switch (sock_state(s)) {
    case SOCK_CONNECTED:
        return -EISCONN;
    case SOCK_LISTENS:
        return -EINVAL;
    default:
        return -EALREADY;
    }
}

static int connect_stream(struct sock *s, struct sock *l, bool nonblock,
                          const struct sock_cred *cred)
{
    uint64_t deadline = sock_deadline(__atomic_load_n(&s->sndtimeo, __ATOMIC_RELAXED));
    struct sock *n;
    int err;

    if (!change_state(s, SOCK_FREE, SOCK_CONNECTING))
        return why_not_free(s);
    n = sock_alloc(s->type);
    if (!n) {
        change_state(s, SOCK_CONNECTING, SOCK_FREE);
        return -ENOMEM;
    }
    n->peer_cred = *cred;
    do {
        err = connect_new(s, l, n);
        if (err == -EAGAIN)
            err = sock_wait(l, &l->room, &l->nroom, backlog_full, nonblock, deadline) ?: -ERESTART;
    } while (err == -ERESTART);
    if (err) {
        sock_put(n);
        change_state(s, SOCK_CONNECTING, SOCK_FREE);
    }
    return err;
}

/* Datagrams: set or drop the peer. What the old one has sent is dropped, too, and it is told. */
static int connect_datagram(struct sock *s, struct sock *to)
{
    struct sock *old, *back = to ? sock_peer(to) : NULL;
    bool unread;
    ipl_t ipl;
    int err;

    if (back) {
        sock_put(back);
        if (back != s)
            return -EPERM; /* it takes datagrams from its own peer only */
    }
    err = mutex_lock_killable(&s->reading); /* before anything has changed */
    if (err)
        return err;
    if (to)
        sock_get(to);
    ipl = spin_lock(&s->lock);
    old = s->peer;
    unread = !list_empty(&s->queue);
    s->peer = to;
    s->state = to ? SOCK_CONNECTED : SOCK_FREE;
    spin_unlock(&s->lock, ipl);
    if (old && old != to)
        sock_purge(s);
    mutex_unlock(&s->reading);
    if (!old)
        return 0;
    if (old != to) {
        ipl = spin_lock(&old->lock);
        if (unread && old->peer == s && !old->dead)
            old->err = ECONNRESET;
        spin_unlock(&old->lock, ipl);
        sock_changed(old, CHANGED);
        sock_changed(s, POLLOUT | POLLWRNORM);
    }
    sock_put(old);
    return 0;
}

int socket_connect(struct sock *s, struct sock *to, bool nonblock, const struct sock_cred *cred)
{
    if (to && to->type != s->type)
        return -EPROTOTYPE;
    if (s->type == SOCK_DGRAM)
        return connect_datagram(s, to);
    return to ? connect_stream(s, to, nonblock, cred) : -EINVAL;
}

static bool none_pending(struct sock *s)
{
    return list_empty(&s->pending) && !(s->shut & SHUT_RECEIVE);
}

/* The first connection of the listener's queue; NULL: there is none. */
static struct sock *take_pending(struct sock *s)
{
    ipl_t ipl = spin_lock(&s->lock);
    struct list *l = list_pop_head(&s->pending);
    bool wake = l && s->nroom;

    if (l)
        s->npending--;
    spin_unlock(&s->lock, ipl);
    if (wake)
        wake_all(&s->room);
    return l ? list_entry(l, struct sock, pending_link) : NULL;
}

static bool is_shut(struct sock *s)
{
    ipl_t ipl = spin_lock(&s->lock);
    bool shut = (s->shut & SHUT_RECEIVE) != 0;

    spin_unlock(&s->lock, ipl);
    return shut;
}

int socket_accept(struct sock *s, bool nonblock, uint32_t file_flags, struct file **out)
{
    uint64_t deadline = sock_deadline(__atomic_load_n(&s->rcvtimeo, __ATOMIC_RELAXED));
    struct file *f;
    struct sock *n;
    int err = 0;

    if (s->type == SOCK_DGRAM)
        return -EOPNOTSUPP;
    if (sock_state(s) != SOCK_LISTENS)
        return -EINVAL;
    /* First, so that no connection is lost for lack of memory. */
    f = file_alloc(&socket_ops, O_RDWR | file_flags);
    if (!f)
        return file_why_not();
    while (!(n = take_pending(s)) && !err) {
        if (is_shut(s))
            err = -EINVAL;
        else
            err = sock_wait(s, &s->readers, &s->nreaders, none_pending, nonblock, deadline);
    }
    if (!n) {
        file_free(f);
        return err;
    }
    f->priv = n;
    mutex_lock(&flight_lock);
    flight_accept_locked(n);
    n->file = f;
    mutex_unlock(&flight_lock);
    *out = f;
    return 0;
}

int socket_shutdown(struct sock *s, int how)
{
    struct sock *peer;
    unsigned mine, its = 0;
    bool connected;
    ipl_t ipl;

    if (how < SHUT_RD || how > SHUT_RDWR)
        return -EINVAL;
    mine = (unsigned)how + 1;
    ipl = spin_lock(&s->lock);
    s->shut |= (uint8_t)mine;
    connected = s->type != SOCK_DGRAM;
    peer = s->peer;
    if (peer)
        sock_get(peer);
    spin_unlock(&s->lock, ipl);
    sock_changed(s, CHANGED);
    if (!peer)
        return 0;
    if (connected) {
        its = (mine & SHUT_RECEIVE ? SHUT_SEND : 0) | (mine & SHUT_SEND ? SHUT_RECEIVE : 0);
        ipl = spin_lock(&peer->lock);
        peer->shut |= (uint8_t)its;
        spin_unlock(&peer->lock, ipl);
        sock_changed(peer, CHANGED);
    }
    sock_put(peer);
    return 0;
}
