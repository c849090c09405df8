/*
 * Statistics of spinlocks and mutexes by name: all locks of one name and rank share one entry,
 * however many objects contain such a lock, and the entry outlives them. Nothing is counted until
 * lockstat_start(); from then on every acquisition is timed. While it is off it costs one load and
 * one branch at each acquire and release.
 *
 * A listener (lockstat_listen) is called for each event: kernel/trace/locks.c uses it to count
 * callers.
 */
#ifndef KERNEL_SCHED_LOCKSTAT_H
#define KERNEL_SCHED_LOCKSTAT_H

#include "kernel/base/types.h"

enum lockstat_kind { LOCKSTAT_SPIN, LOCKSTAT_MUTEX, LOCKSTAT_KINDS };

/* Events. A mutex reports acquire and release separately, as they happen; a spinlock reports both
   after the release. */
#define LOCKSTAT_TAKEN    1u
#define LOCKSTAT_RELEASED 2u

struct lockstat_hold {
    enum lockstat_kind kind;
    const char *name; /* a constant string */
    uint8_t rank, ipl;
    bool waited, shared;
    uint64_t place;   /* PC of the acquire; 0 at a reader's release */
    uint64_t wait_ns; /* valid with LOCKSTAT_TAKEN */
    uint64_t held_ns; /* valid with LOCKSTAT_RELEASED; 0 for a reader */
};

struct lockstat {
    const char *name;
    uint8_t rank, ipl;
    uint64_t acquisitions, shared; /* exclusive; by readers */
    /* Acquisitions of both kinds that had to wait; of those, readers. */
    uint64_t waits, shared_waits;
    uint64_t wait_ns, longest_wait_ns;
    uint64_t unlocks, shared_unlocks;
    uint64_t held_ns, longest_ns, longest_place; /* of exclusive holds */
};

/* A listener, which is called for events whose place is known.
 * note: an event of that round; at any IPL, with any locks held. A call that began before another
 *     listener was installed may still be in progress afterwards; only code in it that runs at
 *     IPL_IPI or above has ended by then. So note() must raise its IPL and check the round again.
 * clear: a new round is about to begin, and no CPU is in note() at IPL_IPI or above. */
struct lockstat_listener {
    void (*note)(uint32_t round, const struct lockstat_hold *h, unsigned what);
    void (*clear)(enum lockstat_kind kind);
};

/* Atomic: number of the measuring round in progress, 0 when there is none. It has 32 bits; but a
 * quadword, in the small data area, is tested in two instructions, by every lock. */
extern uint64_t lockstat_rounds[LOCKSTAT_KINDS] __attribute__((section(".sbss")));

static inline uint32_t lockstat_round_of(enum lockstat_kind kind)
{
    return (uint32_t)__atomic_load_n(&lockstat_rounds[kind], __ATOMIC_RELAXED);
}

static inline bool lockstat_on(enum lockstat_kind kind)
{
    return unlikely(__atomic_load_n(&lockstat_rounds[kind], __ATOMIC_RELAXED) != 0);
}

/* Clear the counters of that kind and begin a new round. IPL below IPL_IPI; waits for the other
 * CPUs to answer a call; callers exclude each other. */
void lockstat_start(enum lockstat_kind kind);
/* Stop counting; the counters keep their values. Any IPL. */
void lockstat_stop(enum lockstat_kind kind);
/* Count an event (what: LOCKSTAT_TAKEN, LOCKSTAT_RELEASED or both) of that round; ignored if the
 * round is over. Any IPL, any locks held; takes no lock. */
void lockstat_note(uint32_t round, const struct lockstat_hold *h, unsigned what);
/* The index-th entry of that kind, in no particular order; false after the last. Any IPL. */
bool lockstat_get(enum lockstat_kind kind, uint64_t index, struct lockstat *out);
/* When the latest round of that kind began, and how long it has lasted or did last, in ns; 0 before
   the first. */
void lockstat_times(enum lockstat_kind kind, uint64_t *started_ns, uint64_t *lasted_ns);

/* Install l, which must remain valid for ever, as the listener of that kind (NULL: none). On return
 * no CPU is in the note() of the previous one at IPL_IPI or above. Locks and IPL as for
 * lockstat_start(). */
void lockstat_listen(enum lockstat_kind kind, const struct lockstat_listener *l);

#endif
