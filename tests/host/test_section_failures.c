// SOURCES: kernel/quota/account.c
// SOURCES: mm/space/region.c mm/section/section.c mm/section/section_gsd.c mm/pt/gh.c
// SOURCES: mm/section/section_map.c
// SOURCES: mm/section/section_pt.c mm/section/section_walk.c mm/section/shpt.c mm/pt/pt.c
// SOURCES: mm/pt/pt_system.c mm/pt/shootdown.c
// SOURCES: kernel/base/span.c
// SOURCES: mm/space/aspace.c mm/space/aspace_tree.c mm/space/fault.c mm/space/fork.c
// SOURCES: mm/space/anon.c mm/object/object.c mm/object/object_paging.c
// SOURCES: mm/object/object_index.c mm/object/pager.c mm/object/rmap.c
// SOURCES: mm/object/mappings.c kernel/base/treap.c
// SOURCES: kernel/base/string_extra.c
// SOURCES: sysman/params.c sysman/config.c
// SOURCES: mm/space/object_fault.c mm/space/aspace_protect.c mm/space/region_memory.c
// SOURCES: mm/section/section_pagfil.c
// SOURCES: mm/section/section_pfn.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c
/*
 * Each allocation that a section service makes is made to fail in turn, until the service succeeds
 * without a failure. Each time the service must return an error and leave pages, pool, promises,
 * shares and reservations unchanged. Freed pages are poisoned, and translation buffers keep every
 * translation until it is invalidated.
 */
#define VM_REAL_REGIONS
#include "vm.h"

#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/vadef.h"
#include "mm/phys/fluid.h"
#include "mm/section/section_map.h"
#include "mm/section/shpt.h"

#define MIB           (1UL << 20)
#define PAGES_PER_MIB (MIB / PAGE_SIZE)
#define ALLOC_FIRST   65536u /* frames beyond those that vm.h allocates */
#define ALLOC_MIB     24
#define LARGE_MIB     (8 * 1024 + 12)
#define FRAMES_FIRST  (ALLOC_FIRST + 65536u) /* of a page-frame section */
#define SECTIONS      5

/* ---- promises, paged pool, registry ---- */

static int64_t promised_unused;
static struct rmd alloc_rmd = {.name = "ALLOC",
                               .flags = RMD_ALLOC | RMD_PAGE_TABLES,
                               .npages = ALLOC_MIB * PAGES_PER_MIB,
                               .npt_pages = ALLOC_MIB / 8,
                               .first = {ALLOC_FIRST},
                               .pt_first = {ALLOC_FIRST - 8}};

int fluid_promise(uint64_t n)
{
    if (vm_fails())
        return -12;
    promised_unused += (int64_t)n;
    return 0;
}
/* Stands for another CPU: called when a promised page is allocated and not installed yet. */
static void (*meanwhile)(void);
void fluid_promise_used(uint64_t n)
{
    void (*other)(void) = meanwhile;

    meanwhile = NULL;
    __atomic_fetch_sub(&promised_unused, (int64_t)n, __ATOMIC_RELAXED);
    if (other)
        other();
}
void fluid_promise_unused(uint64_t n)
{
    __atomic_fetch_add(&promised_unused, (int64_t)n, __ATOMIC_RELAXED);
}
void fluid_promise_end(uint64_t n) { promised_unused -= (int64_t)n; }

void *pgd_alloc(size_t n) { return npp_alloc(n); }
void *pgd_alloc_zeroed(size_t n) { return npp_alloc_zeroed(n); }
void pgd_free(void *p, size_t n) { npp_free(p, n); }
unsigned page_rad(pfn_t pfn) { return pfn.n == 0; }
void page_zero(pfn_t pfn) { memset(kseg_page(pfn), 0, PAGE_SIZE); }
void page_zero_if_needed(pfn_t pfn) { page_zero(pfn); }

int mmg_use_res_mem(const char *name, bool sysgbl, uint32_t group, uint64_t npages,
                    struct rmd **out)
{
    (void)sysgbl;
    (void)group;
    if (strcmp(name, alloc_rmd.name) != 0)
        return SS$_NORESERVEDMEM;
    if (alloc_rmd.used)
        return SS$_RESERVEDMEMUSED;
    alloc_rmd.used = npages;
    *out = &alloc_rmd;
    return SS$_NORMAL;
}
void mmg_return_res_mem(struct rmd *r) { r->used = 0; }

