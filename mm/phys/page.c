/*
 * The page allocator.
 *
 * A free page is in one of three places:
 *
 *   1. A CPU's cache for the page's domain: two stacks, one of pages with unknown contents and one
 *      of zeroed pages, both without a lock (mm/phys/page_stack.h). So the fast path does not raise
 *      the IPL, and when the thread moves to another CPU in the middle, it correctly uses the cache
 *      of its former CPU. For the same reason the caches hide no pages: when the lists are empty,
 *      pages are taken from the caches of other CPUs.
 *   2. The lists of the page's domain (RAD), under the domain's lock, PAGE_BATCH pages at a time
 *      (mm/phys/page_list.c).
 *   3. The domain's ranges of never-used RAM (mm/phys/page_range.c). Free lists are searched first:
 *      memory that has been used is used again before new memory is touched.
 *
 * Domains. Each CPU has a cache for every domain. A page that is freed on a CPU far from its domain
 * goes into this CPU's cache for that domain, and from there to that domain's list, so pages of
 * different domains are never mixed. An allocation searches all places of the preferred domain,
 * then those of the next: a domain is a hint, and there is one fluid count for all domains. With
 * one domain all this is an index of 0.
 *
 * Accounting. Pages are charged to an account and taken from the fluid count before they are
 * searched for. This is where an allocation can fail; mm/phys/fluid.c shows why the search then
 * always finds a page. The entry of the page keeps the number of the counter, so that whoever frees
 * it, the right account is credited. Account 0 counts what the kernel and user 0 have.
 */
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "mm/phys/failure.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page_private.h"

#define CACHE_HIGH 64u /* above this, all but a batch go to the lists */

struct page_cache page_caches[MAX_CPUS][RAD_MAX];

/* ---- allocation ---- */

/* Find a page that has been charged, wherever it is. */
static uint64_t __attribute__((noinline)) take_slow(unsigned flags, enum page_type type,
                                                    unsigned rad, uint32_t charge, uint64_t owner)
{
    bool zeroed = (flags & PA_ZERO) != 0;
    uint64_t n = page_search(rad_hint(rad), &zeroed);

    page_entry_fresh(n, type, charge, owner);
    if ((flags & PA_ZERO) && !zeroed)
        page_zero(pfn_of(n));
    return n;
}

/* page_take_zeroed(). */
static inline uint64_t take_to_zero(enum page_type type, unsigned rad, uint32_t charge,
                                    uint64_t owner)
{
    uint64_t n = 0;

    /* A zeroed page from the domain's list costs less than zeroing one of this CPU's cache. */
    rad = rad_hint(rad);
    if (__atomic_load_n(&rads[rad].lists[PAGE_ZEROED].count, __ATOMIC_RELAXED) == 0)
        n = stack_pop(&page_caches[cpu_id()][rad].dirty);
    if (unlikely(n == 0))
        return take_slow(PA_ZERO, type, rad, charge, owner);
    page_entry_fresh(n, type, charge, owner);
    mem_zero_page(kseg_page(pfn_of(n)));
    return n;
}

uint64_t page_take_zeroed(enum page_type type, unsigned rad, uint32_t charge, uint64_t owner)
{
    return take_to_zero(type, rad, charge, owner);
}

/* page_alloc() is a leaf function if there is a page in the cache: all other calls are tail calls
   of the following two. */

static int __attribute__((noinline)) alloc_to_zero(enum page_type type, unsigned rad,
                                                   uint32_t charge, pfn_t *out)
{
    *out = pfn_of(take_to_zero(type, rad, charge, 0));
    return 0;
}

static int __attribute__((noinline)) alloc_slow(enum page_type type, unsigned rad, uint32_t charge,
                                                pfn_t *out)
{
    *out = pfn_of(take_slow(0, type, rad, charge, 0));
    return 0;
}

/* Take a page that has been charged. Returns 0. */
static inline int take(unsigned flags, enum page_type type, unsigned rad, uint32_t charge,
                       pfn_t *out)
{
    struct page_cache *c = page_cache_of(rad);
    uint64_t n = stack_pop(flags & PA_ZERO ? &c->zeroed : &c->dirty);

    if (n == 0)
        return flags & PA_ZERO ? alloc_to_zero(type, rad, charge, out)
                               : alloc_slow(type, rad, charge, out);
    page_entry_fresh(n, type, charge, 0);
    *out = pfn_of(n);
    return 0;
}

/* n pages were refused above the floor: a thread whose call starves gets some of the last pages,
 * for others note why. Not inline: it would cost each allocation registers. */
static bool __attribute__((noinline)) take_last_or_note(struct quota_count *c, int64_t floor,
                                                        uint64_t n)
{
    if (quota_is_starved(n) && floor >= 0 && pages_take(c, floor - fluid_for_starved(), n)) {
        quota_note_last(n);
        return true;
    }
    /* If there are both by now, it was the limit, or it is worth another try as well. */
    if (quota_room(c) < n ||
        __atomic_load_n(&fluid_available, __ATOMIC_RELAXED) >= floor + (int64_t)n)
        quota_note_refused(c, n);
    else
        quota_note_refused(c, 0);
    return false;
}

/* pages_take(), which notes why pages are refused. */
static inline bool take_or_note(struct quota_count *c, int64_t floor, uint64_t n)
{
    return likely(pages_take(c, floor, n)) || take_last_or_note(c, floor, n);
}

/* take_or_note() for an allocation with one of these flags. *charge: the counter's number. */
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
    return take_or_note(c, floor, n);
}

static int __attribute__((noinline)) alloc_special(unsigned flags, enum page_type type,
                                                   unsigned rad, pfn_t *out)
{
    uint32_t charge;

    if (!special_take(flags, 1, &charge))
        return -ENOMEM;
    return take(flags, type, rad, charge, out);
}

