// SOURCES: mm/region.c mm/section.c mm/section_gsd.c mm/section_gh.c mm/section_map.c
// SOURCES: mm/section_pt.c mm/section_walk.c mm/shpt.c mm/aspace.c mm/aspace_tree.c mm/anon.c
// SOURCES: mm/fault.c mm/fork.c mm/object.c mm/object_copy.c mm/object_index.c mm/pager.c
// SOURCES: mm/rmap.c mm/shootdown.c mm/pt.c mm/pt_system.c mm/page.c mm/page_range.c
// SOURCES: mm/fluid.c mm/pool_nonpaged.c mm/pool_var.c kernel/base/string_extra.c
// SOURCES: sysman/params.c sysman/config.c
// SOURCES: mm/object_fault.c mm/aspace_protect.c mm/region_memory.c
/*
 * Regions, sections and shared page tables. A small processor model reads page tables as the
 * hardware does and takes faults to aspace_fault(); a random walk over all operations is compared
 * with a plain model of what each section must hold.
 */
#include "mm/section_map.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/layout.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/vadef.h"
#include "kernel/sched/thread.h"
#include "mm/fluid.h"
#include "mm/page.h"
#include "mm/pool.h"
#include "mm/pt.h"
#include "mm/region.h"
#include "mm/section_gsd.h"
#include "mm/shpt.h"
#include "sysman/params.h"
#include "userland/lib/include/tap.h"

#define MIB           (1UL << 20)
#define PAGES_PER_MIB (MIB / PAGE_SIZE)
#define RAM_PAGES     (UINT64_C(1) << 18) /* 2 GiB */

static struct thread threads[MAX_CPUS];

/* ---- what the sources lean on and this test provides ---- */

void thread_set_root(struct thread *t, uint64_t root_pfn, cpumask_t *mask)
{
    t->root_pfn = root_pfn;
    t->root_mask = mask;
}

void *pgd_alloc(size_t n) { return malloc(n); }
void *pgd_alloc_zeroed(size_t n) { return calloc(1, n); }
void pgd_free(void *p, size_t n)
{
    (void)n;
    free(p);
}

/* The registry: one descriptor of each kind, taken by name. */
static struct rmd rmds[] = {
    {.name = "ALLOC",
     .flags = RMD_ALLOC | RMD_ZERO | RMD_PAGE_TABLES | RMD_SYSGBL,
     .npages = 64 * PAGES_PER_MIB},
    {.name = "ALLOC_NOPT", .flags = RMD_ALLOC | RMD_SYSGBL, .npages = 20 * PAGES_PER_MIB},
    {.name = "FLUID_PT", .flags = RMD_PAGE_TABLES | RMD_SYSGBL, .npages = 64 * PAGES_PER_MIB},
    {.name = "FLUID_NOPT", .flags = RMD_SYSGBL, .npages = 24 * PAGES_PER_MIB},
    {.name = "PIECES",
     .flags = RMD_ALLOC | RMD_PAGE_TABLES | RMD_SYSGBL,
     .npages = 28 * PAGES_PER_MIB},
    {.name = "PIECES_NOPT", .flags = RMD_ALLOC | RMD_SYSGBL, .npages = 28 * PAGES_PER_MIB},
};

/* 16, 8 and 4 MiB, which lie apart from each other, at addresses that fall. */
static void extents_boot(struct rmd *r)
{
    static const uint64_t mib[] = {16, 8, 4};
    pfn_t gap;

    r->extents = calloc(ARRAY_SIZE(mib), sizeof(*r->extents));
    r->nextents = ARRAY_SIZE(mib);
    for (unsigned i = 0; i < ARRAY_SIZE(mib); i++) {
        struct rmd_extent *e = &r->extents[i];

        e->npages = mib[i] * PAGES_PER_MIB;
        if (page_alloc_contig(e->npages, 512, 0, PAGE_T_GLOBAL, 0, &e->first) != 0 ||
            page_alloc_contig(1, 1, 0, PAGE_T_SYSTEM, 0, &gap) != 0)
            abort();
    }
    r->first = r->extents[0].first;
}

static void registry_boot(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(rmds); i++) {
        struct rmd *r = &rmds[i];

        if (r->flags & RMD_PAGE_TABLES)
            r->npt_pages = shpt_l3_pages(r->npages);
        if (r->flags & RMD_ALLOC) {
            if (strncmp(r->name, "PIECES", 6) == 0)
                extents_boot(r);
            else if (page_alloc_contig(r->npages, 512, 0, PAGE_T_GLOBAL, 0, &r->first) != 0)
                abort();
            if ((r->npt_pages &&
                 page_alloc_contig(r->npt_pages, 8, 0, PAGE_T_SHPT, 0, &r->pt_first) != 0))
                abort();
        } else if (fluid_promise(r->npages + r->npt_pages) != 0) {
            abort();
        }
    }
}

int mmg_use_res_mem(const char *name, bool sysgbl, uint32_t group, uint64_t npages,
                    struct rmd **out)
{
    (void)group;
    for (unsigned i = 0; i < ARRAY_SIZE(rmds); i++)
        if (sysgbl && strcmp(rmds[i].name, name) == 0) {
            if (rmds[i].used)
                return SS$_RESERVEDMEMUSED;
            if (npages > rmds[i].npages)
                return SS$_MRES_PFNSMALL;
            rmds[i].used = npages;
            *out = &rmds[i];
            return SS$_NORMAL;
        }
    return SS$_NORESERVEDMEM;
}

