/*
 * Lock-free stacks of free pages. The head of a stack is one quadword {version:30, count:7,
 * PFN:27}, changed only by compare-and-swap; the link is in the page's database entry.
 *
 * Popping page A, whose link is B, swaps {v, A} for {v + 1, B}. Without a version:
 *
 *     this CPU                        another CPU
 *     load head: A
 *     load link of A: B
 *                                     pop A, pop B, push A
 *     head is A: swap it for B        (B is in use, but now on the stack)
 *
 * The version, incremented at every change, differs here, so the swap fails. LDx_L/STx_C do not
 * replace it: on this platform a store-conditional succeeds whenever the value is the same again.
 * For a false match a thread would have to be preempted between the two accesses for exactly a
 * multiple of 2^30 changes, with the same PFN and count on top: more than 10^10 instructions of
 * nothing but page allocation on that cache, while a runnable thread waits for its CPU. The link
 * that is loaded may belong to a page that is allocated by now, and be a link of its owner's; the
 * entry is always readable memory, the link is one aligned word that is loaded and stored
 * atomically, and the swap fails in that case.
 */
#ifndef MM_PHYS_PAGE_STACK_H
#define MM_PHYS_PAGE_STACK_H

#include "mm/phys/page.h"

#define PFN_BITS 27 /* KSEG maps 40 bits of physical address; 13 are the offset in a page */

#define HEAD_PFN_MASK    ((1UL << PFN_BITS) - 1)
#define HEAD_COUNT_SHIFT PFN_BITS
#define HEAD_COUNT_MASK  0x7FUL
#define HEAD_ONE         (1UL << HEAD_COUNT_SHIFT)
#define HEAD_VERSION     (1UL << 34)

#define CACHE_MAX 127u /* largest value of the 7-bit count */

static inline unsigned head_count(uint64_t h) { return (h >> HEAD_COUNT_SHIFT) & HEAD_COUNT_MASK; }

static inline uint32_t link_of(uint64_t n)
{
    return __atomic_load_n(&page_db[n].flink, __ATOMIC_RELAXED);
}
static inline void link_set(uint64_t n, uint32_t to)
{
    __atomic_store_n(&page_db[n].flink, to, __ATOMIC_RELAXED);
}

/* Pop the top page; 0: the stack is empty. The count is at least 1 when there is a PFN, so the sums
   below do not carry from one field into the next; the version wraps out of the word. */
static inline uint64_t stack_pop(uint64_t *head)
{
    uint64_t h, n, next;

    do {
        h = __atomic_load_n(head, __ATOMIC_ACQUIRE); /* before the load of the link */
        n = h & HEAD_PFN_MASK;
        if (n == 0)
            return 0;
        next = h + (HEAD_VERSION - HEAD_ONE) - n + link_of(n);
    } while (
        !__atomic_compare_exchange_n(head, &h, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return n;
}

/* Push the chain first ... last of count pages. Returns the new count, or 0 when the stack is
   full. */
static inline unsigned stack_push(uint64_t *head, uint64_t first, uint64_t last, unsigned count)
{
    uint64_t h = __atomic_load_n(head, __ATOMIC_RELAXED);
    uint64_t top, next;

    do {
        if (unlikely(head_count(h) + count > CACHE_MAX))
            return 0;
        top = h & HEAD_PFN_MASK;
        link_set(last, (uint32_t)top);
        next = h + HEAD_VERSION + count * HEAD_ONE + first - top;
    } while (
        !__atomic_compare_exchange_n(head, &h, next, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return head_count(next);
}

/* Take all pages of a stack as a chain. Returns the first page (0: none) and *count. */
static inline uint64_t stack_take_all(uint64_t *head, unsigned *count)
{
    uint64_t h = __atomic_load_n(head, __ATOMIC_RELAXED);

    while (!__atomic_compare_exchange_n(head, &h, (h & ~(HEAD_VERSION - 1)) + HEAD_VERSION, true,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        ;
    *count = head_count(h);
    return h & HEAD_PFN_MASK;
}

#endif
