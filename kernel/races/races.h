/*
 * The sampling detector of data races (`make RACES=1`). Only the compiler's hooks (hooks.c) call
 * it; other kernels do not contain this folder.
 */
#ifndef KERNEL_RACES_RACES_H
#define KERNEL_RACES_RACES_H

#include "kernel/base/types.h"

#define RACES_WRITE  1u
#define RACES_ATOMIC 2u /* marked in the source: __atomic_*, volatile */

/* Report an access of nbytes at address that the caller's code, which continues at pc, is about to
   make. kind: RACES_* bits. Some calls wait for 20 us of virtual time. Any context, any IPL, also
   before the machine is initialised. */
void races_access(uint64_t address, size_t nbytes, unsigned kind, const void *pc);

#endif