void mmg_return_res_mem(struct rmd *r)
{
    r->used = 0;
    r->flags &= ~RMD_ZEROED;
}

/* ---- the processor ---- */

enum { TOUCH_OK, TOUCH_SEGV };

static pte_t *hardware_walk(struct aspace *as, vaddr_t va)
{
    pte_t *p = (pte_t *)kseg_page(as->root) + pte_l1_index(va);

    for (unsigned level = 1; level < 3; level++) {
        pte_t upper = __atomic_load_n(p, __ATOMIC_ACQUIRE);

        if (!pte_valid(upper) || !(upper & PTE_KRE))
            return NULL;
        p = (pte_t *)kseg_page(pte_pfn(upper)) + (level == 1 ? pte_l2_index(va) : pte_l3_index(va));
    }
    return p;
}

/* The page at va, made accessible by faults as often as it takes; NULL: the process would get a
 * signal. */
static uint64_t *touch(struct aspace *as, vaddr_t va, bool write)
{
    for (unsigned i = 0; i < 10; i++) {
        pte_t *p = hardware_walk(as, va);
        pte_t pte = p ? __atomic_load_n(p, __ATOMIC_ACQUIRE) : 0;

        if (pte_valid(pte) && (pte & PTE_URE) && (!write || ((pte & PTE_UWE) && !(pte & PTE_FOW))))
            return (uint64_t *)((char *)kseg_page(pte_pfn(pte)) + (va & PAGE_MASK));
        if (aspace_fault(as, va & ~PAGE_MASK, write ? FAULT_WRITE : FAULT_READ) != 0)
            return NULL;
    }
    abort();
}

/* ---- shorthand for the services ---- */

static struct section_request request(const char *name, uint64_t npages, uint32_t flags)
{
    struct section_request r = {.npages = npages, .flags = flags};

    r.name.name = name;
    r.name.length = (uint32_t)strlen(name);
    r.name.sysgbl = true;
    r.creds = (struct section_creds){1, 1, true, false};
    r.flags |= SEC$M_SYSGBL;
    return r;
}

static int create(const char *name, uint64_t npages, uint32_t flags)
{
    struct section_request r = request(name, npages, flags | SEC$M_PERM);
    struct section *s;
    int status = section_create(&r, false, true, &s);

    if (status & 1)
        section_drop(s);
    return status;
}

static int delete(const char *name)
{
    struct section_request r = request(name, 0, 0);

    return section_mark_delete(&r);
}

static int map(struct aspace *as, const char *name, struct section_map_request m, vaddr_t *va,
               uint64_t *length)
{
    struct section_request r = request(name, 0, 0);
    struct section *s;
    int status = section_find(&r, m.write, &s);

    if (status != SS$_NORMAL)
        return status;
    status = section_map(as, s, &m, va, length);
    if (status != SS$_NORMAL)
        section_drop(s);
    return status;
}

static int map_whole(struct aspace *as, const char *name, uint64_t region, vaddr_t *va)
{
    uint64_t length;

    return map(
        as, name,
        (struct section_map_request){.region_id = region, .flags = SEC$M_EXPREG, .write = true}, va,
        &length);
}

static uint64_t region_new(struct aspace *as, uint64_t length, uint32_t flags)
{
    struct region_view v;

    return region_create(as, length, 0, flags, 0, true, &v) == SS$_NORMAL ? v.id : 0;
}

/* The section of that name without a share: tests are alone. */
static struct section *peek(const char *name)
{
    struct section_request r = request(name, 0, 0);
    struct section *s;

    if (section_find(&r, false, &s) != SS$_NORMAL)
        return NULL;
    section_drop(s);
    return s;
}

static uint64_t shares(const struct section *s) { return s->life & ~SECTION_PERMANENT; }

struct balance {
    uint64_t free, promised;
};

static struct balance balance(void)
{
    struct page_stats s;

    section_reap();
    page_stats(&s);
    return (struct balance){s.free, fluid_promised_unused()};
}

static bool balanced(struct balance before)
{
    struct balance after = balance();

    if (after.free != before.free || after.promised != before.promised)
        diag("free %lu -> %lu, promised %lu -> %lu", before.free, after.free, before.promised,
             after.promised);
    return after.free == before.free && after.promised == before.promised;
}

/* ---- regions ---- */

