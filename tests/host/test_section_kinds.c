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
// SOURCES: mm/section/section_pagfil.c mm/section/section_pfn.c mm/section/window.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c
/*
 * Page-file-backed and page-frame sections: which frames may be mapped, faults on several
 * processors at once, shortage of memory, random mappings compared with a model; and the windows of
 * system space in which drivers map their frames.
 */
#include "section_world.h"

#include "arch/alpha/hw/io.h"
#include "mm/phys/page_private.h"
#include "mm/section/window.h"

#define ASIDE_FIRST (SMALL_RAM + 4096) /* memory above PHYSICAL_MEMORY */
#define ASIDE_PAGES 256
#define DRIVER      UINT64_C(0x200000) /* frames that a driver allows to be mapped */
#define DRIVER_N    2048
#define BUS_MEMORY  (UINT64_C(1) << 30) /* first frame of PCI memory */
#define BUS_PORTS   (BUS_MEMORY + (IO_PCI_PORTS >> PAGE_SHIFT))

static struct rmd driver_rmd = {.name = "DRIVER", .flags = RMD_ALLOC | RMD_NOGLOBAL};

struct rmd *mmg_borrow_res_mem(pfn_t first, uint64_t npages)
{
    if (first.n < DRIVER || first.n - DRIVER >= DRIVER_N || npages > DRIVER_N - (first.n - DRIVER))
        return NULL;
    driver_rmd.borrowers++;
    return &driver_rmd;
}

void mmg_give_back_res_mem(struct rmd *r) { r->borrowers--; }

static int create_kind(const char *name, uint32_t kind, uint64_t first, uint64_t npages,
                       uint32_t flags)
{
    struct section_request r = request(name, npages, flags);
    struct section *s;
    int status;

    r.kinds = kind;
    r.first = pfn_of(first);
    status = section_create(&r, false, true, &s);
    if (status & 1)
        section_drop(s);
    return status;
}

static int create_frames(const char *name, uint64_t first, uint64_t npages)
{
    return create_kind(name, SEC$M_PFNMAP, first, npages, SEC$M_PERM | SEC$M_WRT);
}

static int create_pagfil(const char *name, uint64_t npages)
{
    return create_kind(name, SEC$M_PAGFIL, 0, npages, SEC$M_PERM);
}

/* ---- which frames may be mapped ---- */

static bool allowed(uint64_t first, uint64_t npages)
{
    int status = create_frames("TRY", first, npages);

    if (status == SS$_CREATED)
        delete ("TRY");
    return status == SS$_CREATED ? true : status == SS$_INVPFN ? false : (abort(), false);
}

static void frames_allowed(void)
{
    const uint64_t ports = (UINT64_C(1) << 25) >> PAGE_SHIFT, memory = UINT64_C(1) << 19;
    struct balance before = balance();

    ok(!allowed(16, 1) && !allowed(5000, 3), "no frame that the kernel manages");
    ok(!allowed(SMALL_RAM + 16, 1), "none that is not there");
    ok(allowed(ASIDE_FIRST, 64), "memory that PHYSICAL_MEMORY leaves aside");
    ok(!allowed(ASIDE_FIRST - 1, 2), "but nothing before it");
    ok(!allowed(ASIDE_FIRST, ASIDE_PAGES + 1) && !allowed(ASIDE_FIRST, UINT64_C(1) << 62),
       "or behind it");
    ok(allowed(BUS_MEMORY, memory) && !allowed(BUS_MEMORY, memory + 1) &&
           !allowed(BUS_MEMORY - 1, 2),
       "PCI memory, 4 GiB");
    ok(allowed(BUS_PORTS, ports) && allowed(BUS_PORTS + ports - 1, 1) &&
           !allowed(BUS_PORTS + ports, 1) && !allowed(BUS_PORTS - 1, 2),
       "PCI I/O, 32 MiB");
    ok(!allowed(BUS_MEMORY + (IO_CCHIP_CSR >> PAGE_SHIFT), 1) &&
           !allowed(BUS_MEMORY + (IO_PCHIP_CSR >> PAGE_SHIFT), 1) &&
           !allowed(BUS_MEMORY + (IO_PCI_CONFIG >> PAGE_SHIFT), 1),
       "not the chipset's registers, nor configuration space");
    is(create_frames("F", DRIVER + 5, 100), SS$_CREATED, "frames that a driver shows");
    is(driver_rmd.borrowers, 1, "which it cannot return meanwhile");
    delete ("F");
    is(driver_rmd.borrowers, 0, "until the section is gone");
    ok(!allowed(DRIVER + DRIVER_N - 1, 2), "and no more than it shows");
    ok(balanced(before), "nothing is lost");
}

