/* Private to kernel/net. */
#ifndef KERNEL_NET_PRIVATE_H
#define KERNEL_NET_PRIVATE_H

#include "kernel/base/treap.h"
#include "kernel/io/poll.h"
#include "kernel/net/cycles.h"
#include "kernel/net/socket.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/wait.h"

enum sock_state { SOCK_FREE, SOCK_CONNECTING, SOCK_CONNECTED, SOCK_LISTENS };

#define SHUT_RECEIVE 1u
#define SHUT_SEND    2u
#define SHUT_BOTH    3u

#define DATAGRAMS_MAX 10u /* messages in a queue, beyond which senders of datagrams wait */

struct sock { /* nonpaged pool */
    /* RANK_SOCKET, IPL_ASTDEL. Protects what follows, if nothing else is said. Not two at once. */
    struct spinlock lock;
    uint32_t refs;     /* atomic: the file, peers, messages on their way, names */
    uint8_t type;      /* constant */
    uint8_t state;     /* enum sock_state */
    uint8_t shut;      /* SHUT_* */
    bool dead;         /* the file was closed */
    bool passcred;     /* atomic */
    bool stalled;      /* it is on a list of stalled sockets; atomic */
    int32_t err;       /* reported by the next call, and cleared */
    uint32_t options;  /* SOCK_OPT_FLAGS; atomic */
    uint64_t ino;      /* constant */
    struct file *file; /* NULL: not accepted yet. Constant while the file exists */
    struct sock *peer; /* with a reference */
    struct sock_cred peer_cred;
    struct socket_name *name; /* with a reference; atomic: set once */
    struct inode *inode;      /* of the name, with a reference; constant once set */
    struct treap_node node;   /* in the tree of names; names_lock */
    bool named;               /* it is there; names_lock */
    /* Received messages. One reader at a time takes them, with `reading` (MUTEX_INODE) held, while
     * it copies from the first one to user memory. */
    struct mutex reading;
    struct list queue;
    uint32_t nmessages;
    uint64_t nbytes;
    /* A socket that listens: the connections that nobody has accepted. */
    struct list pending;
    struct list pending_link; /* the listener's lock */
    struct sock *listener;    /* of one that is not accepted; flight_lock */
    uint32_t npending, backlog;
    struct list stalled_here; /* sockets whose poll found this queue full, with references */
    struct list stalled_link; /* lock of the socket where it stalled */
    uint32_t nreaders;        /* threads that wait on `readers` */
    uint32_t nroom;           /* that wait on `room`, for room in this queue */
    uint32_t nwriters;        /* that wait on `writers`, for this socket's own space; atomic */
    struct wait_queue readers, room, writers;
    uint64_t sent;               /* bytes on their way, with their overhead; atomic */
    uint32_t sndbuf, rcvbuf;     /* atomic */
    uint64_t rcvtimeo, sndtimeo; /* ns, 0: none; atomic */
    struct poll_source polled;
    struct flyer flyer; /* its file in messages; flight_lock */
};

/* A part of the bytes of a message. Nonpaged pool. */
struct piece {
    struct piece *next;
    uint32_t nbytes;
    uint8_t data[];
};
#define PIECE_MAX 8000u /* bytes: with its head not more than a page */

struct message {           /* nonpaged pool */
    struct list link;      /* in the receiver's queue; its lock */
    struct sock *from;     /* with a reference; NULL: the space is given back */
    struct sock *to;       /* in whose queue it is; flight_lock if there is a flight */
    uint32_t nbytes, done; /* done: bytes that were received; the receiver's `reading` */
    uint64_t charge;       /* part of from->sent */
    struct sock_cred cred;
    struct flight *flight;
    struct piece *pieces;
};

struct flight {             /* nonpaged pool */
    struct carrier carrier; /* flight_lock */
    struct message *message;
    struct account *account; /* charged for it */
    uint32_t n;
    struct file **file; /* and of those that are sockets: */
    struct flyer **flyer;
};

/* Which files are in which messages, and which sockets these belong to. MUTEX_FLIGHT. */
extern struct mutex flight_lock;
/* The message, in no queue yet, begins to travel to `to`. flight_lock held, with the message put
 * into the queue under the same hold. */
void flight_begin_locked(struct message *m, struct sock *to);
/* It has arrived, or will not any more. flight_lock held. */
void flight_end_locked(struct flight *f);
/* s is accepted: messages to it belong to it alone from now on. flight_lock held. */
void flight_accept_locked(struct sock *s);
/* Copy the flight of a message that is only looked at: *out has references of its own. 0 or an
 * error. */
int flight_copy(const struct flight *f, struct flight **out);
/* A socket was closed: look for cycles, if any sockets are in messages. */
void flight_check(void);
/* Free messages of a closed socket that carry files, later, in the thread. */
void flight_discard(struct message *m);

extern const struct file_ops socket_ops;
#define SOCK_PARTS_MAX 9u /* of kernel memory for a read: a pipe, which begins within a page */

static inline void sock_get(struct sock *s) { __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED); }
struct sock *sock_alloc(unsigned type);
enum sock_state sock_state(struct sock *s);
/* Its peer, with a reference, or NULL. */
struct sock *sock_peer(struct sock *s);
/* Its name, with a reference, or NULL. */
struct socket_name *sock_name_get(struct sock *s);
/* Take s out of the tree of names. */
void sock_unname(struct sock *s);
/* The file of s ends, or the socket that nobody has accepted. */
void sock_end(struct sock *s);
/* Free a message that is in no queue and has no flight, and tell its sender that there is space. */
void message_free(struct message *m);
/* Free what is in the queue of s, to which nothing is added any more. */
void sock_purge(struct sock *s);
/* Wake all who wait for s, and tell who polls it. */
void sock_changed(struct sock *s, uint32_t events);
#define CHANGED (POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLHUP | POLLERR | POLLRDHUP)
/* Tell those who stalled at s that there is room. */
void sock_tell_stalled(struct sock *s);
/* Has s enough space of its own that poll calls it writable? */
bool sock_writable(const struct sock *s);
uint64_t sock_deadline(uint64_t timeout_ns);
/* Wait on q while `busy`, counting the waiter. See socket.c. */
int sock_wait(struct sock *s, struct wait_queue *q, uint32_t *count, bool (*busy)(struct sock *s),
              bool nonblock, uint64_t deadline);

#endif
