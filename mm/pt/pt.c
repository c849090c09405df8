/*
 * Page tables: walks, and the creation and freeing of private tables. System space is in
 * mm/pt/pt_system.c; the rules for writing PTEs and the locks are in mm/pt/pt.h.
 *
 * Walks go through KSEG, so the address space need not be loaded and no translation is needed. The
 * self-map (level-1 entry 1023 maps the level-1 page) is for the hardware and for readers of
 * page-table space. It is why the page-table-space address of a freed table is invalidated too,
 * before the page is used again (tb_gather_table). Otherwise:
 *
 *     CPU 0                                      CPU 1
 *                                                reads page-table space: its translation buffer
 *                                                now holds a translation of the table page
 *     clears the level-2 PTE, frees the table
 *     allocates the page to a new owner
 *                                                reads page-table space through the old
 *                                                translation: the new owner's data
 *
 * System space: the level-1 entries from LAYOUT_L1_SYSTEM_FIRST on are the same in every root.
 * Their level-2 pages are made by pt_system_boot() and never change, so every root, whenever it was
 * made, has all system mappings. The level-3 table of a system address is made at the first mapping
 * in its 8 MiB and is never freed. No lock is needed: a table is installed by compare-and-swap (the
 * CPU that loses frees its page), and a PTE is stored only by the owner of the address.
 *
 * Out of memory: pt_create() and kmap_page() fail and leave behind at most an empty table, which
 * pt_prune() frees when the mapping for which it was made is removed.
 */
#include "mm/pt/pt.h"

#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/tb.h"
#include "arch/alpha/hw/tb_model.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "mm/pt/pt_system.h"

#define L1_USER_ENTRIES (LAYOUT_USER_TOP / PTE_L1_SPAN)

_Static_assert(LAYOUT_L1_SPAN == PTE_L1_SPAN, "layout and PTE geometry agree");

const char *pte_form_name(pte_t p)
{
    static const char *const names[] = {
        [PTE_FORM_NONE] = "of no form",
        [PTE_FORM_DZRO] = "demand zero",
        [PTE_FORM_PAGEFILE] = "a page-file slot",
        [PTE_FORM_TRANSITION] = "in transition",
    };

    return pte_form(p) < ARRAY_SIZE(names) ? names[pte_form(p)] : "of an unknown form";
}

void pte_unexpected(vaddr_t va, pte_t p)
{
    panic("user PTE %lx at %lx is %s, where only a page or nothing can be", p, va,
          pte_form_name(p));
}

pte_t *pt_lookup(struct page_table *pt, vaddr_t va, unsigned level)
{
    pte_t *p = (pte_t *)kseg_page(pt->root) + pte_l1_index(va);
    pte_t upper;

    if (level == 1)
        return p;
    upper = pt_load(p);
    if (!pte_valid(upper))
        return NULL;
    p = pt_table(upper) + pte_l2_index(va);
    if (level == 2)
        return p;
    upper = pt_load(p);
    if (!pte_valid(upper))
        return NULL;
    return pt_table(upper) + pte_l3_index(va);
}

/* Make a table and map it by the zero PTE p, unless another CPU has done so meanwhile. False: there
   is no memory. */
static bool table_make(struct page_table *pt, pte_t *p)
{
    pfn_t pfn;

    if (page_alloc(PA_ZERO, PAGE_T_PT, pt->home_rad, &pfn) != 0)
        return false;
    page_of(pfn)->owner = kseg_paddr(p).a;
    page_of(pfn)->aux = 0;
    page_of(pfn)->groups = 0;
    if (pt_cas(p, 0, pte_table(pfn)))
        __atomic_fetch_add(&pt->tables, 1, __ATOMIC_RELAXED);
    else
        page_free_zeroed(pfn);
    return true;
}

/* Does a level-1 or level-2 PTE map a table that is not shared? */
static inline bool maps_own_table(pte_t upper)
{
    return likely((upper & (PTE_V | PTE_SW_SHPT)) == PTE_V);
}

/* The table that p, of this level, maps, made when p is zero. NULL: it cannot be made, or is
   shared. The groups of a root are not looked at. */
static inline pte_t *table_behind(struct page_table *pt, pte_t *p, unsigned level)
{
    pte_t upper = pt_load(p);

    if (upper == 0) {
        if (!table_make(pt, p))
            return NULL;
        if (level == 2)
            pt_mark(p);
        upper = pt_load(p);
    }
    return maps_own_table(upper) ? pt_table(upper) : NULL;
}

