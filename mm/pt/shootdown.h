/*
 * Translation-buffer shootdown. A gather collects pages whose PTEs were changed under the address
 * space's page-table lock; the flush interrupts only the CPUs that have that root loaded (system
 * space: all), waits for their acknowledgement and only then frees the collected pages. Flush
 * before the lock is dropped (CVE-2021-4002 came of the other order).
 */
#ifndef MM_PT_SHOOTDOWN_H
#define MM_PT_SHOOTDOWN_H

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/types.h"

#define TB_GATHER_VAS    16
#define TB_GATHER_PAGES  48
#define TB_GATHER_TABLES 8

enum tb_reason { TB_UNMAP, TB_PROTECT, TB_COW, TB_FORK, TB_PTPAGE, TB_SYSTEM, TB_REASONS };

struct tb_gather {
    cpumask_t *mask; /* address space's loaded mask; NULL: system space, every CPU */
    uint32_t nvas;   /* above TB_GATHER_VAS: everything */
    uint32_t npages, ntables;
    enum tb_reason reason;
    vaddr_t vas[TB_GATHER_VAS];
    pfn_t pages[TB_GATHER_PAGES];   /* page_unref'd after the flush */
    pfn_t tables[TB_GATHER_TABLES]; /* page-table pages, all zero again: freed after the flush */
};

void tb_gather_begin(struct tb_gather *g, cpumask_t *mask, enum tb_reason reason);

/* The translation of the page at va is to go. Local and remote at the flush. */
static inline void tb_gather_va(struct tb_gather *g, vaddr_t va)
{
    if (g->nvas < TB_GATHER_VAS)
        g->vas[g->nvas++] = va;
    else
        g->nvas = TB_GATHER_VAS + 1;
}

/* The level-2 or level-1 PTE for va changed: also the page-table-space addresses of what it mapped.
 */
void tb_gather_table(struct tb_gather *g, vaddr_t va, unsigned level);
void tb_gather_flush(struct tb_gather *g);

/* Drop a reference to pfn once the flush is acknowledged; flushes by itself when full. */
static inline void tb_gather_page(struct tb_gather *g, pfn_t pfn)
{
    if (unlikely(g->npages == TB_GATHER_PAGES))
        tb_gather_flush(g);
    g->pages[g->npages++] = pfn;
}

/* Free a page-table page, which is all zero again, once the flush is acknowledged. */
void tb_gather_table_page(struct tb_gather *g, pfn_t pfn);

/* One page of an address space at once: for a fault that replaced a valid PTE. At IPL_ASTDEL or
 * above (a spinlock held). */
void tb_flush_page(cpumask_t *mask, vaddr_t va, enum tb_reason reason);

struct tb_stats {
    uint64_t flushes[TB_REASONS], ipis, skipped, full;
};
void tb_stats(struct tb_stats *s);
void shootdown_boot(void); /* registers the handler */

#endif
