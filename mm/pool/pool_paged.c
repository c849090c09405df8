/*
 * Paged pool.
 *
 * PAGEDYN bytes of mapped system space from LAYOUT_PAGED_POOL_BASE, demand-zero: a page is there
 * once it was touched (system_fault() gives it). In front lie the boundary bits (one for 16
 * bytes) and the marks (a byte for 16 bytes), then the pool proper. Used at IPL 0 without a
 * spinlock only.
 *
 * The mark of a block that is in use, at its first 16 bytes, says how large it is: so a release
 * through a lookaside list needs one look to know that address and size fit what was allocated, and
 * that it was not released before. The mark of a block on a list, or in the variable list, is 0.
 * A mark belongs to who owns the block.
 *
 * Requests up to PAGED_LAL_SIZE go through lookaside lists (mm/pool/pool_lal.h) without a mutex;
 * the variable list is protected by the PGDYN mutex. All lists together
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
#include "mm/phys/failure.h"
#include "mm/pool/pool_check.h"
#include "mm/pool/pool_lal.h"
#include "mm/pt/pt_system.h"
#include "sysman/params.h"

enum { VERSION_BITS = 32 };
#define LIST_STEP 16384u /* bytes: a list's allowance grows by this or a packet */

/* A mark that is not 0 is the size in units of 16 bytes, or */
enum { MARK_OTHER = 255 }; /* larger than lists have it; all, if POOLCHECK has to see each block */
_Static_assert(POOL_LISTS < MARK_OTHER, "a mark tells the sizes of all lists");

static struct mutex pgdyn = MUTEX_INIT("PGDYN", MUTEX_PGDYN, pgdyn);
/* That of n * 16 bytes is lists[n]; the first one is always empty and takes nothing. */
static struct pool_list lists[POOL_LISTS + 1] = {{.most = INT64_MIN}};
static struct pool_area area; /* constant after boot */
static uint8_t *marks;       /* of 16 bytes at LAYOUT_PAGED_POOL_BASE and on; constant after boot */
static uint64_t end_offset;  /* of the pool from there; constant after boot */
static uint64_t list_budget; /* atomic: bytes that lists may still be allowed to hold */
static uint64_t high_water;  /* end of all that was ever handed out; pgdyn */

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

static uint8_t *mark_of(uint64_t p) { return &marks[(p - LAYOUT_PAGED_POOL_BASE) / POOL_GRAIN]; }

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

    uint64_t mark = (uint64_t)mark_of(p) & ~7ul;

    spare_remove(p, size);
    return kmap_demand_zero(first, (page_round_up(p + size) - first) >> PAGE_SHIFT) == 0 &&
           present(bits, last + sizeof(uint64_t) - bits) && present(mark, sizeof(uint64_t)) &&
           present(p, size);
}

static inline struct pool_list *list_of(uint64_t size)
{
    _Static_assert(sizeof(lists[0]) == 4 * POOL_GRAIN, "one instruction");
    return (struct pool_list *)((uint64_t)lists + 4 * size);
}

/* A packet, or 0. Its seal is not yet looked at. */
static inline __attribute__((always_inline)) uint64_t list_pop(struct pool_list *l)
{
    uint64_t h = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE), p, next;
    int64_t link;

    for (;;) {
        if (unlikely(h >> VERSION_BITS == 0))
            return 0;
        p = LAYOUT_PAGED_POOL_BASE + (h >> VERSION_BITS) * POOL_GRAIN;
        link = kernel_peek((void *)p);
        next = pool_list_next(h, (uint64_t)link, VERSION_BITS);
        /* No link: its page is gone, so is the packet, and head has changed. */
        if (likely(link >= 0 && __atomic_compare_exchange_n(&l->head, &h, next, true,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED)))
            break;
        h = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE);
    }
    __atomic_fetch_add(&l->pops, 1, __ATOMIC_RELAXED);
    return p;
}

/* As pool_var_free(). pgdyn held. */
static struct pool_block *variable_free(struct pool_block *below, uint64_t p, uint64_t size)
{
    struct pool_block *b = pool_var_free(&var, below, (void *)p, size);

    spare_add(b, p, size);
    return b;
}

/* What a packet on a list has in its second quadword. With POOLCHECK another value: so that whoever
   takes one quickly finds it wrong, and takes a closer look. */
static uint64_t seal_of(uint64_t p) { return pool_seal(p) ^ (pool_check != 0); }

/* The packet p leaves its list. */
static void unseal(uint64_t p, uint64_t size)
{
    if (((uint64_t *)p)[1] != seal_of(p))
        panic("paged pool: free packet %lx of %lu bytes was written to", p, size);
}

/* Up to a batch of the packets of `size` bytes go back to the variable list: how many. */
static unsigned reclaim_batch(uint64_t size)
{
    struct pool_list *l = list_of(size);
    uint64_t batch[POOL_BATCH];
    struct pool_block *below = NULL;
    unsigned n = 0;

    mutex_lock(&pgdyn);
    while (n < POOL_BATCH && (batch[n] = list_pop(l)) != 0)
        unseal(batch[n++], size);
    pool_batch_sort(batch, n);
    for (unsigned k = 0; k < n; k++)
        below = variable_free(below, batch[k], size);
    __atomic_fetch_add(&l->reclaimed, n, __ATOMIC_RELAXED);
    mutex_unlock(&pgdyn);
    return n;
}

