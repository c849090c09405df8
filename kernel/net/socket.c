/*
 * Sockets: making and ending them, the file, options. README.md describes the locks.
 *
 * No function holds the locks of two sockets. What concerns both ends of a connection is done at
 * one after the other, in an order in which everybody sees a state that could be: a message is in
 * the queue before its sender goes on, and an end is shut before the other one forgets it.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/fs/inode.h"
#include "kernel/io/open_flags.h"
#include "kernel/net/private.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool.h"

#define BUFFER_DEFAULT 212992u /* bytes of SO_SNDBUF and SO_RCVBUF, as on Linux */

#define FIONREAD 0x4004667Fu
#define TIOCOUTQ 0x40047473u

static uint64_t next_ino = 1; /* atomic */

struct sock_cred (*socket_writer)(void);

/* ---- lifetime ---- */

struct sock *sock_alloc(unsigned type)
{
    struct sock *s = npp_alloc_zeroed(sizeof(*s));

    if (!s)
        return NULL;
    spin_init(&s->lock, "socket", RANK_SOCKET, IPL_ASTDEL);
    mutex_init(&s->reading, "socket reading", MUTEX_SOCKET);
    wait_queue_init(&s->readers, "socket read");
    wait_queue_init(&s->room, "socket room");
    wait_queue_init(&s->writers, "socket write");
    poll_source_init(&s->polled);
    list_init(&s->queue);
    list_init(&s->pending);
    list_init(&s->pending_link);
    list_init(&s->stalled_here);
    list_init(&s->stalled_link);
    list_init(&s->flyer.link);
    list_init(&s->flyer.work);
    list_init(&s->flyer.carriers);
    s->refs = 1;
    s->type = (uint8_t)type;
    s->sndbuf = s->rcvbuf = BUFFER_DEFAULT;
    s->ino = __atomic_fetch_add(&next_ino, 1, __ATOMIC_RELAXED);
    return s;
}

