/*
 * Page tables of section mappings: see the header. The address space's mutex is held exclusively by
 * all callers, so that nobody walks or fills the same stretch meanwhile.
 *
 * Two levels of sharing. A span (arch/alpha/hw/pte.h) is what a level-3 page maps, a block what a
 * level-2 page maps (8 GiB). The level-2 page of a block is the section's own, shared by one
 * level-1 PTE with PTE_SW_SHPT, exactly where one entry covers the block whole, with an offset in
 * the section of whole blocks: the PTEs in that page are then those that the mapping wants.
 * Everywhere else the process has a level-2 page of its own with PTEs that point to the section's
 * level-3 pages, for an ALLOC section computed (the pages are contiguous) with the hints that the
 * mapping's address allows, for a FLUID section copied as far as they are there; a fault picks up
 * the rest.
 *
 * Hints in a shared level-2 page are those of the section's own offsets. They are right in every
 * mapping that shares it: address and offset are the same modulo 8 GiB, and the largest block that
 * a hint describes, 512 level-3 pages, is 4 GiB of them.
 *
 * Nothing here writes into a shared page. A process that lets go of a part of a block leaves the
 * shared page first (section_tables_unshare): its new page holds the same PTEs, so that it does not
 * matter which of the two a walk on another CPU takes, and the level-1 PTE changes in one store.
 * What translation buffers hold of the old page's address in page-table space goes with the flush.
 * A FLUID section's level-3 page that comes into the shared page after the copy is picked up.
 */
#include "mm/section/section_pt.h"

#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "mm/pt/gh.h"
#include "mm/section/shpt.h"

#define BLOCK PTE_L1_SPAN /* what a level-2 page maps */

/* A new table page, zero but for n PTEs from index on, which the caller fills at once: nothing is
 * written twice. */
static pte_t *table_begin(struct aspace *as, const pte_t *upper, unsigned index, uint64_t n)
{
    pte_t *table;
    pfn_t pfn;

    if (page_alloc(0, PAGE_T_PT, as->pt.home_rad, &pfn) != 0)
        return NULL;
    page_of(pfn)->owner = kseg_paddr(upper).a;
    page_of(pfn)->aux = (uint32_t)n;
    table = kseg_page(pfn);
    memset(table, 0, index * sizeof(pte_t));
    memset(table + index + n, 0, (PTES_PER_PAGE - index - n) * sizeof(pte_t));
    return table;
}

/* Put it behind the zero PTE of the level above. */
static void table_install(struct aspace *as, pte_t *upper, const pte_t *table)
{
    if (!pt_cas(upper, 0, pte_table(paddr_to_pfn(kseg_paddr(table)))))
        panic("a page-table entry changes under the exclusive mutex");
    __atomic_fetch_add(&as->pt.tables, 1, __ATOMIC_RELAXED);
}

/* A FLUID mapping keeps its level-2 page also while nothing in it is valid: its faults must not
 * need memory of their own. The page counts such mappings. */
static void pin_table(const pte_t *l2, int delta)
{
    __atomic_fetch_add(&pt_page_of(l2)->share, (uint32_t)delta, __ATOMIC_RELAXED);
}

/* Copy the level-2 PTEs of n spans of a FLUID section, as far as their level-3 pages are there. */
static void copy_shared(const struct section *shpt, pte_t *l2, uint64_t span, uint64_t n)
{
    int copied = 0;

    while (n) {
        const pte_t *from = shpt_l2_pte(shpt, span);
        uint64_t run = MIN(n, (uint64_t)PTES_PER_PAGE - span % PTES_PER_PAGE);

        for (uint64_t i = 0; i < run; i++) {
            pte_t pte = __atomic_load_n(&from[i], __ATOMIC_RELAXED);

            l2[i] = pte; /* zero or valid for good; was zero */
            copied += pte != 0;
        }
        l2 += run;
        span += run;
        n -= run;
    }
    if (copied)
        pt_count(l2 - 1, copied);
}

