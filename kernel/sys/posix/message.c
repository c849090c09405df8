/*
 * Calls that send to sockets and receive from them: buffers, addresses, control messages (files and
 * credentials). No lock here.
 *
 * The vector and the control messages are copied in once and checked as a whole. Files to send are
 * referenced before they are in a message; those received are installed one by one, as many as the
 * caller has room for.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/process.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/posix/file.h"
#include "kernel/sys/posix/poll.h"
#include "kernel/sys/posix/socket.h"
#include "kernel/sys/posix/socket_private.h"
#include "mm/pool/pool.h"

#define SOL_SOCKET      0xFFFF
#define SCM_RIGHTS      1
#define SCM_CREDENTIALS 2
#define IOV_MAX         1024u
#define IOV_FEW         8u
#define CONTROL_MAX     8192u /* bytes of control messages; SCM_MAX_FD files take an eighth */
#define MMSG_MAX        1024u

struct msghdr {
    uint64_t name;
    uint32_t name_bytes, pad;
    uint64_t iov, iov_count;
    uint64_t control, control_bytes;
    uint32_t flags, pad2;
};

struct mmsghdr {
    struct msghdr head;
    uint32_t nbytes, pad;
};

struct cmsghdr {
    uint64_t nbytes;
    uint32_t level, type;
};

#define CMSG_ALIGN(n) (((n) + 7) & ~UINT64_C(7))

/* ---- buffers ---- */

struct vector {
    struct sock_io io;
    struct sock_buffer *all, few[IOV_FEW];
    uint32_t count;
};

static void vector_end(struct vector *v)
{
    if (v->all != v->few)
        pgd_free(v->all, v->count * sizeof(*v->all));
}

static int vector_check(struct vector *v)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < v->count; k++) {
        struct sock_buffer *b = &v->all[k];

        if ((int64_t)b->nbytes < 0)
            return -EINVAL;
        if (!user_range_ok(b->base, b->nbytes))
            return -EFAULT;
        b->nbytes = MIN(b->nbytes, IO_MAX - sum);
        sum += b->nbytes;
    }
    v->io = (struct sock_io){.buffer = v->all, .count = v->count, .left = sum};
    return 0;
}

static int vector_begin(struct vector *v, vaddr_t iov, uint64_t count)
{
    int err;

    v->all = v->few;
    v->count = (uint32_t)count;
    if (count > IOV_MAX)
        return -EMSGSIZE;
    if (count > IOV_FEW && !(v->all = pgd_alloc(count * sizeof(*v->all))))
        return -ENOMEM;
    err = copyin(v->all, iov, count * sizeof(*v->all)) ? -EFAULT : vector_check(v);
    if (err)
        vector_end(v);
    return err;
}

/* One buffer, for the calls without a vector. */
static int vector_one(struct vector *v, vaddr_t buf, uint64_t n)
{
    v->all = v->few;
    v->count = 1;
    v->few[0] = (struct sock_buffer){buf, MIN(n, IO_MAX)};
    return vector_check(v);
}

/* ---- control messages to send ---- */

struct control {
    struct file **files; /* SCM_MAX_FD of them, in paged pool; NULL: none were sent */
    unsigned nfiles;
    struct sock_cred cred;
};

static void control_end(struct control *c)
{
    for (unsigned k = 0; k < c->nfiles; k++)
        file_unref(c->files[k]);
    if (c->files)
        pgd_free(c->files, SCM_MAX_FD * sizeof(*c->files));
    c->files = NULL;
    c->nfiles = 0;
}

static int add_files(struct control *c, const uint8_t *data, uint64_t nbytes)
{
    struct file_table *t = process_self()->files;

    if (nbytes / 4 > SCM_MAX_FD - c->nfiles)
        return -EINVAL;
    if (!c->files && !(c->files = pgd_alloc(SCM_MAX_FD * sizeof(*c->files))))
        return -ENOMEM;
    for (uint64_t k = 0; k < nbytes / 4; k++) {
        struct fd_use u;
        uint32_t fd;

        memcpy(&fd, data + 4 * k, sizeof(fd));
        u = fd_get(t, fd);
        if (!u.file)
            return -EBADF;
        file_ref(u.file);
        c->files[c->nfiles++] = u.file;
        fd_put(u);
    }
    return 0;
}

