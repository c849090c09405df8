/*
 * Physical pages: the PFN database and the allocator of page frames (docs/architecture.md).
 *
 * struct page is an entry of the PFN database, one array in KSEG that is indexed by PFN. Entries
 * are initialised in chunks (mm/phys/page_range.c), each when its first page leaves its range of
 * never-used memory. mm/phys/page.c describes the allocator.
 *
 * All functions below may be called at any IPL up to IPL_CLOCK, with locks of a rank below
 * RANK_PFN held, unless their comment says otherwise. None of them waits.
 */
#ifndef MM_PHYS_PAGE_H
#define MM_PHYS_PAGE_H

#include "kernel/base/types.h"
#include "kernel/sched/rad.h"

/* Location codes follow OpenVMS (SDA manual, SHOW PFN_DATA). */
enum page_state {
    PAGE_FREE,
    PAGE_MODIFIED,
    PAGE_BAD,
    PAGE_ZEROED,
    PAGE_CACHED /* in a CPU's page cache */,
    PAGE_RESERVED /* part of a reservation (RMD) */,
    PAGE_TRANSITION /* a pager is reading or writing it */,
    PAGE_ACTIVE /* allocated */,
    PAGE_UNUSED /* in a range, or not managed memory */,
};
enum page_type {
    PAGE_T_UNKNOWN,
    PAGE_T_PROCESS /* private */,
    PAGE_T_OBJECT /* anonymous or file object */,
    PAGE_T_GLOBAL /* section */,
    PAGE_T_PT /* private page table */,
    PAGE_T_SHPT /* shared page table */,
    PAGE_T_SYSTEM /* kernel image, pool */,
    PAGE_T_KSTACK,
};

/*
 * An entry is 32 bytes, 1/256 of the page that it describes. A PFN has only 27 bits, but each link
 * is an aligned 32-bit word, so that the lock-free stacks (mm/phys/page_stack.h) can load and store
 * it atomically. The reference and share counts do not share space with the links, because a page
 * in use can also be on a list. offset has 32 bits, which limits an object to 32 TiB
 * (OBJECT_MAX_PAGES). A page-table page has no offset; the field counts its nonzero PTEs instead.
 */
struct page { /* protected as each field says */
    union {
        uint32_t flink;  /* PFN of the next page on the list that this page is on, 0 or stale on
                            none; protected by the lock of the page's domain, or by the head of a
                            CPU cache */
        uint32_t groups; /* page table: bit k is set if any of the PTEs from 32 * k on is nonzero;
                            atomic (mm/pt/pt.h) */
    };
    uint16_t charge; /* active page: number of the counter that it was charged to (quota_number);
                        constant from its allocation to its end */
    union {
        uint16_t ptes; /* the self-check's count of PTEs of a private page: one for each process */
        uint16_t touched; /* shared page table: bit k is set if any of the PTEs from 64 * k on is
                             valid; atomic */
    };
    uint64_t owner; /* physical address of the PTE, or pointer to the object or section; owner's
                        lock. Private page of several PTEs: 0; atomic */
    union {
        struct {
            uint32_t refcnt; /* references to an active page; of a private page, the PTEs that map
                                it, and pins; atomic */
            uint32_t share;  /* mappings; of a private page, pins; atomic */
        };
        uint64_t both; /* refcnt, and share above it: changed together by pins (mm/space/pin.c) */
    };
    uint8_t state; /* enum page_state */
    uint8_t type;  /* enum page_type */
    uint8_t flags; /* PG_* */
    union {
        uint8_t maker; /* global page: CPU that made it valid */
        uint8_t soon;  /* private page: 1 if a child wrote to it soon after a fork, a hint
                          (mm/space/fork.c); PAGE_PINNED if it is or was pinned (mm/space/pin.h);
                          atomic */
    };
    union {
        uint32_t offset; /* page offset in the object; owner's lock */
        uint32_t aux;    /* page table: number of its nonzero PTEs; atomic */
    };
};

#define PG_BAD 0x1u /* the page goes to the bad list when it is freed */

/* Flags of an allocation. */
#define PA_ZERO     0x1u /* the contents must be zero */
#define PA_PROMISED 0x2u /* draws on an earlier promise (fluid_promise): never fails */
/* Of the kernel's own, charged to nobody; may use three quarters of the minimum (mm/phys/fluid.c),
   unless it is for a user with a limit. */
