/*
 * What the self-check (mm/check) reads of the page lists and ranges. Called while no other thread
 * runs.
 */
#ifndef MM_PHYS_PAGE_CHECK_H
#define MM_PHYS_PAGE_CHECK_H

#include "mm/phys/page.h"

/* Number of entries in a page of the database, and in a chunk, which is initialised as a whole,
   under the lock of a domain: some 500 instructions. */
#define ENTRIES_PER_PAGE (PAGE_SIZE / sizeof(struct page))
#define CHUNK_PAGES      (ENTRIES_PER_PAGE / 4)

extern uint64_t page_total; /* managed pages; constant after boot */

/* Free pages less promised and unused ones, less the minimum (mm/phys/fluid.c). */
extern int64_t fluid_available; /* atomic */

/* Call fn for each page on the lists of the domains, and for each page in the CPU caches with state
   PAGE_CACHED. Returns NULL, or a text that says which chain is broken. */
const char *page_walk_free(void (*fn)(void *arg, uint64_t n, enum page_state state), void *arg);
/* Call fn for each range of never-used pages. */
void page_walk_ranges(void (*fn)(void *arg, uint64_t first, uint64_t npages), void *arg);
/* Call fn for each stretch of managed RAM. */
void page_walk_ram(void (*fn)(void *arg, uint64_t first, uint64_t npages), void *arg);
/* Address of the count of a domain's list, for tests that falsify it. */
uint64_t *page_list_count(unsigned rad, enum page_state state);

#endif
