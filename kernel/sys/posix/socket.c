/*
 * Calls of sockets but for messages: arguments, addresses, options. What sockets do is in
 * kernel/net. No lock here.
 */
#include "kernel/sys/posix/socket.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/proc/process.h"
#include "kernel/sys/posix/poll.h"
#include "kernel/sys/posix/socket_private.h"

#define FAMILY_MAX     46
#define SOCK_TYPES     11u
#define SOCK_TYPE_MASK 0xFu
#define SOCK_NONBLOCK  0x40000000u
#define SOCK_CLOEXEC   O_CLOEXEC

#define SOL_SOCKET 0xFFFF

/* ---- who ---- */

struct sock_cred socket_cred_real(void)
{
    const struct process *p = process_self();

    return (struct sock_cred){p->pid, process_uid(p), process_gid(p)};
}

struct sock_cred socket_cred_effective(void)
{
    const struct process *p = process_self();

    return (struct sock_cred){p->pid, process_euid(p), process_egid(p)};
}

void posix_socket_boot(void) { socket_writer = socket_cred_real; }

int socket_get(uint64_t fd, struct socket_use *u)
{
    u->fd = fd_get(process_self()->files, (uint32_t)fd);
    if (!u->fd.file || (u->fd.file->flags & O_PATH)) {
        fd_put(u->fd);
        return -EBADF;
    }
    u->s = socket_of(u->fd.file);
    u->nonblock = (__atomic_load_n(&u->fd.file->flags, __ATOMIC_RELAXED) & O_NONBLOCK) != 0;
    if (!u->s)
        fd_put(u->fd);
    return u->s ? 0 : -ENOTSOCK;
}

/* ---- addresses ---- */

#define SOCKADDR_MAX 128u /* bytes that any family may have */

int address_in(struct address *a, vaddr_t from, uint64_t nbytes)
{
    uint16_t family;

    if ((uint32_t)nbytes > SOCKADDR_MAX)
        return -EINVAL;
    a->nbytes = (uint32_t)nbytes;
    memset(a->bytes, 0, sizeof(a->bytes));
    if (copyin(a->bytes, from, MIN(a->nbytes, SOCKET_NAME_MAX)))
        return -EFAULT;
    memcpy(&family, a->bytes, sizeof(family));
    return a->nbytes < 2 || a->nbytes > SOCKET_NAME_MAX || family != AF_UNIX ? -EINVAL : 0;
}

static const char *path_of(const struct address *a) { return (const char *)a->bytes + 2; }
static bool is_abstract(const struct address *a) { return a->bytes[2] == 0; }

static int find_by_path(const struct address *a, struct sock **out)
{
    struct process *p = process_self();
    struct io_cred cred = process_cred(p);
    struct cwd_use cwd = fs_cwd_get(p->fs), root = fs_root_get(p->fs);
    struct inode *i;
    int err;

    cred.root = root.dir;
    err = tree_lookup(&cred, cwd.dir, path_of(a), true, &i);
    fs_cwd_put(root);
    fs_cwd_put(cwd);
    if (err)
        return err;
    err = inode_access(i, &cred, 2);
    if (!err && (i->mode & S_IFMT) != S_IFSOCK)
        err = -ECONNREFUSED;
    if (!err)
        err = socket_find(NULL, 0, i, out);
    inode_unref(i);
    return err;
}

int address_find(const struct address *a, struct sock **out)
{
    if (a->nbytes <= 2)
        return -EINVAL;
    return is_abstract(a) ? socket_find(a->bytes, a->nbytes, NULL, out) : find_by_path(a, out);
}

int address_out(const struct socket_name *n, vaddr_t to, vaddr_t nbytes)
{
    static const uint8_t family[2] = {AF_UNIX, 0};
    uint32_t room, all = n ? n->nbytes : (uint32_t)sizeof(family);

    if (copyin_u32(&room, nbytes))
        return -EFAULT;
    if ((int32_t)room < 0)
        return -EINVAL;
    if (copyout(to, n ? n->bytes : family, MIN(room, all)) || copyout_u32(nbytes, all))
        return -EFAULT;
    return 0;
}

