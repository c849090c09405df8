// SOURCES: kernel/quota/account.c
// SOURCES: kernel/base/span.c
// SOURCES: mm/pt/pt.c mm/pt/gh.c mm/pt/pt_system.c mm/pt/shootdown.c
// SOURCES: mm/space/aspace.c mm/space/aspace_tree.c
// SOURCES: mm/space/fault.c
// SOURCES: mm/space/fork.c mm/space/anon.c mm/object/object.c mm/object/object_paging.c
// SOURCES: mm/object/mappings.c kernel/base/treap.c
// SOURCES: mm/object/object_index.c mm/object/pager.c
// SOURCES: mm/object/rmap.c mm/space/object_fault.c mm/space/aspace_protect.c
// SOURCES: mm/space/aspace_lock.c mm/space/region.c
// SOURCES: mm/space/region_memory.c mm/space/prot_code.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c kernel/base/string_extra.c
/*
 * Searches among regions and mappings: random regions and mappings in part of the default region
 * P0, compared with an array of pages. Free addresses from both ends and with every alignment, the
 * region at an address, by id and after an address, and where a default or created region's
 * mappings end, each equal to what a look at every page gives; and that the searches look at few
 * spans when there are many.
 */
#define VM_REAL_REGIONS
#include "tests/host/vm.h"

#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/vadef.h"
#include "mm/phys/fluid.h"
#include "mm/space/region.h"
#include "mm/space/region_memory.h"

#define PAGES  600u
#define BASE   (UINT64_C(256) * PAGE_SIZE) /* aligned as far as the searches ask */
#define ROUNDS 6000u

uint64_t fluid_count(void) { return vm_nfree; }
uint64_t fluid_minimum(void) { return 0; }

static struct aspace *space;
static uint64_t owner[PAGES]; /* id of the created region, or 0 */
static bool mapped[PAGES];
static unsigned inexact; /* places that fit but are not the lowest or highest */

static vaddr_t va_at(unsigned page) { return BASE + page * PAGE_SIZE; }
static unsigned page_at(vaddr_t va) { return (unsigned)((va - BASE) / PAGE_SIZE); }
static bool is_free(unsigned page) { return !owner[page] && !mapped[page]; }

static bool all_free(unsigned page, unsigned n)
{
    for (unsigned i = page; i < page + n; i++)
        if (!is_free(i))
            return false;
    return true;
}

static void try_region(void)
{
    unsigned n = 1 + (unsigned)rnd(6), at = (unsigned)rnd(PAGES - n);
    struct region_view v;
    cond_t status = region_create(space, n * PAGE_SIZE, 0, VA$M_P0_SPACE, va_at(at), false, &v);

    if ((status == SS$_NORMAL) != all_free(at, n))
        vm_die("region of %u pages at %u: status %u", n, at, status);
    for (unsigned i = at; status == SS$_NORMAL && i < at + n; i++)
        owner[i] = v.id;
}

static void end_region(void)
{
    uint64_t id = owner[rnd(PAGES)];
    struct region_view v;

    if (!id)
        return;
    if (region_delete(space, id, false, &v) != SS$_NORMAL)
        vm_die("region %lu cannot be deleted", (unsigned long)id);
    for (unsigned i = 0; i < PAGES; i++)
        if (owner[i] == id) {
            owner[i] = 0;
            mapped[i] = false;
        }
}

static void try_map(void)
{
    static const unsigned prots[] = {MAP_R, MAP_R | MAP_W, MAP_R | MAP_X};
    unsigned n = 1 + (unsigned)rnd(4), at = (unsigned)rnd(PAGES - n);
    uint64_t id = owner[at];
    bool whole = true;
    cond_t status;

    for (unsigned i = at; i < at + n; i++)
        whole &= owner[i] == id && !mapped[i];
    status = region_create_va(space, id ? id : VA$C_P0, va_at(at), n * PAGE_SIZE, VA$M_NO_OVERMAP);
    if ((status == SS$_NORMAL) != whole)
        vm_die("%u pages at %u: status %u", n, at, status);
    for (unsigned i = at; whole && i < at + n; i++)
        mapped[i] = true;
    if (whole && rnd(2)) /* so that not all of them become one entry */
        aspace_protect(space, va_at(at), n * PAGE_SIZE, prots[rnd(3)]);
}

static void unmap(void)
{
    unsigned n = 1 + (unsigned)rnd(8), at = (unsigned)rnd(PAGES - n);

    if (aspace_unmap(space, va_at(at), n * PAGE_SIZE))
        vm_die("munmap fails");
    for (unsigned i = at; i < at + n; i++)
        mapped[i] = false;
}

/* Without an alignment the place must be the lowest or highest; with one, any that fits. */
static void check_place(unsigned n, unsigned align, unsigned low, unsigned high, bool down)
{
    vaddr_t va = aspace_find_locked(space, n * PAGE_SIZE, align * PAGE_SIZE, va_at(low),
                                    va_at(high), down);
    vaddr_t want = 0;

    for (unsigned at = 0; at < PAGES; at += align)
        if (at >= low && at + n <= high && all_free(at, n) && (down || !want))
            want = va_at(at);
    if (va == want)
        return;
    if (!va || !want || align == 1 || page_at(va) % align || page_at(va) < low ||
        page_at(va) + n > high || !all_free(page_at(va), n))
        vm_die("%u pages aligned to %u in %u to %u: 0x%lx, not 0x%lx", n, align, low, high,
               (unsigned long)va, (unsigned long)want);
    inexact++;
}