/* page_alloc() after the check for an injected failure. */
static int __attribute__((noinline)) alloc_one(unsigned flags, enum page_type type, unsigned rad,
                                               pfn_t *out)
{
    struct account *a = account_self();
    struct quota_count *c = &a->count[QUOTA_PAGES];

    if (unlikely(flags & PA_SPECIAL))
        return alloc_special(flags, type, rad, out);
    if (unlikely(!take_or_note(c, __atomic_load_n(&a->page_floor, __ATOMIC_RELAXED), 1)))
        return -ENOMEM;
    return take(flags, type, rad, quota_number(c), out);
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
    uint32_t charge;

    if (likely(!(flags & PA_SPECIAL)) && page_quick_charge(&charge))
        return take(flags, type, rad, charge, out);
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
    return take_or_note(&a->count[QUOTA_PAGES], __atomic_load_n(&a->page_floor, __ATOMIC_RELAXED),
                        n);
}

int page_alloc_bulk(unsigned flags, enum page_type type, unsigned rad, pfn_t *out, size_t n)
{
    uint32_t charge;

    if (!(flags & PA_PROMISED) && failure_inject(MEGA_ALLOC_PAGES))
        return -ENOMEM;
    if (unlikely(!pages_charge(flags, n, &charge)))
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        take(flags, type, rad, charge, &out[i]);
    return 0;
}

static void __attribute__((noinline)) page_free_bad(uint64_t n)
{
    struct rad *r = &rads[rad_of_pfn(n)];
    ipl_t ipl = spin_lock(&r->lock);

    quota_count_give(quota_counter(page_db[n].charge), 1);
    page_db[n].state = PAGE_BAD;
    page_list_push_locked(&r->lists[PAGE_BAD], n, n, 1);
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
        page_cache_drain(&rads[rad_of_pfn(n)], head, state);
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
        page_cache_drain(&rads[rad_of_pfn(pfn.n)], head, state);
}

void page_free(pfn_t pfn)
{
    free_to(&page_caches[cpu_id()][rad_of_pfn(pfn.n)].dirty, PAGE_FREE, pfn);
}

void page_free_zeroed(pfn_t pfn)
{
    free_to(&page_caches[cpu_id()][rad_of_pfn(pfn.n)].zeroed, PAGE_ZEROED, pfn);
}

/* This CPU's stack for the pages of a batch. */
static uint64_t *stack_of(const struct page_batch *b)
{
    struct page_cache *c = &page_caches[cpu_id()][rad_of_pfn(b->low)];

    return b->state == PAGE_ZEROED ? &c->zeroed : &c->dirty;
}

/* Free a chain to this CPU's cache, if it has been marked for that. A cache that has a batch takes
   no other, so that the pages of a large structure go to the lists at once. */
static void chain_free(const struct page_batch *b)
{
    struct rad *r = &rads[rad_of_pfn(b->low)];

    if (b->mark == PAGE_CACHED) {
        uint64_t *head = stack_of(b);

        while (unlikely(stack_push(head, b->first, b->last, b->count) == 0))
            page_cache_drain(r, head, b->state);
    } else {
        ipl_t ipl = spin_lock(&r->lock);

        page_list_push_locked(&r->lists[b->state], b->first, b->last, b->count);
        spin_unlock(&r->lock, ipl);
    }
    fluid_give(b->count);
}

void page_batch_flush(struct page_batch *b)
{
    if (b->count == 0)
        return;
    quota_count_give(quota_counter((uint32_t)b->charge), b->count);
    chain_free(b);
    b->count = 0;
}

/* Begin a chain with a plainly active page. */
static void batch_start(struct page_batch *b, pfn_t pfn)
{
    uint64_t low, end;

    rad_limits(rad_of_pfn(pfn.n), &low, &end);
    b->low = low;
    b->span = end - low;
    b->charge = page_of(pfn)->charge;
    b->mark = head_count(__atomic_load_n(stack_of(b), __ATOMIC_RELAXED)) < PAGE_BATCH ? PAGE_CACHED
                                                                                      : b->state;
    b->first = b->last = (uint32_t)pfn.n;
    b->count = 1;
    page_of(pfn)->state = b->mark;
}

void page_batch_add_slow(struct page_batch *b, pfn_t pfn)
{
    if (!plainly_active(page_of(pfn))) {
        free_special(pfn.n);
    } else {
        page_batch_flush(b);
        batch_start(b, pfn);
    }
}

static inline void free_bulk(const pfn_t *pfns, size_t n, enum page_state state)
{
    struct page_batch b;

    page_batch_begin(&b, state);
    for (size_t i = 0; i < n; i++)
        page_batch_add(&b, pfns[i]);
    page_batch_flush(&b);
}

void page_free_bulk(const pfn_t *pfns, size_t n) { free_bulk(pfns, n, PAGE_FREE); }
void page_free_zeroed_bulk(const pfn_t *pfns, size_t n) { free_bulk(pfns, n, PAGE_ZEROED); }

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
        uint32_t before = __atomic_fetch_sub(&p->refcnt, 1, __ATOMIC_RELEASE);

        if (likely(before > 1))
            return false;
        page_unref_last(pfn, before);
        return true;
    }
    page_free(pfn);
    return true;
}

void page_unref_last(pfn_t pfn, uint32_t before)
{
    KASSERT(before != 0, "a reference that is dropped exists");
    /* Acquire order, as others have dropped theirs: what they did with the page is over. */
    (void)__atomic_load_n(&page_of(pfn)->refcnt, __ATOMIC_ACQUIRE);
    page_free(pfn);
}

void page_set_bad(pfn_t pfn) { __atomic_fetch_or(&page_of(pfn)->flags, PG_BAD, __ATOMIC_RELAXED); }
