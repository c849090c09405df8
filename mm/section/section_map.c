/*
 * Mappings of sections: requests, faults, splits and fork.
 *
 * With shared page tables a mapping consists of one level-1 PTE for each whole 8 GiB, which points
 * to the section's own level-2 page, and of level-2 PTEs for the rest, which point to the section's
 * level-3 pages (mm/section/section_pt.c). With private page tables, the PTEs of an ALLOC section
 * are all filled in at mapping; those of a FLUID section are filled in by faults, from the
 * section's global page table.
 *
 * Faults fill in PTEs for FLUID sections only; on an ALLOC section a fault can occur only while
 * another thread changes the mapping. They need no lock besides the address space's mutex, held
 * shared: every step is a compare-and-swap of a PTE from zero to valid, in this order:
 *
 *      shared tables                        private tables
 *   1. global level-2 PTE                   own level-1 and level-2 PTEs
 *   2. own level-2 PTE                      global level-2 PTE
 *   3. global level-3 PTE                   global level-3 PTE
 *   4.                                      own level-3 PTE
 *
 * A fault that finds a step already done goes on to the next. Each fault is counted at most once,
 * in the first of these counters that applies:
 *
 *   made_valid    Its compare-and-swap gave a page its frame. Counted once for each page, however
 *                 many CPUs fault on it at the same time.
 *   l3_pickup     The page was valid, but the process had no PTE for the level-3 page. Counted at
 *                 most once for each process and level-3 span.
 *   raced         Shared tables: the page and its tables were there; another CPU had made the page
 *                 valid since the access.
 *   global_valid  Private tables: the PTE was filled in from the global page table.
 *                 Shared tables: as `raced`, but it was this CPU that made the page valid, for
 *                 another process that it ran between the access and the check of the PTE. The
 *                 page's PFN entry records the CPU that made it valid.
 *
 * A fork takes a share and fills in the child's PTEs as a mapping does: with shared tables those of
 * levels 1 and 2, with private ones all of an ALLOC section and none of a FLUID one. Nothing is
 * copied or write-protected.
 *
 * Out of memory: a mapping allocates all its tables before its entry is inserted, and frees them
 * again if one cannot be had; a split allocates its level-2 page before it changes anything.
 */
#include "mm/section/section_map.h"

#include "arch/alpha/hw/layout.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/vadef.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/range.h"
#include "kernel/base/string.h"
#include "kernel/sched/thread.h"
#include "mm/pool/pool_charged.h"
#include "mm/pt/pt.h"
#include "mm/section/section_pt.h"
#include "mm/section/shpt.h"
#include "mm/space/region.h"
#include "mm/space/word.h"

#define GH_BLOCK            (pte_gh_pages(3) * PAGE_SIZE)
#define LAST_DEFAULT_REGION VA$C_P2

struct plan {
    vaddr_t start;
    uint64_t length; /* bytes */
    bool shared;
};

/* ---- decoding a request ---- */

