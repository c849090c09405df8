/*
 * Stretches of memory for reservations (mm/section/reserved.c): taken out of the never-used ranges
 * of a domain, and given back to them. IPL up to IPL_CLOCK, with locks below RANK_PFN held; none of
 * these functions waits. The caller owns what it has reserved.
 */
#ifndef MM_PHYS_PAGE_RESERVE_H
#define MM_PHYS_PAGE_RESERVE_H

#include "kernel/base/types.h"

/* Reserve npages contiguous pages of domain rad (which must exist), aligned to align pages (a power
   of two), and take them from the fluid count. Their database entries are not initialised. 0, or
   -ENOMEM: no such stretch, or the minimum would be crossed. */
int page_reserve(uint64_t npages, uint64_t align, unsigned rad, pfn_t *first);
/* Reserve a part of a larger reservation: the largest aligned stretch of domain rad, of at most
   `most` pages, and of a multiple of `multiple` pages if it is smaller than that. 0, or -ENOMEM. */
int page_reserve_part(uint64_t most, uint64_t multiple, uint64_t align, unsigned rad, pfn_t *first,
                      uint64_t *npages);
/* Number of pages of the largest aligned stretch of domain rad. */
uint64_t page_largest_stretch(unsigned rad, uint64_t align);
/* Initialise the entries of a reservation before its first use: state PAGE_RESERVED, refcnt 1. */
void page_reserve_entries(pfn_t first, uint64_t npages);
/* Give back a part of a reservation, which lies in one domain. It becomes a range and is fluid
   again. */
void page_unreserve(pfn_t first, uint64_t npages);

#endif
