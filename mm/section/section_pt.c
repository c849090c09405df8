/*
 * Page tables of section mappings.
 *
 * Terms: a span (arch/alpha/hw/pte.h) is what a level-3 page maps, 8 MiB; a block is what a level-2
 * page maps, 8 GiB.
 *
 * Two levels of sharing. Where one map entry covers a whole block, at an offset in the section that
 * is a multiple of the block size, the process uses the section's own level-2 page: its level-1 PTE
 * has PTE_SW_SHPT and points to that page, whose PTEs are then exactly those that the mapping
 * needs. Everywhere else the process has a level-2 page of its own with PTEs that point to the
 * section's level-3 pages. For an ALLOC section these PTEs are computed, because the level-3 pages
 * are contiguous, with the granularity hints that the mapping's address allows. For a FLUID section
 * the PTEs that exist are copied; faults add the others.
 *
 * The hints in a shared level-2 page are computed from offsets in the section. They are correct in
 * every mapping that shares the page, because address and offset are equal modulo 8 GiB and the
 * largest hint, 512 level-3 pages, covers 4 GiB.
 *
 * Nothing here writes to a shared page. Before a process unmaps part of a block, it replaces the
 * shared level-2 page by one of its own with the same PTEs (section_tables_unshare). The level-1
 * PTE changes in one store, and a walk on another CPU may use either page. Translations of the old
 * page in page-table space are dropped by the flush that follows. If a fault of another process
 * adds a level-3 page of a FLUID section to the shared page after the copy, this process picks it
 * up by a fault of its own.
 *
 * Lock: the address space's mutex is held exclusively by all callers, so no other thread walks or
 * fills in the same range. Only allocations of page-table pages can fail.
 */
#include "mm/section/section_pt.h"

#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/sched/thread.h"
#include "mm/pt/gh.h"
#include "mm/section/shpt.h"

#define BLOCK PTE_L1_SPAN /* what a level-2 page maps */

/* The end of the span that contains va. */
static vaddr_t span_end(vaddr_t va) { return (va & ~(PTE_L2_SPAN - 1)) + PTE_L2_SPAN; }

/* How many spans from va on, in [va, end) and in one level-2 page, the entry maps by shared level-3
   pages. It does so with the span at va. */
static uint64_t shared_spans(const struct map_entry *e, vaddr_t va, vaddr_t end)
{
    uint64_t left = end - va + (e->flags & MAPF_HUGE ? 0 : PTE_L2_SPAN - 1);

    return MIN(left / PTE_L2_SPAN, (uint64_t)PTES_PER_PAGE - pte_l2_index(va));
}

/* Allocate a table page. All PTEs are zero except the n from index on, which the caller fills in
   before it installs the page; they are left as they are, so that nothing is written twice. NULL:
   out of memory. */
static pte_t *table_begin(struct aspace *as, const pte_t *upper, unsigned index, uint64_t n)
{
    pte_t *table;
    pfn_t pfn;

    if (page_alloc(0, PAGE_T_PT, as->pt.home_rad, &pfn) != 0)
        return NULL;
    page_of(pfn)->owner = kseg_paddr(upper).a;
    page_of(pfn)->aux = (uint32_t)n;
    page_of(pfn)->groups = pt_groups(NULL, PTES_PER_PAGE);
    table = kseg_page(pfn);
    memset(table, 0, index * sizeof(pte_t));
    memset(table + index + n, 0, (PTES_PER_PAGE - index - n) * sizeof(pte_t));
    return table;
}

/* Point the PTE of the level above, which is zero, to the table. */
static void table_install(struct aspace *as, pte_t *upper, const pte_t *table)
{
    if (!pt_cas(upper, 0, pte_table(paddr_to_pfn(kseg_paddr(table)))))
        panic("a page-table entry changes under the exclusive mutex");
    __atomic_fetch_add(&as->pt.tables, 1, __ATOMIC_RELAXED);
}

