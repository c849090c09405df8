/*
 * The page tables of one address space, as far as this layer knows an address space. The owner
 * (mm/space/aspace.h) embeds the structure and passes it to the functions of mm/pt/pt.h.
 */
#ifndef MM_PT_PAGE_TABLE_H
#define MM_PT_PAGE_TABLE_H

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/types.h"
#include "kernel/sched/spinlock.h"

/* Accesses that a mapping allows. */
#define MAP_R 1u
#define MAP_W 2u
#define MAP_X 4u

/* The kind of access that faulted. */
enum fault_access { FAULT_READ, FAULT_WRITE, FAULT_EXEC };

/* page_table.recent: the number of 8 MiB of addresses, and above it a PFN. */
#define PT_RECENT_BITS 20u
#define PT_NO_TABLE    ((UINT64_C(1) << PT_RECENT_BITS) - 1) /* no user address has this number */

struct page_table {
    pfn_t root;           /* level-1 page; constant after pt_root_create() */
    uint8_t home_rad;     /* domain that new tables and pages come from; the owner's mutex */
    bool dying;           /* no CPU has the root loaded, and none will load it again; set once, by
                             the last user */
    cpumask_t loaded;     /* CPUs with the root loaded: atomic */
    struct spinlock lock; /* RANK_PTPAGE: taken to free a table page, and to walk the tables without
                             the owner's mutex (mm/object/rmap.c) */
    uint64_t tables;      /* private table pages of all levels, the root included: atomic */
    uint64_t recent;      /* the level-3 table found last (pt_recent), or PT_NO_TABLE: atomic */
    uint64_t rss;         /* pages mapped, those of sections excluded: atomic; changed by
                             page_table_add_rss() and page_table_sub_rss() */
    uint64_t rss_peak;    /* the most that rss was before it fell: atomic */
    uint64_t zeroes;      /* of these, how many are the page of zeroes: atomic */
    uint64_t paged_out;   /* PTEs of pages that are in page files: atomic */
};

/* n pages more are mapped. */
static inline void page_table_add_rss(struct page_table *pt, uint64_t n)
{
    __atomic_fetch_add(&pt->rss, n, __ATOMIC_RELAXED);
}

/* n pages are mapped no longer. A sum is at its highest before it falls, or now: so its peak need
   not be looked at when it rises, which is what faults do. */
static inline void page_table_sub_rss(struct page_table *pt, uint64_t n)
{
    uint64_t was = __atomic_fetch_sub(&pt->rss, n, __ATOMIC_RELAXED);
    uint64_t peak = __atomic_load_n(&pt->rss_peak, __ATOMIC_RELAXED);

    while (was > peak && !__atomic_compare_exchange_n(&pt->rss_peak, &peak, was, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* The most that rss ever was. Any IPL. */
static inline uint64_t page_table_rss_peak(const struct page_table *pt)
{
    uint64_t now = __atomic_load_n(&pt->rss, __ATOMIC_RELAXED);
    uint64_t peak = __atomic_load_n(&pt->rss_peak, __ATOMIC_RELAXED);

    return MAX(peak, now);
}

#endif
