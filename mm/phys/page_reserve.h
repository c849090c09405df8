/*
 * Stretches of memory for reservations (mm/section/reserved.c): taken out of the never-used ranges
 * of a domain and given back to them. IPL up to IPL_CLOCK, locks below RANK_PFN.
 */
#ifndef MM_PHYS_PAGE_RESERVE_H
#define MM_PHYS_PAGE_RESERVE_H

#include "kernel/base/types.h"

/* A stretch of domain rad (which exists) for a reservation: contiguous, aligned, taken from the
   fluid count, its entries left alone. */
int page_reserve(uint64_t npages, uint64_t align, unsigned rad, pfn_t *first);
/* A part of a larger reservation: the largest aligned stretch of domain rad, at most `most` pages,
   and unless it is all of these a multiple of `multiple` pages. -ENOMEM: there is none. */
int page_reserve_part(uint64_t most, uint64_t multiple, uint64_t align, unsigned rad, pfn_t *first,
                      uint64_t *npages);
/* Pages of domain rad's largest aligned stretch. */
uint64_t page_largest_stretch(unsigned rad, uint64_t align);
/* The reservation is used: initialise its entries, state PAGE_RESERVED. */
void page_reserve_entries(pfn_t first, uint64_t npages);
/* Give back a part of a reservation. It becomes a range and is fluid again. */
void page_unreserve(pfn_t first, uint64_t npages);

#endif
