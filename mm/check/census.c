/*
 * The census of pool blocks.
 *
 * Blocks in use are found by their boundary bits (mm/pool/pool_var.c), less the free ones; segments
 * and large blocks of nonpaged pool by the PFN database, as the self-check does it. An allocation
 * records nothing for this purpose, so the census costs nothing while the system runs. In return, a
 * leaked block is reported only by its size, its address, its first words, and the names of the
 * kinds of blocks that have this size, not by the code that allocated it. There is no lock: nothing
 * else runs meanwhile.
 */
#include "mm/check/census.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/bitops.h"
#include "kernel/base/format.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "mm/object/object_pages.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/page_check.h"
#include "mm/pool/pool.h"
#include "mm/section/reserved.h"
#include "mm/section/section_gsd.h"
#include "mm/section/section_map.h"
#include "mm/section/window.h"
#include "mm/space/aspace.h"
#include "mm/space/region.h"

#define LARGE      (CENSUS_SIZES - 1) /* index of the line that counts pages */
#define NAMES_TEXT 120u
#define LINES_MOST 16u

static const char *const pool_names[] = {"nonpaged pool", "paged pool"};

/* ---- counting ---- */

static void count_block(struct census *c, enum census_pool pool, uint64_t p, uint64_t size)
{
    unsigned line = census_line(size);

    c->blocks[pool][line] += census_weight(size);
    c->seen[pool][line] = (struct census_sample){p, size};
}

static void count_nonpaged(void *arg, uint64_t p, uint64_t size)
{
    count_block(arg, CENSUS_NONPAGED, p, size);
}

static void count_paged(void *arg, uint64_t p, uint64_t size)
{
    count_block(arg, CENSUS_PAGED, p, size);
}

/* Count the blocks of nonpaged pool in a stretch of RAM. Segments and large blocks are recognised
   by the entry of their first page. */
static void one_stretch(void *arg, uint64_t first, uint64_t npages)
{
    for (uint64_t n = first; n < first + npages; n++) {
        const struct page *p = &page_db[n];

        if (!page_entry_valid(pfn_of(n))) {
            n |= CHUNK_PAGES - 1;
            continue;
        }
        if (p->state != PAGE_ACTIVE || p->type != PAGE_T_SYSTEM)
            continue;
        if (p->owner == (uint64_t)kseg_page(pfn_of(n))) {
            npp_for_each_used((const struct pool_area *)p->owner, count_nonpaged, arg);
        } else if (!p->owner && p->offset) {
            count_nonpaged(arg, (uint64_t)kseg_page(pfn_of(n)), (uint64_t)p->offset * PAGE_SIZE);
            n += p->offset - 1;
        }
    }
}

void census_take(struct census *c)
{
    memset(c, 0, sizeof(*c));
    page_walk_ram(one_stretch, c);
    pgd_for_each_used(count_paged, c);
    census_explain_all(c);
}

/* ---- comparing ---- */

struct names { /* names of the kinds of one size, as "a, b" */
    enum census_pool pool;
    unsigned line;
    size_t n; /* characters so far */
    char text[NAMES_TEXT];
};

static void add_name(void *arg, const struct census_kind *kind)
{
    struct names *a = arg;

    if (kind->pool == a->pool && census_line(kind->nbytes) == a->line &&
        a->n + strlen(kind->name) + 3 <= sizeof(a->text))
        a->n += format(a->text + a->n, sizeof(a->text) - a->n, "%s%s", a->n ? ", " : "",
                       kind->name);
}

