/*
 * Shared page tables. Objects and rules: mm/section/README.md.
 *
 * A PTE in a level-2 page of the SHPT section changes once, from zero to valid, and then stays
 * valid for the section's life. The change is a compare-and-swap, so that any number of CPUs may
 * ask for the same span at once without a lock: each allocates a zeroed page, one installs its
 * page, and the others free theirs and use the winner's. The same holds for level-3 PTEs
 * (section_make_valid). A translation buffer never holds an invalid PTE, so nothing needs to be
 * invalidated.
 *
 * Only creation can fail, for lack of nonpaged pool: page-table pages come from the reservation or
 * from the section's promise.
 */
#include "mm/section/shpt.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/sched/thread.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pt/gh.h"
#include "mm/pt/pt.h"

uint64_t shpt_l3_pages(uint64_t npages) { return (npages + PTES_PER_PAGE - 1) / PTES_PER_PAGE; }
uint64_t shpt_l2_pages(uint64_t npages)
{
    return (shpt_l3_pages(npages) + PTES_PER_PAGE - 1) / PTES_PER_PAGE;
}

static pte_t table_pte(pfn_t pfn) { return pte_table(pfn) | PTE_SW_SHPT; }

pte_t *shpt_l2_pte(const struct section *shpt, uint64_t span)
{
    return (pte_t *)kseg_page(shpt->upper[span / PTES_PER_PAGE]) + span % PTES_PER_PAGE;
}

pte_t shpt_l1_pte(const struct section *shpt, uint64_t span)
{
    return table_pte(shpt->upper[span / PTES_PER_PAGE]);
}

pte_t *shpt_pte(const struct section *shpt, uint64_t page)
{
    pte_t l2 = __atomic_load_n(shpt_l2_pte(shpt, page / PTES_PER_PAGE), __ATOMIC_ACQUIRE);

    if (!pte_valid(l2))
        return NULL;
    return (pte_t *)kseg_page(pte_pfn(l2)) + page % PTES_PER_PAGE;
}

/* Allocate a zeroed table page. Cannot fail: the promise covers it. */
static pfn_t own_page(struct section *shpt, uint64_t offset)
{
    pfn_t pfn;

    if (page_alloc(PA_ZERO | PA_PROMISED, PAGE_T_SHPT, shpt->rad, &pfn) != 0)
        panic("no page for a shared page table though it was promised");
    fluid_promise_used(1);
    page_of(pfn)->owner = (uint64_t)shpt;
    page_of(pfn)->offset = (uint32_t)offset;
    page_of(pfn)->touched = 0;
    __atomic_fetch_add(&shpt->own_pages, 1, __ATOMIC_RELAXED);
    return pfn;
}

static void own_page_back(struct section *shpt, pfn_t pfn)
{
    fluid_promise_unused(1);
    page_free(pfn);
    __atomic_fetch_sub(&shpt->own_pages, 1, __ATOMIC_RELAXED);
}

