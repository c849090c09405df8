// SOURCES: kernel/quota/account.c
// SOURCES: mm/space/region.c mm/section/section.c mm/section/section_gsd.c mm/pt/gh.c
// SOURCES: mm/section/section_map.c
// SOURCES: mm/section/section_pt.c mm/section/section_walk.c mm/section/shpt.c mm/space/aspace.c
// SOURCES: kernel/base/span.c
// SOURCES: mm/space/aspace_tree.c mm/space/anon.c
// SOURCES: mm/space/fault.c mm/space/fork.c mm/object/object.c mm/object/object_paging.c
// SOURCES: mm/object/mappings.c kernel/base/treap.c
// SOURCES: mm/object/object_index.c mm/object/pager.c
// SOURCES: mm/object/rmap.c mm/pt/shootdown.c mm/pt/pt.c mm/pt/pt_system.c mm/phys/page.c
// SOURCES: mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: mm/phys/page_range.c
// SOURCES: mm/phys/fluid.c mm/pool/pool_nonpaged.c mm/pool/pool_var.c mm/pool/pool_check.c
// SOURCES: kernel/base/string_extra.c
// SOURCES: sysman/params.c sysman/config.c
// SOURCES: mm/space/object_fault.c mm/space/aspace_protect.c mm/space/region_memory.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c
/*
 * Regions, sections and shared page tables: the services, their rules and limits, one at a time.
 */
#include "section_world.h"

#include <time.h>

/* ---- regions ---- */

#define P0_END (1UL << 30)

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
    is(region_create(as, LAYOUT_USER_TOP, 0, 0, 0, false, &v), SS$_VASFULL,
       "the whole of user space cannot be a region");
    is(region_create(as, 4096 * MIB, 0, VA$M_SHARED_PTS, 0, false, &v), SS$_NORMAL, "4 GiB");
    ok(v.start % (4096 * MIB) == 0 && v.end == LAYOUT_USER_TOP,
       "are placed at a multiple of 4 GiB, at the high end");
    is(region_create(as, 8 * MIB, 0, VA$M_P0_SPACE, P0_END - 8 * MIB, false, &w), SS$_NORMAL,
       "a region with an address may end at the end of its space");
    is(region_delete(as, w.id, false, &w), SS$_NORMAL, "it is deleted");
    is(region_create(as, 16 * MIB, 0, VA$M_P0_SPACE, P0_END - 8 * MIB, false, &w), SS$_VASFULL,
       "but may not end beyond it");
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
       "also with an address");
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

/* Thousands of regions with a mapping between every two: the search for a free address may look at
   each of them once, not once for each of the others. */
#define REGIONS 4000u

