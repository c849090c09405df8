/*
 * Ranked spinlocks with an IPL. Each lock has a name, a rank and the IPL of its holder, all given
 * in its initialiser. Every build checks on acquire that ranks rise and that the IPL is not above
 * the lock's, and on release that the caller holds the lock and that the IPL does not fall below
 * that of a lock still held. A spin that lasts too long (patience.h) panics and names the lock,
 * its holder and where it was taken (lockcheck.h). CPUs wait below IPL_IPI, so that they answer
 * inter-processor interrupts. Statistics: kernel/sched/lockstat.h.
 */
#ifndef KERNEL_SCHED_SPINLOCK_H
#define KERNEL_SCHED_SPINLOCK_H

#include "kernel/sched/ipl.h"
#include "kernel/sched/rank.h"

struct thread;

/* Flag: another lock of the same rank may be held already; the rank's owner defines the order. */
#define SPIN_NESTS 1u

struct spinlock {
    uint64_t taken; /* atomic: 1 while a CPU holds the lock */
    /* Written by the holder, NULL when the lock is free; atomic: others read it for messages. */
    struct thread *holder;
    struct spinlock *below; /* lock that was innermost before this one; written by the holder */
    uint64_t taken_at;      /* PC of the last acquire; written by the holder */
    const char *name;       /* constant */
    uint8_t rank;           /* constant */
    uint8_t ipl;            /* constant */
    uint16_t flags;         /* SPIN_*; constant */
    /* Statistics; written by the holder. */
    uint32_t measured;   /* measuring round that this acquisition belongs to; 0: none */
    uint32_t hold_start; /* meter_clock() at the acquire */
    uint32_t spun;       /* cycles spent waiting; 0: the lock was free */
};

#define SPINLOCK_INIT(name_, rank_, ipl_) {.rank = (rank_), .ipl = (ipl_), .name = (name_)}

void spin_init(struct spinlock *l, const char *name, enum spin_rank rank, ipl_t ipl);
/* Acquire l, raising the IPL to the lock's. Returns the previous IPL, for spin_unlock. Any IPL up
   to the lock's. */
ipl_t spin_lock(struct spinlock *l);
/* Release l and restore ipl; switches threads if that is 0 and a reschedule is pending. */
void spin_unlock(struct spinlock *l, ipl_t ipl);
/* The same for a caller that is already at the lock's IPL (interrupt handlers, nested locks). */
void spin_lock_at_ipl(struct spinlock *l);
void spin_unlock_at_ipl(struct spinlock *l);
bool spin_held(const struct spinlock *l); /* by this CPU; any IPL */
/* Is l held by any CPU at this moment? Acquire order. Any IPL. */
static inline bool spin_is_busy(const struct spinlock *l)
{
    return __atomic_load_n(&l->taken, __ATOMIC_ACQUIRE) != 0;
}
/* Number of spinlocks that this CPU holds; a page fault or a wait while it is not 0 panics. */
unsigned spin_depth(void);

#endif