static void count(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Check which part of the section is to be mapped, and fill in plan->length. */
static cond_t plan_extent(const struct section_map_request *r, uint64_t npages, struct plan *p)
{
    uint64_t size = npages * PAGE_SIZE;

    if (r->offset % PAGE_SIZE != 0 || (p->shared && r->offset % PTE_L2_SPAN != 0))
        return SS$_OFF_NOTPAGALGN;
    if (r->offset >= size)
        return SS$_OFFSET_TOO_BIG;
    if (r->length % PAGE_SIZE != 0)
        return SS$_LEN_NOTPAGMULT;
    if (r->length > size - r->offset)
        return SS$_LENVIO;
    p->length = r->length ? r->length : size - r->offset;
    if (p->shared) /* whole level-3 spans, or up to the section's end */
        p->length = MIN((p->length + PTE_L2_SPAN - 1) & ~(PTE_L2_SPAN - 1), size - r->offset);
    return SS$_NORMAL;
}

/* The address for a mapping at the region's first free address, with the largest alignment that
   the length, the offset and the free space allow; 0 if there is no space. */
static vaddr_t first_free_place(struct aspace *as, const struct region_view *v, uint64_t offset,
                                const struct plan *p)
{
    uint64_t least = p->shared ? PTE_L2_SPAN : PAGE_SIZE;
    uint64_t most = p->shared ? PTE_L1_SPAN : GH_BLOCK;
    uint64_t align = MAX(least, MIN(most, 1UL << (63 - __builtin_clzl(p->length))));
    vaddr_t free = region_first_free_locked(as, v);

    for (; align >= least; align >>= 1) {
        vaddr_t va;

        if (offset & (align - 1))
            continue;
        if (v->flags & VA$M_DESCEND) {
            if (free - v->start < p->length)
                return 0;
            va = (free - p->length) & ~(align - 1);
            if (va >= v->start)
                return va;
        } else {
            va = (free + align - 1) & ~(align - 1);
            if (va <= v->end && v->end - va >= p->length)
                return va;
        }
    }
    return 0;
}

static cond_t plan_place(struct aspace *as, const struct section_map_request *r,
                         const struct region_view *v, struct plan *p)
{
    bool created = v->id > LAST_DEFAULT_REGION;

    if (r->flags & SEC$M_EXPREG) {
        uint64_t align = r->offset % GH_BLOCK == 0 && p->length >= GH_BLOCK ? GH_BLOCK : PAGE_SIZE;

        p->start = created ? first_free_place(as, v, r->offset, p)
                           : aspace_find_locked(as, p->length, align, v->start, v->end, false);
        if (p->start)
            return SS$_NORMAL;
        return created ? SS$_REGISFULL : SS$_VASFULL;
    }
    p->start = r->start;
    if (p->start % (p->shared ? PTE_L2_SPAN : PAGE_SIZE) != 0)
        return SS$_VA_NOTPAGALGN;
    if (!range_within(p->start, p->length, v->start, v->end))
        return SS$_PAGNOTINREG;
    if (created)
        return region_range_used_locked(as, p->start, p->start + p->length) ? SS$_VA_IN_USE
                                                                            : SS$_NORMAL;
    return aspace_range_free_locked(as, p->start, p->length) ? SS$_NORMAL : SS$_VA_IN_USE;
}

static cond_t plan_locked(struct aspace *as, const struct section_map_request *r, uint64_t npages,
                          uint32_t section_flags, bool tables_shared, struct plan *p)
{
    bool tables_write = !(section_flags & SEC$M_READ_ONLY_SHPT);
    struct region_view v;
    cond_t status;

    if (!region_view_locked(as, r->region_id, &v))
        return SS$_IVREGID;
    p->shared = (v.flags & VA$M_SHARED_PTS) != 0;
    if (p->shared && (!tables_shared || r->write != tables_write))
        return SS$_NOSHPTS;
    status = plan_extent(r, npages, p);
    return status == SS$_NORMAL ? plan_place(as, r, &v, p) : status;
}

cond_t section_map_check(struct aspace *as, const struct section_map_request *r, uint64_t npages,
                         uint32_t section_flags)
{
    struct plan p;
    /* Exclusively: a search for addresses changes what it records of them. */
    cond_t status = aspace_lock_service(as);

    if (status != SS$_NORMAL)
        return status;
    status = plan_locked(as, r, npages, section_flags, (section_flags & SEC$M_MRES) != 0, &p);
    mutex_unlock(&as->lock);
    return status;
}

/* ---- mappings ---- */

struct section_map *section_map_new(struct aspace *as, struct section *s, vaddr_t start,
                                    bool shared, cond_t *why)
{
    uint16_t account = pool_account();
    bool full;
    struct section_map *m = npp_alloc_counted(sizeof(*m), QUOTA_SECTION_MAPS, account, &full);

    *why = full ? SS$_EXQUOTA : SS$_INSFMEM;
    if (m) {
        list_init(&m->link);
        m->section = s;
        m->aspace = as;
        m->start = start;
        m->shared = shared;
        m->account = account;
        m->table = m->level3 = PFN_NONE;
    }
    return m;
}

void section_map_free(struct section_map *m)
{
    npp_free_counted(m, sizeof(*m), QUOTA_SECTION_MAPS, m->account);
}

static void smap_link(struct section_map *m)
{
    ipl_t ipl = spin_lock(&m->section->lock);

    list_add_tail(&m->section->maps, &m->link);
    m->section->nmaps++;
    spin_unlock(&m->section->lock, ipl);
}

int section_map_copy(struct aspace *as, const struct map_entry *e, struct map_entry *other,
                     vaddr_t start)
{
    struct section *s = e->smap->section;
    cond_t why;

    if (!section_try_share(s))
        return -ENOMEM;
    other->smap = section_map_new(as, s, start, e->smap->shared, &why);
    if (!other->smap) {
        section_drop(s);
        return -ENOMEM;
    }
    return 0;
}

void section_map_uncopy(struct map_entry *other)
{
    section_drop(other->smap->section); /* not the last share: the copied mapping has another */
    section_map_free(other->smap);
    other->smap = NULL;
}

void section_map_link(struct map_entry *other) { smap_link(other->smap); }

/* Take the mapping off its section's list, free it and drop its share, which may be the last. */
static void smap_end(struct section_map *m)
{
    struct section *s = m->section;
    ipl_t ipl = spin_lock(&s->lock);

    list_remove(&m->link);
    s->nmaps--;
    spin_unlock(&s->lock, ipl);
    section_map_free(m);
    section_drop(s);
}

void section_map_end(struct aspace *as, struct map_entry *e)
{
    __atomic_fetch_sub(&as->counts.section_pages, (e->end - e->start) / PAGE_SIZE,
                       __ATOMIC_RELAXED);
    smap_end(e->smap);
    e->smap = NULL;
}

static cond_t map_locked(struct aspace *as, struct section *s, const struct section_map_request *r,
                         struct map_entry *e, struct section_map *m, struct plan *p)
{
    cond_t status = plan_locked(as, r, s->npages, s->flags, section_shares_tables(s), p);

    if (status != SS$_NORMAL)
        return status;
    e->start = p->start;
    e->end = p->start + p->length;
    e->prot = e->max_prot = r->write ? MAP_R | MAP_W : MAP_R;
    e->flags = MAPF_SHARED | MAPF_REGION;
    e->inner = r->region_id > LAST_DEFAULT_REGION;
    e->ops = s->kind->map_ops;
    e->offset = r->offset;
    e->smap = m;
    m->start = p->start;
    m->shared = p->shared;
    if (section_tables_fill(as, e) != 0)
        return SS$_INSFMEM;
    smap_link(m);
    aspace_insert_locked(as, e);
    if (s->kind->attach)
        s->kind->attach(s, e);
    count(&as->counts.section_pages, p->length / PAGE_SIZE);
    return SS$_NORMAL;
}

cond_t section_map(struct aspace *as, struct section *s, const struct section_map_request *r,
                   vaddr_t *va, uint64_t *length)
{
    struct map_entry *e = map_entry_alloc();
    cond_t status;
    struct section_map *m = section_map_new(as, s, 0, false, &status);
    struct plan p;

    if (e && m)
        status = aspace_lock_service(as);
    if (e && m && status == SS$_NORMAL) {
        status = map_locked(as, s, r, e, m, &p);
        mutex_unlock(&as->lock);
    }
    if (status == SS$_NORMAL) {
        *va = p.start;
        *length = p.length;
        return status;
    }
    if (e)
        map_entry_free(e);
    if (m)
        section_map_free(m);
    return status;
}

/* ---- faults ---- */

static int count_made_valid(struct aspace *as, struct section *s)
{
    count(&as->counts.section_made_valid, 1);
    count(&s->counts.made_valid, 1);
    return 0;
}

static int fault_shared(struct aspace *as, struct map_entry *e, vaddr_t va)
{
    struct section *s = e->smap->section;
    uint64_t page = section_page_at(e, va);
    pte_t *l2 = pt_lookup(&as->pt, va, 2);
    bool picked_up = false;
    pte_t table, *pte, now;

    KASSERT(l2 != NULL, "a mapping with shared tables keeps its level-2 pages");
    table = pt_load(l2);
    if (!pte_valid(table)) {
        table = shpt_table_get(s->related, page / PTE_SPAN_PAGES);
        /* A shared level-2 page has the PTE now for all processes; nothing is to be picked up. */
        if (!section_block_shared(as, va))
            picked_up = pt_cas(l2, 0, table);
    }
    pte = pt_table(table) + page % PTE_SPAN_PAGES;
    now = pt_load(pte);
    if (!pte_valid(now)) {
        if (section_make_valid(s, page, pte))
            return count_made_valid(as, s);
        now = pt_load(pte);
    }
    if (picked_up) {
        count(&as->counts.section_l3_pickup, 1);
        count(&s->counts.l3_pickup, 1);
    } else if (section_is_alloc(s)) {
        return 0; /* valid since creation: another thread is just changing the mapping */
    } else if (page_of(pte_pfn(now))->maker != cpu_id()) {
        count(&as->counts.section_raced, 1);
        count(&s->counts.raced, 1);
    } else {
        count(&as->counts.section_global_valid, 1);
        count(&s->counts.global_valid, 1);
    }
    return 0;
}

static int fault_private(struct aspace *as, struct map_entry *e, vaddr_t va)
{
    struct section *s = e->smap->section;
    uint64_t page = section_page_at(e, va);
    pte_t *own, *global, table;
    bool made = false;

    if (section_is_alloc(s)) { /* valid since it was mapped */
        own = pt_lookup(&as->pt, va, 3);
        return own && pte_maps_page(va, pt_load(own)) ? 0 : -EFAULT;
    }
    own = pt_create(&as->pt, va, 3);
    if (!own)
        return -ENOMEM;
    table = shpt_table_get(s->related, page / PTE_SPAN_PAGES);
    global = pt_table(table) + page % PTE_SPAN_PAGES;
    if (!pte_valid(pt_load(global)))
        made = section_make_valid(s, page, global);
    if (!pte_maps_page(va, pt_load(own)) &&
        pt_install(own, pte_make(pte_pfn(pt_load(global)), section_private_bits(e)))) {
        count(&as->counts.section_global_valid, !made);
        count(&s->counts.global_valid, !made);
    }
    return made ? count_made_valid(as, s) : 0;
}

/* aspace_fault() has seen that the mapping allows the access. */
static int op_fault(struct aspace *as, struct map_entry *e, vaddr_t va, enum fault_access access)
{
    (void)access;
    return e->smap->shared ? fault_shared(as, e, va) : fault_private(as, e, va);
}

/* ---- unmapping, splits, protection, fork ---- */

static int op_unmap(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    (void)start;
    (void)end;
    if (!e->smap)
        return 0; /* a fork failed before op_fork reached this entry */
    section_tables_take_down(as, e);
    section_map_end(as, e);
    return 0;
}

static void op_split_cancel(struct map_entry *second)
{
    if (second->smap->table.n)
        page_free(second->smap->table);
    if (second->smap->level3.n)
        page_free(second->smap->level3);
    section_map_uncopy(second);
}

/* Allocate for m the tables of its own that a split of e at va needs. 0 or -ENOMEM. */
static int split_tables(const struct map_entry *e, struct section_map *m, vaddr_t va)
{
    unsigned rad = m->aspace->pt.home_rad;
    int err = 0;

    if (va % PTE_L1_SPAN != 0 && section_block_shared(m->aspace, va))
        err = page_alloc(0, PAGE_T_PT, rad, &m->table);
    if (!err && va % PTE_L2_SPAN != 0 && section_span_shared(e, va))
        err = page_alloc(0, PAGE_T_PT, rad, &m->level3);
    return err;
}

static int op_split_prepare(struct map_entry *e, struct map_entry *second, vaddr_t va)
{
    struct section_map *m = e->smap;
    int err;

    if (e->flags & MAPF_HUGE ? va % HUGE_BYTES != 0 : m->shared && va % PTE_L2_SPAN != 0)
        return -EINVAL;
    err = section_map_copy(m->aspace, e, second, va);
    if (!err && m->shared) {
        err = split_tables(e, second->smap, va);
        if (err)
            op_split_cancel(second);
    }
    return err;
}

static void op_split(struct map_entry *e, struct map_entry *second, vaddr_t va)
{
    struct section_map *m = second->smap;

    if (m->table.n && section_block_shared(m->aspace, va))
        section_tables_unshare(m->aspace, e, va, m->table);
    else if (m->table.n) /* the split at the range's other end has already unshared it */
        page_free(m->table);
    if (m->level3.n)
        section_tables_own_span(m->aspace, e, va, m->level3);
    m->table = m->level3 = PFN_NONE;
    section_map_link(second);
    section_tables_cut(m->aspace, e, va);
}

/* The protection in shared page tables applies to all processes that map them. */
static bool op_is_fixed(const struct map_entry *e)
{
    return e->smap->shared && !(e->flags & MAPF_HUGE);
}

static int op_protect_prepare(struct aspace *as, struct map_entry *e)
{
    return e->smap->shared ? section_tables_own(as, e) : 0;
}

/* Private tables only. prot does not exceed the access that the mapping was made with. */
static vaddr_t op_protect(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end,
                          unsigned prot)
{
    (void)start;
    section_tables_protect(as, e, prot);
    return end;
}

static int op_fork(struct aspace *src, struct map_entry *e, struct aspace *dst,
                   struct map_entry *child)
{
    (void)src;
    if (section_map_copy(dst, e, child, e->start) != 0)
        return -ENOMEM;
    section_map_link(child);
    child->offset = e->offset;
    if (section_tables_fill(dst, child) != 0) {
        smap_end(child->smap);
        child->smap = NULL;
        return -ENOMEM;
    }
    count(&dst->counts.section_pages, (child->end - child->start) / PAGE_SIZE);
    return 0;
}

/* An ALLOC section's PTEs are all valid since the mapping. For a FLUID section, fault each page in;
   no frames are allocated but those of the pages in the range. */
static int op_populate(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    if (section_is_alloc(e->smap->section))
        return 0;
    for (vaddr_t va = start; va < end; va += PAGE_SIZE) {
        int err = thread_killed() ? -EINTR : op_fault(as, e, va, FAULT_READ);

        if (err)
            return err;
    }
    return 0;
}

/* Of huge pages the contents stay, as those of all shared memory do. */
static int op_discard(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    (void)as;
    (void)end;
    return (e->flags & MAPF_HUGE) && start % HUGE_BYTES == 0 ? 0 : -EINVAL;
}

/* All mappings of a section count, whichever part of it they show. */
static uint64_t op_sharers(const struct map_entry *e, pte_t pte)
{
    struct section *s = e->smap->section;
    ipl_t ipl = spin_lock(&s->lock);
    uint64_t n = s->nmaps;

    (void)pte;
    spin_unlock(&s->lock, ipl);
    return n;
}

/* ---- futexes ---- */

/* The count is for the self-check, which finds no mapping for such a share. */
static bool word_hold(void *base)
{
    struct section *s = base;
    bool held = section_try_share(s);

    if (held)
        __atomic_fetch_add(&s->holds, 1, __ATOMIC_RELAXED);
    return held;
}

static void word_drop(void *base)
{
    struct section *s = base;

    __atomic_fetch_sub(&s->holds, 1, __ATOMIC_RELAXED);
    section_drop(s);
    section_reap();
}

const struct word_keeper section_word_keeper = {.hold = word_hold, .drop = word_drop};

static void *op_word_base(const struct map_entry *e) { return e->smap->section; }

const struct map_ops section_map_ops = {
    .name = "section",
    .word_base = op_word_base,
    .word_keeper = &section_word_keeper,
    .fault = op_fault,
    .unmap = op_unmap,
    .fork = op_fork,
    .protect = op_protect,
    .is_fixed = op_is_fixed,
    .protect_prepare = op_protect_prepare,
    .split_prepare = op_split_prepare,
    .split_cancel = op_split_cancel,
    .split = op_split,
    .populate = op_populate,
    .discard = op_discard,
    .sharers = op_sharers,
};
