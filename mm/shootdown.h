/*
 * Translation-buffer shootdown. A gather collects pages whose PTEs were changed under the address space's
 * page-table lock; the flush interrupts only the CPUs that have that root loaded (system space: all), waits
 * for their acknowledgement and only then frees the collected pages. Flush before the lock is dropped (style 23).
 */
#ifndef MM_SHOOTDOWN_H
#define MM_SHOOTDOWN_H

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/types.h"

#define TB_GATHER_VAS 16
#define TB_GATHER_PAGES 64

enum tb_reason { TB_UNMAP, TB_PROTECT, TB_COW, TB_FORK, TB_PTPAGE, TB_SYSTEM, TB_REASONS };

struct tb_gather {
    cpumask_t *mask;          /* address space's loaded mask; NULL: system space, every CPU */
    uint32_t nvas;            /* above TB_GATHER_VAS: everything */
    uint32_t npages;
    enum tb_reason reason;
    vaddr_t vas[TB_GATHER_VAS];
    pfn_t pages[TB_GATHER_PAGES]; /* page_unref'd after the flush */
};

void tb_gather_begin(struct tb_gather *g, cpumask_t *mask, enum tb_reason reason);
/* The translation of the page at va is to go. Local and remote at the flush. */
void tb_gather_va(struct tb_gather *g, vaddr_t va);
/* A level-2 or level-1 PTE changed: also the page-table-space address of what it mapped. */
void tb_gather_table(struct tb_gather *g, vaddr_t va, unsigned level);
/* Drop a reference to pfn once the flush is acknowledged; flushes by itself when full. */
void tb_gather_page(struct tb_gather *g, pfn_t pfn);
void tb_gather_flush(struct tb_gather *g);

struct tb_stats { uint64_t flushes[TB_REASONS], ipis, skipped, full; };
void tb_stats(struct tb_stats *s);

#endif
