/*
 * Errors planted on purpose (MEGA_INFO_TEST_PLANT), so that tests see the self-check find them: one
 * at a time, while all other threads are stopped, and undone before they continue. Only the check
 * runs in the meantime.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/proc/process.h"
#include "kernel/proc/validate.h"
#include "kernel/sys/info/info.h"
#include "kernel/test/test_private.h"
#include "mm/check/checked.h"
#include "mm/phys/fluid.h"
#include "mm/pool/pool.h"
#include "mm/pt/pt.h"
#include "mm/section/shpt.h"
#include "mm/space/aspace.h"

/* What is to be undone: words of each size with their old values. */
static struct {
    uint64_t *q[2], old_q[2];
    uint32_t *l, old_l;
    uint8_t *b, old_b;
    pfn_t page; /* an allocated page, to be freed */
} undo;

static void set_q(unsigned i, uint64_t *p, uint64_t to)
{
    undo.q[i] = p;
    undo.old_q[i] = *p;
    *p = to;
}

static void set_l(uint32_t *p, uint32_t to)
{
    undo.l = p;
    undo.old_l = *p;
    *p = to;
}

static void unplant(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(undo.q); i++)
        if (undo.q[i])
            *undo.q[i] = undo.old_q[i];
    if (undo.l)
        *undo.l = undo.old_l;
    if (undo.b)
        *undo.b = undo.old_b;
    if (undo.page.n)
        page_free(undo.page);
    undo.q[0] = undo.q[1] = NULL;
    undo.l = NULL;
    undo.b = NULL;
    undo.page = PFN_NONE;
}

/* ---- places for errors ---- */

/* A valid level-3 PTE of private memory, followed by an empty one of the same map entry and
   group. */
static pte_t *private_pte(struct aspace *as)
{
    struct map_entry *e;

    list_for_each_entry(e, &as->entries, link) {
        vaddr_t va = e->start;

        if (e->smap || e->object)
            continue;
        for (; (va = pt_skip_holes(&as->pt, va, e->end)) + PAGE_SIZE < e->end; va += PAGE_SIZE) {
            pte_t *p = pt_lookup(&as->pt, va, 3);

            if (pte_l3_index(va) % PT_GROUP < PT_GROUP - 1 && pte_valid(p[0]) &&
                !(p[0] & PTE_SW_SHARED) && p[1] == 0)
                return p;
        }
    }
    return NULL;
}

struct search {
    bool (*fits)(const struct section *s);
    struct section *found;
};

static void search_one(struct section *s, void *arg)
{
    struct search *x = arg;

    if (!x->found && x->fits(s))
        x->found = s;
}

static struct section *section_where(bool (*fits)(const struct section *s))
{
    struct search x = {.fits = fits};

    section_for_each(search_one, &x);
    return x.found;
}

static bool any_section(const struct section *s) { return s->life != 0; }
static bool hinted_section(const struct section *s)
{
    return section_is_alloc(s) && s->related && s->npages >= 512;
}

static struct mm_object *private_object(struct aspace *as)
{
    struct map_entry *e;

    list_for_each_entry(e, &as->entries, link)
        if (e->object && e->object->resident)
            return e->object;
    return NULL;
}

/* ---- the errors: each function returns true when it has planted one ---- */

static bool lost_page(struct aspace *as)
{
    (void)as;
    return page_alloc(0, PAGE_T_PROCESS, RAD_ANY, &undo.page) == 0;
}

/* A second PTE for a page, counted in its page table. */
static bool doubled_page(struct aspace *as)
{
    pte_t *p = private_pte(as);

    if (!p)
        return false;
    set_q(0, &p[1], p[0]);
    set_l(&pt_page_of(p)->aux, pt_page_of(p)->aux + 1);
    return true;
}

static bool wrong_shares(struct aspace *as)
{
    struct section *s = section_where(any_section);

    (void)as;
    if (s)
        set_q(0, &s->life, s->life + 1);
    return s != NULL;
}

static bool wrong_hint(struct aspace *as)
{
    struct section *s = section_where(hinted_section);
    pte_t *p = s ? shpt_pte(s->related, 0) : NULL;

    (void)as;
    if (p)
        set_q(0, p, *p ^ (1UL << PTE_GH_SHIFT));
    return p != NULL;
}

static bool wrong_pte_count(struct aspace *as)
{
    pte_t *p = private_pte(as);

    if (p)
        set_l(&pt_page_of(p)->aux, pt_page_of(p)->aux + 1);
    return p != NULL;
}

