/*
 * Private pages to and from page files, for the pager (kernel/proc/page_out.c), one thread that
 * goes from address space to address space. Its caller has a reference to the address space, and
 * holds no lock.
 */
#ifndef MM_SPACE_ASPACE_PAGE_H
#define MM_SPACE_ASPACE_PAGE_H

#include "kernel/base/types.h"

struct quota_count;
struct aspace;

/* One step over the private pages from *va on: those that were used since the last step over them
   lose their access until they are used again, and up to PAGEFILE_CLUSTER of those that were not
   are written to a page file and freed. only: pages that are charged to this counter; NULL: all.
   *va is where the next step goes on; LAYOUT_USER_TOP: all
   was seen. Returns how many pages were freed; one that other processes have too counts when
   written_sweep() frees it. IPL 0; takes the mutex, and waits for the disk
   without it. */
unsigned aspace_page_out(struct aspace *as, vaddr_t *va, const struct quota_count *only);
/* One step from *va on that brings pages back from the file; LAYOUT_USER_TOP as above. 0, -ENOMEM,
   -EIO. IPL 0; takes the mutex shared; waits. */
int aspace_page_in(struct aspace *as, unsigned file, vaddr_t *va);

/* Pages that several processes have and that were written (mm/space/page_written.c). Pager's
   thread. */

/* Go over them. Those that no PTE maps any more are freed; their number is returned. */
enum written_sweep {
    WRITTEN_LOOK,  /* and nothing else */
    WRITTEN_ROUND, /* a round has ended: those that are used for many are kept no longer */
    WRITTEN_ALL,   /* none are kept */
};
unsigned written_sweep(enum written_sweep how);
/* Call fn for each: for the self-check, while all threads are stopped. */
void written_pages(void (*fn)(void *arg, pfn_t pfn), void *arg);

#endif
