/*
 * Sets of locked ranges of bytes, each with an owner, for file locks (kernel/io/lock.h). The ranges
 * of one owner do not overlap, and those of one kind that touch are one range. Ranges of several
 * owners may overlap.
 *
 * Neither many ranges nor many owners make a search long. The ranges of each kind are a search tree
 * by start (kernel/base/treap.h) in which each node knows the highest end in its subtree, and the
 * highest of any owner but that one's: so the first range that is in the way of an owner is found
 * although the owner may have many there itself. All ranges are in another tree by owner and start.
 *
 * Callers do the locking; nothing here allocates or fails. Each function takes logarithmic time,
 * for each of the ranges that it takes out.
 */
#ifndef KERNEL_IO_LOCK_RANGE_H
#define KERNEL_IO_LOCK_RANGE_H

#include "kernel/base/treap.h"

#define LOCK_END UINT64_MAX /* as the end of a range: all that the file may ever have */
/* Ranges that lock_clear() takes out at once, so that its callers can release their lock. */
#define LOCK_CLEAR_MAX 8u

enum lock_kind { LOCK_NONE, LOCK_SHARED, LOCK_EXCLUSIVE, LOCK_KINDS };

struct account;

struct lock_high {
    uint64_t end;
    const void *owner; /* NULL: there is none */
};

struct lock_range {
    struct treap_node node;   /* by start; on a chain, node.left is the next one */
    struct treap_node own;    /* by owner; of a claim, in no tree */
    uint64_t start, end;      /* the first and the last byte */
    struct lock_high high[2]; /* in the subtree of `node`: the highest end; that of other owners */
    const void *owner;
    enum lock_kind kind;
    uint32_t pid;            /* to be shown as the owner; 0: it is no process */
    struct account *account; /* charged for it */
};

struct lock_set {
    struct treap by_start[LOCK_KINDS]; /* that of LOCK_NONE is empty */
    struct treap by_owner;
};

static inline bool lock_set_empty(const struct lock_set *set)
{
    return !set->by_start[LOCK_SHARED].root && !set->by_start[LOCK_EXCLUSIVE].root;
}

/* The first range, by start, of another owner with which `want` cannot be granted; NULL: there is
 * none. */
struct lock_range *lock_conflict(const struct lock_set *set, const struct lock_range *want);
/* Has the owner itself a range there? */
bool lock_has_part(const struct lock_set *set, const struct lock_range *want);

/* The rest make `want->kind` hold for all of `want`, which nobody's range is in the way of: clear,
 * and then put, unless the kind is LOCK_NONE. Nodes are taken from and put on the chain *spare. Two
 * must be on it, with their accounts set; none need be if all of the file is unlocked.
 *
 * Take out what the owner has in the range of `want`. False: there is more, because LOCK_CLEAR_MAX
 * ranges have been taken out; then at least LOCK_CLEAR_MAX - 2 nodes were put on the chain. */
bool lock_clear(struct lock_set *set, const struct lock_range *want, struct lock_range **spare);
/* Put in `want`, whose range is clear, as one with the neighbours that touch it. */
void lock_put(struct lock_set *set, const struct lock_range *want, struct lock_range **spare);
/* If the lock is released between lock_clear() that returned false and the last one: claim `want`
 * before, so that others meet it, and give the claim up before it is put. A claim is no range of
 * its owner's, whose ranges it may overlap. */
struct lock_range *lock_claim(struct lock_set *set, const struct lock_range *want,
                              struct lock_range **spare);
void lock_unclaim(struct lock_set *set, struct lock_range *claim, struct lock_range **spare);

#endif