static void regions(void)
{
    struct aspace *as = aspace_create(0);
    struct region_view v, w;
    vaddr_t first_free, va = 0;

    is(region_create(as, 0, 0, 0, 0, false, &v), SS$_LEN_NOTPAGMULT, "a region has a length");
    is(region_create(as, PAGE_SIZE + 1, 0, 0, 0, false, &v), SS$_LEN_NOTPAGMULT, "of whole pages");
    is(region_create(as, 12 * MIB, 0, VA$M_SHARED_PTS, 0, false, &v), SS$_LEN_NOTPAGMULT,
       "with shared page tables of whole level-3 pages");
    is(region_create(as, 8 * MIB, 0, VA$M_SHARED_PTS, 0x200000000 + MIB, false, &v),
       SS$_VA_NOTPAGALGN, "that start at one");
    is(region_create(as, 8 * MIB, 0, 0x80, 0, false, &v), SS$_IVREGFLG, "flags are known ones");
    is(region_create(as, 8 * MIB, 0, VA$M_P0_SPACE | VA$M_P1_SPACE, 0, false, &v), SS$_IVREGFLG,
       "and agree");
    is(region_create(as, 8 * MIB, 0x13, 0, 0, false, &v), SS$_IVREGPROT,
       "the owner is not less privileged than the creator");
    is(region_create(as, 8 * MIB, 0, VA$M_PERMANENT, 0, false, &v), SS$_NOPRIV,
       "a permanent region takes privilege");
    is(region_create(as, 8 * MIB, 0, 0, LAYOUT_USER_TOP, false, &v), SS$_NOT_PROCESS_VA,
       "system space is no process address");
    is(region_create(as, LAYOUT_USER_TOP, 0, 0, 0, false, &v), SS$_VASFULL, "nor is all there is");
    is(region_create(as, 4096 * MIB, 0, VA$M_SHARED_PTS, 0, false, &v), SS$_NORMAL, "4 GiB");
    ok(v.start % (4096 * MIB) == 0 && v.end == LAYOUT_USER_TOP, "lie at 4 GiB, at the high end");
    is(v.id, REGION_MIN_USER_ID, "the first region has id 16");
    is(region_create(as, 20 * MIB, 0, 0, 0, false, &w), SS$_NORMAL, "another");
    ok(w.start % (4 * MIB) == 0 && w.end <= v.start, "lies below, at a granularity-hint block");
    is(region_create(as, 8 * MIB, 0, 0, v.start + 8 * MIB, false, &w), SS$_VA_IN_USE,
       "regions do not overlap");
    is(region_create(as, 24 * MIB, 0, VA$M_SHARED_PTS, 0, false, &w), SS$_NORMAL, "24 MiB");
    ok(w.start % (16 * MIB) == 0, "lie at 16 MiB, the largest power of two not above");
    ok(aspace_map_anon(as, &va, 64 * MIB, MAP_R | MAP_W, 0) == 0 && !region_at_locked(as, va),
       "mmap stays out of regions");
    va = v.start;
    ok(aspace_map_anon(as, &va, MIB, MAP_R | MAP_W, MAPF_FIXED) != 0 || va != v.start,
       "also when it is told where");
    is(region_query(as, VA$_REGSUM_BY_VA, 0, v.start + 5, &w, &first_free), SS$_NORMAL,
       "by address");
    ok(w.id == v.id && first_free == v.start, "a region is found, empty");
    is(region_query(as, VA$_NEXT_REGSUM_BY_VA, 0, LAYOUT_P2_BASE, &w, &first_free), SS$_NORMAL,
       "the next region above an address");
    is(region_query(as, VA$_REGSUM_BY_ID, 99, 0, &w, &first_free), SS$_IVREGID, "no such id");
    is(region_delete(as, VA$C_P2, false, &w), SS$_NODELPERMANENT, "default regions stay");
    is(region_delete(as, v.id, false, &w), SS$_NORMAL, "a created one goes");
    is(region_delete(as, v.id, false, &w), SS$_IVREGID, "once");
    aspace_unref(as);
}

/* ---- one section, its tables and faults ---- */

static void expect_hints(const char *name, uint64_t l3_512, uint64_t l2_hinted)
{
    struct gh_count l3, l2;
    uint64_t pages, l1;
    struct section *s = peek(name);

    section_walk(s, NULL, &l3, &l2, &l1, &pages);
    ok(l3.errors == 0 && l2.errors == 0, "%s: every hint is right", name);
    is(l3.ptes[3], l3_512, "%s: level-3 PTEs with 512-page hints", name);
    is(l2.ptes[1] + l2.ptes[2] + l2.ptes[3], l2_hinted, "%s: level-2 PTEs with hints", name);
}

static void alloc_shared(void)
{
    struct aspace *as = aspace_create(0), *child;
    struct balance before = balance();
    uint64_t id = region_new(as, 64 * MIB, VA$M_SHARED_PTS), *p;
    struct region_view v;
    vaddr_t va;

    is(create("ALLOC", 64 * PAGES_PER_MIB, 0), SS$_CREATED_SHPT, "an ALLOC section");
    is(create("ALLOC", 64 * PAGES_PER_MIB, 0), SS$_DUPLNAM, "has its name for itself");
    is(map_whole(as, "ALLOC", id, &va), SS$_NORMAL, "is mapped");
    is(as->counts.pt_pages, 2, "with one page-table page of the process's own beside its root");
    expect_hints("ALLOC", 64 * PAGES_PER_MIB, 8);
    p = touch(as, va + 63 * MIB, true);
    ok(p && *p == 0, "its pages are there and zero");
    *p = 4711;
    is(as->counts.section_made_valid + as->counts.section_raced + as->counts.section_l3_pickup, 0,
       "without a fault");
    child = aspace_fork(as);
    is(shares(peek("ALLOC")), 2, "fork takes a share");
    p = touch(child, va + 63 * MIB, true);
    ok(p && *p == 4711, "and sees the same page, not a copy");
    is(child->counts.pt_pages, 2, "through the same level-3 pages");
    is(region_delete_va(as, id, va + 8 * MIB + PAGE_SIZE, 8 * MIB), SS$_VA_NOTPAGALGN,
       "a part that starts within a piece stays");
    is(region_delete_va(as, id, va + 8 * MIB, 4 * MIB), SS$_LEN_NOTPAGMULT,
       "and one that ends within a piece");
    is(region_delete_va(as, id, va + 8 * MIB, 8 * MIB), SS$_NORMAL, "a whole piece goes");
    ok(!touch(as, va + 8 * MIB, false) && touch(as, va, false) && touch(as, va + 16 * MIB, false),
       "that piece and no other");
    ok(touch(child, va + 8 * MIB, false) != NULL, "and not the child's");
    is(shares(peek("ALLOC")), 3, "two mappings are left of one, and the child's");
    aspace_unref(child);
    is(delete ("ALLOC"), SS$_NORMAL, "deletion is marked");
    is(create("ALLOC", 64 * PAGES_PER_MIB, 0), SS$_RESERVEDMEMUSED,
       "the name is free, but the reservation waits for the last share");
    is(region_delete(as, id, false, &v), SS$_NORMAL, "which goes with the region");
    ok(!peek("ALLOC") && rmds[0].used == 0, "and the reservation is back");
    is(create("ALLOC", 32 * PAGES_PER_MIB, 0), SS$_CREATED_SHPT, "it serves again");
    id = region_new(as, 64 * MIB, VA$M_SHARED_PTS);
    is(map_whole(as, "ALLOC", id, &va), SS$_NORMAL, "mapped");
    p = touch(as, va + 31 * MIB, true);
    ok(p && *p == 0, "zero again");
    delete ("ALLOC");
    aspace_unref(as);
    ok(balanced((struct balance){before.free + 1, before.promised}), "every page is back");
}

