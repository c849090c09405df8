/*
 * Page table entries as OSF/1 PALcode and QEMU's page-table walk read them: the layout, and the
 * accessors built on it. The forms of invalid PTEs, which software defines, are in
 * mm/pt/pte_forms.h.
 *
 *     bits   field
 *     0      V     valid
 *     1      FOR   fault on read
 *     2      FOW   fault on write
 *     3      FOE   fault on execute
 *     4      ASM   address space match
 *     6:5    GH    granularity hint
 *     8      KRE   kernel read enable
 *     9      URE   user read enable
 *     12     KWE   kernel write enable
 *     13     UWE   user write enable
 *     31:16        for software
 *     63:32  PFN   page frame number
 *
 * Source: Alpha architecture, OSF/1 PALcode; docs/platform.md (Memory).
 */
#ifndef ARCH_ALPHA_HW_PTE_H
#define ARCH_ALPHA_HW_PTE_H

#include "kernel/base/types.h"

typedef uint64_t pte_t;

#define PTE_V         (1UL << 0)
#define PTE_FOR       (1UL << 1)
#define PTE_FOW       (1UL << 2)
#define PTE_FOE       (1UL << 3)
#define PTE_ASM       (1UL << 4)
#define PTE_GH_SHIFT  5
#define PTE_GH_MASK   (3UL << PTE_GH_SHIFT)
#define PTE_KRE       (1UL << 8)
#define PTE_URE       (1UL << 9)
#define PTE_KWE       (1UL << 12)
#define PTE_UWE       (1UL << 13)
#define PTE_SW_SHIFT  16
#define PTE_SW_MASK   (0xFFFFUL << PTE_SW_SHIFT)
#define PTE_PFN_SHIFT 32

#define PTE_LEVELS     3
#define PTES_PER_PAGE  1024
#define PTE_INDEX_BITS 10

/* Bytes that one PTE maps: at level 3 a page of 8 KiB, at level 2 8 MiB, at level 1 8 GiB. */
#define PTE_L3_SPAN  (1UL << 13)
#define PTE_L2_SHIFT 23
#define PTE_L2_SPAN  (1UL << PTE_L2_SHIFT)
#define PTE_L1_SPAN  (1UL << 33)
/* Pages that a level-3 page table maps, one with each of its PTEs: 1,024 pages of 8 KiB are
   PTE_L2_SPAN bytes. An aligned range of that size is a level-3 span of an address space or,
   counted from the section's start, of a section: the unit in which page tables are allocated,
   shared and freed. */
#define PTE_SPAN_PAGES ((uint64_t)PTES_PER_PAGE)
_Static_assert(PTE_L2_SPAN == PTE_SPAN_PAGES * PTE_L3_SPAN &&
                   PTE_L1_SPAN == PTE_SPAN_PAGES * PTE_L2_SPAN,
               "a table maps what one PTE of the level above does");

static inline unsigned pte_l1_index(vaddr_t va) { return (va >> 33) & 1023; }
static inline unsigned pte_l2_index(vaddr_t va) { return (va >> 23) & 1023; }
static inline unsigned pte_l3_index(vaddr_t va) { return (va >> 13) & 1023; }

static inline pfn_t pte_pfn(pte_t p) { return (pfn_t){p >> PTE_PFN_SHIFT}; }
static inline pte_t pte_make(pfn_t pfn, pte_t bits) { return (pfn.n << PTE_PFN_SHIFT) | bits; }
static inline bool pte_valid(pte_t p) { return (p & PTE_V) != 0; }
static inline unsigned pte_gh(pte_t p) { return (p & PTE_GH_MASK) >> PTE_GH_SHIFT; }

/* Pages in a granularity-hint block: 1, 8, 64, 512 for gh 0..3. */
static inline uint64_t pte_gh_pages(unsigned gh) { return 1UL << (3 * gh); }

/* A level-1 or level-2 PTE. The walk requires V and KRE, for user mappings too. KWE allows the
   kernel to write the page-table page through page-table space. */
static inline pte_t pte_table(pfn_t pfn) { return pte_make(pfn, PTE_V | PTE_KRE | PTE_KWE); }

#endif