void sock_put(struct sock *s)
{
    if (__atomic_fetch_sub(&s->refs, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    if (s->name)
        socket_name_put(s->name);
    if (s->inode)
        inode_unref(s->inode);
    poll_source_end(&s->polled);
    npp_free(s, sizeof(*s));
}

uint64_t sock_deadline(uint64_t timeout_ns)
{
    return timeout_ns ? clock_ns() + timeout_ns : WAIT_FOREVER;
}

/* Wait on q until busy(s) is false; s->lock is taken to ask. *count is the number of waiters, which
 * those who change the state look at, under the same lock. 0; -EAGAIN: it is busy, and nonblock is
 * set or the deadline has passed; -ERESTARTSYS, or -EINTR if there is a deadline. */
int sock_wait(struct sock *s, struct wait_queue *q, uint32_t *count, bool (*busy)(struct sock *s),
              bool nonblock, uint64_t deadline)
{
    struct waiter w;
    int err = 0;
    ipl_t ipl;

    for (;;) {
        bool wait;

        wait_enqueue(q, &w);
        ipl = spin_lock(&s->lock);
        wait = busy(s);
        if (wait && !nonblock)
            __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
        spin_unlock(&s->lock, ipl);
        if (!wait)
            break;
        if (nonblock) {
            err = -EAGAIN;
            break;
        }
        /* The state may have changed without the lock since (`sent`): look again, counted. */
        ipl = spin_lock(&s->lock);
        wait = busy(s);
        spin_unlock(&s->lock, ipl);
        if (wait)
            err = wait_block(&w, WAIT_INTERRUPTIBLE, deadline);
        __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
        if (err)
            break;
        wait_finish(&w); /* it is still on the queue if nobody has woken it */
    }
    wait_finish(&w);
    if (err == -EINTR)
        return deadline == WAIT_FOREVER ? -ERESTARTSYS : -EINTR;
    return err == -ETIMEDOUT ? -EAGAIN : err;
}

void sock_changed(struct sock *s, uint32_t events)
{
    wake_all(&s->readers);
    wake_all(&s->room);
    wake_all(&s->writers);
    poll_notify(&s->polled, events);
}

void sock_tell_stalled(struct sock *s)
{
    for (;;) {
        ipl_t ipl = spin_lock(&s->lock);
        struct list *l = list_pop_head(&s->stalled_here);
        struct sock *other = l ? list_entry(l, struct sock, stalled_link) : NULL;

        spin_unlock(&s->lock, ipl);
        if (!other)
            return;
        __atomic_store_n(&other->stalled, false, __ATOMIC_RELEASE);
        poll_notify(&other->polled, POLLOUT | POLLWRNORM);
        sock_put(other);
    }
}

/* The other end of a connection has ended, with data unread or not. */
static void hang_up(struct sock *peer, struct sock *by, bool reset)
{
    ipl_t ipl = spin_lock(&peer->lock);

    /* by may have been disconnected from it meanwhile, or not be connected yet. */
    if (peer->peer == by || peer->state == SOCK_CONNECTING) {
        peer->shut = SHUT_BOTH;
        if (reset)
            peer->err = ECONNRESET;
    }
    spin_unlock(&peer->lock, ipl);
    sock_changed(peer, CHANGED);
}

void sock_purge(struct sock *s)
{
    for (;;) {
        ipl_t ipl = spin_lock(&s->lock);
        struct list *l = list_pop_head(&s->queue);
        struct message *m = l ? list_entry(l, struct message, link) : NULL;

        if (m) {
            s->nmessages--;
            s->nbytes -= m->nbytes - m->done;
        }
        spin_unlock(&s->lock, ipl);
        if (!m)
            return;
        if (m->flight)
            flight_discard(m);
        else
            message_free(m);
    }
}

/* End the connections that nobody has accepted. */
static void end_pending(struct sock *s)
{
    for (;;) {
        ipl_t ipl = spin_lock(&s->lock);
        struct list *l = list_pop_head(&s->pending);

        spin_unlock(&s->lock, ipl);
        if (!l)
            return;
        mutex_lock(&flight_lock);
        flight_accept_locked(list_entry(l, struct sock, pending_link));
        mutex_unlock(&flight_lock);
        sock_end(list_entry(l, struct sock, pending_link));
    }
}

void sock_end(struct sock *s)
{
    struct sock *peer;
    bool unread;
    ipl_t ipl;

    sock_unname(s);
    ipl = spin_lock(&s->lock);
    s->dead = true;
    s->shut = SHUT_BOTH;
    peer = s->peer;
    s->peer = NULL;
    unread = !list_empty(&s->queue) || !s->file;
    spin_unlock(&s->lock, ipl);
    if (peer && s->type != SOCK_DGRAM)
        hang_up(peer, s, unread);
    if (peer)
        sock_put(peer);
    end_pending(s);
    sock_purge(s);
    sock_changed(s, CHANGED);
    sock_tell_stalled(s);
    sock_put(s);
}

static void socket_close(struct file *f)
{
    sock_end(f->priv);
    flight_check();
}

enum sock_state sock_state(struct sock *s)
{
    ipl_t ipl = spin_lock(&s->lock);
    enum sock_state state = s->state;

    spin_unlock(&s->lock, ipl);
    return state;
}

struct sock *sock_peer(struct sock *s)
{
    ipl_t ipl = spin_lock(&s->lock);
    struct sock *peer = s->peer;

    if (peer)
        sock_get(peer);
    spin_unlock(&s->lock, ipl);
    return peer;
}

/* ---- the file ---- */

bool sock_writable(const struct sock *s)
{
    return __atomic_load_n(&s->sent, __ATOMIC_RELAXED) * 4 <=
           __atomic_load_n(&s->sndbuf, __ATOMIC_RELAXED);
}

/* Is there no room for a datagram of s at its peer? Then s is told when there is. */
static bool is_stalled(struct sock *s)
{
    struct sock *peer = s->type == SOCK_STREAM ? NULL : sock_peer(s);
    bool full;
    ipl_t ipl;

    if (!peer)
        return false;
    ipl = spin_lock(&peer->lock);
    full = peer->peer != s && !peer->dead && peer->nmessages > DATAGRAMS_MAX;
    if (full && !__atomic_exchange_n(&s->stalled, true, __ATOMIC_ACQUIRE)) {
        sock_get(s);
        list_add_tail(&peer->stalled_here, &s->stalled_link);
    }
    spin_unlock(&peer->lock, ipl);
    sock_put(peer);
    return full;
}

static unsigned events_locked(const struct sock *s)
{
    bool connects = s->type != SOCK_DGRAM;
    unsigned r = 0;

    if (s->err)
        r |= POLLERR;
    if (s->shut == SHUT_BOTH ||
        (connects && (s->state == SOCK_FREE || s->state == SOCK_CONNECTING)))
        r |= POLLHUP;
    if (s->shut & SHUT_RECEIVE)
        r |= POLLRDHUP | POLLIN | POLLRDNORM;
    if (!list_empty(&s->queue) || !list_empty(&s->pending))
        r |= POLLIN | POLLRDNORM;
    if (s->state != SOCK_LISTENS && sock_writable(s))
        r |= POLLOUT | POLLWRNORM;
    return r;
}

static unsigned socket_poll(struct file *f, struct poll_entry *e)
{
    struct sock *s = f->priv;
    unsigned r;
    ipl_t ipl;

    poll_register(&s->polled, e);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* `sent` changes without the lock: message_free */
    ipl = spin_lock(&s->lock);
    r = events_locked(s);
    spin_unlock(&s->lock, ipl);
    if ((r & POLLOUT) && is_stalled(s))
        r &= ~(POLLOUT | POLLWRNORM);
    return r;
}

static long plain_io(struct file *f, vaddr_t ubuf, size_t n, bool send)
{
    struct sock_buffer b = {ubuf, n};
    struct sock_io io = {.buffer = &b, .count = 1, .left = n};
    bool nonblock = (f->flags & O_NONBLOCK) != 0;
    struct sock_message m;
    long r;

    if (send) {
        struct sock_cred cred = socket_writer();

        return socket_send(f->priv, NULL, &io, 0, nonblock, &cred, NULL);
    }
    if (!n && ((struct sock *)f->priv)->type == SOCK_STREAM)
        return 0;
    r = socket_receive(f->priv, &io, 0, nonblock, &m);
    if (r < 0)
        return r;
    if (m.name)
        socket_name_put(m.name);
    if (m.flight)
        flight_free(m.flight);
    return r;
}

static long socket_read(struct file *f, vaddr_t ubuf, size_t n)
{
    return plain_io(f, ubuf, n, false);
}

static long socket_write(struct file *f, vaddr_t ubuf, size_t n)
{
    return plain_io(f, ubuf, n, true);
}

static long socket_write_kernel(struct file *f, const void *buf, size_t n)
{
    return socket_send_kernel(f->priv, buf, n, (f->flags & O_NONBLOCK) != 0);
}

long socket_send_kernel(struct sock *s, const void *buf, size_t n, bool nonblock)
{
    struct sock_buffer b = {(uint64_t)buf, n};
    struct sock_io io = {.buffer = &b, .count = 1, .left = n, .kernel = true};
    struct sock_cred cred = socket_writer();

    return socket_send(s, NULL, &io, 0, nonblock, &cred, NULL);
}

static long socket_read_kernel(struct file *f, const struct file_part *part, unsigned n,
                               void **rest)
{
    struct sock_buffer b[SOCK_PARTS_MAX];
    struct sock_io io = {.buffer = b, .count = n, .kernel = true};
    struct sock_message m;
    long r;

    KASSERT(n <= SOCK_PARTS_MAX, "a pipe has no more pages");
    for (unsigned k = 0; k < n; k++) {
        b[k] = (struct sock_buffer){(uint64_t)part[k].base, part[k].nbytes};
        io.left += part[k].nbytes;
    }
    r = socket_receive(f->priv, &io, 0, true, &m);
    if (r >= 0 && m.name)
        socket_name_put(m.name);
    if (r >= 0 && m.flight)
        *rest = m.flight;
    return r;
}

static long socket_read_wait(struct file *f, bool nonblock)
{
    return socket_wait_receive(f->priv, nonblock || (f->flags & O_NONBLOCK));
}

/* Files, of which each may be closed now. */
static void socket_read_rest(void *rest) { flight_free(rest); }

static int socket_stat(struct file *f, struct file_stat *st)
{
    const struct sock *s = f->priv;

    *st = (struct file_stat){.ino = s->ino, .mode = S_IFSOCK | 0777, .nlink = 1, .blksize = 4096};
    return 0;
}

static long socket_ioctl(struct file *f, unsigned long req, vaddr_t arg)
{
    struct sock *s = f->priv;
    uint64_t n = 0;
    ipl_t ipl;

    if (req != FIONREAD && req != TIOCOUTQ)
        return -ENOTTY;
    ipl = spin_lock(&s->lock);
    if (req == TIOCOUTQ)
        n = __atomic_load_n(&s->sent, __ATOMIC_RELAXED);
    else if (s->type != SOCK_DGRAM)
        n = s->nbytes;
    else if (!list_empty(&s->queue))
        n = list_first_entry(&s->queue, struct message, link)->nbytes;
    spin_unlock(&s->lock, ipl);
    if (req == FIONREAD && sock_state(s) == SOCK_LISTENS)
        return -EINVAL;
    return copyout_u32(arg, (uint32_t)n);
}

const struct file_ops socket_ops = {.name = "socket",
                                    .read = socket_read,
                                    .write = socket_write,
                                    .write_kernel = socket_write_kernel,
                                    .read_kernel = socket_read_kernel,
                                    .read_wait = socket_read_wait,
                                    .read_rest = socket_read_rest,
                                    .stat = socket_stat,
                                    .ioctl = socket_ioctl,
                                    .poll = socket_poll,
                                    .close = socket_close};

struct sock *socket_of(const struct file *f) { return f->ops == &socket_ops ? f->priv : NULL; }
unsigned socket_type(const struct sock *s) { return s->type; }

int socket_create(unsigned type, uint32_t flags, struct file **out)
{
    struct sock *s = sock_alloc(type);
    struct file *f = s ? file_alloc(&socket_ops, O_RDWR | flags) : NULL;

    if (!f) {
        if (s)
            sock_put(s);
        return file_why_not();
    }
    f->priv = s;
    s->file = f;
    *out = f;
    return 0;
}

int socket_pair(unsigned type, uint32_t flags, const struct sock_cred *cred, struct file *out[2])
{
    struct sock *a, *b;
    int err = socket_create(type, flags, &out[0]);

    if (err)
        return err;
    err = socket_create(type, flags, &out[1]);
    if (err) {
        file_unref(out[0]);
        return err;
    }
    a = out[0]->priv;
    b = out[1]->priv;
    a->peer = b;
    b->peer = a;
    sock_get(a);
    sock_get(b);
    a->state = b->state = SOCK_CONNECTED;
    a->peer_cred = b->peer_cred = *cred;
    return 0;
}

/* ---- options ---- */

#define SNDBUF_MIN 4608u
#define RCVBUF_MIN 2304u
#define BUFFER_MAX (2 * BUFFER_DEFAULT)

uint32_t socket_option(struct sock *s, enum sock_option o)
{
    uint32_t v = 0;
    ipl_t ipl = spin_lock(&s->lock);

    switch (o) {
    case SOCK_OPT_SNDBUF:
        v = s->sndbuf;
        break;
    case SOCK_OPT_RCVBUF:
        v = s->rcvbuf;
        break;
    case SOCK_OPT_PASSCRED:
        v = s->passcred;
        break;
    case SOCK_OPT_ERROR:
        v = (uint32_t)s->err;
        s->err = 0;
        break;
    case SOCK_OPT_LISTENS:
        v = s->state == SOCK_LISTENS;
        break;
    case SOCK_OPT_FLAGS:
        v = s->options;
        break;
    }
    spin_unlock(&s->lock, ipl);
    return v;
}

/* Twice what was asked for, as on Linux, for the overhead. */
static uint32_t buffer_size(uint32_t value, uint32_t least)
{
    uint64_t v = 2 * (uint64_t)MIN(value, (uint32_t)INT32_MAX);

    return (uint32_t)MAX(MIN(v, BUFFER_MAX), least);
}

void socket_set_option(struct sock *s, enum sock_option o, uint32_t value)
{
    ipl_t ipl = spin_lock(&s->lock);

    if (o == SOCK_OPT_SNDBUF)
        __atomic_store_n(&s->sndbuf, buffer_size(value, SNDBUF_MIN), __ATOMIC_RELAXED);
    else if (o == SOCK_OPT_RCVBUF)
        s->rcvbuf = buffer_size(value, RCVBUF_MIN);
    else if (o == SOCK_OPT_PASSCRED)
        __atomic_store_n(&s->passcred, value != 0, __ATOMIC_RELAXED);
    else if (o == SOCK_OPT_FLAGS)
        s->options = value;
    spin_unlock(&s->lock, ipl);
    if (o == SOCK_OPT_SNDBUF)
        sock_changed(s, POLLOUT | POLLWRNORM);
}

uint64_t *socket_timeout(struct sock *s, bool send) { return send ? &s->sndtimeo : &s->rcvtimeo; }

struct sock_cred socket_peer_cred(struct sock *s)
{
    ipl_t ipl = spin_lock(&s->lock);
    struct sock_cred c = s->peer_cred;

    spin_unlock(&s->lock, ipl);
    return c;
}
