// SOURCES: kernel/quota/account.c kernel/base/treap.c
// SOURCES: mm/section/reserved.c mm/pool/pool_nonpaged.c mm/pool/pool_var.c mm/phys/page.c
// SOURCES: mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: mm/phys/page_range.c mm/phys/fluid.c
// SOURCES: mm/pool/pool_check.c mm/phys/page_boot.c kernel/base/string_extra.c sysman/params.c
/*
 * Reserved memory in several memory domains, and beside holes in memory. Each case boots a small
 * machine of its own in a child process.
 */
#include "kernel/base/abi/ssdef.h"
#include "mm/phys/fluid.h"
#include "tests/host/reserved_world.h"

static void case_parts_rads(void)
{
    sysparam_set("RADS", 2, false);
    entry("A", 16, ALLOC | TABLES);
    registry.entries[0].rad = 1;
    entry("A", 24, ALLOC | TABLES | RMD_EXTENDS);
    registry.entries[1].rad = 0;
    entry("A", 5, ALLOC | TABLES | RMD_EXTENDS);
    registry.entries[2].rad = 7;
    boot(1024);
    reserved_boot(&registry);

    const struct rmd *a = rmd("A");

    ok(a && (a->flags & RMD_ALLOC) && a->nextents == 3, "each part has a stretch");
    ok(a && a->extents[0].npages == 16 * MB && a->extents[1].npages == 24 * MB &&
           a->extents[2].npages == 5 * MB,
       "in the order of the parts");
    ok(a && page_rad(a->extents[0].first) == 1 && page_rad(a->extents[1].first) == 0,
       "each from its domain");
    ok(strstr(console, "A asks for domain 7, but there are only 2"), "a wrong domain is named");

    uint64_t run;

    ok(a && rmd_extent_frame(a->extents, 16 * MB, &run).n == a->extents[1].first.n,
       "pages are found across the parts");
    is(run, 24 * MB, "with the run of their part");
}

/* Count the pages of [first, first + npages) by domain. */
static void count_rads(uint64_t first, uint64_t npages, uint64_t rads[RAD_MAX])
{
    for (uint64_t n = first; n < first + npages; n++)
        rads[page_rad(pfn_of(n))]++;
}

static void rmd_rads(const struct rmd *r, uint64_t rads[RAD_MAX])
{
    memset(rads, 0, RAD_MAX * sizeof(rads[0]));
    for (unsigned i = 0; i < r->nextents; i++)
        count_rads(r->extents[i].first.n, r->extents[i].npages, rads);
}

static void entry_rad(const char *name, uint64_t mb, uint32_t flags, uint32_t rad)
{
    entry(name, mb, flags);
    registry.entries[registry.count - 1].rad = rad;
}

static void case_rads(void)
{
    uint64_t rads[RAD_MAX], freed;
    struct page_stats s, sum = {0};
    uint64_t first, end, last_end = 0;
    struct rmd *r;

    sysparam_set("RADS", 4, false);
    boot(1024);
    is(rad_count, 4, "four domains");
    for (unsigned i = 0; i < 4; i++) {
        page_rad_stats(i, &s, &first, &end);
        ok(s.total + 512 >= page_total / 4 && s.total <= page_total / 4 + 512,
           "domain %u has a quarter of the memory", i);
        ok(first == last_end && (i == 0 || first % 512 == 0), "it begins where the last one ends");
        last_end = end;
        sum.total += s.total;
    }
    is(sum.total, page_total, "all of it belongs to one");
    entry_rad("THIRD", 100, ALLOC | TABLES, 2);
    entry_rad("SECOND", 200, ALLOC, 1);
    entry_rad("OVERFLOWS", 90, ALLOC | TABLES, 1);
    entry_rad("NOWHERE", 20, ALLOC, 6);
    entry("WIDE", 450, ALLOC);
    entry_rad("PROMISE", 30, RMD_SYSGBL, 3);
    reserved_boot(&registry);
    ok(rmd("WIDE") && stretches_sum(rmd("WIDE")) == 450 * MB && rmd("WIDE")->nextents >= 2,
       "an entry larger than a domain comes from several, largest first");
    ok(strstr(console, "NOWHERE asks for domain 6, but there are only 4") && rmd("NOWHERE") &&
           rmd("NOWHERE")->rad == RAD_ANY,
       "a domain that does not exist is named and ignored");
    rmd_rads(rmd("SECOND"), rads);
    ok(rads[1] > 0 && stretches_sum(rmd("SECOND")) == 200 * MB,
       "SECOND has what domain 1 has left");
    rmd_rads(rmd("OVERFLOWS"), rads);
    is(rads[0] + rads[1] + rads[2] + rads[3], 90 * MB,
       "when that is full, the other domains are used");
    is(rmd("PROMISE")->rad, 3, "a promise keeps its hint");
    is(mmg_use_res_mem("WIDE", true, 0, 300 * MB, &r), SS$_NORMAL, "used");
    is(mmg_free_res_mem("WIDE", true, 0, &freed), SS$_NORMAL, "the rest freed");
    mmg_return_res_mem(r);
    while (registry.count-- > 0)
        mmg_free_res_mem(registry.entries[registry.count].name, true, 0, &freed);
    for (unsigned i = 0; i < 4; i++) {
        page_rad_stats(i, &s, &first, &end);
        is(s.reserved, 0, "every domain has its own pages back");
        is(s.total, s.free + s.active, "and its counts add up");
    }
}

