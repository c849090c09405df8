/*
 * How long a CPU waits for another one before it panics (spinlock.c, ipi.c, watchdog.c).
 *
 * Virtual time also passes while the host does not run a virtual CPU: it is busy, or was suspended.
 * So no limit is in virtual time alone. A loop that waits must also have executed many rounds: a
 * fair host has given the other CPU as much of its time meanwhile. The watchdog must have taken
 * ticks of its own, and asks the CPU that it suspects for a sign of life.
 */
#ifndef KERNEL_SCHED_PATIENCE_H
#define KERNEL_SCHED_PATIENCE_H

#include "kernel/sched/perturb.h"
#include "kernel/sched/timer.h"

#define PATIENCE_ROUNDS 4096u /* of a waiting loop, between two readings of the clock */

struct patience_limits {
    uint64_t ns;        /* of virtual time */
    uint64_t silent_ns; /* the same for a CPU that gives no sign of life to the watchdog */
    uint32_t reads;     /* of the clock by a waiting loop */
};

/* 10 s, 60 s, and 67 million rounds, which are some 500 million instructions. Constant, except that
 * kernel/test shortens them. */
extern struct patience_limits patience_limits;

struct patience { /* zero at the beginning of a wait; private to it */
    uint32_t rounds, reads;
    uint64_t start_ns;
};

/* Called in each round of a waiting loop. True: the wait has lasted too long. Any IPL. */
static inline bool patience_lost(struct patience *p)
{
    if (likely(++p->rounds % PATIENCE_ROUNDS != 0))
        return false;
    if (perturb_on())
        perturb_wait();
    if (p->reads++ == 0)
        p->start_ns = clock_ns();
    return p->reads > patience_limits.reads && clock_ns() - p->start_ns > patience_limits.ns;
}

#endif
