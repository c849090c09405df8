/*
 * Paged pool.
 *
 * PAGEDYN bytes of mapped system space from LAYOUT_PAGED_POOL_BASE, demand-zero: a page is there
 * once it was touched (system_fault() gives it). In front lie the boundary bits (one for 16
 * bytes), then the pool proper. Used at IPL 0 without a spinlock only.
 *
 * Requests up to PAGED_LAL_SIZE go through lookaside lists (mm/pool_lal.h) without a mutex; the
 * variable list is protected by the PGDYN mutex. A list takes no packet beyond its part of three
 * quarters of the pool; on shortage all lists are given back to the variable list. Where
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
#include "mm/pool_lal.h"
#include "sysman/params.h"

#define OFFSET_BITS 32u

static struct mutex pgdyn = MUTEX_INIT("PGDYN", MUTEX_PGDYN, pgdyn);
static struct pool_list lists[POOL_LISTS];
static struct pool_area area; /* constant after boot */
static uint64_t list_most;    /* bytes that a list may hold; constant after boot */

static struct pool_area *area_of(uint64_t p) { return p - area.base < area.size ? &area : NULL; }

static struct pool_var var = {.area_of = area_of, .name = "paged"}; /* pgdyn */

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

/* Give all that the lookaside lists hold back to the variable list. pgdyn held. */
static bool reclaim_locked(void)
{
    bool any = false;

    for (unsigned i = 0; i < POOL_LISTS; i++) {
        uint64_t size = (i + 1) * POOL_GRAIN, p;

        while ((p = list_pop(&lists[i])) != 0) {
            __atomic_fetch_sub(&lists[i].frees, 1, __ATOMIC_RELAXED);
            pool_unseal("paged", p, size);
            pool_var_free(&var, (void *)p, size);
            any = true;
        }
    }
    return any;
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
            return (void *)a;
        }
        __atomic_fetch_add(&l->misses, 1, __ATOMIC_RELAXED);
    }
    mutex_lock(&pgdyn);
    p = pool_var_alloc(&var, size, touch);
    if (!p && reclaim_locked())
        p = pool_var_alloc(&var, size, touch);
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
    if (likely(size <= (uint64_t)sysparam(SYSPARAM_PAGED_LAL_SIZE))) {
        struct pool_list *l = &lists[size / POOL_GRAIN - 1];

        if (likely(pool_list_count(l) * size < list_most)) {
            pool_seal_set("paged", (uint64_t)p, size);
            pool_list_push(l, LAYOUT_PAGED_POOL_BASE, OFFSET_BITS, (uint64_t)p);
            return;
        }
    }
    mutex_lock(&pgdyn);
    pool_var_free(&var, p, size);
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
    list_most = area.size / 4 * 3 / POOL_LISTS;

    mutex_lock(&pgdyn);
    if (kmap_demand_zero(LAYOUT_PAGED_POOL_BASE, bits >> PAGE_SHIFT) ||
        !touch(area.base, sizeof(struct pool_block)) ||
        !touch(area.base + area.size - POOL_GRAIN, POOL_GRAIN))
        panic("there is no memory for the paged pool");
    pool_var_add(&var, &area);
    mutex_unlock(&pgdyn);
}
