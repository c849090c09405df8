// SOURCES: kernel/quota/account.c kernel/base/treap.c
// SOURCES: mm/section/reserved.c mm/pool/pool_nonpaged.c mm/pool/pool_var.c mm/phys/page.c
// SOURCES: mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: mm/phys/page_range.c mm/phys/fluid.c
// SOURCES: mm/pool/pool_check.c mm/phys/page_boot.c kernel/base/string_extra.c sysman/params.c
/*
 * Reservations are used, returned and freed in random order, on a machine with memory holes and
 * three domains, and compared with a plain model: after every step the fluid count, the promises
 * and the reserved pages of all domains are those of the model, and no page belongs to two
 * sections. Sections are simulated: each writes a mark of its own into its pages.
 */
#include "mm/section/reserved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/abi/ssdef.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page_private.h"
#include "mm/pool/pool.h"
#include "mm/section/prezero.h"
#include "sysman/config.h"
#include "sysman/params.h"
#include "userland/lib/include/tap.h"

#define MB    128UL /* pages */
#define STEPS 60000

void printk(const char *fmt, ...) { (void)fmt; }
void prezero_boot(pfn_t first, uint64_t npages)
{
    (void)first;
    (void)npages;
}

static struct registry registry;

/* Two of them share a name in different scopes. */
static struct model {
    const char *name;
    uint64_t mb;
    uint32_t flags, group;
    bool exists, freed; /* freed: the part that is not in use has been freed */
    uint64_t data, tables, used, pt_used;
    struct rmd *rmd; /* while it is in use */
} models[] = {
    {.name = "WIDE", .mb = 150, .flags = RMD_ALLOC | RMD_SYSGBL | RMD_PAGE_TABLES, .group = 0},
    {.name = "SAME", .mb = 40, .flags = RMD_ALLOC | RMD_SYSGBL | RMD_PAGE_TABLES, .group = 0},
    {.name = "SAME", .mb = 24, .flags = RMD_ALLOC | RMD_GROUP, .group = 10},
    {.name = "SAME", .mb = 16, .flags = RMD_GROUP | RMD_PAGE_TABLES, .group = 11},
    {.name = "PROMISE", .mb = 30, .flags = RMD_SYSGBL | RMD_PAGE_TABLES, .group = 0},
    {.name = "PLAIN", .mb = 20, .flags = RMD_SYSGBL, .group = 0},
    {.name = "SMALL", .mb = 1, .flags = RMD_ALLOC | RMD_SYSGBL | RMD_PAGE_TABLES, .group = 0},
};
#define N ARRAY_SIZE(models)

static uint64_t seed = 20261121;

