/*
 * Statistics of spinlocks and mutexes, by name: all locks of one name and rank are one line,
 * however many objects have one, and what ended objects did is not forgotten. Nothing is counted
 * until lockstat_start(); then every acquisition is timed, none is sampled. While it is off, a lock
 * costs one load and one branch for it at each end.
 *
 * Who counts more than that is told of each event too (lockstat_listen): kernel/trace/locks.c, of
 * callers.
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

/* Who is told too, of places that are known. note: in the round that lockstat_note() was given, at
 * any IPL and with any locks held; it may come once more after another listener has taken over,
 * until every CPU has answered an inter-processor call at the IPL of the call. clear: a new round
 * is about to begin, and no CPU is above IPL_IPI in note. */
struct lockstat_listener {
    void (*note)(uint32_t round, const struct lockstat_hold *h, unsigned what);
    void (*clear)(enum lockstat_kind kind);
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

/* From now on l is told of that kind (NULL: nobody), a table that lives for ever; no CPU is above
 * IPL_IPI in the note of the one before. As lockstat_start(). */
void lockstat_listen(enum lockstat_kind kind, const struct lockstat_listener *l);

#endif
