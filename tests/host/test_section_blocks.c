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
 * Shared level-2 pages: one level-1 PTE for each 8 GiB of a mapping, at any suitable address, for
 * ALLOC and FLUID sections; parts, offsets, tails, cuts and forks of such mappings. Operations on
 * the mappings must not write, count or free a shared page.
 */
#include "section_world.h"

#define BLOCK PTE_L1_SPAN
#define BIG   (16 * GIB + 24 * MIB) /* of the entry BLOCKS */
#define FLUID (20 * GIB + 3 * PAGE_SIZE)
#define RAM   (56 * PAGES_PER_GIB)

/* A process with a region for the section, at an address some gigabytes from the others'. */
static struct aspace *mapper(unsigned n, uint64_t *region)
{
    struct aspace *as = aspace_create(0);

    for (unsigned i = 0; i < n; i++)
        region_new(as, 8 * GIB, VA$M_SHARED_PTS);
    *region = region_new(as, 32 * GIB, VA$M_SHARED_PTS);
    return as;
}

static pte_t l1_at(struct aspace *as, vaddr_t va) { return *pt_lookup(&as->pt, va, 1); }

static bool l1_shared(struct aspace *as, vaddr_t va, const struct section *s, unsigned block)
{
    pte_t pte = l1_at(as, va);

    return (pte & PTE_SW_SHPT) && pfn_eq(pte_pfn(pte), s->related->upper[block]);
}

static uint64_t l1_count(struct section *s, struct aspace *as)
{
    struct gh_count l3, l2;
    uint64_t l1, pages;

    section_walk(s, as, &l3, &l2, &l1, &pages);
    return l3.errors || l2.errors ? UINT64_MAX : l1;
}

/* A checksum of the contents of the section's own level-2 pages. */
static uint64_t sum_of_upper(const struct section *s)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < s->related->nupper; i++) {
        const pte_t *p = kseg_page(s->related->upper[i]);

        for (unsigned k = 0; k < PTES_PER_PAGE; k++)
            sum = sum * 31 + p[k];
        sum += page_of(s->related->upper[i])->offset;
    }
    return sum;
}

static bool same_page(struct aspace *a, vaddr_t va, struct aspace *b, vaddr_t vb)
{
    uint64_t *p = touch(a, va, true), *q = touch(b, vb, true);

    return p && p == q;
}

/* ---- ALLOC ---- */

