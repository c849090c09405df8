/*
 * The names of a directory of the memory file system, in two structures: a hash table by name, for
 * look-ups, and a treap (a search tree balanced by random weights) by cookie, for getdents. Cookies
 * ascend in the order of creation and are not used again, so a thread that reads the directory
 * while names are removed gets no name twice and none that is gone. The hash table starts with
 * MEMFS_HEADS heads in the inode, and doubles and halves with the number of names. If there is no
 * memory for a larger table, or at MEMFS_HEADS_MAX, more names share a head instead; so the only
 * allocation that can make the addition of a name fail is the name itself. The names of a head are
 * a treap too, by hash, length and text: users choose names, and can choose them so that all have
 * the same hash.
 */
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/fs/memfs_private.h"
#include "kernel/fs/name.h"
#include "mm/pool/pool_charged.h"

/* Heads of the largest directory. The names of all heads are entered anew in one go when the table
 * grows, with the directory locked: 256 of them here, in 25,000 instructions. With 65,536 heads it
 * took millions; the 20 names that share a head in a directory of 10,000 cost a look-up 30
 * instructions. */
#define MEMFS_HEADS_MAX 512u
#define FIRST_COOKIE    3u /* 1 and 2 stand for . and .. */

_Static_assert(offsetof(struct fs_entry, text) % 8 == 0, "names are copied by quadwords");
_Static_assert((NAME_MAX + 1) % 8 == 0, "the longest name has room for its quadwords");

static uint64_t boot_seed; /* constant after boot */

void memfs_dir_seed(uint64_t seed) { boot_seed = seed; }

struct inode *memfs_dir_new(struct fs *fs, const struct fs_new *what)
{
    struct memfs_dir *d = memfs_node_alloc(sizeof(*d));

    if (!d)
        return NULL;
    d->account = pool_account();
    inode_init(&d->inode, fs, &memfs_ops, what);
    d->heads = d->small;
    d->nheads = MEMFS_HEADS;
    d->next_cookie = FIRST_COOKIE;
    d->seed = (uint32_t)(d->inode.ino * 2654435761u ^ boot_seed) | 1;
    return &d->inode;
}

void memfs_dir_end(struct inode *i)
{
    KASSERT(dir_of(i)->count == 0, "each name's directory is held by the name");
    memfs_node_free(dir_of(i), sizeof(struct memfs_dir), dir_of(i)->account);
}

/* ---- by cookie ---- */

/* Make `by` (or NULL) the child of e's parent in e's place. */
static void replace_child(struct memfs_dir *d, struct memfs_name *e, struct memfs_name *by)
{
    if (!e->up)
        d->tree = by;
    else if (e->up->left == e)
        e->up->left = by;
    else
        e->up->right = by;
    if (by)
        by->up = e->up;
}

/* Rotate c above its parent. */
static void rotate_up(struct memfs_dir *d, struct memfs_name *c)
{
    struct memfs_name *p = c->up;

    replace_child(d, p, c);
    if (p->left == c) {
        p->left = c->right;
        if (p->left)
            p->left->up = p;
        c->right = p;
    } else {
        p->right = c->left;
        if (p->right)
            p->right->up = p;
        c->left = p;
    }
    p->up = c;
}

/* Append the newest name, which has the highest cookie: below the lowest node on the right edge
 * whose weight is not smaller, with the lighter nodes of that edge as its left subtree. */
static void order_append(struct memfs_dir *d, struct memfs_name *e)
{
    struct memfs_name *up = d->last, *below = NULL;

    d->seed ^= d->seed << 13; /* xorshift */
    d->seed ^= d->seed >> 17;
    d->seed ^= d->seed << 5;
    e->weight = d->seed;
    e->cookie = d->next_cookie++;
    for (; up && up->weight < e->weight; up = up->up)
        below = up;
    e->up = up;
    e->left = below;
    e->right = NULL;
    if (below)
        below->up = e;
    if (up)
        up->right = e;
    else
        d->tree = e;
    d->last = e;
}

static void order_remove(struct memfs_dir *d, struct memfs_name *e)
{
    if (d->last == e) { /* it has no right subtree */
        d->last = e->left ? e->left : e->up;
        while (d->last && d->last != e->up && d->last->right)
            d->last = d->last->right;
    }
    while (e->left && e->right)
        rotate_up(d, e->left->weight > e->right->weight ? e->left : e->right);
    replace_child(d, e, e->left ? e->left : e->right);
}

