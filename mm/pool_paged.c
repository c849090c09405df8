/*
 * Paged pool.
 *
 * PAGEDYN bytes of mapped system space from LAYOUT_PAGED_POOL_BASE, demand-zero: a page is there
 * once it was touched (system_fault() gives it). In front lie the boundary bits (one for 16
 * bytes), then the pool proper. Used at IPL 0 without a spinlock only.
 *
 * Requests up to PAGED_LAL_SIZE go through lookaside lists (mm/pool_lal.h) without a mutex; the
 * variable list is protected by the PGDYN mutex. All lists together
 * hold at most three quarters of the pool: each has an allowance, which it takes out of that as it
 * grows; on shortage all lists are given back to the variable list. Where
 * PAGED_LAL_SIZE is lowered while the system runs, packets of larger sizes stay on their lists
 * until then.
 *
 * Out of memory: before the variable list hands a block out, every page of it, and the one in
 * which the rest's header lands, is touched under a fault fix-up, as are the pages of the boundary
 * bits: if a fault cannot be resolved, the request fails and nothing has changed. What was handed
 * out is present (as long as nothing pages).
 *
 * A process that dies does so in user mode or on its way out of a call, never while it holds the
 * mutex.
 */
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/bitops.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/sched/mutex.h"
#include "mm/aspace.h"
#include "mm/pool_check.h"
#include "mm/pool_lal.h"
#include "sysman/params.h"

#define OFFSET_BITS 32u
#define LIST_STEP   16384u /* a list's allowance grows by this */

static struct mutex pgdyn = MUTEX_INIT("PGDYN", MUTEX_PGDYN, pgdyn);
static struct pool_list lists[POOL_LISTS];
static struct pool_area area; /* constant after boot */
static uint64_t list_budget;  /* atomic: bytes that lists may still be allowed to hold */
static uint64_t high_water;   /* end of all that was ever handed out; pgdyn */

/* Pages that lie wholly inside free blocks, past their headers, and are still present: they go back
   to the system when there are SPARE_PAGES of them, so that a block that comes and goes does not
   cost a fault and a shootdown each time. pgdyn. */
#define SPARE_PAGES 32u
static uint64_t spare[SPARE_PAGES];
static unsigned nspare;
static uint64_t given_back; /* pages so far; pgdyn */

static struct pool_area *area_of(uint64_t p) { return p - area.base < area.size ? &area : NULL; }

static struct pool_var var = {.area_of = area_of, .name = "paged"}; /* pgdyn */

/* ---- pages of free blocks ---- */

static void spare_give_back(void)
{
    for (unsigned i = 0; i < nspare; i++)
        kunmap_pages(spare[i], 1, true);
    given_back += nspare;
    nspare = 0;
}

/* [p, p + size) was freed and is part of the free block b now: its pages that hold nothing else are
   spare. POOLCHECK needs their patterns. pgdyn held. */
static void spare_add(const struct pool_block *b, uint64_t p, uint64_t size)
{
    uint64_t low = page_round_up((uint64_t)b + sizeof(*b)), high = (uint64_t)b + b->size;
    /* Up to the page of the header that stood behind it: it may have been all that was there. */
    uint64_t end = MIN(page_round_up(p + size + sizeof(*b)), high);

    if (pool_check)
        return;
    for (uint64_t a = MAX(low, page_round_down(p)); a + PAGE_SIZE <= end; a += PAGE_SIZE) {
        bool known = kmap_lookup(a).n == 0;

        for (unsigned i = 0; i < nspare && !known; i++)
            known = spare[i] == a;
        if (known)
            continue;
        if (nspare == SPARE_PAGES)
            spare_give_back();
        spare[nspare++] = a;
    }
}

/* [p, p + size) is about to be used again. pgdyn held. */
static void spare_remove(uint64_t p, uint64_t size)
{
    for (unsigned i = 0; i < nspare;)
        if (spare[i] + PAGE_SIZE > p && spare[i] < p + size)
            spare[i] = spare[--nspare];
        else
            i++;
}

