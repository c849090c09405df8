/*
 * What the self-check (mm/check) reads of the page lists and ranges, while no other thread runs.
 */
#ifndef MM_PHYS_PAGE_CHECK_H
#define MM_PHYS_PAGE_CHECK_H

#include "mm/phys/page.h"

/* Entries that are initialised together: one page of the database. */
#define CHUNK_PAGES (PAGE_SIZE / sizeof(struct page))

extern uint64_t page_total; /* managed pages; constant after boot */

/* The fluid count's word (mm/phys/fluid.c): free less promised and unused less minimum. */
extern int64_t fluid_available; /* atomic */

/* Call fn for each page of the lists of the domains and of the CPU caches (PAGE_CACHED). NULL, or
   the name of the chain that is broken. */
const char *page_walk_free(void (*fn)(void *arg, uint64_t n, enum page_state state), void *arg);
/* The same for each range of never-used pages; for each stretch of RAM, less holes and what
   PHYSICAL_MEMORY leaves unused. */
void page_walk_ranges(void (*fn)(void *arg, uint64_t first, uint64_t npages), void *arg);
void page_walk_ram(void (*fn)(void *arg, uint64_t first, uint64_t npages), void *arg);
/* The count of a domain's list, for tests that plant an error in it. */
uint64_t *page_list_count(unsigned rad, enum page_state state);

#endif
