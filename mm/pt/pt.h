/*
 * Page tables: walks through KSEG, and the writers of PTEs. "The mutex" is that of the address
 * space that owns the tables (mm/space/aspace.h).
 *
 * Who may write what:
 *  - A level-1 or level-2 PTE goes from zero to a table by compare-and-swap, by anybody who holds
 * the aspace mutex at least shared (pt_create). It goes back to zero only in pt_prune: mutex
 * exclusive and page_table.lock.
 *  - A level-3 PTE of an entry without object goes from zero to valid by compare-and-swap with the
 * mutex at least shared; every other change needs the mutex exclusively.
 *  - A level-3 PTE of an entry with an object is written under the lock of the object's family
 * (map_entry.obj_lock), with the mutex or, in a reverse walk (mm/object/rmap.c), with
 * page_table.lock, which keeps the tables.
 *
 *  - What lies below a PTE with PTE_SW_SHPT, at level 1 or 2, is a section's: read by any walk,
 * written by mm/section/shpt.c and section_make_valid alone, counted and freed by nobody else
 * (pt_create makes nothing there, pt_prune passes it by).
 *
 * page_of(table)->aux counts the table's nonzero PTEs (user half of a level-1 page): a table at
 * zero is all zero bytes, so it is given back as a zeroed page, unless page_of(table)->share says
 * that mappings want it though it is empty (mm/section/section_pt.c). Atomic, because
 * compare-and-swap writers of one table are not ordered by a lock.
 */
#ifndef MM_PT_PT_H
#define MM_PT_PT_H

#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/pte.h"
#include "mm/phys/page.h"
#include "mm/pt/page_table.h"
#include "mm/pt/pte_forms.h"
#include "mm/pt/shootdown.h"

static inline pte_t *pt_table(pte_t upper) { return kseg_page(pte_pfn(upper)); }
static inline pte_t pt_load(const pte_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
/* PFN database entry of the table that a PTE lies in. */
static inline struct page *pt_page_of(const pte_t *p)
{
    return page_of(paddr_to_pfn(kseg_paddr(p)));
}

static inline void pt_count(const pte_t *p, int delta)
{
    __atomic_fetch_add(&pt_page_of(p)->aux, (uint32_t)delta, __ATOMIC_RELAXED);
}

/* Store a PTE without counting: nonzero replaces nonzero, or the caller counts. The hardware of
   other CPUs reads it at any time; release, so that what the page holds is seen before it. */
static inline void pt_store(pte_t *p, pte_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }

/* Store into a PTE that nobody else writes now, keeping the table's count. */
static inline void pt_set(pte_t *p, pte_t v)
{
    pte_t old = *p;

    pt_store(p, v);
    if ((old == 0) != (v == 0))
        pt_count(p, v ? 1 : -1);
}

/* Compare-and-swap, keeping the count. */
static inline bool pt_cas(pte_t *p, pte_t old, pte_t v)
{
    if (!__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    if ((old == 0) != (v == 0))
        pt_count(p, v ? 1 : -1);
    return true;
}

/* Bits of a valid user PTE. write: the page may be written now; else a store faults. */
static inline pte_t pt_user_bits(unsigned prot, bool write)
{
    pte_t bits = PTE_V;

    if (prot)
        bits |= PTE_KRE | PTE_URE;
    if (write && (prot & MAP_W))
        bits |= PTE_KWE | PTE_UWE;
    else
        bits |= PTE_FOW;
    if (!(prot & MAP_X))
        bits |= PTE_FOE;
    return bits;
}

/* The PTE of level 1, 2 or 3 for va; NULL when an upper level is not valid. Mutex held,
   or pt->lock. */
pte_t *pt_lookup(struct page_table *pt, vaddr_t va, unsigned level);
/* The same, making the private tables above it. NULL: no memory, or a PTE above it is shared, or
 * invalid but not zero. Mutex held. */
pte_t *pt_create(struct page_table *pt, vaddr_t va, unsigned level);
/* First address at or after va, below end, whose level-3 table exists; end when there is none. */
vaddr_t pt_skip_holes(struct page_table *pt, vaddr_t va, vaddr_t end);
/* Free the private tables that map part of [start,end) and are empty. Mutex exclusive; the caller
 * flushes. */
void pt_prune(struct page_table *pt, vaddr_t start, vaddr_t end, struct tb_gather *g);
/* Begin the page tables of an address space, *pt all zero: a root with the system entries and the
   self-map, from domain rad. False: no memory. */
bool pt_root_create(struct page_table *pt, unsigned rad);
/* The end: no table but the root is left, and no CPU has it loaded. */
void pt_root_free(struct page_table *pt);

#endif
