/*
 * The system parameters that limit and divide memory. They are applied after RAM has been found and
 * before the first page is allocated, so that only ranges have to be shortened: a page that is left
 * out has never been in any range, list or count.
 *
 * MEMORY_HOLES and MEMORY_HOLE_MB simulate a machine with discontiguous memory, such as an Alpha
 * system with several memory boards: MEMORY_HOLES holes of MEMORY_HOLE_MB each are spread evenly
 * over all memory. They begin wherever the division puts them, so that neither end is aligned.
 * PHYSICAL_MEMORY then excludes the memory above that address. RADS is the number of domains into
 * which page_boot_done() divides the rest.
 */
#include "kernel/base/printk.h"
#include "mm/phys/page_private.h"
#include "sysman/params.h"

#define PAGES_PER_MB (1048576 / PAGE_SIZE)
/* The least memory with which the system starts, in MB: PHYSICAL_MEMORY counts as at least this
   much, and holes leave at least this much. */
#define LEAST_MB 32
/* The largest value of MEMORY_HOLES. Each hole can split a range. */
#define HOLES_MAX 32

_Static_assert(BOOT_RANGES >= HOLES_MAX + 16, "the ranges between holes have room");

static void limit(int64_t megabytes)
{
    uint64_t end = (uint64_t)MAX(megabytes, (int64_t)LEAST_MB) * PAGES_PER_MB;

    printk("memory: PHYSICAL_MEMORY leaves %lu pages aside\n", page_boot_limit(end));
}

/* The PFN of the usable page that has n usable pages below it. g: the lowest range. */
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
    for (uint64_t i = 0; i < count; i++) /* all positions, before any hole is made */
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
