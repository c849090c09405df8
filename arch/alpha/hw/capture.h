/* The registers of the running function, with which a backtrace starts. */
#ifndef ARCH_ALPHA_HW_CAPTURE_H
#define ARCH_ALPHA_HW_CAPTURE_H

#include "kernel/base/types.h"

/* Fill in reg[9..15], [26], [29] and [30] with their values at the return to the caller; the PC
   there is reg[26]. The other elements are unchanged. Any IPL. */
void hw_capture(uint64_t reg[32]);

#endif
