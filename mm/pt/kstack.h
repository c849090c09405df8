/*
 * Kernel stacks: KSTACK_PAGES pages of mapped system space above a guard page that is never mapped.
 * The scheduler calls these functions through kstack_ops; arch/alpha/hw/stack.h describes the use
 * of a stack.
 */
#ifndef MM_PT_KSTACK_H
#define MM_PT_KSTACK_H

#include "kernel/base/types.h"

#define KSTACK_PAGES 4u

/* Allocate a stack with pages of domain rad, if it has some. Returns its lowest usable address, and
   in *top the first address above it; 0: there is no memory. The contents are undefined. IPL 0, no
   spinlock. */
uint64_t kstack_alloc(unsigned rad, uint64_t *top);
/* Free a stack, which the caller is not using. It is kept for the next kstack_alloc(). When more
   than a limit are kept, and the caller is at IPL 0 without a spinlock, some are unmapped and their
   pages freed. Any IPL up to IPL_CLOCK. */
void kstack_free(uint64_t base);
/* Fill in kstack_ops. After pt_system_boot(). */
void kstack_boot(void);

/* For the self-check: the n-th page of links; PFN_NONE when it was never needed. False: there are
   no more. */
bool kstack_link_page(unsigned n, pfn_t *pfn);
/* The number of pages of links, which only grows. Any IPL. */
uint64_t kstack_link_pages(void);
/* Unmap all stacks that are kept for the next kstack_alloc() and free their pages. IPL and locks as
   for kunmap_pages(). */
void kstack_drain(void);

struct kstack_stats {
    uint64_t created, reused, unmapped, cached;
};
void kstack_stats(struct kstack_stats *s);

#endif
