/*
 * Granularity hints: which one a PTE may carry, and proof that those in a table are right. Pure;
 * builds for the host.
 *
 * A block of 8, 64 or 512 pages whose first virtual page and first frame are both aligned to the
 * block, frames rising by one, all PTEs otherwise equal, may say so in each of its PTEs. Level-2
 * PTEs are the PTEs of page-table space: there "page" means a level-3 page and "virtual page
 * number" va >> 23.
 */
#ifndef MM_PT_GH_H
#define MM_PT_GH_H

#include "arch/alpha/hw/pte.h"

/* The largest hint for a block that starts at page vpn and frame pfn with n pages left. */
unsigned gh_best(uint64_t vpn, uint64_t pfn, uint64_t n);
/* Fill n PTEs for pages vpn.. with frames pfn.. and the given bits, each with the largest hint. The
 * n PTEs lie in one table page. */
void gh_fill(pte_t *ptes, uint64_t n, uint64_t vpn, pfn_t pfn, pte_t bits);

struct gh_count {
    uint64_t ptes[4]; /* valid PTEs by hint */
    uint64_t errors;  /* PTEs whose hint breaks the rules above */
};
/* Count the valid ones of n PTEs, which map vpn.., in one table page. */
void gh_count(const pte_t *ptes, uint64_t n, uint64_t vpn, struct gh_count *c);

#endif
