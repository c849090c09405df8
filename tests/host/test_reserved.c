// SOURCES: kernel/quota/account.c kernel/base/treap.c
// SOURCES: mm/section/reserved.c mm/pool/pool_nonpaged.c mm/pool/pool_var.c mm/phys/page.c
// SOURCES: mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: mm/phys/page_range.c mm/phys/fluid.c
// SOURCES: mm/pool/pool_check.c mm/phys/page_boot.c kernel/base/string_extra.c sysman/params.c
/*
 * Reserved memory: order, alignment, fallbacks and messages, prezeroing that does not touch pages
 * that are zero, use, return and freeing; at the end every page is free. Each case boots a small
 * machine of its own in a child process.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/bitops.h"
#include "mm/phys/fluid.h"
#include "tests/host/reserved_world.h"

static char order[200];

static void note(const struct rmd *r, void *arg)
{
    (void)arg;
    strcat(strcat(order, r->name), " ");
}

/* The number of pages of [first, first + npages) that have host memory. */
static uint64_t resident(pfn_t first, uint64_t npages)
{
    static unsigned char v[1 << 20];
    uint64_t n = 0, host_pages = npages * 2;

    if (mincore(kseg_page(first), npages * PAGE_SIZE, v))
        bail_out("mincore failed");
    for (uint64_t i = 0; i < host_pages; i++)
        n += v[i] & 1;
    return n;
}

static void case_order(void)
{
    entry("SMALL", 1, ALLOC);
    entry("BIG", 300, ALLOC | TABLES);
    entry("PROMISE", 40, RMD_SYSGBL | TABLES);
    entry("MIDDLE", 4, ALLOC | TABLES);
    boot(1024);

    uint64_t before = fluid_count();

    reserved_boot(&registry);
    rmd_for_each(note, NULL);
    is_str(order, "BIG PROMISE MIDDLE SMALL ", "the largest comes first");
    is(rmd("BIG")->first.n % 512, 0, "300 MB are aligned to 512 pages");
    is(rmd("MIDDLE")->first.n % 512, 0, "4 MB too");
    is(rmd("SMALL")->first.n % 64, 0, "1 MB to 64 pages");
    is(rmd("BIG")->npt_pages, 39, "38 level-3 pages and a level-2 page for 38400 pages");
    is(rmd("BIG")->pt_first.n % 8, 0, "aligned to 8");
    is(rmd("SMALL")->npt_pages, 0, "none where none are wanted");
    is(before - fluid_count(), 345 * MB + 39 + 6 + 2,
       "the fluid count gave for all, page tables included");
    is(fluid_promised_unused(), 40 * MB + 6, "the FLUID entry is a promise");
    is_str(console, "", "nothing on the console");
    ok(!page_entry_valid(rmd("BIG")->first),
       "the database entries of a reservation are not initialised");
}

static void case_sparse(void)
{
    entry("DBCACHE", 4096, ALLOC | TABLES | RMD_ZERO);
    boot(8192);
    reserved_boot(&registry);

    const struct rmd *r = rmd("DBCACHE");

    ok(r && (r->flags & RMD_ZEROED), "4096 MB are zeroed");
    is(r->npt_pages, 513, "512 level-3 pages and a level-2 page");
    is(r->pt_first.n % 512, 0, "aligned to 512");

    /* Pages that are not zero must be zeroed; pages that are zero must not be written. Reading maps
       them to the host's zero page, which mincore reports too, so count anonymous memory by smaps
       instead. */
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[300];
    unsigned long start, end, kb, anonymous = 0;
    bool ram = false;

    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            ram = start == (unsigned long)host_ram;
        if (ram && sscanf(line, "Anonymous: %lu", &kb) == 1)
            anonymous = kb;
    }
    if (f)
        fclose(f);
    ok(anonymous < 16384, "the sparse guest stays sparse (%lu KB with memory)", anonymous);
}