/* The frames from FRAMES_FIRST on may be mapped by page-frame sections. */
bool page_is_excluded(pfn_t first, uint64_t npages)
{
    (void)first, (void)npages;
    return false;
}
struct rmd *mmg_borrow_res_mem(pfn_t first, uint64_t npages)
{
    (void)npages;
    alloc_rmd.borrowers += first.n == FRAMES_FIRST;
    return first.n == FRAMES_FIRST ? &alloc_rmd : NULL;
}
void mmg_give_back_res_mem(struct rmd *r) { r->borrowers--; }

/* ---- the state that a failure must not change ---- */

struct state {
    uint32_t free_pages;
    int64_t pool, promised;
    uint64_t reserved, borrowed, shares[SECTIONS], maps[SECTIONS];
};

/* LARGE needs a little more than one level-2 page. */
static const char *const names[SECTIONS] = {"ALLOC", "FLUID", "LARGE", "PAGFIL", "FRAMES"};
static const uint32_t section_kinds[SECTIONS] = {SEC$M_MRES, SEC$M_MRES, SEC$M_MRES, SEC$M_PAGFIL,
                                                 SEC$M_PFNMAP};
static const uint64_t sizes[SECTIONS] = {ALLOC_MIB * PAGES_PER_MIB, 20 * PAGES_PER_MIB + 5,
                                         LARGE_MIB *PAGES_PER_MIB, 16 * PAGES_PER_MIB,
                                         16 * PAGES_PER_MIB};

static struct section_request request(unsigned i)
{
    struct section_request r = {.npages = sizes[i], .flags = SEC$M_SYSGBL | SEC$M_PERM};

    r.name = (struct section_name){names[i], (uint32_t)strlen(names[i]), true, 0};
    r.creds.system = true;
    r.kinds = section_kinds[i];
    r.first = pfn_of(FRAMES_FIRST);
    if (r.kinds == SEC$M_PFNMAP)
        r.flags |= SEC$M_WRT;
    return r;
}

static struct section *section_of(unsigned i)
{
    struct section_request r = request(i);
    struct section *s;

    if (section_find(&r, false, &s) != SS$_NORMAL)
        return NULL;
    section_drop(s);
    return s;
}

static struct state state(void)
{
    struct state now;

    memset(&now, 0, sizeof(now));
    section_reap();
    now.free_pages = vm_nfree;
    now.pool = vm_pool_bytes;
    now.promised = promised_unused;
    now.reserved = alloc_rmd.used;
    now.borrowed = alloc_rmd.borrowers;
    for (unsigned i = 0; i < SECTIONS; i++) {
        struct section *s = section_of(i);

        now.shares[i] = s ? s->life : 0;
        now.maps[i] = s ? s->nmaps : 0;
    }
    return now;
}

/* ---- the operations ---- */

struct scene {
    struct aspace *as;
    uint64_t shared_region, plain_region;
    vaddr_t va;
    struct aspace *child;
};

static int map(struct scene *c, unsigned i, bool shared)
{
    struct section_map_request m = {.region_id = shared ? c->shared_region : c->plain_region,
                                    .flags = SEC$M_EXPREG,
                                    .write = true};
    struct section_request r = request(i);
    uint64_t length;
    struct section *s;
    int status = section_find(&r, true, &s);

    if (status != SS$_NORMAL)
        return status;
    status = section_map(c->as, s, &m, &c->va, &length);
    if (status != SS$_NORMAL)
        section_drop(s);
    return status;
}

static bool none(struct scene *c) { return c != NULL; }
static bool with_alloc_shared(struct scene *c) { return map(c, 0, true) == SS$_NORMAL; }
static bool with_alloc_private(struct scene *c) { return map(c, 0, false) == SS$_NORMAL; }
static bool with_fluid_private(struct scene *c) { return map(c, 1, false) == SS$_NORMAL; }
static bool with_large(struct scene *c) { return map(c, 2, true) == SS$_NORMAL; }

static bool with_pagfil(struct scene *c) { return map(c, 3, false) == SS$_NORMAL; }
static bool with_frames(struct scene *c) { return map(c, 4, false) == SS$_NORMAL; }

/* A temporary page-file-backed section: its pages are freed with the address space. */
static bool with_fresh_pagfil(struct scene *c)
{
    struct section_map_request m = {
        .region_id = c->plain_region, .flags = SEC$M_EXPREG, .write = true};
    struct section_request r = request(3);
    uint64_t length;
    struct section *s;

    r.name.name = "FRESH";
    r.name.length = 5;
    r.flags &= ~SEC$M_PERM;
    return section_create(&r, false, true, &s) == SS$_CREATED &&
           section_map(c->as, s, &m, &c->va, &length) == SS$_NORMAL;
}

