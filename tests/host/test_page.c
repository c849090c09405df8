// SOURCES: kernel/quota/account.c
// SOURCES: mm/phys/page.c mm/phys/page_range.c mm/phys/fluid.c kernel/base/string_extra.c
// SOURCES: mm/phys/page_list.c mm/phys/page_zero.c mm/phys/page_check.c
/*
 * The page allocator: random operations compared with a plain model (which pages are allocated, and
 * to which owner), initialisation of chunks, contiguous stretches, the exact limit of fluid pages,
 * and threads that pass pages between CPUs. Everything runs with one memory domain and with three.
 */
#include "mm/phys/page_private.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/kseg.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page_reserve.h"
#include "userland/lib/include/tap.h"

#define GIB_PAGES (UINT64_C(1) << 17)

static uint64_t seed = 0x9E3779B97F4A7C15;

static uint64_t rnd(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static uint64_t entries_ready(uint64_t pfns)
{
    uint64_t n = 0;

    for (uint64_t p = 0; p < pfns; p += CHUNK_PAGES)
        n += page_entry_valid(pfn_of(p));
    return n;
}

static bool sums_up(void)
{
    struct page_stats s;

    page_stats(&s);
    return s.total == s.free + s.modified + s.bad + s.active + s.reserved && s.free <= s.total &&
           s.free >= s.zeroed + s.never_used + s.cached;
}

static uint64_t free_pages(void)
{
    struct page_stats s;

    page_stats(&s);
    return s.free;
}

/* ---- random operations ---- */

#define HELD_MAX 6000
#define NPFNS    16384

static struct held {
    pfn_t pfn;
    uint64_t stamp;
} held[HELD_MAX];
static unsigned nheld;
static uint8_t out_pages[NPFNS]; /* the model: 1 if the page is allocated */

static uint64_t *words(pfn_t p) { return kseg_page(p); }

static const char *take(pfn_t p, bool zero)
{
    if (p.n == 0 || p.n >= NPFNS || !page_is_ram(p))
        return "no RAM";
    if (out_pages[p.n])
        return "allocated twice";
    if (page_of(p)->state != PAGE_ACTIVE || page_of(p)->refcnt != 1 || page_of(p)->share ||
        page_of(p)->owner || page_of(p)->maker || page_of(p)->offset)
        return "entry not fresh";
    if (zero)
        for (unsigned i = 0; i < PAGE_SIZE / 8; i++)
            if (words(p)[i])
                return "not zero";
    out_pages[p.n] = 1;
    held[nheld] = (struct held){p, rnd(UINT64_MAX) | 1};
    words(p)[rnd(1024)] = held[nheld].stamp;
    words(p)[0] = held[nheld].stamp;
    words(p)[1023] = held[nheld].stamp;
    nheld++;
    return NULL;
}

static const char *drop(unsigned i, pfn_t *out)
{
    *out = held[i].pfn;
    if (words(*out)[0] != held[i].stamp || words(*out)[1023] != held[i].stamp)
        return "written by another owner";
    out_pages[out->n] = 0;
    held[i] = held[--nheld];
    return NULL;
}

/* A random domain hint, or none. */
static unsigned any_rad(void)
{
    unsigned rad = (unsigned)rnd(rad_count + 1);

    return rad < rad_count ? rad : RAD_ANY;
}

static const char *random_step(void)
{
    pfn_t p[100];
    const char *bad = NULL;
    unsigned n = 1 + (unsigned)rnd(99), flags = rnd(2) ? PA_ZERO : 0;

    host_cpu_enter((unsigned)rnd(MAX_CPUS), NULL);
    switch (rnd(7)) {
    case 0:
        if (nheld < HELD_MAX && page_alloc(flags, PAGE_T_PROCESS, any_rad(), p) == 0)
            bad = take(p[0], flags);
        break;
    case 1:
        if (nheld + n <= HELD_MAX && page_alloc_bulk(flags, PAGE_T_OBJECT, any_rad(), p, n) == 0)
            for (unsigned i = 0; i < n && !bad; i++)
                bad = take(p[i], flags);
        break;
    case 2:
        if (nheld) {
            bad = drop((unsigned)rnd(nheld), p);
            if (rnd(4) == 0) {
                memset(words(p[0]), 0, PAGE_SIZE);
                page_free_zeroed(p[0]);
            } else
                page_free(p[0]);
        }
        break;
    case 3:
    case 4:
        n = n < nheld ? n : nheld;
        for (unsigned i = 0; i < n && !bad; i++)
            bad = drop((unsigned)rnd(nheld), &p[i]);
        if (rnd(4) == 0) {
            for (unsigned i = 0; i < n; i++)
                memset(words(p[i]), 0, PAGE_SIZE);
            page_free_zeroed_bulk(p, n);
        } else {
            page_free_bulk(p, n);
        }
        break;
    case 5:
        page_zero_idle((unsigned)rnd(8), 256);
        break;
    case 6: {
        uint64_t align = 1u << rnd(7);

        if (nheld + n > HELD_MAX || page_alloc_contig(n, align, flags, PAGE_T_SYSTEM, any_rad(), p))
            break;
        if (p[0].n % align)
            bad = "not aligned";
        for (unsigned i = 0; i < n && !bad; i++)
            bad = take(pfn_add(p[0], i), flags);
        if (!bad && rnd(2)) { /* free it as a stretch */
            for (unsigned i = 0; i < n; i++)
                out_pages[p[0].n + i] = 0;
            nheld -= n;
            page_free_contig(p[0], n);
        }
        break;
    }
    }
    return bad;
}

static void test_random(void)
{
    const char *bad = NULL;
    uint64_t first = free_pages(), step;

    for (step = 0; step < 60000 && !bad; step++) {
        bad = random_step();
        if (!bad && !sums_up())
            bad = "counts do not sum up";
        if (!bad && fluid_count() + nheld != first)
            bad = "the fluid count and the allocated pages differ";
    }
    ok(!bad, "60000 random operations on four CPUs agree with the model%s%s", bad ? ": " : "",
       bad ? bad : "");
    while (nheld) {
        pfn_t p;

        drop(nheld - 1, &p);
        page_free(p);
    }
    is(free_pages(), first, "all pages are free again");
    is(fluid_count(), first, "all pages are fluid again");
}

/* ---- limits ---- */

static void test_limits(void)
{
    static pfn_t p[NPFNS];
    uint64_t limit = fluid_count() - fluid_minimum(), n = 0;
    pfn_t q[8];

    is(fluid_promise(limit + 1), -12, "a promise one page beyond the limit is refused");
    is(fluid_promise(limit), 0, "a promise to exactly the limit is made");
    is(page_alloc(0, PAGE_T_PROCESS, 0, q), -12, "then no ordinary page can be allocated");
    is(page_alloc(PA_PROMISED, PAGE_T_GLOBAL, 0, q), 0, "a promised page can be allocated");
    fluid_promise_used(1);
    is(fluid_promised_unused(), limit - 1, "the promise is used");
    is(page_alloc(0, PAGE_T_PROCESS, 0, q + 1), -12, "and ordinary pages are still refused");
    fluid_promise_unused(1);
    page_free(q[0]);
    fluid_promise_end(limit);
    is(fluid_promised_unused(), 0, "the promise is taken back");

    while (page_alloc(0, PAGE_T_PROCESS, 0, &p[n]) == 0)
        n++;
    is(n, limit, "ordinary pages can be allocated exactly up to the limit");
    is(fluid_promise(1), -12, "nothing can be promised");
    is(page_alloc_bulk(0, PAGE_T_PROCESS, 0, q, 2), -12, "two pages at once are refused");
    is(page_alloc_contig(1, 1, 0, PAGE_T_SYSTEM, 0, q), -12, "a stretch is refused");
    page_free(p[--n]);
    is(page_alloc_bulk(0, PAGE_T_PROCESS, 0, q, 2), -12,
       "a bulk allocation gets all of its pages or none");
    is(page_alloc(0, PAGE_T_PROCESS, 0, &p[n]), 0, "the page that was freed can be allocated");
    n++;

    uint64_t k = 0;
    static pfn_t reserve[NPFNS];

    host_starved = 5;
    while (page_alloc(0, PAGE_T_PROCESS, 0, &reserve[k]) == 0)
        k++;
    is(k, 5, "a call that starves gets so many of the last pages");
    is(host_starved, 0, "once");
    host_starved = fluid_minimum();
    while (page_alloc(0, PAGE_T_PROCESS, 0, &reserve[k]) == 0)
        k++;
    host_starved = 0;
    is(k, fluid_minimum() / 4, "all such calls get a quarter of the minimum");
    is(page_alloc(0, PAGE_T_PROCESS, 0, &reserve[k]), -12, "and nobody else");
    page_free_bulk(reserve, k);

    k = 0;
    while (page_alloc(PA_KERNEL, PAGE_T_PT, 0, &reserve[k]) == 0)
        k++;
    is(k, fluid_minimum() - fluid_minimum() / 4, "the kernel gets three quarters of the minimum");
    uint64_t rest = free_pages();

    is(rest, fluid_minimum() / 4, "the remaining pages can be allocated");
    for (uint64_t i = 0; i < rest; i++)
        if (page_alloc(PA_PROMISED, PAGE_T_GLOBAL, 0, &reserve[k++]))
            break;
    is(free_pages(), 0, "promised allocations find the last page, wherever it is cached");
    page_free_bulk(reserve, k);
    page_free_bulk(p, n);
    is(fluid_count() - fluid_minimum(), limit, "the counts are as before");
}

/* ---- stretches and chunks ---- */

static void test_contig(void)
{
    uint64_t before = free_pages();
    pfn_t a, b, c;

    is(page_alloc_contig(512, 512, 0, PAGE_T_SYSTEM, 0, &a), 0, "512 pages");
    is(a.n % 512, 0, "aligned to 512");
    is(page_alloc_contig(700, 512, PA_ZERO, PAGE_T_SYSTEM, 0, &b), 0, "700 pages");
    is(b.n % 512, 0, "aligned to 512");
    is(page_alloc_contig(before, 1, 0, PAGE_T_SYSTEM, 0, &c), -12,
       "a stretch larger than memory is refused");
    is(page_alloc_contig(1, 1 << 26, 0, PAGE_T_SYSTEM, 0, &c), -12,
       "an alignment that no page has is refused");
    page_free_contig(b, 700);
    page_free_contig(a, 512);
    is(free_pages(), before, "all pages are free again");

    page_alloc(0, PAGE_T_SYSTEM, 0, &a);
    page_set_bad(a);
    page_ref(a);
    ok(!page_unref(a), "dropping a reference that is not the last frees nothing");
    ok(page_unref(a), "dropping the last reference frees the page");
    is(page_of(a)->state, PAGE_BAD, "a bad page goes to the bad list");
    is(free_pages(), before - 1, "and is not allocated again");
}

/* A page in use can be on a list of its owner's: its links and counts are independent. */
static void test_links(void)
{
    pfn_t a;

    if (page_alloc(PA_ZERO, PAGE_T_OBJECT, 0, &a))
        bail_out("no page");
    page_ref(a);
    __atomic_fetch_add(&page_of(a)->share, 5, __ATOMIC_RELAXED);
    page_of(a)->flink = 0x7FFFFFF;
    ok(page_of(a)->refcnt == 2 && page_of(a)->share == 5, "the links leave the counts alone");
    ok(!page_unref(a) && page_of(a)->flink == 0x7FFFFFF, "the counts leave the links alone");
    page_of(a)->share = 0;
    ok(page_unref(a) && page_of(a)->flink != 0x7FFFFFF, "a free page is on the allocator's list");
}

static void boot_small(void)
{
    page_boot_add_range(pfn_of(9000), 4000); /* holes, out of order */
    page_boot_add_range(pfn_of(15), 385);
    page_boot_add_range(pfn_of(600), 8000);
    pfn_t b = page_boot_alloc(3);
    page_boot_done();

    ok(b.n == 15, "pages before the database come from the low end");
    is(entries_ready(NPFNS), 0, "no chunk is initialised at boot");
    is(free_pages(), 12385 - 3 - 51 - 1, "all RAM is free but those, the database and its bitmap");
    ok(!page_is_ram(pfn_of(500)) && page_is_ram(pfn_of(600)) && !page_is_ram(pfn_of(8999)),
       "holes are not RAM");

    pfn_t p;

    page_alloc(0, PAGE_T_SYSTEM, 0, &p);
    is(p.n, 18, "the first page is the lowest");
    is(entries_ready(NPFNS), 1, "allocating it initialises one chunk");
    page_free(p);
    page_alloc_contig(1024, 512, 0, PAGE_T_SYSTEM, 0, &p);
    is(entries_ready(NPFNS), 1 + 1024 / CHUNK_PAGES, "1024 aligned pages initialise their chunks");
    page_free_contig(p, 1024);
    page_reserve(2048, 512, 0, &p);
    is(entries_ready(NPFNS), 1 + 1024 / CHUNK_PAGES, "a reservation initialises none");
    ok(!page_entry_valid(p), "the entries of a reservation are left alone");
    page_reserve_entries(p, 2048);
    is(page_of(pfn_add(p, 2047))->state, PAGE_RESERVED, "until it is used");
    page_unreserve(p, 2048);
    is(page_of(pfn_add(p, 2047))->state, PAGE_UNUSED, "and then it is a range again");
    ok(sums_up(), "the counts sum up");
}

/* ---- domains ---- */

static uint64_t rad_free(unsigned rad)
{
    struct page_stats s;
    uint64_t first, end;

    page_rad_stats(rad, &s, &first, &end);
    return s.free;
}

/* With a hint, a domain's pages are all used before those of another domain; a page that is freed
   on a CPU of another domain goes back to its own. */
static void test_domains(void)
{
    static pfn_t p[NPFNS];
    uint64_t before[RAD_MAX], foreign = 0, late = 0, back = 0;

    for (unsigned i = 0; i < rad_count; i++)
        before[i] = rad_free(i);
    for (unsigned i = 0; i < rad_count; i++) {
        uint64_t n = 0;

        host_cpu_enter((i + 1) % MAX_CPUS, NULL); /* a CPU of another domain */
        while (n < before[i] && page_alloc(n % 2 ? PA_ZERO : 0, PAGE_T_PROCESS, i, &p[n]) == 0)
            foreign += page_rad(p[n++]) != i;
        if (page_alloc(0, PAGE_T_PROCESS, i, &p[n]) == 0)
            late += page_rad(p[n++]) == i;
        page_free_bulk(p, n / 2);
        for (uint64_t k = n / 2; k < n; k++)
            page_free(p[k]);
    }
    for (unsigned i = 0; i < rad_count; i++)
        back += rad_free(i) == before[i];
    is(foreign, 0, "a domain gives its own pages as long as it has any");
    is(late, 0, "then those of another domain are used");
    is(back, rad_count, "each freed page goes back to its own domain");
    host_cpu_enter(rad_count - 1, NULL);
    page_alloc(0, PAGE_T_PROCESS, RAD_ANY, p);
    is(page_rad(p[0]), rad_count - 1, "without a hint the CPU's domain is used");
    page_free(p[0]);
    is(rad_cpus(0), rad_count == 1 ? 0xF : 0x9, "CPUs are assigned to the domains in turn");
    host_cpu_enter(0, NULL);
}

/* ---- threads ---- */

#define SLOTS 64
static uint64_t slots[SLOTS]; /* atomic: PFNs that threads pass to each other */
static uint64_t broken_pages; /* atomic */

static void *passer(void *arg)
{
    uint64_t s = (uint64_t)arg * 7919 + 1;

    host_cpu_enter((unsigned)((uint64_t)arg % MAX_CPUS), NULL);
    for (unsigned i = 0; i < 60000; i++) {
        pfn_t p;

        s = s * 6364136223846793005u + 1442695040888963407u;
        if ((s >> 60) == 0)
            host_cpu_enter((unsigned)(s >> 40) % MAX_CPUS, NULL); /* moved to another CPU */
        if ((s >> 61) == 1)                                       /* an idle CPU */
            page_zero_idle(1, 64);
        if (page_alloc((s >> 45) & 1 ? PA_ZERO : 0, PAGE_T_PROCESS, (unsigned)(s >> 50) % 4, &p) ==
            0) {
            if (((s >> 45) & 1) && (words(p)[0] || words(p)[1] || words(p)[1023]))
                __atomic_fetch_add(&broken_pages, 1, __ATOMIC_RELAXED);
            words(p)[1023] = s;
            words(p)[0] = p.n; /* each owner writes, which shows a page with two owners */
            words(p)[1] = s;
            p.n = __atomic_exchange_n(&slots[(s >> 33) % SLOTS], p.n, __ATOMIC_ACQ_REL);
            if (p.n == 0)
                continue;
        } else
            p.n = __atomic_exchange_n(&slots[(s >> 33) % SLOTS], 0, __ATOMIC_ACQ_REL);
        if (p.n == 0)
            continue;
        if (words(p)[0] != p.n)
            __atomic_fetch_add(&broken_pages, 1, __ATOMIC_RELAXED);
        words(p)[0] = 0;
        page_free(p);
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t t[6];
    uint64_t before = free_pages();

    for (uint64_t i = 0; i < 6; i++)
        pthread_create(&t[i], NULL, passer, (void *)i);
    for (unsigned i = 0; i < 6; i++)
        pthread_join(t[i], NULL);
    host_cpu_enter(0, NULL);
    for (unsigned i = 0; i < SLOTS; i++)
        if (slots[i])
            page_free(pfn_of(slots[i]));
    is(broken_pages, 0, "six threads that pass pages to each other never share one");
    is(free_pages(), before, "no page is lost");
    is(fluid_count(), before, "and the fluid count agrees");
}

/* ---- a large machine ---- */

static void machine(unsigned rads)
{
    rad_count = rads;
    boot_small();
    test_contig();
    test_links();
    test_random();
    test_limits();
    test_domains();
    test_threads();
    ok(sums_up(), "the counts sum up at the end");
}

int main(int argc, char **argv)
{
    /* Each machine runs in a child process, which continues the numbering of the checks. */
    int *shared = mmap(NULL, 2 * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0);

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 0);
    diag("seed %#lx", seed);
    for (unsigned rads = 1; rads <= 3; rads += 2) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0) {
            machine(rads);
            shared[0] = tap_count_;
            shared[1] = tap_failures_;
            _exit(0);
        }
        waitpid(pid, &status, 0);
        tap_count_ = shared[0];
        tap_failures_ = shared[1];
        ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the machine with %u domains", rads);
    }
    return tap_done();
}
