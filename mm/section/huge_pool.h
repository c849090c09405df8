/*
 * The pool of huge pages: 4 MiB each, contiguous and aligned, so that all PTEs of one carry the
 * largest granularity hint. NR_HUGEPAGES of them are reserved at boot. IPL 0; all but the boot
 * function take a mutex of rank MUTEX_HUGE_POOL.
 */
#ifndef MM_SECTION_HUGE_POOL_H
#define MM_SECTION_HUGE_POOL_H

#include "arch/alpha/hw/pte.h"
#include "kernel/base/types.h"

#define HUGE_SHIFT 22u
#define HUGE_BYTES (1UL << HUGE_SHIFT)
#define HUGE_PAGES (HUGE_BYTES / PAGE_SIZE)

/* Boot, after the reservations of the registry: reserve the pool. What cannot be reserved is
   reported on the console, and the pool is smaller. */
void huge_pool_boot(void);
/* The first frame of the huge page that a frame of the pool lies in. */
static inline pfn_t huge_first(pfn_t frame) { return pfn_of(frame.n & ~(HUGE_PAGES - 1)); }

struct account;
/* Take n huge pages: their first frames in frames[], with a use each. Their contents are undefined.
   The account, which has a reference, is charged for them. 0, or -ENOMEM: fewer are free, or the
   user may not have that many; none was taken. */
int huge_pool_take(struct account *account, uint64_t n, pfn_t *frames);
/* One more use of a page of which the caller has one; it does not end meanwhile. Any IPL. */
void huge_pool_use(pfn_t frame);
/* How many uses a page has, of which the caller has one: if it is the only one, it stays so. Any
   IPL. */
uint32_t huge_pool_uses(pfn_t frame);
/* End one use of each: those without are free again. */
void huge_pool_give(const pfn_t *frames, uint64_t n);

struct huge_pool_stats {
    uint64_t total, free;
};
void huge_pool_stats(struct huge_pool_stats *s);
/* For the self-check: call fn for each stretch of frames of the pool. Constant after boot. */
void huge_pool_stretches(void (*fn)(pfn_t first, uint64_t npages, void *arg), void *arg);
/* For the self-check: the number of free huge pages according to the bitmap, and that of all uses.
   */
void huge_pool_recount(uint64_t *free, uint64_t *uses);

#endif
