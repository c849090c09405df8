/*
 * Windows: ranges of system space in which a driver maps its own frames, with granularity hints.
 * They lie in one level-1 entry (LAYOUT_WINDOW_BASE in arch/alpha/hw/layout.h).
 */
#ifndef MM_SECTION_WINDOW_H
#define MM_SECTION_WINDOW_H

#include "kernel/base/list.h"
#include "mm/pt/gh.h"

struct census;

struct window {       /* nonpaged pool; constant except for the link */
    struct list link; /* all windows, by address; window mutex */
    vaddr_t start;    /* a multiple of 4 MiB, the largest hint's block */
    uint64_t npages;
};

/* Allocate a window for npages. 0; -ENOSPC: npages is 0 or there is no room; -ENOMEM: no nonpaged
   pool. The caller owns *out until window_end(). IPL 0; takes the window mutex. */
int window_create(uint64_t npages, struct window **out);
/* Map n contiguous frames at page `page` of the window, where nothing is mapped yet, each PTE with
   the largest possible hint. 0, or -ENOMEM with none of them mapped. Called by the window's owner
   only; IPL 0. */
int window_map(struct window *w, uint64_t page, pfn_t first, uint64_t n);
/* The frame that is mapped at page `page` of the window, or PFN_NONE. */
pfn_t window_frame(const struct window *w, uint64_t page);
/* Unmap everything in the window on every CPU and free the window. The frames stay the caller's.
   IPL 0; takes the window mutex. */
void window_end(struct window *w);
/* Count the window's PTEs by hint, in the tables that the hardware walks. Owner only. */
void window_count(const struct window *w, struct gh_count *c);

/* Account for the pool blocks of windows. Called while no other thread runs. */
void window_census(struct census *c);

#endif
