/*
 * Pools. Nonpaged: any IPL up to IPL_CLOCK, locks below RANK_POOL. Paged: IPL 0, no spinlock, may
 * wait; lookaside lists of 16-byte granularity up to PAGED_LAL_SIZE in front (a hit takes no
 * mutex). The size is given back at the free. Addresses are 16-byte aligned. NULL when short. Not
 * zeroed unless asked.
 */
#ifndef MM_POOL_POOL_H
#define MM_POOL_POOL_H

#include "kernel/base/types.h"

void *npp_alloc(size_t nbytes);
void *npp_alloc_zeroed(size_t nbytes);
void npp_free(void *p, size_t nbytes);
void *pgd_alloc(size_t nbytes);
void *pgd_alloc_zeroed(size_t nbytes);
void pgd_free(void *p, size_t nbytes);

struct pool_list_stats {
    uint64_t requests, hits, frees, count;
};
struct pool_stats { /* free: on the variable list; in_use: neither there nor on a lookaside list */
    uint64_t size, free, in_use, largest, smallest, free_blocks, free_blocks_le64;
    uint64_t lookaside_bytes;
    uint32_t lal_size, nlists;
};
void npp_stats(struct pool_stats *s);
void pgd_stats(struct pool_stats *s);
/* Blocks and bytes on the paged pool's variable list as they are at this moment: takes no mutex and
 * walks nothing. */
void pgd_free_space(uint64_t *blocks, uint64_t *nbytes);
/* How many lists there are. */
unsigned npp_lists(void);
unsigned pgd_lists(void);
/* List i holds packets of (i + 1) * 16 bytes, i below nlists. count: packets on it now. */
void npp_list_stats(unsigned list, struct pool_list_stats *s);
void pgd_list_stats(unsigned list, struct pool_list_stats *s);
int npp_check(void); /* self-check: 0, or -EINVAL after naming the fault on the console */
int pgd_check(void);
/* Paged: pages of it that are present. */
uint64_t pgd_present_pages(void);
/* What the lookaside lists hold goes back to the variable lists. npp: any IPL up to IPL_CLOCK; pgd:
   IPL 0, no spinlock, waits. */
void npp_drain(void);
void pgd_drain(void);
/* Call fn for each block that is neither free nor (npp) of whole pages; packets of lookaside lists
   count as used. While nothing else runs. The first: of the segment at a page's owner. */
struct pool_area;
void npp_for_each_used(const struct pool_area *segment,
                       void (*fn)(void *arg, uint64_t p, uint64_t size), void *arg);
void pgd_for_each_used(void (*fn)(void *arg, uint64_t p, uint64_t size), void *arg);
/* Nonpaged: the pages [*first, *end) of a segment, by PFN. */
void npp_segment_pages(const struct pool_area *segment, uint64_t *first, uint64_t *end);
/* Nonpaged: pages of segments, and those of blocks that are page stretches of their own. */
uint64_t npp_total_pages(void);
uint64_t npp_large_pages(void);
/* Boot: nonpaged pool, as soon as there are pages; paged pool, when page tables, threads and
   system parameters are there. */
void pool_boot(void);
void pool_boot_paged(void);

#endif