/* May the caller say that it is *c? */
static int check_cred(const struct sock_cred *c)
{
    const struct process *p = process_self();
    bool uid = c->uid == process_uid(p) || c->uid == process_euid(p) ||
               c->uid == __atomic_load_n(&p->suid, __ATOMIC_RELAXED);
    bool gid = c->gid == process_gid(p) || c->gid == process_egid(p) ||
               c->gid == __atomic_load_n(&p->sgid, __ATOMIC_RELAXED);

    return process_euid(p) == 0 || (c->pid == p->pid && uid && gid) ? 0 : -EPERM;
}

static int control_one(struct control *c, const struct cmsghdr *h, const uint8_t *data)
{
    uint64_t n = h->nbytes - sizeof(*h);

    if (h->level != SOL_SOCKET)
        return 0;
    if (h->type == SCM_RIGHTS)
        return add_files(c, data, n);
    if (h->type != SCM_CREDENTIALS || n != sizeof(c->cred))
        return -EINVAL;
    memcpy(&c->cred, data, sizeof(c->cred));
    return check_cred(&c->cred);
}

static int control_parse(struct control *c, const uint8_t *p, uint64_t left)
{
    struct cmsghdr h;
    int err = 0;

    while (left >= sizeof(h) && !err) {
        uint64_t step;

        memcpy(&h, p, sizeof(h));
        if (h.nbytes < sizeof(h) || h.nbytes > left)
            return -EINVAL;
        err = control_one(c, &h, p + sizeof(h));
        step = MIN(CMSG_ALIGN(h.nbytes), left);
        p += step;
        left -= step;
    }
    return err;
}

/* Read the control messages; on success the caller calls control_end. */
static int control_begin(struct control *c, vaddr_t at, uint64_t nbytes)
{
    uint8_t *copy;
    int err;

    *c = (struct control){.cred = socket_cred_real()};
    if (!nbytes)
        return 0;
    if (nbytes > CONTROL_MAX)
        return -ENOBUFS;
    copy = pgd_alloc(nbytes);
    if (!copy)
        return -ENOMEM;
    err = copyin(copy, at, nbytes) ? -EFAULT : control_parse(c, copy, nbytes);
    pgd_free(copy, nbytes);
    if (err)
        control_end(c);
    return err;
}

/* ---- sending ---- */

/* A receiver for s, or NULL in *to for its peer. */
static int receiver(struct sock *s, vaddr_t name, uint64_t nbytes, struct sock **to)
{
    struct socket_name *peer = NULL;
    struct address a;
    int err;

    *to = NULL;
    if (!name || !nbytes)
        return 0;
    err = address_in(&a, name, nbytes);
    if (err)
        return err;
    if (socket_type(s) == SOCK_DGRAM)
        return address_find(&a, to);
    if (socket_type(s) == SOCK_SEQPACKET)
        return 0; /* the address is ignored */
    err = socket_name_of(s, true, &peer);
    if (peer)
        socket_name_put(peer);
    return err ? -EOPNOTSUPP : -EISCONN;
}

static long send_with(struct socket_use *u, const struct msghdr *h, struct vector *v,
                      uint32_t flags)
{
    struct flight *flight = NULL;
    struct sock *to = NULL;
    struct control c;
    long r = control_begin(&c, h->control, h->control_bytes);

    if (r)
        return r;
    if (c.nfiles)
        r = flight_create(c.files, c.nfiles, &flight);
    if (!r && flight)
        c.nfiles = 0;
    if (!r)
        r = receiver(u->s, h->name, h->name_bytes, &to);
    if (!r)
        r = address_any(u->s);
    if (!r)
        r = socket_send(u->s, to, &v->io, flags, u->nonblock, &c.cred, flight);
    if (r < 0 && flight)
        flight_free(flight);
    if (to)
        sock_put(to);
    control_end(&c);
    if (r == -EPIPE && socket_type(u->s) == SOCK_STREAM && !(flags & MSG_NOSIGNAL))
        return broken_pipe();
    return r;
}

long sys_sendto(uint64_t fd, uint64_t buf, uint64_t n, uint64_t flags, uint64_t addr,
                uint64_t nbytes)
{
    struct msghdr h = {.name = addr, .name_bytes = (uint32_t)nbytes};
    struct socket_use u;
    struct vector v;
    long r = socket_get(fd, &u);

    if (r)
        return r;
    r = vector_one(&v, buf, n);
    if (!r)
        r = send_with(&u, &h, &v, (uint32_t)flags);
    fd_put(u.fd);
    return r;
}

long sys_send(uint64_t fd, uint64_t buf, uint64_t n, uint64_t flags)
{
    return sys_sendto(fd, buf, n, flags, 0, 0);
}