static void many_regions(void)
{
    struct aspace *as = aspace_create(0);
    struct region_view v, last = {.start = LAYOUT_USER_TOP};
    clock_t began = clock();
    unsigned right = 0;
    vaddr_t va;

    for (unsigned i = 0; i < REGIONS; i++) {
        right += region_create(as, PAGE_SIZE, 0, 0, 0, false, &v) == SS$_NORMAL &&
                 v.end <= last.start;
        last = v;
        va = v.start - PAGE_SIZE;
        if (i % 2)
            right -= aspace_map_anon(as, &va, PAGE_SIZE, MAP_R | MAP_W, MAPF_FIXED) != 0;
    }
    is(right, REGIONS, "4,000 regions are placed, each below the one before");
    mutex_lock(&as->lock);
    va = aspace_find_locked(as, PAGE_SIZE, PAGE_SIZE, last.start - PAGE_SIZE, LAYOUT_USER_TOP,
                            false);
    mutex_unlock(&as->lock);
    is(va, 0, "no page is free between them, from below");
    is(region_delete(as, REGION_MIN_USER_ID + 100, false, &v), SS$_NORMAL, "one region is deleted");
    mutex_lock(&as->lock);
    va = aspace_find_locked(as, PAGE_SIZE, PAGE_SIZE, last.start - PAGE_SIZE, LAYOUT_USER_TOP,
                            false);
    is(va, v.start, "its page is found from below");
    va = aspace_find_locked(as, PAGE_SIZE, PAGE_SIZE, LAYOUT_P2_BASE, LAYOUT_USER_TOP, true);
    is(va, v.start, "and from above");
    mutex_unlock(&as->lock);
    ok((clock() - began) / CLOCKS_PER_SEC < 10, "and all that takes only seconds");
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
    struct section_use sections, gptes, pagfil;
    struct gh_count l3, l2;
    struct region_view v;
    uint64_t l1, pages;
    struct section *s;
    vaddr_t va;

    is(create("ALLOC", 64 * PAGES_PER_MIB, 0), SS$_CREATED_SHPT, "an ALLOC section");
    is(create("ALLOC", 64 * PAGES_PER_MIB, 0), SS$_DUPLNAM, "has a name that cannot be used twice");
    section_uses(&sections, &gptes, &pagfil);
    is(pagfil.use, 0, "and no page of a page file");
    is(map_whole(as, "ALLOC", id, &va), SS$_NORMAL, "is mapped");
    is(as->pt.tables, 2, "with one page-table page of the process's own beside its root");
    expect_hints("ALLOC", 64 * PAGES_PER_MIB, 8);
    s = peek("ALLOC");
    is(s->flags & (SEC$M_MRES_ALLOC | SEC$M_GRANHINT), SEC$M_MRES_ALLOC | SEC$M_GRANHINT,
       "it says that its frames are allocated, with hints");
    is(section_valid_pages(s), 64 * PAGES_PER_MIB, "all of its pages are valid");
    is(s->related->valid_pages, 8, "and all of its level-3 pages");
    p = touch(as, va + 63 * MIB, true);
    ok(p && *p == 0, "its pages are there and zero");
    *p = 4711;
    is(as->counts.section_made_valid + as->counts.section_raced + as->counts.section_l3_pickup, 0,
       "without a fault");
    child = aspace_fork(as);
    is(shares(peek("ALLOC")), 2, "fork takes a share");
    p = touch(child, va + 63 * MIB, true);
    ok(p && *p == 4711, "and sees the same page, not a copy");
    is(child->pt.tables, 2, "through the same level-3 pages");
    is(region_delete_va(as, id, va + 8 * MIB + PAGE_SIZE, 8 * MIB), SS$_VA_NOTPAGALGN,
       "a part that starts within a piece cannot be deleted");
    is(region_delete_va(as, id, va + 8 * MIB, 4 * MIB), SS$_LEN_NOTPAGMULT,
       "nor can one that ends within a piece");
    is(region_delete_va(as, id, va + 8 * MIB, 8 * MIB), SS$_NORMAL, "a whole piece can be deleted");
    ok(!touch(as, va + 8 * MIB, false) && touch(as, va, false) && touch(as, va + 16 * MIB, false),
       "only that piece is unmapped");
    ok(touch(child, va + 8 * MIB, false) != NULL, "and not in the child");
    section_walk(s, as, &l3, &l2, &l1, &pages);
    is(l2.ptes[0] + l2.ptes[1] + l2.ptes[2] + l2.ptes[3], 1,
       "the level-2 PTEs of a mapping end with it");
    is(shares(peek("ALLOC")), 3, "two mappings are left of one, and the child's");
    aspace_unref(child);
    is(delete ("ALLOC"), SS$_NORMAL, "deletion is marked");
    is(create("ALLOC", 64 * PAGES_PER_MIB, 0), SS$_RESERVEDMEMUSED,
       "the name is free, but the reservation waits for the last share");
    is(region_delete(as, id, false, &v), SS$_NORMAL, "which goes with the region");
    section_reap(); /* as $DELETE_REGION_64 does */
    ok(!peek("ALLOC") && rmds[0].used == 0, "and the reservation is back");
    is(create("ALLOC", 32 * PAGES_PER_MIB, 0), SS$_CREATED_SHPT,
       "the reservation can be used again");
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

    is(create("BIG", room, 0), SS$_INSFLPGS, "a FLUID section larger than fluid memory is refused");
    ok(!peek("BIG") && balanced(before), "and nothing has changed");
    while (create("BIG", n, 0) == SS$_CREATED_SHPT) {
        n += 1;
        delete ("BIG");
    }
    n -= 1;
    is(create("BIG", n, 0), SS$_CREATED_SHPT, "a section of exactly the fluid memory is created");
    ok(fluid_count() - fluid_minimum() <= 1, "uses fluid memory up");
    is(create("ONE", 1, 0), SS$_INSFLPGS, "and one page more is refused");
    s = peek("BIG");
    s->life += SECTION_SHARES_MAX;
    ok(!section_try_share(s), "shares do not overflow");
    s->life -= SECTION_SHARES_MAX;
    delete ("BIG");
    ok(balanced(before), "everything has been freed");
    is(create("ALLOC", 65 * PAGES_PER_MIB, 0), SS$_MRES_PFNSMALL,
       "a section larger than its reservation is refused");
}

/* A reservation in several stretches: every page of a mapping is the right frame of its stretch,
   with shared and private tables, from the beginning or an offset, and every hint is right. */
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

    is(create("PIECES_NOPT", npages, 0), SS$_CREATED, "one of two stretches");
    s = peek("PIECES_NOPT");
    is(section_run(s, 0), 16 * PAGES_PER_MIB, "ends the first where the second begins");
    delete ("PIECES_NOPT");
}

struct seen {
    unsigned n;
    const struct section *s[2];
};

static void see(struct section *s, void *arg)
{
    struct seen *seen = arg;

    if (seen->n < ARRAY_SIZE(seen->s))
        seen->s[seen->n] = s;
    seen->n++;
}

static void each(void)
{
    struct seen seen = {0};

    create("FIRST", 1, 0);
    create("SECOND", 1, 0);
    section_for_each(see, &seen);
    ok(seen.n == 2 && seen.s[0] == peek("FIRST") && seen.s[1] == peek("SECOND"),
       "a walk visits each section once, in the order of creation");
    delete ("FIRST");
    delete ("SECOND");
}

/* GBLSECTIONS and GBLPAGES: sections can be created exactly up to the limit. */
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
    is(create("GPT3", 1, 0), SS$_CREATED_SHPT, "deleted sections no longer count");
    delete ("GPT3");
    ok(balanced(before), "nothing is lost");
    sysparam_set("GBLPAGES", sysparam_info(SYSPARAM_GBLPAGES)->dflt, false);
    sysparam_set("GBLSECTIONS", sysparam_info(SYSPARAM_GBLSECTIONS)->dflt, false);
}

int main(void)
{
    world_boot(SMALL_RAM, false);
    regions();
    many_regions();
    alloc_shared();
    access_rules();
    names_and_identity();
    limits();
    in_pieces();
    each();
    table_sizes();
    return tap_done();
}
