/*
 * Items on sections and regions, for `show section` and `show region`. A share keeps a section
 * while it is described.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/vadef.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/proc/ptrace.h"
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
        m->shpt_flags = s->related->flags;
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

/* The address space of a process (pid 0: of the caller), with a reference, or NULL with the reason
   in *status. */
static struct aspace *space_of(uint32_t pid, cond_t *status)
{
    struct aspace *as = NULL;
    ipl_t ipl = spin_lock(&process_lock);
    const struct process *p = pid ? process_find_locked(pid) : process_self();

    *status = SS$_NONEXPR;
    if (p && p->aspace && ptrace_access_locked(p) != 0) {
        *status = SS$_NOPRIV;
    } else if (p && p->aspace) {
        as = p->aspace;
        aspace_ref(as);
    }
    spin_unlock(&process_lock, ipl);
    return as;
}

/* The id of the created region that follows region `id` (0: of the first one). Between this and a
   query of it the region may be deleted; then the query fails. SS$_NONEXPR: none follows. */
static cond_t next_region(struct aspace *as, uint64_t id, uint64_t *next)
{
    struct region *r;
    struct list *l;

    if (mutex_lock_shared_killable(&as->lock) != 0)
        return SS$_ABORT;
    r = id ? region_find_locked(as, id) : NULL;
    l = id && !r ? NULL : list_next(&as->regions, r ? &r->link : &as->regions);
    if (l)
        *next = list_entry(l, struct region, link)->id;
    mutex_unlock_shared(&as->lock);
    return l ? SS$_NORMAL : SS$_NONEXPR;
}

cond_t info_region(int64_t index, void *out)
{
    uint64_t id = (uint32_t)index;
    struct mega_region *m = out;
    struct region_view v;
    vaddr_t first_free;
    cond_t status;
    struct aspace *as = space_of((uint32_t)((uint64_t)index >> MEGA_REGION_PID), &status);

    if (!as)
        return status;
    if (id & MEGA_REGION_DEFAULT) {
        id &= ~(uint64_t)MEGA_REGION_DEFAULT;
        status = id < REGION_MIN_USER_ID ? SS$_NORMAL : SS$_NONEXPR;
    } else {
        status = next_region(as, id, &id);
        if (status == SS$_NORMAL && id >= MEGA_REGION_DEFAULT)
            status = SS$_NONEXPR; /* after billions of regions: an index has no room for it */
    }
    if (status == SS$_NORMAL &&
        region_query(as, VA$_REGSUM_BY_ID, id, 0, &v, &first_free) != SS$_NORMAL)
        status = SS$_NONEXPR;
    aspace_unref(as);
    if (status == SS$_NORMAL)
        *m = (struct mega_region){.id = v.id,
                                  .start = v.start,
                                  .length = v.end - v.start,
                                  .first_free = first_free,
                                  .flags = v.flags,
                                  .prot = v.prot};
    return status;
}
