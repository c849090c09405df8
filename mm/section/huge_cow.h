/*
 * Private mappings of huge pages: MAP_PRIVATE with MAP_HUGETLB, or of a file of huge pages.
 * mm/section/README.md describes the design. IPL 0; results are 0 or a negative errno.
 */
#ifndef MM_SECTION_HUGE_COW_H
#define MM_SECTION_HUGE_COW_H

#include "mm/section/section_huge.h"

/* Boot. */
void huge_private_boot(void);
/* Map len bytes, a multiple of HUGE_BYTES, of new memory, all zero. Arguments and errors as for
   section_huge_map(). */
int huge_private_map(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot, unsigned flags);
/* Map s, in which the caller has a share, from `offset` on, so that writes do not go to it. */
int huge_private_map_section(struct aspace *as, struct section *s, vaddr_t *va, uint64_t len,
                             uint64_t offset, unsigned prot, unsigned flags);

/* Is e such a mapping? */
bool huge_is_private(const struct map_entry *e);
/* For the self-check: the PTE that maps va, without its hint, if the first PTE of its huge page is
   `first`. */
pte_t huge_private_pte(const struct map_entry *e, vaddr_t va, pte_t first);

#endif
