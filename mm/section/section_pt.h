/*
 * Page tables of section mappings. Unless said otherwise the functions are called at IPL 0 with the
 * address space's mutex held exclusively, or before another thread can reach the address space.
 */
#ifndef MM_SECTION_SECTION_PT_H
#define MM_SECTION_SECTION_PT_H

#include "mm/pt/pt.h"
#include "mm/section/section_map.h"

/* The page of the section that the entry maps at va. */
static inline uint64_t section_page_at(const struct map_entry *e, vaddr_t va)
{
    return (e->offset + (va - e->start)) / PAGE_SIZE;
}

/* The bits of a valid level-3 PTE in the entry's private tables. */
static inline pte_t section_private_bits(const struct map_entry *e)
{
    return pt_user_bits(e->prot, true) | PTE_SW_WIRED | PTE_SW_SHARED;
}

/* Is the level-2 page that maps va a section's own, shared through the level-1 PTE? The address
   space's mutex is held, shared or exclusively. */
static inline bool section_block_shared(struct aspace *as, vaddr_t va)
{
    return (pt_load(pt_lookup(&as->pt, va, 1)) & PTE_SW_SHPT) != 0;
}

/* Is the level-3 page that maps va the section's own, shared through a PTE above it? A mapping with
   shared tables shares them all, but of huge pages it shares only those of whole spans: what lies
   beside a part of a span may be anything. */
static inline bool section_span_shared(const struct map_entry *e, vaddr_t va)
{
    vaddr_t span = va & ~(PTE_L2_SPAN - 1);

    return e->smap->shared &&
           (!(e->flags & MAPF_HUGE) || (span >= e->start && span + PTE_L2_SPAN <= e->end));
}

/* Fill in the entry's PTEs, with the granularity hints that its addresses allow. 0; -ENOMEM, or
   -EINTR if the caller is to end, with nothing filled in.
   Shared tables:         a level-1 PTE for each 8 GiB block that the entry covers, level-2 PTEs for
                          the rest (FLUID: only those whose level-3 page exists)
   Private tables, ALLOC: all level-3 PTEs
   Private tables, FLUID: nothing */
int section_tables_fill(struct aspace *as, const struct map_entry *e);
/* Clear the entry's PTEs, flush the translation buffers and free private tables that are empty. */
void section_tables_take_down(struct aspace *as, const struct map_entry *e);
/* Replace the section's level-2 page, which maps va through a shared level-1 PTE, by a private one
   with the same PTEs, and flush. `table` is the page for it, allocated as PAGE_T_PT; its contents
   do not matter. Other processes that share the section's level-2 page are not affected. */
void section_tables_unshare(struct aspace *as, const struct map_entry *e, vaddr_t va, pfn_t table);
/* Huge pages: replace the section's level-3 page, which maps va, by a private one with the same
   translations, and flush. The level-2 page is private already. `table` is the page for it,
   allocated as PAGE_T_PT. */
void section_tables_own_span(struct aspace *as, const struct map_entry *e, vaddr_t va, pfn_t table);
/* Huge pages: replace all shared tables of the entry by private ones with the same translations. 0;
   -ENOMEM or -EINTR, with nothing changed. */
int section_tables_own(struct aspace *as, struct map_entry *e);
/* Private tables: change the entry's protection to prot. All its PTEs are cleared and flushed, then
   filled in again (FLUID: by faults), so that PTEs of one granularity-hint block never differ in
   protection. */
void section_tables_protect(struct aspace *as, struct map_entry *e, unsigned prot);
/* Correct the granularity hints for a split of e at va, where the level-2 page is the process's
   own. The hint block that contains va is cleared and flushed, and each side of va is filled in
   again with the hints that are still possible. FLUID, which has no hints: only count the second
   mapping of the level-2 page. */
void section_tables_cut(struct aspace *as, const struct map_entry *e, vaddr_t va);

#endif
