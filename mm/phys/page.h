/*
 * Physical pages: the PFN database and the page lists (docs/architecture.md).
 *
 * struct page is the PFN database entry: one array in KSEG, indexed by PFN. Entries are
 * initialised a chunk at a time when the chunk's first page leaves its never-used range. How it
 * works: mm/phys/page.c.
 *
 * All calls below may be made at any IPL up to IPL_CLOCK with locks below RANK_PFN held, unless
 * said otherwise. None of them waits.
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
    PAGE_CACHED /* per-CPU cache */,
    PAGE_RESERVED /* RMD */,
    PAGE_TRANSITION /* pager at work */,
    PAGE_ACTIVE,
    PAGE_UNUSED /* in a range, or no managed memory */,
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
 * An entry is 32 bytes, a 256th of its page. The links are of a whole word each, so that the lists
 * without a lock (mm/phys/page.c) can load and store one by itself, though a PFN has but 27 bits;
 * the counts are of their own, because a page in use can be on a list too. offset is 32 bits, which
 * bounds an object to 32 TiB (OBJECT_MAX_PAGES), and a page-table page, which is at no offset of
 * anything, counts its PTEs there.
 */
struct page {              /* protected as each field says */
    uint32_t flink, blink; /* links (PFNs) of the list that the page is on, and 0 or stale on none.
                              Free: RAD's page lock, or the cache's head; else the owner's lock */
    uint64_t owner;        /* PTE's physical address, or object/section pointer; owner's lock */
    uint32_t refcnt;       /* active: atomic */
    uint32_t share;        /* mappings; atomic */
    uint8_t state;         /* enum page_state */
    uint8_t type;          /* enum page_type */
    uint8_t flags;         /* PG_* */
    uint8_t maker;         /* global page: the CPU that made it valid */
    union {
        uint32_t offset; /* page offset in the object; owner's lock */
        uint32_t aux;    /* page table: its nonzero PTEs; atomic */
    };
};

#define PG_BAD 0x1u /* goes to the bad list when it is freed */

#define PA_ZERO     0x1u  /* contents zero */
#define PA_PROMISED 0x2u  /* draws on a promise made before (fluid_promise): never fails */
#define PA_KERNEL   0x4u  /* may use the pages below the minimum, down to an emergency floor */
#define RAD_ANY     0xFFu /* a hint that is none: the domain of the CPU that asks */

/* The database, with entries for all PFNs below page_end, the first above all RAM. Constant after
   page_boot_done(). */
extern struct page *page_db;
extern uint64_t page_end;

/* Entry of a page that has left its range (any page from the calls below). Any IPL. */
static inline struct page *page_of(pfn_t pfn) { return &page_db[pfn.n]; }

/* One page, state PAGE_ACTIVE, refcnt 1, share, owner, offset and aux 0. Contents undefined
   without PA_ZERO: the caller overwrites them before anybody sees them. 0, or -ENOMEM when the
   free pages less the promised and unused ones would fall below the minimum (PA_PROMISED never
   fails). rad: the domain whose pages are wanted; when it has none, another one's are given. */
int page_alloc(unsigned flags, enum page_type type, unsigned rad, pfn_t *out);
/* n pages into out[]: all or none; one accounting step for all. */
int page_alloc_bulk(unsigned flags, enum page_type type, unsigned rad, pfn_t *out, size_t n);
/* Give back a page with no mapping left, after its invalidation was acknowledged everywhere. */
void page_free(pfn_t pfn);
/* The same for a page whose every byte is zero (a page table with no entry left): it need not be
   zeroed again. */
void page_free_zeroed(pfn_t pfn);
void page_free_bulk(const pfn_t *pfns, size_t n);
/* Contiguous pages of one domain from the never-used ranges, aligned to align pages (power of two);
   rad as with page_alloc. Pages that went through the free list are not merged into stretches
   again. -ENOMEM: no such stretch, or the minimum. */
int page_alloc_contig(uint64_t npages, uint64_t align, unsigned flags, enum page_type type,
                      unsigned rad, pfn_t *first);
/* They become a range again. */
void page_free_contig(pfn_t first, uint64_t npages);

bool page_is_ram(pfn_t pfn);  /* managed memory: neither a hole nor above PHYSICAL_MEMORY */
unsigned page_rad(pfn_t pfn); /* its domain. Any IPL */
/* Are these frames that PHYSICAL_MEMORY leaves aside: memory that the kernel never uses? */
bool page_is_aside(pfn_t first, uint64_t npages);
bool page_entry_valid(pfn_t pfn); /* is the database entry initialised? For dumps */
void page_ref(pfn_t pfn);
bool page_unref(pfn_t pfn); /* true: it was the last, the page has been freed */
/* Of an active page: when freed it goes to the bad list and is fluid no more. */
void page_set_bad(pfn_t pfn);
void page_zero(pfn_t pfn);           /* by stores */
void page_zero_if_needed(pfn_t pfn); /* reads first: a sparse host page stays untouched */
void page_copy(pfn_t dst, pfn_t src);
/* Zero up to limit pages of the free lists in advance and put them on the zeroed lists, as long as
   these hold fewer than goal pages each; this CPU's domain comes first. Returns how many. Pages
   that were never used are written only if they are not zero. Interrupts are held off for one page
   at a time. IPL up to IPL_CLOCK, no lock. */
unsigned page_zero_idle(unsigned limit, uint64_t goal);

/* Move what CPU caches hold to the lists. IPL as page_alloc. */
void page_drain(void);

struct page_stats { /* free = never_used + cached + zeroed + those on free lists; total = free + all
                       that follow it */
    uint64_t total, free, zeroed, never_used, cached, modified, bad, active, reserved;
};
void page_stats(struct page_stats *s);
/* The same of one domain, and the PFNs [*first, *end) between its first page and the next domain's.
   Page counts of CPU caches are those of its pages, whichever CPU has them. */
void page_rad_stats(unsigned rad, struct page_stats *s, uint64_t *first, uint64_t *end);

/* Boot: a stretch of RAM (usage 0 clusters less kernel image and initrd), any order, no overlap;
   then page_boot_parameters() (mm/phys/page_boot.c), if at all, and page_boot_done(), which places
   the PFN database and divides what is left into domains. page_boot_alloc gives contiguous pages
   between the two, never freed; it panics when there are none. */
void page_boot_add_range(pfn_t first, uint64_t npages);
pfn_t page_boot_alloc(uint64_t npages);
void page_boot_done(void);
/* What PHYSICAL_MEMORY, MEMORY_HOLES with MEMORY_HOLE_MB, and RADS say about the ranges that were
   added: named on the console. */
void page_boot_parameters(void);

#endif