static long send_message(struct socket_use *u, vaddr_t msg, uint32_t flags)
{
    struct msghdr h;
    struct vector v;
    long r;

    if (copyin(&h, msg, sizeof(h)))
        return -EFAULT;
    r = vector_begin(&v, h.iov, h.iov_count);
    if (r)
        return r;
    r = send_with(u, &h, &v, flags);
    vector_end(&v);
    return r;
}

long sys_sendmsg(uint64_t fd, uint64_t msg, uint64_t flags)
{
    struct socket_use u;
    long r = socket_get(fd, &u);

    if (r)
        return r;
    r = send_message(&u, msg, (uint32_t)flags);
    fd_put(u.fd);
    return r;
}

long sys_sendmmsg(uint64_t fd, uint64_t msgs, uint64_t count, uint64_t flags)
{
    uint32_t n = 0, most = MIN((uint32_t)count, MMSG_MAX);
    struct socket_use u;
    long r = socket_get(fd, &u);

    if (r)
        return r;
    for (; n < most && !thread_killed(); n++) {
        vaddr_t at = msgs + n * sizeof(struct mmsghdr);

        r = send_message(&u, at, (uint32_t)flags);
        if (r >= 0 && copyout_u32(at + offsetof(struct mmsghdr, nbytes), (uint32_t)r))
            r = -EFAULT;
        if (r < 0)
            break;
    }
    fd_put(u.fd);
    return n ? (long)n : r < 0 ? r : 0;
}

/* ---- receiving ---- */

/* Where control messages go. */
struct room {
    vaddr_t at;
    uint64_t left;
    bool cut; /* one did not fit */
};

static int put_control(struct room *room, uint32_t type, const void *data, uint64_t n)
{
    struct cmsghdr h = {sizeof(h) + n, SOL_SOCKET, type};
    uint64_t step;

    if (room->left < h.nbytes) {
        room->cut = true;
        return 0;
    }
    if (copyout(room->at, &h, sizeof(h)) || copyout(room->at + sizeof(h), data, n))
        return -EFAULT;
    step = MIN(CMSG_ALIGN(h.nbytes), room->left);
    room->at += step;
    room->left -= step;
    return 0;
}

/* Install as many files as there is room for. */
static int put_files(struct room *room, const struct flight *f, bool cloexec)
{
    struct file_table *t = process_self()->files;
    uint64_t most = room->left > sizeof(struct cmsghdr)
                        ? (room->left - sizeof(struct cmsghdr)) / sizeof(uint32_t)
                        : 0;
    unsigned n = (unsigned)MIN(flight_count(f), most), done = 0;
    struct cmsghdr h = {.level = SOL_SOCKET, .type = SCM_RIGHTS};
    uint64_t step;

    for (; done < n; done++) {
        struct file *file = flight_file(f, done);
        int fd;

        file_ref(file);
        fd = fd_add(t, file, 0, cloexec);
        if (fd < 0) {
            file_unref(file);
            break;
        }
        if (copyout_u32(room->at + sizeof(h) + 4 * done, (uint32_t)fd)) {
            fd_close(t, (uint64_t)fd);
            break;
        }
    }
    room->cut |= done < flight_count(f);
    if (!done)
        return 0;
    h.nbytes = sizeof(h) + 4 * done;
    if (copyout(room->at, &h, sizeof(h)))
        return -EFAULT;
    step = MIN(CMSG_ALIGN(h.nbytes), room->left);
    room->at += step;
    room->left -= step;
    return 0;
}

/* Write what came with a message to the caller's header h, and let go of it. */
static int deliver(struct sock_message *m, struct msghdr *h, uint32_t flags)
{
    struct room room = {h->control, h->control ? h->control_bytes : 0, false};
    int err = 0;

    if (m->has_cred)
        err = put_control(&room, SCM_CREDENTIALS, &m->cred, sizeof(m->cred));
    if (!err && m->flight)
        err = put_files(&room, m->flight, (flags & MSG_CMSG_CLOEXEC) != 0);
    h->control_bytes = room.at - h->control;
    h->flags = m->flags | (room.cut ? MSG_CTRUNC : 0) | (flags & MSG_CMSG_CLOEXEC);
    if (m->flight)
        flight_free(m->flight);
    return err;
}

/* The sender's address, of a message that has one: in h->name, of h->name_bytes. */
static int put_name(const struct sock_message *m, struct msghdr *h)
{
    uint32_t room = h->name_bytes;

    h->name_bytes = m->name ? m->name->nbytes : 0;
    if (!h->name || !m->name)
        return 0;
    return copyout(h->name, m->name->bytes, MIN(room, m->name->nbytes)) ? -EFAULT : 0;
}

