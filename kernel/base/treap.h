/*
 * Search trees whose nodes are part of the elements (container_of finds the element). Callers do
 * the ordering and the locking; nothing here allocates or fails.
 *
 * A tree is a treap: a binary search tree by the caller's key that is at the same time a heap by a
 * weight, which is a hash of the node's address (or of another number that the caller gives to no
 * other node, treap_link_with) and of a secret of this boot. Users see neither, so
 * whatever keys they choose, in whatever order, the expected depth is that of random insertions:
 * about 2 ln n, 18 for 10,000 elements and 28 for a million. Insertion and removal take one walk
 * down and two rotations on average.
 *
 * To insert, the caller walks from the root to an empty link:
 *
 *     struct treap_node *up = NULL, **where = &tree->root;
 *
 *     while (*where) {
 *         up = *where;
 *         where = goes_before(new, up) ? &up->left : &up->right;
 *     }
 *     treap_insert(tree, &new->node, up, where);
 *
 * A tree that keeps a summary of each subtree in its root rotates nodes itself
 * (kernel/base/span.c, mm/object/mappings.c). One such tree is here, the list that finds its n-th
 * element: nodes are in the order in which they were appended, and the field `hash` of each counts
 * the nodes of its subtree.
 */
#ifndef KERNEL_BASE_TREAP_H
#define KERNEL_BASE_TREAP_H

#include "kernel/base/types.h"

struct treap_node {
    struct treap_node *left, *right, *up;
    uint32_t weight;
    uint32_t hash; /* for the caller, which may order by a hash of its key first */
};

struct treap {
    struct treap_node *root; /* NULL: the tree is empty */
};

/* Set once at boot, before users can do anything. */
extern uint64_t treap_secret;

/* Two multiplications: after one, elements that are allocated one behind the other have weights at
   equal distances, and with some secrets and sizes such trees are twice as deep. */
static inline uint32_t treap_weight(uint64_t of)
{
    uint64_t x = (of ^ treap_secret) * UINT64_C(0x9E3779B97F4A7C15);

    return (uint32_t)(((x ^ x >> 32) * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

/* Make `by` (or NULL) the child of n's parent in place of n. */
static inline void treap_replace_child(struct treap *t, struct treap_node *n, struct treap_node *by)
{
    struct treap_node *up = n->up;

    if (!up)
        t->root = by;
    else if (up->left == n)
        up->left = by;
    else
        up->right = by;
    if (by)
        by->up = up;
}

/* Rotate c above its parent, which becomes its child. */
static inline void treap_rotate_up(struct treap *t, struct treap_node *c)
{
    struct treap_node *p = c->up;

    treap_replace_child(t, p, c);
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

/* Make n a leaf with that weight at the empty link *where of `up` (NULL: *where is the root), which
   may be in the wrong order of weights with it. */
static inline void treap_link_with(struct treap_node *n, struct treap_node *up,
                                   struct treap_node **where, uint32_t weight)
{
    n->left = NULL;
    n->right = NULL;
    n->up = up;
    n->weight = weight;
    *where = n;
}

/* The same; the weight is that of n's place in memory. */
static inline void treap_link(struct treap_node *n, struct treap_node *up,
                              struct treap_node **where)
{
    treap_link_with(n, up, where, treap_weight((uint64_t)n));
}

void treap_insert(struct treap *t, struct treap_node *n, struct treap_node *up,
                  struct treap_node **where);
void treap_remove(struct treap *t, struct treap_node *n);
/* The first or last node, and the one after or before n; NULL: there is none. */
struct treap_node *treap_first(const struct treap *t);
struct treap_node *treap_last(const struct treap *t);
struct treap_node *treap_next(const struct treap_node *n);
struct treap_node *treap_prev(const struct treap_node *n);

/* Make n the last node of a tree that counts; take it out. In such a tree only the functions above
   that change nothing may be used. */
void treap_append(struct treap *t, struct treap_node *n);
void treap_take_out(struct treap *t, struct treap_node *n);
/* The index-th node of a tree that counts, from 0 on; NULL: it has no more than `index`. */
struct treap_node *treap_nth(const struct treap *t, uint64_t index);

#endif