static uint64_t rnd(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static bool is_alloc(const struct model *m) { return m->flags & RMD_ALLOC; }
static bool sysgbl(const struct model *m) { return m->flags & RMD_SYSGBL; }

/* Write or check a mark, of section and page number, in every 97th page of a section in use. */
static void mark(const struct model *m, bool check, uint64_t *wrong)
{
    uint64_t id = (uint64_t)(m - models) + 1, run;

    if (!is_alloc(m))
        return;
    for (uint64_t page = 0; page < m->used; page += 97) {
        uint64_t *p = kseg_page(rmd_extent_frame(m->rmd->extents, page, &run));

        if (check)
            *wrong += p[3] != (id << 32 | page);
        else
            p[3] = id << 32 | page;
    }
}

static const char *use(struct model *m)
{
    uint64_t npages = rnd(m->mb * MB + 10);
    int status = mmg_use_res_mem(m->name, sysgbl(m), m->group, npages, &m->rmd);

    if (!m->exists || m->freed)
        return status == SS$_NORESERVEDMEM ? NULL : "a freed reservation was used";
    if (m->used)
        return status == SS$_RESERVEDMEMUSED ? NULL : "used twice";
    if (npages == 0 || npages > m->data)
        return status == SS$_NORMAL ? "a size that does not fit was taken" : NULL;
    if (status != SS$_NORMAL)
        return "a free reservation was refused";
    m->used = npages;
    m->pt_used = m->rmd->pt_used;
    if (m->pt_used > m->tables)
        return "more page tables in use than there are";
    mark(m, false, NULL);
    return NULL;
}

static const char *give_back(struct model *m)
{
    uint64_t wrong = 0;

    if (!m->used)
        return NULL;
    mark(m, true, &wrong);
    mmg_return_res_mem(m->rmd);
    m->used = m->pt_used = 0;
    if (m->freed)
        m->exists = false;
    return wrong ? "another section wrote into it" : NULL;
}

static const char *release(struct model *m)
{
    uint64_t freed, rest = m->freed ? 0 : m->data + m->tables - m->used - m->pt_used;
    int status = mmg_free_res_mem(m->name, sysgbl(m), m->group, &freed);

    if (!m->exists)
        return status == SS$_NORESERVEDMEM ? NULL : "freed though it is gone";
    if (status == SS$_RESERVEDMEMUSED)
        return m->used && (m->freed || m->used == m->data) ? NULL
                                                           : "refused though there is a rest";
    if (status != SS$_NORMAL || freed != rest)
        return "not all of the rest was freed";
    m->freed = true;
    m->data = m->used;
    m->tables = m->pt_used;
    m->exists = m->used > 0;
    return NULL;
}

static uint64_t base; /* fluid pages without any reservation, after the pool has grown */

static const struct rmd *seen[N];
static unsigned nseen, nsame;

static void see(const struct rmd *r, void *arg)
{
    (void)arg;
    seen[nseen++] = r;
}

static void same(const struct rmd *r, void *arg) { nsame += r == seen[*(unsigned *)arg]; }

/* Are the reservations found by their numbers? */
static bool numbered(void)
{
    nseen = nsame = 0;
    rmd_for_each(see, NULL);
    for (unsigned i = 0; i < nseen; i++)
        if (rmd_nth(i, same, &i) != SS$_NORMAL)
            return false;
    return nsame == nseen && rmd_nth(nseen, same, NULL) == SS$_NONEXPR;
}

static const char *check(void)
{
    uint64_t reserved = 0, promised = 0, rads = 0, first, end;
    struct page_stats s;

    for (unsigned i = 0; i < N; i++)
        if (models[i].exists)
            *(is_alloc(&models[i]) ? &reserved : &promised) += models[i].data + models[i].tables;
    if (!numbered())
        return "a reservation is not found by its number";
    page_stats(&s);
    for (unsigned i = 0; i < rad_count; i++) {
        struct page_stats r;

        page_rad_stats(i, &r, &first, &end);
        rads += r.reserved;
    }
    if (s.reserved != reserved || rads != reserved)
        return "pages are lost from reservations, or doubled";
    if (fluid_promised_unused() != promised)
        return "promises are lost";
    return fluid_count() == base - reserved - promised ? NULL : "the fluid count is wrong";
}

/* The life of one machine, at whose end everything is freed. Returns an error, or NULL. */
static const char *walk(void)
{
    const char *bad = check();

    for (unsigned step = 0; step < 400 && !bad; step++) {
        struct model *m = &models[rnd(N)];

        switch (rnd(8)) {
        case 0:
            bad = rnd(12) ? NULL : release(m);
            break;
        case 1:
        case 2:
        case 3:
        case 4:
            bad = use(m);
            break;
        default:
            bad = give_back(m);
        }
        if (!bad)
            bad = check();
    }
    for (unsigned i = 0; i < N && !bad; i++) {
        bad = give_back(&models[i]);
        if (!bad && models[i].exists)
            bad = release(&models[i]);
    }
    return bad ? bad : check();
}

static void make_all(void)
{
    reserved_boot(&registry);
    for (unsigned i = 0; i < N; i++) {
        struct model *m = &models[i];

        m->data = m->mb * MB;
        m->tables = 0;
        m->exists = true;
        m->freed = false;
        m->used = m->pt_used = 0;
    }
}

static void learn(const struct rmd *r, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < N; i++)
        if (strcmp(r->name, models[i].name) == 0 && r->group == models[i].group &&
            r->npages == models[i].data)
            models[i].tables = r->npt_pages;
}

int main(void)
{
    const char *bad = NULL;
    uint64_t first = 0;
    unsigned lives;

    for (unsigned i = 0; i < N; i++) {
        struct registry_entry *e = &registry.entries[registry.count++];

        strcpy(e->name, models[i].name);
        e->megabytes = models[i].mb;
        e->flags = models[i].flags;
        e->group = models[i].group;
        e->rad = CONFIG_RAD_NONE;
    }
    sysparam_set("RADS", 3, false);
    sysparam_set("MEMORY_HOLES", 4, false);
    sysparam_set("MEMORY_HOLE_MB", 11, false);
    page_boot_add_range(pfn_of(15), 512 * MB);
    page_boot_parameters();
    page_boot_done();
    pool_boot();
    /* The registry is set up again for each life. Freed pages have become ranges again, as at
       boot. */
    for (lives = 0; lives < STEPS / 400 && !bad; lives++) {
        make_all();
        rmd_for_each(learn, NULL);
        base = fluid_count();
        for (unsigned i = 0; i < N; i++)
            base += models[i].data + models[i].tables;
        if (lives == 0)
            first = base;
        bad = base != first ? "pages were lost" : walk();
    }
    ok(!bad, "%u machines with %zu reservations agree with the model%s%s", lives, N,
       bad ? ": " : "", bad ? bad : "");
    is(fluid_count(), base, "and every page is fluid in the end");
    return tap_done();
}
