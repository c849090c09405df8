/*
 * The lists of free pages: one set for each domain, under its lock, which the caches of the CPUs
 * are filled from and emptied to in batches, and the search of all places for a page that the fluid
 * count promises.
 */
#include "arch/alpha/hw/cpu.h"
#include "kernel/base/panic.h"
#include "mm/phys/page_private.h"

/* After so many fruitless rounds the pages that were counted must be lost: panic. */
#define SEARCH_LIMIT 100000000UL

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

void page_list_push_locked(struct page_list *l, uint64_t first, uint64_t last, uint64_t count)
{
    link_set(last, l->head);
    l->head = (uint32_t)first;
    count_add_locked(&l->count, count);
}

unsigned page_list_take_locked(struct page_list *l, unsigned n, enum page_state state,
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
    unsigned n = want_zeroed ? page_list_take_locked(&r->lists[PAGE_ZEROED], PAGE_BATCH,
                                                     PAGE_CACHED, &first, &last)
                             : 0;

    *zeroed = n > 0;
    if (n == 0)
        n = page_list_take_locked(&r->lists[PAGE_FREE], PAGE_BATCH, PAGE_CACHED, &first, &last);
    if (n == 0)
        n = range_take_chain_locked(r, PAGE_BATCH, &first, &last);
    if (n == 0) {
        n = page_list_take_locked(&r->lists[PAGE_ZEROED], PAGE_BATCH, PAGE_CACHED, &first, &last);
        *zeroed = n > 0;
    }
    if (n > 1) {
        uint64_t second = link_of(first);

        if (stack_push(*zeroed ? &c->zeroed : &c->dirty, second, last, n - 1) == 0) {
            enum page_state s = *zeroed ? PAGE_ZEROED : PAGE_FREE;

            chain_walk(second, n - 1, s);
            page_list_push_locked(&r->lists[s], second, last, n - 1);
        }
    }
    spin_unlock(&r->lock, ipl);
    return n > 0 ? first : 0;
}

void page_cache_drain(struct rad *r, uint64_t *head, enum page_state state)
{
    ipl_t ipl = spin_lock(&r->lock);
    unsigned count;
    uint64_t first = stack_take_all(head, &count);

    if (count > PAGE_BATCH) {
        uint64_t last = chain_walk(first, count - PAGE_BATCH, state);
        uint64_t rest = link_of(last);

        page_list_push_locked(&r->lists[state], first, last, count - PAGE_BATCH);
        first = rest;
        count = PAGE_BATCH;
    }
    if (count > 0) {
        uint64_t last = chain_walk(first, count, PAGE_CACHED);

        if (stack_push(head, first, last, count) == 0) {
            chain_walk(first, count, state);
            page_list_push_locked(&r->lists[state], first, last, count);
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
        page_list_push_locked(&r->lists[state], first, chain_walk(first, count, state), count);
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

uint64_t page_search(unsigned rad, bool *zeroed)
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