/* A FLUID mapping keeps its level-2 page even while no PTE in it is valid, because its faults must
   not have to allocate one. page.share counts the mappings that keep the page. */
static void pin_table(const pte_t *l2, int delta)
{
    __atomic_fetch_add(&pt_page_of(l2)->share, (uint32_t)delta, __ATOMIC_RELAXED);
}

/* How many of four PTEs map something; va: an address of theirs, for the panic if one is of no form
   that can be there. Most tables are nearly empty or full, so that the first two tests decide. */
static inline uint64_t count_four(vaddr_t va, const pte_t p[4])
{
    if ((p[0] | p[1] | p[2] | p[3]) == 0)
        return 0;
    if (p[0] & p[1] & p[2] & p[3] & PTE_V)
        return 4;
    return (uint64_t)pte_maps_page(va, p[0]) + pte_maps_page(va, p[1]) + pte_maps_page(va, p[2]) +
           pte_maps_page(va, p[3]);
}

static inline void load_four(pte_t to[4], const pte_t *from)
{
    to[0] = __atomic_load_n(&from[0], __ATOMIC_RELAXED);
    to[1] = __atomic_load_n(&from[1], __ATOMIC_RELAXED);
    to[2] = __atomic_load_n(&from[2], __ATOMIC_RELAXED);
    to[3] = __atomic_load_n(&from[3], __ATOMIC_RELAXED);
}

/* Copy n level-2 PTEs of a FLUID section, the first of which is for va, over PTEs that are zero. A
   valid PTE of the section never changes. Returns how many were valid. */
static uint64_t copy_run(pte_t *to, const pte_t *from, vaddr_t va, uint64_t n)
{
    uint64_t copied = 0;

    for (; n >= 4; n -= 4, to += 4, from += 4) {
        pte_t p[4];
        uint64_t valid;

        load_four(p, from);
        valid = count_four(va, p);
        if (valid) {
            to[0] = p[0];
            to[1] = p[1];
            to[2] = p[2];
            to[3] = p[3];
        }
        copied += valid;
    }
    for (; n; n--) {
        *to = __atomic_load_n(from++, __ATOMIC_RELAXED);
        copied += pte_maps_page(va, *to++);
    }
    return copied;
}

/* Copy the level-2 PTEs of n spans of a FLUID section, the first of which is at va; they are zero
   where there is no level-3 page. */
static void copy_shared(const struct section *shpt, pte_t *l2, vaddr_t va, uint64_t span,
                        uint64_t n)
{
    uint64_t copied = 0;

    while (n) {
        uint64_t run = MIN(n, (uint64_t)PTES_PER_PAGE - span % PTES_PER_PAGE);

        copied += copy_run(l2, shpt_l2_pte(shpt, span), va, run);
        l2 += run;
        span += run;
        n -= run;
    }
    if (copied)
        pt_count(l2 - 1, (int)copied);
}

/* Fill in level-2 PTEs for n spans at va, all in one level-2 page. 0 or -ENOMEM. */
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
        copy_shared(shpt, l2, va, span, n);
        if (!section_is_alloc(shpt->related))
            pin_table(l2, 1);
    }
    return 0;
}

/* Share the block at va with one level-1 PTE, if [va, end) covers it and the offset in the section
   is a multiple of the block size. False if not, or if the process has a level-2 page there, which
   is then empty and is used instead. */
static bool share_block(struct aspace *as, const struct section *shpt, const struct map_entry *e,
                        vaddr_t va, vaddr_t end)
{
    uint64_t page = section_page_at(e, va);

    return va % BLOCK == 0 && end - va >= BLOCK && page % (BLOCK / PAGE_SIZE) == 0 &&
           pt_cas(pt_lookup(&as->pt, va, 1), 0, shpt_l1_pte(shpt, page / PTE_SPAN_PAGES));
}

