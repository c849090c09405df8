/*
 * Windows: stretches of mapped system space for whoever maps frames of his own there (level-1 entry
 * 770 of arch/alpha/hw/layout.h), with granularity hints.
 */
#ifndef MM_SECTION_WINDOW_H
#define MM_SECTION_WINDOW_H

#include "kernel/base/list.h"
#include "mm/pt/gh.h"

struct window {       /* nonpaged pool; constant but for the link */
    struct list link; /* all windows, by address; window mutex */
    vaddr_t start;    /* at a multiple of the largest hint's block */
    uint64_t npages;
};

/* A place for npages. 0; -ENOSPC: no room; -ENOMEM. IPL 0; takes the window mutex. */
int window_create(uint64_t npages, struct window **out);
/* Map n contiguous frames at its page `page`, each PTE with the largest hint; nothing is mapped
   there. 0, or -ENOMEM with nothing of it mapped. The window's owner alone calls it. */
int window_map(struct window *w, uint64_t page, pfn_t first, uint64_t n);
/* The frame behind one of its pages; PFN_NONE when none is mapped there. */
pfn_t window_frame(const struct window *w, uint64_t page);
/* Unmap whatever is mapped, on every CPU, and give the place back. The frames stay the caller's.
   IPL 0; takes the window mutex. */
void window_end(struct window *w);
/* Its PTEs by hint, counted in the real tables. */
void window_count(const struct window *w, struct gh_count *c);

/* The census: what windows have. Nothing else runs. */
struct census;
void window_census(struct census *c);

#endif
