/*
 * The pool of huge pages: 4 MiB each, contiguous and aligned, so that all PTEs of one carry the
 * largest granularity hint. NR_HUGEPAGES of them are reserved at boot. IPL 0; all but the boot
 * function take a mutex of rank MUTEX_RMD.
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
/* Take n huge pages: their first frames in frames[]. Their contents are undefined. 0, or -ENOMEM:
   fewer are free, and none was taken. */
int huge_pool_take(uint64_t n, pfn_t *frames);
/* Give them back. */
void huge_pool_give(const pfn_t *frames, uint64_t n);

struct huge_pool_stats {
    uint64_t total, free;
};
void huge_pool_stats(struct huge_pool_stats *s);
/* For the self-check: call fn for each stretch of frames of the pool. Constant after boot. */
void huge_pool_stretches(void (*fn)(pfn_t first, uint64_t npages, void *arg), void *arg);
/* For the self-check: the number of free huge pages according to the bitmap. */
uint64_t huge_pool_recount(void);

#endif
