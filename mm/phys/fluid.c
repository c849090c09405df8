/*
 * The fluid page count.
 *
 * One signed word says how many pages may still be taken or promised:
 *
 *     fluid_available = free pages - promised and unused pages - minimum
 *
 * An ordinary allocation and a promise both take from it by compare-and-swap and are refused when
 * it would fall below zero: so the check and the taking are one step, and however many CPUs
 * allocate and promise at once, the sum of what was granted never exceeds what there was.
 *
 * A promise of n takes n. When a page of it is allocated (PA_PROMISED), free and
 * promised-and-unused fall by one together and `available` stays: the allocation takes one,
 * unconditionally, and fluid_promise_used() gives it back. Between the two `available` is one too
 * low, perhaps negative: others are refused a page early, nothing is granted twice. The way back
 * is the mirror: fluid_promise_unused() first, then page_free().
 *
 * Why a promised allocation always finds a page: free pages (counted) >= promised and unused +
 * minimum + available, and a page that is counted free is on a list, in a range, in a CPU's cache,
 * or in the hands of a CPU that moves a batch between these at IPL_CLOCK (at most MAX_CPUS * 128
 * pages, and each such CPU finishes on its own). page_free() makes the page findable before it
 * counts it; page_alloc() counts before it looks.
 *
 * The minimum keeps the last pages for what must not fail. PA_KERNEL goes below it by three
 * quarters.
 */
#include "mm/phys/fluid.h"

#include "kernel/base/errno.h"
#include "mm/phys/failure.h"
#include "mm/phys/page_private.h"

/* A 64th of memory, between 4 MiB (512 pages, above all batches that can be on their way at once:
   4 CPUs * 128) and 128 MiB. */
#define MINIMUM_SHIFT 6
#define MINIMUM_LEAST 512u
#define MINIMUM_MOST  16384u

int64_t fluid_available;
static uint64_t promised_unused; /* atomic; for show only */
static uint64_t minimum;         /* constant after boot */

bool fluid_take_special(unsigned flags, uint64_t n)
{
    if (flags & PA_PROMISED) {
        __atomic_fetch_sub(&fluid_available, (int64_t)n, __ATOMIC_ACQUIRE);
        return true;
    }
    return fluid_take_above(-(int64_t)(minimum - minimum / 4), n);
}

int fluid_promise(uint64_t npages)
{
    if (failure_door(MEGA_ALLOC_PROMISE) || npages >> PFN_BITS || !fluid_take_above(0, npages))
        return -ENOMEM;
    __atomic_fetch_add(&promised_unused, npages, __ATOMIC_RELAXED);
    return 0;
}

void fluid_promise_used(uint64_t npages)
{
    __atomic_fetch_sub(&promised_unused, npages, __ATOMIC_RELAXED);
    fluid_give(npages);
}

void fluid_promise_unused(uint64_t npages)
{
    __atomic_fetch_sub(&fluid_available, (int64_t)npages, __ATOMIC_RELAXED);
    __atomic_fetch_add(&promised_unused, npages, __ATOMIC_RELAXED);
}

void fluid_promise_end(uint64_t npages) { fluid_promise_used(npages); }

uint64_t fluid_count(void)
{
    int64_t n = __atomic_load_n(&fluid_available, __ATOMIC_RELAXED) + (int64_t)minimum;

    return n > 0 ? (uint64_t)n : 0;
}

uint64_t fluid_minimum(void) { return minimum; }

uint64_t fluid_promised_unused(void) { return __atomic_load_n(&promised_unused, __ATOMIC_RELAXED); }

void fluid_set_minimum_boot(uint64_t npages)
{
    fluid_available += (int64_t)minimum - (int64_t)npages;
    minimum = npages;
}

void fluid_boot(uint64_t npages)
{
    fluid_available = (int64_t)npages;
    promised_unused = 0;
    minimum = 0;
    fluid_set_minimum_boot(MIN(MAX(npages >> MINIMUM_SHIFT, MINIMUM_LEAST), MINIMUM_MOST));
}