/* pt_create() where it may have something to make. */
static pte_t *__attribute__((noinline)) create_slow(struct page_table *pt, vaddr_t va,
                                                    unsigned level)
{
    pte_t *p = (pte_t *)kseg_page(pt->root) + pte_l1_index(va);
    pte_t *table;

    if (level == 1)
        return p;
    table = table_behind(pt, p, 1);
    if (!table)
        return NULL;
    p = table + pte_l2_index(va);
    if (level == 2)
        return p;
    table = table_behind(pt, p, 2);
    if (!table)
        return NULL;
    pt_remember(pt, va, pte_pfn(pt_load(p)));
    return table + pte_l3_index(va);
}

pte_t *pt_create(struct page_table *pt, vaddr_t va, unsigned level)
{
    pte_t upper = pt_load((const pte_t *)kseg_page(pt->root) + pte_l1_index(va));

    if (likely(level == 3) && maps_own_table(upper)) {
        upper = pt_load(pt_table(upper) + pte_l2_index(va));
        if (maps_own_table(upper)) {
            pt_remember(pt, va, pte_pfn(upper));
            return pt_table(upper) + pte_l3_index(va);
        }
    } else if (level == 2 && maps_own_table(upper)) {
        return pt_table(upper) + pte_l2_index(va);
    }
    return create_slow(pt, va, level);
}

/* Index of the first PTE of a level-2 table, from `from` on, that maps a table; PTES_PER_PAGE: none
   does. upper: the PTE that maps the level-2 table. */
static unsigned next_valid(pte_t upper, unsigned from)
{
    const pte_t *l2 = pt_table(upper);
    uint64_t groups = UINT32_MAX;

    if (likely(!(upper & PTE_SW_SHPT)))
        groups = __atomic_load_n(&page_of(pte_pfn(upper))->groups, __ATOMIC_RELAXED);
    groups &= ~UINT64_C(0) << (from / PT_GROUP);
    for (; groups; groups &= groups - 1) {
        unsigned first = bit_lowest(groups) * PT_GROUP;

        for (unsigned i = MAX(first, from); i < first + PT_GROUP; i++)
            if (pte_valid(pt_load(&l2[i])))
                return i;
    }
    return PTES_PER_PAGE;
}

pte_t *pt_next_table(struct page_table *pt, vaddr_t *va, vaddr_t end)
{
    while (*va < end) {
        pte_t upper = pt_load((pte_t *)kseg_page(pt->root) + pte_l1_index(*va));
        vaddr_t next_l1 = (*va & ~(PTE_L1_SPAN - 1)) + PTE_L1_SPAN;

        if (pte_valid(upper)) {
            unsigned i = pte_l2_index(*va);

            if (likely(pte_valid(pt_load(pt_table(upper) + i))))
                return pt_table(upper) + i;
            if (((*va ^ (end - 1)) & ~(PTE_L2_SPAN - 1)) == 0) { /* most ranges are this short */
                *va = end;
                return NULL;
            }
            i = next_valid(upper, i);
            *va = (*va & ~(PTE_L1_SPAN - 1)) + i * PTE_L2_SPAN;
            if (i < PTES_PER_PAGE)
                return *va < end ? pt_table(upper) + i : NULL;
            continue;
        }
        *va = next_l1;
    }
    return NULL;
}

static inline bool table_is_empty_private(pte_t p)
{
    return pte_valid(p) && !(p & PTE_SW_SHPT) &&
           __atomic_load_n(&page_of(pte_pfn(p))->aux, __ATOMIC_RELAXED) == 0 &&
           __atomic_load_n(&page_of(pte_pfn(p))->share, __ATOMIC_RELAXED) == 0;
}

/* Clear the upper-level PTE p and put its empty table into g. pt->lock excludes reverse walks; in a
   dying address space there are none, and no CPU holds translations. */
static inline void table_drop(struct page_table *pt, pte_t *p, vaddr_t va, unsigned level,
                              struct tb_gather *g)
{
    pfn_t pfn = pte_pfn(*p);

    pt_forget(pt);
    if (pt->dying) {
        pt_set(p, 0);
    } else {
        ipl_t ipl = spin_lock(&pt->lock);

        pt_set(p, 0);
        spin_unlock(&pt->lock, ipl);
        tb_gather_table(g, va, level);
    }
    __atomic_fetch_sub(&pt->tables, 1, __ATOMIC_RELAXED);
    tb_gather_table_page(g, pfn);
}