static long receive_with(struct socket_use *u, struct msghdr *h, struct vector *v, uint32_t flags)
{
    struct sock_message m;
    long r = socket_receive(u->s, &v->io, flags, u->nonblock, &m);
    int err, err2;

    if (r < 0)
        return r;
    /* A connection has no other sender than its peer. */
    if (socket_type(u->s) != SOCK_DGRAM && m.name && socket_type(u->s) == SOCK_SEQPACKET) {
        socket_name_put(m.name);
        m.name = NULL;
    }
    err = put_name(&m, h);
    if (m.name)
        socket_name_put(m.name);
    err2 = deliver(&m, h, flags);
    return err ? err : err2 ? err2 : r;
}

static long receive_message(struct socket_use *u, vaddr_t msg, uint32_t flags)
{
    struct msghdr h;
    struct vector v;
    long r;

    if (copyin(&h, msg, sizeof(h)))
        return -EFAULT;
    if (h.name && (int32_t)h.name_bytes < 0)
        return -EINVAL;
    r = vector_begin(&v, h.iov, h.iov_count);
    if (r)
        return r;
    r = receive_with(u, &h, &v, flags);
    vector_end(&v);
    if (r < 0)
        return r;
    if (copyout_u32(msg + offsetof(struct msghdr, name_bytes), h.name ? h.name_bytes : 0) ||
        copyout_u32(msg + offsetof(struct msghdr, flags), h.flags) ||
        copyout_u64(msg + offsetof(struct msghdr, control_bytes), h.control_bytes))
        return -EFAULT;
    return r;
}

long sys_recvmsg(uint64_t fd, uint64_t msg, uint64_t flags)
{
    struct socket_use u;
    long r = socket_get(fd, &u);

    if (r)
        return r;
    r = receive_message(&u, msg, (uint32_t)flags);
    fd_put(u.fd);
    return r;
}

long sys_recvfrom(uint64_t fd, uint64_t buf, uint64_t n, uint64_t flags, uint64_t addr,
                  uint64_t nbytes)
{
    struct msghdr h = {.name = addr};
    struct socket_use u;
    struct vector v;
    long r = socket_get(fd, &u);

    if (r)
        return r;
    if (addr && copyin_u32(&h.name_bytes, nbytes))
        r = -EFAULT;
    else if (addr && (int32_t)h.name_bytes < 0)
        r = -EINVAL;
    if (!r)
        r = vector_one(&v, buf, n);
    if (!r)
        r = receive_with(&u, &h, &v, (uint32_t)flags);
    fd_put(u.fd);
    return r >= 0 && addr && copyout_u32(nbytes, h.name_bytes) ? -EFAULT : r;
}

long sys_recv(uint64_t fd, uint64_t buf, uint64_t n, uint64_t flags)
{
    return sys_recvfrom(fd, buf, n, flags, 0, 0);
}

long message_vector(uint64_t fd, const struct iovec *v, uint32_t count, bool send)
{
    struct vector own = {.all = (struct sock_buffer *)(uintptr_t)v, .count = count};
    struct msghdr h = {.name = 0};
    struct socket_use u;
    long r = socket_get(fd, &u);

    if (r)
        return r;
    r = vector_check(&own);
    if (!r)
        r = send ? send_with(&u, &h, &own, 0) : receive_with(&u, &h, &own, 0);
    fd_put(u.fd);
    return r;
}

/* The time limit is looked at after each message, as on Linux. */
long sys_recvmmsg(uint64_t fd, uint64_t msgs, uint64_t count, uint64_t flags, uint64_t timeout)
{
    uint32_t n = 0, most = MIN((uint32_t)count, MMSG_MAX), how = (uint32_t)flags;
    uint64_t deadline;
    struct socket_use u;
    long r = poll_deadline(timeout, 1, &deadline);

    if (!r)
        r = socket_get(fd, &u);
    if (r)
        return r;
    for (; n < most && !thread_killed() && (!n || clock_ns() < deadline); n++) {
        vaddr_t at = msgs + n * sizeof(struct mmsghdr);

        r = receive_message(&u, at, how & ~MSG_WAITFORONE);
        if (r >= 0 && copyout_u32(at + offsetof(struct mmsghdr, nbytes), (uint32_t)r))
            r = -EFAULT;
        if (r < 0)
            break;
        if (how & MSG_WAITFORONE)
            how |= MSG_DONTWAIT;
    }
    fd_put(u.fd);
    return n ? (long)n : r < 0 ? r : 0;
}
