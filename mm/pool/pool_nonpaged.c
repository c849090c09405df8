/*
 * Nonpaged pool.
 *
 * The pool lies in KSEG: segments of SEGMENT_PAGES contiguous pages (single pages when no stretch
 * is left), each beginning with a header and its boundary bits. It is not in mapped system space
 * because KSEG takes no page tables and no translation-buffer entries, a block has one physical
 * address, and growing the pool takes pages only: callers hold locks up to RANK_POOL at IPL_CLOCK.
 * The database entries of the pages point to the segment's header; this is how the boundary bits of
 * an address are found.
 *
 * Requests of up to LIST_BYTES go through lookaside lists (mm/pool/pool_lal.h), larger ones to the
 * variable lists under pool_lock; those above half a segment are contiguous pages of their own,
 * which do not count as pool. When no variable list has a block, the pool grows. When it may not
 * (NPAGEVIR) or cannot, the lookaside lists are moved to the variable lists, and it is tried once
 * more; then the request fails. Users other than user 0 cannot make it grow to the end (PA_KERNEL
 * and RESERVE_SHARE), so user 0 always can. Segments are never freed, so pool memory can be read at
 * any time.
 *
 * Each segment has a variable list of its own, so what is done under pool_lock does not grow with
 * the pool. Segments are listed by the size of their largest free block, which is known as a bound
 * (`room`). A request looks at LOOK_AT segments of each class that may do, walks at most WALKS of
 * their lists, and WALK_MOST blocks of each; then the pool grows, without the lock. Only a request
 * that finds no memory looks at all segments, and drops the lock after each.
 */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/bitops.h"
#include "kernel/base/list.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/spinlock.h"
#include "mm/phys/failure.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_check.h"
#include "mm/pool/pool_lal.h"
#include "sysman/params.h"

#define SEGMENT_PAGES 8u
#define LARGE_BYTES   (SEGMENT_PAGES * PAGE_SIZE / 2)
/* Larger than every block that each process has (the largest is the table of signal handlers,
   4.2 KB), so that creation and end of processes, however many, do not walk the variable list under
   its lock. */
#define LIST_BYTES 8192u
#define LISTS      (LIST_BYTES / POOL_GRAIN)
/* Of NPAGEVIR, one part in so many is kept for user 0 and the kernel. */
#define RESERVE_SHARE 16u
enum { VERSION_BITS = 28 }; /* KSEG maps 40 bits; the offset, in units of 16 bytes, takes 36 */

static struct spinlock pool_lock = SPINLOCK_INIT("nonpaged pool", RANK_POOL, IPL_CLOCK);
static struct pool_list lists[LISTS];
static uint64_t segment_pages; /* atomic */
static uint64_t large_pages;   /* atomic */
static uint64_t direct;        /* requests of sizes without a list; atomic */

#define LOOK_AT   8u
#define WALKS     4u
#define WALK_MOST 64u
#define CLASSES   13u /* by powers of two, 16 bytes to those of a segment */

_Static_assert((uint64_t)POOL_GRAIN << CLASSES > SEGMENT_PAGES * PAGE_SIZE,
               "each size has its class");

struct pool_segment {
    struct pool_area area;     /* first: the owner of the pages; constant, but for the bits */
    struct pool_var var;       /* pool_lock, as are the fields below */
    uint64_t room;             /* no free block is larger */
    struct list link;          /* in by_room[class_of(room)] */
    struct pool_segment *next; /* of all segments; constant once it is the first */
};

static struct list by_room[CLASSES];  /* pool_lock */
static struct pool_segment *segments; /* atomic: the newest; added under pool_lock */

static unsigned class_of(uint64_t nbytes)
{
    return nbytes < POOL_GRAIN ? 0 : 63u - (unsigned)__builtin_clzl(nbytes / POOL_GRAIN);
}

/* Set the bound of g's largest free block. */
static void room_set_locked(struct pool_segment *g, uint64_t room)
{
    g->room = room;
    list_remove(&g->link);
    list_add_head(&by_room[class_of(room)], &g->link);
}

/* The segment of an address, from the database entry of its page; NULL for other memory. */
static inline struct pool_area *area_of(uint64_t p)
{
    pfn_t pfn = pfn_of((p - (uint64_t)kseg_ptr(paddr_of(0))) >>
                       PAGE_SHIFT); /* outside KSEG: too large */

    if (unlikely(pfn.n >= page_end || page_of(pfn)->type != PAGE_T_SYSTEM))
        return NULL;
    return (struct pool_area *)page_of(pfn)->owner;
}

