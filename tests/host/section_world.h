/*
 * Shared by the tests of sections: a small machine with a registry, a processor that reads page
 * tables as the hardware does and calls aspace_fault() for faults, and shorthand for the services.
 */
#ifndef TESTS_HOST_SECTION_WORLD_H
#define TESTS_HOST_SECTION_WORLD_H

#include "mm/object/pager.h"
#include "mm/pt/pt_system.h"
#include "mm/section/section_map.h"

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
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pt/pt.h"
#include "mm/section/section_gsd.h"
#include "mm/section/section_pt.h"
#include "mm/section/shpt.h"
#include "mm/space/region.h"
#include "sysman/params.h"
#include "userland/lib/include/tap.h"

#define MIB           (1UL << 20)
#define PAGES_PER_MIB (MIB / PAGE_SIZE)
#define GIB           (1UL << 30)
#define PAGES_PER_GIB (GIB / PAGE_SIZE)
#define SMALL_RAM     (2 * PAGES_PER_GIB)
#define WORLD         static __attribute__((unused))

static struct thread threads[MAX_CPUS];

/* ---- functions of other parts of the kernel that the sources call ---- */

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

/* The registry: one descriptor of each kind, found by name. */
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
    /* Two whole level-2 pages and a rest. Marked as zeroed, to avoid zeroing 16 GiB. */
    {.name = "BLOCKS",
     .flags = RMD_ALLOC | RMD_ZEROED | RMD_PAGE_TABLES | RMD_SYSGBL,
     .npages = 16 * PAGES_PER_GIB + 24 * PAGES_PER_MIB},
};

/* Extents of 16, 8 and 4 MiB, or of 16 and 12, not adjacent and at descending addresses. */
WORLD void extents_boot(struct rmd *r)
{
    static const uint64_t three[] = {16, 8, 4}, two[] = {16, 12};
    const uint64_t *mib = r->npt_pages ? three : two;
    pfn_t gap;

    r->nextents = r->npt_pages ? ARRAY_SIZE(three) : ARRAY_SIZE(two);
    r->extents = calloc(r->nextents, sizeof(*r->extents));
    for (unsigned i = 0; i < r->nextents; i++) {
        struct rmd_extent *e = &r->extents[i];

        e->npages = mib[i] * PAGES_PER_MIB;
        if (page_alloc_contig(e->npages, 512, 0, PAGE_T_GLOBAL, 0, &e->first) != 0 ||
            page_alloc_contig(1, 1, 0, PAGE_T_SYSTEM, 0, &gap) != 0)
            abort();
    }
    r->first = r->extents[0].first;
}

WORLD void registry_boot(bool big)
{
    for (unsigned i = 0; i < ARRAY_SIZE(rmds); i++) {
        struct rmd *r = &rmds[i];

        if (strcmp(r->name, "BLOCKS") == 0 && !big)
            continue;
        /* One reservation includes level-2 pages; those of the others are promised. */
        if (r->flags & RMD_PAGE_TABLES)
            r->npt_pages = shpt_l3_pages(r->npages) +
                           (r->npages > PAGES_PER_GIB ? shpt_l2_pages(r->npages) : 0);
        if (r->flags & RMD_ALLOC) {
            if (strncmp(r->name, "PIECES", 6) == 0)
                extents_boot(r);
            else if (page_alloc_contig(r->npages, 512, 0, PAGE_T_GLOBAL, 0, &r->first) != 0)
                abort();
            if ((r->npt_pages && page_alloc_contig(r->npt_pages, r->npt_pages >= 512 ? 512 : 8, 0,
                                                   PAGE_T_SHPT, 0, &r->pt_first) != 0))
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

WORLD pte_t *hardware_walk(struct aspace *as, vaddr_t va)
{
    pte_t *p = (pte_t *)kseg_page(as->pt.root) + pte_l1_index(va);

    for (unsigned level = 1; level < 3; level++) {
        pte_t upper = __atomic_load_n(p, __ATOMIC_ACQUIRE);

        if (!pte_valid(upper) || !(upper & PTE_KRE))
            return NULL;
        p = (pte_t *)kseg_page(pte_pfn(upper)) + (level == 1 ? pte_l2_index(va) : pte_l3_index(va));
    }
    return p;
}

/* Access the page at va, with as many faults as that takes. Returns it; NULL: the process would get
   a signal. */
WORLD uint64_t *touch(struct aspace *as, vaddr_t va, bool write)
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

WORLD struct section_request request(const char *name, uint64_t npages, uint32_t flags)
{
    struct section_request r = {.npages = npages, .flags = flags};

    r.name.name = name;
    r.name.length = (uint32_t)strlen(name);
    r.name.sysgbl = true;
    r.creds = (struct section_creds){1, 1, true, false};
    r.flags |= SEC$M_SYSGBL;
    return r;
}

WORLD int create(const char *name, uint64_t npages, uint32_t flags)
{
    struct section_request r = request(name, npages, flags | SEC$M_PERM);
    struct section *s;
    int status = section_create(&r, false, true, &s);

    if (status & 1)
        section_drop(s);
    return status;
}

WORLD int delete(const char *name)
{
    struct section_request r = request(name, 0, 0);

    return section_mark_delete(&r);
}

WORLD int map(struct aspace *as, const char *name, struct section_map_request m, vaddr_t *va,
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

WORLD int map_whole(struct aspace *as, const char *name, uint64_t region, vaddr_t *va)
{
    uint64_t length;

    return map(
        as, name,
        (struct section_map_request){.region_id = region, .flags = SEC$M_EXPREG, .write = true}, va,
        &length);
}

WORLD uint64_t region_new(struct aspace *as, uint64_t length, uint32_t flags)
{
    struct region_view v;

    return region_create(as, length, 0, flags, 0, true, &v) == SS$_NORMAL ? v.id : 0;
}

/* The section of that name, without taking a share: no other thread can delete it. */
WORLD struct section *peek(const char *name)
{
    struct section_request r = request(name, 0, 0);
    struct section *s;

    if (section_find(&r, false, &s) != SS$_NORMAL)
        return NULL;
    section_drop(s);
    return s;
}

WORLD uint64_t shares(const struct section *s) { return s->life & ~SECTION_PERMANENT; }

struct balance {
    uint64_t free, promised;
};

WORLD struct balance balance(void)
{
    struct page_stats s;

    section_reap();
    page_stats(&s);
    return (struct balance){s.free, fluid_promised_unused()};
}

WORLD bool balanced(struct balance before)
{
    struct balance after = balance();

    if (after.free != before.free || after.promised != before.promised)
        diag("free %lu -> %lu, promised %lu -> %lu", before.free, after.free, before.promised,
             after.promised);
    return after.free == before.free && after.promised == before.promised;
}

/* ---- random numbers, and the start ---- */

static uint64_t seed __attribute__((unused)) = 20261121;

WORLD uint64_t rnd(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

/* Boot with ram_pages of memory, and if `big` also with the registry entry BLOCKS. */
WORLD void world_boot(uint64_t ram_pages, bool big)
{
    host_cpu_enter(0, &threads[0].hw);
    page_boot_add_range(pfn_of(16), ram_pages);
    page_boot_done();
    fluid_set_minimum_boot(1000);
    pool_boot();
    pt_system_boot();
    pager_boot();
    section_boot();
    registry_boot(big);
}

#endif
