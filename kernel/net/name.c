/*
 * Names of sockets: one tree of those that are bound, to inodes or to abstract names, ordered by a
 * hash of the key first. A socket in the tree has a reference to its inode; a look-up takes a
 * reference to the socket under the tree's lock, and a socket that ends leaves the tree first.
 *
 * Lock: names_lock (RANK_NAMES). A search compares hashes, and at most one name besides those of
 * equal hashes.
 */
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/fs/inode.h"
#include "kernel/net/private.h"
#include "kernel/sched/thread.h"
#include "mm/pool/pool.h"

static struct spinlock names_lock = SPINLOCK_INIT("socket names", RANK_NAMES, IPL_ASTDEL);
static struct treap names; /* of sock.node; names_lock */

struct key {
    const uint8_t *bytes; /* of an abstract name, a struct sockaddr_un */
    uint32_t nbytes;
    const struct inode *inode; /* not NULL: of a path */
    uint32_t hash;
};

static struct key key_of(const uint8_t *bytes, uint32_t nbytes, const struct inode *inode)
{
    struct key k = {bytes, nbytes, inode, 0};
    uint64_t h = treap_secret;

    if (inode)
        h = ((uintptr_t)inode ^ h) * UINT64_C(0x9E3779B97F4A7C15);
    for (uint32_t i = 0; !inode && i < nbytes; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001B3);
    k.hash = (uint32_t)(h >> 16);
    return k;
}

/* How k and s are ordered: below 0, 0 or above. */
static int compare(const struct key *k, const struct sock *s)
{
    if (k->hash != s->node.hash)
        return k->hash < s->node.hash ? -1 : 1;
    if (k->inode != s->inode)
        return (uintptr_t)k->inode < (uintptr_t)s->inode ? -1 : 1;
    if (k->inode)
        return 0;
    if (k->nbytes != s->name->nbytes)
        return k->nbytes < s->name->nbytes ? -1 : 1;
    return memcmp(k->bytes, s->name->bytes, k->nbytes);
}

/* The socket with that key, and where a new one belongs. names_lock held. */
static struct sock *find_locked(const struct key *k, struct treap_node **up,
                                struct treap_node ***where)
{
    *up = NULL;
    for (*where = &names.root; **where;) {
        struct sock *s = container_of(**where, struct sock, node);
        int c = compare(k, s);

        if (!c)
            return s;
        *up = **where;
        *where = c < 0 ? &(*up)->left : &(*up)->right;
    }
    return NULL;
}

int socket_find(const uint8_t *bytes, uint32_t nbytes, const struct inode *inode, struct sock **out)
{
    struct key k = key_of(bytes, nbytes, inode);
    struct treap_node *up, **where;
    ipl_t ipl = spin_lock(&names_lock);
    struct sock *s = find_locked(&k, &up, &where);

    if (s)
        sock_get(s);
    spin_unlock(&names_lock, ipl);
    *out = s;
    return s ? 0 : -ECONNREFUSED;
}

/* Enter s with its new name. -EINVAL: it has one; -EADDRINUSE. */
static int enter(struct sock *s, struct socket_name *n, struct inode *inode)
{
    struct key k = key_of(n->bytes, n->nbytes, inode);
    struct treap_node *up, **where;
    ipl_t ipl = spin_lock(&names_lock);
    int err = s->name ? -EINVAL : find_locked(&k, &up, &where) ? -EADDRINUSE : 0;

    if (!err) {
        s->node.hash = k.hash;
        s->inode = inode;
        s->named = true;
        __atomic_store_n(&s->name, n, __ATOMIC_RELEASE);
        treap_insert(&names, &s->node, up, where);
    }
    spin_unlock(&names_lock, ipl);
    return err;
}

/* Choose an abstract name of five hexadecimal digits. */
static int enter_any(struct sock *s, struct socket_name *n)
{
    static uint32_t next; /* atomic */
    int err = -EADDRINUSE;

    n->nbytes = 8;
    for (unsigned tries = 0; tries < 1u << 20 && err == -EADDRINUSE; tries++) {
        char digits[6];

        format(digits, sizeof(digits), "%05x",
               __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) & 0xFFFFF);
        memcpy(n->bytes + 3, digits, 5);
        err = thread_killed() ? -EINTR : enter(s, n, NULL);
    }
    return err;
}

int socket_bind(struct sock *s, const uint8_t *bytes, uint32_t nbytes, struct inode *inode)
{
    struct socket_name *n = npp_alloc_zeroed(sizeof(*n));
    int err;

    if (!n)
        return -ENOMEM;
    n->refs = 1;
    n->nbytes = nbytes;
    memcpy(n->bytes, bytes, nbytes);
    err = nbytes <= 2 ? enter_any(s, n) : enter(s, n, inode);
    if (err)
        npp_free(n, sizeof(*n));
    return err;
}

bool socket_is_bound(const struct sock *s)
{
    return __atomic_load_n(&s->name, __ATOMIC_RELAXED) != NULL;
}

void sock_unname(struct sock *s)
{
    ipl_t ipl = spin_lock(&names_lock);

    if (s->named)
        treap_remove(&names, &s->node);
    s->named = false;
    spin_unlock(&names_lock, ipl);
}

struct socket_name *sock_name_get(struct sock *s)
{
    struct socket_name *n = __atomic_load_n(&s->name, __ATOMIC_ACQUIRE);

    if (n)
        __atomic_fetch_add(&n->refs, 1, __ATOMIC_RELAXED);
    return n;
}

void socket_name_put(struct socket_name *n)
{
    if (__atomic_fetch_sub(&n->refs, 1, __ATOMIC_ACQ_REL) == 1)
        npp_free(n, sizeof(*n));
}

int socket_name_of(struct sock *s, bool peer, struct socket_name **out)
{
    struct sock *other = peer ? sock_peer(s) : NULL;

    if (peer && !other)
        return -ENOTCONN;
    *out = sock_name_get(peer ? other : s);
    if (other)
        sock_put(other);
    return 0;
}

/* ---- /proc/net/unix ---- */

/* The first socket in the tree with a higher hash. */
static struct treap_node *after_locked(uint32_t hash)
{
    struct treap_node *n = names.root, *best = NULL;

    while (n) {
        if (n->hash > hash) {
            best = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

bool socket_next(uint64_t *at, struct sock_info *i)
{
    ipl_t ipl = spin_lock(&names_lock);
    struct treap_node *n = *at ? after_locked((uint32_t)(*at - 1)) : treap_first(&names);
    struct sock *s = n ? container_of(n, struct sock, node) : NULL;
    enum sock_state state;

    if (s) {
        *at = (uint64_t)n->hash + 1;
        *i = (struct sock_info){.refs = __atomic_load_n(&s->refs, __ATOMIC_RELAXED),
                                .type = s->type,
                                .ino = s->ino,
                                .nbytes = s->name->nbytes};
        memcpy(i->name, s->name->bytes, s->name->nbytes);
        sock_get(s);
    }
    spin_unlock(&names_lock, ipl);
    if (!s)
        return false;
    state = sock_state(s);
    i->listens = state == SOCK_LISTENS;
    i->connected = state == SOCK_CONNECTED;
    sock_put(s);
    return true;
}