static void access_rules(void)
{
    struct aspace *as = aspace_create(0);
    uint64_t shared = region_new(as, 96 * MIB, VA$M_SHARED_PTS),
             plain = region_new(as, 64 * MIB, 0);
    struct section_map_request m = {.region_id = shared, .flags = SEC$M_EXPREG};
    uint64_t length;
    vaddr_t va;

    create("S", 20 * PAGES_PER_MIB, 0);
    create("RO", 16 * PAGES_PER_MIB, SEC$M_READ_ONLY_SHPT);
    create("ALLOC_NOPT", 20 * PAGES_PER_MIB, 0);
    is(map(as, "S", m, &va, &length), SS$_NOSHPTS, "a reader cannot use tables made for writing");
    is(map_whole(as, "RO", shared, &va), SS$_NOSHPTS, "nor a writer those made for reading");
    is(map_whole(as, "ALLOC_NOPT", shared, &va), SS$_NOSHPTS,
       "nor anybody tables that are not there");
    is(map(as, "RO", m, &va, &length), SS$_NORMAL, "a reader shares read-only tables");
    ok(touch(as, va, false) && !touch(as, va, true), "and cannot write");
    m.region_id = plain;
    is(map(as, "S", m, &va, &length), SS$_NORMAL,
       "in an ordinary region a reader has private tables");
    ok(touch(as, va, false) && !touch(as, va, true), "and cannot write either");
    m = (struct section_map_request){.region_id = shared, .write = true, .flags = SEC$M_EXPREG};
    m.offset = PAGE_SIZE;
    is(map(as, "S", m, &va, &length), SS$_OFF_NOTPAGALGN, "a shared mapping starts at a piece");
    m.offset = 24 * MIB;
    is(map(as, "S", m, &va, &length), SS$_OFFSET_TOO_BIG, "within the section");
    m.offset = 16 * MIB;
    m.length = 8 * MIB;
    is(map(as, "S", m, &va, &length), SS$_LENVIO, "and ends there");
    m.length = 3 * MIB + 1;
    is(map(as, "S", m, &va, &length), SS$_LEN_NOTPAGMULT, "at a page");
    m.length = MIB;
    is(map(as, "S", m, &va, &length), SS$_NORMAL, "the last, short piece");
    ok(length == 4 * MIB && va % (8 * MIB) == 0, "is mapped to the section's end");
    m.offset = 0;
    m.length = 0;
    m.flags = 0;
    m.start = va;
    is(map(as, "S", m, &va, &length), SS$_VA_IN_USE, "what is mapped is not mapped over");
    m.start = va + PAGE_SIZE;
    is(map(as, "S", m, &va, &length), SS$_VA_NOTPAGALGN, "a start is aligned");
    m.start = LAYOUT_P2_BASE;
    is(map(as, "S", m, &va, &length), SS$_PAGNOTINREG, "and in the region");
    m.region_id = 77;
    is(map(as, "S", m, &va, &length), SS$_IVREGID, "which exists");
    is(map_whole(as, "ALLOC_NOPT", plain, &va), SS$_NORMAL, "no shared tables: private ones");
    expect_hints("ALLOC_NOPT", 20 * PAGES_PER_MIB, 0);
    ok(touch(as, va + 19 * MIB, true) && as->counts.section_global_valid == 0,
       "filled in one sweep: no fault");
    is(region_delete_va(as, plain, va + 5 * MIB, MIB), SS$_NORMAL, "a hole in private tables");
    expect_hints("ALLOC_NOPT", 4 * PAGES_PER_MIB, 0);
    is(map_whole(as, "S", shared, &va), SS$_NORMAL, "more sections fit");
    is(map_whole(as, "S", shared, &va), SS$_NORMAL, "to the end");
    is(map_whole(as, "S", shared, &va), SS$_REGISFULL, "of the region");
    ok(aspace_unmap(as, va, MIB) != 0, "munmap cannot cut a shared piece either");
    ok(aspace_protect(as, va, MIB, MAP_R) != 0, "nor mprotect change shared PTEs");
    delete ("S");
    delete ("RO");
    delete ("ALLOC_NOPT");
    aspace_unref(as);
    ok(!peek("S") && !peek("RO") && !peek("ALLOC_NOPT"), "all are gone with their mapper");
}