static void check_places(void)
{
    unsigned n = 1 + (unsigned)rnd(9), align = 1u << rnd(4);
    unsigned low = (unsigned)rnd(PAGES / 2), high = low + (unsigned)rnd(PAGES - low);

    check_place(n, align, low, high, false);
    check_place(n, align, low, high, true);
}

static void check_regions(void)
{
    unsigned at = (unsigned)rnd(PAGES), n = 1 + (unsigned)rnd(PAGES - at), next;
    struct region *r = region_at_locked(space, va_at(at) + rnd(PAGE_SIZE));
    struct region_view v;
    bool overlaps = false;
    vaddr_t first_free;

    if ((r ? r->id : 0) != owner[at] || (r && region_find_locked(space, r->id) != r))
        vm_die("page %u is in region %lu", at, (unsigned long)owner[at]);
    for (unsigned i = at; i < at + n; i++)
        overlaps |= owner[i] != 0;
    if (region_overlaps_locked(space, va_at(at), n * PAGE_SIZE) != overlaps)
        vm_die("overlap of %u pages at %u", n, at);
    if (region_border_locked(space, va_at(at)) != (at ? owner[at] != owner[at - 1] : owner[0] != 0))
        vm_die("border at %u", at);
    for (next = at; next < PAGES && !owner[next];)
        next++;
    if ((region_query(space, VA$_NEXT_REGSUM_BY_VA, 0, va_at(at), &v, &first_free) == SS$_NORMAL) !=
            (next < PAGES) ||
        (next < PAGES && v.id != owner[next]))
        vm_die("the region from page %u on", at);
}

static void check_ends(void)
{
    struct region_view v;
    vaddr_t first_free, want = LAYOUT_P0_FIRST;
    uint64_t id;

    for (unsigned i = 0; i < PAGES; i++)
        if (mapped[i] && !owner[i])
            want = va_at(i + 1);
    while (want >= BASE && page_at(want) < PAGES && owner[page_at(want)])
        want += PAGE_SIZE;
    if (region_query(space, VA$_REGSUM_BY_ID, VA$C_P0, 0, &v, &first_free) != SS$_NORMAL ||
        first_free != want)
        vm_die("P0 ends at 0x%lx, not 0x%lx", (unsigned long)first_free, (unsigned long)want);
    id = owner[rnd(PAGES)];
    if (!id)
        return;
    if (region_query(space, VA$_REGSUM_BY_ID, id, 0, &v, &first_free) != SS$_NORMAL)
        vm_die("region %lu is not there", (unsigned long)id);
    want = v.start;
    for (unsigned i = page_at(v.start); i < page_at(v.end); i++)
        if (mapped[i])
            want = va_at(i + 1);
    if (first_free != want)
        vm_die("region %lu ends at 0x%lx", (unsigned long)id, (unsigned long)first_free);
}

static void test_random(void)
{
    static void (*const ops[])(void) = {try_region, try_region, try_region, end_region,
                                        try_map,    try_map,    try_map,    unmap};

    space = aspace_create(0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        ops[rnd(ARRAY_SIZE(ops))]();
        if (round % 16 == 0) {
            struct aspace *copy = round % 256 == 0 ? aspace_fork(space) : NULL;

            vm_check(space);
            if (copy) {
                vm_check(copy);
                aspace_unref(copy);
            }
        }
        check_places();
        check_regions();
        check_ends();
    }
    aspace_unref(space);
    ok(inexact < ROUNDS / 100, "%u of %u aligned places were not the lowest or highest", inexact,
       2 * ROUNDS);
    ok(1, "regions, mappings and free places are found as by a look at every page");
}

/* ---- many ---- */

#define MANY 20000u

static unsigned depth(const struct treap_node *n)
{
    unsigned l = n->left ? depth(n->left) : 0, r = n->right ? depth(n->right) : 0;

    return 1 + MAX(l, r);
}

/* Regions and mappings in turn, as close as possible, from the top down: no list of gaps is of use,
   and yet the trees stay flat. A random tree of 20,000 nodes is about 35 deep; one of twice that
   depth would mean that the order of insertions can be used against it. */
static void test_many(void)
{
    struct region_view v;

    space = aspace_create(0);
    for (unsigned i = 0; i < MANY; i++) {
        vaddr_t va = LAYOUT_P2_BASE + (uint64_t)2 * (MANY - i) * PAGE_SIZE;

        if (region_create(space, PAGE_SIZE, 0, 0, va, false, &v) != SS$_NORMAL ||
            region_create_va(space, VA$C_P2, va + PAGE_SIZE, PAGE_SIZE, 0) != SS$_NORMAL)
            vm_die("region %u", i);
    }
    ok(depth(space->tree.root) < 70 && depth(space->region_tree.root) < 70 &&
           depth(space->region_by_id.root) < 70,
       "20,000 regions and mappings make trees of depth %u, %u and %u", depth(space->tree.root),
       depth(space->region_tree.root), depth(space->region_by_id.root));
    if (aspace_find_locked(space, PAGE_SIZE, PAGE_SIZE, LAYOUT_P2_BASE + 2 * PAGE_SIZE,
                           LAYOUT_USER_TOP, false) != v.start + (uint64_t)2 * MANY * PAGE_SIZE)
        vm_die("the first free page is not behind all of them");
    aspace_unref(space);
}

int main(void)
{
    int64_t pool;

    vm_boot();
    pool = vm_pool_bytes;
    test_random();
    test_many();
    is(vm_pool_bytes, pool, "no pool is lost");
    return tap_done();
}
