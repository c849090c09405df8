/*
 * Statistics of spinlocks and mutexes, by name: all locks of one name and rank are one line,
 * however many objects have one, and what ended objects did is not forgotten. Nothing is counted
 * until lockstat_start(); then every acquisition is timed, none is sampled. While it is off, a lock
 * costs one load and one branch for it at each end.
 */
#ifndef KERNEL_SCHED_LOCKSTAT_H
#define KERNEL_SCHED_LOCKSTAT_H

#include "kernel/base/types.h"

enum lockstat_kind { LOCKSTAT_SPIN, LOCKSTAT_MUTEX, LOCKSTAT_KINDS };

/* One acquisition that has ended, or one by a reader, which is counted when it begins. */
struct lockstat_hold {
    enum lockstat_kind kind;
    const char *name; /* lives for ever */
    uint8_t rank, ipl;
    bool waited, shared;
    uint64_t place, held_ns; /* PC that took it; 0 for a reader */
};

struct lockstat {
    const char *name;
    uint8_t rank, ipl;
    uint64_t acquisitions, shared;               /* by holders that exclude others; by readers */
    uint64_t waits;                              /* of both, those that found it taken */
    uint64_t held_ns, longest_ns, longest_place; /* of the first kind */
};

/* Atomic: number of the round of measuring that is under way, 0 when none is. */
extern uint32_t lockstat_round;

static inline bool lockstat_on(void)
{
    return unlikely(__atomic_load_n(&lockstat_round, __ATOMIC_RELAXED) != 0);
}

/* Forget what was counted and begin a new round. IPL 0; one caller at a time may be assumed by
 * nobody: rounds that overlap mix their counts. */
void lockstat_start(void);
/* Count no more; what was counted stays. Any IPL. */
void lockstat_stop(void);
/* An acquisition of that round; of an earlier round it is ignored. Any IPL, any locks held; takes
 * no lock. */
void lockstat_note(uint32_t round, const struct lockstat_hold *h);
/* The index-th line of that kind, in no particular order; false behind the last. Any IPL. */
bool lockstat_get(enum lockstat_kind kind, uint64_t index, struct lockstat *out);

#endif
