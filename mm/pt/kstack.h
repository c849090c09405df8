/*
 * Kernel stacks: KSTACK_PAGES pages of mapped system space above a guard page that is never mapped.
 * The scheduler calls them through kstack_ops; arch/alpha/hw/stack.h tells how a stack is used.
 */
#ifndef MM_PT_KSTACK_H
#define MM_PT_KSTACK_H

#include "kernel/base/types.h"

#define KSTACK_PAGES 4u

/* Lowest usable address of a stack and *top, the first above it; contents undefined. 0: out of
   memory. IPL 0, no spinlock. */
uint64_t kstack_alloc(unsigned rad, uint64_t *top);
/* Any IPL up to IPL_CLOCK; the caller does not stand on it. Kept for the next kstack_alloc; above
   a limit, and only where the caller stands at IPL 0 without a spinlock, stacks are unmapped and
   their pages freed. */
void kstack_free(uint64_t base);
/* Fill in kstack_ops. After pt_system_boot(). */
void kstack_boot(void);

/* The self-check: the n-th page of links, PFN_NONE when it was never needed. False beyond the
   last. */
bool kstack_link_page(unsigned n, pfn_t *pfn);
/* Unmap all that are kept for the next kstack_alloc, so that their pages are free. IPL as for
   kunmap_pages. */
void kstack_drain(void);

struct kstack_stats {
    uint64_t created, reused, unmapped, cached;
};
void kstack_stats(struct kstack_stats *s);

#endif