/* Check the frame and hint of every PTE of a mapping. */
static void frames_mapped(void)
{
    static const struct {
        uint64_t first, npages, offset, hints[4];
        const char *what;
    } cases[] = {
        {DRIVER, 1024, 0, {0, 0, 0, 1024}, "aligned: all hints 512 pages"},
        {DRIVER + 512, 1000, 0, {0, 40, 448, 512}, "as far as they go"},
        {DRIVER + 1, 1023, 0, {1023, 0, 0, 0}, "off by one: none"},
        {DRIVER, 1024, 512, {0, 0, 0, 512}, "from an aligned page on"},
        {DRIVER, 1024, 8, {0, 56, 448, 512}, "from another, as the address allows"},
    };
    struct balance before = balance();

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        struct aspace *as = aspace_create(0);
        uint64_t region = region_new(as, 64 * MIB, 0), l1, pages, length, wrong = 0;
        struct gh_count l3, l2;
        vaddr_t va;
        struct section_map_request m = {.region_id = region,
                                        .offset = cases[i].offset * PAGE_SIZE,
                                        .flags = SEC$M_EXPREG,
                                        .write = true};

        if (create_frames("F", cases[i].first, cases[i].npages) != SS$_CREATED ||
            map(as, "F", m, &va, &length) != SS$_NORMAL)
            abort();
        if (cases[i].offset ==
            8) /* lowest free address, aligned to 4 MiB like page 0 of the frames */
            wrong += va % (4 * MIB) != 0;
        for (uint64_t n = 0; n < length / PAGE_SIZE; n++) {
            pte_t *p = hardware_walk(as, va + n * PAGE_SIZE);

            wrong += !p || pte_pfn(*p).n != cases[i].first + cases[i].offset + n;
        }
        section_walk(peek("F"), as, &l3, &l2, &l1, &pages);
        if (cases[i].offset == 8)
            ok(!wrong && l3.errors == 0, "%s", cases[i].what);
        else
            ok(!wrong && l3.errors == 0 && !memcmp(l3.ptes, cases[i].hints, sizeof(l3.ptes)), "%s",
               cases[i].what);
        delete ("F");
        is(driver_rmd.borrowers, 1, "a mapping keeps a deleted section");
        aspace_unref(as);
        section_reap();
        is(driver_rmd.borrowers, 0, "and it goes with it");
    }
    ok(balanced(before), "nothing is lost");
}

/* ---- page-file-backed sections ---- */

static void out_of_memory(void)
{
    struct balance before = balance();
    struct aspace *as = aspace_create(0);
    uint64_t region = region_new(as, 64 * MIB, 0), n = 0;
    static pfn_t taken[SMALL_RAM];
    uint64_t *p;
    vaddr_t va;

    is(create_pagfil("P", 8 * PAGES_PER_MIB), SS$_CREATED, "a page-file-backed section");
    is(fluid_promised_unused(), before.promised, "takes no promise of memory");
    is(map_whole(as, "P", region, &va), SS$_NORMAL, "mapped");
    p = touch(as, va, true);
    *p = 1;
    while (page_alloc(0, PAGE_T_SYSTEM, RAD_ANY, &taken[n]) == 0)
        n++;
    ok(touch(as, va + MIB, true) == NULL, "without memory a fault fails");
    ok(*touch(as, va, false) == 1, "pages that are present stay");
    page_free(taken[--n]);
    ok(touch(as, va + MIB, true) != NULL, "one page, and it is served");
    page_free_bulk(taken, n);
    delete ("P");
    aspace_unref(as);
    ok(balanced(before), "nothing is lost");
}

