/*
 * The self-check of reservations and sections: the stretches and promises of reservations; the
 * frames and page tables of each section, walked from the section's own tables; its shares and its
 * list of mappings; the limits on all sections.
 */
#include "mm/check/validate_private.h"
#include "mm/pt/gh.h"
#include "mm/section/section_gsd.h"
#include "mm/section/section_map.h"
#include "mm/section/shpt.h"
#include "mm/space/aspace.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/string.h"

/* ---- reservations ---- */

static void reservation(const struct rmd *r, void *arg)
{
    struct validate *v = arg;
    uint64_t run;

    v->r.reservations++;
    if (!(r->flags & RMD_ALLOC)) {
        v->promised += r->npages + r->npt_pages;
        return;
    }
    v->reserved += r->npages + r->npt_pages;
    for (uint64_t page = 0; page < r->npages; page += run) {
        pfn_t first = rmd_extent_frame(r->extents, page, &run);

        run = MIN(run, r->npages - page);
        validate_stretch(v, first.n, run, VALIDATE_RESERVED);
    }
    if (r->npt_pages)
        validate_stretch(v, r->pt_first.n, r->npt_pages, VALIDATE_RESERVED);
}

static void huge_stretch(pfn_t first, uint64_t npages, void *arg)
{
    struct validate *v = arg;

    v->reserved += npages;
    validate_stretch(v, first.n, npages, VALIDATE_RESERVED);
}

void validate_reservations(struct validate *v)
{
    rmd_for_each(reservation, v);
    huge_pool_stretches(huge_stretch, v);
}

/* ---- tables ---- */

struct tables {
    struct validate *v;
    const struct section *s, *shpt;
    const char *name;
    uint64_t own, level3, data; /* own tables, not of a reservation; level-3 tables; data pages */
};

pte_t validate_shared_pte(const struct section *s, uint64_t span)
{
    return span < s->related->npages ? *shpt_l2_pte(s->related, span) & ~PTE_GH_MASK : 0;
}

static bool is_reserved_table(const struct section *shpt, pfn_t pfn)
{
    return shpt->first.n && pfn.n - shpt->first.n < shpt->rmd->pt_used;
}

/* Count a table page of the section, which is at this offset. */
static void own_table(struct tables *t, pfn_t pfn, uint64_t offset)
{
    if (is_reserved_table(t->shpt, pfn))
        return; /* counted with its reservation */
    t->own++;
    validate_active(t->v, pfn, VALIDATE_SHARED_TABLE, PAGE_T_SHPT, (uint64_t)t->shpt, offset);
}

static void hints(struct tables *t, const pte_t *ptes, uint64_t n, uint64_t vpn, unsigned level)
{
    struct gh_count c = {.errors = 0};

    gh_count(ptes, n, vpn, &c);
    if (c.errors)
        validate_error(t->v, "section %s: %lu level-%u PTEs with wrong hints from page %lu on",
                       t->name, c.errors, level, vpn);
}

static void data_pte(struct tables *t, pte_t pte, uint64_t page)
{
    const struct section *s = t->s;
    pte_t bits = pte & ~PTE_GH_MASK;

    t->v->r.ptes++;
    t->data++;
    if (!pte_valid(pte)) {
        validate_error(t->v, "section %s: PTE %lx of page %lu is %s, which nothing makes there",
                       t->name, pte, page, pte_form_name(pte));
        return;
    }
    if (page >= s->npages || bits != pte_make(pte_pfn(pte), s->pte_bits)) {
        validate_error(t->v, "section %s: PTE %lx of page %lu of %lu", t->name, pte, page,
                       s->npages);
        return;
    }
    if (!section_is_alloc(s))
        validate_active(t->v, pte_pfn(pte), VALIDATE_SECTION, PAGE_T_GLOBAL, (uint64_t)s, page);
    else if (!pfn_eq(pte_pfn(pte), section_frame(s, page)))
        validate_error(t->v, "section %s: page %lu is mapped to frame %lx", t->name, page,
                       pte_pfn(pte).n);
}

static void level3(struct tables *t, pte_t l2, uint64_t span)
{
    const pte_t *ptes = kseg_page(pte_pfn(l2));
    uint64_t first = span * PTE_SPAN_PAGES;

    t->level3++;
    t->v->r.ptes++;
    if (span >= t->shpt->npages || (l2 & ~PTE_GH_MASK) != (pte_table(pte_pfn(l2)) | PTE_SW_SHPT)) {
        validate_error(t->v, "section %s: level-2 PTE %lx of span %lu", t->name, l2, span);
        return;
    }
    own_table(t, pte_pfn(l2), span);
    for (unsigned i = 0; i < PTES_PER_PAGE; i++)
        if (ptes[i])
            data_pte(t, ptes[i], first + i);
    hints(t, ptes, MIN(PTE_SPAN_PAGES, t->s->npages - first), first, 3);
}

