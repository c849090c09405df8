/*
 * Private to mm/page*.c, mm/phys/fluid.c and mm/section/reserved.c: the page lists of a memory
 * domain, the ranges, and what the allocator takes from the fluid page count.
 */
#ifndef MM_PHYS_PAGE_PRIVATE_H
#define MM_PHYS_PAGE_PRIVATE_H

#include "kernel/sched/spinlock.h"
#include "mm/phys/page.h"

#define PFN_BITS 27 /* KSEG maps 40 bits of physical address, a page has 13 */

/* Entries that are initialised together: one page of the database. */
#define CHUNK_PAGES (PAGE_SIZE / sizeof(struct page))

#define PAGE_BATCH 32  /* pages between a CPU's cache and the lists at a time */
#define RAD_RANGES 256 /* stretches a RAD can have; more go to the free list page by page */

/* A cache's stack of pages: one quadword {version:30, count:7, PFN:27}, changed by compare-and-swap
   only. How: mm/phys/page.c. */
#define HEAD_PFN_MASK    ((1UL << PFN_BITS) - 1)
#define HEAD_COUNT_SHIFT PFN_BITS
#define HEAD_COUNT_MASK  0x7FUL
#define HEAD_VERSION     (1UL << 34)

static inline unsigned head_count(uint64_t h) { return (h >> HEAD_COUNT_SHIFT) & HEAD_COUNT_MASK; }

struct page_cache {
    uint64_t dirty;  /* atomic: head of the stack of pages with unknown contents */
    uint64_t zeroed; /* atomic: head of the stack of zeroed pages */
} __attribute__((aligned(64)));

/* By CPU, and by the domain of the pages in it. */
extern struct page_cache page_caches[MAX_CPUS][RAD_MAX];

struct page_list { /* last in, first out, linked by flink; protected by the RAD's lock */
    uint32_t head;
    uint64_t count; /* lock; see count_add_locked() */
};

/* Counts change under the RAD's lock. Who only wants to know whether it is worth to take the lock
 * looks at them without it, so their stores are marked; nothing else hangs on what is read there.
 */
static inline void count_add_locked(uint64_t *count, uint64_t n)
{
    __atomic_store_n(count, *count + n, __ATOMIC_RELAXED);
}
static inline void count_sub_locked(uint64_t *count, uint64_t n)
{
    __atomic_store_n(count, *count - n, __ATOMIC_RELAXED);
}

struct page_range {
    uint64_t first, npages;
};

struct rad {
    struct spinlock lock;                    /* RANK_PFN */
    struct page_list lists[PAGE_ZEROED + 1]; /* by state: free, modified, bad, zeroed; lock */
    uint64_t range_pages;                    /* sum over ranges; lock */
    uint64_t reserved_pages;                 /* held by reservations; lock */
    uint64_t total;                          /* pages that it began with; constant after boot */
    uint64_t first;   /* its lowest PFN, a multiple of 512 but for domain 0's; likewise */
    unsigned nranges; /* lock */
    struct page_range ranges[RAD_RANGES]; /* ascending, never adjacent; lock */
};

/* rad_count of them are in use. Domain n has the managed pages from its first to the next one's,
   on lists, in ranges and in CPU caches of its own: no page ever moves to another domain. */
extern struct rad rads[RAD_MAX];
extern uint64_t page_total; /* constant after boot */

/* Any domain number as a hint to an existing domain. */
static inline unsigned rad_hint(unsigned rad)
{
    return rad < rad_count ? rad : rad_of_cpu(cpu_id());
}

/* The domain of a page. */
static inline unsigned rad_of_pfn(uint64_t n)
{
    unsigned rad = 0;

    while (rad + 1 < rad_count && n >= rads[rad + 1].first)
        rad++;
    return rad;
}

/* Managed RAM, before page_boot_done(). Ascending; constant after boot. */
#define BOOT_RANGES 64
extern struct page_range boot_ranges[BOOT_RANGES];
extern unsigned nboot_ranges;
/* Take [first, first + npages) out of them. Returns how many pages that were. Boot only. */
uint64_t boot_ranges_remove(uint64_t first, uint64_t npages);
/* Leave all that lies above PFN end aside. Returns how many pages. Boot only, before
   page_boot_done(). */
uint64_t page_boot_limit(uint64_t end);

/* Take up to n pages from the lowest range of r, their entries initialised. Returns how many, from
 *first on. r's lock held. */
uint64_t range_take_low_locked(struct rad *r, uint64_t n, uint64_t *first);
/* Take an aligned stretch; its entries may be uninitialised but for those of the chunks at its
   ends. r's lock held. */
bool range_take_contig_locked(struct rad *r, uint64_t npages, uint64_t align, uint64_t *first);
/* Give a stretch back. Pages that the table of ranges cannot hold go to the free list. r's lock
   held. */
void range_give_locked(struct rad *r, uint64_t first, uint64_t npages);
/* Initialise the entries of a stretch that the caller has taken. No lock needed. */
void page_entries_init(uint64_t first, uint64_t npages);

/* A stretch of domain rad (which exists) for a reservation: contiguous, aligned, taken from the
   fluid count, its entries left alone. */
int page_reserve(uint64_t npages, uint64_t align, unsigned rad, pfn_t *first);
/* A part of a larger reservation: the largest aligned stretch of domain rad, at most `most` pages,
   and unless it is all of these a multiple of `multiple` pages. -ENOMEM: there is none. */
int page_reserve_part(uint64_t most, uint64_t multiple, uint64_t align, unsigned rad, pfn_t *first,
                      uint64_t *npages);
/* Pages of domain rad's largest aligned stretch. */
uint64_t page_largest_stretch(unsigned rad, uint64_t align);
/* The reservation is used: initialise its entries, state PAGE_RESERVED. */
void page_reserve_entries(pfn_t first, uint64_t npages);
/* Give back a part of a reservation. It becomes a range and is fluid again. */
void page_unreserve(pfn_t first, uint64_t npages);

/* The self-check (mm/check/validate.h), while everything stands. Each page of the lists of the
   RADs, and of the CPU caches (PAGE_CACHED): NULL, or which chain is broken. */
const char *page_walk_free(void (*fn)(void *arg, uint64_t n, enum page_state state), void *arg);
/* Each range; each stretch of RAM, without holes and what PHYSICAL_MEMORY leaves aside. */
void page_walk_ranges(void (*fn)(void *arg, uint64_t first, uint64_t npages), void *arg);
void page_walk_ram(void (*fn)(void *arg, uint64_t first, uint64_t npages), void *arg);

/* Print the counts without a lock: for a panic, all other CPUs stopped. */
void page_dump(void);

/* The fluid count's word (mm/phys/fluid.c): free less promised and unused less minimum. */
extern int64_t fluid_available; /* atomic */

/* Take n pages for a PA_PROMISED or PA_KERNEL allocation. */
bool fluid_take_special(unsigned flags, uint64_t n);

/* Take n pages as long as `floor` stay available; false: refused. */
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

/* Take n pages (below 2^PFN_BITS) as page_alloc's flags allow. */
static inline bool fluid_take(unsigned flags, uint64_t n)
{
    if (unlikely(flags & (PA_PROMISED | PA_KERNEL)))
        return fluid_take_special(flags, n);
    return fluid_take_above(0, n);
}

/* n pages came back; called after they can be found. */
static inline void fluid_give(uint64_t n)
{
    __atomic_fetch_add(&fluid_available, (int64_t)n, __ATOMIC_RELEASE);
}

/* Boot: npages are free, none promised; computes the default minimum. */
void fluid_boot(uint64_t npages);

#endif
