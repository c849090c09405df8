/*
 * Sets of pinned pages (pin.h): the pages of a range of an address space, pinned once for many
 * transfers, as buffer objects of OpenVMS are (kernel/qio/fast.h). A set keeps its pages, whatever
 * becomes of the range, until its last reference goes.
 *
 * The pages of all sets together are limited by the system parameter MAXBOBMEM. A page that is in
 * two sets counts twice.
 */
#ifndef MM_SPACE_PIN_SET_H
#define MM_SPACE_PIN_SET_H

#include "arch/alpha/hw/kseg.h"
#include "mm/space/pin.h"

#define PIN_SET_PAGES 65536u /* the most of a set, 512 MiB: 256 KiB of nonpaged pool list them */

struct pin_set {     /* nonpaged pool; constant but for refs and `all` */
    struct list all; /* in the list of all sets; its lock */
    uint32_t refs;   /* atomic */
    uint16_t account;
    uint32_t npages;
    vaddr_t first;
    uint32_t page[]; /* PFNs */
};

/* Pin npages pages of as from `first` on, page-aligned, 1 at least. 0, and *out with one reference;
 * -E2BIG: more than PIN_SET_PAGES; -EDQUOT: more than MAXBOBMEM leaves; or as aspace_pin(). IPL 0;
 * takes the mutex of as, shared; may wait; killable. */
int pin_set_create(struct aspace *as, vaddr_t first, uint64_t npages, struct pin_set **out);
/* Any IPL. */
static inline void pin_set_ref(struct pin_set *s)
{
    __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
}
/* IPL 0, no spinlock. */
void pin_set_unref(struct pin_set *s);

/* Are all n bytes at va in the set? */
static inline bool pin_set_has(const struct pin_set *s, vaddr_t va, uint64_t n)
{
    uint64_t size = (uint64_t)s->npages << PAGE_SHIFT;

    return n <= size && va >= s->first && va - s->first <= size - n;
}
/* The page of an address in the set. */
static inline pfn_t pin_set_page(const struct pin_set *s, vaddr_t va)
{
    return pfn_of(s->page[(va - s->first) >> PAGE_SHIFT]);
}
/* Where the kernel finds the byte at va, an address in the set, up to the end of its page. */
static inline void *pin_set_pointer(const struct pin_set *s, vaddr_t va)
{
    return (char *)kseg_page(pin_set_page(s, va)) + (va & PAGE_MASK);
}

/* Pages in all sets, and the most that there may be. Any IPL. */
uint64_t pin_set_total(void);
uint64_t pin_set_most(void);
/* For the self-check: call fn for each page of each set. All threads are stopped. */
void pin_set_walk(void (*fn)(pfn_t pfn, void *arg), void *arg);

#endif
