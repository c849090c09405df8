/*
 * Pools: allocators of small blocks. Nonpaged pool (npp_) may be used at any IPL up to IPL_CLOCK,
 * with locks below RANK_POOL held, and does not wait. Paged pool (pgd_) may be used at IPL 0
 * without a spinlock only, and may wait; requests that its lookaside lists satisfy (16-byte
 * granularity, up to PAGED_LAL_SIZE) take no mutex. Sizes are in bytes, addresses are 16-byte
 * aligned. An allocation returns NULL when there is no memory; the contents are undefined except
 * with _zeroed. The caller owns the block and frees it with the size that it was allocated with.
 */
#ifndef MM_POOL_POOL_H
#define MM_POOL_POOL_H

#include "kernel/base/types.h"

struct pool_area;

void *npp_alloc(size_t nbytes);
void *npp_alloc_zeroed(size_t nbytes);
void npp_free(void *p, size_t nbytes);
/* Free blocks of nbytes each that are linked by their first quadwords, the last of which is NULL: a
   third of the instructions for each. As npp_free() for each of them; takes time in proportion to
   their number. */
void npp_free_chain(void *first, size_t nbytes);
void *pgd_alloc(size_t nbytes);
void *pgd_alloc_zeroed(size_t nbytes);
void pgd_free(void *p, size_t nbytes);

struct pool_list_stats { /* of one lookaside list; count: packets that are on it now */
    uint64_t requests, hits, frees, count;
};
/* In bytes, except for the numbers of blocks and lists. free: on the variable list; in_use: neither
   there nor on a lookaside list. direct: requests of sizes that have no lookaside list, all of them
   while the lists are off; the others are counted by their lists. */
struct pool_stats {
    uint64_t size, free, in_use, largest, smallest, free_blocks, free_blocks_le64;
    uint64_t lookaside_bytes, direct;
    uint32_t lal_size, nlists;
};
void npp_stats(struct pool_stats *s);
void pgd_stats(struct pool_stats *s);
/* Number of blocks and of bytes on the paged pool's variable list, loaded without the mutex. Any
   IPL. */
void pgd_free_space(uint64_t *blocks, uint64_t *nbytes);
/* Number of lookaside lists. */
unsigned npp_lists(void);
unsigned pgd_lists(void);
/* Statistics of list i, which holds packets of (i + 1) * 16 bytes. */
void npp_list_stats(unsigned list, struct pool_list_stats *s);
void pgd_list_stats(unsigned list, struct pool_list_stats *s);
/* Self-check of the variable list: 0, or -EINVAL after the error was printed on the console. */
int npp_check(void);
int pgd_check(void);
/* Number of pages of the paged pool that are present. */
uint64_t pgd_present_pages(void);
/* Move the packets of all lookaside lists to the variable list. IPL and locks as for an
   allocation. */
void npp_drain(void);
void pgd_drain(void);
/* Call fn for each block that is not on the variable list, which includes the packets on lookaside
   lists; of nonpaged pool, for those of one segment (the owner of its pages in the PFN database).
   Nothing else runs meanwhile. */
void npp_for_each_used(const struct pool_area *segment,
                       void (*fn)(void *arg, uint64_t p, uint64_t size), void *arg);
void pgd_for_each_used(void (*fn)(void *arg, uint64_t p, uint64_t size), void *arg);
/* The PFNs [*first, *end) of a segment of nonpaged pool. */
void npp_segment_pages(const struct pool_area *segment, uint64_t *first, uint64_t *end);
/* Number of pages of nonpaged pool: all of them, and those of blocks that are contiguous pages of
   their own instead of a part of a segment. */
uint64_t npp_total_pages(void);
uint64_t npp_large_pages(void);
/* Boot: nonpaged pool after page_boot_done(); paged pool in a thread, after pt_system_boot(). Both
   after the system parameters are set. */
void pool_boot(void);
void pool_boot_paged(void);

#endif
