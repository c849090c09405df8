/* Host stand-in for failure injection: no allocation is made to fail here; host tests make memory
   short, or have allocators of their own that fail (vm.h). A test may run code of its own before an
   allocation, as if another CPU did it. */
#ifndef MM_PHYS_FAILURE_H
#define MM_PHYS_FAILURE_H

#include "kernel/base/abi/megalith/failure.h"
#include "kernel/base/types.h"

/* How many allocations are left until one fails, negative: none will; NULL: the test makes none
   fail. Atomic. */
extern int64_t *host_fail_at;

static inline bool failure_counting(void)
{
    return host_fail_at && __atomic_load_n(host_fail_at, __ATOMIC_RELAXED) >= 0;
}

static inline bool failure_count(enum mega_alloc kind)
{
    (void)kind;
    return false;
}

extern void (*host_inject_hook)(enum mega_alloc kind);

static inline bool failure_inject(enum mega_alloc kind)
{
    if (host_inject_hook)
        host_inject_hook(kind);
    return false;
}

#endif