static void case_zero(void)
{
    entry("Z", 64, ALLOC | RMD_ZERO);
    boot(512);
    for (uint64_t n = 30000; n < 60000; n += 97) /* random contents after power-on */
        ((uint64_t *)kseg_page(pfn_of(n)))[n % 1024] = n;
    reserved_boot(&registry);

    const struct rmd *r = rmd("Z");
    uint64_t bad = 0, overlap = r->first.n < 60000;

    for (uint64_t n = r->first.n; n < r->first.n + r->npages; n++)
        for (unsigned i = 0; i < 1024; i++)
            bad += ((uint64_t *)kseg_page(pfn_of(n)))[i] != 0;
    ok(overlap, "the reservation lies where there was noise");
    is(bad, 0, "all of it is zero now");
    ok(resident(r->first, r->npages) > 0, "(it was written)");
}

static void case_too_much(void)
{
    entry("HUGE", 2000, ALLOC);
    entry("NEXT", 100, ALLOC);
    entry("PROMISE", 3000, RMD_SYSGBL);
    boot(1024);
    reserved_boot(&registry);
    ok(!rmd("HUGE") && !rmd("PROMISE"), "an entry larger than memory is not reserved");
    ok(rmd("NEXT"), "an entry that fits is reserved");
    ok(strstr(console, "HUGE") && strstr(console, "PROMISE") && !strstr(console, "NEXT"),
       "and the console names the others");
}

static void case_limit(void)
{
    boot(1024);

    uint64_t mb = (fluid_count() - fluid_minimum() - RMD_START_PAGES) / MB;

    entry("MOST", mb, RMD_SYSGBL);
    entry("MORE", 1, RMD_SYSGBL);
    reserved_boot(&registry);
    ok(rmd("MOST"), "all memory above the minimum can be reserved");
    ok(!rmd("MORE"), "one megabyte more cannot be reserved");
    ok(fluid_count() >= fluid_minimum(), "the minimum is kept");
}

static void case_no_stretch(void)
{
    pfn_t p, freed[512];

    boot(1024);
    /* Fragment the ranges: allocate a page of every 512-page block. */
    for (unsigned i = 0; i < 255; i++) {
        if (page_alloc_contig(1, 512, 0, PAGE_T_SYSTEM, 0, &p))
            break;
        freed[i] = p;
    }
    (void)freed;
    entry("CONTIG", 64, ALLOC | TABLES | RMD_ZERO);
    reserved_boot(&registry);

    const struct rmd *r = rmd("CONTIG");

    ok(r && !(r->flags & RMD_ALLOC) && (r->flags & RMD_NO_CONTIG),
       "without a contiguous stretch an entry is reserved without allocation");
    ok(r && fluid_promised_unused() == 64 * MB + 9, "as a promise");
    ok(strstr(console, "CONTIG"), "and named on the console");
}

