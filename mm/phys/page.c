/*
 * The page allocator.
 *
 * A free page is in one of three places:
 *
 *   1. A CPU's cache for the page's domain: two stacks, one of pages with unknown contents and one
 *      of zeroed pages. The head of a stack is one quadword {version:30, count:7, PFN:27}, changed
 *      only by compare-and-swap; the link is in the page's database entry. So the fast path takes
 *      no lock and does not raise the IPL, and when the thread moves to another CPU in the middle,
 *      it correctly uses the cache of its former CPU. For the same reason the caches hide no
 *      pages: when the lists are empty, pages are taken from the caches of other CPUs.
 *   2. The lists of the page's domain (RAD), under the domain's lock, PAGE_BATCH pages at a time.
 *   3. The domain's ranges of never-used RAM (mm/phys/page_range.c). Free lists are searched first:
 *      memory that has been used is used again before new memory is touched.
 *
 * Domains. Each CPU has a cache for every domain. A page that is freed on a CPU far from its domain
 * goes into this CPU's cache for that domain, and from there to that domain's list, so pages of
 * different domains are never mixed. An allocation searches all places of the preferred domain,
 * then those of the next: a domain is a hint, and there is one fluid count for all domains. With
 * one domain all this is an index of 0.
 *
 * Versions. Popping page A, whose link is B, swaps {v, A} for {v + 1, B}. Without a version:
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
 *
 * Accounting. Pages are charged to an account and taken from the fluid count before they are
 * searched for. This is where an allocation can fail; mm/phys/fluid.c shows why the search then
 * always finds a page. The entry of the page keeps the number of the counter, so that whoever frees
 * it, the right account is credited. Account 0 counts what the kernel and user 0 have.
 *
 * Contents. A page is allocated zeroed (PA_ZERO), or to a caller that overwrites it. Only being on
 * a zeroed stack or list marks a page as zero; page_zero_idle() and page_free_zeroed() put pages
 * there, page_free() never does.
 */
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "mm/phys/failure.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page_private.h"

#define CACHE_HIGH 64u  /* above this, all but a batch go to the lists */
#define CACHE_MAX  127u /* largest value of the 7-bit count */

/* After so many fruitless rounds the pages that were counted must be lost: panic. */
#define SEARCH_LIMIT 100000000UL

struct page_cache page_caches[MAX_CPUS][RAD_MAX];

/* This CPU's cache for pages of domain rad, or of its own domain for RAD_ANY. */
static inline struct page_cache *cache_of(unsigned rad)
{
    unsigned cpu = cpu_id();

    return &page_caches[cpu][likely(rad < rad_count) ? rad : rad_of_cpu(cpu)];
}

/* ---- stacks ---- */

