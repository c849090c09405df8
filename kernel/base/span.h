/*
 * Spans: disjoint ranges of addresses in a search tree (kernel/base/treap.h) that also finds free
 * addresses in logarithmic time. An address space has two such trees: its map entries and its
 * created regions. Callers do the locking; nothing here allocates or fails.
 *
 * Each span records its gap, how many bytes are free between the span before it (or address 0) and
 * its start, and the largest gap of its subtree. Both may be recorded as larger than they are:
 * changes leave them so, because most are never followed by a search there, and a search that comes
 * by corrects what it finds too large. So each step in vain has been paid for by a change, and the
 * searches for gaps and for marks need exclusive access.
 */
#ifndef KERNEL_BASE_SPAN_H
#define KERNEL_BASE_SPAN_H

#include "kernel/base/treap.h"

/* The fields of a span; struct map_entry and struct region contain them under the same names. */
#define SPAN_FIELDS                                                              \
    struct treap_node node;                                                      \
    vaddr_t start, end;      /* the start is constant while it is in the tree */ \
    uint64_t gap, max_gap;   /* bytes; max_gap: the largest of the subtree */    \
    uint8_t inner, all_inner /* the owner's mark; whether the whole subtree has it */

struct span {
    SPAN_FIELDS;
};

static inline struct span *span_of(struct treap_node *n)
{
    return n ? container_of(n, struct span, node) : NULL;
}
static inline struct span *span_prev(const struct span *s) { return span_of(treap_prev(&s->node)); }
static inline struct span *span_next(const struct span *s) { return span_of(treap_next(&s->node)); }

/* The last span that starts at or below va; the first one that starts above it; NULL: none. */
static inline struct span *span_floor(const struct treap *t, vaddr_t va)
{
    struct treap_node *n = t->root;
    struct span *best = NULL;

    while (n) {
        struct span *s = container_of(n, struct span, node);

        if (va < s->start) {
            n = n->left;
        } else {
            best = s;
            n = n->right;
        }
    }
    return best;
}
struct span *span_above(const struct treap *t, vaddr_t va);

/* Insert s, whose start, end, gap and inner are set and whose range is free, between its
   neighbours, each of which may be NULL. The gap of `after` stays: it is too large now. */
void span_insert(struct treap *t, struct span *s, struct span *before, struct span *after);
/* Take s out. The gap of `after`, the span after it (NULL: none), becomes at least `gap`. */
void span_remove(struct treap *t, struct span *s, struct span *after, uint64_t gap);
/* Set the gap of a span in a tree. */
void span_set_gap(struct span *s, uint64_t gap);

/* The last span not after s (the first one not before s) whose gap is at least n bytes, n > 0;
   NULL: none. s may be NULL. */
struct span *span_last_gap(struct span *s, uint64_t n);
struct span *span_first_gap(struct span *s, uint64_t n);
/* The last span without the mark `inner` that starts below va, and the first that starts at or
   above it; NULL: none. */
struct span *span_last_outer(const struct treap *t, vaddr_t va);
struct span *span_first_outer(const struct treap *t, vaddr_t va);

#endif
