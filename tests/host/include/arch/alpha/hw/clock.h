/* Host stand-in: the cycle counter, as a test sets it. */
#ifndef ARCH_ALPHA_HW_CLOCK_H
#define ARCH_ALPHA_HW_CLOCK_H

#include "kernel/base/types.h"

extern uint32_t host_cycles;
static inline uint32_t clock_cycles(void) { return host_cycles; }

#endif
