/*
 * Sets of locked ranges of bytes, each with an owner, for file locks (kernel/io/lock.h). The ranges
 * of one owner do not overlap, and those of one kind that touch are one range. Ranges of several
 * owners may overlap. A set is a search tree by start (kernel/base/treap.h) in which each node
 * knows the highest end of its subtree, so the ranges that overlap a given one are found one after
 * the other, each in logarithmic time. Callers do the locking; nothing here allocates or fails.
 */
#ifndef KERNEL_IO_LOCK_RANGE_H
#define KERNEL_IO_LOCK_RANGE_H

#include "kernel/base/treap.h"

#define LOCK_END UINT64_MAX /* as the end of a range: all that the file may ever have */

enum lock_kind { LOCK_NONE, LOCK_SHARED, LOCK_EXCLUSIVE };

struct account;

struct lock_range {
    struct treap_node node;
    uint64_t start, end; /* the first and the last byte */
    uint64_t max_end;    /* the highest end in the subtree */
    const void *owner;
    enum lock_kind kind;
    uint32_t pid;            /* to be shown as the owner; 0: it is no process */
    struct account *account; /* charged for it */
};

/* The first range that overlaps [start, end], in the order of starts, and the next one after r. */
struct lock_range *lock_first(const struct treap *set, uint64_t start, uint64_t end);
struct lock_range *lock_next(struct lock_range *r, uint64_t start, uint64_t end);
/* A range of another owner with which `want` cannot be granted; NULL: there is none. */
struct lock_range *lock_conflict(const struct treap *set, const struct lock_range *want);
/* Make `want->kind` hold for all of `want`, whatever its owner had there; LOCK_NONE: nothing. Nodes
 * are taken from and put on the chain *spare (by node.left). Two must be on it, with their accounts
 * set; none need be if all of the file is unlocked. */
void lock_apply(struct treap *set, const struct lock_range *want, struct lock_range **spare);

#endif
