/*
 * Statistics of spinlocks and mutexes, by name: all locks of one name and rank are one line,
 * however many objects have one, and what ended objects did is not forgotten. Nothing is counted
 * until lockstat_start(); then every acquisition is timed, none is sampled. While it is off, a lock
 * costs one load and one branch for it at each end.
 *
 * Where tables were attached for it, callers are counted too: by lock, place and way of taking it,
 * in a table for each CPU. What finds no place there is counted as dropped.
 */
#ifndef KERNEL_SCHED_LOCKSTAT_H
#define KERNEL_SCHED_LOCKSTAT_H

#include "kernel/base/types.h"

enum lockstat_kind { LOCKSTAT_SPIN, LOCKSTAT_MUTEX, LOCKSTAT_KINDS };

/* What is told: a mutex tells its two ends when they come; a spinlock both when it is free again.
 */
#define LOCKSTAT_TAKEN    1u
#define LOCKSTAT_RELEASED 2u

struct lockstat_hold {
    enum lockstat_kind kind;
    const char *name; /* lives for ever */
    uint8_t rank, ipl;
    bool waited, shared;
    uint64_t place;   /* PC that took it; 0 at a reader's release */
    uint64_t wait_ns; /* at the taking */
    uint64_t held_ns; /* at the release; 0 for a reader */
};

struct lockstat {
    const char *name;
    uint8_t rank, ipl;
    uint64_t acquisitions, shared; /* by holders that exclude others; by readers */
    uint64_t waits, shared_waits;  /* of both, those that found it taken; of those, readers */
    uint64_t wait_ns, longest_wait_ns;
    uint64_t unlocks, shared_unlocks;
    uint64_t held_ns, longest_ns, longest_place; /* of the first kind */
};

/* One place that takes one lock. Written by own CPU at IPL_HIGH, read by others as statistics. */
struct lockstat_caller {
    const char *name; /* NULL: free; set last, by release order */
    uint64_t place;
    uint8_t rank, shared;
    uint64_t count, waits, wait_ns, held_ns;
};

/* A CPU's callers, found by a hash: twice as many as a kernel of this size has places. */
#define LOCKSTAT_CALLERS 1024u
struct lockstat_callers {
    uint64_t dropped;
    struct lockstat_caller slot[LOCKSTAT_CALLERS];
};

/* Atomic: number of the round of measuring that is under way, 0 when none is. */
extern uint32_t lockstat_rounds[LOCKSTAT_KINDS];

static inline uint32_t lockstat_round_of(enum lockstat_kind kind)
{
    return __atomic_load_n(&lockstat_rounds[kind], __ATOMIC_RELAXED);
}

static inline bool lockstat_on(enum lockstat_kind kind)
{
    return unlikely(lockstat_round_of(kind) != 0);
}

/* Forget what was counted of that kind and begin a new round. IPL below IPL_IPI, waits for the
 * other CPUs; callers exclude each other. */
void lockstat_start(enum lockstat_kind kind);
/* Count no more; what was counted stays. Any IPL. */
void lockstat_stop(enum lockstat_kind kind);
/* What happened (LOCKSTAT_TAKEN, LOCKSTAT_RELEASED or both) in that round; of an earlier round it
 * is ignored. Any IPL, any locks held; takes no lock. */
void lockstat_note(uint32_t round, const struct lockstat_hold *h, unsigned what);
/* The index-th line of that kind, in no particular order; false behind the last. Any IPL. */
bool lockstat_get(enum lockstat_kind kind, uint64_t index, struct lockstat *out);
/* When the round of that kind began, and how long it has lasted or did last; 0 before the first. */
void lockstat_times(enum lockstat_kind kind, uint64_t *started_ns, uint64_t *lasted_ns);

/* Count callers too, in zeroed tables, one for each CPU (NULL: no more). Returns the tables of
 * before, which no CPU uses any longer. As lockstat_start(). */
struct lockstat_callers *lockstat_attach(enum lockstat_kind kind, struct lockstat_callers *tables);

#endif