#define RACERS     4
#define RACE_PAGES 300

static struct racer {
    struct aspace *as;
    vaddr_t va;
} racers[RACERS];

static void *race(void *arg)
{
    struct racer *r = arg;
    unsigned cpu = (unsigned)(r - racers);

    host_cpu_enter(cpu, &threads[cpu].hw);
    for (uint64_t i = 0; i < RACE_PAGES; i++) {
        /* Each thread in its own order: the factor and the number of pages are coprime. */
        static const uint64_t factors[RACERS] = {7, 11, 13, 17};
        uint64_t page = (i * factors[cpu] + cpu) % RACE_PAGES;
        uint64_t *p = touch(r->as, r->va + page * PAGE_SIZE, true);

        if (!p)
            abort();
        __atomic_fetch_add(p, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void races(void)
{
    struct balance before = balance();
    pthread_t t[RACERS];
    uint64_t wrong = 0;
    struct aspace *as = aspace_create(0);
    vaddr_t va;

    create_pagfil("RACE", RACE_PAGES);
    for (unsigned i = 0; i < RACERS; i++) {
        racers[i].as = aspace_create(0);
        if (map_whole(racers[i].as, "RACE", region_new(racers[i].as, 16 * MIB, 0), &racers[i].va) !=
            SS$_NORMAL)
            abort();
    }
    for (unsigned i = 0; i < RACERS; i++)
        pthread_create(&t[i], NULL, race, &racers[i]);
    for (unsigned i = 0; i < RACERS; i++)
        pthread_join(t[i], NULL);
    is(section_valid_pages(peek("RACE")), RACE_PAGES, "four at once: each page came once");
    map_whole(as, "RACE", region_new(as, 16 * MIB, 0), &va);
    for (uint64_t n = 0; n < RACE_PAGES; n++)
        wrong += *touch(as, va + n * PAGE_SIZE, false) != RACERS;
    is(wrong, 0, "and all processes have the same page");
    aspace_unref(as);
    for (unsigned i = 0; i < RACERS; i++)
        aspace_unref(racers[i].as);
    delete ("RACE");
    ok(balanced(before), "nothing is lost");
}

/* ---- a random walk ---- */

#define PROCS     4
#define MAPS      6
#define MAX_PAGES 600

static struct model {
    const char *name;
    uint32_t kind;
    uint64_t npages, first, shares;
    bool named, listed;
    uint64_t value[MAX_PAGES];
} models[] = {
    {.name = "P1", .kind = SEC$M_PAGFIL, .npages = 600},
    {.name = "P2", .kind = SEC$M_PAGFIL, .npages = 17},
    {.name = "F1", .kind = SEC$M_PFNMAP, .npages = 600, .first = DRIVER + 512},
    {.name = "F2", .kind = SEC$M_PFNMAP, .npages = 40, .first = DRIVER + 3},
};

static struct walker {
    struct aspace *as;
    uint64_t region;
    struct {
        struct model *m; /* NULL: free */
        vaddr_t va;
        uint64_t offset, npages;
    } maps[MAPS];
} walkers[PROCS];

static uint64_t mapped, touched, cut;

static void model_drop(struct model *m)
{
    if (--m->shares == 0 && !m->named)
        m->listed = false;
}

static bool walk_create(struct model *m)
{
    int status;

    if (m->listed && !m->named)
        return true; /* two sections of one name: the model has room for one */
    status = create_kind(m->name, m->kind, m->first, m->npages,
                         SEC$M_PERM | (m->kind == SEC$M_PFNMAP ? SEC$M_WRT : 0));
    if (m->named)
        return status == SS$_DUPLNAM;
    m->named = m->listed = true;
    if (m->kind == SEC$M_PAGFIL)
        memset(m->value, 0, sizeof(m->value));
    return status == SS$_CREATED;
}

static bool walk_delete(struct model *m)
{
    int status = delete (m->name);

    if (!m->named)
        return status == SS$_NOSUCHSEC;
    m->named = false;
    m->listed = m->shares != 0;
    return status == SS$_NORMAL;
}

static bool walk_map(struct walker *w, struct model *m)
{
    struct section_map_request r = {.region_id = w->region, .flags = SEC$M_EXPREG, .write = true};
    uint64_t length;
    unsigned slot = 0;
    vaddr_t va;
    int status;

    while (slot < MAPS && w->maps[slot].m)
        slot++;
    if (slot == MAPS)
        return true;
    r.offset = rnd(m->npages) * PAGE_SIZE;
    r.length = rnd(m->npages - r.offset / PAGE_SIZE + 1) * PAGE_SIZE;
    status = map(w->as, m->name, r, &va, &length);
    if (!m->named)
        return status == SS$_NOSUCHSEC;
    if (status == SS$_REGISFULL)
        return true;
    w->maps[slot].m = m;
    w->maps[slot].va = va;
    w->maps[slot].offset = r.offset / PAGE_SIZE;
    w->maps[slot].npages = length / PAGE_SIZE;
    m->shares++;
    mapped++;
    return status == SS$_NORMAL &&
           length == (r.length ? r.length : m->npages * PAGE_SIZE - r.offset);
}

static bool walk_touch(struct walker *w)
{
    unsigned slot = (unsigned)rnd(MAPS);
    struct model *m = w->maps[slot].m;
    uint64_t n, *p;

    if (!m)
        return true;
    n = rnd(w->maps[slot].npages);
    p = touch(w->as, w->maps[slot].va + n * PAGE_SIZE, rnd(2) != 0);
    n += w->maps[slot].offset;
    if (!p || *p != m->value[n])
        return false;
    p = touch(w->as, w->maps[slot].va + (n - w->maps[slot].offset) * PAGE_SIZE, true);
    *p = m->value[n] = rnd(UINT64_MAX);
    touched++;
    return true;
}

/* Unmap a part of a mapping, which may leave two. */
static bool walk_unmap(struct walker *w)
{
    unsigned slot = (unsigned)rnd(MAPS), other = 0;
    struct model *m = w->maps[slot].m;
    uint64_t from, n, total;

    if (!m)
        return true;
    while (other < MAPS && w->maps[other].m)
        other++;
    total = w->maps[slot].npages;
    from = rnd(2) ? 0 : rnd(total);
    n = rnd(2) || other == MAPS ? total - from : 1 + rnd(total - from);
    if (region_delete_va(w->as, w->region, w->maps[slot].va + from * PAGE_SIZE, n * PAGE_SIZE) !=
        SS$_NORMAL)
        return false;
    if (from + n < total) {
        w->maps[other] = w->maps[slot];
        w->maps[other].va += (from + n) * PAGE_SIZE;
        w->maps[other].offset += from + n;
        w->maps[other].npages = total - from - n;
        cut++;
        m->shares++;
    }
    w->maps[slot].npages = from;
    if (from == 0) {
        w->maps[slot].m = NULL;
        model_drop(m);
    }
    return true;
}

static void walker_start(struct walker *w)
{
    memset(w, 0, sizeof(*w));
    w->as = aspace_create(0);
    w->region = region_new(w->as, 64 * MIB, rnd(2) ? VA$M_DESCEND : 0);
}

static void walker_end(struct walker *w)
{
    aspace_unref(w->as);
    for (unsigned i = 0; i < MAPS; i++)
        if (w->maps[i].m)
            model_drop(w->maps[i].m);
}

static bool walk_fork(void)
{
    struct walker *from = &walkers[rnd(PROCS)], *to = &walkers[rnd(PROCS)];

    if (from == to)
        return true;
    walker_end(to);
    *to = *from;
    to->as = aspace_fork(from->as);
    for (unsigned i = 0; i < MAPS; i++)
        if (to->maps[i].m)
            to->maps[i].m->shares++;
    return to->as != NULL;
}

static bool walk_verify(void)
{
    struct section *s;
    unsigned count = 0;

    for (uint64_t i = 0; (s = section_nth(i)) != NULL; i++) {
        struct gh_count l3, l2;
        struct model *m = models;
        uint64_t l1, pages;

        section_drop(s);
        while (m < models + ARRAY_SIZE(models) && strcmp(m->name, s->gsd->name) != 0)
            m++;
        section_walk(s, walkers[rnd(PROCS)].as, &l3, &l2, &l1, &pages);
        if (m == models + ARRAY_SIZE(models) || !m->listed || shares(s) != m->shares ||
            s->nmaps != m->shares || l3.errors || section_valid_pages(s) > m->npages)
            return false;
        count++;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(models); i++)
        count -= models[i].listed;
    return count == 0;
}

static void random_walk(unsigned steps)
{
    struct balance before = balance();
    unsigned step;

    for (unsigned i = 0; i < PROCS; i++)
        walker_start(&walkers[i]);
    for (unsigned i = 0; i < DRIVER_N; i++)
        page_zero(pfn_of(DRIVER + i));
    for (step = 0; step < steps; step++) {
        struct model *m = &models[rnd(ARRAY_SIZE(models))];
        struct walker *w = &walkers[rnd(PROCS)];
        bool good = true;

        switch (rnd(12)) {
        case 0:
            good = walk_create(m);
            break;
        case 1:
            good = rnd(3) ? true : walk_delete(m);
            break;
        case 2:
        case 3:
            good = walk_map(w, m);
            break;
        case 4:
            good = walk_unmap(w);
            break;
        case 5:
            good = rnd(4) ? true : walk_fork();
            break;
        case 6:
            if (rnd(16) == 0) {
                walker_end(w);
                walker_start(w);
            }
            break;
        default:
            good = walk_touch(w);
        }
        if (!good || !walk_verify())
            break;
    }
    is(step, steps, "random walk from seed 20261121");
    diag("%lu mappings, %lu cut in two, %lu touches", mapped, cut, touched);
    for (unsigned i = 0; i < PROCS; i++)
        walker_end(&walkers[i]);
    for (unsigned i = 0; i < ARRAY_SIZE(models); i++)
        if (models[i].named)
            walk_delete(&models[i]);
    ok(balanced(before) && driver_rmd.borrowers == 0, "no section is left");
}

/* ---- windows ---- */

/* Create a window of npages. NULL: no room. */
static struct window *make_window(uint64_t npages)
{
    struct window *w = NULL;

    return window_create(npages, &w) == 0 ? w : NULL;
}

static void windows(void)
{
    struct window *a = make_window(1000), *b = make_window(1), *c;
    struct gh_count g;
    bool good = true;

    ok(a && b && a->start % (4 * MIB) == 0 && b->start % (4 * MIB) == 0 &&
           b->start >= a->start + 1000 * PAGE_SIZE,
       "two windows, each at a multiple of 4 MiB");
    is(window_map(a, 0, pfn_of(DRIVER), 1000), 0, "frames mapped");
    is(window_map(b, 0, pfn_of(DRIVER + 7), 1), 0, "in both");
    window_count(a, &g);
    ok(g.ptes[3] == 512 && g.ptes[2] == 448 && g.ptes[1] == 40 && g.errors == 0, "with hints");
    for (uint64_t n = 0; n < 1000; n++)
        good = good && window_frame(a, n).n == DRIVER + n;
    ok(good && window_frame(b, 0).n == DRIVER + 7, "each page its frame");
    c = make_window(600);
    window_end(a);
    a = make_window(1000);
    ok(a && a->start < b->start && window_frame(a, 0).n == 0 && window_frame(a, 999).n == 0,
       "an address is used again, with nothing mapped");
    ok(!make_window(UINT64_C(1) << 20) && !make_window(UINT64_MAX) && !make_window(0),
       "there is a limit on windows");
    window_end(c);
    c = make_window((UINT64_C(1) << 20) - 1024 - 512);
    ok(c && !make_window(1), "which is exact to the page");
    window_end(a);
    window_end(b);
    window_end(c);
    c = make_window(UINT64_C(1) << 20);
    ok(c != NULL, "all addresses are free again");
    window_end(c);
}

int main(void)
{
    page_boot_add_range(pfn_of(ASIDE_FIRST), ASIDE_PAGES);
    page_boot_limit(ASIDE_FIRST);
    world_boot(SMALL_RAM, false);
    section_pagfil_boot();
    section_pfn_boot();
    frames_allowed();
    frames_mapped();
    out_of_memory();
    races();
    windows();
    random_walk(40000);
    return tap_done();
}
