/*
 * Page tables: walks through KSEG, and the rules for writing PTEs. "The mutex" is that of the
 * address space that owns the tables (mm/space/aspace.h).
 *
 * Who may write which PTE:
 *
 *  - Level 1 and 2: from zero to a table by compare-and-swap, with the mutex held at least shared
 *    (pt_create). Back to zero only in pt_prune(), with the mutex held exclusively and
 *    page_table.lock.
 *  - Level 3, private page: from zero to valid (without an object), and from copy-on-write
 *    (PTE_SW_COW; the page of zeroes too) to writable, or to a copy after it was closed for a
 *    moment, from PTE_SW_AGED to what it allowed before, and from a slot of a page file to valid,
 *    by compare-and-swap with the mutex held at least shared. Every other change needs the mutex
 *    exclusively.
 *  - Level 3, map entry with an object: from and to zero and a page of the object (PTE_SW_SHARED)
 *    under the object's lock, and with the mutex held or, in a reverse walk (mm/object/rmap.c),
 *    with page_table.lock, which keeps the tables from being freed. Blocks of them have granularity
 *    hints (mm/space/object_block.h).
 *  - Everything below a level-1 or level-2 PTE with PTE_SW_SHPT belongs to a section. Any walk may
 *    read it; only mm/section/shpt.c and section_make_valid() write, count and free it. pt_create()
 *    makes no table there, and pt_prune() skips it.
 *
 * page_of(table)->aux counts the nonzero PTEs of a table (of a level-1 page: those of user space).
 * A table whose count is zero is all zero bytes, so it is freed as a zeroed page, unless
 * page_of(table)->share says that mappings need it although it is empty (mm/section/section_pt.c).
 * The count is atomic, because no lock orders the compare-and-swap writers of one table.
 *
 * page_of(table)->groups has a bit for each group of PT_GROUP PTEs, which is set if any of them is
 * nonzero, so that whoever copies or removes what a table maps looks at these groups only: a page
 * that is alone in its table costs about the same wherever in the table it is. Bits are set with
 * the mutex held at least shared, and cleared, perhaps later than possible, with the mutex held
 * exclusively. Roots and tables of sections have no such bits, and level-2 PTEs that map the latter
 * need none.
 */
#ifndef MM_PT_PT_H
#define MM_PT_PT_H

#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/pte.h"
#include "mm/phys/page.h"
#include "mm/pt/page_table.h"
#include "mm/pt/pte_forms.h"
#include "mm/pt/shootdown.h"

