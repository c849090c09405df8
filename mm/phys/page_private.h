/*
 * Private to mm/phys: the page lists and ranges of a memory domain, and the functions by which the
 * allocator updates the fluid page count.
 */
#ifndef MM_PHYS_PAGE_PRIVATE_H
#define MM_PHYS_PAGE_PRIVATE_H

#include "kernel/sched/spinlock.h"
#include "mm/phys/page.h"
#include "mm/phys/page_check.h"
#include "mm/phys/page_quick.h"

/* Ranges of a domain; a further one goes to the free list, page by page. Users make stretches of
   many sizes, and each search looks at all ranges with the lock held. */
#define RAD_RANGES 128

struct page_list { /* last in, first out, linked by flink; protected by the domain's lock */
    uint32_t head;
    uint64_t count; /* written under the lock; see count_add_locked() */
};

/* Counts change under the domain's lock. Readers that only decide whether taking the lock is
   worthwhile load them without it, so the stores are atomic; such a reader relies on nothing else
   that it reads. */
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
    uint64_t reserved_pages;                 /* pages held by reservations; lock */
    uint64_t total;                          /* managed pages at boot; constant after boot */
    uint64_t first;   /* lowest PFN: 0 in domain 0, else a multiple of 512; constant after boot */
    unsigned nranges; /* lock */
    uint32_t ranges_made;                 /* stretches that became ranges; lock */
    struct page_range ranges[RAD_RANGES]; /* ascending, never adjacent; lock */
};

/* rad_count of them are in use. Domain n has the managed pages from rads[n].first up to the next
   domain's first, on lists, in ranges and in CPU caches of its own: no page ever changes its
   domain. */
extern struct rad rads[RAD_MAX];

/* The domain that a hint means: this CPU's domain when there is no domain of that number. */
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

/* The PFNs of domain rad: from *low up to *end, exclusive. */
static inline void rad_limits(unsigned rad, uint64_t *low, uint64_t *end)
{
    *low = rads[rad].first;
    *end = rad + 1 < rad_count ? rads[rad + 1].first : UINT64_MAX;
}

/* Managed RAM, less what page_boot_alloc() and page_boot_done() took from it. In ascending order;
   constant after boot. */
#define BOOT_RANGES 64
extern struct page_range boot_ranges[BOOT_RANGES];
extern unsigned nboot_ranges;
/* Remove [first, first + npages) from them. Returns the number of pages removed. Boot only. */
uint64_t boot_ranges_remove(uint64_t first, uint64_t npages);
/* Exclude all memory from PFN end on. Returns the number of pages excluded. Boot only, before
   page_boot_done(). */
uint64_t page_boot_limit(uint64_t end);

/* Put the chain first ... last of count pages on a list. Lock of its domain held. */
void page_list_push_locked(struct page_list *l, uint64_t first, uint64_t last, uint64_t count);
/* Take up to n pages off a list as a chain and set their state. Returns the number of pages. Lock
   of the list's domain held. */
unsigned page_list_take_locked(struct page_list *l, unsigned n, enum page_state state,
                               uint64_t *first, uint64_t *last);
/* Move all but a batch of an oversized stack to the list of `state` (free or zeroed). No lock of a
   domain held. */
void page_cache_drain(struct rad *r, uint64_t *head, enum page_state state);
/* Find the free page that the caller has taken from the fluid count: first in domain rad, then in
   the following ones. *zeroed: is a zeroed page preferred; on return, whether the page is zeroed.
   No lock of a domain held. */
uint64_t page_search(unsigned rad, bool *zeroed);

/* Take up to n pages from the lowest range of r and initialise their entries. Returns the number of
   pages, which begin at *first. Lock of r held. */
uint64_t range_take_low_locked(struct rad *r, uint64_t n, uint64_t *first);
/* Take npages contiguous pages, aligned to align pages, from the smallest range that holds them.
   Entries are not initialised. False: no range holds them. Lock of r held. */
bool range_take_contig_locked(struct rad *r, uint64_t npages, uint64_t align, uint64_t *first);
/* Make a stretch a range again, merged with its neighbours. False: the table of ranges is full, and
   nothing has changed. Lock of r held. */
bool range_give_locked(struct rad *r, uint64_t first, uint64_t npages);
/* Initialise the chunks that hold the entries of a stretch and are not initialised yet. The caller
   has taken the stretch; a chunk that it shares with other memory needs the domain's lock. */
void page_entries_init(uint64_t first, uint64_t npages);

/* Print the page counts without taking a lock: for a panic, with all other CPUs stopped. */
void page_dump(void);

/* What an allocation with PA_PROMISED or PA_KERNEL must leave in the fluid page count. floor: what
   others for the same account must leave. */
int64_t fluid_floor(unsigned flags, int64_t floor);
/* How much less than others a thread whose system call starves must leave. */
int64_t fluid_for_starved(void);

/* Charge n pages (below 2^PFN_BITS) to the account of the current thread and take them from the
   fluid page count, as the flags of page_alloc() say. *charge: for their database entries. False:
   refused, and nothing has changed. */
bool pages_charge(unsigned flags, uint64_t n, uint32_t *charge);

/* Add n freed pages to the count. Called when they are on a list, in a range or in a cache already,
   so that an allocation that takes them from the count finds them. */
static inline void fluid_give(uint64_t n)
{
    __atomic_fetch_add(&fluid_available, (int64_t)n, __ATOMIC_RELEASE);
}

/* Boot: npages pages are free and none promised. Sets the default minimum. */
void fluid_boot(uint64_t npages);

#endif
