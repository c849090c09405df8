/* Looking at an address space from outside: what is mapped where, and the bytes there. */
#ifndef MM_SPACE_ASPACE_READ_H
#define MM_SPACE_ASPACE_READ_H

#include "kernel/base/list.h"
#include "mm/space/aspace.h"

struct mapping_view {
    vaddr_t start, end;
    uint64_t offset; /* bytes into the object or section */
    uint8_t prot;    /* MAP_* */
    bool shared, stack, section, huge;
    struct mm_object *object; /* with a reference, which is the caller's; or NULL */
};

/* Describe the first mapping that ends above `from`. False: there is none. Takes the mutex of as,
 * shared. IPL 0. */
bool aspace_view(struct aspace *as, vaddr_t from, struct mapping_view *v);
/* Pages of a mapping that are present in its address space. */
struct mapping_pages {
    uint64_t own;    /* private memory of this address space alone */
    uint64_t forked; /* private memory that fork has shared, and nobody has written since */
    uint64_t object; /* of a file, shared memory or a section */
    uint64_t huge_own, huge_shared; /* in huge pages, which count nowhere else */
    uint64_t share_bytes;           /* of the others: each page divided among its mappings */
};
/* Add the pages of [va, end), which lies in the mapping v, to *n. Looks at no more than
 * ASPACE_COUNT_MAX PTEs: the address where it stopped. Takes the mutex of as, shared. IPL 0. */
#define ASPACE_COUNT_MAX 1024u
vaddr_t aspace_count(struct aspace *as, const struct mapping_view *v, vaddr_t va, vaddr_t end,
                     struct mapping_pages *n);
/* Copy n bytes at va, at most ASPACE_READ_MAX and within one page, to buf; the page is made present
 * as by a read. 0, -EIO, or an error of aspace_populate. Takes the mutex of as. IPL 0; may wait. */
#define ASPACE_READ_MAX 512u
int aspace_read(struct aspace *as, vaddr_t va, void *buf, size_t n);
/* The same the other way. forced: a private mapping need not be writable; its page becomes a copy
 * of its own, as a debugger needs that plants breakpoints. 0; -EFAULT: nothing is mapped; -EACCES:
 * it may not be written; -ENOMEM; -EIO; -EINTR: the caller is to end; or a pager's error. */
int aspace_write(struct aspace *as, vaddr_t va, const void *buf, size_t n, bool forced);

/* A thread that may wait with a reference to an address space that is not its own. aspace_read()
   and aspace_write() tell so by themselves while they wait; a caller that waits for something else
   in between, too, does it around the whole. Visits may nest. IPL 0; takes a spinlock. */
struct aspace_visit {
    struct list link;
    struct aspace *as;
};
void aspace_visit_begin(struct aspace_visit *v, struct aspace *as);
void aspace_visit_end(struct aspace_visit *v);
/* Call fn for the address space of each visit: for the self-check, while all threads are stopped.
 */
void aspace_visits(void (*fn)(void *arg, struct aspace *as), void *arg);

#endif
