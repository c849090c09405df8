/* Host stand-in for IPL: the kernel's levels, but there are no interrupts. */
#ifndef KERNEL_SCHED_IPL_H
#define KERNEL_SCHED_IPL_H

#include "arch/alpha/hw/pal.h"

typedef uint64_t ipl_t;

#define IPL_NONE   0
#define IPL_ASTDEL 2
#define IPL_DEVICE 4
#define IPL_CLOCK  5
#define IPL_IPI    6
#define IPL_HIGH   7

static inline ipl_t ipl_set(ipl_t ipl) { return (ipl_t)pal_swpipl(ipl); }
static inline ipl_t ipl_get(void) { return (ipl_t)(pal_rdps() & 7); }

static inline ipl_t ipl_raise(ipl_t ipl)
{
    ipl_t old = ipl_set(ipl);
    if (old > ipl)
        ipl_set(old);
    return old;
}
static inline void ipl_restore(ipl_t old) { ipl_set(old); }

#endif
