/*
 * Hashed page tables, one for each CPU, as Itanium systems have them (the VHPT paper; sources.md).
 * No Alpha reads one, and QEMU implements none. The kernel does what is a system's part: it sets
 * the memory aside, and announces invalidations (arch/alpha/hw/tb_model.h). A model beside the
 * machine (scripts/run --tb-model) keeps the contents and counts what a walker would have done.
 */
#ifndef MM_PT_VHPT_H
#define MM_PT_VHPT_H

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/types.h"

/* What the model counts for a CPU, since it began. The model stores to it while the CPU executes
 * nothing, each quadword whole; the order is the plugin's (scripts/megalith/tb/plugin.c). */
struct vhpt_counts {
    uint64_t data_misses, fetch_misses; /* of the translation buffers */
    uint64_t walks;                     /* how often the walker looked */
    uint64_t data_hits, fetch_hits;     /* and found the page */
    uint64_t replaced;                  /* entries of another page that gave way */
    uint64_t spare[2];
};

/* Set the tables aside: VHPT_SIZE for each CPU that is online, contiguous and aligned to its
 * size, in the CPU's memory domain. If there is not enough for all, there are none, and the
 * console says so. Boot, on one CPU, before reservations are made. */
void vhpt_boot(void);

/* KiB of each CPU's table; 0: there are none. Pages of all. Constant after boot. */
uint64_t vhpt_kib(void);
uint64_t vhpt_pages(void);

/* Physical address of a CPU's table; 0: it has none. Constant after boot. */
paddr_t vhpt_table(unsigned cpu);

/* What the model has counted for the CPU. No locks, any IPL. */
struct vhpt_counts vhpt_counted(unsigned cpu);

#endif
