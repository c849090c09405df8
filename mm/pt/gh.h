/*
 * Granularity hints: the choice of the hint that a PTE may carry, a check of the hints in a table,
 * and their end. No lock is taken here, and host tests build it too.
 *
 * A block is 8, 64 or 512 pages whose first virtual page and first frame are both aligned to the
 * size of the block, whose frames rise by one, and whose PTEs are otherwise equal. Each of its PTEs
 * may carry the hint. A level-2 PTE is a PTE of page-table space: for it, "page" means a level-3
 * table page, and the virtual page number is va >> 23.
 */
#ifndef MM_PT_GH_H
#define MM_PT_GH_H

#include "arch/alpha/hw/pte.h"

#define GH_SMALL 8u /* pages of the smallest block */

/* By how much the PTE of a block's page differs from that of the page before. A variable: if the
   compiler knew it, it would keep each multiple in a register. */
extern const uint64_t gh_step;

/* The largest hint for a block that starts at virtual page vpn and frame pfn and has at most n
   pages. */
unsigned gh_best(uint64_t vpn, uint64_t pfn, uint64_t n);
/* Write n PTEs, which lie in one table page, for the virtual pages from vpn on: frames from pfn on,
   the given bits, and in each the largest hint that the rule allows. */
void gh_fill(pte_t *ptes, uint64_t n, uint64_t vpn, pfn_t pfn, pte_t bits);

struct gh_count {
    uint64_t ptes[4]; /* valid PTEs, by hint */
    uint64_t errors;  /* PTEs whose hint breaks the rule above */
};
/* Add to *c the valid ones of n PTEs, which lie in one table page and map the virtual pages from
   vpn on. */
void gh_count(const pte_t *ptes, uint64_t n, uint64_t vpn, struct gh_count *c);

/* Take the hint from the PTEs of the block to which *p belongs, of a private level-3 table: it is
   about to say something else than they do. They stay valid; whoever changes *p invalidates its
   translation, and with it that of the block. Nobody else writes them meanwhile. */
void gh_break(pte_t *p);

#endif
