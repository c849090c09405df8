/*
 * Statistics of a section's page tables, for `show section`. They are counted in the tables that
 * the hardware walks, not derived from other counts, so that they also show errors.
 *
 * An address space is found through the section's list of mappings, whose spinlock protects the
 * list but not the address space. Therefore a reference is taken only if the count is not zero yet;
 * then the walk holds the address space's mutex shared. Nothing here can fail.
 */
#include "kernel/base/string.h"
#include "mm/phys/page.h"
#include "mm/pt/pt.h"
#include "mm/section/section_map.h"
#include "mm/section/section_pt.h"
#include "mm/section/shpt.h"

/* Count the level-2 PTEs of n spans from va on that map shared level-3 pages. Of huge pages the
   first and the last may map one of the process's own. */
static void walk_level2(const pte_t *table, uint64_t n, const struct map_entry *e, vaddr_t va,
                        struct gh_count *l2)
{
    if (n && !section_span_shared(e, va)) {
        table++;
        n--;
        va = (va & ~(PTE_L2_SPAN - 1)) + PTE_L2_SPAN;
    }
    if (n && !section_span_shared(e, va + (n - 1) * PTE_L2_SPAN))
        n--;
    gh_count(table, n, va >> 23, l2);
}

static void walk_mapping(struct aspace *as, const struct map_entry *e, struct gh_count *l3,
                         struct gh_count *l2, uint64_t *l1)
{
    for (vaddr_t va = e->start; va < e->end;) {
        uint64_t left = (e->end - va + PTE_L2_SPAN - 1) / PTE_L2_SPAN;
        uint64_t n = MIN(left, (uint64_t)PTES_PER_PAGE - pte_l2_index(va));
        pte_t *table = pt_lookup(&as->pt, va, 2);

        *l1 += section_block_shared(as, va);
        if (table && e->smap->shared)
            walk_level2(table, n, e, va, l2);
        for (; n && va < e->end; n--) {
            uint64_t pages = MIN((e->end - va) / PAGE_SIZE, PTE_SPAN_PAGES - pte_l3_index(va));
            pte_t *pte = pt_lookup(&as->pt, va, 3);

            if (pte)
                gh_count(pte, pages, va >> PAGE_SHIFT, l3);
            va += pages * PAGE_SIZE;
        }
    }
}

static void walk_own(const struct section *s, struct gh_count *l3, struct gh_count *l2)
{
    const struct section *shpt = s->related;

    for (uint64_t span = 0; span < shpt->npages; span++) {
        uint64_t page = span * PTE_SPAN_PAGES;
        pte_t *pte = shpt_pte(shpt, page);

        if (span % PTE_SPAN_PAGES == 0)
            gh_count(shpt_l2_pte(shpt, span), MIN(shpt->npages - span, PTE_SPAN_PAGES), span, l2);
        if (pte)
            gh_count(pte, MIN(s->npages - page, PTE_SPAN_PAGES), page, l3);
    }
}

static void count_table(const pte_t *l3, uint64_t npages[RAD_MAX])
{
    for (unsigned i = 0; i < PTES_PER_PAGE; i++) {
        pte_t pte = __atomic_load_n(&l3[i], __ATOMIC_RELAXED);

        if (pte_valid(pte))
            npages[page_rad(pte_pfn(pte))]++;
    }
}

void section_count_rads(const struct section *s, uint64_t npages[RAD_MAX])
{
    memset(npages, 0, RAD_MAX * sizeof(npages[0]));
    if (!(s->flags & SEC$M_MRES))
        return;
    if (rad_count == 1) {
        npages[0] = __atomic_load_n(&s->valid_pages, __ATOMIC_RELAXED);
    } else if (section_is_alloc(s)) {
        /* No stretch of a reservation lies in two domains. */
        for (uint64_t page = 0, run; page < s->npages; page += run) {
            run = section_run(s, page);
            npages[page_rad(section_frame(s, page))] += run;
        }
    } else {
        for (uint64_t page = 0; page < s->npages; page += PTE_SPAN_PAGES) {
            const pte_t *l3 = shpt_pte(s->related, page);

            if (l3)
                count_table(l3, npages);
        }
    }
}

/* Take a reference to an address space, unless its last one has been dropped. */
static bool aspace_try_ref(struct aspace *as)
{
    uint32_t refs = __atomic_load_n(&as->refs, __ATOMIC_RELAXED);

    do {
        if (refs == 0)
            return false;
    } while (!__atomic_compare_exchange_n(&as->refs, &refs, refs + 1, false, __ATOMIC_ACQUIRE,
                                          __ATOMIC_RELAXED));
    return true;
}

#define LOOK_AT 64u /* mappings that are looked at in one hold of the section's lock */

/* Find an address space that maps s, of which the caller has a share; it must be `only` unless that
   is NULL. Returns it with a reference, and the mapping's address in *start, or NULL. Between two
   holds of the lock a mapping without an address space keeps the place in the list. */
static struct aspace *find_mapper(struct section *s, const struct aspace *only, vaddr_t *start)
{
    struct section_map place = {.aspace = NULL};
    struct aspace *found = NULL;
    struct list *at = &s->maps;
    ipl_t ipl = spin_lock(&s->lock);

    for (unsigned seen = 1; !found && (at = list_next(&s->maps, at)) != NULL; seen++) {
        struct section_map *m = list_entry(at, struct section_map, link);

        if (m->aspace && (!only || m->aspace == only) && aspace_try_ref(m->aspace)) {
            found = m->aspace;
            *start = m->start;
        } else if (seen % LOOK_AT == 0) {
            list_add_after(at, &place.link);
            spin_unlock(&s->lock, ipl);
            ipl = spin_lock(&s->lock);
            at = place.link.prev;
            list_remove(&place.link);
        }
    }
    spin_unlock(&s->lock, ipl);
    return found;
}

void section_walk(struct section *s, struct aspace *prefer, struct gh_count *l3,
                  struct gh_count *l2, uint64_t *l1, uint64_t *pt_pages)
{
    vaddr_t start;
    struct aspace *as = find_mapper(s, prefer, &start);
    bool walked = false;

    if (!as)
        as = find_mapper(s, NULL, &start);
    memset(l3, 0, sizeof(*l3));
    memset(l2, 0, sizeof(*l2));
    *pt_pages = *l1 = 0;
    if (s->related)
        *pt_pages = __atomic_load_n(&s->related->valid_pages, __ATOMIC_RELAXED) +
                    s->related->nupper;
    if (as) {
        if (mutex_lock_shared_killable(&as->lock) == 0) {
            struct map_entry *e = aspace_lookup_locked(as, start);

            if (e && e->smap && e->smap->section == s) {
                walk_mapping(as, e, l3, l2, l1);
                walked = true;
            }
            mutex_unlock_shared(&as->lock);
        }
        aspace_unref(as);
    }
    if (!walked && s->related)
        walk_own(s, l3, l2);
}
