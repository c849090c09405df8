/*
 * Fluid pages: pages that can still be had or reclaimed. Every promise of memory is taken from the
 * count before it is made and never takes it below the minimum fluid page count. An ordinary
 * allocation checks free pages less promised-and-unused ones against the minimum.
 */
#ifndef MM_PHYS_FLUID_H
#define MM_PHYS_FLUID_H

#include "kernel/base/types.h"

/* Promise npages. 0, or -ENOMEM (the service's SS$_INSFLPGS) when the minimum would be crossed.
   Atomic, any IPL. */
int fluid_promise(uint64_t npages);
/* Pages of a promise were allocated (with PA_PROMISED): promised and unused falls by npages.
   Called after the allocation, so that meanwhile the count errs on the safe side. */
void fluid_promise_used(uint64_t npages);
/* Pages of a promise are about to be freed and the promise stands: the reverse. Called before
   page_free, so that nobody else takes the page in between. */
void fluid_promise_unused(uint64_t npages);
/* Take back a promise of which npages are unused. */
void fluid_promise_end(uint64_t npages);
uint64_t fluid_count(void); /* pages still fluid: free less promised and unused */
uint64_t fluid_minimum(void);
uint64_t fluid_promised_unused(void);
/* Boot, or never: the minimum fluid page count. */
void fluid_set_minimum_boot(uint64_t npages);

#endif
