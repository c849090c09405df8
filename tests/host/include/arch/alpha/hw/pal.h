/* Host stand-in for PALcode: only the interrupt priority level, which is a thread-local number. */
#ifndef ARCH_ALPHA_HW_PAL_H
#define ARCH_ALPHA_HW_PAL_H

#include "kernel/base/types.h"

extern __thread uint64_t host_ipl;

static inline uint64_t pal_swpipl(uint64_t ipl)
{
    uint64_t old = host_ipl;

    host_ipl = ipl;
    return old;
}
static inline uint64_t pal_rdps(void) { return host_ipl; }
static inline void pal_imb(void) {}

#endif
