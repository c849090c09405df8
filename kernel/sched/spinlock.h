/*
 * Ranked spinlocks with IPL. Each has a name, a rank and the IPL that its holder
 * stands at, all in its initialiser. Every build checks on acquire that the rank rises and
 * the IPL is not above the lock's, on release that the caller holds it and the IPL stays that of
 * what is still held; a spin over SPIN_LIMIT_NS of virtual time panics and names the lock, its
 * holder and where it was taken (lockcheck.h). Waiters stand below IPL_IPI, so they answer
 * inter-processor interrupts. Statistics: kernel/sched/lockstat.h.
 */
#ifndef KERNEL_SCHED_SPINLOCK_H
#define KERNEL_SCHED_SPINLOCK_H

#include "kernel/sched/ipl.h"
#include "kernel/sched/rank.h"

struct thread;

#define SPIN_NESTS \
    1u /* flag: another lock of the same rank may be held already; the owner of the rank states \
          the order */
/* A holder does a bounded piece of work, at most milliseconds. The host may take a virtual CPU off
   its core for some 10 ms (four of them share two cores), and under a loaded host for perhaps a
   second: 10 s is far above either. */
#define SPIN_LIMIT_NS 10000000000UL

struct spinlock {
    uint32_t taken; /* atomic: 1 while a CPU holds the lock */
    struct thread
        *holder; /* written by the holder; NULL when free. Read by others only for messages */
    struct spinlock *below; /* lock that was innermost before; written by the holder */
    uint64_t taken_at;      /* PC of the last acquire; written by the holder */
    const char *name;       /* constant */
    uint8_t rank;           /* constant */
    uint8_t ipl;            /* constant */
    uint16_t flags;         /* SPIN_*; constant */
    /* For statistics; written by the holder. */
    uint32_t measured;   /* round of measuring that this acquisition belongs to; 0: none */
    uint32_t hold_start; /* cycles */
    uint32_t spun;       /* cycles until it was had; 0: it was free */
};

#define SPINLOCK_INIT(name_, rank_, ipl_) {.rank = (rank_), .ipl = (ipl_), .name = (name_)}

void spin_init(struct spinlock *l, const char *name, enum spin_rank rank, ipl_t ipl);
/* Take l, raising the IPL to the lock's. Returns the IPL before, for spin_unlock. */
ipl_t spin_lock(struct spinlock *l);
/* Release l and go back to ipl (reschedules if that is 0 and a reschedule is pending). */
void spin_unlock(struct spinlock *l, ipl_t ipl);
/* For a caller that already stands at the lock's IPL (interrupt handlers, nested locks). */
void spin_lock_at_ipl(struct spinlock *l);
void spin_unlock_at_ipl(struct spinlock *l);
bool spin_held(const struct spinlock *l); /* by this CPU */
/* Has some CPU taken l at this moment? Acquire order. */
static inline bool spin_is_busy(const struct spinlock *l)
{
    return __atomic_load_n(&l->taken, __ATOMIC_ACQUIRE) != 0;
}
/* Number of spinlocks this CPU holds: a fault or a wait with any held panics. */
unsigned spin_depth(void);

#endif
