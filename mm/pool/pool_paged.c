/*
 * Paged pool.
 *
 * The pool is PAGEDYN bytes of mapped system space from LAYOUT_PAGED_POOL_BASE, demand zero: a page
 * is present after its first access (system_fault()). It begins with the boundary bits (one bit for
 * each 16 bytes) and the size marks (one byte for each 16 bytes); the blocks follow. It is used at
 * IPL 0 without a spinlock only.
 *
 * The mark of an allocated block, at that of its first 16 bytes, says how large it is. So when a
 * block is freed to a lookaside list, one comparison shows that address and size match the
 * allocation and that the block was not freed before. The mark of a block on any list is 0. A mark
 * belongs to the owner of the block.
 *
 * Requests of up to PAGED_LAL_SIZE go through lookaside lists (mm/pool/pool_lal.h) without a mutex;
 * the variable list is protected by the PGDYN mutex. All lookaside lists together hold at most
 * three quarters of the pool: each has an allowance, which it takes from that budget as it grows.
 * When memory is short, all lookaside lists are moved to the variable list. If PAGED_LAL_SIZE is
 * lowered while the system runs, packets of larger sizes stay on their lists until then.
 *
 * Out of memory: before the variable list allocates a block, every page of it, the page that gets
 * the header of the remaining free block, and the pages of the boundary bits are accessed under a
 * fault fix-up. If a fault cannot be resolved, the request fails and nothing has changed. So an
 * allocated block is present (as long as the kernel does not page it out, which it never does).
 *
 * A process that is killed ends in user mode or on its way out of a system call, never while it
 * holds the mutex.
 */
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/bitops.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/mutex.h"
#include "mm/phys/failure.h"
#include "mm/pool/pool_check.h"
#include "mm/pool/pool_lal.h"
#include "mm/pt/pt_system.h"
#include "sysman/params.h"

enum { VERSION_BITS = 32 };
#define RESERVE_SHARE 16u    /* of the pool, one part in so many is kept for user 0 */
#define LIST_STEP     16384u /* bytes by which a list's allowance grows, at least one packet */

/* The mark of an allocated block is its size in units of 16 bytes. MARK_OTHER stands for sizes that
   no lookaside list holds, and with POOLCHECK for all sizes: each free takes the slow path then. */
enum { MARK_OTHER = 255 };
_Static_assert(POOL_LISTS < MARK_OTHER, "a mark tells the sizes of all lists");

static struct mutex pgdyn = MUTEX_INIT("PGDYN", MUTEX_PGDYN, pgdyn);
/* Packets of n * 16 bytes are on lists[n]; lists[0] is always empty, and its allowance accepts
   none. */
static struct pool_list lists[POOL_LISTS + 1] = {{.most = INT64_MIN}};
static struct pool_area area; /* constant after boot */
static uint8_t *marks;        /* byte n: of the 16 bytes at 16 * n; constant after boot */
static uint64_t end_offset;   /* of the pool, from its base; constant after boot */
static uint64_t direct;       /* requests of sizes without a list; atomic */
static uint64_t list_budget;  /* bytes not yet given to lists as allowance; atomic */
static uint64_t high_water;   /* end of all memory that was ever allocated; pgdyn */

/* Spare pages lie wholly inside free blocks, after the header, and are still present. They are
   unmapped and freed when there are SPARE_PAGES of them, so that a block that is allocated and
   freed repeatedly does not cost a fault and a shootdown each time. Protected by pgdyn. */
#define SPARE_PAGES 32u
static uint64_t spare[SPARE_PAGES];
static unsigned nspare;
static uint64_t given_back; /* spare pages unmapped so far; pgdyn */

static struct pool_area *area_of(uint64_t p) { return p - area.base < area.size ? &area : NULL; }

static struct pool_var var = {.area_of = area_of, .name = "paged"}; /* pgdyn */

/* ---- pages of free blocks ---- */

/* Unmap and free the spare pages. pgdyn held. */
static void spare_give_back(void)
{
    for (unsigned i = 0; i < nspare; i++)
        kunmap_pages(spare[i], 1, true);
    given_back += nspare;
    nspare = 0;
}

/* [p, p + size) was freed and is now part of the free block b: those of its pages that hold nothing
   else become spare. Not with POOLCHECK, which needs their patterns. pgdyn held. */