static void case_rad_hint(void)
{
    uint64_t rads[RAD_MAX];

    sysparam_set("RADS", 2, false);
    boot(1024);
    entry_rad("ONE", 100, ALLOC | TABLES, 1);
    entry_rad("NOUGHT", 100, ALLOC | TABLES, 0);
    reserved_boot(&registry);
    rmd_rads(rmd("ONE"), rads);
    ok(rads[0] == 0 && rmd("ONE")->nextents == 1 && page_rad(rmd("ONE")->pt_first) == 1,
       "/RAD=1: pages and page tables of domain 1");
    rmd_rads(rmd("NOUGHT"), rads);
    ok(rads[1] == 0 && page_rad(rmd("NOUGHT")->pt_first) == 0, "/RAD=0: of domain 0");
}

/* The pages of a hole are never written, whatever is done with all others. */
#define HOLE_MARK 0x401E401E401E401Eul

static void case_holes(void)
{
    uint64_t ram = 0, touched = 0, given = 0, first, end;
    struct page_stats s;
    pfn_t p;

    for (uint64_t n = 700; n < 1024 * MB; n++)
        ((uint64_t *)kseg_page(pfn_of(n)))[n % 1024] = HOLE_MARK;
    sysparam_set("MEMORY_HOLES", 5, false);
    sysparam_set("MEMORY_HOLE_MB", 31, false);
    sysparam_set("RADS", 2, false);
    boot(1024);
    ok(strstr(console, "MEMORY_HOLES makes 5 holes, 19840 pages in all"), "five holes of 31 MB");
    for (uint64_t n = 0; n < 1024 * MB; n++)
        ram += page_is_ram(pfn_of(n));
    is(ram, page_total, "their pages are no RAM");
    is(ram, (1024 - 5 * 31) * MB - (700 - 385) - 512 - 1, "all others are");
    page_rad_stats(0, &s, &first, &end);
    ok(s.total + 512 >= page_total / 2 && s.total <= page_total / 2 + 512,
       "the domains share what is usable");
    entry("BIG", 600, ALLOC | TABLES | RMD_ZERO);
    entry("SOME", 50, ALLOC);
    reserved_boot(&registry);
    ok(rmd("BIG") && stretches_sum(rmd("BIG")) == 600 * MB && rmd("BIG")->nextents > 3,
       "600 MB are in parts between them");
    while (page_alloc(PA_ZERO, PAGE_T_SYSTEM, RAD_ANY, &p) == 0) {
        given++;
        if (!page_is_ram(p))
            break;
    }
    is(fluid_count(), fluid_minimum(), "all pages are taken, down to the minimum");
    /* The pages of the PFN database are not allocated either, and are written. */
    for (uint64_t n = 700; n < 1024 * MB; n++)
        touched += !page_is_ram(pfn_of(n)) &&
                   !(n >= kseg_paddr(page_db).a / PAGE_SIZE &&
                     n <= kseg_paddr(page_db).a / PAGE_SIZE + 512) &&
                   ((uint64_t *)kseg_page(pfn_of(n)))[n % 1024] != HOLE_MARK;
    is(touched, 0, "%lu pages later no page of a hole was written", given);
}

static void case_holes_too_many(void)
{
    sysparam_set("MEMORY_HOLES", 32, false);
    sysparam_set("MEMORY_HOLE_MB", 8, false);
    boot(260);
    ok(strstr(console, "do not fit"), "holes that leave no memory are not made");
    ok(page_total > 250 * MB, "all memory is there");
}

int main(void)
{
    static void (*const cases[])(void) = {case_parts_rads, case_rads, case_rad_hint, case_holes,
                                          case_holes_too_many};

    run_cases(cases, ARRAY_SIZE(cases));
    return tap_done();
}