/* Make the pages of [p, p + size) present. pgdyn held. */
static bool present(uint64_t p, uint64_t size)
{
    uint64_t value;

    for (uint64_t a = page_round_down(p); a < p + size; a += PAGE_SIZE)
        if (kernel_read_u64(&value, (void *)a))
            return false;
    return true;
}

/* The same for a block to be, whose pages may never have been touched, and its boundary bits. */
static bool touch(uint64_t p, uint64_t size)
{
    uint64_t bits = (uint64_t)&area.starts[(p - area.base) / POOL_GRAIN / 64];
    uint64_t last = (uint64_t)&area.starts[(p + size - area.base) / POOL_GRAIN / 64];
    uint64_t first = page_round_down(p);

    spare_remove(p, size);
    return kmap_demand_zero(first, (page_round_up(p + size) - first) >> PAGE_SHIFT) == 0 &&
           present(bits, last + sizeof(uint64_t) - bits) && present(p, size);
}

static uint64_t list_pop(struct pool_list *l)
{
    const uint64_t mask = (1UL << OFFSET_BITS) - 1;
    uint64_t h, p, link, next;

    for (;;) {
        h = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE);
        if ((h & mask) == 0)
            return 0;
        p = LAYOUT_PAGED_POOL_BASE + (h & mask) * POOL_GRAIN;
        if (kernel_read_u64(&link, (void *)p))
            continue; /* its page is gone: so is the packet, and head has changed */
        next = h - (h & mask) + mask + 1 + (link & mask);
        if (__atomic_compare_exchange_n(&l->head, &h, next, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return p;
    }
}

/* pgdyn held. */
static void variable_free(uint64_t p, uint64_t size)
{
    spare_add(pool_var_free(&var, (void *)p, size), p, size);
}

/* Give all that the lookaside lists hold back to the variable list. pgdyn held. */
static bool reclaim_locked(void)
{
    bool any = false;

    for (unsigned i = 0; i < POOL_LISTS; i++) {
        uint64_t size = (i + 1) * POOL_GRAIN, p;

        while ((p = list_pop(&lists[i])) != 0) {
            __atomic_fetch_sub(&lists[i].frees, 1, __ATOMIC_RELAXED);
            pool_unseal("paged", p, size);
            variable_free(p, size);
            any = true;
        }
        __atomic_fetch_add(&list_budget, __atomic_exchange_n(&lists[i].most, 0, __ATOMIC_RELAXED),
                           __ATOMIC_RELAXED);
    }
    return any;
}

/* Allow a list to hold more: false when all lists together may hold no more than they do. A CPU
   that has just looked may push beyond an allowance that reclaim_locked() takes back meanwhile: a
   packet or two for each CPU. */
static bool list_grow(struct pool_list *l)
{
    uint64_t left = __atomic_load_n(&list_budget, __ATOMIC_RELAXED);

    do {
        if (left < LIST_STEP)
            return false;
    } while (!__atomic_compare_exchange_n(&list_budget, &left, left - LIST_STEP, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    __atomic_fetch_add(&l->most, LIST_STEP, __ATOMIC_RELAXED);
    return true;
}

void *pgd_alloc(size_t nbytes)
{
    uint64_t size = pool_round(nbytes);
    void *p;

    if (nbytes == 0 || nbytes > area.size)
        return NULL;
    if (likely(size <= (uint64_t)sysparam(SYSPARAM_PAGED_LAL_SIZE))) {
        struct pool_list *l = &lists[size / POOL_GRAIN - 1];
        uint64_t a;

        __atomic_fetch_add(&l->requests, 1, __ATOMIC_RELAXED);
        a = list_pop(l);
        if (likely(a != 0)) {
            pool_unseal("paged", a, size);
            if (unlikely(pool_check != 0))
                pool_check_taken("paged", a, size, UINT64_MAX);
            return (void *)a;
        }
        __atomic_fetch_add(&l->misses, 1, __ATOMIC_RELAXED);
    }
    mutex_lock(&pgdyn);
    p = pool_var_alloc(&var, size, touch);
    if (!p && reclaim_locked())
        p = pool_var_alloc(&var, size, touch);
    if (p && unlikely(pool_check != 0))
        pool_check_taken("paged", (uint64_t)p, size, high_water);
    if (p)
        high_water = MAX(high_water, (uint64_t)p + size);
    mutex_unlock(&pgdyn);
    return p;
}

void *pgd_alloc_zeroed(size_t nbytes)
{
    void *p = pgd_alloc(nbytes);

    if (p)
        memset(p, 0, nbytes);
    return p;
}

void pgd_free(void *p, size_t nbytes)
{
    uint64_t size = pool_round(nbytes);

    if (unlikely(nbytes == 0 || (!pool_area_is_small_block(&area, (uint64_t)p, size / POOL_GRAIN) &&
                                 !pool_area_is_block(&area, (uint64_t)p, size))))
        panic("paged pool: no block of %lu bytes starts at %p", nbytes, p);
    if (unlikely(pool_check != 0) && ((uint64_t *)p)[1] != pool_seal((uint64_t)p))
        pool_check_fill((uint64_t)p, size);
    if (likely(size <= (uint64_t)sysparam(SYSPARAM_PAGED_LAL_SIZE))) {
        struct pool_list *l = &lists[size / POOL_GRAIN - 1];

        if (likely(pool_list_count(l) * size < __atomic_load_n(&l->most, __ATOMIC_RELAXED) ||
                   list_grow(l))) {
            pool_seal_set("paged", (uint64_t)p, size);
            pool_list_push(l, LAYOUT_PAGED_POOL_BASE, OFFSET_BITS, (uint64_t)p);
            return;
        }
    }
    mutex_lock(&pgdyn);
    variable_free((uint64_t)p, size);
    mutex_unlock(&pgdyn);
}

void pgd_stats(struct pool_stats *s)
{
    mutex_lock(&pgdyn);
    pool_var_stats(&var, s);
    mutex_unlock(&pgdyn);
    s->lookaside_bytes = 0;
    for (unsigned i = 0; i < POOL_LISTS; i++)
        s->lookaside_bytes += pool_list_count(&lists[i]) * (i + 1) * POOL_GRAIN;
    s->in_use = s->size - s->free - MIN(s->lookaside_bytes, s->size - s->free);
    s->lal_size = (uint32_t)sysparam(SYSPARAM_PAGED_LAL_SIZE);
    s->nlists = POOL_LISTS;
}

void pgd_free_space(uint64_t *blocks, uint64_t *nbytes)
{
    *blocks = __atomic_load_n(&var.blocks, __ATOMIC_RELAXED);
    *nbytes = __atomic_load_n(&var.bytes, __ATOMIC_RELAXED);
}

unsigned pgd_lists(void) { return POOL_LISTS; }

void pgd_list_stats(unsigned list, struct pool_list_stats *s)
{
    pool_list_stats_of(&lists[list], s);
}

int pgd_check(void)
{
    mutex_lock(&pgdyn);
    int err = pool_var_check(&var);

    mutex_unlock(&pgdyn);
    return err;
}

void pool_boot_paged(void)
{
    uint64_t bytes = page_round_down((uint64_t)sysparam(SYSPARAM_PAGEDYN));
    uint64_t bits = page_round_up(POOL_AREA_WORDS(bytes) * sizeof(uint64_t));

    area.base = LAYOUT_PAGED_POOL_BASE + bits;
    area.size = bytes - bits;
    area.starts = (uint64_t *)LAYOUT_PAGED_POOL_BASE;
    list_budget = area.size / 4 * 3;

    mutex_lock(&pgdyn);
    if (kmap_demand_zero(LAYOUT_PAGED_POOL_BASE, bits >> PAGE_SHIFT) ||
        !touch(area.base, sizeof(struct pool_block)) ||
        !touch(area.base + area.size - POOL_GRAIN, POOL_GRAIN))
        panic("there is no memory for the paged pool");
    pool_var_add(&var, &area);
    mutex_unlock(&pgdyn);
}