/* Put e in the place of old, with old's cookie. */
static void order_replace(struct memfs_dir *d, struct memfs_name *old, struct memfs_name *e)
{
    e->cookie = old->cookie;
    e->weight = old->weight;
    e->left = old->left;
    e->right = old->right;
    e->up = old->up;
    replace_child(d, old, e);
    if (e->left)
        e->left->up = e;
    if (e->right)
        e->right->up = e;
    if (d->last == old)
        d->last = e;
}

struct memfs_name *memfs_after(const struct memfs_dir *d, uint64_t pos)
{
    struct memfs_name *best = NULL;

    for (struct memfs_name *e = d->tree; e;) {
        if (e->cookie > pos) {
            best = e;
            e = e->left;
        } else {
            e = e->right;
        }
    }
    return best;
}

/* The name after e, NULL: e is the last one. A walk of all names takes two steps for each. */
static struct memfs_name *successor(struct memfs_name *e)
{
    struct memfs_name *next = e->right;

    if (next) {
        while (next->left)
            next = next->left;
        return next;
    }
    for (next = e->up; next && next->right == e; next = e->up)
        e = next;
    return next;
}

/* ---- by name ---- */

static struct memfs_name *name_of(const struct treap_node *n)
{
    return container_of(n, struct memfs_name, node);
}

/* The n bytes of an entry's text from `at` on, a multiple of 8, and above them what happens to be
 * there; n is 1 to 8. */
_Static_assert(offsetof(struct memfs_name, text) % 8 == 7,
               "only the first byte is in its quadword");
static inline __attribute__((no_sanitize_address)) uint64_t name_bytes(const struct memfs_name *e,
                                                                       size_t at, size_t n)
{
    const name_quad *q = (const name_quad *)(e->text - 7 + at);

    return n == 1 ? *q >> 56 : *q >> 56 | q[1] << 8; /* the second one need not be there */
}

/* The order of texts of one length above 8 that begin with the same eight bytes: that of their last
 * quadwords that differ, as numbers. Names that are alike mostly differ at their ends. */