static bool do_region(struct scene *c)
{
    struct region_view v;

    return region_create(c->as, 8 * MIB, 0, 0, 0, false, &v) == SS$_NORMAL;
}
static bool do_map_alloc_shared(struct scene *c) { return map(c, 0, true) == SS$_NORMAL; }
static bool do_map_alloc_private(struct scene *c) { return map(c, 0, false) == SS$_NORMAL; }
static bool do_map_fluid(struct scene *c) { return map(c, 1, true) == SS$_NORMAL; }
static bool do_map_large(struct scene *c) { return map(c, 2, true) == SS$_NORMAL; }
static bool do_map_pagfil(struct scene *c) { return map(c, 3, false) == SS$_NORMAL; }
static bool do_map_frames(struct scene *c) { return map(c, 4, false) == SS$_NORMAL; }
static bool do_fault_private(struct scene *c)
{
    return aspace_fault(c->as, c->va, FAULT_WRITE) == 0;
}
static bool do_fork(struct scene *c)
{
    c->child = aspace_fork(c->as);
    return c->child != NULL;
}
static bool do_cut_shared(struct scene *c)
{
    return region_delete_va(c->as, c->shared_region, c->va + 8 * MIB, 8 * MIB) == SS$_NORMAL;
}
static bool do_cut_private(struct scene *c)
{
    return region_delete_va(c->as, c->plain_region, c->va + 3 * MIB, 9 * MIB) == SS$_NORMAL;
}

/* Both ends are in the shared level-2 page. */
static bool do_cut_large(struct scene *c)
{
    return region_delete_va(c->as, c->shared_region, c->va + 8 * MIB, 8 * MIB) == SS$_NORMAL;
}
/* One end is in the shared level-2 page, the other in the process's own. */
static bool do_cut_large_across(struct scene *c)
{
    return region_delete_va(c->as, c->shared_region, c->va + 4096 * MIB, 4104 * MIB) == SS$_NORMAL;
}
static bool do_unmap_large(struct scene *c)
{
    return aspace_unmap(c->as, c->va + 4096 * MIB, 8 * MIB) == 0;
}

/* Let the first, second, third ... allocation of `op` fail. The address space is then freed, with
   everything that `op` has left in it. */
static void fail_each(const char *what, bool (*prepare)(struct scene *), bool (*op)(struct scene *))
{
    bool good = true, passed = false;
    int n;

    for (n = 0; good && !passed && n < 200; n++) {
        struct state before = state(), between, after;
        struct region_view v;
        struct scene c = {.as = aspace_create(0)};

        uint64_t tables;

        region_create(c.as, 16 * 1024 * MIB, 0, VA$M_SHARED_PTS, 0, false, &v);
        c.shared_region = v.id;
        region_create(c.as, 64 * MIB, 0, 0, 0, false, &v);
        c.plain_region = v.id;
        good = prepare(&c);
        between = state();
        tables = c.as->pt.tables;
        vm_failed = false;
        vm_fail_at = n;
        passed = op(&c);
        vm_fail_at = -1;
        after = state();
        good = good && passed == !vm_failed;
        /* A failure changes no share, no mapping and no table. */
        if (!passed)
            good = good && memcmp(between.shares, after.shares, sizeof(after.shares)) == 0 &&
                   memcmp(between.maps, after.maps, sizeof(after.maps)) == 0 &&
                   (op == do_fault_private || tables == c.as->pt.tables);
        if (c.child)
            aspace_unref(c.child);
        aspace_unref(c.as);
        after = state();
        good = good && memcmp(&before, &after, sizeof(after)) == 0;
    }
    ok(good && passed, "%s: fails cleanly at each of its %d allocations, then succeeds", what,
       n - 1);
}

/* Two CPUs have the space loaded and a translation of the page, which must be invalidated. */
static void translations_go(void)
{
    struct scene c = {.as = aspace_create(0)};
    struct region_view v;
    uint64_t word = 0;
    bool good = true;

    region_create(c.as, 16 * 1024 * MIB, 0, VA$M_SHARED_PTS, 0, false, &v);
    c.shared_region = v.id;
    with_large(&c);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        vm_switch(cpu, c.as);
        good = good && vm_access(c.as, c.va + 8 * MIB, FAULT_READ, &word) == 0;
    }
    vm_switch(0, c.as);
    good = good && do_cut_large(&c);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        vm_switch(cpu, c.as);
        good = good && vm_access(c.as, c.va + 8 * MIB, FAULT_READ, &word) != 0 &&
               vm_access(c.as, c.va + 16 * MIB, FAULT_READ, &word) == 0;
    }
    ok(good, "no CPU keeps a translation of what was cut out of a shared level-2 page");
    vm_unload(c.as);
    vm_switch(0, NULL);
    aspace_unref(c.as);
}

