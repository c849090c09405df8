/*
 * Mapped system space: the page tables that all address spaces share (kernel stacks, paged pool,
 * windows). Addresses in bytes, page aligned unless said otherwise.
 */
#ifndef MM_PT_PT_SYSTEM_H
#define MM_PT_PT_SYSTEM_H

#include "arch/alpha/hw/pte.h"
#include "mm/pt/page_table.h"

/* Bits of a valid system PTE: kernel data. */
#define PTE_SYSTEM (PTE_V | PTE_KRE | PTE_KWE | PTE_FOE | PTE_ASM)

extern uint64_t system_root_pfn; /* constant after boot */

/* Make the system root with its self-map and the level-2 pages of system space, and switch this
   thread to it. Registers the handler of shootdowns. Boot, after page_boot_done(); panics when
   there is no memory. */
void pt_system_boot(void);
/* The level-3 PTE of an address in mapped system space; its table is made when there is none and
   kept for good. NULL: no memory. The address is the caller's. IPL up to IPL_CLOCK. */
pte_t *pt_system_create(vaddr_t va);
/* Map one page, KRE and KWE. 0 or -ENOMEM. The address is the caller's. IPL up to IPL_CLOCK, locks
   below RANK_PFN. */
int kmap_page(vaddr_t va, pfn_t pfn);
/* Undo; the pages come back to the caller or, with free_pages, are freed, after every CPU has
   dropped the translation. Pages of the range that were never made valid are skipped. IPL below
   IPL_IPI, no lock that an IPI handler takes. */
void kunmap_pages(vaddr_t va, uint64_t npages, bool free_pages);
/* Make a range demand zero: system_fault gives each page at first touch (paged pool). 0 or
   -ENOMEM. */
int kmap_demand_zero(vaddr_t va, uint64_t npages);
/* The page at a system address, PFN_NONE when it is not valid. */
pfn_t kmap_lookup(vaddr_t va);
/* A fault on a system address, from trap dispatch; va need not be aligned. 0: retry the access;
   -EFAULT: nothing is mapped there; -ENOMEM. */
int system_fault(vaddr_t va, enum fault_access access);

#endif