static __attribute__((noinline)) int compare_text(const struct fs_name *name,
                                                  const struct memfs_name *e)
{
    size_t at = (name->len - 1) & ~(size_t)7;

    for (size_t n = name->len - at; at; at -= 8, n = 8) {
        uint64_t a = name_word(name->text, at + n, at), b = name_bytes(e, at, n);

        if (n < 8)
            b = name_first(b, n);
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

/* The order of a head's tree: how name compares to e, below 0, 0, or above 0. `longer`: the name
 * may have more than eight bytes. */
static inline __attribute__((always_inline)) int compare_as(const struct fs_name *name,
                                                            const struct memfs_name *e, bool longer)
{
    size_t len = name->len;
    uint64_t few;

    if ((int32_t)name->hash != (int32_t)e->node.hash)
        return name->hash < e->node.hash ? -1 : 1;
    if (len != e->len)
        return len < e->len ? -1 : 1;
    few = name_bytes(e, 0, len);
    if (len < 8)
        few = name_first(few, len);
    if (name->few != few)
        return name->few < few ? -1 : 1;
    return !longer || len <= 8 ? 0 : compare_text(name, e);
}

static int compare(const struct fs_name *name, const struct memfs_name *e)
{
    return compare_as(name, e, true);
}

static inline __attribute__((always_inline)) struct memfs_name *
find_as(const struct memfs_dir *d, const struct fs_name *name, bool longer)
{
    struct treap_node *at = d->heads[name->hash & (d->nheads - 1)].root;

    while (at) {
        int order = compare_as(name, name_of(at), longer);

        if (order == 0)
            return name_of(at);
        at = order < 0 ? at->left : at->right;
    }
    return NULL;
}

static struct memfs_name *find(const struct memfs_dir *d, const struct fs_name *name)
{
    return find_as(d, name, true);
}

struct memfs_name *memfs_find(const struct memfs_dir *d, const struct fs_name *name)
{
    return find(d, name);
}

static inline struct treap *head_of(struct memfs_dir *d, const struct memfs_name *e)
{
    return &d->heads[e->node.hash & (d->nheads - 1)];
}

static void head_enter(struct memfs_dir *d, struct memfs_name *e)
{
    struct fs_name name = name_with_hash(e->text, e->len, e->node.hash);
    struct treap *head = head_of(d, e);
    struct treap_node *up = NULL, **where = &head->root;

    while (*where) {
        up = *where;
        where = compare(&name, name_of(up)) < 0 ? &up->left : &up->right;
    }
    treap_insert(head, &e->node, up, where);
}

static void head_remove(struct memfs_dir *d, struct memfs_name *e)
{
    treap_remove(head_of(d, e), &e->node);
}

/* Change the table to n heads; without memory for them it stays as it is. */
static void rehash(struct memfs_dir *d, uint32_t n)
{
    struct treap *heads = n > MEMFS_HEADS ? pgd_alloc_zeroed(n * sizeof(*heads)) : d->small;
    struct treap *old = d->heads;
    uint32_t nold = d->nheads;

    if (!heads)
        return;
    if (heads == d->small)
        memset(d->small, 0, sizeof(d->small));
    d->heads = heads;
    d->nheads = n;
    for (uint32_t k = 0; k < nold; k++)
        while (old[k].root) {
            struct memfs_name *e = name_of(old[k].root);

            treap_remove(&old[k], &e->node);
            head_enter(d, e);
        }
    if (old != d->small)
        pgd_free(old, nold * sizeof(*old));
}

struct memfs_name *memfs_entry_new(const struct fs_name *name, struct inode *i)
{
    uint16_t account = pool_account();
    struct memfs_name *e = pgd_alloc_charged(entry_bytes(name->len), account);

    if (!e)
        return NULL;
    e->account = account;
    e->inode = i;
    e->node.hash = name->hash;
    e->len = (uint8_t)name->len;
    memcpy(e->text, name->text, name->len);
    return e;
}

void memfs_entry_free(struct memfs_name *e)
{
    pgd_free_charged(e, entry_bytes(e->len), e->account);
}

void memfs_insert(struct memfs_dir *d, struct memfs_name *e)
{
    if (++d->count > d->nheads && d->nheads < MEMFS_HEADS_MAX)
        rehash(d, 2 * d->nheads);
    head_enter(d, e);
    order_append(d, e);
}

void memfs_take_out(struct memfs_dir *d, struct memfs_name *e)
{
    head_remove(d, e);
    order_remove(d, e);
    if (d->read == e)
        d->read = NULL;
    memfs_entry_free(e);
    if (--d->count <= d->nheads / 4 && d->nheads > MEMFS_HEADS)
        rehash(d, d->nheads / 2);
}

void memfs_replace(struct memfs_dir *d, struct memfs_name *old, struct memfs_name *e)
{
    head_remove(d, old);
    order_replace(d, old, e);
    if (d->read == old)
        d->read = e;
    head_enter(d, e);
    memfs_entry_free(old);
}

static inline int found(struct memfs_name *e, struct inode **out)
{
    if (!e)
        return -ENOENT;
    inode_ref(e->inode);
    *out = e->inode;
    return 0;
}

static __attribute__((noinline)) int lookup_long(struct inode *dir, const struct fs_name *name,
                                                 struct inode **out)
{
    return found(find(dir_of(dir), name), out);
}

/* For short names this calls nothing, so that it needs no frame. */
int memfs_lookup(struct inode *dir, const struct fs_name *name, struct inode **out)
{
    if (unlikely(name->len > 8))
        return lookup_long(dir, name, out);
    return found(find_as(dir_of(dir), name, false), out);
}

static inline __attribute__((always_inline)) void describe(const struct memfs_name *e,
                                                           struct fs_entry *to)
{
    const struct inode *i = e->inode;
    uint32_t len = e->len, at = 0;

    to->ino = i->ino;
    to->cookie = e->cookie;
    to->mode = __atomic_load_n(&i->mode, __ATOMIC_RELAXED);
    to->len = len;
    for (; at + 8 <= len; at += 8)
        *(name_quad *)(to->text + at) = name_bytes(e, at, 8);
    if (at < len)
        *(name_quad *)(to->text + at) = name_first(name_bytes(e, at, len - at), len - at);
    to->text[len] = '\0';
}

void memfs_describe(const struct memfs_name *e, struct fs_entry *to) { describe(e, to); }

static inline __attribute__((always_inline)) int give(struct memfs_dir *d, struct memfs_name *e,
                                                      struct fs_entry *to)
{
    if (!e)
        return -ENOENT;
    __atomic_store_n(&d->read, e, __ATOMIC_RELAXED);
    describe(e, to);
    return 0;
}

static __attribute__((noinline)) int give_after(struct memfs_dir *d, uint64_t pos,
                                                struct fs_entry *to)
{
    return give(d, memfs_after(d, pos), to);
}

/* A name can be removed, and with it the hint, only while nobody holds the lock shared. */
int memfs_readdir(struct inode *dir, uint64_t pos, struct fs_entry *to)
{
    struct memfs_dir *d = dir_of(dir);
    struct memfs_name *e = __atomic_load_n(&d->read, __ATOMIC_RELAXED);

    if (unlikely(!e || e->cookie != pos))
        return give_after(d, pos, to);
    return give(d, successor(e), to);
}
