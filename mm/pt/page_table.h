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

struct page_table {
    pfn_t root;           /* level-1 page; constant after pt_root_create() */
    uint8_t home_rad;     /* domain that new tables and pages come from; the owner's mutex */
    bool dying;           /* no CPU has the root loaded, and none will load it again; set once, by
                             the last user */
    cpumask_t loaded;     /* CPUs with the root loaded: atomic */
    struct spinlock lock; /* RANK_PTPAGE: taken to free a table page, and to walk the tables without
                             the owner's mutex (mm/object/rmap.c) */
    uint64_t tables;      /* private table pages of all levels, the root included: atomic */
    uint64_t rss;         /* pages mapped, those of sections excluded: atomic; counted by whoever
                             maps and unmaps them */
    uint64_t zeroes;      /* of these, how many are the page of zeroes: atomic */
};

#endif