static void names_and_identity(void)
{
    struct section_request r = request("ID", 8 * PAGES_PER_MIB, SEC$M_PERM);
    struct section *s;

    r.ident_version = 0x02000005;
    r.prot = 0xFF00 | 0xE0; /* group and world: nothing; owner: may read only */
    r.creds = (struct section_creds){7, 3, false, false};
    is(section_create(&r, false, true, &s), SS$_CREATED_SHPT, "a section with identity");
    section_drop(s);
    r.ident_match = SEC$K_MATEQU;
    is(section_find(&r, false, &s), SS$_NORMAL, "an equal version matches");
    section_drop(s);
    r.ident_version = 0x02000006;
    is(section_find(&r, false, &s), SS$_NOSUCHSEC, "another does not");
    r.ident_match = SEC$K_MATLEQ;
    is(section_find(&r, false, &s), SS$_NOSUCHSEC, "nor a later minor");
    r.ident_version = 0x02000001;
    is(section_find(&r, false, &s), SS$_NORMAL, "an earlier minor does");
    section_drop(s);
    r.ident_version = 0x03000001;
    is(section_find(&r, false, &s), SS$_NOSUCHSEC, "of the same major");
    r.ident_match = SEC$K_MATALL;
    is(section_find(&r, true, &s), SS$_NOPRIV, "protection denies writing to the owner");
    r.creds.uic_member = 4;
    is(section_find(&r, false, &s), SS$_NOPRIV, "and reading to the group");
    r.creds.bypass = true;
    is(section_find(&r, true, &s), SS$_NORMAL, "but BYPASS passes by the mask");
    section_drop(s);
    r.creds.bypass = false;
    is(section_mark_delete(&r), SS$_NOTCREATOR, "who may not delete it");
    r.creds.system = true;
    is(section_find(&r, true, &s), SS$_NORMAL, "but the system may all");
    section_drop(s);
    r.name.sysgbl = false;
    is(section_find(&r, true, &s), SS$_NOSUCHSEC, "a group section is another name space");
    r.name.sysgbl = true;
    is(section_mark_delete(&r), SS$_NORMAL, "deleted");
}

static void limits(void)
{
    struct balance before = balance();
    uint64_t room = fluid_count() - fluid_minimum(), n = room - 1000;
    struct section *s;

    is(create("BIG", room, 0), SS$_INSFLPGS, "a section larger than fluid memory is refused");
    ok(!peek("BIG") && balanced(before), "without a trace");
    while (create("BIG", n, 0) == SS$_CREATED_SHPT) {
        n += 1;
        delete ("BIG");
    }
    n -= 1;
    is(create("BIG", n, 0), SS$_CREATED_SHPT, "exactly what fits");
    ok(fluid_count() - fluid_minimum() <= 1, "uses fluid memory up");
    is(create("ONE", 1, 0), SS$_INSFLPGS, "and one page more is refused");
    s = peek("BIG");
    s->life += SECTION_SHARES_MAX;
    ok(!section_try_share(s), "shares do not overflow");
    s->life -= SECTION_SHARES_MAX;
    delete ("BIG");
    ok(balanced(before), "all is back");
    is(create("ALLOC", 65 * PAGES_PER_MIB, 0), SS$_MRES_PFNSMALL, "nor does a reservation stretch");
}

/* A reservation in several stretches: every page of a mapping is the frame that its stretch says,
   with either kind of tables, whole or from an offset, and every hint is right. */
static void in_pieces(void)
{
    struct balance before = balance();
    struct aspace *as = aspace_create(0);
    uint64_t shared = region_new(as, 64 * MIB, VA$M_SHARED_PTS);
    uint64_t plain = region_new(as, 64 * MIB, 0);
    struct section_map_request m = {
        .region_id = plain, .offset = 5 * MIB, .flags = SEC$M_EXPREG, .write = true};
    const uint64_t npages = 27 * PAGES_PER_MIB + 3;
    uint64_t length, wrong = 0;
    vaddr_t va, vp, vo;
    struct section *s;

    is(create("PIECES", npages, 0), SS$_CREATED_SHPT, "an ALLOC section of three stretches");
    s = peek("PIECES");
    is(section_run(s, 0), 16 * PAGES_PER_MIB, "the first has 16 MiB");
    is(section_run(s, 17 * PAGES_PER_MIB), 7 * PAGES_PER_MIB, "from the middle of the second");
    is(section_run(s, npages - 1), 1, "the last ends with the section");
    is(map_whole(as, "PIECES", shared, &va), SS$_NORMAL, "mapped through shared tables");
    expect_hints("PIECES", npages - npages % 512, 0); /* the tail has smaller ones */
    is(map_whole(as, "PIECES", plain, &vp), SS$_NORMAL, "and through private ones");
    section_try_share(s);
    is(section_map(as, s, &m, &vo, &length), SS$_NORMAL, "and from an offset");
    for (uint64_t page = 0; page < npages; page++) {
        const struct rmd_extent *e = s->rmd->extents;
        uint64_t n = page, *p = touch(as, va + page * PAGE_SIZE, true);

        for (; n >= e->npages; e++)
            n -= e->npages;
        wrong += p != kseg_page(pfn_add(e->first, n)) || *p != 0;
        wrong += p != touch(as, vp + page * PAGE_SIZE, false);
        if (page >= 5 * PAGES_PER_MIB)
            wrong += p != touch(as, vo + (page - 5 * PAGES_PER_MIB) * PAGE_SIZE, true);
        *p = page + 1;
    }
    is(wrong, 0, "every page is the frame of its stretch, zeroed");
    delete ("PIECES");
    aspace_unref(as);
    ok(!peek("PIECES") && balanced(before), "nothing is lost");
}

