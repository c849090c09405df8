/*
 * Regions (RDE): a user-created reserved part of an address space. Protected by the aspace mutex.
 * Default regions P0, P1, P2 have the ids 0, 1, 2; created ones count from 16 (RDE$C_MIN_USER_ID).
 */
#ifndef MM_REGION_H
#define MM_REGION_H

#include "mm/aspace.h"

struct region {             /* nonpaged pool */
    struct list link;       /* in aspace.regions, by address */
    uint64_t id;
    uint32_t flags;         /* VA$M_* */
    uint32_t prot;          /* create mode << 4 | owner mode */
    vaddr_t start;
    uint64_t length;
    vaddr_t first_free;
};

struct region *region_find_locked(struct aspace *as, uint64_t id);
struct region *region_at_locked(struct aspace *as, vaddr_t va);
/* Does [va, va+len) touch a created region? For mmap, brk, stack growth. */
bool region_overlaps_locked(struct aspace *as, vaddr_t va, uint64_t len);
/* fork: the child gets the same regions. */
int region_fork_locked(struct aspace *src, struct aspace *dst);
void region_clear_locked(struct aspace *as); /* exec, exit */

#endif