static void tables(struct validate *v, const struct section *s, const char *name, struct tables *t)
{
    *t = (struct tables){.v = v, .s = s, .shpt = s->related, .name = name};
    for (uint64_t i = 0; i < t->shpt->nupper; i++) {
        const pte_t *l2 = kseg_page(t->shpt->upper[i]);

        own_table(t, t->shpt->upper[i], i);
        for (unsigned k = 0; k < PTES_PER_PAGE; k++)
            if (l2[k])
                level3(t, l2[k], i * PTES_PER_PAGE + k);
        hints(t, l2, MIN(PTE_SPAN_PAGES, t->shpt->npages - i * PTE_SPAN_PAGES), i * PTE_SPAN_PAGES,
              2);
    }
    if (t->shpt->valid_pages != t->level3 || t->shpt->own_pages != t->own)
        validate_error(v,
                       "section %s: %lu level-3 pages and %lu own tables, counted as %lu and %lu",
                       name, t->level3, t->own, t->shpt->valid_pages, t->shpt->own_pages);
}

/* ---- sections ---- */

static void mappings(struct validate *v, struct section *s, const char *name)
{
    uint64_t n = 0, shares = s->life & ~SECTION_PERMANENT;
    struct section_map *m;

    list_for_each_entry(m, &s->maps, link) {
        const struct map_entry *e;

        n++;
        if (m->section != s) {
            validate_error(v, "section %s: the mapping at %lx is another section's", name,
                           m->start);
            continue;
        }
        if (m->aspace->seen != v->epoch) {
            validate_error(v, "section %s: mapped at %lx by an address space of no process", name,
                           m->start);
            continue;
        }
        e = aspace_lookup_locked(m->aspace, m->start);
        if (!e || e->smap != m || e->start != m->start)
            validate_error(v, "section %s: nothing is mapped at %lx", name, m->start);
    }
    v->r.mappings += n;
    if (n != s->nmaps || n + s->holds != shares)
        validate_error(v, "section %s: %lu mappings, counted as %lu, and %u holds, %lu shares",
                       name, n, s->nmaps, s->holds, shares);
}

static void one_section(struct section *s, void *arg)
{
    struct validate *v = arg;
    const char *name = s->gsd ? s->gsd->name : "(none)";
    struct tables t = {.data = section_is_alloc(s) ? s->npages : 0};

    v->r.sections++;
    mappings(v, s, name);
    if (s->related)
        tables(v, s, name, &t);
    if (t.data != s->valid_pages)
        validate_error(v, "section %s: %lu valid pages, counted as %lu", name, t.data,
                       s->valid_pages);
    if ((s->flags & SEC$M_MRES) && s->rmd && s->rmd->used != s->npages)
        validate_error(v, "section %s: %lu pages, %lu used of its reservation", name, s->npages,
                       s->rmd->used);
    v->huge += s->blocks ? s->npages / HUGE_PAGES : 0;
    v->promised += s->promised - t.own - (section_is_alloc(s) ? 0 : t.data);
}

static void uses(struct validate *v)
{
    static const char *const names[SECTION_USES] = {"global sections", "global page table entries",
                                                    "page-file pages of sections"};
    uint64_t counted[SECTION_USES], found[SECTION_USES];
    struct huge_pool_stats pool;
    uint64_t nfree, nuses;

    section_recount(counted, found);
    for (unsigned i = 0; i < SECTION_USES; i++)
        if (counted[i] != found[i])
            validate_error(v, "%lu %s, counted as %lu", found[i], names[i], counted[i]);
    huge_pool_stats(&pool);
    huge_pool_recount(&nfree, &nuses);
    if (nfree != pool.free || nuses != v->huge)
        validate_error(v, "%lu huge pages, of which %lu free, %lu counted; %lu uses, %lu counted",
                       pool.total, nfree, pool.free, v->huge, nuses);
}

void validate_sections(struct validate *v)
{
    section_for_each(one_section, v);
    uses(v);
}

static void one_object(struct section *s, void *arg)
{
    if (s->object)
        validate_object(arg, s->object, 1);
}

void validate_section_objects(struct validate *v) { section_for_each(one_object, v); }