static void spare_add(const struct pool_block *b, uint64_t p, uint64_t size)
{
    uint64_t low = page_round_up((uint64_t)b + sizeof(*b)), high = (uint64_t)b + b->size;
    /* Include the page of the header that followed: after merging, it may hold nothing else. */
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

/* The same for a block that is to be allocated, whose pages may be demand zero or not yet mapped,
   and for its boundary bits and mark. pgdyn held. */
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

/* Pop a packet; 0: the list is empty. The caller checks the seal. */
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
        /* A negative link: the page is gone, so the packet has left the list, and its head has
           changed. */
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

/* The seal in the second quadword of a packet on a list. With POOLCHECK it is another value, so
   that the fast path of the allocation finds it wrong and takes the slow path, which checks the
   packet. */
static uint64_t seal_of(uint64_t p) { return pool_seal(p) ^ (pool_check != 0); }

/* Packet p has left its list: check its seal. */
static void unseal(uint64_t p, uint64_t size)
{
    if (((uint64_t *)p)[1] != seal_of(p))
        panic("paged pool: free packet %lx of %lu bytes was written to", p, size);
}

/* Move up to a batch of packets of `size` bytes to the variable list. Returns the number of
   packets. */
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

/* At most as many packets of each list as it holds now: other threads may be freeing at the same
   speed. The allowances of the lists return to the budget. */
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

/* Increase the allowance of a list. False: the budget of all lists is used up. A CPU that has just
   checked an allowance may push after pgd_drain() has taken it back, so a list can exceed it by a
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

/* Does the allowance of l permit one more packet? head: value of l's head. */
static inline bool list_has_room(const struct pool_list *l, uint64_t head)
{
    return pool_list_count_at(l, head, VERSION_BITS) < __atomic_load_n(&l->most, __ATOMIC_RELAXED);
}

/* Set the mark of block p, which is being allocated. */
static void mark(uint64_t p, uint64_t size)
{
    bool other = pool_check || size / POOL_GRAIN > POOL_LISTS;

    __atomic_store_n(mark_of(p), (uint8_t)(other ? MARK_OTHER : size / POOL_GRAIN),
                     __ATOMIC_RELAXED);
}

/* Allocate a packet whose seal is not the plain one: it has POOLCHECK's, or was written to. */
static void *__attribute__((noinline)) look_at(uint64_t p, uint64_t size)
{
    unseal(p, size);
    pool_check_taken("paged", p, size, UINT64_MAX);
    mark(p, size);
    return (void *)p;
}

/* What must be free for the current thread to take size bytes: a reserve for user 0 is left by all
   threads but those of user 0. */
static uint64_t with_reserve(uint64_t size)
{
    return size + (account_self()->exempt ? 0 : area.size / RESERVE_SHARE);
}

static void *variable_alloc(uint64_t size)
{
    void *p;

    mutex_lock(&pgdyn);
    p = var.bytes >= with_reserve(size) ? pool_var_alloc(&var, size, UINT64_MAX, touch) : NULL;
    if (p) {
        if (unlikely(pool_check != 0))
            pool_check_taken("paged", (uint64_t)p, size, high_water);
        high_water = MAX(high_water, (uint64_t)p + size);
        mark((uint64_t)p, size);
    }
    mutex_unlock(&pgdyn);
    return p;
}

static uint64_t lookaside_bytes(void)
{
    uint64_t sum = 0;

    for (unsigned i = 1; i <= POOL_LISTS; i++)
        sum += pool_list_bytes(&lists[i], VERSION_BITS, i - 1);
    return sum;
}

/* Could the current thread take size bytes if the lookaside lists were moved to the variable list?
   If not, nothing is moved: else a user who has exhausted the pool could keep the lists empty and
   the mutex busy, with requests that fail. The lists are counted first: a packet that another
   thread has taken off its list by then is on the variable list when pgdyn is free. (One that is
   moved later is counted twice; then the lists are moved for nothing.) */
static bool drain_may_help(uint64_t size)
{
    uint64_t unused = lookaside_bytes();

    mutex_lock(&pgdyn);
    unused += var.bytes;
    mutex_unlock(&pgdyn);
    return unused >= with_reserve(size);
}

static void *__attribute__((noinline)) alloc_variable(size_t nbytes)
{
    uint64_t size = pool_round(nbytes);
    void *p;

    if (nbytes == 0 || nbytes > area.size)
        return NULL;
    __atomic_fetch_add(size <= (uint64_t)sysparam(SYSPARAM_PAGED_LAL_SIZE) ? &list_of(size)->misses
                                                                           : &direct,
                       1, __ATOMIC_RELAXED);
    p = variable_alloc(size);
    if (!p && drain_may_help(size)) {
        pgd_drain();
        p = variable_alloc(size); /* even if another thread has moved all packets */
    }
    return p;
}

/* pgd_alloc() after the check for an injected failure. */
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
    return failure_count(MEGA_ALLOC_PGD) ? NULL : alloc_block(nbytes);
}

/* A hit in a lookaside list takes no mutex and calls no other function. */
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

/* Push block p. head: a recent value of l's head. */
static inline void list_push(struct pool_list *l, uint64_t head, uint64_t p, uint64_t seal)
{
    __atomic_store_n(mark_of(p), 0, __ATOMIC_RELAXED);
    ((uint64_t *)p)[1] = seal;
    pool_list_push(l, head, LAYOUT_PAGED_POOL_BASE, VERSION_BITS, p);
}

/* Free a block that the quick check of pgd_free() does not accept, or that no list takes; panics
   when it is not a block. */
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

/* As in pgd_alloc(), a block that a lookaside list takes is handled here. With POOLCHECK no mark is
   a size, so the comparison fails. 0 bytes mean lists[0], which has no room. */
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
    s->lookaside_bytes = lookaside_bytes();
    s->in_use = s->size - s->free - MIN(s->lookaside_bytes, s->size - s->free);
    s->lal_size = (uint32_t)sysparam(SYSPARAM_PAGED_LAL_SIZE);
    s->direct = __atomic_load_n(&direct, __ATOMIC_RELAXED);
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

/* Boundary bits of memory that was never allocated have no page yet. */
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
