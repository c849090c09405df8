/*
 * Mapped system space: the page tables that all address spaces share (kernel stacks, paged pool,
 * windows). Addresses are in bytes and page aligned unless a comment says otherwise. Nothing here
 * takes a lock: the caller owns the addresses that it maps.
 */
#ifndef MM_PT_PT_SYSTEM_H
#define MM_PT_PT_SYSTEM_H

#include "arch/alpha/hw/pte.h"
#include "mm/pt/page_table.h"

struct tb_gather;

/* Bits of a valid system PTE: kernel data. */
#define PTE_SYSTEM (PTE_V | PTE_KRE | PTE_KWE | PTE_FOE | PTE_ASM)

extern uint64_t system_root_pfn; /* constant after boot */

/* Make the system root with its self-map and the level-2 pages of system space, register the
   shootdown handler, and load the root for this thread. Boot, after page_boot_done(); panics when
   there is no memory. */
void pt_system_boot(void);
/* Address of the level-3 PTE of an address in mapped system space. A missing table is made and
   never freed. NULL: there is no memory. IPL up to IPL_CLOCK, locks below RANK_PFN. */
pte_t *pt_system_create(vaddr_t va);
/* The number of pages that mapped system space has for its tables: it only grows. Any IPL. */
uint64_t pt_system_tables(void);
/* Map one page for kernel reads and writes; nothing is mapped there yet. 0 or -ENOMEM. IPL up to
   IPL_CLOCK, locks below RANK_PFN. */
int kmap_page(vaddr_t va, pfn_t pfn);
/* Clear the mappings of npages pages from va on, and add them to a gather of system space; with
   free_pages the pages too. Pages of the range that are not mapped are skipped. */
void kunmap_gather(struct tb_gather *g, vaddr_t va, uint64_t npages, bool free_pages);
/* Unmap npages pages from va on and wait until every CPU has invalidated the translations. With
   free_pages the pages are freed then; otherwise they are the caller's again. Pages of the range
   that are not mapped are skipped. IPL below IPL_IPI, no lock that an IPI handler takes. */
void kunmap_pages(vaddr_t va, uint64_t npages, bool free_pages);
/* Make the unmapped pages of a range demand zero: system_fault() allocates each at the first access
   (paged pool). 0 or -ENOMEM. IPL up to IPL_CLOCK, locks below RANK_PFN. */
int kmap_demand_zero(vaddr_t va, uint64_t npages);
/* The page that is mapped at a system address, or PFN_NONE. Any IPL. */
pfn_t kmap_lookup(vaddr_t va);
/* Resolve a fault on a system address, for trap dispatch; va need not be aligned. 0: retry the
   access; -EFAULT: nothing is mapped there, or an instruction was to be fetched; -ENOMEM. */
int system_fault(vaddr_t va, enum fault_access access);

#endif
