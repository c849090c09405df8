/*
 * Ranges of never-used RAM, and the entries of the PFN database.
 *
 * At boot all RAM is a few ranges, and no entry of the database is initialised, so boot takes the
 * same time whatever the amount of RAM. A chunk is 64 entries, a quarter of a page of the database.
 * It is initialised as a whole when its first page leaves its range, and its bit in a bitmap is
 * set. The bitmap (256 KB for 1 TiB of RAM) is all that is cleared at boot. Memory need not be zero
 * at power-on.
 *
 * Single pages are taken from the low end of the lowest range, contiguous stretches from the high
 * end of the smallest range that holds them, so that large ranges stay whole. Stretches that are
 * freed become ranges again and are merged with their neighbours; nothing is known about the
 * contents of a range.
 *
 * Each domain (RAD) has the PFNs from rads[n].first up to the first of the next domain, with an
 * equal share of the usable pages, and the ranges among them. Domain boundaries are multiples of
 * 512 pages, so that none of them cuts a block of the largest granularity hint.
 *
 * Locks: the ranges of a domain are protected by its lock. The entries of a stretch that was taken
 * belong to the taker, but the chunks at its two ends may hold entries of other pages: these chunks
 * are initialised under the lock when the stretch is taken, those in between without it. Bits of
 * the bitmap share words, so they are set by an atomic OR with release order: a CPU that sees the
 * bit sees the entries.
 */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "mm/phys/failure.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page_private.h"

#define BOUNDARY 512 /* pages: the largest granularity-hint block */

struct page *page_db;
struct rad rads[RAD_MAX];
uint64_t page_total;
uint64_t page_end;

struct page_range boot_ranges[BOOT_RANGES];
unsigned nboot_ranges;
static struct page_range aside[BOOT_RANGES]; /* excluded by PHYSICAL_MEMORY; constant after boot */
static unsigned nexcluded;
static uint64_t *chunk_bitmap; /* bit n: chunk n is initialised; atomic */

/* ---- chunks ---- */

static bool chunk_ready(uint64_t chunk)
{
    return (__atomic_load_n(&chunk_bitmap[chunk / 64], __ATOMIC_ACQUIRE) >> (chunk % 64)) & 1;
}

static void chunk_init(uint64_t chunk)
{
    struct page *p = &page_db[chunk * CHUNK_PAGES];
    const struct page fresh = {.state = PAGE_UNUSED};

    for (unsigned i = 0; i < CHUNK_PAGES; i++)
        p[i] = fresh;
    __atomic_fetch_or(&chunk_bitmap[chunk / 64], 1UL << (chunk % 64), __ATOMIC_RELEASE);
}

void page_entries_init(uint64_t first, uint64_t npages)
{
    for (uint64_t c = first / CHUNK_PAGES; c <= (first + npages - 1) / CHUNK_PAGES; c++)
        if (!chunk_ready(c))
            chunk_init(c);
}

bool page_entry_valid(pfn_t pfn) { return pfn.n < page_end && chunk_ready(pfn.n / CHUNK_PAGES); }

bool page_is_ram(pfn_t pfn)
{
    for (unsigned i = 0; i < nboot_ranges; i++)
        if (pfn.n - boot_ranges[i].first < boot_ranges[i].npages)
            return true;
    return false;
}

bool page_is_excluded(pfn_t first, uint64_t npages)
{
    for (unsigned i = 0; i < nexcluded; i++)
        if (first.n >= aside[i].first && first.n - aside[i].first < aside[i].npages &&
            npages <= aside[i].npages - (first.n - aside[i].first))
            return true;
    return false;
}

/* ---- ranges ---- */

static void range_remove_at(struct rad *r, unsigned i)
{
    r->nranges--;
    memmove(&r->ranges[i], &r->ranges[i + 1], (r->nranges - i) * sizeof(r->ranges[0]));
}

uint64_t range_take_low_locked(struct rad *r, uint64_t n, uint64_t *first)
{
    struct page_range *g = &r->ranges[0];

    if (r->nranges == 0)
        return 0;
    n = MIN(n, g->npages);
    *first = g->first;
    g->first += n;
    g->npages -= n;
    count_sub_locked(&r->range_pages, n);
    if (g->npages == 0)
        range_remove_at(r, 0);
    page_entries_init(*first, n);
    return n;
}

