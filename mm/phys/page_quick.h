/*
 * Parts of the allocator (mm/phys/page.c) that become code of their caller: those of page.c itself,
 * and of the page fault, whose usual course calls no function (mm/space/fault.c). All others use
 * page.h.
 */
#ifndef MM_PHYS_PAGE_QUICK_H
#define MM_PHYS_PAGE_QUICK_H

#include "kernel/quota/quota.h"
#include "mm/phys/failure.h"
#include "mm/phys/page_check.h"
#include "mm/phys/page_stack.h"

struct page_cache {
    uint64_t dirty;  /* atomic: head of the stack of pages with unknown contents */
    uint64_t zeroed; /* atomic: head of the stack of zeroed pages */
} __attribute__((aligned(64)));

/* Indexed by CPU, then by the domain of the pages. */
extern struct page_cache page_caches[MAX_CPUS][RAD_MAX];

/* This CPU's cache for pages of domain rad, or of its own domain for RAD_ANY. */
static inline struct page_cache *page_cache_of(unsigned rad)
{
    unsigned cpu = cpu_id();

    return &page_caches[cpu][likely(rad < rad_count) ? rad : rad_of_cpu(cpu)];
}

/* Take n from fluid_available if at least `floor` remain. False: refused. */
static inline bool fluid_take_above(int64_t floor, uint64_t n)
{
    int64_t a = __atomic_load_n(&fluid_available, __ATOMIC_RELAXED);

    do {
        if (unlikely(a < floor + (int64_t)n))
            return false;
    } while (!__atomic_compare_exchange_n(&fluid_available, &a, a - (int64_t)n, true,
                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    return true;
}

/* Charge n pages and take them from the fluid count. False: refused, and nothing has changed. */
static inline bool pages_take(struct quota_count *c, int64_t floor, uint64_t n)
{
    if (unlikely(!quota_count_take(c, n)))
        return false;
    if (likely(fluid_take_above(floor, n)))
        return true;
    quota_count_give(c, n);
    return false;
}

/* Charge one page to the account of the current thread, as page_alloc() without flags does. False:
   it is refused, or may be made to fail, and nothing has changed; page_alloc() decides.

   One page is subtracted from the fluid count first and looked for a floor afterwards, which is
   shorter than to compare and swap. What is granted never goes below the floor; where it would, the
   page is given back, and so for a moment others find a page less for each thread that is refused.
   For that reason it is not done with more pages. Relaxed order: a page that is not found on the
   first look is searched for under the locks. */
static inline bool page_quick_charge(uint32_t *charge)
{
    struct account *a = account_self();
    struct quota_count *c = &a->count[QUOTA_PAGES];

    if (failure_counting() || !quota_count_take(c, 1))
        return false;
    *charge = quota_number(c);
    if (likely(__atomic_sub_fetch(&fluid_available, 1, __ATOMIC_RELAXED) >=
               __atomic_load_n(&a->page_floor, __ATOMIC_RELAXED)))
        return true;
    __atomic_fetch_add(&fluid_available, 1, __ATOMIC_RELAXED);
    quota_count_give(c, 1);
    return false;
}

/* Take a zeroed page, which has been charged, from this CPU's cache. 0: there is none, and
   page_take_zeroed() finds one. */
static inline uint64_t page_quick_zeroed(unsigned rad)
{
    return stack_pop(&page_cache_of(rad)->zeroed);
}

typedef uint64_t page_quad __attribute__((may_alias));

/* Initialise the database entry of a page that is allocated and charged to a counter. owner: the
   field of that name. */
static inline void page_entry_fresh(uint64_t n, enum page_type type, uint32_t charge,
                                    uint64_t owner)
{
    page_quad *q = (page_quad *)&page_db[n];

    _Static_assert(offsetof(struct page, owner) == 8 && offsetof(struct page, refcnt) == 16 &&
                       offsetof(struct page, state) == 24 && offsetof(struct page, type) == 25 &&
                       sizeof(struct page) == 32,
                   "an entry is four quadwords, link and charge in the first");
    page_db[n].charge = (uint16_t)charge;
    q[1] = owner; /* the link may stay stale */
    q[2] = 1;     /* refcnt 1, share 0 */
    q[3] = PAGE_ACTIVE | (uint64_t)type << 8;
}

/* Find a page that has been charged, zero it if it is not, and initialise its entry. Returns its
   PFN (a number, as a structure would be returned in memory). Cannot fail, as the fluid count has
   granted the page. */
uint64_t page_take_zeroed(enum page_type type, unsigned rad, uint32_t charge, uint64_t owner);

#endif