static void alloc_blocks(void)
{
    struct balance before = balance();
    uint64_t ra, rb, sum;
    struct aspace *a = mapper(0, &ra), *b = mapper(1, &rb), *child;
    struct gh_count l3, l2;
    uint64_t l1, pages;
    struct section *s;
    vaddr_t va, vb;

    is(create("BLOCKS", BIG / PAGE_SIZE, 0), SS$_CREATED_SHPT,
       "an ALLOC section of 16 GiB + 24 MiB");
    s = peek("BLOCKS");
    is(s->promised, 0, "whose reservation pays for all its page-table pages");
    is(map_whole(a, "BLOCKS", ra, &va), SS$_NORMAL, "mapped by one");
    is(map_whole(b, "BLOCKS", rb, &vb), SS$_NORMAL, "and by another");
    ok(va != vb, "at another address");
    ok(l1_shared(a, va, s, 0) && l1_shared(a, va + BLOCK, s, 1) && l1_shared(b, vb, s, 0) &&
           l1_shared(b, vb + BLOCK, s, 1),
       "both through the section's own level-2 pages");
    is(a->pt.tables, 2, "of its own each has a root and a level-2 page for the tail");
    section_walk(s, a, &l3, &l2, &l1, &pages);
    is(l1, 2, "two level-1 PTEs");
    is(l3.ptes[3], BIG / PAGE_SIZE, "all level-3 PTEs have the largest hint");
    is(l2.ptes[3], 2048, "so have the level-2 PTEs in the shared pages");
    is(l3.errors + l2.errors, 0, "rightly, at this address");
    section_walk(s, b, &l3, &l2, &l1, &pages);
    is(l3.errors + l2.errors, 0, "and at the other");
    ok(same_page(a, va + 5 * GIB, b, vb + 5 * GIB) && same_page(a, va + BIG - 8, b, vb + BIG - 8),
       "one page is one page");
    sum = sum_of_upper(s);
    child = aspace_fork(a);
    is(shares(s), 3, "fork takes one more share");
    is(child->pt.tables, 2, "and copies level-1 PTEs");
    ok(l1_shared(child, va, s, 0) && l1_shared(child, va + BLOCK, s, 1), "as they are");
    ok(aspace_protect(a, va + 8 * MIB, 8 * MIB, MAP_R) != 0 && aspace_unmap(a, va + MIB, MIB) != 0,
       "a part within a piece can neither be protected nor deleted");
    is(region_delete_va(a, ra, va + 8 * MIB, 4 * MIB), SS$_LEN_NOTPAGMULT, "by any service");
    ok(shares(s) == 3 && a->pt.tables == 2, "and the attempt changes nothing");
    is(aspace_protect(a, va + 8 * MIB, 8 * MIB, MAP_R | MAP_W), 0, "the protection that it has");
    ok(shares(s) == 3 && a->pt.tables == 2, "splits nothing");

    is(region_delete_va(a, ra, va + BLOCK + 16 * MIB, 8 * MIB), SS$_NORMAL, "a piece goes");
    is(a->pt.tables, 3, "for one level-2 page more of its own");
    ok(l1_shared(a, va, s, 0) && !(l1_at(a, va + BLOCK) & PTE_SW_SHPT), "in that block only");
    ok(!touch(a, va + BLOCK + 16 * MIB, false), "the piece is gone");
    ok(same_page(a, va + BLOCK + 16 * MIB - 8, b, vb + BLOCK + 16 * MIB - 8) &&
           same_page(a, va + BLOCK + 24 * MIB, b, vb + BLOCK + 24 * MIB),
       "what is around it is not");
    ok(touch(b, vb + BLOCK + 16 * MIB, true) && touch(child, va + BLOCK + 16 * MIB, true),
       "other processes are not affected");
    is(sum_of_upper(s), sum, "not a bit of the shared pages has changed");
    is(l1_count(s, a), 1, "the hints around the hole are right");
    is(region_delete_va(a, ra, va + 8 * MIB, BLOCK), SS$_NORMAL,
       "a stretch from one block into the next");
    is(a->pt.tables, 4, "another level-2 page");
    ok(touch(a, va, true) && !touch(a, va + 8 * MIB, true) && !touch(a, va + BLOCK, true) &&
           same_page(a, va + BLOCK + 8 * MIB, b, vb + BLOCK + 8 * MIB),
       "is gone, and nothing else");
    is(region_delete_va(b, rb, vb, BLOCK), SS$_NORMAL, "a whole block");
    is(b->pt.tables, 2, "goes without another page");
    ok(!touch(b, vb, false) && l1_at(b, vb) == 0 && l1_shared(b, vb + BLOCK, s, 1), "at once");
    is(region_delete_va(b, rb, vb + BIG - 24 * MIB, 24 * MIB), SS$_NORMAL, "and the tail");
    is(b->pt.tables, 1, "with its level-2 page");
    is(sum_of_upper(s), sum, "still nothing has changed in the shared pages");
    aspace_unref(child);
    child = aspace_fork(a);
    ok(child->pt.tables == a->pt.tables && !touch(child, va + BLOCK, false) &&
           same_page(child, va + BLOCK + 8 * MIB, b, vb + BLOCK + 8 * MIB),
       "a fork of what is left has the same holes");
    aspace_unref(child);
    aspace_unref(a);
    aspace_unref(b);
    is(shares(s), 0, "nobody maps it");
    is(sum_of_upper(s), sum, "but it is permanent, and so are its tables");
    a = mapper(0, &ra);
    is(map_whole(a, "BLOCKS", ra, &va), SS$_NORMAL, "the next one maps it");
    ok(l1_shared(a, va, s, 0) && a->pt.tables == 2, "as the first did");
    aspace_unref(a);
    delete ("BLOCKS");
    ok(balanced(before), "every page is back");
}

/* ---- FLUID ---- */

