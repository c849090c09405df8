/*
 * The fluid page count.
 *
 * One signed word says how many pages may still be allocated or promised:
 *
 *     fluid_available = free pages - promised and unused pages - minimum
 *
 * An ordinary allocation and a promise both subtract from it by compare-and-swap, and are refused
 * when it would fall below zero. The check and the subtraction are one step, so however many CPUs
 * allocate and promise at once, the sum of what was granted never exceeds what there was. (A page
 * fault subtracts one page first and gives it back if that was too many: page_quick.h.)
 *
 * A promise of n pages subtracts n. When one of its pages is allocated (PA_PROMISED), free pages
 * and promised-and-unused pages fall by one together, so fluid_available must not change: the
 * allocation subtracts one unconditionally, and fluid_promise_used() adds it again. In between the
 * word is too low by one, perhaps negative: another allocation may be refused too early, but
 * nothing is granted twice. Freeing such a page is the reverse: fluid_promise_unused() first, then
 * page_free().
 *
 * A promised allocation always finds a page, because
 *
 *     free pages (counted) >= promised and unused + minimum + fluid_available
 *
 * and every page that is counted as free is on a list, in a range, in a CPU's cache, or being moved
 * in a batch between these by a CPU at IPL_CLOCK (at most MAX_CPUS * 128 pages, and each such CPU
 * finishes without waiting for others). page_free() puts the page where it can be found before it
 * counts it; page_alloc() takes it from the count before it searches.
 *
 * The minimum keeps the last pages for allocations that must not fail: PA_KERNEL may use three
 * quarters of it. A thread whose system call was made again for want of memory so often that others
 * seem to take each page that is freed before it runs (thread.starved) may use one quarter, or as
 * much below its user's floor; for each attempt some pages, and the pager fills the quarter up.
 * Above it lies a reserve for user 0: an allocation for another user is refused when
 * fluid_available would fall below its account's page_floor, also with PA_KERNEL, and the contents
 * of files leave that much whoever writes them.
 */
#include "mm/phys/fluid.h"

#include "kernel/base/errno.h"
#include "kernel/quota/quota.h"
#include "mm/phys/failure.h"
#include "mm/phys/page_private.h"

/* The minimum is 1/64 of memory, but at least 512 pages (4 MiB: as many as can be moved in batches
   at once, MAX_CPUS * 128) and at most 16,384 (128 MiB). */
#define MINIMUM_SHIFT 6
#define MINIMUM_LEAST 512u
#define MINIMUM_MOST  16384u

int64_t fluid_available;
static uint64_t promised_unused; /* atomic; for display and the self-check */
static uint64_t minimum;         /* constant after boot */

int64_t fluid_floor(unsigned flags, int64_t floor)
{
    if (flags & PA_PROMISED)
        return INT64_MIN / 2; /* it is there: see above */
    return floor > 0 ? floor : -(int64_t)(minimum - minimum / 4);
}

int64_t fluid_for_starved(void) { return (int64_t)minimum / 4; }

int fluid_promise(uint64_t npages)
{
    int64_t floor = __atomic_load_n(&account_self()->page_floor, __ATOMIC_RELAXED);

    if (failure_inject(MEGA_ALLOC_PROMISE) || npages >> PFN_BITS ||
        !fluid_take_above(floor, npages))
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