#define HEAD_ONE (1UL << HEAD_COUNT_SHIFT)

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
static uint64_t stack_take_all(uint64_t *head, unsigned *count)
{
    uint64_t h = __atomic_load_n(head, __ATOMIC_RELAXED);

    while (!__atomic_compare_exchange_n(head, &h, (h & ~(HEAD_VERSION - 1)) + HEAD_VERSION, true,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        ;
    *count = head_count(h);
    return h & HEAD_PFN_MASK;
}

/* ---- lists ---- */

/* Set the state of the first count pages of a chain. Returns the last of them. */
static uint64_t chain_walk(uint64_t first, unsigned count, enum page_state state)
{
    uint64_t n = first;

    for (;;) {
        page_db[n].state = (uint8_t)state;
        if (--count == 0)
            return n;
        n = link_of(n);
    }
}

/* Put the chain first ... last of count pages on a list. Lock of its domain held. */
static void list_push_locked(struct page_list *l, uint64_t first, uint64_t last, uint64_t count)
{
    link_set(last, l->head);
    l->head = (uint32_t)first;
    count_add_locked(&l->count, count);
}

/* Take up to n pages off a list as a chain and set their state. Returns the number of pages. Lock
   of the list's domain held. */
static unsigned list_take_locked(struct page_list *l, unsigned n, enum page_state state,
                                 uint64_t *first, uint64_t *last)
{
    n = (unsigned)MIN((uint64_t)n, l->count);
    if (n == 0)
        return 0;
    *first = l->head;
    *last = chain_walk(l->head, n, state);
    l->head = link_of(*last);
    count_sub_locked(&l->count, n);
    return n;
}

/* Take up to n pages from the ranges as a chain. Returns the number of pages. Lock of r held. */
static unsigned range_take_chain_locked(struct rad *r, unsigned n, uint64_t *first, uint64_t *last)
{
    unsigned got = (unsigned)range_take_low_locked(r, n, first);

    for (unsigned i = 0; i < got; i++) {
        page_db[*first + i].state = PAGE_CACHED;
        link_set(*first + i, (uint32_t)(*first + i + 1));
    }
    *last = *first + got - 1;
    return got;
}

/* Refill this CPU's cache from the lists and ranges of r, and return one page of the batch; 0: they
   are empty. *zeroed: is a zeroed page preferred; on return, whether the page is zeroed. Between
   list and cache the batch is in neither, so the IPL stays raised until it is in the cache. */
static uint64_t cache_refill(struct rad *r, bool *zeroed)
{
    ipl_t ipl = spin_lock(&r->lock);
    struct page_cache *c = &page_caches[cpu_id()][r - rads];
    uint64_t first = 0, last = 0;
    bool want_zeroed = *zeroed;
    unsigned n = want_zeroed ? list_take_locked(&r->lists[PAGE_ZEROED], PAGE_BATCH, PAGE_CACHED,
                                                &first, &last)
                             : 0;

    *zeroed = n > 0;
    if (n == 0)
        n = list_take_locked(&r->lists[PAGE_FREE], PAGE_BATCH, PAGE_CACHED, &first, &last);
    if (n == 0)
        n = range_take_chain_locked(r, PAGE_BATCH, &first, &last);
    if (n == 0) {
        n = list_take_locked(&r->lists[PAGE_ZEROED], PAGE_BATCH, PAGE_CACHED, &first, &last);
        *zeroed = n > 0;
    }
    if (n > 1) {
        uint64_t second = link_of(first);

        if (stack_push(*zeroed ? &c->zeroed : &c->dirty, second, last, n - 1) == 0) {
            enum page_state s = *zeroed ? PAGE_ZEROED : PAGE_FREE;

            chain_walk(second, n - 1, s);
            list_push_locked(&r->lists[s], second, last, n - 1);
        }
    }
    spin_unlock(&r->lock, ipl);
    return n > 0 ? first : 0;
}

/* Move all but a batch of an oversized stack to the list of `state` (free or zeroed). */
static void __attribute__((noinline)) cache_drain(struct rad *r, uint64_t *head,
                                                  enum page_state state)
{
    ipl_t ipl = spin_lock(&r->lock);
    unsigned count;
    uint64_t first = stack_take_all(head, &count);

    if (count > PAGE_BATCH) {
        uint64_t last = chain_walk(first, count - PAGE_BATCH, state);
        uint64_t rest = link_of(last);

        list_push_locked(&r->lists[state], first, last, count - PAGE_BATCH);
        first = rest;
        count = PAGE_BATCH;
    }
    if (count > 0) {
        uint64_t last = chain_walk(first, count, PAGE_CACHED);

        if (stack_push(head, first, last, count) == 0) {
            chain_walk(first, count, state);
            list_push_locked(&r->lists[state], first, last, count);
        }
    }
    spin_unlock(&r->lock, ipl);
}

/* Move all pages of a stack to the list of `state`. Lock of r held. */
static void cache_empty_locked(struct rad *r, uint64_t *head, enum page_state state)
{
    unsigned count;
    uint64_t first = stack_take_all(head, &count);

    if (count > 0)
        list_push_locked(&r->lists[state], first, chain_walk(first, count, state), count);
}

/* Take a page of one domain, from its lists and ranges or any CPU's cache; 0: there is none.
   *zeroed as for cache_refill(). */
static uint64_t search_rad(unsigned rad, bool *zeroed)
{
    uint64_t n = cache_refill(&rads[rad], zeroed);

    for (unsigned i = 0; n == 0 && i < MAX_CPUS; i++) {
        *zeroed = false;
        if ((n = stack_pop(&page_caches[i][rad].dirty)) != 0)
            break;
        *zeroed = true;
        n = stack_pop(&page_caches[i][rad].zeroed);
    }
    return n;
}

void page_drain(void)
{
    for (unsigned i = 0; i < MAX_CPUS * rad_count; i++) {
        struct page_cache *c = &page_caches[i / rad_count][i % rad_count];
        struct rad *r = &rads[i % rad_count];
        ipl_t ipl = spin_lock(&r->lock);

        cache_empty_locked(r, &c->dirty, PAGE_FREE);
        cache_empty_locked(r, &c->zeroed, PAGE_ZEROED);
        spin_unlock(&r->lock, ipl);
    }
}

/* Find the free page that the caller has taken from the fluid count: first in domain rad, then in
   the following ones. *zeroed as for cache_refill(). */
static uint64_t __attribute__((noinline)) page_search(unsigned rad, bool *zeroed)
{
    bool want_zeroed = *zeroed;

    for (uint64_t tries = 0; tries < SEARCH_LIMIT; tries++)
        for (unsigned i = 0; i < rad_count; i++) {
            uint64_t n;

            *zeroed = want_zeroed;
            if ((n = search_rad((rad + i) % rad_count, zeroed)) != 0)
                return n;
        }
    panic("free pages are counted that no list, range or cache holds");
}

/* ---- allocation ---- */

/* The fast paths below are leaf functions: all other calls are tail calls of noinline functions. */

typedef uint64_t quad __attribute__((may_alias));

/* Initialise the database entry of a page that is allocated and charged to a counter. */
static inline void entry_fresh(uint64_t n, enum page_type type, uint32_t charge)
{
    quad *q = (quad *)&page_db[n];

    _Static_assert(offsetof(struct page, owner) == 8 && offsetof(struct page, refcnt) == 16 &&
                       offsetof(struct page, state) == 24 && offsetof(struct page, type) == 25 &&
                       sizeof(struct page) == 32,
                   "an entry is four quadwords, link and charge in the first");
    page_db[n].charge = (uint16_t)charge;
    q[1] = 0; /* owner; the link may stay stale */
    q[2] = 1; /* refcnt 1, share 0 */
    q[3] = PAGE_ACTIVE | (uint64_t)type << 8;
}

static int __attribute__((noinline)) take_slow(unsigned flags, enum page_type type, unsigned rad,
                                               uint32_t charge, pfn_t *out)
{
    bool zeroed = (flags & PA_ZERO) != 0;
    uint64_t n = page_search(rad_hint(rad), &zeroed);

    entry_fresh(n, type, charge);
    *out = pfn_of(n);
    if ((flags & PA_ZERO) && !zeroed)
        page_zero(*out);
    return 0;
}

static int __attribute__((noinline)) take_zeroed(unsigned flags, enum page_type type, unsigned rad,
                                                 uint32_t charge, pfn_t *out)
{
    struct page_cache *c = cache_of(rad);
    uint64_t n = stack_pop(&c->zeroed);
    bool zeroed = n != 0;

    /* A zeroed page from the domain's list costs less than zeroing one of this CPU's cache. */
    if (!zeroed &&
        __atomic_load_n(&rads[rad_hint(rad)].lists[PAGE_ZEROED].count, __ATOMIC_RELAXED) == 0)
        n = stack_pop(&c->dirty);
    if (unlikely(n == 0))
        return take_slow(flags, type, rad, charge, out);
    entry_fresh(n, type, charge);
    *out = pfn_of(n);
    if (!zeroed)
        page_zero(*out);
    return 0;
}

static inline int take_dirty(unsigned flags, enum page_type type, unsigned rad, uint32_t charge,
                             pfn_t *out)
{
    uint64_t n = stack_pop(&cache_of(rad)->dirty);

    if (unlikely(n == 0))
        return take_slow(flags, type, rad, charge, out);
    entry_fresh(n, type, charge);
    *out = pfn_of(n);
    return 0;
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

/* The same for an allocation with one of these flags. *charge: the counter's number. */
#define PA_SPECIAL (PA_PROMISED | PA_KERNEL | PA_FILE | PA_SHARED)
static bool special_take(unsigned flags, uint64_t n, uint32_t *charge)
{
    struct account *a = account_self();
    struct quota_count *c = &account_system->count[QUOTA_PAGES];
    int64_t floor = __atomic_load_n(&a->page_floor, __ATOMIC_RELAXED);

    if (flags & PA_FILE) {
        c = &a->count[QUOTA_FILE_PAGES];
        floor = __atomic_load_n(&a->file_floor, __ATOMIC_RELAXED);
    } else if (!(flags & PA_SHARED)) {
        floor = fluid_floor(flags, floor);
    }
    *charge = quota_number(c);
    return pages_take(c, floor, n);
}

static int __attribute__((noinline)) alloc_special(unsigned flags, enum page_type type,
                                                   unsigned rad, pfn_t *out)
{
    uint32_t charge;

    if (!special_take(flags, 1, &charge))
        return -ENOMEM;
    return flags & PA_ZERO ? take_zeroed(flags, type, rad, charge, out)
                           : take_dirty(flags, type, rad, charge, out);
}

/* page_alloc() after the check for an injected failure. */
static inline int alloc_one(unsigned flags, enum page_type type, unsigned rad, pfn_t *out)
{
    struct account *a = account_self();
    struct quota_count *c = &a->count[QUOTA_PAGES];

    if (unlikely(flags & PA_SPECIAL))
        return alloc_special(flags, type, rad, out);
    if (unlikely(!pages_take(c, __atomic_load_n(&a->page_floor, __ATOMIC_RELAXED), 1)))
        return -ENOMEM;
    if (flags & PA_ZERO)
        return take_zeroed(flags, type, rad, quota_number(c), out);
    return take_dirty(flags, type, rad, quota_number(c), out);
}

/* page_alloc() while failure injection counts allocations. Promised pages cannot fail and are not
   counted. */
static int __attribute__((noinline)) alloc_counted(unsigned flags, enum page_type type,
                                                   unsigned rad, pfn_t *out)
{
    if (!(flags & PA_PROMISED) && failure_count(MEGA_ALLOC_PAGE))
        return -ENOMEM;
    return alloc_one(flags, type, rad, out);
}

int page_alloc(unsigned flags, enum page_type type, unsigned rad, pfn_t *out)
{
    if (failure_counting())
        return alloc_counted(flags, type, rad, out);
    return alloc_one(flags, type, rad, out);
}

/* special_take() for any flags. */
bool pages_charge(unsigned flags, uint64_t n, uint32_t *charge)
{
    struct account *a = account_self();

    if (unlikely(flags & PA_SPECIAL))
        return special_take(flags, n, charge);
    *charge = quota_number(&a->count[QUOTA_PAGES]);
    return pages_take(&a->count[QUOTA_PAGES], __atomic_load_n(&a->page_floor, __ATOMIC_RELAXED), n);
}

int page_alloc_bulk(unsigned flags, enum page_type type, unsigned rad, pfn_t *out, size_t n)
{
    uint32_t charge;

    if (!(flags & PA_PROMISED) && failure_inject(MEGA_ALLOC_PAGES))
        return -ENOMEM;
    if (unlikely(!pages_charge(flags, n, &charge)))
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (flags & PA_ZERO)
            take_zeroed(flags, type, rad, charge, &out[i]);
        else
            take_dirty(flags, type, rad, charge, &out[i]);
    }
    return 0;
}

static void __attribute__((noinline)) page_free_bad(uint64_t n)
{
    struct rad *r = &rads[rad_of_pfn(n)];
    ipl_t ipl = spin_lock(&r->lock);

    quota_count_give(quota_counter(page_db[n].charge), 1);
    page_db[n].state = PAGE_BAD;
    list_push_locked(&r->lists[PAGE_BAD], n, n, 1);
    spin_unlock(&r->lock, ipl);
}

/* Free a page that is not simply active: a bad one; any other panics. */
static void __attribute__((noinline)) free_special(uint64_t n)
{
    KASSERT(page_db[n].state == PAGE_ACTIVE, "a page that is freed is active");
    page_free_bad(n);
}

/* Is it an active page without flags, so that it can go to a cache? */
static inline bool plainly_active(const struct page *p)
{
    return p->state == PAGE_ACTIVE && p->flags == 0;
}

/* Free a page to a stack that is full. */
static void __attribute__((noinline)) free_full(uint64_t *head, enum page_state state, uint64_t n)
{
    while (stack_push(head, n, n, 1) == 0)
        cache_drain(&rads[rad_of_pfn(n)], head, state);
    fluid_give(1);
}

/* Free a page to a stack of this CPU's cache, which is drained to the list of `state`. */
static inline void free_to(uint64_t *head, enum page_state state, pfn_t pfn)
{
    struct page *p = page_of(pfn);
    unsigned total;

    if (unlikely(!plainly_active(p))) {
        free_special(pfn.n);
        return;
    }
    quota_count_give(quota_counter(p->charge), 1);
    p->state = PAGE_CACHED;
    total = stack_push(head, pfn.n, pfn.n, 1);
    if (unlikely(total == 0)) {
        free_full(head, state, pfn.n);
        return;
    }
    fluid_give(1);
    if (unlikely(total > CACHE_HIGH))
        cache_drain(&rads[rad_of_pfn(pfn.n)], head, state);
}

void page_free(pfn_t pfn)
{
    free_to(&page_caches[cpu_id()][rad_of_pfn(pfn.n)].dirty, PAGE_FREE, pfn);
}

void page_free_zeroed(pfn_t pfn)
{
    free_to(&page_caches[cpu_id()][rad_of_pfn(pfn.n)].zeroed, PAGE_ZEROED, pfn);
}

/* Free a chain of count pages of one domain to this CPU's cache. */
static void chain_free(uint64_t first, uint64_t last, unsigned count)
{
    unsigned rad = rad_of_pfn(first);
    uint64_t *head = &page_caches[cpu_id()][rad].dirty;
    unsigned total;

    while (unlikely((total = stack_push(head, first, last, count)) == 0))
        cache_drain(&rads[rad], head, PAGE_FREE);
    fluid_give(count);
    if (unlikely(total > CACHE_HIGH))
        cache_drain(&rads[rad], head, PAGE_FREE);
}

void page_free_bulk(const pfn_t *pfns, size_t n)
{
    uint64_t first = 0, last = 0, charged = 0; /* charged: pages in turn with the same charge */
    uint64_t low = 0, end = 0;                 /* the PFNs of the domain of the chain's pages */
    uint32_t charge = 0;
    unsigned count = 0;

    for (size_t i = 0; i < n; i++) {
        struct page *p = page_of(pfns[i]);

        if (unlikely(!plainly_active(p))) {
            free_special(pfns[i].n);
            continue;
        }
        if (unlikely(p->charge != charge)) {
            quota_count_give(quota_counter(charge), charged);
            charge = p->charge;
            charged = 0;
        }
        charged++;
        if (unlikely(pfns[i].n < low || pfns[i].n >= end)) {
            if (count > 0)
                chain_free(first, last, count);
            count = 0;
            rad_limits(rad_of_pfn(pfns[i].n), &low, &end);
        }
        p->state = PAGE_CACHED;
        if (count == 0)
            last = pfns[i].n;
        else
            link_set(pfns[i].n, (uint32_t)first);
        first = pfns[i].n;
        if (++count == PAGE_BATCH) {
            chain_free(first, last, count);
            count = 0;
        }
    }
    if (count > 0)
        chain_free(first, last, count);
    quota_count_give(quota_counter(charge), charged);
}

void page_ref(pfn_t pfn)
{
    uint32_t old = __atomic_fetch_add(&page_of(pfn)->refcnt, 1, __ATOMIC_RELAXED);

    KASSERT(old != 0 && old != UINT32_MAX,
            "a reference is made from another one, and their count fits");
}

bool page_unref(pfn_t pfn)
{
    struct page *p = page_of(pfn);

    /* A count of 1 is the caller's own reference, and nobody else can add one: no atomic
       subtraction is needed. */
    if (__atomic_load_n(&p->refcnt, __ATOMIC_ACQUIRE) != 1) {
        uint32_t old = __atomic_fetch_sub(&p->refcnt, 1, __ATOMIC_ACQ_REL);

        KASSERT(old != 0, "a reference that is dropped exists");
        if (old != 1)
            return false;
    }
    page_free(pfn);
    return true;
}

void page_set_bad(pfn_t pfn) { __atomic_fetch_or(&page_of(pfn)->flags, PG_BAD, __ATOMIC_RELAXED); }

/* ---- contents ---- */

void page_zero(pfn_t pfn) { mem_zero_page(kseg_page(pfn)); }

void page_zero_if_needed(pfn_t pfn)
{
    void *p = kseg_page(pfn);

    if (!mem_is_zero(p, PAGE_SIZE))
        mem_zero_page(p);
}

void page_copy(pfn_t dst, pfn_t src) { mem_copy_page(kseg_page(dst), kseg_page(src)); }

/*
 * Take the lowest never-used page of r, whose lock is held, for the list of zeroed pages. It is
 * only read: on a sparse host it is zero, and has no memory until its owner writes to it. It is
 * read where it is, without the lock, and taken afterwards unless another CPU has taken it
 * meanwhile; had it also become the lowest again, a range would have been made. A page that is not
 * zero goes to the free list, for another call. Returns with the lock dropped.
 */
static void zero_unused_unlock(struct rad *r, ipl_t ipl)
{
    uint64_t first = r->ranges[0].first;
    uint32_t made = r->ranges_made;
    bool zero;

    spin_unlock(&r->lock, ipl);
    zero = mem_is_zero(kseg_page(pfn_of(first)), PAGE_SIZE);
    ipl = spin_lock(&r->lock);
    if (r->nranges > 0 && r->ranges[0].first == first && r->ranges_made == made) {
        range_take_low_locked(r, 1, &first);
        page_db[first].state = zero ? PAGE_ZEROED : PAGE_FREE;
        list_push_locked(&r->lists[zero ? PAGE_ZEROED : PAGE_FREE], first, first, 1);
    }
    spin_unlock(&r->lock, ipl);
}

/*
 * Zero one free page of r in advance. False: nothing to do. While it is zeroed, the page is counted
 * as free but is on no list, so the IPL stays raised until it is on one again, about a microsecond.
 * The lock is dropped meanwhile, so that others can take all other pages. Pages of the free list
 * come first.
 */
static bool zero_one(struct rad *r, uint64_t goal)
{
    struct page_list *zeroed = &r->lists[PAGE_ZEROED];
    uint64_t first = 0, last;

    if (__atomic_load_n(&zeroed->count, __ATOMIC_RELAXED) >= goal ||
        (__atomic_load_n(&r->lists[PAGE_FREE].count, __ATOMIC_RELAXED) == 0 &&
         __atomic_load_n(&r->range_pages, __ATOMIC_RELAXED) == 0))
        return false; /* nearly always, and without taking the lock */

    ipl_t ipl = spin_lock(&r->lock);

    if (zeroed->count < goal &&
        list_take_locked(&r->lists[PAGE_FREE], 1, PAGE_ZEROED, &first, &last) > 0) {
        spin_unlock_at_ipl(&r->lock);
        page_zero(pfn_of(first));
        spin_lock_at_ipl(&r->lock);
        list_push_locked(zeroed, first, first, 1);
    } else if (zeroed->count < goal && r->nranges > 0) {
        zero_unused_unlock(r, ipl);
        return true;
    }
    spin_unlock(&r->lock, ipl);
    return first != 0;
}

unsigned page_zero_idle(unsigned limit, uint64_t goal)
{
    unsigned home = rad_of_cpu(cpu_id()), done = 0;

    for (unsigned i = 0; i < rad_count; i++)
        while (done < limit && zero_one(&rads[(home + i) % rad_count], goal))
            done++;
    return done;
}

/* ---- the self-check ---- */

/* Call fn for each page of a chain. True: it has exactly `count` pages. */
static bool walk_chain(uint64_t first, uint64_t count, enum page_state state,
                       void (*fn)(void *arg, uint64_t n, enum page_state state), void *arg)
{
    uint64_t n = first;

    for (; count > 0 && n != 0 && page_entry_valid(pfn_of(n)); count--) {
        fn(arg, n, state);
        n = link_of(n);
    }
    return count == 0 && n == 0;
}

uint64_t *page_list_count(unsigned rad, enum page_state state)
{
    return &rads[rad].lists[state].count;
}

const char *page_walk_free(void (*fn)(void *arg, uint64_t n, enum page_state state), void *arg)
{
    static const uint8_t states[] = {PAGE_FREE, PAGE_MODIFIED, PAGE_BAD, PAGE_ZEROED};
    const char *broken = NULL;

    for (unsigned i = 0; i < rad_count; i++)
        for (unsigned s = 0; s < ARRAY_SIZE(states); s++) {
            const struct page_list *l = &rads[i].lists[states[s]];

            if (!walk_chain(l->head, l->count, states[s], fn, arg))
                broken = "a page list is not as long as its count says";
        }
    for (unsigned i = 0; i < MAX_CPUS * RAD_MAX; i++) {
        const struct page_cache *c = &page_caches[i / RAD_MAX][i % RAD_MAX];
        uint64_t heads[] = {c->dirty, c->zeroed};

        for (unsigned k = 0; k < ARRAY_SIZE(heads); k++)
            if (!walk_chain(heads[k] & HEAD_PFN_MASK, head_count(heads[k]), PAGE_CACHED, fn, arg))
                broken = "a CPU's page cache is not as long as its count says";
    }
    return broken;
}