static void fluid_blocks(void)
{
    struct balance before = balance();
    uint64_t ra, rb;
    struct aspace *a = mapper(0, &ra), *b = mapper(2, &rb);
    struct section *s;
    vaddr_t va, vb;

    is(create("F", FLUID / PAGE_SIZE, 0), SS$_CREATED_SHPT,
       "a FLUID section of a little more than 20 GiB");
    s = peek("F");
    is(map_whole(a, "F", ra, &va), SS$_NORMAL, "mapped");
    is(map_whole(b, "F", rb, &vb), SS$_NORMAL, "twice");
    is(a->pt.tables, 2, "owns a root and a level-2 page");
    is(s->valid_pages + s->related->valid_pages, 0, "no page is valid yet");
    *touch(a, va + 3 * GIB, true) = 33;
    is(a->counts.section_made_valid, 1, "the first touch makes a page valid");
    ok(hardware_walk(b, vb + 3 * GIB) && pte_valid(*hardware_walk(b, vb + 3 * GIB)),
       "for all processes at once");
    is(*touch(b, vb + 3 * GIB, true), 33, "who read it");
    touch(b, vb + 3 * GIB + PAGE_SIZE, true);
    is(b->counts.section_l3_pickup, 0, "without picking up a level-3 page");
    touch(a, va + 18 * GIB, true);
    touch(b, vb + 18 * GIB, false);
    is(b->counts.section_l3_pickup, 1, "only in the tail a level-3 page is picked up");
    touch(a, va + FLUID - 8, true);
    is(s->valid_pages, 4, "so many pages were touched");

    is(region_delete_va(a, ra, va + BLOCK + 8 * MIB, 8 * MIB), SS$_NORMAL, "a piece goes");
    ok(!(l1_at(a, va + BLOCK) & PTE_SW_SHPT) && (l1_at(b, vb + BLOCK) & PTE_SW_SHPT),
       "from a level-2 page of the process's own");
    *touch(b, vb + BLOCK + 8 * MIB, true) = 44;
    *touch(b, vb + BLOCK + 16 * MIB, true) = 55;
    ok(!touch(a, va + BLOCK + 8 * MIB, false), "what others touch there stays gone");
    is(a->counts.section_l3_pickup, 0, "(nothing picked up so far)");
    is(*touch(a, va + BLOCK + 16 * MIB, false), 55, "and what is still mapped is found");
    is(a->counts.section_l3_pickup, 1, "by picking up its level-3 page");
    is(s->counts.made_valid, s->valid_pages, "made valid is what is valid");
    aspace_unref(a);
    is(*touch(b, vb + BLOCK + 8 * MIB, true), 44, "the other goes on");
    aspace_unref(b);
    delete ("F");
    ok(balanced(before), "every page is back");
}

/* A FLUID mapping keeps its level-2 page, though it is empty, when a neighbour is deleted. */
static void empty_level2_page(void)
{
    struct balance before = balance();
    uint64_t r, pt_pages;
    struct aspace *a = mapper(0, &r);
    vaddr_t va, vb;

    create("E1", 20 * PAGES_PER_MIB, 0);
    create("E2", 8 * PAGES_PER_MIB, 0);
    map_whole(a, "E1", r, &va);
    map_whole(a, "E2", r, &vb);
    ok(va / BLOCK == vb / BLOCK && vb % (8 * MIB) == 0 && vb >= va + 24 * MIB,
       "two small sections in one block, each at a piece");
    pt_pages = a->pt.tables;
    is(region_delete_va(a, r, vb, 8 * MIB), SS$_NORMAL, "one goes");
    is(a->pt.tables, pt_pages, "the other keeps their level-2 page");
    is(region_delete_va(a, r, va + 8 * MIB, 8 * MIB), SS$_NORMAL, "so do the parts of one");
    is(region_delete_va(a, r, va, 8 * MIB), SS$_NORMAL, "that go one by one");
    ok(a->pt.tables == pt_pages && touch(a, va + 16 * MIB, true), "until the last");
    is(region_delete_va(a, r, va + 16 * MIB, 4 * MIB), SS$_NORMAL, "is gone");
    is(a->pt.tables, pt_pages - 1, "with the page");
    delete ("E1");
    delete ("E2");
    aspace_unref(a);
    ok(balanced(before), "every page is back");
}

/* ---- offsets and parts ---- */

static int map_part(struct aspace *as, uint64_t region, vaddr_t start, uint64_t offset,
                    uint64_t length, vaddr_t *va)
{
    struct section_map_request m = {
        .region_id = region, .start = start, .offset = offset, .length = length, .write = true};
    uint64_t mapped;

    if (!start)
        m.flags = SEC$M_EXPREG;
    return map(as, "F", m, va, &mapped);
}

