/* The registers of a running function, where a backtrace begins. */
#ifndef ARCH_ALPHA_HW_CAPTURE_H
#define ARCH_ALPHA_HW_CAPTURE_H

#include "kernel/base/types.h"

/* Fill in reg[9..15], [26], [29] and [30] as of the return to the caller, whose PC then is reg[26].
 */
void hw_capture(uint64_t reg[32]);

#endif