void pt_prune_table(struct page_table *pt, pte_t *l2, vaddr_t va, struct tb_gather *g)
{
    if (table_is_empty_private(*l2))
        table_drop(pt, l2, va, 2, g);
}

/* Free the empty level-3 tables that the level-2 table of `upper` maps for [va, end). */
static void prune_level2(struct page_table *pt, pte_t upper, vaddr_t va, vaddr_t end,
                         struct tb_gather *g)
{
    vaddr_t base = va & ~(PTE_L1_SPAN - 1);
    uint32_t groups = __atomic_load_n(&page_of(pte_pfn(upper))->groups, __ATOMIC_RELAXED);
    unsigned i = pte_l2_index(va);

    end = MIN(end, base + PTE_L1_SPAN);
    while (base + i * PTE_L2_SPAN < end) {
        if (groups >> (i / PT_GROUP) & 1) {
            pt_prune_table(pt, pt_table(upper) + i, base + i * PTE_L2_SPAN, g);
            i++;
        } else {
            i = (i | (PT_GROUP - 1)) + 1;
        }
    }
}

bool pt_may_prune_upper(const struct page_table *pt, vaddr_t start, vaddr_t end)
{
    return ((start ^ (end - 1)) & ~(PTE_L1_SPAN - 1)) != 0 ||
           table_is_empty_private(
               pt_load((const pte_t *)kseg_page(pt->root) + pte_l1_index(start)));
}

void pt_prune_upper(struct page_table *pt, vaddr_t start, vaddr_t end, struct tb_gather *g)
{
    for (vaddr_t va = start; va < end; va = (va & ~(PTE_L1_SPAN - 1)) + PTE_L1_SPAN) {
        pte_t *l1 = (pte_t *)kseg_page(pt->root) + pte_l1_index(va);

        if (table_is_empty_private(*l1))
            table_drop(pt, l1, va, 1, g);
    }
}

void pt_prune(struct page_table *pt, vaddr_t start, vaddr_t end, struct tb_gather *g)
{
    for (vaddr_t va = start; va < end; va = (va & ~(PTE_L1_SPAN - 1)) + PTE_L1_SPAN) {
        pte_t *l1 = pt_lookup(pt, va, 1);
        pte_t upper = *l1;

        if (!pte_valid(upper) || (upper & PTE_SW_SHPT))
            continue;
        if (!table_is_empty_private(upper))
            prune_level2(pt, upper, va, end, g);
        if (table_is_empty_private(upper))
            table_drop(pt, l1, va, 1, g);
    }
}

bool pt_root_create(struct page_table *pt, unsigned rad)
{
    const pte_t *from = kseg_page(pfn_of(system_root_pfn));
    pte_t *to;

    pt->home_rad = (uint8_t)rad;
    pt->recent = PT_NO_TABLE;
    pt->lock = (struct spinlock)SPINLOCK_INIT("page tables", RANK_PTPAGE, IPL_ASTDEL);
    if (page_alloc(PA_ZERO, PAGE_T_PT, rad, &pt->root) != 0)
        return false;
    if (unlikely(tb_model_listens))
        tb_model_new_root(pt->root.n);
    to = kseg_page(pt->root);
    for (unsigned i = 0; i < LAYOUT_L1_SYSTEM_USED; i++)
        to[LAYOUT_L1_SYSTEM_FIRST + i] = from[LAYOUT_L1_SYSTEM_FIRST + i];
    to[LAYOUT_L1_SELFMAP] = pte_table(pt->root);
    page_of(pt->root)->owner = kseg_paddr(&to[LAYOUT_L1_SELFMAP]).a;
    page_of(pt->root)->aux = 0;
    page_of(pt->root)->groups = 0;
    pt->tables = 1;
    return true;
}

void pt_root_clear(struct page_table *pt)
{
    pte_t *root = kseg_page(pt->root);

    KASSERT(page_of(pt->root)->aux == 0, "a root that is freed maps no user page");
    for (unsigned i = 0; i < LAYOUT_L1_SYSTEM_USED; i++)
        root[LAYOUT_L1_SYSTEM_FIRST + i] = 0;
    root[LAYOUT_L1_SELFMAP] = 0;
    pt->tables--;
}