static void tell(enum census_pool pool, unsigned line, int64_t more,
                 const struct census_sample *seen, char *text, size_t nbytes)
{
    struct names names = {.pool = pool, .line = line};

    if (line < LARGE)
        census_for_each_kind(add_name, &names);
    if (line == LARGE)
        format(text, nbytes, "%ld pages of %s in large blocks", more, pool_names[pool]);
    else
        format(text, nbytes, "%ld block%s of %u bytes of %s%s%s%s", more, more == 1 ? "" : "s",
               (line + 1) * CENSUS_GRAIN, pool_names[pool], names.n ? " (as large: " : "",
               names.text, names.n ? ")" : "");
    printk("leak: %s\n", text);
    if (more > 0 && seen->address) {
        const uint64_t *q = (const uint64_t *)seen->address;

        printk("leak: one of that size, %lu bytes at %lx: %lx %lx %lx %lx\n", seen->size,
               seen->address, q[0], q[1], seen->size > 16 ? q[2] : 0, seen->size > 16 ? q[3] : 0);
    }
}

unsigned census_compare(const struct census *before, const struct census *after, char *text,
                        size_t nbytes)
{
    char line[NAMES_TEXT + 80];
    unsigned n = 0;

    for (unsigned pool = 0; pool < CENSUS_POOLS; pool++)
        for (unsigned i = 0; i < CENSUS_SIZES; i++) {
            int64_t more = after->blocks[pool][i] - before->blocks[pool][i];

            if (!more || n++ >= LINES_MOST)
                continue;
            tell((enum census_pool)pool, i, more, &after->seen[pool][i], line, sizeof(line));
            if (n == 1)
                str_copy(text, line, nbytes);
        }
    return n;
}

/* ---- blocks of mm that outlive processes ---- */

static const struct census_kind kinds[] = {
    {"object", CENSUS_NONPAGED, sizeof(struct mm_object)},
    {"index node of an object", CENSUS_NONPAGED, sizeof(struct index_node)},
    {"map entry", CENSUS_NONPAGED, sizeof(struct map_entry)},
    {"address space", CENSUS_NONPAGED, sizeof(struct aspace)},
    {"region", CENSUS_NONPAGED, sizeof(struct region)},
    {"section", CENSUS_NONPAGED, sizeof(struct section)},
    {"mapping of a section", CENSUS_NONPAGED, sizeof(struct section_map)},
    {"window", CENSUS_NONPAGED, sizeof(struct window)},
    {"reservation", CENSUS_NONPAGED, sizeof(struct rmd)},
    {"directory entry of a section", CENSUS_PAGED, sizeof(struct gsd)},
};

static void one_section(struct section *s, void *arg)
{
    struct census *c = arg;
    const struct section *shpt = s->related;

    if (!(s->life & SECTION_PERMANENT) && !s->owner)
        census_error(c, "section %s is temporary, and there with %lu shares",
                     s->gsd ? s->gsd->name : "(none)", s->life);
    census_explain(c, CENSUS_NONPAGED, sizeof(*s), 1);
    if (s->gsd)
        census_explain(c, CENSUS_PAGED, sizeof(*s->gsd), 1);
    if (s->blocks)
        census_explain(c, CENSUS_NONPAGED, s->npages / HUGE_PAGES * sizeof(pfn_t), 1);
    if (s->object)
        object_census(c, s->object);
    if (!shpt)
        return;
    census_explain(c, CENSUS_NONPAGED, sizeof(*shpt), 1);
    census_explain(c, CENSUS_NONPAGED, shpt->nupper * sizeof(pfn_t), 1);
}

static void one_reservation(const struct rmd *r, void *arg)
{
    census_explain(arg, CENSUS_NONPAGED, sizeof(*r), 1);
    if (r->extents && r->extents != &r->one)
        census_explain(arg, CENSUS_NONPAGED, RMD_EXTENTS_BYTES, 1);
}

static void explain(struct census *c)
{
    section_for_each(one_section, c);
    rmd_for_each(one_reservation, c);
    window_census(c);
    for (unsigned k = 0; k < PAGEFILES_MAX; k++)
        if (pagefile_block(k))
            census_explain(c, CENSUS_NONPAGED, pagefile_block(k), 1);
}

void census_boot(void) { census_register(explain, kinds, ARRAY_SIZE(kinds)); }