/* Fill in level-3 PTEs for n pages at va, all in one level-3 page and with contiguous frames. 0 or
   -ENOMEM. */
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
        pt_mark(l2);
        return 0;
    }
    l3 = pt_lookup(&as->pt, va, 3);
    if (!l3)
        return -ENOMEM;
    gh_fill(l3, n, va >> PAGE_SHIFT, pfn, section_private_bits(e));
    pt_count(l3, (int)n);
    pt_mark_range(l3, n);
    return 0;
}

/* ALLOC section, private tables: fill in all PTEs for [*at, end), with the hints that this
   mapping's addresses allow, advancing *at past those that are done. 0 or -ENOMEM. */
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

/* How many of n PTEs, the first of which maps va, are valid. */
static uint64_t count_run(const pte_t *p, vaddr_t va, uint64_t n)
{
    uint64_t count = 0;

    for (; n >= 4; n -= 4, p += 4)
        count += count_four(va, p);
    for (; n; n--)
        count += pte_maps_page(va, *p++);
    return count;
}

/* Fill in PTEs for [*at, end), advancing *at past those that are done. 0 or -ENOMEM. */
static int map_shared(struct aspace *as, const struct map_entry *e, vaddr_t *at, vaddr_t end)
{
    const struct section *shpt = e->smap->section->related;
    vaddr_t va;

    while ((va = *at) < end) {
        if (share_block(as, shpt, e, va, end)) {
            *at += BLOCK;
            continue;
        }

        if (!section_span_shared(e, va)) {
            if (map_private_alloc(as, e, at, MIN(end, span_end(va))) != 0)
                return -ENOMEM;
            continue;
        }

        uint64_t n = shared_spans(e, va, end);

        if (fill_shared(as, shpt, va, section_page_at(e, va) / PTE_SPAN_PAGES, n) != 0)
            return -ENOMEM;
        *at += n * PTE_L2_SPAN;
    }
    /* Acquire: the contents of level-3 pages whose PTEs were copied. Release: the PTEs, before a
       CPU loads this address space. */
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    return 0;
}

/* Clear n PTEs of one table, the first of which maps va, and update the table's count of PTEs.
   all: none of them is zero. */
static void clear_run(pte_t *p, vaddr_t va, uint64_t n, bool all)
{
    uint64_t cleared = all ? n : count_run(p, va, n);

    if (cleared) {
        memset(p, 0, n * sizeof(pte_t));
        pt_count(p, -(int)cleared);
    }
}

/* Flush all translations of the address space, page-table space included: a level-2 PTE maps 8 MiB,
   too many addresses to flush one by one. */
static void gather_all(struct tb_gather *g) { g->nvas = TB_GATHER_VAS + 1; }

/* Free the table that *upper points to, with the PTEs in it; all of them belong to this mapping. */
static void drop_table(struct aspace *as, pte_t *upper, struct tb_gather *g)
{
    pfn_t pfn = pte_pfn(*upper);
    ipl_t ipl;

    pt_forget(&as->pt);
    ipl = spin_lock(&as->pt.lock); /* walks without the mutex hold it */
    pt_set(upper, 0);
    spin_unlock(&as->pt.lock, ipl);
    __atomic_fetch_sub(&as->pt.tables, 1, __ATOMIC_RELAXED);
    gather_all(g); /* first, since tb_gather_page() may flush and free at once */
    tb_gather_page(g, pfn);
}

/* Clear the entry's n PTEs in one table from va on: level 2 if its tables there are shared, else
   level 3. A private table that they fill is freed whole; what is cleared is left for pt_prune().
   */
static void clear_part(struct aspace *as, const struct map_entry *e, vaddr_t va, uint64_t n,
                       bool shared, struct tb_gather *g)
{
    bool all = section_is_alloc(e->smap->section);
    pte_t *p = pt_lookup(&as->pt, va, shared ? 2 : 3);

    if (!p)
        return; /* private tables, FLUID, and no page was accessed there */
    if (shared && !all)
        pin_table(p, -1);
    if (g && all && n == PTES_PER_PAGE)
        drop_table(as, pt_lookup(&as->pt, va, shared ? 1 : 2), g);
    else
        clear_run(p, va, n, all);
}

