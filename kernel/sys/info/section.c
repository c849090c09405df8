/*
 * Items on sections and regions, for `show section` and `show region`. A share keeps a section
 * while it is described.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/vadef.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/sys/info/info.h"
#include "mm/section/section_gsd.h"
#include "mm/section/section_map.h"
#include "mm/space/region.h"

static void name_of(struct section *s, struct mega_section *m)
{
    /* The caller's share keeps the section and with it the GSD, where the name is. */
    gsd_lock();
    str_copy(m->name, s->gsd->name, sizeof(m->name));
    m->group = s->gsd->group;
    m->flags = s->flags;
    m->delete_pending = !s->gsd->named;
    gsd_unlock();
}

static uint64_t load(const uint64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

cond_t info_section(int64_t index, void *out)
{
    struct mega_section *m = out;
    struct section *s = index >= 0 ? section_nth((uint64_t)index) : NULL;
    struct gh_count l3, l2;
    struct section_cost cost;

    if (!s)
        return SS$_NONEXPR;
    name_of(s, m);
    if (section_shares_tables(s))
        m->flags |= SEC$M_SHARED_PTS;
    section_walk(s, process_self()->aspace, &l3, &l2, &m->l1_ptes, &m->pt_pages);
    section_count_rads(s, m->rad_pages);
    m->npages = s->npages;
    m->valid_pages = section_valid_pages(s);
    section_cost(s, &cost);
    m->gptes = cost.gptes;
    m->npp_bytes = cost.npp_bytes;
    m->pgd_bytes = cost.pgd_bytes;
    m->shares = (load(&s->life) & ~SECTION_PERMANENT) - 1; /* without the one taken here */
    m->refs = m->shares + (m->flags & SEC$M_PERM ? 1 : 0);
    memcpy(m->l3_ptes, l3.ptes, sizeof(m->l3_ptes));
    memcpy(m->l2_ptes, l2.ptes, sizeof(m->l2_ptes));
    m->gh_errors = l3.errors + l2.errors;
    m->made_valid = load(&s->counts.made_valid);
    m->l3_pickups = load(&s->counts.l3_pickup);
    m->raced = load(&s->counts.raced);
    m->global_valid = load(&s->counts.global_valid);
    section_drop(s);
    section_reap();
    return SS$_NORMAL;
}

static struct mega_use use_of(const struct section_use *u)
{
    return (struct mega_use){u->limit, u->use, u->peak};
}

cond_t info_global(int64_t index, void *out)
{
    struct section_use sections, gptes, pagfil;
    struct mega_global *m = out;

    if (index != 0)
        return SS$_NONEXPR;
    section_uses(&sections, &gptes, &pagfil);
    m->sections = use_of(&sections);
    m->gptes = use_of(&gptes);
    m->pagfil_pages = use_of(&pagfil);
    return SS$_NORMAL;
}

cond_t info_region(int64_t index, void *out)
{
    struct aspace *as = process_self()->aspace;
    struct mega_region *m = out;
    struct region_view v;
    vaddr_t first_free;
    struct region *r;
    uint64_t id = UINT64_MAX;
    struct list *l;

    /* Find the id of the next region, then query that. Between the two only another thread of the
       same process could delete the region, and the query then fails. */
    if (mutex_lock_shared_killable(&as->lock) != 0)
        return SS$_ABORT;
    r = index ? region_find_locked(as, (uint64_t)index) : NULL;
    l = index && !r ? NULL : list_next(&as->regions, r ? &r->link : &as->regions);
    if (l)
        id = list_entry(l, struct region, link)->id;
    mutex_unlock_shared(&as->lock);
    if (!l || region_query(as, VA$_REGSUM_BY_ID, id, 0, &v, &first_free) != SS$_NORMAL)
        return SS$_NONEXPR;
    *m = (struct mega_region){.id = v.id,
                              .start = v.start,
                              .length = v.end - v.start,
                              .first_free = first_free,
                              .flags = v.flags,
                              .prot = v.prot};
    return SS$_NORMAL;
}