/* GBLSECTIONS and GBLPAGES: exactly up to the limit, and not beyond. */
static void table_sizes(void)
{
    struct balance before = balance();
    char name[] = "S00";
    int made = 0, status;

    sysparam_set("GBLSECTIONS", 16, false);
    do {
        name[1] = (char)('0' + made / 10);
        name[2] = (char)('0' + made % 10);
        status = create(name, 1, 0);
        made += status == SS$_CREATED_SHPT;
    } while (status == SS$_CREATED_SHPT && made < 99);
    is(status, SS$_GSDFULL, "the table of sections is full");
    is(made, 16, "after as many as GBLSECTIONS says");
    while (made-- > 0) {
        name[1] = (char)('0' + made / 10);
        name[2] = (char)('0' + made % 10);
        delete (name);
    }
    sysparam_set("GBLPAGES", 1000, true);
    is(create("GPT1", 599, 0), SS$_CREATED_SHPT, "602 of 1000 global page table entries");
    is(create("GPT2", 397, 0), SS$_GPTFULL, "400 do not fit any more");
    is(create("GPT2", 395, 0), SS$_CREATED_SHPT, "398 do");
    sysparam_set("GBLPAGES", 512, true);
    is(create("GPT3", 1, 0), SS$_GPTFULL, "a limit lowered below what is in use");
    delete ("GPT1");
    delete ("GPT2");
    is(create("GPT3", 1, 0), SS$_CREATED_SHPT, "what was deleted counts no more");
    delete ("GPT3");
    ok(balanced(before), "nothing is lost");
    sysparam_set("GBLPAGES", sysparam_info(SYSPARAM_GBLPAGES)->dflt, false);
    sysparam_set("GBLSECTIONS", sysparam_info(SYSPARAM_GBLSECTIONS)->dflt, false);
}

/* ---- faults of FLUID sections, alone and at once ---- */

static void fluid_counts(void)
{
    struct aspace *a = aspace_create(0), *b = aspace_create(0);
    uint64_t ra = region_new(a, 32 * MIB, VA$M_SHARED_PTS),
             rb = region_new(b, 32 * MIB, VA$M_SHARED_PTS);
    uint64_t pa = region_new(a, 32 * MIB, 0);
    vaddr_t va, vb, vp;
    struct section *s;

    is(create("F", 20 * PAGES_PER_MIB, 0), SS$_CREATED_SHPT, "a FLUID section");
    s = peek("F");
    map_whole(a, "F", ra, &va);
    map_whole(b, "F", rb, &vb);
    map_whole(a, "F", pa, &vp);
    is(s->valid_pages + s->related->valid_pages, 0, "has no page and no level-3 page at first");
    *touch(a, va, true) = 1;
    touch(a, va + PAGE_SIZE, true);
    is(a->counts.section_made_valid, 2, "two pages touched: two made valid");
    is(*touch(b, vb, false), 1, "seen by the other");
    is(b->counts.section_l3_pickup, 1, "which picks the level-3 page up");
    touch(b, vb + PAGE_SIZE, true);
    is(b->counts.section_l3_pickup + b->counts.section_made_valid + b->counts.section_raced, 1,
       "once for its 8 MiB");
    touch(b, vb + 19 * MIB, true);
    is(b->counts.section_made_valid, 1, "a new level-3 page and page count as one page made valid");
    is(*touch(a, vp, false), 1, "private tables see the page");
    is(a->counts.section_global_valid, 1, "by a global valid fault");
    touch(a, vp + 2 * MIB, true);
    is(a->counts.section_made_valid, 3, "and make pages valid for all");
    is(*touch(b, vb + 2 * MIB, true), 0, "who find them");
    is(s->counts.made_valid, s->valid_pages, "made valid is what is valid");
    is(s->counts.raced, 0, "nobody raced");
    delete ("F");
    aspace_unref(a);
    aspace_unref(b);
}

#define RACERS     4
#define RACE_PAGES 600
static struct racer {
    struct aspace *as;
    vaddr_t va;
    unsigned cpu;
} racers[RACERS];
static pthread_barrier_t race_start;