static void creation(unsigned i)
{
    bool good = true;
    int status = 0, n;

    for (n = 0; good && !(status & 1); n++) {
        struct state before = state(), after;
        struct section_request r = request(i);
        struct section *s;

        vm_failed = false;
        vm_fail_at = n;
        status = section_create(&r, false, true, &s);
        vm_fail_at = -1;
        if (status & 1) {
            section_drop(s);
            break;
        }
        after = state();
        good = vm_failed && (status == SS$_INSFMEM || status == SS$_INSFLPGS) &&
               memcmp(&before, &after, sizeof(after)) == 0;
    }
    ok(good && status == (i < 3 ? SS$_CREATED_SHPT : SS$_CREATED),
       "creation of %s: fails cleanly at each of its %d allocations", names[i], n);
}

static void touch_first_page(void)
{
    struct section *s = section_of(1);
    pte_t table = shpt_table_get(s->related, 0);

    section_make_valid(s, 0, pt_table(table));
}

#define RACED_PIECE 1ul
#define RACED_PAGE  (RACED_PIECE * PTES_PER_PAGE + 5)

static pte_t get_raced_table(void) { return shpt_table_get(section_of(1)->related, RACED_PIECE); }
static bool make_raced_page(void)
{
    return section_make_valid(section_of(1), RACED_PAGE, pt_table(get_raced_table()) + 5);
}
static void table_by_another(void) { get_raced_table(); }
static void page_by_another(void) { make_raced_page(); }

/* Two CPUs allocate a page for the same PTE: one installs it, the other one must free its page. */
static void lost_races(void)
{
    const struct section *shpt = section_of(1)->related;
    uint64_t own = shpt->own_pages;
    struct state before = state(), after;
    bool good;

    meanwhile = table_by_another;
    good = get_raced_table() == *shpt_l2_pte(shpt, RACED_PIECE);
    after = state();
    ok(good && after.free_pages == before.free_pages - 1 && after.promised == before.promised - 1 &&
           shpt->own_pages == own + 1,
       "the CPU that loses the race for a shared page table uses the other's and frees its own");
    before = after;
    meanwhile = page_by_another;
    good = !make_raced_page();
    after = state();
    ok(good && after.free_pages == before.free_pages - 1 && after.promised == before.promised - 1,
       "the CPU that loses the race for a page of a section frees its own");
}

int main(void)
{
    struct section_request r;
    struct state before, after;

    vm_boot();
    section_boot();
    before = state();
    section_pagfil_boot();
    section_pfn_boot();
    for (unsigned i = 0; i < SECTIONS; i++)
        creation(i);
    fail_each("region", none, do_region);
    fail_each("map ALLOC, shared tables", none, do_map_alloc_shared);
    fail_each("map ALLOC, private tables", none, do_map_alloc_private);
    fail_each("map FLUID, shared tables", none, do_map_fluid);
    touch_first_page(); /* a page once made valid stays so: later faults leave the counts alone */
    fail_each("fault with private tables", with_fluid_private, do_fault_private);
    fail_each("fork with shared tables", with_alloc_shared, do_fork);
    fail_each("fork with private tables", with_alloc_private, do_fork);
    fail_each("cut a shared mapping", with_alloc_shared, do_cut_shared);
    fail_each("cut a private mapping", with_alloc_private, do_cut_private);
    fail_each("map with a shared level-2 page", none, do_map_large);
    fail_each("fork with a shared level-2 page", with_large, do_fork);
    fail_each("cut a shared level-2 page", with_large, do_cut_large);
    fail_each("cut across its end", with_large, do_cut_large_across);
    fail_each("cut it by munmap", with_large, do_unmap_large);
    fail_each("map page-file backed", none, do_map_pagfil);
    fail_each("first fault, page-file backed", with_fresh_pagfil, do_fault_private);
    fail_each("fork page-file backed", with_pagfil, do_fork);
    fail_each("cut page-file backed", with_pagfil, do_cut_private);
    fail_each("map page frames", none, do_map_frames);
    fail_each("fork page frames", with_frames, do_fork);
    fail_each("cut page frames", with_frames, do_cut_private);
    translations_go();
    lost_races();
    for (unsigned i = 0; i < SECTIONS; i++) {
        r = request(i);
        section_mark_delete(&r);
    }
    after = state();
    ok(memcmp(&before, &after, sizeof(after)) == 0, "everything has been freed");
    return tap_done();
}
