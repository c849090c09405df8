/*
 * Translation-buffer shootdown. A gather collects addresses whose PTEs were changed, and the pages
 * that are to be freed for it. The flush interrupts only the CPUs that may hold such translations
 * (those that have the root loaded; for system space all), waits for their acknowledgement, and
 * then frees the pages. It must precede the release of the lock that protects the PTEs
 * (CVE-2021-4002 came of the opposite order).
 */
#ifndef MM_PT_SHOOTDOWN_H
#define MM_PT_SHOOTDOWN_H

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/types.h"

#define TB_GATHER_VAS    16
#define TB_GATHER_PAGES  48
#define TB_GATHER_TABLES 24

enum tb_reason { TB_UNMAP, TB_PROTECT, TB_COW, TB_FORK, TB_PTPAGE, TB_SYSTEM, TB_REASONS };

struct tb_gather {
    cpumask_t *mask; /* page_table.loaded; NULL: system space, every CPU */
    uint32_t nvas;   /* above TB_GATHER_VAS: invalidate everything */
    uint32_t npages, ntables;
    enum tb_reason reason;
    vaddr_t vas[TB_GATHER_VAS];
    pfn_t pages[TB_GATHER_PAGES];   /* a reference to each is dropped after the flush */
    pfn_t tables[TB_GATHER_TABLES]; /* page-table pages, all zero again: freed after the flush */
};

/* Initialise a gather, which lives on the caller's stack. reason: the counter of its flushes. */
void tb_gather_begin(struct tb_gather *g, cpumask_t *mask, enum tb_reason reason);

/* Invalidate the translation of va at the flush, on this CPU and the others. */
static inline void tb_gather_va(struct tb_gather *g, vaddr_t va)
{
    if (g->nvas < TB_GATHER_VAS)
        g->vas[g->nvas++] = va;
    else
        g->nvas = TB_GATHER_VAS + 1;
}

/* The PTE of this level (2 or 1) for va was cleared: invalidate the page-table-space addresses of
   the tables that it mapped. */
void tb_gather_table(struct tb_gather *g, vaddr_t va, unsigned level);
/* Invalidate what was gathered on every CPU that may hold it, wait for the acknowledgements, then
   free the gathered pages. The gather is empty afterwards. IPL below IPL_IPI, no lock that an IPI
   handler takes. */
void tb_gather_flush(struct tb_gather *g);
/* Only the first part: the gathered pages are freed by a later flush, for instance when the caller
   has dropped its lock. IPL and locks as for tb_gather_flush. */
void tb_gather_invalidate(struct tb_gather *g);

/* Drop a reference to pfn after the flush. Flushes first when the gather is full. */
static inline void tb_gather_page(struct tb_gather *g, pfn_t pfn)
{
    if (unlikely(g->npages == TB_GATHER_PAGES))
        tb_gather_flush(g);
    g->pages[g->npages++] = pfn;
}

/* Free a page-table page, which is all zero again, after the flush. Flushes first when the gather
   is full. */
static inline void tb_gather_table_page(struct tb_gather *g, pfn_t pfn)
{
    if (unlikely(g->ntables == TB_GATHER_TABLES))
        tb_gather_flush(g);
    g->tables[g->ntables++] = pfn;
}

/* Invalidate one page at once on every CPU in *mask that may hold its translation, and wait for the
   acknowledgements. Called after one valid PTE was changed, with a spinlock held, so at IPL_ASTDEL
   or above and below IPL_IPI. */
void tb_flush_page(cpumask_t *mask, vaddr_t va, enum tb_reason reason);

struct tb_stats {
    uint64_t flushes[TB_REASONS]; /* by reason */
    uint64_t ipis;                /* CPUs interrupted */
    uint64_t skipped;             /* online CPUs that were not interrupted */
    uint64_t full;                /* flushes that invalidated everything */
};
void tb_stats(struct tb_stats *s);
/* Register the handler of requests. Boot. */
void shootdown_boot(void);

#endif
