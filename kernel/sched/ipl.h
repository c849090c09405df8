/*
 * Interrupt priority levels of the OSF/1 PALcode, and what each blocks (docs/platform.md).
 * IPL 0 is the only level at which a thread may be preempted, may wait, and may touch pageable
 * memory.
 */
#ifndef KERNEL_SCHED_IPL_H
#define KERNEL_SCHED_IPL_H

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/pal.h"

typedef uint64_t ipl_t; /* as PALcode has it: no call extends it */

#define IPL_NONE   0
#define IPL_ASTDEL 2 /* no preemption; all interrupts still arrive */
#define IPL_DEVICE 4 /* blocks devices */
#define IPL_CLOCK  5 /* blocks devices and the clock; the highest for a spinlock */
#define IPL_IPI    6 /* blocks inter-processor interrupts: for their handler and panic */
#define IPL_HIGH   7

static inline ipl_t ipl_set(ipl_t ipl) { return (ipl_t)pal_swpipl(ipl); }
static inline ipl_t ipl_get(void) { return (ipl_t)(pal_rdps() & 7); }

/* Raise the IPL to at least ipl; returns the old level for ipl_restore. Notes the PC for messages,
 * with an atomic store because an interrupt may come before or after it; a handler restores what it
 * found. */
static inline ipl_t ipl_raise(ipl_t ipl)
{
    ipl_t old = ipl_set(ipl);
    if (old < ipl)
        __atomic_store_n(&current_hw->ipl_raised_at, cpu_pc(), __ATOMIC_RELAXED);
    else if (old > ipl)
        ipl_set(old);
    return old;
}
/* Return to a saved level. It must not be below the level of a spinlock that is still held
 * (checked). At IPL 0, switches threads if a reschedule is pending. */
void ipl_restore(ipl_t old);

#endif