/* The table that a valid level-1 or level-2 PTE maps. */
static inline pte_t *pt_table(pte_t upper) { return kseg_page(pte_pfn(upper)); }
static inline pte_t pt_load(const pte_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
/* PFN database entry of the table that contains a PTE. */
static inline struct page *pt_page_of(const pte_t *p)
{
    return page_of(paddr_to_pfn(kseg_paddr(p)));
}

/* Add delta to the count of nonzero PTEs of the table that contains *p. */
static inline void pt_count(const pte_t *p, int delta)
{
    __atomic_fetch_add(&pt_page_of(p)->aux, (uint32_t)delta, __ATOMIC_RELAXED);
}

#define PT_GROUP 32u /* PTEs that a bit of page.groups stands for */

/* The bits of page.groups for n PTEs of one table from p on; n is not zero. */
static inline uint32_t pt_groups(const pte_t *p, uint64_t n)
{
    unsigned first = (unsigned)((uintptr_t)p / sizeof(*p) % PTES_PER_PAGE);
    unsigned last = (first + (unsigned)n - 1) / PT_GROUP;

    return (uint32_t)((UINT64_C(2) << last) - (UINT64_C(1) << (first / PT_GROUP)));
}

/* The first PTE of group k of the table that contains *p. */
static inline pte_t *pt_group(pte_t *p, unsigned k)
{
    return (pte_t *)((uintptr_t)p & ~(uintptr_t)PAGE_MASK) + k * PT_GROUP;
}

/* Record that the groups in `bits` of the table that contains *p may hold nonzero PTEs. */
static inline void pt_mark_groups(const pte_t *p, uint32_t bits)
{
    uint32_t *groups = &pt_page_of(p)->groups;

    if (unlikely(bits & ~__atomic_load_n(groups, __ATOMIC_RELAXED)))
        __atomic_fetch_or(groups, bits, __ATOMIC_RELAXED);
}

/* Record that n PTEs of one table from p on may be nonzero. */
static inline void pt_mark_range(const pte_t *p, uint64_t n) { pt_mark_groups(p, pt_groups(p, n)); }

/* Record in `table` that its PTE p may be nonzero. */
static inline void pt_mark_in(struct page *table, const pte_t *p)
{
    unsigned k = (unsigned)((uintptr_t)p / (PT_GROUP * sizeof(*p)) % (PTES_PER_PAGE / PT_GROUP));

    if (unlikely(!((int32_t)__atomic_load_n(&table->groups, __ATOMIC_RELAXED) >> k & 1)))
        __atomic_fetch_or(&table->groups, 1u << k, __ATOMIC_RELAXED);
}
static inline void pt_mark(const pte_t *p) { pt_mark_in(pt_page_of(p), p); }

/* Store a PTE without counting: nonzero replaces nonzero, or the caller calls pt_count(), and
   pt_mark() if the PTE was zero. Other
   CPUs may walk the table at any time; release order makes the contents of the page visible before
   the PTE. */
static inline void pt_store(pte_t *p, pte_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }

/* Store a PTE that nobody else can write meanwhile, and update the table's count. As with
   pt_cas(), the caller calls pt_mark() if the PTE was zero. */
static inline void pt_set(pte_t *p, pte_t v)
{
    pte_t old = *p;

    pt_store(p, v);
    if ((old == 0) != (v == 0))
        pt_count(p, v ? 1 : -1);
}

/* Compare-and-swap a PTE and, on success, update the table's count. */
static inline bool pt_cas(pte_t *p, pte_t old, pte_t v)
{
    if (!__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    if ((old == 0) != (v == 0))
        pt_count(p, v ? 1 : -1);
    return true;
}

/* Compare-and-swap a level-3 PTE of `table` from zero to v; on success, count and mark it. Release
   order: what the page contains is visible before the PTE. */
static inline bool pt_install_in(struct page *table, pte_t *p, pte_t v)
{
    pte_t none = 0;

    if (!__atomic_compare_exchange_n(p, &none, v, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return false;
    __atomic_fetch_add(&table->aux, 1, __ATOMIC_RELAXED);
    pt_mark_in(table, p);
    return true;
}
static inline bool pt_install(pte_t *p, pte_t v) { return pt_install_in(pt_page_of(p), p, v); }

/* Bits of a valid user PTE for protection prot (MAP_*). write: the page may be written now;
   otherwise a store faults. */
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

/*
 * page_table.recent is a short cut to the private level-3 table that pt_create() found last: its
 * PFN above PT_RECENT_BITS, and below them the number of the 8 MiB that it maps. It is one word, so
 * that faults may read and set it at the same time, and whatever they read is a table that was
 * there when it was set. As long as a mutex is held shared, no table goes: whoever takes one away
 * holds it exclusively and calls pt_forget() first. So what is read with the mutex held is still
 * the table of these addresses.
 */
_Static_assert(LAYOUT_USER_TOP >> PTE_L2_SHIFT < PT_NO_TABLE, "the number of 8 MiB fits");

static inline void pt_remember(struct page_table *pt, vaddr_t va, pfn_t table)
{
    __atomic_store_n(&pt->recent, table.n << PT_RECENT_BITS | va >> PTE_L2_SHIFT, __ATOMIC_RELEASE);
}

/* A private table is about to be taken out of the tree. Mutex held exclusively. */
static inline void pt_forget(struct page_table *pt)
{
    __atomic_store_n(&pt->recent, PT_NO_TABLE, __ATOMIC_RELAXED);
}

/* The level-3 PTE of va, if it is in the table found last, with the table's entry of the PFN
   database in *table; NULL: it is not. Acquire order, as for each step of a walk: what the table
   held as a page of somebody else is not seen. Mutex held. */
static inline pte_t *pt_recent(const struct page_table *pt, vaddr_t va, struct page **table)
{
    uint64_t found = __atomic_load_n(&pt->recent, __ATOMIC_ACQUIRE) ^ va >> PTE_L2_SHIFT;

    if (unlikely(found << (64 - PT_RECENT_BITS)))
        return NULL;
    *table = page_of(pfn_of(found >> PT_RECENT_BITS));
    return (pte_t *)kseg_page(pfn_of(found >> PT_RECENT_BITS)) + pte_l3_index(va);
}

/* Address of the PTE of level 1, 2 or 3 for va; NULL when a PTE above it is not valid. Mutex or
   pt->lock held. */
pte_t *pt_lookup(struct page_table *pt, vaddr_t va, unsigned level);
/* The same, but create the missing private tables above it. NULL: there is no memory, or a PTE
   above it maps a shared table, or is invalid but not zero. Mutex held. */
pte_t *pt_create(struct page_table *pt, vaddr_t va, unsigned level);
/* Level-2 PTE of the first level-3 table that maps a part of [*va, end), with the first such
   address in *va; NULL: there is none, and *va is end or above. Tables of sections may be left out.
   Mutex or pt->lock held. */
pte_t *pt_next_table(struct page_table *pt, vaddr_t *va, vaddr_t end);
/* The same, when *va is the first address behind the table of the level-2 PTE l2. */
static inline pte_t *pt_step_table(struct page_table *pt, pte_t *l2, vaddr_t *va, vaddr_t end)
{
    l2++;
    if (likely(((uintptr_t)l2 & PAGE_MASK) != 0 && *va < end && pte_valid(pt_load(l2))))
        return l2;
    return pt_next_table(pt, va, end);
}
/* First address in [va, end) whose level-3 table exists; end when there is none. Mutex or pt->lock
   held. */
static inline vaddr_t pt_skip_holes(struct page_table *pt, vaddr_t va, vaddr_t end)
{
    return pt_next_table(pt, &va, end) ? va : end;
}
/* Free the level-3 table of va, which the level-2 PTE l2 maps, if it is private and empty, as
   pt_prune() does. */
void pt_prune_table(struct page_table *pt, pte_t *l2, vaddr_t va, struct tb_gather *g);
/* Free the private tables that map a part of [start, end) and are empty. Mutex held exclusively.
   The table pages are put into *g, and freed when the caller flushes it. */
void pt_prune(struct page_table *pt, vaddr_t start, vaddr_t end, struct tb_gather *g);
/* Can there be an empty private level-2 table among them? False: there is none. Mutex held. */
bool pt_may_prune_upper(const struct page_table *pt, vaddr_t start, vaddr_t end);
/* Free only the private level-2 tables among them. */
void pt_prune_upper(struct page_table *pt, vaddr_t start, vaddr_t end, struct tb_gather *g);
/* Create the root of an address space, from domain rad, with the system entries and the self-map.
   *pt is all zero. False: there is no memory. */
bool pt_root_create(struct page_table *pt, unsigned rad);
/* Clear the root, for the caller to free it as a zeroed page. No other table is left, and no CPU
   has the root loaded. */
void pt_root_clear(struct page_table *pt);

#endif