/* Not more of each list than it holds now: others may be freeing as fast. Their allowances go
 * back, too. */
void pgd_drain(void)
{
    for (uint64_t size = POOL_GRAIN; size <= POOL_LISTS * POOL_GRAIN; size += POOL_GRAIN) {
        struct pool_list *l = list_of(size);
        int64_t most;

        for (int64_t left = pool_list_count(l, VERSION_BITS); left > 0;) {
            unsigned n = reclaim_batch(size);

            left = n ? left - n : 0;
        }
        most = __atomic_exchange_n(&l->most, 0, __ATOMIC_RELAXED);
        __atomic_fetch_add(&list_budget, (uint64_t)most * size, __ATOMIC_RELAXED);
    }
}

/* Allow a list to hold more: false when all lists together may hold no more than they do. A CPU
   that has just looked may push beyond an allowance that pgd_drain() takes back meanwhile: a
   packet or two for each CPU. */
static bool list_grow(struct pool_list *l, uint64_t size)
{
    uint64_t packets = MAX(LIST_STEP / size, 1ul);
    uint64_t left = __atomic_load_n(&list_budget, __ATOMIC_RELAXED);

    do {
        if (left < packets * size)
            return false;
    } while (!__atomic_compare_exchange_n(&list_budget, &left, left - packets * size, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    __atomic_fetch_add(&l->most, (int64_t)packets, __ATOMIC_RELAXED);
    return true;
}

/* head: of l. */
static inline bool list_has_room(const struct pool_list *l, uint64_t head)
{
    return pool_list_count_at(l, head, VERSION_BITS) < __atomic_load_n(&l->most, __ATOMIC_RELAXED);
}

/* p is allocated. */
static void mark(uint64_t p, uint64_t size)
{
    bool other = pool_check || size / POOL_GRAIN > POOL_LISTS;

    __atomic_store_n(mark_of(p), (uint8_t)(other ? MARK_OTHER : size / POOL_GRAIN),
                     __ATOMIC_RELAXED);
}

/* A packet whose seal is not what it is without POOLCHECK. */
static void *__attribute__((noinline)) look_at(uint64_t p, uint64_t size)
{
    unseal(p, size);
    pool_check_taken("paged", p, size, UINT64_MAX);
    mark(p, size);
    return (void *)p;
}

static void *variable_alloc(uint64_t size)
{
    void *p;

    mutex_lock(&pgdyn);
    p = pool_var_alloc(&var, size, touch);
    if (p) {
        if (unlikely(pool_check != 0))
            pool_check_taken("paged", (uint64_t)p, size, high_water);
        high_water = MAX(high_water, (uint64_t)p + size);
        mark((uint64_t)p, size);
    }
    mutex_unlock(&pgdyn);
    return p;
}

static void *__attribute__((noinline)) alloc_variable(size_t nbytes)
{
    uint64_t size = pool_round(nbytes);
    void *p;

    if (nbytes == 0 || nbytes > area.size)
        return NULL;
    if (size <= (uint64_t)sysparam(SYSPARAM_PAGED_LAL_SIZE))
        __atomic_fetch_add(&list_of(size)->misses, 1, __ATOMIC_RELAXED);
    p = variable_alloc(size);
    if (!p) {
        pgd_drain();
        p = variable_alloc(
            size); /* also when the lists were empty: another thread may have been faster */
    }
    return p;
}

/* Behind the door. */
static inline void *alloc_block(size_t nbytes)
{
    uint64_t size = pool_round(nbytes);

    if (likely(size <= (uint64_t)sysparam(SYSPARAM_PAGED_LAL_SIZE))) {
        uint64_t p = list_pop(list_of(size));

        if (likely(p != 0)) {
            if (unlikely(((uint64_t *)p)[1] != pool_seal(p)))
                return look_at(p, size);
            __atomic_store_n(mark_of(p), (uint8_t)(size / POOL_GRAIN), __ATOMIC_RELAXED);
            return (void *)p;
        }
    }
    return alloc_variable(nbytes);
}

static void *__attribute__((noinline)) alloc_counted(size_t nbytes)
{
    return failure_here(MEGA_ALLOC_PGD) ? NULL : alloc_block(nbytes);
}

/* A hit is a leaf function of its own: it takes no mutex and calls nobody. */
void *pgd_alloc(size_t nbytes)
{
    return failure_counting() ? alloc_counted(nbytes) : alloc_block(nbytes);
}

void *pgd_alloc_zeroed(size_t nbytes)
{
    void *p = pgd_alloc(nbytes);

    if (p)
        memset(p, 0, nbytes);
    return p;
}

/* head: what l's was. */
static inline void list_push(struct pool_list *l, uint64_t head, uint64_t p, uint64_t seal)
{
    __atomic_store_n(mark_of(p), 0, __ATOMIC_RELAXED);
    ((uint64_t *)p)[1] = seal;
    pool_list_push(l, head, LAYOUT_PAGED_POOL_BASE, VERSION_BITS, p);
}

/* Blocks that the quick check does not know, those that no list takes, and what is no block. */
static void __attribute__((noinline)) free_slow(uint64_t p, size_t nbytes)
{
    uint64_t size = pool_round(nbytes);

    if (nbytes == 0 || !pool_area_is_block(&area, p, size))
        panic("paged pool: no block of %lu bytes starts at %lx", nbytes, p);
    if (__atomic_load_n(mark_of(p), __ATOMIC_RELAXED) == 0)
        panic("paged pool: %lx of %lu bytes is freed twice", p, size);
    if (pool_check)
        pool_check_fill(p, size);
    if (size <= (uint64_t)sysparam(SYSPARAM_PAGED_LAL_SIZE)) {
        struct pool_list *l = list_of(size);
        uint64_t head = __atomic_load_n(&l->head, __ATOMIC_RELAXED);

        if (list_has_room(l, head) || list_grow(l, size)) {
            list_push(l, head, p, seal_of(p));
            return;
        }
    }
    mutex_lock(&pgdyn);
    __atomic_store_n(mark_of(p), 0, __ATOMIC_RELAXED);
    variable_free(NULL, p, size);
    mutex_unlock(&pgdyn);
}

/* As pgd_alloc: what a list takes is done here, with POOLCHECK off (or no mark is a size). Nothing
   of 0 bytes gets past the first list. */
void pgd_free(void *p, size_t nbytes)
{
    uint64_t size = pool_round(nbytes), offset = (uint64_t)p - LAYOUT_PAGED_POOL_BASE;

    if (likely(size <= (uint64_t)sysparam(SYSPARAM_PAGED_LAL_SIZE) && offset < end_offset &&
               offset % POOL_GRAIN == 0 && *mark_of((uint64_t)p) == size / POOL_GRAIN)) {
        struct pool_list *l = list_of(size);
        uint64_t head = __atomic_load_n(&l->head, __ATOMIC_RELAXED);

        if (likely(list_has_room(l, head))) {
            list_push(l, head, (uint64_t)p, pool_seal((uint64_t)p));
            return;
        }
    }
    free_slow((uint64_t)p, nbytes);
}

void pgd_stats(struct pool_stats *s)
{
    mutex_lock(&pgdyn);
    pool_var_stats(&var, s);
    mutex_unlock(&pgdyn);
    s->lookaside_bytes = 0;
    for (unsigned i = 1; i <= POOL_LISTS; i++)
        s->lookaside_bytes += pool_list_bytes(&lists[i], VERSION_BITS, i - 1);
    s->in_use = s->size - s->free - MIN(s->lookaside_bytes, s->size - s->free);
    s->lal_size = (uint32_t)sysparam(SYSPARAM_PAGED_LAL_SIZE);
    s->nlists = POOL_LISTS;
}

void pgd_free_space(uint64_t *blocks, uint64_t *nbytes)
{
    *blocks = __atomic_load_n(&var.blocks, __ATOMIC_RELAXED);
    *nbytes = __atomic_load_n(&var.bytes, __ATOMIC_RELAXED);
}

uint64_t pgd_present_pages(void)
{
    uint64_t n = 0;

    mutex_lock(&pgdyn);
    for (uint64_t va = LAYOUT_PAGED_POOL_BASE; va < LAYOUT_PAGED_POOL_BASE + end_offset;
         va += PAGE_SIZE)
        n += kmap_lookup(va).n != 0;
    mutex_unlock(&pgdyn);
    return n;
}

unsigned pgd_lists(void) { return POOL_LISTS; }

void pgd_list_stats(unsigned list, struct pool_list_stats *s)
{
    pool_list_stats_of(&lists[list + 1], VERSION_BITS, s);
}

/* Boundary bits of what was never handed out have no page yet. */
static bool is_there(const uint64_t *word)
{
    return kmap_lookup(page_round_down((uint64_t)word)).n != 0;
}

void pgd_for_each_used(void (*fn)(void *arg, uint64_t p, uint64_t size), void *arg)
{
    pool_var_used(&area, var.first, is_there, fn, arg);
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

    uint64_t front = bits + page_round_up(bytes / POOL_GRAIN);

    area.base = LAYOUT_PAGED_POOL_BASE + front;
    area.size = bytes - front;
    area.starts = (uint64_t *)LAYOUT_PAGED_POOL_BASE;
    marks = (uint8_t *)LAYOUT_PAGED_POOL_BASE + bits;
    end_offset = bytes;
    list_budget = area.size / 4 * 3;

    mutex_lock(&pgdyn);
    if (kmap_demand_zero(LAYOUT_PAGED_POOL_BASE, front >> PAGE_SHIFT) ||
        !touch(area.base, sizeof(struct pool_block)) ||
        !touch(area.base + area.size - POOL_GRAIN, POOL_GRAIN))
        panic("there is no memory for the paged pool");
    pool_var_add(&var, &area);
    mutex_unlock(&pgdyn);
}