int address_any(struct sock *s)
{
    static const uint8_t family[2] = {AF_UNIX, 0};
    int err = 0;

    if (socket_option(s, SOCK_OPT_PASSCRED) && !socket_is_bound(s))
        err = socket_bind(s, family, sizeof(family), NULL);
    return err == -EINVAL ? 0 : err; /* another thread has bound it */
}

/* Create the name in the file system, and bind s to it. */
static int bind_path(struct sock *s, struct address *a)
{
    struct process *p = process_self();
    struct io_cred cred = process_cred(p);
    struct cwd_use cwd, root;
    struct inode *i;
    int err;

    if (socket_is_bound(s))
        return -EINVAL;
    cwd = fs_cwd_get(p->fs);
    root = fs_root_get(p->fs);
    cred.root = root.dir;
    err = tree_create(&cred, cwd.dir, path_of(a), S_IFSOCK | (0777 & ~fs_umask(p->fs)), true, &i);
    if (!err) {
        a->nbytes = 2 + (uint32_t)strlen(path_of(a)) + 1;
        err = socket_bind(s, a->bytes, MIN(a->nbytes, SOCKET_NAME_MAX), i);
        if (err) {
            (void)tree_unlink(&cred, cwd.dir, path_of(a), false);
            inode_unref(i);
        }
    }
    fs_cwd_put(root);
    fs_cwd_put(cwd);
    return err == -EEXIST ? -EADDRINUSE : err;
}

long sys_bind(uint64_t fd, uint64_t addr, uint64_t nbytes)
{
    struct socket_use u;
    struct address a;
    int err = socket_get(fd, &u);

    if (err)
        return err;
    err = address_in(&a, addr, nbytes);
    if (!err)
        err = a.nbytes > 2 && !is_abstract(&a) ? bind_path(u.s, &a)
                                               : socket_bind(u.s, a.bytes, a.nbytes, NULL);
    fd_put(u.fd);
    return err;
}

static long name_call(uint64_t fd, vaddr_t addr, vaddr_t nbytes, bool peer)
{
    struct socket_name *n;
    struct socket_use u;
    long err = socket_get(fd, &u);

    if (err)
        return err;
    err = socket_name_of(u.s, peer, &n);
    fd_put(u.fd);
    if (err)
        return err;
    err = address_out(n, addr, nbytes);
    if (n)
        socket_name_put(n);
    return err;
}

long sys_getsockname(uint64_t fd, uint64_t addr, uint64_t nbytes)
{
    return name_call(fd, addr, nbytes, false);
}

long sys_getpeername(uint64_t fd, uint64_t addr, uint64_t nbytes)
{
    return name_call(fd, addr, nbytes, true);
}

/* ---- making and connecting ---- */

/* Check the arguments of socket and socketpair; *type gets the type of AF_UNIX. */
static int check_kind(uint64_t family, uint64_t kind, uint64_t protocol, unsigned *type)
{
    *type = (uint32_t)kind & SOCK_TYPE_MASK;
    if ((uint32_t)kind & ~(SOCK_TYPE_MASK | SOCK_NONBLOCK | SOCK_CLOEXEC))
        return -EINVAL;
    if ((uint32_t)family >= FAMILY_MAX)
        return -EAFNOSUPPORT;
    if (*type >= SOCK_TYPES)
        return -EINVAL;
    if ((uint32_t)family != AF_UNIX)
        return -EAFNOSUPPORT;
    if (protocol && (uint32_t)protocol != AF_UNIX)
        return -EPROTONOSUPPORT;
    if (*type == SOCK_RAW)
        *type = SOCK_DGRAM;
    return *type == SOCK_STREAM || *type == SOCK_DGRAM || *type == SOCK_SEQPACKET
               ? 0
               : -ESOCKTNOSUPPORT;
}

static uint32_t file_flags(uint64_t kind) { return kind & SOCK_NONBLOCK ? O_NONBLOCK : 0; }

