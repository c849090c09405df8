/*
 * What the parameters say about memory, between the finding of RAM and the first page given out:
 * so there is nothing to take back, only ranges to shorten, and a page that is left out was never
 * in any range, list or count.
 *
 * MEMORY_HOLES and MEMORY_HOLE_MB make a machine whose memory is discontiguous, as Alpha systems
 * with several memory boards are: so many holes of that size, spread evenly over all memory,
 * beginning wherever the arithmetic puts them, so that neither end is aligned to anything.
 * PHYSICAL_MEMORY leaves aside what of the rest lies above it. RADS says into how many domains the
 * rest is divided, at page_boot_done().
 */
#include "kernel/base/printk.h"
#include "mm/phys/page_private.h"
#include "sysman/params.h"

#define PAGES_PER_MB (1048576 / PAGE_SIZE)
/* Below this the system would not start: PHYSICAL_MEMORY counts as at least this much, and holes
   leave it. */
#define LEAST_MB 32
/* As many as MEMORY_HOLES may say; each can cut a range in two. */
#define HOLES_MAX 32

_Static_assert(BOOT_RANGES >= HOLES_MAX + 16, "the ranges between holes have room");

static void limit(int64_t megabytes)
{
    uint64_t end = (uint64_t)MAX(megabytes, (int64_t)LEAST_MB) * PAGES_PER_MB;

    printk("memory: PHYSICAL_MEMORY leaves %lu pages aside\n", page_boot_limit(end));
}

/* The usable page with so many below it. */
static uint64_t usable_pfn(const struct page_range *g, uint64_t n)
{
    while (n >= g->npages) {
        n -= g->npages;
        g++;
    }
    return g->first + n;
}

static void punch(uint64_t count, uint64_t npages)
{
    uint64_t begin[HOLES_MAX], removed = 0;

    if (count * npages + LEAST_MB * PAGES_PER_MB > page_total) {
        printk("memory: %lu holes of %lu pages do not fit into %lu pages: none is made\n", count,
               npages, page_total);
        return;
    }
    for (uint64_t i = 0; i < count; i++) /* where they begin, before any of them is there */
        begin[i] = usable_pfn(boot_ranges, page_total / (count + 1) * (i + 1));
    for (uint64_t i = 0; i < count; i++)
        removed += boot_ranges_remove(begin[i], npages);
    printk("memory: MEMORY_HOLES makes %lu holes, %lu pages in all\n", count, removed);
}

void page_boot_parameters(void)
{
    int64_t limit_mb = sysparam(SYSPARAM_PHYSICAL_MEMORY);
    int64_t holes = sysparam(SYSPARAM_MEMORY_HOLES);

    if (holes > 0)
        punch((uint64_t)holes, (uint64_t)sysparam(SYSPARAM_MEMORY_HOLE_MB) * PAGES_PER_MB);
    if (limit_mb >= 0)
        limit(limit_mb);
    rad_count = (uint32_t)sysparam(SYSPARAM_RADS);
    if (rad_count > 1)
        printk("memory: divided into %u domains\n", rad_count);
}
