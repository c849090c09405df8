/*
 * Sockets of AF_UNIX: stream, datagram and sequenced packet. README.md describes objects, locks and
 * limits. This layer does not know processes: kernel/sys/posix/socket.c resolves paths, installs
 * descriptors and sends SIGPIPE.
 *
 * All functions: IPL 0, no spinlock and no mutex held; results are 0, a number, or a negative
 * errno. Those that may wait end with -EINTR or -ERESTARTSYS when a signal comes. The caller has a
 * reference to the file of each socket that it passes.
 */
#ifndef KERNEL_NET_SOCKET_H
#define KERNEL_NET_SOCKET_H

#include "kernel/io/file.h"

struct sock;

#define AF_UNIX        1
#define SOCK_STREAM    1u
#define SOCK_DGRAM     2u
#define SOCK_RAW       3u
#define SOCK_SEQPACKET 5u

#define SHUT_RD   0
#define SHUT_WR   1
#define SHUT_RDWR 2

#define MSG_OOB          0x1u
#define MSG_PEEK         0x2u
#define MSG_CTRUNC       0x8u
#define MSG_TRUNC        0x20u
#define MSG_DONTWAIT     0x40u
#define MSG_EOR          0x80u
#define MSG_WAITALL      0x100u
#define MSG_NOSIGNAL     0x4000u
#define MSG_WAITFORONE   0x10000u
#define MSG_CMSG_CLOEXEC 0x40000000u

#define SUN_PATH_MAX    108u
#define SOCKET_NAME_MAX (2u + SUN_PATH_MAX) /* sizeof(struct sockaddr_un) */
#define SCM_MAX_FD      253u                /* descriptors in a message */

/* Who sends: what SCM_CREDENTIALS and SO_PEERCRED report. */
struct sock_cred {
    uint32_t pid, uid, gid;
};

/* The caller of write(2): its process and real ids; and of connect, its effective ids. Filled in by
 * kernel/sys/posix at boot. */
extern struct sock_cred (*socket_writer)(void);

/* A name as programs see it, a struct sockaddr_un of nbytes. */
struct socket_name {
    uint32_t refs; /* atomic */
    uint32_t nbytes;
    uint8_t bytes[SOCKET_NAME_MAX];
};

/* Buffers in user memory, or of the kernel's, and how far they have been used. */
struct sock_io {
    const struct sock_buffer {
        uint64_t base, nbytes;
    } *buffer;
    uint32_t count;
    uint64_t within; /* bytes of *buffer that were used */
    uint64_t left;   /* bytes in all buffers */
    bool kernel;     /* they are the kernel's */
};

/* Files that travel in a message. Owned by the message, then by the receiver. */
struct flight;

struct sock_message { /* what a call of recvmsg gets, besides the bytes */
    uint32_t flags;   /* MSG_TRUNC */
    bool has_cred;    /* SO_PASSCRED is set */
    struct sock_cred cred;
    struct socket_name *name; /* of the sender, with a reference; NULL: it has none */
    struct flight *flight;    /* NULL: none */
};

/* Create a socket: its file with one reference. flags: O_NONBLOCK or 0. -ENFILE, -ENOMEM. */
int socket_create(unsigned type, uint32_t flags, struct file **out);
/* The same for two that are connected with each other. */
int socket_pair(unsigned type, uint32_t flags, const struct sock_cred *cred, struct file *out[2]);
/* The socket of a file; NULL: it is none. */
struct sock *socket_of(const struct file *f);
unsigned socket_type(const struct sock *s);
void sock_put(struct sock *s);

/* Give s the name. inode: of a path, whose reference passes to s on success; NULL: the name is
 * abstract, and an empty one (2 bytes) is chosen. -EINVAL: it has a name; -EADDRINUSE; -ENOMEM. */
int socket_bind(struct sock *s, const uint8_t *name, uint32_t nbytes, struct inode *inode);
bool socket_is_bound(const struct sock *s);
/* The socket with this abstract name, or bound to this inode, with a reference; -ECONNREFUSED. */
int socket_find(const uint8_t *name, uint32_t nbytes, const struct inode *inode, struct sock **out);
int socket_listen(struct sock *s, int backlog, const struct sock_cred *cred);
/* Connect s with `to`; NULL: end the connection of a datagram socket. */
int socket_connect(struct sock *s, struct sock *to, bool nonblock, const struct sock_cred *cred);
int socket_accept(struct sock *s, bool nonblock, uint32_t file_flags, struct file **out);
int socket_shutdown(struct sock *s, int how);
/* The name of s or of its peer, with a reference, or NULL in *out if it has none. peer: -ENOTCONN.
 */
int socket_name_of(struct sock *s, bool peer, struct socket_name **out);
void socket_name_put(struct socket_name *n);

/* Send what *io has left. to: NULL, or the receiver of a datagram. The flight passes to the message
 * if the result is not an error. */
long socket_send(struct sock *s, struct sock *to, struct sock_io *io, uint32_t flags, bool nonblock,
                 const struct sock_cred *cred, struct flight *flight);
/* Receive. The result may be longer than the buffers with MSG_TRUNC. *m is filled in if it is not
 * an error; the caller owns its name and flight. */
long socket_receive(struct sock *s, struct sock_io *io, uint32_t flags, bool nonblock,
                    struct sock_message *m);

/* Send n bytes of kernel memory to whom s is connected to. */
long socket_send_kernel(struct sock *s, const void *buf, size_t n, bool nonblock);
/* Wait until there is something to receive. 0, -EAGAIN, -ERESTARTSYS, -EINTR. */
long socket_wait_receive(struct sock *s, bool nonblock);

/* Options of SOL_SOCKET that have a value: read; set (0 or -ENOPROTOOPT ...). */
enum sock_option {
    SOCK_OPT_SNDBUF,
    SOCK_OPT_RCVBUF,
    SOCK_OPT_PASSCRED,
    SOCK_OPT_ERROR, /* reading clears it */
    SOCK_OPT_LISTENS,
    SOCK_OPT_FLAGS, /* those that are only remembered: a mask */
};
uint32_t socket_option(struct sock *s, enum sock_option o);
void socket_set_option(struct sock *s, enum sock_option o, uint32_t value);
/* SO_SNDTIMEO and SO_RCVTIMEO in ns; 0: none. */
uint64_t *socket_timeout(struct sock *s, bool send);
struct sock_cred socket_peer_cred(struct sock *s);

/* Files for a message: n of them, each with a reference that passes to the flight on success.
 * -ETOOMANYREFS: the user may have no more in messages; -ENOMEM. */
int flight_create(struct file **files, unsigned n, struct flight **out);
unsigned flight_count(const struct flight *f);
/* File k of it, with the flight's reference. */
struct file *flight_file(const struct flight *f, unsigned k);
/* Free a flight that is in no message, with its references. */
void flight_free(struct flight *f);

/* What /proc/net/unix shows of a socket. */
struct sock_info {
    uint32_t refs, type;
    bool listens, connected;
    uint64_t ino;
    uint32_t nbytes;
    uint8_t name[SOCKET_NAME_MAX];
};
/* The bound socket after *at in the order of their hashes; false: there are no more. *at 0: the
 * first. Of two with the same hash, of 32 bits with a secret, only one is found. */
bool socket_next(uint64_t *at, struct sock_info *i);

/* Free what dropped messages had, for exact counts of memory: all that was dropped before the call
 * is free when it returns. Of those who drop more meanwhile it may wait for that, too. No lock is
 * held. */
void socket_drain(void);

/* Boot: start the thread that collects unreachable sockets. */
void socket_boot(void);

#endif
