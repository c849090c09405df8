/*
 * Fluid pages: pages that can still be obtained, because they are free or could be reclaimed. A
 * promise sets fluid pages aside for a purpose before they are allocated; it is refused if the
 * fluid page count would fall below its minimum. An ordinary allocation is refused if free pages
 * less promised and unused ones would fall below the minimum. All functions are atomic and may be
 * called at any IPL, unless they say otherwise.
 */
#ifndef MM_PHYS_FLUID_H
#define MM_PHYS_FLUID_H

#include "kernel/base/types.h"

/* Promise npages. 0, or -ENOMEM when the minimum would be crossed (system services then return
   SS$_INSFLPGS). */
int fluid_promise(uint64_t npages);
/* npages of a promise have been allocated with PA_PROMISED: they are no longer unused. Called after
   the allocation, so that in between the count is too low rather than too high. */
void fluid_promise_used(uint64_t npages);
/* npages of a promise are about to be freed while the promise stands. Called before page_free(), so
   that nobody else can take the pages in between. */
void fluid_promise_unused(uint64_t npages);
/* End a promise of which npages are unused. */
void fluid_promise_end(uint64_t npages);
uint64_t fluid_count(void); /* free pages less promised and unused ones */
uint64_t fluid_minimum(void);
uint64_t fluid_promised_unused(void);
/* Set the minimum fluid page count. Boot only. */
void fluid_set_minimum_boot(uint64_t npages);

#endif