static void *race(void *arg)
{
    struct racer *r = arg;

    host_cpu_enter(r->cpu, &threads[r->cpu].hw);
    for (unsigned i = 0; i < RACE_PAGES; i++) {
        if (i % 16 == 0)
            pthread_barrier_wait(&race_start);
        __atomic_fetch_add(touch(r->as, r->va + i * 5 * PAGE_SIZE, true), 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void races(bool shared)
{
    pthread_t t[RACERS];
    uint64_t sum = 0;
    struct section *s;
    bool right = true;

    create("R", 40 * PAGES_PER_MIB, 0);
    s = peek("R");
    pthread_barrier_init(&race_start, NULL, RACERS);
    for (unsigned i = 0; i < RACERS; i++) {
        racers[i].as = aspace_create(0);
        racers[i].cpu = i;
        map_whole(racers[i].as, "R",
                  region_new(racers[i].as, 40 * MIB, shared ? VA$M_SHARED_PTS : 0), &racers[i].va);
    }
    for (unsigned i = 0; i < RACERS; i++)
        pthread_create(&t[i], NULL, race, &racers[i]);
    for (unsigned i = 0; i < RACERS; i++)
        pthread_join(t[i], NULL);
    for (unsigned i = 0; i < RACERS; i++) {
        struct aspace_counts *c = &racers[i].as->counts;

        right = right && c->section_l3_pickup <= 3;
        sum += c->section_made_valid + c->section_l3_pickup + c->section_raced +
               c->section_global_valid;
    }
    for (unsigned i = 0; i < RACE_PAGES; i++)
        right = right && *touch(racers[0].as, racers[0].va + i * 5 * PAGE_SIZE, false) == RACERS;
    ok(right, "four processors at once: no count lost, pick-ups within bounds");
    is(s->counts.made_valid, RACE_PAGES, "each page made valid once");
    is(s->valid_pages, RACE_PAGES, "and there once");
    if (shared)
        ok(sum <= RACERS * RACE_PAGES && s->counts.raced + s->counts.l3_pickup < sum,
           "faults add up");
    else
        is(s->counts.global_valid, (RACERS - 1) * RACE_PAGES,
           "one global valid fault for each other");
    delete ("R");
    for (unsigned i = 0; i < RACERS; i++)
        aspace_unref(racers[i].as);
    pthread_barrier_destroy(&race_start);
}

/* ---- the random walk ---- */

#define PROCS   5
#define MAPS    6
#define SAMPLES 24
static const char *const walk_names[] = {"ALLOC", "ALLOC_NOPT", "FLUID_PT", "FLUID_NOPT",
                                         "W1",    "W2",         "PIECES",   "PIECES_NOPT"};

static struct model { /* what a section must hold */
    bool exists, permanent;
    uint64_t npages, shares;
    uint64_t value[SAMPLES];
    bool valid[SAMPLES];
} models[ARRAY_SIZE(walk_names)];

static struct walker {
    struct aspace *as;
    uint64_t shared_region, plain_region;
    struct {
        bool used, shared;
        unsigned section;
        vaddr_t va;
        uint64_t length;
    } maps[MAPS];
} walkers[PROCS];

static uint64_t seed = 20261121;

static struct {
    uint64_t created, mapped, touched, forked;
} walked;

static uint64_t rnd(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static uint64_t sample_page(const struct model *m, unsigned i)
{
    return i * (m->npages - 1) / (SAMPLES - 1);
}

static void model_drop(unsigned section)
{
    struct model *m = &models[section];

    if (--m->shares == 0 && !m->permanent)
        m->exists = false;
}

static void walker_start(struct walker *w)
{
    memset(w, 0, sizeof(*w));
    w->as = aspace_create(0);
    w->shared_region = region_new(w->as, 256 * MIB, VA$M_SHARED_PTS | (rnd(2) ? VA$M_DESCEND : 0));
    w->plain_region = region_new(w->as, 256 * MIB, rnd(2) ? VA$M_DESCEND : 0);
}

static void walker_end(struct walker *w)
{
    aspace_unref(w->as);
    for (unsigned i = 0; i < MAPS; i++)
        if (w->maps[i].used)
            model_drop(w->maps[i].section);
    w->as = NULL;
}

static bool walk_create(void)
{
    static const uint64_t sizes[] = {1, 7 * PAGES_PER_MIB, 8 * PAGES_PER_MIB, 20 * PAGES_PER_MIB,
                                     19 * PAGES_PER_MIB + 3};
    unsigned i = (unsigned)rnd(ARRAY_SIZE(walk_names));
    uint64_t n = sizes[rnd(ARRAY_SIZE(sizes))];
    int status;

    if (models[i].exists && !models[i].permanent && walk_names[i][0] == 'W')
        return true; /* two sections of one name: the model has one */
    status = create(walk_names[i], n, 0);
    if (models[i].exists)
        return status == (models[i].permanent ? SS$_DUPLNAM : SS$_RESERVEDMEMUSED);
    walked.created++;
    models[i] = (struct model){.exists = true, .permanent = true, .npages = n};
    return status == (strstr(walk_names[i], "NOPT") ? SS$_CREATED : SS$_CREATED_SHPT);
}

static bool walk_delete(void)
{
    unsigned i = (unsigned)rnd(ARRAY_SIZE(walk_names));
    struct model *m = &models[i];
    int status = delete (walk_names[i]);

    if (!m->exists || !m->permanent)
        return status == SS$_NOSUCHSEC;
    m->permanent = false;
    if (m->shares == 0)
        m->exists = false;
    return status == SS$_NORMAL;
}

static bool walk_map(struct walker *w)
{
    unsigned i = (unsigned)rnd(ARRAY_SIZE(walk_names)), slot = 0;
    bool shared = rnd(2);
    vaddr_t va;
    int status;

    while (slot < MAPS && w->maps[slot].used)
        slot++;
    if (slot == MAPS)
        return true;
    status = map_whole(w->as, walk_names[i], shared ? w->shared_region : w->plain_region, &va);
    if (!models[i].exists || !models[i].permanent)
        return status == SS$_NOSUCHSEC;
    if (shared && strstr(walk_names[i], "NOPT"))
        return status == SS$_NOSHPTS;
    if (status == SS$_REGISFULL)
        return true;
    models[i].shares++;
    walked.mapped++;
    w->maps[slot].used = true;
    w->maps[slot].shared = shared;
    w->maps[slot].section = i;
    w->maps[slot].va = va;
    w->maps[slot].length = models[i].npages * PAGE_SIZE;
    return status == SS$_NORMAL;
}

static bool walk_touch(struct walker *w)
{
    unsigned slot = (unsigned)rnd(MAPS), i = (unsigned)rnd(SAMPLES);
    struct model *m = &models[w->maps[slot].section];
    uint64_t page, *p;

    if (!w->maps[slot].used)
        return true;
    page = sample_page(m, i);
    p = touch(w->as, w->maps[slot].va + page * PAGE_SIZE, rnd(2) != 0);
    for (unsigned k = 0; k < SAMPLES; k++)
        if (sample_page(m, k) == page)
            i = k; /* small sections: several samples are one page */
    if (!p || *p != m->value[i])
        return false;
    p = touch(w->as, w->maps[slot].va + page * PAGE_SIZE, true);
    *p = m->value[i] = rnd(UINT64_MAX) | 1;
    m->valid[i] = true;
    walked.touched++;
    return true;
}

static bool walk_unmap(struct walker *w)
{
    unsigned slot = (unsigned)rnd(MAPS);

    if (!w->maps[slot].used)
        return true;
    if (region_delete_va(w->as, w->maps[slot].shared ? w->shared_region : w->plain_region,
                         w->maps[slot].va, w->maps[slot].length) != SS$_NORMAL)
        return false;
    w->maps[slot].used = false;
    model_drop(w->maps[slot].section);
    return true;
}

static bool walk_fork(void)
{
    struct walker *from = &walkers[rnd(PROCS)], *to = &walkers[rnd(PROCS)];

    if (from == to)
        return true;
    walker_end(to);
    *to = *from;
    to->as = aspace_fork(from->as);
    walked.forked++;
    for (unsigned i = 0; i < MAPS; i++)
        if (to->maps[i].used)
            models[to->maps[i].section].shares++;
    return to->as != NULL;
}

/* The section of that name in the list of all, whether it can still be found or not. */
static struct section *listed(const char *name)
{
    struct section *s;

    for (uint64_t i = 0; (s = section_nth(i)) != NULL; i++) {
        bool same = strcmp(s->gsd->name, name) == 0;

        section_drop(s);
        if (same)
            return s;
    }
    return NULL;
}

/* Counts and hints of every section against the model. */
static bool walk_verify(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(walk_names); i++) {
        struct section *s = listed(walk_names[i]);
        struct gh_count l3, l2;
        uint64_t valid = 0, pages, l1;

        if ((s != NULL) != models[i].exists || (peek(walk_names[i]) != NULL) != models[i].permanent)
            return false;
        if (!s)
            continue;
        for (unsigned k = 0; k < SAMPLES; k++)
            valid += models[i].valid[k];
        section_walk(s, walkers[rnd(PROCS)].as, &l3, &l2, &l1, &pages);
        if (l3.errors || l2.errors || shares(s) != models[i].shares || s->nmaps != models[i].shares)
            return false;
        if (!section_is_alloc(s) &&
            (s->valid_pages < valid || s->counts.made_valid != s->valid_pages))
            return false;
    }
    return true;
}

static void random_walk(unsigned steps)
{
    struct balance before = balance();
    unsigned step;

    for (unsigned i = 0; i < PROCS; i++)
        walker_start(&walkers[i]);
    for (step = 0; step < steps; step++) {
        struct walker *w = &walkers[rnd(PROCS)];
        bool good = true;

        switch (rnd(12)) {
        case 0:
            good = walk_create();
            break;
        case 1:
            good = rnd(3) ? true : walk_delete();
            break;
        case 2:
        case 3:
            good = walk_map(w);
            break;
        case 4:
            good = walk_unmap(w);
            break;
        case 5:
            good = rnd(4) ? true : walk_fork();
            break;
        case 6:
            if (rnd(8) == 0) {
                walker_end(w);
                walker_start(w);
            }
            break;
        default:
            good = walk_touch(w);
        }
        if (good && step % 64 == 0)
            good = walk_verify();
        if (!good)
            break;
    }
    is(step, steps, "random walk from seed 20261121");
    diag("%lu creations, %lu mappings, %lu touches, %lu forks", walked.created, walked.mapped,
         walked.touched, walked.forked);
    for (unsigned i = 0; i < PROCS; i++)
        walker_end(&walkers[i]);
    for (unsigned i = 0; i < ARRAY_SIZE(walk_names); i++)
        delete (walk_names[i]);
    ok(balanced(before), "every page, promise and reservation is back");
}

int main(void)
{
    host_cpu_enter(0, &threads[0].hw);
    page_boot_add_range(pfn_of(16), RAM_PAGES);
    page_boot_done();
    fluid_set_minimum_boot(1000);
    pool_boot();
    aspace_boot();
    section_boot();
    registry_boot();
    regions();
    alloc_shared();
    access_rules();
    names_and_identity();
    fluid_counts();
    races(true);
    races(false);
    limits();
    in_pieces();
    table_sizes();
    random_walk(40000);
    return tap_done();
}