/* Clear the level-1 PTE by which the process shares the level-2 page of the block at va. pt.lock is
   not needed: the reverse walk looks for pages of objects, and this block maps only the section. */
static void clear_block(struct aspace *as, vaddr_t va, vaddr_t end)
{
    KASSERT(va % BLOCK == 0 && end - va >= BLOCK, "a shared level-2 page is left as a whole");
    pt_set(pt_lookup(&as->pt, va, 1), 0);
}

/* Clear the entry's PTEs for [va, end). With g, tables that they fill may be freed; without (NULL)
   all tables stay, to be filled in again. */
static void clear_tables(struct aspace *as, const struct map_entry *e, vaddr_t va, vaddr_t end,
                         struct tb_gather *g)
{
    while (va < end) {
        if (e->smap->shared && section_block_shared(as, va)) {
            clear_block(as, va, end);
            va += BLOCK;
        } else if (section_span_shared(e, va)) {
            uint64_t n = shared_spans(e, va, end);

            clear_part(as, e, va, n, true, g);
            va += n * PTE_L2_SPAN;
        } else {
            uint64_t n = (MIN(end, span_end(va)) - va) / PAGE_SIZE;

            clear_part(as, e, va, n, false, g);
            va += n * PAGE_SIZE;
        }
    }
}

/* Free the private tables of the entry that are empty. With shared tables only level-2 pages can
   become empty, since the level-3 pages are the section's, so pt_prune() is called for one address
   in each level-2 page; and the level-3 pages of parts of a span at both ends (huge pages), that of
   the end first, since the level-2 page is empty without it. */
static void prune(struct aspace *as, const struct map_entry *e, struct tb_gather *g)
{
    if (!e->smap->shared) {
        pt_prune(&as->pt, e->start, e->end, g);
        return;
    }
    pt_prune(&as->pt, e->end - PAGE_SIZE, e->end, g);
    for (vaddr_t va = e->start; va < e->end; va = (va & ~(PTE_L1_SPAN - 1)) + PTE_L1_SPAN)
        pt_prune(&as->pt, va, va + 1, g);
}

/* Clear and flush what was filled in from the entry's start up to `end`, and free empty tables. No
   CPU has the root of a dying space loaded: there is nothing to invalidate. */
