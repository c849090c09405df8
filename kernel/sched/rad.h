/*
 * Resource affinity domains (RADs), as far as CPUs are concerned: memory and CPUs are divided into
 * rad_count domains (parameter RADS). CPU n belongs to domain n modulo rad_count, so that each
 * domain has a CPU as long as there are enough of them, whichever CPUs start. Which pages belong to
 * a domain is decided in mm/phys/page_range.c. A domain is a preference, never a restriction.
 */
#ifndef KERNEL_SCHED_RAD_H
#define KERNEL_SCHED_RAD_H

#include "arch/alpha/hw/cpu.h"

#define RAD_MAX 8u

/* 1 .. RAD_MAX. Constant after page_boot_done(). */
extern uint32_t rad_count;

/* The domain of a CPU. Any IPL. */
static inline unsigned rad_of_cpu(unsigned cpu) { return rad_count == 1 ? 0 : cpu % rad_count; }

/* The CPUs of a domain, whether or not they have started. Any IPL. */
static inline cpumask_t rad_cpus(unsigned rad)
{
    cpumask_t mask = 0;

    for (unsigned i = rad; i < MAX_CPUS; i += rad_count)
        mask |= (cpumask_t)1 << i;
    return mask;
}

#endif