pte_t shpt_table_get(struct section *shpt, uint64_t span)
{
    pte_t *slot = shpt_l2_pte(shpt, span);
    pte_t pte = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    pfn_t pfn;

    if (pte_valid(pte))
        return pte;
    pfn = own_page(shpt, span);
    /* Release: another CPU that finds the page sees its zeroes. */
    if (!__atomic_compare_exchange_n(slot, &pte, table_pte(pfn), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        own_page_back(shpt, pfn);
        return pte;
    }
    shpt_touch(slot);
    __atomic_fetch_add(&shpt->valid_pages, 1, __ATOMIC_RELAXED);
    return table_pte(pfn);
}

/* Fill in the level-3 and level-2 pages of an ALLOC section. The level-3 pages are contiguous
   frames of the reservation, so that there are granularity hints at both levels. False: the caller
   is to end, and not all are filled in. */
static bool fill_alloc(struct section *s, struct section *shpt, pfn_t l3_first)
{
    for (uint64_t span = 0; span < shpt->npages; span++) {
        uint64_t page = span * PTE_SPAN_PAGES;
        uint64_t n = MIN(s->npages - page, PTE_SPAN_PAGES);
        pte_t *l3 = kseg_page(pfn_add(l3_first, span));

        if (thread_killed())
            return false;
        gh_fill(l3, n, page, section_frame(s, page), s->pte_bits);
        memset(l3 + n, 0, (PTES_PER_PAGE - n) * sizeof(pte_t));
    }
    for (uint64_t span = 0; span < shpt->npages; span += PTES_PER_PAGE)
        gh_fill(shpt_l2_pte(shpt, span), MIN(shpt->npages - span, (uint64_t)PTES_PER_PAGE), span,
                pfn_add(l3_first, span), table_pte(PFN_NONE));
    shpt->valid_pages = shpt->npages;
    return true;
}

/* The same for a section of huge pages, whose level-3 pages are allocated one by one. */
static bool fill_huge(struct section *s, struct section *shpt)
{
    for (uint64_t page = 0; page < s->npages; page += HUGE_PAGES) {
        pte_t *l3 = pt_table(shpt_table_get(shpt, page / PTE_SPAN_PAGES));

        if (thread_killed())
            return false;
        gh_fill(l3 + page % PTE_SPAN_PAGES, HUGE_PAGES, page, section_frame(s, page), s->pte_bits);
    }
    return true;
}

static void shpt_free(struct section *shpt)
{
    npp_free(shpt->upper, shpt->nupper * sizeof(pfn_t));
    npp_free(shpt, sizeof(*shpt));
}

int shpt_create(struct section *s)
{
    const struct rmd *r = s->rmd;
    struct section *shpt = npp_alloc_zeroed(sizeof(*shpt));
    uint64_t reserved_upper = 0;

    if (!shpt)
        return -ENOMEM;
    shpt->npages = shpt_l3_pages(s->npages);
    shpt->nupper = shpt_l2_pages(s->npages);
    shpt->upper = npp_alloc(shpt->nupper * sizeof(pfn_t));
    if (!shpt->upper) {
        npp_free(shpt, sizeof(*shpt));
        return -ENOMEM;
    }
    list_init(&shpt->link);
    list_init(&shpt->maps);
    shpt->flags = (s->flags & ~SEC$M_PERM) | SEC$M_SHARED_PTS;
    shpt->rad = s->rad;
    shpt->rmd = s->rmd;
    if (section_is_alloc(s) && !s->blocks) {
        shpt->first = r->pt_first;
        if (r->npt_pages >= shpt->npages + shpt->nupper)
            reserved_upper = shpt->nupper;
    }
    for (uint64_t i = 0; i < shpt->nupper; i++)
        if (i < reserved_upper) {
            shpt->upper[i] = pfn_add(shpt->first, shpt->npages + i);
            page_zero(shpt->upper[i]);
        } else {
            shpt->upper[i] = own_page(shpt, i);
        }
    shpt->related = s;
    s->related = shpt;
    if (section_is_alloc(s) &&
        !(s->blocks ? fill_huge(s, shpt) : fill_alloc(s, shpt, shpt->first))) {
        shpt_delete(s);
        return -EINTR;
    }
    return 0;
}

#define TOUCHED_PTES 64u /* that a bit of page.touched stands for */
_Static_assert(TOUCHED_PTES * 16 == PTES_PER_PAGE, "a bit for each part of a table");

void shpt_touch(const pte_t *pte)
{
    uint16_t *touched = &pt_page_of(pte)->touched;
    uint16_t bit = (uint16_t)(1u << ((uint64_t)pte % PAGE_SIZE / sizeof(pte_t) / TOUCHED_PTES));

    /* Relaxed: the deletion that reads the word comes after the last share was dropped. */
    if (!(__atomic_load_n(touched, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(touched, bit, __ATOMIC_RELAXED);
}

/* Call fn for each valid PTE of a table of a FLUID section. Takes time in proportion to their
   number: parts of the table without one are not looked at. */
static inline void for_each_touched(struct section *shpt, pfn_t table,
                                    void (*fn)(struct section *shpt, pfn_t pfn))
{
    const pte_t *ptes = kseg_page(table);
    uint32_t touched = __atomic_load_n(&page_of(table)->touched, __ATOMIC_RELAXED);

    for (; touched; touched &= touched - 1) {
        const pte_t *part = ptes + bit_lowest(touched) * TOUCHED_PTES;

        for (unsigned i = 0; i < TOUCHED_PTES; i++)
            if (pte_valid(part[i]))
                fn(shpt, pte_pfn(part[i]));
    }
}

/* Free the level-3 pages of a section of huge pages, as far as they are there. */
static void free_tables(struct section *shpt)
{
    for (uint64_t span = 0; span < shpt->npages; span++)
        if (pte_valid(*shpt_l2_pte(shpt, span)))
            own_page_back(shpt, pte_pfn(*shpt_l2_pte(shpt, span)));
}

static void free_frame(struct section *shpt, pfn_t pfn)
{
    (void)shpt;
    fluid_promise_unused(1);
    page_free(pfn);
}

/* Free a level-3 page of a FLUID section and the frames that it maps. */
static void free_table(struct section *shpt, pfn_t table)
{
    for_each_touched(shpt, table, free_frame);
    own_page_back(shpt, table);
}

void shpt_delete(struct section *s)
{
    struct section *shpt = s->related;

    if (s->blocks)
        free_tables(shpt);
    if (!section_is_alloc(s))
        for (uint64_t i = 0; i < shpt->nupper; i++)
            for_each_touched(shpt, shpt->upper[i], free_table);
    for (uint64_t i = 0; i < shpt->nupper; i++)
        if (shpt->first.n == 0 || shpt->upper[i].n != shpt->first.n + shpt->npages + i)
            own_page_back(shpt, shpt->upper[i]);
    s->related = NULL;
    shpt_free(shpt);
}
