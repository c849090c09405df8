/*
 * Interrupt priority levels of the OSF/1 PALcode, and what each blocks (docs/platform.md).
 * IPL 0 is the only level at which a thread may be preempted, may wait, and may touch pageable
 * memory.
 */
#ifndef KERNEL_SCHED_IPL_H
#define KERNEL_SCHED_IPL_H

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/pal.h"

typedef unsigned ipl_t;

#define IPL_NONE   0
#define IPL_ASTDEL 2 /* no preemption; all interrupts still arrive */
#define IPL_DEVICE 4 /* blocks devices */
#define IPL_CLOCK  5 /* blocks devices and the clock; the highest for a spinlock */
#define IPL_IPI    6 /* blocks inter-processor interrupts: for their handler and panic */
#define IPL_HIGH   7

static inline ipl_t ipl_set(ipl_t ipl) { return (ipl_t)pal_swpipl(ipl); }
static inline ipl_t ipl_get(void) { return (ipl_t)(pal_rdps() & 7); }

/* Raise to at least ipl; returns the old level for ipl_restore. Notes the place, for messages: the
 * store is marked, since an interrupt may come before or behind it, which puts back what it found.
 */
static inline ipl_t ipl_raise(ipl_t ipl)
{
    ipl_t old = ipl_set(ipl);
    if (old < ipl)
        __atomic_store_n(&current_hw->ipl_raised_at, cpu_pc(), __ATOMIC_RELAXED);
    else if (old > ipl)
        ipl_set(old);
    return old;
}
/* Back to a level saved before, not below that of a spinlock held (checked). Going to 0 with a
 * reschedule pending reschedules. */
void ipl_restore(ipl_t old);

#endif
