/*
 * Page tables of section mappings: filled in one sweep, cleared, taken down, cut. All calls: mutex
 * of the address space held exclusively (or nobody else can reach it), IPL 0.
 */
#ifndef MM_SECTION_PT_H
#define MM_SECTION_PT_H

#include "mm/pt.h"
#include "mm/section_map.h"

/* Page of the section that the entry maps at va. */
static inline uint64_t section_page_at(const struct map_entry *e, vaddr_t va)
{
    return (e->offset + (va - e->start)) / PAGE_SIZE;
}

/* A valid level-3 PTE of the entry's own, in private tables. */
static inline pte_t section_private_bits(const struct map_entry *e)
{
    return pt_user_bits(e->prot, true) | PTE_SW_WIRED | PTE_SW_SHARED;
}

/* Tables for [start, end) of the entry, with the hints that this stretch by itself allows: level-2
   PTEs of a shared mapping (FLUID: as far as level-3 pages are there), level-3 PTEs of a private
   ALLOC one; private FLUID: nothing. 0 or -ENOMEM, then partly filled. */
int section_tables_fill(struct aspace *as, const struct map_entry *e, vaddr_t start, vaddr_t end);
/* Clear the entry's PTEs, flush the translation buffers, free the private tables that are empty. */
void section_tables_take_down(struct aspace *as, struct map_entry *e);
/* Make hints right for a split at va: the block that the split cuts is cleared, flushed, and each
   side filled anew with what is left to it. */
void section_tables_cut(struct aspace *as, const struct map_entry *e, vaddr_t va);

#endif