#define PA_KERNEL 0x4u
#define PA_FILE   0x8u /* contents of a file: has a limit of its own, and leaves a reserve */
/* Serves whoever comes next too: charged to nobody, and leaves what the caller's account must
   leave. */
#define PA_SHARED 0x10u
#define RAD_ANY   0xFFu /* no preference: the domain of the calling CPU */

/* The database, with entries for all PFNs below page_end, which is the first PFN above all RAM.
   Constant after page_boot_done(). */
extern struct page *page_db;
extern uint64_t page_end;

/* The entry of a page that has left its range, as every page allocated below has. Any IPL. */
static inline struct page *page_of(pfn_t pfn) { return &page_db[pfn.n]; }

/* Allocate one page: state PAGE_ACTIVE, refcnt 1; share, owner, offset and aux 0. Without PA_ZERO
   the contents are undefined, and the caller overwrites them before anybody else can read them.
   rad is the preferred domain; when it has no free page, one of another domain is allocated.
   It is charged to the account of the current thread. Returns 0, or -ENOMEM when that account is at
   its limit, or free pages less promised and unused ones would fall below the minimum and what the
   account must leave beside it (never with PA_PROMISED). */
int page_alloc(unsigned flags, enum page_type type, unsigned rad, pfn_t *out);
/* Allocate n pages into out[], all or none, with one update of the account and of the fluid page
   count. */
int page_alloc_bulk(unsigned flags, enum page_type type, unsigned rad, pfn_t *out, size_t n);
/* Free an active page. No mapping of it is left, and every CPU has acknowledged the invalidation
   of its translations. */
void page_free(pfn_t pfn);
/* As page_free(), for a page whose every byte is zero (a page table without entries): it is
   allocated with PA_ZERO again without being zeroed first. */
void page_free_zeroed(pfn_t pfn);
/* Drop a reference to each of n pages of any domains. Those of which it was the last one are freed
   as by page_free() and page_free_zeroed(). */
void page_free_bulk(const pfn_t *pfns, size_t n);
void page_free_zeroed_bulk(const pfn_t *pfns, size_t n);

#define PAGE_BATCH 32 /* pages moved at a time between a CPU's cache and the lists */

/* Pages on their way to the lists: a chain of one domain and one charge, of the thread that fills
   it. Its pages are in no list until it is flushed, so the thread does not wait meanwhile. */
struct page_batch {
    uint32_t first, last;   /* the chain, linked by flink */
    uint64_t count, charge; /* quadwords, which are compared without a conversion */
    uint64_t low, span;     /* of the domain: its first PFN, and the number of its PFNs */
    uint8_t state;          /* PAGE_FREE, or PAGE_ZEROED: every byte of its pages is zero */
    uint8_t mark;           /* the state that its pages get: `state`, or PAGE_CACHED */
};

/* Begin a batch of pages that are zeroed or not. */
static inline void page_batch_begin(struct page_batch *b, enum page_state state)
{
    *b = (struct page_batch){.state = (uint8_t)state, .mark = PAGE_CACHED};
}
/* Drop a reference. True: it was the last one, and the page has been freed as by page_free(). */
bool page_unref(pfn_t pfn);
/* page_unref() of a page that had `before` references, of which one has been dropped: 1 or 0. */
void page_unref_last(pfn_t pfn, uint32_t before);
/* Free what the batch holds. */
void page_batch_flush(struct page_batch *b);
/* page_batch_add() for any page with one reference. */
void page_batch_add_slow(struct page_batch *b, pfn_t pfn);
/* page_unref(), at the latest at the next flush. The count comes first: of the pages that a child
   gives back, most are its parent's too. */
