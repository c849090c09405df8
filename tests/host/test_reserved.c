// SOURCES: mm/reserved.c mm/pool_nonpaged.c mm/pool_var.c mm/page.c mm/page_range.c mm/fluid.c
// SOURCES: kernel/base/string_extra.c sysman/params.c
/*
 * Reservations: order, alignment, fallbacks and messages, prezeroing that touches nothing, use,
 * return and free, and that every page comes back. Each case boots its own small machine, in a
 * child of its own.
 */
#include "mm/reserved.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/abi/ssdef.h"
#include "mm/fluid.h"
#include "mm/page_private.h"
#include "mm/pool.h"
#include "mm/prezero.h"
#include "sysman/config.h"
#include "sysman/params.h"
#include "userland/lib/include/tap.h"

#define MB 128UL /* pages */

static char console[4000];

void printk(const char *fmt, ...)
{
    size_t n = strlen(console);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(console + n, sizeof(console) - n, fmt, ap);
    va_end(ap);
}

/* In the kernel all CPUs share this work. */
void prezero_boot(pfn_t first, uint64_t npages)
{
    for (uint64_t i = 0; i < npages; i++)
        page_zero_if_needed(pfn_add(first, i));
}

static struct registry registry;

static void entry(const char *name, uint64_t mb, uint32_t flags)
{
    struct registry_entry *e = &registry.entries[registry.count++];

    strcpy(e->name, name);
    e->megabytes = mb;
    e->flags = flags;
    e->group = flags & CONFIG_RES_GROUP ? 10 : 0;
    e->rad = CONFIG_RAD_NONE;
}

static void boot(uint64_t megabytes)
{
    page_boot_add_range(pfn_of(15), 385);
    page_boot_add_range(pfn_of(700), megabytes * MB - 700);
    page_boot_done();
    pool_boot();
}

#define ALLOC  (CONFIG_RES_ALLOCATE | CONFIG_RES_SYSGBL)
#define TABLES CONFIG_RES_PAGE_TABLES

static const struct rmd *named;
static const char *wanted_name;

static void find(const struct rmd *r, void *arg)
{
    (void)arg;
    if (strcmp(r->name, wanted_name) == 0)
        named = r;
}

static const struct rmd *rmd(const char *name)
{
    named = NULL;
    wanted_name = name;
    rmd_for_each(find, NULL);
    return named;
}

static char order[200];

static void note(const struct rmd *r, void *arg)
{
    (void)arg;
    strcat(strcat(order, r->name), " ");
}

/* Host pages of [first, first + npages) that have memory. */
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

/* ---- cases ---- */

static void case_order(void)
{
    entry("SMALL", 1, ALLOC);
    entry("BIG", 300, ALLOC | TABLES);
    entry("PROMISE", 40, CONFIG_RES_SYSGBL | TABLES);
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
    is(fluid_promised_unused(), 40 * MB + 6, "the promise is a promise");
    is_str(console, "", "nothing on the console");
    ok(!page_entry_valid(rmd("BIG")->first),
       "the database entries of a reservation are not initialised");
}

static void case_sparse(void)
{
    entry("DBCACHE", 4096, ALLOC | TABLES | CONFIG_RES_ZERO);
    boot(8192);
    reserved_boot(&registry);

    const struct rmd *r = rmd("DBCACHE");

    ok(r && (r->flags & RMD_ZEROED), "4096 MB are zeroed");
    is(r->npt_pages, 513, "512 level-3 pages and a level-2 page");
    is(r->pt_first.n % 512, 0, "aligned to 512");

    /* Pages that are not zero become so, pages that are stay without memory of their own (they are
       mapped to the host's zero page, which mincore reports too: so count what is anonymous by
       smaps instead). */
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
    entry("Z", 64, ALLOC | CONFIG_RES_ZERO);
    boot(512);
    for (uint64_t n = 30000; n < 60000; n += 97) /* power-on noise */
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
    entry("PROMISE", 3000, CONFIG_RES_SYSGBL);
    boot(1024);
    reserved_boot(&registry);
    ok(!rmd("HUGE") && !rmd("PROMISE"), "what is larger than memory is not reserved");
    ok(rmd("NEXT"), "what fits is");
    ok(strstr(console, "HUGE") && strstr(console, "PROMISE") && !strstr(console, "NEXT"),
       "and the console names the others");
}

static void case_limit(void)
{
    boot(1024);

    uint64_t mb = (fluid_count() - fluid_minimum()) / MB;

    entry("MOST", mb, CONFIG_RES_SYSGBL);
    entry("MORE", 1, CONFIG_RES_SYSGBL);
    reserved_boot(&registry);
    ok(rmd("MOST"), "all that the minimum leaves can be reserved");
    ok(!rmd("MORE"), "and one megabyte more can not");
    ok(fluid_count() >= fluid_minimum(), "the minimum stands");
}