static uint64_t kseg_base(void) { return (uint64_t)kseg_ptr(paddr_of(0)); }

/* Count a segment's pages, if the pool may grow. */
static bool segment_count(uint64_t npages)
{
    uint64_t most = (uint64_t)sysparam(SYSPARAM_NPAGEVIR) / PAGE_SIZE;

    if (!account_self()->exempt)
        most -= most / RESERVE_SHARE;
    if (__atomic_add_fetch(&segment_pages, npages, __ATOMIC_RELAXED) <= most)
        return true;
    __atomic_fetch_sub(&segment_pages, npages, __ATOMIC_RELAXED);
    return false;
}

/* Allocate a segment and prepare it; nobody else knows it yet. NULL: the pool may not grow, or
   there is no memory. */
static struct pool_segment *segment_make(void)
{
    uint64_t npages = SEGMENT_PAGES;
    pfn_t pfn;

    if (!segment_count(npages))
        return NULL;
    if (page_alloc_contig(npages, 1, PA_KERNEL, PAGE_T_SYSTEM, RAD_ANY, &pfn)) {
        __atomic_fetch_sub(&segment_pages, npages - 1, __ATOMIC_RELAXED);
        npages = 1;
        if (page_alloc(PA_KERNEL, PAGE_T_SYSTEM, RAD_ANY, &pfn)) {
            __atomic_fetch_sub(&segment_pages, npages, __ATOMIC_RELAXED);
            return NULL;
        }
    }

    struct pool_segment *g = kseg_page(pfn);
    uint64_t words = POOL_AREA_WORDS(npages * PAGE_SIZE);
    uint64_t header = pool_round(sizeof(*g) + 2 * words * sizeof(uint64_t));

    memset(g, 0, header);
    g->area.base = (uint64_t)g + header;
    g->area.size = npages * PAGE_SIZE - header;
    g->area.starts = (uint64_t *)(g + 1);
    g->area.free = g->area.starts + words;
    g->var.area_of = area_of;
    g->var.name = "nonpaged";
    for (uint64_t i = 0; i < npages; i++)
        page_of(pfn_add(pfn, i))->owner = (uint64_t)g;
    pool_check_fill(g->area.base, g->area.size);
    pool_var_add(&g->var, &g->area);
    return g;
}

static void segment_add_locked(struct pool_segment *g)
{
    g->next = segments;
    list_init(&g->link);
    room_set_locked(g, g->area.size);
    __atomic_store_n(&segments, g, __ATOMIC_RELEASE);
}

/* The list of segments only grows at its head, and is walked without the lock. */
static struct pool_segment *segments_all(void)
{
    return __atomic_load_n(&segments, __ATOMIC_ACQUIRE);
}

static struct pool_segment *segment_of(const void *p)
{
    return container_of(area_of((uint64_t)p), struct pool_segment, area);
}

/* Free a block of a segment. Lock held. */
static void free_locked(void *p, uint64_t size)
{
    struct pool_area *a = area_of((uint64_t)p);
    struct pool_segment *g;
    struct pool_block *b;

    if (!a)
        panic("nonpaged pool: no block of %lu bytes starts at %p", size, p);
    g = segment_of(p);
    b = pool_var_free(&g->var, NULL, p, size);
    room_set_locked(g, MAX(g->room, b->size));
}

/* The link of the packet at offset off, which another CPU may have popped meanwhile (pool_lal.h).
 * Its owner stores what it likes there, by plain accesses, and what is read here is then discarded:
 * so this read is hidden from the race detector. Paged pool reads its links by assembly, which the
 * detector does not see either. */
