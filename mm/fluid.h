/*
 * Fluid pages: pages that can still be had or reclaimed. Every promise of memory is taken from the
 * count before it is made and never takes it below the minimum fluid page count. An ordinary allocation
 * checks free pages less promised-and-unused ones against the minimum.
 */
#ifndef MM_FLUID_H
#define MM_FLUID_H

#include "kernel/base/types.h"

/* Promise npages. 0, or -ENOMEM (the service's SS$_INSFLPGS) when the minimum would be crossed. Atomic. */
int fluid_promise(uint64_t npages);
/* A page of a promise was allocated (with PA_PROMISED): promised and unused falls by n. */
void fluid_promise_used(uint64_t npages);
/* A page of a promise was freed again and the promise stands: the reverse. */
void fluid_promise_unused(uint64_t npages);
/* Take back a promise of which npages are unused. */
void fluid_promise_end(uint64_t npages);
uint64_t fluid_count(void);          /* pages still fluid */
uint64_t fluid_minimum(void);
uint64_t fluid_promised_unused(void);
void fluid_set_minimum_boot(uint64_t npages);

#endif
