/*
 * SHPT sections: the level-3 pages of a section, as a section of their own.
 *
 * They are the global page table of the section whose pages they map, and what mappers with shared
 * page tables point their level-2 PTEs to. The SHPT section has level-2 pages, one for each 8 GiB,
 * that say where its level-3 pages are. Their PTEs have the form that a process's level-2 page
 * needs: a mapper copies these PTEs or, where it covers whole blocks of 8 GiB, points a level-1 PTE
 * at the level-2 page itself.
 */
#ifndef MM_SECTION_SHPT_H
#define MM_SECTION_SHPT_H

#include "mm/section/section.h"

/* Number of level-3 and of level-2 pages that a section of npages pages needs. */
uint64_t shpt_l3_pages(uint64_t npages);
uint64_t shpt_l2_pages(uint64_t npages);

/* Create the SHPT section of s and link the two. If s is ALLOC, the level-3 pages are taken from
   its reservation and filled in, or of huge pages out of its promise; otherwise they are allocated
   later, out of s's promise. 0, or -ENOMEM or -EINTR with nothing left allocated. IPL 0. */
int shpt_create(struct section *s);
/* Free the SHPT section of s, its pages and, if s is FLUID, the pages of s. There are no mappings
   any more. IPL 0. */
void shpt_delete(struct section *s);

/* The level-2 PTE of a level-3 span (8 MiB) in the SHPT section's own level-2 page. */
pte_t *shpt_l2_pte(const struct section *shpt, uint64_t span);
/* The value of a level-1 PTE by which a process shares the level-2 page of the span. */
pte_t shpt_l1_pte(const struct section *shpt, uint64_t span);
/* The value of a level-2 PTE for the span, whose level-3 page is allocated out of the promise at
   the first call. Cannot fail. Takes no lock; any number of callers at once. */
pte_t shpt_table_get(struct section *shpt, uint64_t span);
/* A PTE of a table of a FLUID section, of level 2 or 3, has become valid: record where, for
   shpt_delete. Any IPL. */
void shpt_touch(const pte_t *pte);
/* The level-3 PTE of a page of the section, or NULL if there is no level-3 page for it. */
pte_t *shpt_pte(const struct section *shpt, uint64_t page);

#endif