static inline void page_batch_add(struct page_batch *b, pfn_t pfn)
{
    struct page *p = page_of(pfn);

    if (__atomic_load_n(&p->refcnt, __ATOMIC_ACQUIRE) != 1) {
        uint32_t before = __atomic_fetch_sub(&p->refcnt, 1, __ATOMIC_RELEASE);

        if (unlikely(before <= 1))
            page_unref_last(pfn, before);
        return;
    }
    if (unlikely(p->charge != b->charge || pfn.n - b->low >= b->span || b->count == 0 ||
                 b->count == PAGE_BATCH || p->state != PAGE_ACTIVE || p->flags)) {
        page_batch_add_slow(b, pfn);
        return;
    }
    p->state = b->mark;
    __atomic_store_n(&p->flink, b->first, __ATOMIC_RELAXED);
    b->first = (uint32_t)pfn.n;
    b->count++;
}
/* Allocate npages contiguous pages of one domain, aligned to align pages (a power of two), from the
   never-used ranges; flags and rad as for page_alloc(). Pages that went through a free list are not
   merged into stretches again. -ENOMEM: there is no such stretch, or the minimum would be crossed.
   Takes time in proportion to npages. Each page may also be freed by itself. */
int page_alloc_contig(uint64_t npages, uint64_t align, unsigned flags, enum page_type type,
                      unsigned rad, pfn_t *first);
/* Free what page_alloc_contig() allocated; the pages become a range again. */
void page_free_contig(pfn_t first, uint64_t npages);

/* Is the page managed memory, that is, neither in a hole nor above PHYSICAL_MEMORY? */
bool page_is_ram(pfn_t pfn);
/* The domain of a page. Any IPL. */
unsigned page_rad(pfn_t pfn);
/* Do all of these frames lie in memory above PHYSICAL_MEMORY, which the kernel never uses? */
bool page_is_excluded(pfn_t first, uint64_t npages);
/* Is the page's database entry initialised? For dumps and the self-check. */
bool page_entry_valid(pfn_t pfn);
/* Add a reference to an active page; the caller holds one already. */
void page_ref(pfn_t pfn);
/* Drop a reference that is not the last one. Returns how many are left. */
static inline uint32_t page_unref_shared(pfn_t pfn)
{
    return __atomic_sub_fetch(&page_of(pfn)->refcnt, 1, __ATOMIC_ACQ_REL);
}
/* Mark an active page bad: when freed, it goes to the bad list and is no longer fluid. */
void page_set_bad(pfn_t pfn);
/* Zero a page by stores. */
void page_zero(pfn_t pfn);
/* The page of zeroes: never written, and never freed. Constant after page_zeroes_boot(). */
extern pfn_t page_zeroes;
/* Boot, after page_boot_done(): allocate it. Panics when there is no memory. */
void page_zeroes_boot(void);
/* The same, but read it first and write it only if it is not zero: a page for which a sparse host
   has not yet allocated memory stays without. */
void page_zero_if_needed(pfn_t pfn);
void page_copy(pfn_t dst, pfn_t src);
/* Zero up to limit free pages and put them on the zeroed lists, as long as a domain's zeroed list
   holds fewer than goal pages; this CPU's domain comes first. Returns the number of pages zeroed.
   Never-used pages are written only if they are not zero. Interrupts are blocked for one page at a
   time. IPL up to IPL_CLOCK, no lock held. */
unsigned page_zero_idle(unsigned limit, uint64_t goal);

/* Move all pages of the CPU caches to the lists. */
void page_drain(void);

/* free = never_used + cached + zeroed + pages on the free lists;
   total = free + modified + bad + active + reserved. */
struct page_stats {
    uint64_t total, free, zeroed, never_used, cached, modified, bad, active, reserved;
};
void page_stats(struct page_stats *s);
/* The statistics of one domain, and its PFNs [*first, *end), up to the first of the next domain.
   `cached` counts this domain's pages in the caches of all CPUs. */
void page_rad_stats(unsigned rad, struct page_stats *s, uint64_t *first, uint64_t *end);

/* Boot, first: add a stretch of RAM (clusters of usage 0, less the kernel image and the initrd).
   Stretches come in any order and do not overlap. */
void page_boot_add_range(pfn_t first, uint64_t npages);
/* Between page_boot_add_range() and page_boot_done(): contiguous pages that are never freed. Panics
   when no range holds that many. */
pfn_t page_boot_alloc(uint64_t npages);
/* Boot, last: place the PFN database and divide the remaining memory into domains. */
void page_boot_done(void);
/* Boot, optional, before page_boot_done(): apply the parameters PHYSICAL_MEMORY, MEMORY_HOLES,
   MEMORY_HOLE_MB and RADS to the ranges that were added, and report it on the console. */
void page_boot_parameters(void);

#endif