static long install(struct file *f, bool cloexec)
{
    int fd = fd_add(process_self()->files, f, 0, cloexec);

    if (fd < 0)
        file_unref(f);
    return fd;
}

long sys_socket(uint64_t family, uint64_t kind, uint64_t protocol)
{
    struct file *f;
    unsigned type;
    int err = check_kind(family, kind, protocol, &type);

    if (!err)
        err = socket_create(type, file_flags(kind), &f);
    return err ? err : install(f, (kind & SOCK_CLOEXEC) != 0);
}

long sys_socketpair(uint64_t family, uint64_t kind, uint64_t protocol, uint64_t fds)
{
    struct sock_cred cred = socket_cred_effective();
    bool cloexec = (kind & SOCK_CLOEXEC) != 0;
    struct file *f[2];
    unsigned type;
    long fd[2];
    int err = check_kind(family, kind, protocol, &type);

    if (!err)
        err = socket_pair(type, file_flags(kind), &cred, f);
    if (err)
        return err;
    fd[0] = install(f[0], cloexec);
    if (fd[0] < 0) {
        file_unref(f[1]);
        return fd[0];
    }
    fd[1] = install(f[1], cloexec);
    if (fd[1] >= 0 && !copyout(fds, (uint32_t[2]){(uint32_t)fd[0], (uint32_t)fd[1]}, 8))
        return 0;
    fd_close(process_self()->files, (uint64_t)fd[0]);
    if (fd[1] < 0)
        return fd[1];
    fd_close(process_self()->files, (uint64_t)fd[1]);
    return -EFAULT;
}

long sys_listen(uint64_t fd, uint64_t backlog)
{
    struct sock_cred cred = socket_cred_effective();
    struct socket_use u;
    int err = socket_get(fd, &u);

    if (err)
        return err;
    err = socket_listen(u.s, (int32_t)backlog, &cred);
    fd_put(u.fd);
    return err;
}

/* An address of no family ends the connection of a datagram socket. */
static int connect_to(struct socket_use *u, vaddr_t addr, uint64_t nbytes)
{
    struct sock_cred cred = socket_cred_effective();
    struct address a;
    struct sock *to;
    uint16_t family;
    int err = address_in(&a, addr, nbytes);

    memcpy(&family, a.bytes, sizeof(family));
    if (err == -EINVAL && (uint32_t)nbytes >= 2 && (uint32_t)nbytes <= SOCKADDR_MAX &&
        family == 0 && socket_type(u->s) == SOCK_DGRAM)
        return socket_connect(u->s, NULL, u->nonblock, &cred);
    if (!err)
        err = address_any(u->s);
    if (!err)
        err = address_find(&a, &to);
    if (err)
        return err;
    err = socket_connect(u->s, to, u->nonblock, &cred);
    sock_put(to);
    return err;
}

long sys_connect(uint64_t fd, uint64_t addr, uint64_t nbytes)
{
    struct socket_use u;
    int err = socket_get(fd, &u);

    if (err)
        return err;
    err = connect_to(&u, addr, nbytes);
    fd_put(u.fd);
    return err;
}

/* Report the address of the new connection's other end. */
static long accept_address(struct file *f, vaddr_t addr, vaddr_t nbytes)
{
    struct socket_name *n = NULL;
    long err = socket_name_of(socket_of(f), true, &n);

    if (err == -ENOTCONN)
        return -ECONNABORTED;
    err = address_out(n, addr, nbytes);
    if (n)
        socket_name_put(n);
    return err;
}

