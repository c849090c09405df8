/* Host stand-in: no door is ever closed on purpose; tests on the host make memory short instead. */
#ifndef MM_PHYS_FAILURE_H
#define MM_PHYS_FAILURE_H

#include "kernel/base/abi/megalith/failure.h"
#include "kernel/base/types.h"

static inline bool failure_counting(void) { return false; }

static inline bool failure_here(enum mega_alloc kind)
{
    (void)kind;
    return false;
}

static inline bool failure_door(enum mega_alloc kind)
{
    (void)kind;
    return false;
}

#endif
