/*
 * Ranked spinlocks with IPL. A ticket lock; each has a name, a rank and the IPL that its holder
 * stands at, all in its initialiser. The default build checks on acquire that the rank rises and
 * the IPL is not above the lock's, on release that this CPU owns it; a spin over SPIN_LIMIT_NS of virtual
 * time panics and names the lock, its holder and where it was taken.
 * Waiters stand below IPL_IPI, so they answer inter-processor interrupts.
 */
#ifndef KERNEL_SCHED_SPINLOCK_H
#define KERNEL_SCHED_SPINLOCK_H

#include "kernel/sched/ipl.h"
#include "kernel/sched/rank.h"

struct spinlock {
    uint32_t next;      /* atomic: next ticket */
    uint32_t serving;   /* atomic: ticket that holds the lock */
    uint32_t owner;     /* CPU index + 1 of the holder, 0 free */
    uint8_t rank;       /* constant */
    uint8_t ipl;        /* constant */
    uint16_t flags;
    const char *name;   /* constant */
    uint64_t taken_at;  /* PC of the last acquire; written by the holder */
    struct spinlock *below; /* lock this CPU held before; written by the holder */
    uint64_t acquisitions, spins, longest_hold_ns, hold_start; /* written by the holder */
};

#define SPINLOCK_INIT(name_, rank_, ipl_) {.rank = (rank_), .ipl = (ipl_), .name = (name_)}

void spin_init(struct spinlock *l, const char *name, enum spin_rank rank, ipl_t ipl);
/* Take l, raising the IPL to the lock's. Returns the IPL before, for spin_unlock. */
ipl_t spin_lock(struct spinlock *l);
/* Release l and go back to ipl (reschedules if that is 0 and a reschedule is pending). */
void spin_unlock(struct spinlock *l, ipl_t ipl);
/* For a caller that already stands at the lock's IPL or above (interrupt handlers, nested locks). */
void spin_lock_at_ipl(struct spinlock *l);
void spin_unlock_at_ipl(struct spinlock *l);
bool spin_held(const struct spinlock *l); /* by this CPU */
/* Number of spinlocks this CPU holds: a fault or a wait with any held panics. */
unsigned spin_depth(void);

#endif