/* The sum of the pages of a reservation's stretches; 0: a stretch is not as it should be. */
static void case_pieces(void)
{
    struct page_stats before, after;
    uint64_t freed, fluid;
    struct rmd *r;

    entry("BIG", 700, ALLOC | TABLES | RMD_ZERO);
    entry("SMALL", 3, ALLOC | TABLES);
    page_boot_add_range(pfn_of(15), 200 * MB + 77); /* memory with holes, not aligned */
    page_boot_add_range(pfn_of(300 * MB + 13), 300 * MB + 5);
    page_boot_add_range(pfn_of(700 * MB + 1), 6 * MB);
    page_boot_add_range(pfn_of(800 * MB + 511), 400 * MB + 3);
    page_boot_done();
    pool_boot();
    page_stats(&before);
    fluid = fluid_count();
    reserved_boot(&registry);
    ok(rmd("BIG") && (rmd("BIG")->flags & RMD_ALLOC) && rmd("BIG")->nextents == 3,
       "an entry that fits in no stretch gets three, largest first");
    ok(rmd("BIG") && stretches_sum(rmd("BIG")) == 700 * MB, "which are aligned and whole");
    is(rmd("BIG")->pt_first.n % 64, 0,
       "the page tables are one stretch, aligned to what they fill");
    ok(rmd("SMALL") && rmd("SMALL")->nextents == 1, "and small ones stay in one");
    ok(strstr(console, "BIG is in 3 stretches") && !strstr(console, "SMALL"),
       "the console says so");
    is(mmg_use_res_mem("BIG", true, 0, 500 * MB + 1, &r), SS$_NORMAL, "used in part");
    is(page_of(pfn_add(r->extents[1].first, 1))->state, PAGE_RESERVED, "all entries initialised");
    is(mmg_free_res_mem("BIG", true, 0, &freed), SS$_NORMAL, "the rest is freed");
    is(freed, 700 * MB + 88 - (500 * MB + 1) - 63, "all that is not used");
    is(mmg_free_res_mem("BIG", true, 0, &freed), SS$_RESERVEDMEMUSED, "once");
    mmg_return_res_mem(r);
    ok(!rmd("BIG"), "and the used part when it comes back");
    is(mmg_free_res_mem("SMALL", true, 0, &freed), SS$_NORMAL, "the small one too");
    page_stats(&after);
    is(after.reserved, 0, "nothing is reserved any more");
    is(after.active - before.active, 0, "no reservation is in use any more");
    is(fluid_count(), fluid, "all is fluid again");
}

static void case_pieces_refused(void)
{
    entry("BIG", 500, ALLOC | TABLES);
    for (unsigned i = 0; i < 60; i++) /* 600 MB in parts that have room for 8 MB each */
        page_boot_add_range(pfn_of(i * 16 * MB + 16), 10 * MB);
    page_boot_done();
    pool_boot();
    reserved_boot(&registry);
    ok(rmd("BIG") && (rmd("BIG")->flags & RMD_NO_CONTIG) && rmd("BIG")->nextents == 0,
       "stretches that are too small together: reserved without allocation");
    is(fluid_promised_unused(), 500 * MB + 64, "as a promise");

    struct page_stats s;

    page_stats(&s);
    is(s.reserved, 0, "no stretch was kept");
}

static void case_use(void)
{
    struct rmd *r, *q;
    uint64_t freed;

    entry("A", 64, ALLOC | TABLES | RMD_ZERO);
    entry("A", 32, RMD_GROUP | TABLES);
    entry("DRIVER", 16, RMD_ALLOC | RMD_NOGLOBAL);
    boot(1024);

    uint64_t before = fluid_count();

    reserved_boot(&registry);
    is(mmg_use_res_mem("a", true, 0, 10, &r), SS$_NORESERVEDMEM, "names are exact");
    is(mmg_use_res_mem("A", false, 11, 10, &r), SS$_NORESERVEDMEM, "another group finds nothing");
    is(mmg_use_res_mem("DRIVER", true, 0, 10, &r), SS$_NORESERVEDMEM,
       "no section uses a NOGLOBAL entry");
    is(mmg_use_res_mem("A", true, 0, 64 * MB + 1, &r), SS$_MRES_PFNSMALL, "too large");
    is(mmg_use_res_mem("A", true, 0, 60 * MB, &r), SS$_NORMAL, "used");
    ok(r->used == 60 * MB && r->pt_used == 9, "with its page tables");
    is(page_of(r->first)->state, PAGE_RESERVED, "its database entries are initialised");
    is(mmg_use_res_mem("A", true, 0, 1, &q), SS$_RESERVEDMEMUSED, "not twice");
    is(mmg_use_res_mem("A", false, 10, 32 * MB, &q), SS$_NORMAL,
       "the group's entry of that name is another");
    is(mmg_free_res_mem("A", false, 10, &freed), SS$_RESERVEDMEMUSED,
       "a reservation in full use cannot be freed");
    mmg_return_res_mem(r);
    ok(r->used == 0 && !(r->flags & RMD_ZEROED), "returned: no longer zeroed");
    is(mmg_use_res_mem("A", true, 0, 60 * MB, &r), SS$_NORMAL, "used again");
    is(mmg_free_res_mem("A", true, 0, &freed), SS$_NORMAL, "the unused part is freed");
    is(freed, 4 * MB, "its size");
    mmg_return_res_mem(r);
    ok(!rmd("A") || rmd("A")->flags & RMD_GROUP, "and the rest when it is returned");
    mmg_return_res_mem(q);
    is(mmg_free_res_mem("A", false, 10, &freed), SS$_NORMAL, "the promise is freed");
    is(freed, 32 * MB + 5, "with its page tables");
    is(mmg_use_res_mem("A", false, 10, 1, &q), SS$_NORESERVEDMEM,
       "the entry does not exist any more");
    is(fluid_count(), before - 16 * MB, "all but DRIVER is fluid again");
    is(mmg_free_res_mem("DRIVER", true, 0, &freed), SS$_NORESERVEDMEM,
       "DRIVER is no system section's");
    is(mmg_free_res_mem("DRIVER", false, 0, &freed), SS$_NORESERVEDMEM, "and no group's");

    struct page_stats s;

    page_stats(&s);
    is(s.reserved, 16 * MB, "and only DRIVER is reserved");
    is(mmg_free_res_mem("DRIVER", false, RMD_NO_GROUP, &freed), SS$_NORMAL, "it is freed as such");
    is(freed, 16 * MB, "without page tables");
    is(fluid_count(), before, "all is fluid again");
}