/* Level-2 PTEs for n spans at va, all in one level-2 page. 0 or -ENOMEM. */
static int fill_shared(struct aspace *as, const struct section *shpt, vaddr_t va, uint64_t span,
                       uint64_t n)
{
    pte_t *l1 = pt_lookup(&as->pt, va, 1), *l2;
    unsigned index = pte_l2_index(va);
    pte_t bits = pte_table(PFN_NONE) | PTE_SW_SHPT;

    if (shpt->first.n && *l1 == 0 && n == PTES_PER_PAGE) {
        pte_t *table = table_begin(as, l1, index, n);

        if (!table)
            return -ENOMEM;
        gh_fill(table + index, n, va >> 23, pfn_add(shpt->first, span), bits);
        table_install(as, l1, table);
        return 0;
    }
    l2 = pt_create(&as->pt, va, 2);
    if (!l2)
        return -ENOMEM;
    if (shpt->first.n) {
        gh_fill(l2, n, va >> 23, pfn_add(shpt->first, span), bits);
        pt_count(l2, (int)n);
    } else {
        copy_shared(shpt, l2, span, n);
        pin_table(l2, 1);
    }
    return 0;
}

/* One level-1 PTE for the block at va, if [va, end) holds it whole and in step with the section's
 * own level-2 pages. A table that lies there is empty: the process then uses that. */
static bool share_block(struct aspace *as, const struct section *shpt, const struct map_entry *e,
                        vaddr_t va, vaddr_t end)
{
    uint64_t page = section_page_at(e, va);

    return va % BLOCK == 0 && end - va >= BLOCK && page % (BLOCK / PAGE_SIZE) == 0 &&
           pt_cas(pt_lookup(&as->pt, va, 1), 0, shpt_l1_pte(shpt, page / PTE_SPAN_PAGES));
}

/* Fill from *at on up to end; *at: how far it came. 0 or -ENOMEM. */
static int map_shared(struct aspace *as, const struct map_entry *e, vaddr_t *at, vaddr_t end)
{
    const struct section *shpt = e->smap->section->related;
    vaddr_t va;

    while ((va = *at) < end) {
        if (share_block(as, shpt, e, va, end)) {
            *at += BLOCK;
            continue;
        }

        uint64_t left = (end - va + PTE_L2_SPAN - 1) / PTE_L2_SPAN;
        uint64_t n = MIN(left, (uint64_t)PTES_PER_PAGE - pte_l2_index(va));

        if (fill_shared(as, shpt, va, section_page_at(e, va) / PTE_SPAN_PAGES, n) != 0)
            return -ENOMEM;
        *at += n * PTE_L2_SPAN;
    }
    /* Acquire: of level-3 pages whose PTEs were copied. Release: before this space is loaded. */
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    return 0;
}

/* Level-3 PTEs for n pages at va, all in one level-3 page, their frames contiguous. 0 or -ENOMEM.
 */
static int fill_private(struct aspace *as, const struct map_entry *e, vaddr_t va, uint64_t n)
{
    pfn_t pfn = section_frame(e->smap->section, section_page_at(e, va));
    pte_t *l2 = pt_create(&as->pt, va, 2), *l3;

    if (!l2)
        return -ENOMEM;
    if (*l2 == 0) {
        unsigned index = pte_l3_index(va);
        pte_t *table = table_begin(as, l2, index, n);

        if (!table)
            return -ENOMEM;
        gh_fill(table + index, n, va >> PAGE_SHIFT, pfn, section_private_bits(e));
        table_install(as, l2, table);
        return 0;
    }
    l3 = pt_lookup(&as->pt, va, 3);
    if (!l3)
        return -ENOMEM;
    gh_fill(l3, n, va >> PAGE_SHIFT, pfn, section_private_bits(e));
    pt_count(l3, (int)n);
    return 0;
}

