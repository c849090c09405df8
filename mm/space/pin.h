/*
 * Pinned pages: private pages of an address space that a device reads or writes. A pin is a
 * reference to the page that is also counted in page.share, so that who counts PTEs can tell it.
 *
 * While it is pinned a page stays what it is, whatever becomes of its mapping: unmapped, or left by
 * a process that has ended, it is freed with its last pin; moved or protected, it is the same page;
 * and a fork copies it for the child (mm/space/fork.c), so the parent, to whom the device gives the
 * data, keeps it. A page that is to be copied on write is copied before it is pinned.
 */
#ifndef MM_SPACE_PIN_H
#define MM_SPACE_PIN_H

#include "mm/phys/page.h"
#include "mm/space/aspace.h"

/* page.soon of a private page: it is or was pinned. Set by a pin; cleared by a fork that finds that
   no pin is left. Exclude each other by the mutex of the one space that maps the page. */
#define PAGE_PINNED 2u

/* The address space of the current process; set by kernel/proc at boot. */
extern struct aspace *(*aspace_self)(void);

/* Pin n pages from the page of va on, each made writable as by a write, and store them in page[].
   0; -EOPNOTSUPP: there is memory of another kind than private, or that may not be written;
   -EFAULT: nothing is mapped, or a page is not there and the thread has asked for no faults;
   -ENOMEM; -EINTR: the caller is to end. After an error none is pinned.
   IPL 0, no spinlock; takes the mutex of as, shared, once for all; may wait. */
int aspace_pin(struct aspace *as, vaddr_t va, unsigned n, pfn_t *page);
/* Pin a page once more, which the caller has pinned. Any IPL. */
void page_pin_again(pfn_t pfn);
/* Any IPL up to IPL_CLOCK, spinlocks below RANK_PFN. */
void page_unpin(pfn_t pfn);

#endif
