/*
 * SHPT sections: the level-3 pages of a section, as a section of their own.
 *
 * They are the global page table of the section that they map, and what mappers with shared page
 * tables put into their level-2 tables. Where the level-3 pages are stands in level-2 pages of the
 * SHPT section, one for 8 GiB, in the form in which a process's level-2 page wants it: a mapper
 * copies these PTEs, and one that covers whole 8 GiB blocks can point a level-1 PTE at such a page.
 */
#ifndef MM_SECTION_SHPT_H
#define MM_SECTION_SHPT_H

#include "mm/section/section.h"

/* What the tables of npages data pages take: level-3 and level-2 pages. */
uint64_t shpt_l3_pages(uint64_t npages);
uint64_t shpt_l2_pages(uint64_t npages);

/* Make the SHPT section of s and link the two. ALLOC: level-3 pages from s's reservation, filled
   and valid; otherwise empty, to be allocated out of the promise. 0 or -ENOMEM with nothing left
   behind. IPL 0. */
int shpt_create(struct section *s);
/* Free its pages and itself; the data pages of a FLUID section too. Nobody maps it any more. IPL 0.
 */
void shpt_delete(struct section *s);

/* The level-2 PTE of a span (8 MiB) in the SHPT section's own level-2 page. */
pte_t *shpt_l2_pte(const struct section *shpt, uint64_t span);
/* The level-1 PTE with which a process shares the level-2 page that the span lies in. */
pte_t shpt_l1_pte(const struct section *shpt, uint64_t span);
/* The level-3 page of a span, allocated on the first demand out of the promise. Never fails for a
   FLUID section. Returns its level-2 PTE as mappers use it. Any number of callers at once. */
pte_t shpt_table_get(struct section *shpt, uint64_t span);
/* The level-3 PTE of a page, NULL when its level-3 page is not there. */
pte_t *shpt_pte(const struct section *shpt, uint64_t page);

#endif