static void case_parts(void)
{
    entry("B", 30, ALLOC | TABLES);
    entry("A", 16, ALLOC | TABLES);
    entry("A", 24, ALLOC | TABLES | RMD_EXTENDS);
    boot(1024);

    uint64_t before = fluid_count();

    reserved_boot(&registry);

    const struct rmd *a = rmd("A");

    is(a ? a->npages : 0, 40 * MB, "an entry is reserved with all its parts");
    is(a ? a->npt_pages : 0, 5 + 1, "and with the page tables of all");
    is(before - fluid_count(), 70 * MB + 6 + 5, "no part is reserved twice");
    order[0] = 0;
    rmd_for_each(note, NULL);
    is_str(order, "A B ", "the whole entry's size says which is the largest");
}

/* A driver's reservation: what may allocate it, and when its frames may be mapped. */
static void case_driver(void)
{
    struct rmd *r, *q, *soft;
    pfn_t first;

    entry("DRIVER", 16, RMD_ALLOC | RMD_NOGLOBAL);
    entry("SOFT", 8, RMD_NOGLOBAL);
    entry("SECTION", 8, ALLOC | TABLES);
    entry("BOTH", 8, ALLOC | TABLES);
    entry("BOTH", 4, RMD_ALLOC | RMD_NOGLOBAL);
    boot(1024);
    reserved_boot(&registry);
    is(mmg_use_res_mem("NOWHERE", false, RMD_NO_GROUP, 1, &r), SS$_NORESERVEDMEM, "no entry");
    is(mmg_use_res_mem("SECTION", false, RMD_NO_GROUP, 1, &r), SS$_RES_MEM_INCON,
       "an entry for sections");
    is(mmg_use_res_mem("DRIVER", false, RMD_NO_GROUP, 16 * MB + 1, &r), SS$_MRES_PFNSMALL,
       "fewer pages allocated");
    is(mmg_use_res_mem("SOFT", false, RMD_NO_GROUP, 8 * MB + 1, &r), SS$_MRES_INCON, "or promised");
    is(mmg_use_res_mem("DRIVER", false, RMD_NO_GROUP, 0, &r), SS$_MRES_INCON, "none wanted");
    is(mmg_use_res_mem("DRIVER", false, RMD_NO_GROUP, 10 * MB, &r), SS$_NORMAL, "taken");
    is(mmg_use_res_mem("DRIVER", false, RMD_NO_GROUP, 1, &q), SS$_RESERVEDMEMUSED, "once");
    is(mmg_use_res_mem("BOTH", false, RMD_NO_GROUP, 4 * MB, &q), SS$_NORMAL,
       "of two entries of a name its own");
    is(q->npages, 4 * MB, "which has that size");
    first = r->first;
    ok(!mmg_borrow_res_mem(first, 1), "its frames are its own");
    mmg_open_res_mem(r);
    ok(!mmg_borrow_res_mem(pfn_of(first.n - 1), 2) && !mmg_borrow_res_mem(first, 10 * MB + 1) &&
           !mmg_borrow_res_mem(pfn_add(first, 10 * MB), 1) &&
           !mmg_borrow_res_mem(pfn_add(first, 1), UINT64_MAX),
       "open: only what it has taken");
    ok(mmg_borrow_res_mem(first, 10 * MB) == r &&
           mmg_borrow_res_mem(pfn_add(first, 10 * MB - 1), 1) == r,
       "that to whoever asks");
    ok(!mmg_close_res_mem(r), "it cannot be closed while its frames are mapped");
    mmg_give_back_res_mem(r);
    ok(!mmg_close_res_mem(r) && mmg_borrow_res_mem(first, 1) == r, "and so it stays open");
    mmg_give_back_res_mem(r);
    mmg_give_back_res_mem(r);
    ok(mmg_close_res_mem(r) && !mmg_borrow_res_mem(first, 1),
       "until the last mapping has been removed");
    ok(mmg_close_res_mem(r), "closing it again is no error");
    is(mmg_use_res_mem("SOFT", false, RMD_NO_GROUP, 8 * MB, &soft), SS$_NORMAL, "a promise");
    mmg_open_res_mem(soft);
    ok(!mmg_borrow_res_mem(pfn_of(100), 1) && mmg_close_res_mem(soft), "has no frames to show");
    mmg_return_res_mem(soft);
    mmg_return_res_mem(r);
    mmg_return_res_mem(q);
    is(mmg_use_res_mem("DRIVER", false, RMD_NO_GROUP, 16 * MB, &r), SS$_NORMAL, "taken again");
}