/* ALLOC section, private tables: one sweep, hints by this mapping's addresses. */
static int map_private_alloc(struct aspace *as, const struct map_entry *e, vaddr_t *at, vaddr_t end)
{
    vaddr_t va;

    while ((va = *at) < end) {
        uint64_t n = MIN((end - va) / PAGE_SIZE, PTE_SPAN_PAGES - pte_l3_index(va));

        n = MIN(n, section_run(e->smap->section, section_page_at(e, va)));
        if (fill_private(as, e, va, n) != 0)
            return -ENOMEM;
        *at += n * PAGE_SIZE;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return 0;
}

/* Zero n PTEs of one table, from va on; keeps the table's count. all: none of them is zero. */
static void clear_run(pte_t *p, vaddr_t va, uint64_t n, bool all)
{
    uint64_t cleared = n;

    if (!all) {
        cleared = 0;
        for (uint64_t i = 0; i < n; i++)
            cleared += pte_maps_page(va, p[i]);
    }
    if (cleared) {
        memset(p, 0, n * sizeof(pte_t));
        pt_count(p, -(int)cleared);
    }
}

/* Everything that a CPU may know of the address space, page-table space included: a level-2 PTE
 * stands for 8 MiB of it. */
static void gather_all(struct tb_gather *g) { g->nvas = TB_GATHER_VAS + 1; }

/* The table behind *upper holds nothing but this mapping: it goes as it is, its PTEs with it. */
static void drop_table(struct aspace *as, pte_t *upper, struct tb_gather *g)
{
    pfn_t pfn = pte_pfn(*upper);
    ipl_t ipl = spin_lock(&as->pt.lock); /* keeps tables for who walks without the mutex */

    pt_set(upper, 0);
    spin_unlock(&as->pt.lock, ipl);
    __atomic_fetch_sub(&as->pt.tables, 1, __ATOMIC_RELAXED);
    gather_all(g); /* before the page is handed over: it may be flushed and freed at once */
    tb_gather_page(g, pfn);
}

/* n PTEs of a level from va on, in one table. A private table that they fill goes as it is, the
 * rest is cleared for pt_prune. */
static void clear_part(struct aspace *as, const struct map_entry *e, vaddr_t va, uint64_t n,
                       struct tb_gather *g)
{
    bool all = section_is_alloc(e->smap->section);
    pte_t *p = pt_lookup(&as->pt, va, e->smap->shared ? 2 : 3);

    if (!p)
        return; /* private, FLUID, and nothing was touched there */
    if (e->smap->shared && !all)
        pin_table(p, -1);
    if (g && all && n == PTES_PER_PAGE)
        drop_table(as, pt_lookup(&as->pt, va, e->smap->shared ? 1 : 2), g);
    else
        clear_run(p, va, n, all);
}

/* The process leaves the shared level-2 page of the block at va. No reverse walk comes by here (the
 * block holds nothing but this section), so that pt.lock is not needed. */
static void clear_block(struct aspace *as, vaddr_t va, vaddr_t end)
{
    KASSERT(va % BLOCK == 0 && end - va >= BLOCK, "a shared level-2 page is left as a whole");
    pt_set(pt_lookup(&as->pt, va, 1), 0);
}

/* Clear [va, end) of the entry. g: tables that become superfluous may go. NULL: they are filled
 * again. */
static void clear_tables(struct aspace *as, const struct map_entry *e, vaddr_t va, vaddr_t end,
                         struct tb_gather *g)
{
    uint64_t span = e->smap->shared ? PTE_L2_SPAN : PAGE_SIZE;

    while (va < end) {
        if (e->smap->shared && section_block_shared(as, va)) {
            clear_block(as, va, end);
            va += BLOCK;
            continue;
        }

        uint64_t index = e->smap->shared ? pte_l2_index(va) : pte_l3_index(va);
        uint64_t n = MIN((end - va + span - 1) / span, (uint64_t)PTES_PER_PAGE - index);

        clear_part(as, e, va, n, g);
        va += n * span;
    }
}

/* Free what is empty of the entry's own tables. A shared level-3 page is nobody's to free, so that
   a look at one of its level-2 PTEs in each level-2 page is enough. */
static void prune(struct aspace *as, const struct map_entry *e, struct tb_gather *g)
{
    if (!e->smap->shared) {
        pt_prune(&as->pt, e->start, e->end, g);
        return;
    }
    for (vaddr_t va = e->start; va < e->end; va = (va & ~(PTE_L1_SPAN - 1)) + PTE_L1_SPAN)
        pt_prune(&as->pt, va, va + 1, g);
}

/* What was filled from the entry's start up to `end` goes again. */
static void take_down(struct aspace *as, const struct map_entry *e, vaddr_t end)
{
    struct tb_gather g;

    tb_gather_begin(&g, &as->pt.loaded, TB_UNMAP);
    clear_tables(as, e, e->start, end, &g);
    gather_all(&g);
    prune(as, e, &g);
    tb_gather_flush(&g);
}

void section_tables_take_down(struct aspace *as, const struct map_entry *e)
{
    take_down(as, e, e->end);
}

/* Fill from *at on up to end; *at: how far it came. 0 or -ENOMEM. */
static int fill(struct aspace *as, const struct map_entry *e, vaddr_t *at, vaddr_t end)
{
    if (e->smap->shared)
        return map_shared(as, e, at, end);
    return section_is_alloc(e->smap->section) ? map_private_alloc(as, e, at, end) : 0;
}

int section_tables_fill(struct aspace *as, const struct map_entry *e)
{
    vaddr_t at = e->start;
    int err = fill(as, e, &at, e->end);

    if (err)
        take_down(as, e, at);
    return err;
}

void section_tables_unshare(struct aspace *as, const struct map_entry *e, vaddr_t va, pfn_t table)
{
    const struct section *shpt = e->smap->section->related;
    vaddr_t block = va & ~(BLOCK - 1);
    const pte_t *from = shpt_l2_pte(shpt, section_page_at(e, block) / PTE_SPAN_PAGES);
    pte_t *l1 = pt_lookup(&as->pt, va, 1), *to = kseg_page(table);
    struct tb_gather g;
    uint32_t n = 0;

    for (unsigned i = 0; i < PTES_PER_PAGE; i++) {
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
        n += to[i] != 0;
    }
    page_of(table)->owner = kseg_paddr(l1).a;
    page_of(table)->aux = n;
    if (!section_is_alloc(e->smap->section))
        pin_table(to, 1);
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* of the level-3 pages that were copied */
    pt_store(l1, pte_table(table));
    __atomic_fetch_add(&as->pt.tables, 1, __ATOMIC_RELAXED);
    tb_gather_begin(&g, &as->pt.loaded, TB_PTPAGE);
    gather_all(&g);
    tb_gather_flush(&g);
}

void section_tables_protect(struct aspace *as, struct map_entry *e, unsigned prot)
{
    vaddr_t at = e->start;
    struct tb_gather g;

    tb_gather_begin(&g, &as->pt.loaded, TB_PROTECT);
    clear_tables(as, e, e->start, e->end, NULL);
    gather_all(&g);
    tb_gather_flush(&g);
    e->prot = (uint8_t)prot;
    if (fill(as, e, &at, e->end) != 0)
        panic("page tables that were there are missing");
}

void section_tables_cut(struct aspace *as, const struct map_entry *e, vaddr_t va)
{
    uint64_t span = e->smap->shared ? PTE_L2_SPAN : PAGE_SIZE;
    uint64_t block = pte_gh_pages(3) * span;
    vaddr_t low = MAX(e->start, va & ~(block - 1));
    vaddr_t high = MIN(e->end, (va & ~(block - 1)) + block);
    vaddr_t at = low;
    struct tb_gather g;

    if (!section_is_alloc(e->smap->section)) { /* no hints; the two sides keep their page each */
        if (e->smap->shared && va % BLOCK != 0)
            pin_table(pt_lookup(&as->pt, va, 2), 1);
        return;
    }
    if (va % block == 0)
        return;
    tb_gather_begin(&g, &as->pt.loaded, TB_UNMAP);
    clear_tables(as, e, low, high, NULL);
    gather_all(&g);
    tb_gather_flush(&g);
    if (fill(as, e, &at, va) != 0 || fill(as, e, &at, high) != 0)
        panic("page tables that were there are missing");
}
