/*
 * The sampling detector of data races (`make RACES=1`), as the compiler's hooks (hooks.c) call it.
 * Nothing else does: in other builds this folder is left out.
 */
#ifndef KERNEL_RACES_RACES_H
#define KERNEL_RACES_RACES_H

#include "kernel/base/types.h"

#define RACES_WRITE  1u
#define RACES_ATOMIC 2u /* marked in the source: __atomic_*, volatile */

/* An access of nbytes at address is about to happen, by the code that will go on at pc. Any IPL,
 * any context, also before the machine is up. Now and then it stays here for a while. */
void races_access(uint64_t address, size_t nbytes, unsigned kind, const void *pc);

#endif