/* Frames of several stretches: only runs within one stretch may be mapped. */
static void case_driver_pieces(void)
{
    struct rmd *r;
    pfn_t one, two;

    entry("DRIVER", 60, RMD_ALLOC | RMD_NOGLOBAL);
    page_boot_add_range(pfn_of(64), 50 * MB); /* neither range is large enough */
    page_boot_add_range(pfn_of(100 * MB), 50 * MB);
    page_boot_done();
    pool_boot();
    fluid_set_minimum_boot(512);
    reserved_boot(&registry);
    is(mmg_use_res_mem("DRIVER", false, RMD_NO_GROUP, 60 * MB, &r), SS$_NORMAL, "taken");
    is(r->nextents, 2, "in two stretches");
    one = r->extents[0].first;
    two = r->extents[1].first;
    mmg_open_res_mem(r);
    ok(mmg_borrow_res_mem(one, r->extents[0].npages) == r &&
           mmg_borrow_res_mem(two, r->extents[1].npages) == r,
       "each is shown");
    ok(!mmg_borrow_res_mem(one, r->extents[0].npages + 1) &&
           !mmg_borrow_res_mem(two, r->extents[1].npages + 1),
       "none beyond its end");
}

static void case_startup_min(void)
{
    entry("X", 10, ALLOC);
    boot(256);
    sysparam_set("STARTUP_P1", 1, false);
    reserved_boot(&registry);
    ok(!rmd("X"), "STARTUP_P1 MIN ignores the registry");
}

static void case_minimum(void)
{
    boot(256);
    sysparam_set("MIN_FLUID_PAGES", 20000, false);
    entry("X", 110, RMD_SYSGBL);
    reserved_boot(&registry);
    is(fluid_minimum(), 20000, "MIN_FLUID_PAGES is the minimum");
    ok(!rmd("X"), "and is respected");
}