static void take_down(struct aspace *as, const struct map_entry *e, vaddr_t end)
{
    struct tb_gather *dying = as->gather, g;

    if (dying) {
        clear_tables(as, e, e->start, end, dying);
        prune(as, e, dying);
        dying->nvas = 0;
        return;
    }
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

/* Fill in PTEs for [*at, end), advancing *at past those that are done. 0 or -ENOMEM. */
static int fill(struct aspace *as, const struct map_entry *e, vaddr_t *at, vaddr_t end)
{
    if (e->smap->shared)
        return map_shared(as, e, at, end);
    if (section_is_alloc(e->smap->section))
        return map_private_alloc(as, e, at, end);
    *at = end; /* faults fill in the PTEs */
    return 0;
}

int section_tables_fill(struct aspace *as, const struct map_entry *e)
{
    vaddr_t at = e->start;
    int err = 0;

    while (!err && at < e->end) { /* shared tables take too little time to stop there */
        vaddr_t upto = e->smap->shared ? e->end : MIN(e->end, (at & ~(BLOCK - 1)) + BLOCK);

        err = thread_killed() ? -EINTR : fill(as, e, &at, upto);
    }
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
    page_of(table)->groups = pt_groups(NULL, PTES_PER_PAGE);
    if (!section_is_alloc(e->smap->section))
        pin_table(to, 1);
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* contents of level-3 pages whose PTEs were copied */
    pt_store(l1, pte_table(table));
    __atomic_fetch_add(&as->pt.tables, 1, __ATOMIC_RELAXED);
    tb_gather_begin(&g, &as->pt.loaded, TB_PTPAGE);
    gather_all(&g);
    tb_gather_flush(&g);
}

/* Point the level-2 PTE of the span at va to `table`, filled in with the entry's private PTEs. The
   caller flushes; until then a walk may use either table, which map the same. */
static void own_span(struct aspace *as, const struct map_entry *e, vaddr_t va, pfn_t table)
{
    vaddr_t span = va & ~(PTE_L2_SPAN - 1);
    pte_t *l2 = pt_lookup(&as->pt, span, 2), *l3 = kseg_page(table);
    uint64_t page = section_page_at(e, span);

    for (unsigned i = 0; i < PTES_PER_PAGE; i += HUGE_PAGES)
        gh_fill(l3 + i, HUGE_PAGES, (span >> PAGE_SHIFT) + i,
                section_frame(e->smap->section, page + i), section_private_bits(e));
    page_of(table)->owner = kseg_paddr(l2).a;
    page_of(table)->aux = PTES_PER_PAGE;
    page_of(table)->groups = pt_groups(NULL, PTES_PER_PAGE);
    pt_store(l2, pte_table(table));
    pt_mark(l2); /* it mapped the section's table, which needs no mark */
    __atomic_fetch_add(&as->pt.tables, 1, __ATOMIC_RELAXED);
}

static void flush_tables(struct aspace *as)
{
    struct tb_gather g;

    tb_gather_begin(&g, &as->pt.loaded, TB_PTPAGE);
    gather_all(&g);
    tb_gather_flush(&g);
}

void section_tables_own_span(struct aspace *as, const struct map_entry *e, vaddr_t va, pfn_t table)
{
    own_span(as, e, va, table);
    flush_tables(as);
}

/* A stock of table pages: each begins with the number of the next. */
static pfn_t stock_take(pfn_t *stock)
{
    pfn_t pfn = *stock;

    *stock = *(pfn_t *)kseg_page(pfn);
    return pfn;
}

static int stock_fill(const struct aspace *as, uint64_t n, pfn_t *stock)
{
    int err = 0;
    pfn_t pfn;

    *stock = PFN_NONE;
    while (!err && n--) {
        err = thread_killed() ? -EINTR : page_alloc(0, PAGE_T_PT, as->pt.home_rad, &pfn);
        if (!err) {
            *(pfn_t *)kseg_page(pfn) = *stock;
            *stock = pfn;
        }
    }
    while (err && stock->n)
        page_free(stock_take(stock));
    return err;
}

int section_tables_own(struct aspace *as, struct map_entry *e)
{
    struct section *s = e->smap->section;
    vaddr_t first = (e->start + PTE_L2_SPAN - 1) & ~(PTE_L2_SPAN - 1);
    vaddr_t last = e->end & ~(PTE_L2_SPAN - 1);
    uint64_t n = last > first ? (last - first) / PTE_L2_SPAN : 0;
    pfn_t stock;
    int err;
    ipl_t ipl;

    for (vaddr_t va = first; va < last; va = (va & ~(BLOCK - 1)) + BLOCK)
        n += section_block_shared(as, va);
    err = stock_fill(as, n, &stock);
    if (err)
        return err;
    for (vaddr_t va = first; va < last; va += PTE_L2_SPAN) {
        if (section_block_shared(as, va))
            section_tables_unshare(as, e, va, stock_take(&stock));
        own_span(as, e, va, stock_take(&stock));
    }
    flush_tables(as);
    ipl = spin_lock(&s->lock);
    e->smap->shared = false;
    spin_unlock(&s->lock, ipl);
    return 0;
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

    if (e->flags & MAPF_HUGE)
        return; /* level-2 PTEs have no hints, and huge pages are not cut */
    if (!section_is_alloc(e->smap->section)) { /* no hints; both mappings keep the level-2 page */
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
