/* Looking at an address space from outside: what is mapped where, and the bytes there. */
#ifndef MM_SPACE_ASPACE_READ_H
#define MM_SPACE_ASPACE_READ_H

#include "mm/space/aspace.h"

struct mapping_view {
    vaddr_t start, end;
    uint64_t offset; /* bytes into the object or section */
    uint8_t prot;    /* MAP_* */
    bool shared, stack, section;
    struct mm_object *object; /* with a reference, which is the caller's; or NULL */
};

/* Describe the first mapping that ends above `from`. False: there is none. Takes the mutex of as,
 * shared. IPL 0. */
bool aspace_view(struct aspace *as, vaddr_t from, struct mapping_view *v);
/* Copy n bytes at va, at most ASPACE_READ_MAX and within one page, to buf; the page is made present
 * as by a read. 0, -EIO, or an error of aspace_populate. Takes the mutex of as. IPL 0; may wait. */
#define ASPACE_READ_MAX 512u
int aspace_read(struct aspace *as, vaddr_t va, void *buf, size_t n);

#endif