static void range_insert_at(struct rad *r, unsigned i, uint64_t first, uint64_t npages)
{
    memmove(&r->ranges[i + 1], &r->ranges[i], (r->nranges - i) * sizeof(r->ranges[0]));
    r->ranges[i] = (struct page_range){first, npages};
    r->nranges++;
}

/* The number of ranges that begin below `first`. */
static unsigned ranges_below(const struct rad *r, uint64_t first)
{
    unsigned low = 0, high = r->nranges;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (r->ranges[middle].first < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool range_give_locked(struct rad *r, uint64_t first, uint64_t npages)
{
    unsigned i = ranges_below(r, first);
    bool below = i > 0 && r->ranges[i - 1].first + r->ranges[i - 1].npages == first;
    bool above = i < r->nranges && first + npages == r->ranges[i].first;

    if (below) {
        r->ranges[i - 1].npages += npages;
        if (above) {
            r->ranges[i - 1].npages += r->ranges[i].npages;
            range_remove_at(r, i);
        }
    } else if (above) {
        r->ranges[i].first = first;
        r->ranges[i].npages += npages;
    } else if (r->nranges < RAD_RANGES) {
        range_insert_at(r, i, first, npages);
    } else {
        return false;
    }
    r->ranges_made++;
    count_add_locked(&r->range_pages, npages);
    return true;
}

/* The highest start of npages in g, aligned to align; below g.first: it does not hold them. */
static uint64_t highest_start(const struct page_range *g, uint64_t npages, uint64_t align)
{
    return align_down(g->first + g->npages - npages, align);
}

bool range_take_contig_locked(struct rad *r, uint64_t npages, uint64_t align, uint64_t *first)
{
    unsigned best = RAD_RANGES;
    uint64_t least = UINT64_MAX, start, above;
    struct page_range *g;

    for (unsigned i = 0; i < r->nranges; i++) {
        g = &r->ranges[i];
        if (g->npages < npages || g->npages >= least || highest_start(g, npages, align) < g->first)
            continue;
        best = i;
        least = g->npages;
    }
    if (best == RAD_RANGES)
        return false;
    g = &r->ranges[best];
    start = highest_start(g, npages, align);
    above = g->first + g->npages - (start + npages);
    if (start > g->first && above > 0 && r->nranges == RAD_RANGES)
        return false; /* what is above would need a range of its own */
    count_sub_locked(&r->range_pages, npages);
    *first = start;
    if (start > g->first) {
        g->npages = start - g->first;
        if (above > 0)
            range_insert_at(r, best + 1, start + npages, above);
    } else if (above > 0) {
        *g = (struct page_range){start + npages, above};
    } else {
        range_remove_at(r, best);
    }
    return true;
}

uint64_t page_largest_stretch(unsigned rad, uint64_t align)
{
    struct rad *r = &rads[rad];
    ipl_t ipl = spin_lock(&r->lock);
    uint64_t best = 0;

    for (unsigned i = 0; i < r->nranges; i++) {
        uint64_t end = r->ranges[i].first + r->ranges[i].npages;
        uint64_t start = align_up(r->ranges[i].first, align);

        if (start < end)
            best = MAX(best, end - start);
    }
    spin_unlock(&r->lock, ipl);
    return best;
}

unsigned page_rad(pfn_t pfn) { return rad_of_pfn(pfn.n); }

/* Initialise the chunk of page n, which has left its range; it may hold entries of other pages. */
static void end_init(struct rad *r, uint64_t n)
{
    ipl_t ipl = spin_lock(&r->lock);

    page_entries_init(n, 1);
    spin_unlock(&r->lock, ipl);
}

/* Take a stretch of r that is taken from the fluid count already. entries: initialise the chunks at
   its ends, which it may share with other stretches; otherwise it is a reservation. */
static bool stretch_find(uint64_t npages, uint64_t align, struct rad *r, bool entries,
                         uint64_t *first)
{
    ipl_t ipl = spin_lock(&r->lock);
    bool found = range_take_contig_locked(r, npages, align, first);

    if (found && !entries)
        r->reserved_pages += npages;
    spin_unlock(&r->lock, ipl);
    if (found && entries) {
        end_init(r, *first);
        end_init(r, *first + npages - 1);
    }
    return found;
}

static bool stretch_possible(uint64_t npages, uint64_t align)
{
    KASSERT(npages != 0 && is_power_of_2(align),
            "a stretch has pages and its alignment is a power of two");
    return npages >> PFN_BITS == 0;
}

/* Put a stretch on the free list, page by page, because the table of ranges is full: in one hold of
   the lock those of one chunk. */
static void list_give(struct rad *r, uint64_t first, uint64_t npages)
{
    struct page_list *l = &r->lists[PAGE_FREE];
    uint64_t end = first + npages, step;

    for (; first < end; first = step) {
        ipl_t ipl;

        step = MIN(end, align_down(first, CHUNK_PAGES) + CHUNK_PAGES);
        end_init(r, first);
        ipl = spin_lock(&r->lock);
        for (uint64_t n = first; n < step; n++) {
            page_db[n].state = PAGE_FREE;
            __atomic_store_n(&page_db[n].flink, l->head, __ATOMIC_RELAXED);
            l->head = (uint32_t)n;
        }
        count_add_locked(&l->count, step - first);
        spin_unlock(&r->lock, ipl);
    }
}

/* Make a stretch, which lies in one domain, a range again. */
static void stretch_give(uint64_t first, uint64_t npages, bool reserved)
{
    struct rad *r = &rads[rad_of_pfn(first)];
    bool listed;

    for (uint64_t n = first; n < first + npages; n++)
        if (page_entry_valid(pfn_of(n)))
            page_db[n].state = PAGE_UNUSED;
        else
            n = align_up(n + 1, CHUNK_PAGES) - 1; /* skip a chunk that was never initialised */

    ipl_t ipl = spin_lock(&r->lock);

    if (reserved)
        r->reserved_pages -= npages;
    listed = !range_give_locked(r, first, npages);
    spin_unlock(&r->lock, ipl);
    if (listed)
        list_give(r, first, npages);
    fluid_give(npages);
}

int page_alloc_contig(uint64_t npages, uint64_t align, unsigned flags, enum page_type type,
                      unsigned rad, pfn_t *first)
{
    unsigned wanted = rad_hint(rad), i = 0;
    uint64_t start;
    uint32_t charge;

    if (failure_inject(MEGA_ALLOC_STRETCH) || !stretch_possible(npages, align) ||
        !pages_charge(flags, npages, &charge))
        return -ENOMEM;
    while (!stretch_find(npages, align, &rads[(wanted + i) % rad_count], true, &start))
        if (++i == rad_count) {
            quota_count_give(quota_counter(charge), npages);
            fluid_give(npages);
            return -ENOMEM;
        }
    page_entries_init(start, npages);
    for (uint64_t n = start; n < start + npages; n++) {
        page_db[n] = (struct page){
            .charge = (uint16_t)charge, .refcnt = 1, .state = PAGE_ACTIVE, .type = (uint8_t)type};
        if (flags & PA_ZERO)
            page_zero(pfn_of(n));
    }
    *first = pfn_of(start);
    return 0;
}

void page_free_contig(pfn_t first, uint64_t npages)
{
    for (uint64_t n = first.n; n < first.n + npages; n++)
        KASSERT(page_db[n].state == PAGE_ACTIVE, "a page that is freed is active");
    quota_count_give(quota_counter(page_db[first.n].charge), npages);
    stretch_give(first.n, npages, false);
}

int page_reserve(uint64_t npages, uint64_t align, unsigned rad, pfn_t *first)
{
    uint64_t start;

    if (!stretch_possible(npages, align) || !fluid_take_above(0, npages))
        return -ENOMEM;
    if (!stretch_find(npages, align, &rads[rad], false, &start)) {
        fluid_give(npages);
        return -ENOMEM;
    }
    *first = pfn_of(start);
    return 0;
}

int page_reserve_part(uint64_t most, uint64_t multiple, uint64_t align, unsigned rad, pfn_t *first,
                      uint64_t *npages)
{
    for (;;) {
        uint64_t n = page_largest_stretch(rad, align);

        n = n >= most ? most : align_down(n, multiple);
        if (n == 0)
            return -ENOMEM;
        if (page_reserve(n, align, rad, first) == 0) {
            *npages = n;
            return 0;
        }
        if (fluid_count() < fluid_minimum() + n)
            return -ENOMEM; /* otherwise another CPU took a part of the stretch: try again */
    }
}

void page_reserve_entries(pfn_t first, uint64_t npages)
{
    struct rad *r = &rads[page_rad(first)];

    end_init(r, first.n);
    end_init(r, first.n + npages - 1);
    page_entries_init(first.n, npages);
    for (uint64_t n = first.n; n < first.n + npages; n++)
        page_db[n] = (struct page){.refcnt = 1, .state = PAGE_RESERVED, .type = PAGE_T_GLOBAL};
}

void page_unreserve(pfn_t first, uint64_t npages) { stretch_give(first.n, npages, true); }

/* ---- statistics ---- */

static void add_rad(struct page_stats *s, const struct rad *r)
{
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        const struct page_cache *c = &page_caches[i][r - rads];

        s->cached += head_count(__atomic_load_n(&c->dirty, __ATOMIC_RELAXED)) +
                     head_count(__atomic_load_n(&c->zeroed, __ATOMIC_RELAXED));
    }
    s->total += r->total;
    s->free += r->lists[PAGE_FREE].count;
    s->zeroed += r->lists[PAGE_ZEROED].count;
    s->never_used += r->range_pages;
    s->modified += r->lists[PAGE_MODIFIED].count;
    s->bad += r->lists[PAGE_BAD].count;
    s->reserved += r->reserved_pages;
}

static void add_up(struct page_stats *s)
{
    s->free += s->zeroed + s->never_used + s->cached;
    s->active = s->total - s->free - s->modified - s->bad - s->reserved;
}

void page_stats(struct page_stats *s)
{
    memset(s, 0, sizeof(*s));
    for (unsigned i = 0; i < rad_count; i++) {
        ipl_t ipl = spin_lock(&rads[i].lock);

        add_rad(s, &rads[i]);
        spin_unlock(&rads[i].lock, ipl);
    }
    add_up(s);
}

void page_rad_stats(unsigned rad, struct page_stats *s, uint64_t *first, uint64_t *end)
{
    ipl_t ipl = spin_lock(&rads[rad].lock);

    memset(s, 0, sizeof(*s));
    add_rad(s, &rads[rad]);
    spin_unlock(&rads[rad].lock, ipl);
    add_up(s);
    *first = rads[rad].first;
    *end = rad + 1 < rad_count ? rads[rad + 1].first : page_end;
}

void page_dump(void)
{
    struct page_stats s = {0};

    for (unsigned i = 0; i < rad_count; i++)
        add_rad(&s, &rads[i]);
    add_up(&s);
    printk("pages: %lu, free %lu (never used %lu, cached %lu, zeroed %lu), modified %lu, bad %lu, "
           "active %lu, reserved %lu\n",
           s.total, s.free, s.never_used, s.cached, s.zeroed, s.modified, s.bad, s.active,
           s.reserved);
    printk("fluid pages: %lu, minimum %lu, promised and unused %lu\n", fluid_count(),
           fluid_minimum(), fluid_promised_unused());
}

/* ---- boot ---- */

void page_boot_add_range(pfn_t first, uint64_t npages)
{
    unsigned i = nboot_ranges;

    if (first.n == 0 && npages > 0) { /* PFN 0 means "no page" */
        first.n = 1;
        npages--;
    }
    if (npages == 0)
        return;
    if (first.n + npages > 1UL << PFN_BITS || nboot_ranges == BOOT_RANGES) {
        printk("memory: %lu pages from PFN %lx are left out: %s\n", npages, first.n,
               nboot_ranges == BOOT_RANGES ? "too many ranges" : "beyond what KSEG maps");
        return;
    }
    for (; i > 0 && boot_ranges[i - 1].first > first.n; i--)
        boot_ranges[i] = boot_ranges[i - 1];
    boot_ranges[i] = (struct page_range){first.n, npages};
    nboot_ranges++;
    page_total += npages;
}

/* Take n pages from the low or the high end of a boot range. */
static uint64_t boot_take(uint64_t n, bool high)
{
    for (unsigned i = 0; i < nboot_ranges; i++) {
        struct page_range *g = &boot_ranges[i];

        if (g->npages < n || (high && g->npages / 2 < n && g->npages < page_total / 2))
            continue;
        g->npages -= n;
        page_total -= n;
        if (high)
            return g->first + g->npages;
        g->first += n;
        return g->first - n;
    }
    panic("no range of RAM holds %lu pages for the start of the system", n);
}

pfn_t page_boot_alloc(uint64_t npages) { return pfn_of(boot_take(npages, false)); }

uint64_t boot_ranges_remove(uint64_t first, uint64_t npages)
{
    uint64_t end = first + npages, removed = 0;

    for (unsigned i = 0; i < nboot_ranges; i++) {
        struct page_range *g = &boot_ranges[i];
        uint64_t from = MAX(first, g->first), to = MIN(end, g->first + g->npages);
        struct page_range above = {to, g->first + g->npages - to};

        if (from >= to)
            continue;
        g->npages = from - g->first;
        page_total -= to - from + above.npages;
        removed += to - from;
        if (above.npages > 0)
            page_boot_add_range(pfn_of(above.first), above.npages);
    }
    return removed;
}

uint64_t page_boot_limit(uint64_t end)
{
    for (unsigned i = 0; i < nboot_ranges; i++) {
        const struct page_range *g = &boot_ranges[i];
        uint64_t from = MAX(end, g->first);

        if (from < g->first + g->npages && nexcluded < BOOT_RANGES)
            aside[nexcluded++] = (struct page_range){from, g->first + g->npages - from};
    }
    return boot_ranges_remove(end, (UINT64_C(1) << PFN_BITS) - end);
}

/* The PFN of the usable page that has n usable pages below it; page_end when there is none. */
static uint64_t pfn_after(uint64_t n)
{
    for (unsigned i = 0; i < nboot_ranges; i++) {
        if (n < boot_ranges[i].npages)
            return boot_ranges[i].first + n;
        n -= boot_ranges[i].npages;
    }
    return page_end;
}

/* Give every domain its share. A range that crosses a boundary is split there. */
static void domains_boot(void)
{
    for (unsigned i = 0; i < rad_count; i++) {
        spin_init(&rads[i].lock, "page lists", RANK_PFN, IPL_CLOCK);
        rads[i].first = i ? align_down(pfn_after(page_total / rad_count * i), BOUNDARY) : 0;
    }
    for (unsigned i = 0; i < nboot_ranges; i++) {
        struct page_range g = boot_ranges[i];

        while (g.npages > 0) {
            unsigned rad = rad_of_pfn(g.first);
            uint64_t n = g.npages;

            if (rad + 1 < rad_count)
                n = MIN(n, rads[rad + 1].first - g.first);
            range_give_locked(&rads[rad], g.first, n);
            rads[rad].total += n;
            g.first += n;
            g.npages -= n;
        }
    }
}

void page_boot_done(void)
{
    KASSERT(nboot_ranges > 0, "there is memory");
    page_end = boot_ranges[nboot_ranges - 1].first + boot_ranges[nboot_ranges - 1].npages;

    uint64_t db_pages = div_round_up(page_end, ENTRIES_PER_PAGE);
    uint64_t nchunks = db_pages * (ENTRIES_PER_PAGE / CHUNK_PAGES);
    uint64_t bitmap_bytes = BITMAP_WORDS(nchunks) * sizeof(uint64_t);
    uint64_t db_pfn = boot_take(db_pages + div_round_up(bitmap_bytes, PAGE_SIZE), true);

    page_db = kseg_page(pfn_of(db_pfn));
    chunk_bitmap = kseg_page(pfn_of(db_pfn + db_pages));
    memset(chunk_bitmap, 0, bitmap_bytes);

    domains_boot();
    fluid_boot(page_total);
    panic_register_dump("memory", page_dump);
}

/* ---- the self-check ---- */

void page_walk_ranges(void (*fn)(void *arg, uint64_t first, uint64_t npages), void *arg)
{
    for (unsigned i = 0; i < rad_count; i++)
        for (unsigned k = 0; k < rads[i].nranges; k++)
            fn(arg, rads[i].ranges[k].first, rads[i].ranges[k].npages);
}

void page_walk_ram(void (*fn)(void *arg, uint64_t first, uint64_t npages), void *arg)
{
    for (unsigned i = 0; i < nboot_ranges; i++)
        if (boot_ranges[i].npages > 0)
            fn(arg, boot_ranges[i].first, boot_ranges[i].npages);
}
