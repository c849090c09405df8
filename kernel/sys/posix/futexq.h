/*
 * The waiters of one bucket of futexes: a search tree by key and, for one key, by age. So a call
 * finds the oldest waiter of its word without looking at those of others, whatever their number,
 * and a call that passes waiters over goes on behind the last one that it has seen, although it
 * dropped the lock in between. Independent of the machine: also built for the host.
 *
 * Nothing here allocates, fails or takes a lock: the caller holds the bucket's. Inserting, removing
 * and finding take O(log n) steps.
 */
#ifndef KERNEL_SYS_POSIX_FUTEXQ_H
#define KERNEL_SYS_POSIX_FUTEXQ_H

#include "kernel/base/treap.h"

/* What a word is known by in every address space that maps it (mm/space/word.h). */
struct futex_key {
    uint64_t base, offset;
};

struct futex_node {
    struct treap_node tree;
    struct futex_key key;
    uint64_t turn;   /* number of its insertion in this bucket */
    uint32_t bitset; /* for the caller */
};

struct futexq {
    struct treap tree;
    uint64_t turns; /* insertions so far */
};

/* Insert n, whose key is set, as the youngest of its key. */
void futexq_insert(struct futexq *q, struct futex_node *n);
/* Insert n again, with the age that it had when it was removed. */
void futexq_put_back(struct futexq *q, struct futex_node *n);
static inline void futexq_remove(struct futexq *q, struct futex_node *n)
{
    treap_remove(&q->tree, &n->tree);
}
/* The oldest node of that key whose turn is not below `turn`; NULL: there is none. */
struct futex_node *futexq_find(const struct futexq *q, const struct futex_key *key, uint64_t turn);

#endif