long sys_accept4(uint64_t fd, uint64_t addr, uint64_t nbytes, uint64_t flags)
{
    struct file_table *t = process_self()->files;
    struct socket_use u;
    struct file *f;
    long err;
    int number;

    if ((uint32_t)flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
        return -EINVAL;
    err = socket_get(fd, &u);
    if (err)
        return err;
    err = number = fd_find(t, 0); /* first: a connection that was taken cannot be put back */
    if (number >= 0)
        err = socket_accept(u.s, u.nonblock, file_flags(flags), &f);
    fd_put(u.fd);
    if (!err && addr && (err = accept_address(f, addr, nbytes)) != 0)
        file_unref(f);
    if (err) {
        if (number >= 0)
            fd_cancel(t, (unsigned)number);
        return err;
    }
    fd_fill(t, f, (unsigned)number, (flags & SOCK_CLOEXEC) != 0);
    return number;
}

long sys_accept(uint64_t fd, uint64_t addr, uint64_t nbytes)
{
    return sys_accept4(fd, addr, nbytes, 0);
}

long sys_shutdown(uint64_t fd, uint64_t how)
{
    struct socket_use u;
    int err = socket_get(fd, &u);

    if (err)
        return err;
    err = socket_shutdown(u.s, (int32_t)how);
    fd_put(u.fd);
    return err;
}

/* ---- options ---- */

#define SO_SNDBUF      0x1001
#define SO_RCVBUF      0x1002
#define SO_ERROR       0x1007
#define SO_TYPE        0x1008
#define SO_RCVLOWAT    0x1010
#define SO_RCVTIMEO    0x1012
#define SO_SNDTIMEO    0x1013
#define SO_ACCEPTCONN  0x1014
#define SO_PROTOCOL    0x1028
#define SO_DOMAIN      0x1029
#define SO_SNDBUFFORCE 0x100A
#define SO_RCVBUFFORCE 0x100B
#define SO_LINGER      0x80
#define SO_PASSCRED    17
#define SO_PEERCRED    18

/* Options that mean something to other families, and are only remembered here, with their bits. */
static const struct {
    uint32_t name, bit;
} remembered[] = {
    {0x0001, 1},  /* SO_DEBUG */
    {0x0004, 2},  /* SO_REUSEADDR */
    {0x0008, 4},  /* SO_KEEPALIVE */
    {0x0010, 8},  /* SO_DONTROUTE */
    {0x0020, 16}, /* SO_BROADCAST */
    {0x0100, 32}, /* SO_OOBINLINE */
    {29, 64},     /* SO_TIMESTAMP */
};

static uint32_t bit_of(uint64_t name)
{
    for (unsigned k = 0; k < ARRAY_SIZE(remembered); k++)
        if (remembered[k].name == (uint32_t)name)
            return remembered[k].bit;
    return 0;
}

static int set_timeout(struct sock *s, bool send, vaddr_t value, uint64_t nbytes)
{
    int64_t t[2];
    uint64_t ns;

    if ((uint32_t)nbytes < sizeof(t))
        return -EINVAL;
    if (copyin(t, value, sizeof(t)))
        return -EFAULT;
    if (t[1] < 0 || t[1] >= 1000000)
        return -EDOM;
    ns = t[0] < 0                      ? 1
         : (uint64_t)t[0] >= INT32_MAX ? 0
                                       : (uint64_t)t[0] * NS_PER_SECOND + (uint64_t)t[1] * 1000;
    __atomic_store_n(socket_timeout(s, send), ns, __ATOMIC_RELAXED);
    return 0;
}

static int set_word(struct sock *s, uint64_t name, uint32_t v)
{
    uint32_t bit = bit_of(name), all;
    bool root = process_euid(process_self()) == 0;

    switch ((uint32_t)name) {
    case SO_SNDBUFFORCE:
    case SO_RCVBUFFORCE:
        if (!root)
            return -EPERM;
        socket_set_option(s, name == SO_SNDBUFFORCE ? SOCK_OPT_SNDBUF : SOCK_OPT_RCVBUF, v);
        return 0;
    case SO_SNDBUF:
        socket_set_option(s, SOCK_OPT_SNDBUF, v);
        return 0;
    case SO_RCVBUF:
        socket_set_option(s, SOCK_OPT_RCVBUF, v);
        return 0;
    case SO_PASSCRED:
        socket_set_option(s, SOCK_OPT_PASSCRED, v);
        return 0;
    case SO_TYPE:
    case SO_ERROR:
    case SO_ACCEPTCONN:
    case SO_PROTOCOL:
    case SO_DOMAIN:
    case SO_PEERCRED:
        return -ENOPROTOOPT;
    case SO_LINGER:
    case SO_RCVLOWAT:
        return 0;
    default:
        if (!bit)
            return -ENOPROTOOPT;
    }
    all = socket_option(s, SOCK_OPT_FLAGS);
    socket_set_option(s, SOCK_OPT_FLAGS, v ? all | bit : all & ~bit);
    return 0;
}

long sys_setsockopt(uint64_t fd, uint64_t level, uint64_t name, uint64_t value, uint64_t nbytes)
{
    struct socket_use u;
    uint32_t v;
    int err = (int32_t)nbytes < 0 ? -EINVAL : socket_get(fd, &u);

    if (err)
        return err;
    if ((uint32_t)level != SOL_SOCKET)
        err = -EOPNOTSUPP;
    else if ((uint32_t)nbytes < sizeof(v))
        err = -EINVAL;
    else if (copyin_u32(&v, value))
        err = -EFAULT;
    else if (name == SO_RCVTIMEO || name == SO_SNDTIMEO)
        err = set_timeout(u.s, name == SO_SNDTIMEO, value, nbytes);
    else
        err = set_word(u.s, name, v);
    fd_put(u.fd);
    return err;
}

/* The value of an option in `out`, up to 16 bytes. Its length, or a negative errno. */
static int get_value(struct sock *s, uint64_t name, uint8_t out[16])
{
    struct sock_cred cred;
    uint64_t ns, t[2];
    uint32_t v = 0;

    switch ((uint32_t)name) {
    case SO_PEERCRED:
        cred = socket_peer_cred(s);
        if (!cred.pid)
            cred = (struct sock_cred){0, UINT32_MAX, UINT32_MAX};
        memcpy(out, &cred, sizeof(cred));
        return sizeof(cred);
    case SO_RCVTIMEO:
    case SO_SNDTIMEO:
        ns = __atomic_load_n(socket_timeout(s, name == SO_SNDTIMEO), __ATOMIC_RELAXED);
        t[0] = ns / NS_PER_SECOND;
        t[1] = ns % NS_PER_SECOND / 1000;
        memcpy(out, t, sizeof(t));
        return sizeof(t);
    case SO_LINGER:
        memset(out, 0, 8);
        return 8;
    case SO_SNDBUF:
        v = socket_option(s, SOCK_OPT_SNDBUF);
        break;
    case SO_RCVBUF:
        v = socket_option(s, SOCK_OPT_RCVBUF);
        break;
    case SO_PASSCRED:
        v = socket_option(s, SOCK_OPT_PASSCRED);
        break;
    case SO_ERROR:
        v = socket_option(s, SOCK_OPT_ERROR);
        break;
    case SO_ACCEPTCONN:
        v = socket_option(s, SOCK_OPT_LISTENS);
        break;
    case SO_TYPE:
        v = socket_type(s);
        break;
    case SO_DOMAIN:
        v = AF_UNIX;
        break;
    case SO_RCVLOWAT:
        v = 1;
        break;
    case SO_PROTOCOL:
        break;
    default:
        if (!bit_of(name))
            return -ENOPROTOOPT;
        v = (socket_option(s, SOCK_OPT_FLAGS) & bit_of(name)) != 0;
    }
    memcpy(out, &v, sizeof(v));
    return sizeof(v);
}

long sys_getsockopt(uint64_t fd, uint64_t level, uint64_t name, uint64_t value, uint64_t nbytes)
{
    struct socket_use u;
    uint8_t out[16];
    uint32_t room;
    int n = socket_get(fd, &u);

    if (n)
        return n;
    if ((uint32_t)level != SOL_SOCKET)
        n = -EOPNOTSUPP;
    else if (copyin_u32(&room, nbytes))
        n = -EFAULT;
    else if ((int32_t)room < 0)
        n = -EINVAL;
    else
        n = get_value(u.s, name, out);
    fd_put(u.fd);
    if (n < 0)
        return n;
    room = MIN(room, (uint32_t)n);
    return copyout(value, out, room) || copyout_u32(nbytes, room) ? -EFAULT : 0;
}