static bool wrong_owner(struct aspace *as)
{
    pte_t *p = private_pte(as);

    if (p)
        set_q(0, &page_of(pte_pfn(*p))->owner, page_of(pte_pfn(*p))->owner + sizeof(pte_t));
    return p != NULL;
}

static bool wrong_state(struct aspace *as)
{
    pte_t *p = private_pte(as);

    if (!p)
        return false;
    undo.b = &page_of(pte_pfn(*p))->state;
    undo.old_b = *undo.b;
    *undo.b = PAGE_FREE;
    return true;
}

static bool wrong_fluid_count(struct aspace *as)
{
    (void)as;
    set_q(0, (uint64_t *)&fluid_available, (uint64_t)(fluid_available + 1));
    return true;
}

static bool wrong_list_count(struct aspace *as)
{
    uint64_t *count = page_list_count(0, PAGE_FREE);

    (void)as;
    set_q(0, count, *count + 1);
    return true;
}

static bool wrong_references(struct aspace *as)
{
    struct mm_object *o = private_object(as);

    if (o)
        set_l(&o->refs, o->refs + 1);
    return o != NULL;
}

/* A private page with a reference more than PTEs. */
static bool wrong_sharing(struct aspace *as)
{
    pte_t *p = private_pte(as);

    if (p)
        set_l(&page_of(pte_pfn(*p))->refcnt, page_of(pte_pfn(*p))->refcnt + 1);
    return p != NULL;
}

/* A map entry that its object believes to map one page more. */
static bool wrong_mapping(struct aspace *as)
{
    struct map_entry *e;

    list_for_each_entry(e, &as->entries, link)
        if (e->object) {
            set_q(0, &e->pages.end, e->pages.end + 1);
            return true;
        }
    return false;
}

/* A PTE that grants an access that its map entry does not. */
static bool wrong_access(struct aspace *as)
{
    pte_t *p = private_pte(as);

    if (p)
        set_q(0, p, *p & ~PTE_FOE);
    return p != NULL;
}

/* A PTE of a form that is never used in user space, where nothing is mapped yet. */
static bool wrong_form(struct aspace *as, enum pte_form form)
{
    pte_t *p = private_pte(as);

    if (!p)
        return false;
    set_q(0, &p[1], (pte_t)form << PTE_FORM_SHIFT | (p[0] >> PTE_PFN_SHIFT << PTE_PFN_SHIFT));
    set_l(&pt_page_of(p)->aux, pt_page_of(p)->aux + 1);
    return true;
}

static bool demand_zero_pte(struct aspace *as) { return wrong_form(as, PTE_FORM_DZRO); }
static bool pagefile_pte(struct aspace *as) { return wrong_form(as, PTE_FORM_PAGEFILE); }
static bool transition_pte(struct aspace *as) { return wrong_form(as, PTE_FORM_TRANSITION); }

/* A page of an object, whose offset differs from the one in the PFN database. */
static bool wrong_offset(struct aspace *as)
{
    struct mm_object *o = private_object(as);

    for (uint64_t n = 0; o && n < o->npages; n++) {
        slot_t *s = index_find(o, n);

        if (s && (*s & SLOT_PRESENT)) {
            set_l(&page_of(slot_pfn(*s))->offset, (uint32_t)n + 1);
            return true;
        }
    }
    return false;
}

/* A table in which no group of PTEs is said to hold any. */
static bool unmarked_groups(struct aspace *as)
{
    pte_t *p = private_pte(as);

    if (p)
        set_l(&pt_page_of(p)->groups, 0);
    return p != NULL;
}

static bool (*const errors[])(struct aspace *as) = {
    lost_page,     doubled_page,  wrong_shares,      wrong_hint,       wrong_pte_count,
    wrong_owner,   wrong_state,   wrong_fluid_count, wrong_list_count, wrong_references,
    wrong_access,  wrong_offset,  demand_zero_pte,   pagefile_pte,     transition_pte,
    wrong_sharing, wrong_mapping, unmarked_groups,
};

static int plant(uint64_t n) { return errors[n](process_self()->aspace) ? 0 : -ENODEV; }

cond_t test_plant(int64_t index, void *out)
{
    struct validate_damage d = {.damage = plant, .repair = unplant, .number = (uint64_t)index};

    if (process_euid(process_self()) != 0)
        return SS$_NOPRIV;
    if (index < 0 || d.number >= ARRAY_SIZE(errors))
        return SS$_NONEXPR;
    return info_validate_damaged(&d, out);
}