static void case_no_stretch(void)
{
    pfn_t p, freed[512];

    boot(1024);
    /* Break the ranges: every 512-page block loses a page. */
    for (unsigned i = 0; i < 255; i++) {
        if (page_alloc_contig(1, 512, 0, PAGE_T_SYSTEM, 0, &p))
            break;
        freed[i] = p;
    }
    (void)freed;
    entry("CONTIG", 64, ALLOC | TABLES | CONFIG_RES_ZERO);
    reserved_boot(&registry);

    const struct rmd *r = rmd("CONTIG");

    ok(r && !(r->flags & RMD_ALLOC) && (r->flags & RMD_NO_CONTIG),
       "without a stretch it is reserved without allocation");
    ok(r && fluid_promised_unused() == 64 * MB + 9, "as a promise");
    ok(strstr(console, "CONTIG"), "and named on the console");
}

/* Pages of a reservation, in the order of its stretches, or 0: not as promised. */
static uint64_t stretches_sum(const struct rmd *r)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < r->nextents; i++) {
        const struct rmd_extent *e = &r->extents[i];

        if (e->first.n % 512 != 0 || (i + 1 < r->nextents && e->npages % 1024 != 0) ||
            (i > 0 && e->npages > r->extents[i - 1].npages))
            return 0;
        for (uint64_t n = 0; n < e->npages; n++)
            if (!page_is_ram(pfn_add(e->first, n)))
                return 0;
        sum += e->npages;
    }
    return sum;
}

static void case_pieces(void)
{
    struct page_stats before, after;
    uint64_t freed, fluid;
    struct rmd *r;

    entry("BIG", 700, ALLOC | TABLES | CONFIG_RES_ZERO);
    entry("SMALL", 3, ALLOC | TABLES);
    page_boot_add_range(pfn_of(15), 200 * MB + 77); /* memory with holes, aligned to nothing */
    page_boot_add_range(pfn_of(300 * MB + 13), 300 * MB + 5);
    page_boot_add_range(pfn_of(700 * MB + 1), 6 * MB);
    page_boot_add_range(pfn_of(800 * MB + 511), 400 * MB + 3);
    page_boot_done();
    pool_boot();
    page_stats(&before);
    fluid = fluid_count();
    reserved_boot(&registry);
    ok(rmd("BIG") && (rmd("BIG")->flags & RMD_ALLOC) && rmd("BIG")->nextents == 3,
       "what no stretch holds is met in three, largest first");
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
    is(after.active - before.active, 0, "nor in use");
    is(fluid_count(), fluid, "all is fluid again");
}

static void case_pieces_refused(void)
{
    entry("BIG", 500, ALLOC | TABLES);
    for (unsigned i = 0; i < 60; i++) /* 600 MB in pieces of which each holds 8 MB */
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

    entry("A", 64, ALLOC | TABLES | CONFIG_RES_ZERO);
    entry("A", 32, CONFIG_RES_GROUP | TABLES);
    entry("DRIVER", 16, CONFIG_RES_ALLOCATE | CONFIG_RES_NOGLOBAL);
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
       "what is wholly used cannot be freed");
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
    is(mmg_use_res_mem("A", false, 10, 1, &q), SS$_NORESERVEDMEM, "then it is gone");
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
    entry("X", 110, CONFIG_RES_SYSGBL);
    reserved_boot(&registry);
    is(fluid_minimum(), 20000, "MIN_FLUID_PAGES is the minimum");
    ok(!rmd("X"), "and is respected");
}

static void case_physical_memory(void)
{
    pfn_t p;

    boot(1024);
    sysparam_set("PHYSICAL_MEMORY", 300, false);
    entry("X", 250, ALLOC);
    entry("Y", 400, CONFIG_RES_SYSGBL);
    reserved_boot(&registry);
    ok(rmd("X") && rmd("X")->first.n + 250 * MB <= 300 * MB,
       "PHYSICAL_MEMORY hides what lies above it");
    ok(!rmd("Y"), "and it is not fluid");
    while (page_alloc(0, PAGE_T_SYSTEM, RAD_ANY, &p) == 0)
        if (p.n >= 300 * MB)
            break;
    ok(p.n < 300 * MB, "no page above it is given out");
}

static void case_large_machine(void)
{
    uint64_t chunks = 0;

    boot(1024000);
    reserved_boot(&registry);
    for (uint64_t n = 0; n < 1024000 * MB; n += CHUNK_PAGES)
        chunks += page_entry_valid(pfn_of(n));
    ok(chunks <= 8, "1000 GiB boot with %lu chunks of the database initialised", chunks);
    is(page_is_ram(pfn_of(1024000 * MB - 1 - 512000 - 8)), true, "and all RAM is managed");
}

int main(void)
{
    static void (*const cases[])(void) = {
        case_order,      case_sparse,          case_zero,           case_too_much, case_limit,
        case_no_stretch, case_pieces,          case_pieces_refused, case_use,      case_startup_min,
        case_minimum,    case_physical_memory, case_large_machine};

    /* The children go on with the report's numbers. */
    int *shared = mmap(NULL, 2 * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0);

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0) {
            cases[i]();
            if (tap_failed())
                diag("console: %s", console);
            shared[0] = tap_count_;
            shared[1] = tap_failures_;
            _exit(0);
        }
        waitpid(pid, &status, 0);
        tap_count_ = shared[0];
        tap_failures_ = shared[1];
        ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "case %u ran to its end", i);
    }
    return tap_done();
}