static void case_physical_memory(void)
{
    pfn_t p;

    sysparam_set("PHYSICAL_MEMORY", 300, false);
    boot(1024);
    ok(strstr(console, "PHYSICAL_MEMORY leaves 92672 pages aside"), "724 MB are left aside");
    is(page_total, 385 + 300 * MB - 700 - div_round_up(300 * MB, ENTRIES_PER_PAGE) - 1,
       "the others are all that there is, less their own database");
    entry("X", 250, ALLOC);
    entry("Y", 400, RMD_SYSGBL);
    reserved_boot(&registry);
    ok(rmd("X") && rmd("X")->first.n + 250 * MB <= 300 * MB,
       "PHYSICAL_MEMORY hides what lies above it");
    ok(!rmd("Y"), "and it is not fluid");
    while (page_alloc(0, PAGE_T_SYSTEM, RAD_ANY, &p) == 0)
        if (p.n >= 300 * MB)
            break;
    ok(p.n < 300 * MB, "no page above it is given out");
    ok(!page_is_ram(pfn_of(300 * MB)) && page_is_ram(pfn_of(290 * MB)), "it is not RAM any more");
}

/* Reserve with exactly as many fluid pages as an entry needs, and with one less. */
static void limit_to(uint64_t wanted, uint64_t beyond, uint32_t flags, const char *what)
{
    boot(1024);

    uint64_t minimum = fluid_count() - wanted + beyond;

    sysparam_set("MIN_FLUID_PAGES", (int64_t)(minimum - RMD_START_PAGES), false);
    entry("EXACT", 100, flags);
    reserved_boot(&registry);
    ok(!rmd("EXACT") == !!beyond, "%s", what);
    is(fluid_count() - minimum, beyond ? wanted - beyond : 0, "as the count says");
    ok(!strstr(console, "EXACT") == !beyond, "and the console");
}

#define EXACT (100 * MB + 14) /* pages and their 13 and 1 page-table pages */

static void case_exact_promise(void)
{
    limit_to(EXACT, 0, RMD_SYSGBL | TABLES, "a promise may reach what must remain");
}
static void case_exact_promise_beyond(void)
{
    limit_to(EXACT, 1, RMD_SYSGBL | TABLES, "but not go one page below it");
}
static void case_exact_alloc(void)
{
    limit_to(EXACT, 0, ALLOC | TABLES, "an allocation may reach what must remain");
}
static void case_exact_alloc_beyond(void)
{
    limit_to(EXACT, 1, ALLOC | TABLES, "but not go one page below it either");
}

static void case_large_machine(void)
{
    uint64_t chunks = 0;

    boot(1024000);
    reserved_boot(&registry);
    for (uint64_t n = 0; n < 1024000 * MB; n += CHUNK_PAGES)
        chunks += page_entry_valid(pfn_of(n));
    ok(chunks * CHUNK_PAGES <= 8 * ENTRIES_PER_PAGE,
       "1000 GiB boot with %lu chunks of the database initialised", chunks);
    is(page_is_ram(pfn_of(1024000 * MB - 1 - 512000 - 32)), true, "and all RAM is managed");
}

int main(void)
{
    static void (*const cases[])(void) = {case_driver,
                                          case_driver_pieces,
                                          case_order,
                                          case_sparse,
                                          case_zero,
                                          case_too_much,
                                          case_limit,
                                          case_no_stretch,
                                          case_pieces,
                                          case_pieces_refused,
                                          case_use,
                                          case_parts,
                                          case_startup_min,
                                          case_minimum,
                                          case_physical_memory,
                                          case_large_machine,
                                          case_exact_promise,
                                          case_exact_promise_beyond,
                                          case_exact_alloc,
                                          case_exact_alloc_beyond};

    run_cases(cases, ARRAY_SIZE(cases));
    return tap_done();
}
