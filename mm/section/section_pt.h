/*
 * Page tables of section mappings: filled in one sweep, cleared, taken down, cut. All calls: mutex
 * of the address space held exclusively (or nobody else can reach it), IPL 0.
 */
#ifndef MM_SECTION_SECTION_PT_H
#define MM_SECTION_SECTION_PT_H

#include "mm/pt/pt.h"
#include "mm/section/section_map.h"

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

/* Is the level-2 page of the 8 GiB around va a section's, reached by a shared level-1 PTE? Mutex at
   least shared. */
static inline bool section_block_shared(struct aspace *as, vaddr_t va)
{
    return (pt_load(pt_lookup(&as->pt, va, 1)) & PTE_SW_SHPT) != 0;
}

/* Tables for the entry, with the hints that it allows. A shared mapping: a level-1 PTE for each 8
   GiB that it fills, level-2 PTEs for the rest (FLUID: as far as level-3 pages are there); a
   private ALLOC one: level-3 PTEs; private FLUID: nothing. 0 or -ENOMEM with nothing filled. */
int section_tables_fill(struct aspace *as, const struct map_entry *e);
/* Clear the entry's PTEs, flush the translation buffers, free the private tables that are empty. */
void section_tables_take_down(struct aspace *as, const struct map_entry *e);
/* The 8 GiB around va, which the entry shares by a level-1 PTE, get a level-2 page of their own
   with the same PTEs: `table`, allocated for it as PAGE_T_PT with any contents. Flushes. Others
   that share the section's level-2 page notice nothing. */
void section_tables_unshare(struct aspace *as, const struct map_entry *e, vaddr_t va, pfn_t table);
/* Private tables: the entry gets this protection. Its PTEs are cleared, flushed and, as far as they
   do not come by faults, filled anew, so that a block of a hint is never mixed. */
void section_tables_protect(struct aspace *as, struct map_entry *e, unsigned prot);
/* Make hints right for a split at va, whose level-2 page is the process's own: the block that the
   split cuts is cleared, flushed, and each side filled anew with what is left to it. */
void section_tables_cut(struct aspace *as, const struct map_entry *e, vaddr_t va);

#endif
