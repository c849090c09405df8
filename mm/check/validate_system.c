/*
 * The self-check of mapped system space (kernel stacks, paged pool, windows) and of nonpaged pool:
 * the system root is walked down, and the pages of the pool are found by their database entries.
 */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/string.h"
#include "mm/check/validate_private.h"
#include "mm/pool/pool.h"
#include "mm/pt/gh.h"
#include "mm/pt/kstack.h"
#include "mm/pt/pt.h"
#include "mm/pt/pt_system.h"
#include "mm/pt/vhpt.h"
#include "mm/space/aspace.h"

#define SLOT_PAGES (KSTACK_PAGES + 1)

struct system_walk {
    struct validate *v;
    uint64_t kstack_pages;
};

static bool is_kstack(vaddr_t va)
{
    return va >= LAYOUT_KSTACK_BASE && va < LAYOUT_KSTACK_BASE + LAYOUT_L1_SPAN;
}

static void kstack_pte(struct system_walk *w, pte_t pte, vaddr_t va)
{
    w->kstack_pages++;
    validate_active(w->v, pte_pfn(pte), VALIDATE_KSTACK, PAGE_T_KSTACK, 0, 0);
    if ((va - LAYOUT_KSTACK_BASE) / PAGE_SIZE % SLOT_PAGES == 0)
        validate_error(w->v, "the guard page of a kernel stack at %lx is mapped", va);
}

static bool is_window(vaddr_t va)
{
    return va >= LAYOUT_WINDOW_BASE && va < LAYOUT_WINDOW_BASE + LAYOUT_L1_SPAN;
}

/* A page in the window of a driver: a frame of a reservation, which is counted with the
   reservation, or a page that was allocated from a reservation's promise. */
static void window_pte(struct system_walk *w, const pte_t *p)
{
    pfn_t pfn = pte_pfn(*p);

    if (page_entry_valid(pfn) && page_of(pfn)->state == PAGE_RESERVED)
        return;
    validate_active(w->v, pfn, VALIDATE_SYSTEM, PAGE_T_SYSTEM, kseg_paddr(p).a, 0);
    w->v->promised--; /* the whole promise of its reservation is added elsewhere */
}

static void level3_table(struct system_walk *w, const pte_t *upper, vaddr_t va)
{
    const pte_t *table = pt_table(*upper);
    struct gh_count hints = {.errors = 0};
    uint64_t ptes = 0;

    gh_count(table, PTES_PER_PAGE, va >> PAGE_SHIFT, &hints); /* windows have some */
    if (hints.errors)
        validate_error(w->v, "%lu system PTEs with wrong hints from %lx on", hints.errors, va);
    for (unsigned i = 0; i < PTES_PER_PAGE; i++, va += PTE_L3_SPAN) {
        if (table[i] == 0)
            continue;
        ptes++;
        if (!pte_valid(table[i])) {
            if (pte_form(table[i]) != PTE_FORM_DZRO)
                validate_error(w->v, "system PTE %lx at %lx", table[i], va);
        } else if (is_kstack(va)) {
            kstack_pte(w, table[i], va);
        } else if (is_window(va)) {
            window_pte(w, &table[i]);
        } else {
            validate_active(w->v, pte_pfn(table[i]), VALIDATE_SYSTEM, PAGE_T_SYSTEM,
                            kseg_paddr(&table[i]).a, 0);
        }
    }
    validate_table(w->v, pte_pfn(*upper), upper, ptes);
}

static void level2_table(struct system_walk *w, const pte_t *upper, vaddr_t va)
{
    const pte_t *table = pt_table(*upper);
    uint64_t ptes = 0;

    for (unsigned i = 0; i < PTES_PER_PAGE; i++, va += PTE_L2_SPAN)
        if (table[i]) {
            ptes++;
            level3_table(w, &table[i], va);
        }
    validate_table(w->v, pte_pfn(*upper), upper, ptes);
}

static void kstacks(struct validate *v, uint64_t mapped)
{
    struct kstack_stats s;
    pfn_t pfn;

    kstack_stats(&s);
    if (mapped != (s.created - s.unmapped) * KSTACK_PAGES)
        validate_error(v, "%lu pages of kernel stacks, but %lu stacks were made and %lu unmade",
                       mapped, s.created, s.unmapped);
    for (unsigned i = 0; kstack_link_page(i, &pfn); i++)
        if (pfn.n)
            validate_page(v, pfn, VALIDATE_LINKS);
}

void validate_system(struct validate *v)
{
    struct system_walk w = {.v = v};
    pfn_t root_pfn = pfn_of(system_root_pfn);
    const pte_t *root = kseg_page(root_pfn);

    for (unsigned i = 0; i < LAYOUT_L1_SYSTEM_USED; i++)
        level2_table(&w, &root[LAYOUT_L1_SYSTEM_FIRST + i],
                     LAYOUT_SYSTEM_BASE + i * LAYOUT_L1_SPAN);
    validate_table(v, root_pfn, &root[LAYOUT_L1_SELFMAP], 0);
    validate_page(v, page_zeroes, VALIDATE_LINKS);
    for (unsigned i = 0; i < cpu_count; i++)
        for (uint64_t k = 0; k < vhpt_pages() / cpu_count; k++)
            validate_page(v, pfn_add(paddr_to_pfn(vhpt_table(i)), k), VALIDATE_SYSTEM);
    if (!mem_is_zero(kseg_page(page_zeroes), PAGE_SIZE))
        validate_error(v, "the page of zeroes, %lx, is not zero", page_zeroes.n);
    kstacks(v, w.kstack_pages);
}

/* ---- pools ---- */

struct pool_walk {
    struct validate *v;
    uint64_t pages; /* of segments and large blocks */
};

/* Count page n, whose entry points to a segment. */
static void segment_page(struct pool_walk *w, uint64_t n)
{
    const struct pool_area *a = (const struct pool_area *)page_db[n].owner;
    uint64_t first, end;

    npp_segment_pages(a, &first, &end);
    w->pages++;
    if (n < first || n >= end)
        validate_error(w->v, "page %lx is said to be of the pool's segment at %lx", n, first);
    validate_active(w->v, pfn_of(n), VALIDATE_POOL, PAGE_T_SYSTEM, page_db[n].owner, 0);
}

static void one_stretch(void *arg, uint64_t first, uint64_t npages)
{
    struct pool_walk *w = arg;
    uint64_t large = 0; /* pages of a large block that are still to come */

    for (uint64_t n = first; n < first + npages; n++) {
        const struct page *p = &page_db[n];

        if (!page_entry_valid(pfn_of(n))) {
            n |= CHUNK_PAGES - 1;
            continue;
        }
        if (p->state != PAGE_ACTIVE || p->type != PAGE_T_SYSTEM)
            continue;
        if (p->owner && kseg_contains((const void *)p->owner)) {
            segment_page(w, n);
        } else if (!p->owner && (large || p->offset)) {
            large = large ? large : p->offset;
            w->pages++;
            validate_active(w->v, pfn_of(n), VALIDATE_POOL, PAGE_T_SYSTEM, 0, p->offset);
            large--;
        }
    }
}

void validate_pool(struct validate *v)
{
    struct pool_walk w = {.v = v};

    page_walk_ram(one_stretch, &w);
    if (w.pages != npp_total_pages())
        validate_error(v, "%lu pages are nonpaged pool, %lu are counted as such", w.pages,
                       npp_total_pages());
}