static inline uint64_t __attribute__((no_sanitize("thread"))) link_at(uint64_t off)
{
    return __atomic_load_n((uint64_t *)(kseg_base() + off * POOL_GRAIN), __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) uint64_t list_pop(struct pool_list *l)
{
    uint64_t h, off, next;

    do {
        h = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE);
        off = h >> VERSION_BITS;
        if (off == 0)
            return 0;
        next = pool_list_next(h, link_at(off), VERSION_BITS);
    } while (
        !__atomic_compare_exchange_n(&l->head, &h, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    __atomic_fetch_add(&l->pops, 1, __ATOMIC_RELAXED);
    return kseg_base() + off * POOL_GRAIN;
}

/* Move up to a batch of packets of list i to the variable list. Returns the number of packets. */
static unsigned reclaim_batch(unsigned i)
{
    uint64_t size = (i + 1) * POOL_GRAIN, p;
    unsigned n = 0;
    ipl_t ipl = spin_lock(&pool_lock);

    for (; n < POOL_RECLAIM && (p = list_pop(&lists[i])) != 0; n++) {
        pool_unseal("nonpaged", p, size);
        free_locked((void *)p, size);
    }
    __atomic_fetch_add(&lists[i].reclaimed, n, __ATOMIC_RELAXED);
    spin_unlock(&pool_lock, ipl);
    return n;
}

/* At most as many packets of each list as it holds now: other CPUs may be freeing at the same
   speed. */
void npp_drain(void)
{
    for (unsigned i = 0; i < LISTS; i++)
        for (int64_t left = pool_list_count(&lists[i], VERSION_BITS); left > 0;) {
            unsigned n = reclaim_batch(i);

            left = n ? left - n : 0;
        }
}

/* Allocate from g, if it has room; most: how many of its free blocks to look at. */
static void *segment_alloc_locked(struct pool_segment *g, uint64_t size, uint64_t most)
{
    void *p = pool_var_alloc(&g->var, size, most, NULL);

    if (g->var.blocks <= 1)
        room_set_locked(g, g->var.first ? g->var.first->size : 0);
    else if (!p && g->var.blocks <= most)
        room_set_locked(g, size - POOL_GRAIN);
    return p;
}

/* Allocate from a segment of a class. *walks: how many lists were walked; no more than WALKS. */
static void *class_alloc_locked(struct list *class, uint64_t size, unsigned *walks)
{
    struct pool_segment *g, *next;
    unsigned n = 0;
    void *p;

    list_for_each_entry_safe(g, next, class, link) {
        if (n++ == LOOK_AT || *walks == WALKS)
            return NULL;
        if (g->room < size)
            continue;
        ++*walks;
        p = segment_alloc_locked(g, size, WALK_MOST);
        if (p)
            return p;
    }
    return NULL;
}

static void *known_alloc_locked(uint64_t size)
{
    unsigned walks = 0;
    void *p = NULL;

    for (unsigned i = class_of(size); i < CLASSES && !p; i++)
        p = class_alloc_locked(&by_room[i], size, &walks);
    return p;
}

/* Allocate from any segment: the pool cannot grow. */
static void *any_alloc(uint64_t size)
{
    void *p = NULL;

    for (struct pool_segment *g = segments_all(); g && !p; g = g->next) {
        if (__atomic_load_n(&g->var.bytes, __ATOMIC_RELAXED) < size)
            continue;

        ipl_t ipl = spin_lock(&pool_lock);

        p = segment_alloc_locked(g, size, UINT64_MAX);
        spin_unlock(&pool_lock, ipl);
    }
    return p;
}

static void *variable_alloc(uint64_t size)
{
    ipl_t ipl = spin_lock(&pool_lock);
    void *p = known_alloc_locked(size);
    struct pool_segment *g;

    spin_unlock(&pool_lock, ipl);
    if (p || (g = segment_make()) == NULL)
        return p;
    ipl = spin_lock(&pool_lock);
    segment_add_locked(g);
    p = segment_alloc_locked(g, size, WALK_MOST); /* NULL: it is a single page */
    spin_unlock(&pool_lock, ipl);
    return p;
}

static void *__attribute__((noinline)) alloc_variable(uint64_t size)
{
    void *p = variable_alloc(size);

    if (!p)
        p = any_alloc(size);
    if (!p) {
        npp_drain();
        p = any_alloc(size); /* also when the lists were empty: another CPU may have moved their
                                packets */
    }
    if (p && unlikely(pool_check != 0))
        pool_check_taken("nonpaged", (uint64_t)p, size, UINT64_MAX);
    return p;
}

/* A block above half a segment is whole pages; the entry of the first one has their number. */
static void *alloc_large(uint64_t nbytes)
{
    uint64_t npages = div_round_up(nbytes, PAGE_SIZE);
    pfn_t pfn;

    if (page_alloc_contig(npages, 1, PA_KERNEL, PAGE_T_SYSTEM, RAD_ANY, &pfn))
        return NULL;
    page_of(pfn)->offset = (uint32_t)npages;
    __atomic_fetch_add(&large_pages, npages, __ATOMIC_RELAXED);
    if (pool_check) /* newly allocated pages have no pattern: fill only */
        pool_check_taken("nonpaged", (uint64_t)kseg_page(pfn), nbytes, 0);
    return kseg_page(pfn);
}

static void free_large(void *p, uint64_t nbytes)
{
    pfn_t pfn = paddr_to_pfn(kseg_paddr(p));
    uint64_t npages = div_round_up(nbytes, PAGE_SIZE);

    if ((uint64_t)p & PAGE_MASK || !page_entry_valid(pfn) || page_of(pfn)->owner != 0 ||
        page_of(pfn)->offset != npages)
        panic("nonpaged pool: no block of %lu bytes starts at %p", nbytes, p);
    __atomic_fetch_sub(&large_pages, npages, __ATOMIC_RELAXED);
    page_free_contig(pfn, npages);
}

static void *__attribute__((noinline)) checked(uint64_t p, uint64_t size)
{
    pool_check_taken("nonpaged", p, size, UINT64_MAX);
    return (void *)p;
}

static void *__attribute__((noinline)) broken_seal(uint64_t p, size_t nbytes)
{
    pool_unseal("nonpaged", p, nbytes);
    return NULL;
}

static void *__attribute__((noinline)) alloc_slow(size_t nbytes)
{
    if (nbytes == 0 || nbytes > INT64_MAX)
        return NULL;
    __atomic_fetch_add(nbytes <= LIST_BYTES ? &lists[(nbytes - 1) / POOL_GRAIN].misses : &direct, 1,
                       __ATOMIC_RELAXED);
    return nbytes > LARGE_BYTES ? alloc_large(nbytes) : alloc_variable(pool_round(nbytes));
}

/* npp_alloc() after the check for an injected failure. */
static inline void *alloc_block(size_t nbytes)
{
    uint64_t i = (nbytes - 1) / POOL_GRAIN; /* nbytes 0: i is very large */

    if (likely(i < LISTS)) {
        uint64_t p = list_pop(&lists[i]);

        if (likely(p != 0)) {
            uint64_t *q = (uint64_t *)p;

            if (unlikely(q[1] != pool_seal(p)))
                return broken_seal(p, nbytes);
            q[1] = 0;
            return unlikely(pool_check != 0) ? checked(p, pool_round(nbytes)) : q;
        }
    }
    return alloc_slow(nbytes);
}

static void *__attribute__((noinline)) alloc_counted(size_t nbytes)
{
    return failure_count(MEGA_ALLOC_NPP) ? NULL : alloc_block(nbytes);
}

/* A hit in a lookaside list calls no other function. */
void *npp_alloc(size_t nbytes)
{
    return failure_counting() ? alloc_counted(nbytes) : alloc_block(nbytes);
}

void *npp_alloc_zeroed(size_t nbytes)
{
    void *p = npp_alloc(nbytes);

    if (p)
        memset(p, 0, nbytes);
    return p;
}

static inline void push(uint64_t p, uint64_t i)
{
    ((uint64_t *)p)[1] = pool_seal(p);
    pool_list_push(&lists[i], __atomic_load_n(&lists[i].head, __ATOMIC_RELAXED), kseg_base(),
                   VERSION_BITS, p);
}

/* Free a block that the quick check of npp_free() refuses; panics when it is not a block. */
static void __attribute__((noinline)) free_slow(void *p, size_t nbytes)
{
    struct pool_area *a = area_of((uint64_t)p);
    uint64_t size = pool_round(nbytes);

    if (nbytes == 0 || !p)
        panic("nonpaged pool: %p of %lu bytes is freed", p, nbytes);
    if (nbytes > LARGE_BYTES) {
        free_large(p, nbytes);
        return;
    }
    if (!a || !pool_area_is_block(a, (uint64_t)p, size))
        panic("nonpaged pool: no block of %lu bytes starts at %p", nbytes, p);
    if (pool_check && ((uint64_t *)p)[1] != pool_seal((uint64_t)p))
        pool_check_fill((uint64_t)p, size);
    if (size <= LIST_BYTES) {
        pool_seal_set("nonpaged", (uint64_t)p, size);
        push((uint64_t)p, size / POOL_GRAIN - 1);
        return;
    }

    ipl_t ipl = spin_lock(&pool_lock);

    free_locked(p, size);
    spin_unlock(&pool_lock, ipl);
}

/* Is p a block of a, of the size of list i? False also where only free_slow() can tell. */
static inline bool is_listed_block(const struct pool_area *a, uint64_t p, uint64_t i)
{
    if (likely(i < 62))
        return pool_area_is_small_block(a, p, i + 1);
    return i < LISTS && pool_area_is_long_block(a, p, i + 1);
}

void npp_free(void *p, size_t nbytes)
{
    uint64_t i = (nbytes - 1) / POOL_GRAIN;
    struct pool_area *a = area_of((uint64_t)p);

    if (unlikely(!a || !is_listed_block(a, (uint64_t)p, i) ||
                 ((uint64_t *)p)[1] == pool_seal((uint64_t)p) || pool_check != 0))
        free_slow(p, nbytes);
    else
        push((uint64_t)p, i);
}

void npp_free_chain(void *first, size_t nbytes)
{
    uint64_t i = (nbytes - 1) / POOL_GRAIN, p = (uint64_t)first, next;
    uint64_t offset = 0, last = 0, n = 0; /* of the packets that go onto the list together */
    struct pool_area *a = NULL;

    for (; p; p = next) {
        next = *(uint64_t *)p;
        if (unlikely(!a || p - a->base >= a->size)) /* often it is that of the block before */
            a = area_of(p);
        if (unlikely(!a || !pool_area_is_small_block(a, p, i + 1) ||
                     ((uint64_t *)p)[1] == pool_seal(p) || pool_check != 0)) {
            free_slow((void *)p, nbytes);
            continue;
        }
        ((uint64_t *)p)[1] = pool_seal(p);
        __atomic_store_n((uint64_t *)p, offset, __ATOMIC_RELAXED);
        offset = (p - kseg_base()) / POOL_GRAIN;
        last = n++ ? last : p;
    }
    if (n)
        pool_list_push_chain(&lists[i], __atomic_load_n(&lists[i].head, __ATOMIC_RELAXED),
                             VERSION_BITS, offset, last, n);
}

/* Add what a segment has to *s. */
static void add_stats(struct pool_segment *g, struct pool_stats *s)
{
    ipl_t ipl = spin_lock(&pool_lock);
    struct pool_stats one;

    pool_var_stats(&g->var, &one);
    spin_unlock(&pool_lock, ipl);
    if (one.free_blocks)
        s->smallest = s->free_blocks ? MIN(s->smallest, one.smallest) : one.smallest;
    s->largest = MAX(s->largest, one.largest);
    s->size += one.size;
    s->free += one.free;
    s->free_blocks += one.free_blocks;
    s->free_blocks_le64 += one.free_blocks_le64;
}

void npp_stats(struct pool_stats *s)
{
    *s = (struct pool_stats){0};
    for (struct pool_segment *g = segments_all(); g; g = g->next)
        add_stats(g, s);
    s->lookaside_bytes = 0;
    for (unsigned i = 0; i < LISTS; i++)
        s->lookaside_bytes += pool_list_bytes(&lists[i], VERSION_BITS, i);
    s->in_use = s->size - s->free - MIN(s->lookaside_bytes, s->size - s->free);
    s->lal_size = LIST_BYTES;
    s->direct = __atomic_load_n(&direct, __ATOMIC_RELAXED);
    s->nlists = LISTS;
}

unsigned npp_lists(void) { return LISTS; }

void npp_list_stats(unsigned list, struct pool_list_stats *s)
{
    pool_list_stats_of(&lists[list], VERSION_BITS, s);
}

uint64_t npp_large_pages(void) { return __atomic_load_n(&large_pages, __ATOMIC_RELAXED); }

uint64_t npp_total_pages(void)
{
    return __atomic_load_n(&segment_pages, __ATOMIC_RELAXED) + npp_large_pages();
}

static bool always(const uint64_t *word)
{
    (void)word;
    return true;
}

void npp_segment_pages(const struct pool_area *segment, uint64_t *first, uint64_t *end)
{
    *first = paddr_to_pfn(kseg_paddr(segment)).n;
    *end = paddr_to_pfn(kseg_paddr((const char *)segment->base + segment->size)).n;
}

void npp_for_each_used(const struct pool_area *segment,
                       void (*fn)(void *arg, uint64_t p, uint64_t size), void *arg)
{
    pool_var_used(segment, container_of(segment, const struct pool_segment, area)->var.first,
                  always, fn, arg);
}

int npp_check(void)
{
    int err = 0;

    for (struct pool_segment *g = segments_all(); g && !err; g = g->next) {
        ipl_t ipl = spin_lock(&pool_lock);

        err = pool_var_check(&g->var);
        spin_unlock(&pool_lock, ipl);
    }
    return err;
}

void pool_boot(void)
{
    struct pool_segment *g;
    ipl_t ipl;

    for (unsigned i = 0; i < CLASSES; i++)
        list_init(&by_room[i]);
    while (npp_total_pages() * PAGE_SIZE < (uint64_t)sysparam(SYSPARAM_NPAGEDYN) &&
           (g = segment_make()) != NULL) {
        ipl = spin_lock(&pool_lock);
        segment_add_locked(g);
        spin_unlock(&pool_lock, ipl);
    }
}
