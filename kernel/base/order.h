/*
 * Lists in the order in which their elements came, in which a walk that was interrupted finds its
 * place again: it remembers the age up to which it has come, not an element, which may have gone. A
 * search for an age takes logarithmic time (treap.h). Marks in a plain list would do as well, but
 * each walk would pass those of all others.
 *
 *     uint64_t end = order_end(&list);         -- who comes later is not met
 *     uint64_t age = 0;
 *
 *     while ((n = order_from(&list, age)) != NULL && n->age < end) {
 *         age = n->age + 1;
 *         ...                                  -- n may go, and the list's lock be released
 *     }
 *
 * Callers do the locking; nothing here allocates or fails.
 */
#ifndef KERNEL_BASE_ORDER_H
#define KERNEL_BASE_ORDER_H

#include "kernel/base/treap.h"

struct order_node {
    struct treap_node node;
    uint64_t age; /* ascends; not used again */
};

struct order { /* all 0: empty */
    struct treap tree;
    uint64_t next_age;
};

static inline struct order_node *order_of(struct treap_node *n)
{
    return n ? container_of(n, struct order_node, node) : NULL;
}

static inline bool order_empty(const struct order *o) { return o->tree.root == NULL; }
static inline struct order_node *order_first(const struct order *o)
{
    return order_of(treap_first(&o->tree));
}

static inline struct order_node *order_next(const struct order_node *n)
{
    return order_of(treap_next(&n->node));
}

/* Make n the last one. */
static inline void order_append(struct order *o, struct order_node *n)
{
    struct treap_node *up = NULL, **where = &o->tree.root;

    while (*where) {
        up = *where;
        where = &up->right;
    }
    n->age = o->next_age++;
    treap_insert(&o->tree, &n->node, up, where);
}

static inline void order_remove(struct order *o, struct order_node *n)
{
    treap_remove(&o->tree, &n->node);
}

/* The age of the next one that comes. */
static inline uint64_t order_end(const struct order *o) { return o->next_age; }

/* The first that is at least that age; NULL: there is none. */
static inline struct order_node *order_from(const struct order *o, uint64_t age)
{
    struct order_node *best = NULL;

    for (struct treap_node *at = o->tree.root; at;) {
        if (order_of(at)->age >= age) {
            best = order_of(at);
            at = at->left;
        } else {
            at = at->right;
        }
    }
    return best;
}

#endif