static void parts(void)
{
    struct balance before = balance();
    uint64_t ra, rb;
    struct aspace *a = mapper(0, &ra), *b = mapper(0, &rb);
    struct section *s;
    struct region_view v;
    vaddr_t whole, va, base;

    create("F", FLUID / PAGE_SIZE, 0);
    s = peek("F");
    map_whole(b, "F", rb, &whole);
    region_view_locked(a, ra, &v);
    base = v.start;
    is(map_part(a, ra, 0, BLOCK, BLOCK, &va), SS$_NORMAL, "the second 8 GiB alone");
    ok(va % BLOCK == 0 && l1_shared(a, va, s, 1) && a->pt.tables == 1,
       "take one level-1 PTE and no page");
    ok(same_page(a, va + 77 * MIB, b, whole + BLOCK + 77 * MIB), "and show the second 8 GiB");
    is(map_part(a, ra, base + BLOCK, 8 * MIB, BLOCK, &va), SS$_NORMAL,
       "8 GiB from an offset of 8 MiB on");
    ok(!(l1_at(a, va) & PTE_SW_SHPT) && a->pt.tables == 2, "take a level-2 page");
    ok(same_page(a, va, b, whole + 8 * MIB) &&
           same_page(a, va + BLOCK - 8, b, whole + BLOCK + 8 * MIB - 8),
       "and show what they should");
    is(map_part(a, ra, base + 2 * BLOCK + 8 * MIB, 8 * MIB, BLOCK, &va), SS$_NORMAL,
       "address and offset in step, but no whole block");
    ok(!(l1_at(a, va) & PTE_SW_SHPT) && !(l1_at(a, va + BLOCK) & PTE_SW_SHPT), "take two");
    ok(same_page(a, va + BLOCK - 16 * MIB, b, whole + BLOCK - 8 * MIB), "likewise");
    is(map_part(a, ra, base + 3 * BLOCK, 0, BLOCK, &va), SS$_VA_IN_USE, "over it nothing goes");
    is(region_delete_va(a, ra, base + 2 * BLOCK, 2 * BLOCK), SS$_NORMAL, "it goes");
    is(a->pt.tables, 2, "with its tables");
    is(map_part(a, ra, base + 3 * BLOCK, 0, BLOCK, &va), SS$_NORMAL, "there is room again");
    ok(l1_shared(a, va, s, 0), "for a whole level-2 page");
    ok(same_page(a, va + 77 * MIB, b, whole + 77 * MIB), "of the section's beginning");
    aspace_unref(a);
    aspace_unref(b);
    delete ("F");
    ok(balanced(before), "every page is back");
}

/* Private tables must not be created below a shared PTE. */
static void out_of_bounds(void)
{
    struct balance before = balance();
    uint64_t r, sum;
    struct aspace *a = mapper(0, &r);
    struct tb_gather g;
    struct section *s;
    vaddr_t va;

    create("F", FLUID / PAGE_SIZE, 0);
    s = peek("F");
    map_whole(a, "F", r, &va);
    touch(a, va, true);
    ok(!pt_create(&a->pt, va, 2) && !pt_create(&a->pt, va, 3) &&
           !pt_create(&a->pt, va + 8 * MIB, 3),
       "no private table is made below a shared level-1 PTE");
    touch(a, va + 2 * BLOCK, true);
    ok(pt_create(&a->pt, va + 2 * BLOCK, 2) && !pt_create(&a->pt, va + 2 * BLOCK, 3),
       "nor below a shared level-2 PTE");
    ok(pt_lookup(&a->pt, va, 3) == shpt_pte(s->related, 0), "looking is allowed");
    sum = sum_of_upper(s);
    tb_gather_begin(&g, &a->pt.loaded, TB_UNMAP);
    pt_prune(&a->pt, 0, LAYOUT_USER_TOP, &g);
    tb_gather_flush(&g);
    ok(l1_shared(a, va, s, 0) && touch(a, va, true) && sum_of_upper(s) == sum, "pruning passes by");
    aspace_unref(a);
    delete ("F");
    ok(balanced(before), "every page is back");
}

int main(void)
{
    world_boot(RAM, true);
    alloc_blocks();
    fluid_blocks();
    empty_level2_page();
    parts();
    out_of_bounds();
    return tap_done();
}
