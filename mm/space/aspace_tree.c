/*
 * The map of an address space: entries in a list in address order, and in a search tree of spans
 * (kernel/base/span.h), which also finds free addresses.
 *
 * The gap of an entry is at least the largest stretch between the entry before it and its start
 * that no created region reserves. Changes of the map leave or make it too large; a search for free
 * addresses that finds no room there lowers it. So a search looks at entries whose gap is large
 * enough only, and at the regions in between, whose tree has gaps of its own. Each step takes
 * logarithmic time, and each entry that was looked at in vain has been paid for by the change that
 * made its gap too large.
 *
 * For an alignment above a page, up to ALIGNMENT_TRIES gaps of the right size are tried in order of
 * address, which gives the exact lowest or highest place in all but contrived cases; then one is
 * taken that has room for the alignment too, whatever its start. Only if there is none are all gaps
 * tried.
 *
 * Entries inside created regions have the mark `inner`, which whoever maps them there sets: they do
 * not count where a default region ends (mm/space/region.c). A region is created where no entry is,
 * and deleted after its entries, so the mark never changes.
 *
 * Everything is protected by the aspace mutex (exclusive to change). Nothing here allocates, and
 * only a search for a free range can fail.
 */
#include "mm/space/aspace_private.h"

#include "arch/alpha/hw/layout.h"
#include "kernel/base/panic.h"
#include "kernel/base/range.h"
#include "mm/object/object_pages.h"
#include "mm/phys/failure.h"
#include "mm/space/region.h"

#define ALIGNMENT_TRIES 16u

static struct map_entry *entry_of(struct span *s)
{
    return s ? container_of(s, struct map_entry, span) : NULL;
}

static struct map_entry *next_of(struct aspace *as, struct map_entry *e)
{
    struct list *l = e ? list_next(&as->entries, &e->link) : list_first(&as->entries);

    return l ? list_entry(l, struct map_entry, link) : NULL;
}

struct map_entry *aspace_lookup_locked(struct aspace *as, vaddr_t va)
{
    struct map_entry *e = entry_of(span_floor(&as->tree, va));

    return e && va < e->end ? e : NULL;
}

struct map_entry *aspace_first_in_locked(struct aspace *as, vaddr_t start, vaddr_t end)
{
    struct map_entry *e = entry_of(span_floor(&as->tree, start));

    if (e && start < e->end)
        return e;
    e = next_of(as, e);
    return e && e->start < end ? e : NULL;
}

void aspace_count_extent(struct aspace *as, const struct map_entry *e, int64_t n)
{
    as->counts.vsize += (uint64_t)n;
    if (aspace_is_data(e))
        as->counts.data += (uint64_t)n;
    if (e->locked)
        __atomic_fetch_add(&as->counts.locked, (uint64_t)(n / (int64_t)PAGE_SIZE),
                           __ATOMIC_RELAXED);
}

/* ---- changes ---- */

/* The end of the entry before e; 0: e is the first. */
static vaddr_t end_before(const struct aspace *as, const struct map_entry *e)
{
    struct list *l = list_prev(&as->entries, &e->link);

    return l ? list_entry(l, struct map_entry, link)->end : 0;
}

void aspace_region_gone_locked(struct aspace *as, vaddr_t start)
{
    struct map_entry *e = entry_of(span_above(&as->tree, start));

    if (e)
        span_set_gap(&e->span, e->start - end_before(as, e));
}

void aspace_insert_locked(struct aspace *as, struct map_entry *e)
{
    struct list *l = list_last(&as->entries);
    struct map_entry *before = l ? list_entry(l, struct map_entry, link) : NULL, *after = NULL;

    if (before && e->start < before->start) {
        before = entry_of(span_floor(&as->tree, e->start));
        after = next_of(as, before);
    }
    KASSERT(!before || before->end <= e->start, "entries do not overlap");
    e->pt = &as->pt;
    e->gap = e->start - (before ? before->end : 0);
    span_insert(&as->tree, &e->span, before ? &before->span : NULL, after ? &after->span : NULL);
    list_add_after(before ? &before->link : &as->entries, &e->link);
    as->counts.entries++;
    aspace_count_extent(as, e, (int64_t)(e->end - e->start));
    count_peak(&as->counts.vsize_peak, as->counts.vsize);
}

void aspace_append_locked(struct aspace *as, struct map_entry *e)
{
    struct list *l = list_last(&as->entries);
    struct map_entry *before = l ? list_entry(l, struct map_entry, link) : NULL;

    e->pt = &as->pt;
    e->gap = e->start - (before ? before->end : 0);
    span_insert(&as->tree, &e->span, before ? &before->span : NULL, NULL);
    list_add_tail(&as->entries, &e->link);
}

void aspace_remove_locked(struct aspace *as, struct map_entry *e)
{
    struct map_entry *after = next_of(as, e);

    if (after)
        span_remove(&as->tree, &e->span, &after->span, after->start - end_before(as, e));
    else
        span_remove(&as->tree, &e->span, NULL, 0);
    list_remove(&e->link);
    if (__atomic_load_n(&as->hint, __ATOMIC_RELAXED) == e)
        __atomic_store_n(&as->hint, NULL, __ATOMIC_RELAXED);
    as->counts.entries--;
    aspace_count_extent(as, e, -(int64_t)(e->end - e->start));
}

void aspace_set_end_locked(struct aspace *as, struct map_entry *e, vaddr_t end)
{
    struct map_entry *after = next_of(as, e);

    e->end = end;
    if (after)
        span_set_gap(&after->span, after->start - end);
}

bool aspace_range_free_locked(struct aspace *as, vaddr_t va, uint64_t len)
{
    return !aspace_first_in_locked(as, va, va + len) && !region_overlaps_locked(as, va, len);
}

/* ---- searches for a free range ---- */

struct search {
    uint64_t len, align;       /* of the range; bytes */
    uint64_t gap;              /* consider gaps of at least this many bytes */
    unsigned tries;            /* how many such gaps may still be tried */
    const struct treap *below; /* spans that lie within gaps, or NULL */
};

static vaddr_t search_down(struct search *f, const struct treap *t, vaddr_t low, vaddr_t high);
static vaddr_t search_up(struct search *f, const struct treap *t, vaddr_t low, vaddr_t high);

/* The highest place within [low, high), where t has no span; 0: none. The recursion is one level
   deep: from entries to regions. */
static vaddr_t fit_down(struct search *f, const struct treap *t, vaddr_t low, vaddr_t high)
{
    vaddr_t va;

    if (high <= low || high - low < f->len)
        return 0;
    if (t != f->below && f->below->root)
        return search_down(f, f->below, low, high);
    if (f->tries)
        f->tries--;
    va = (high - f->len) & ~(f->align - 1);
    return va >= low ? va : 0;
}

static vaddr_t fit_up(struct search *f, const struct treap *t, vaddr_t low, vaddr_t high)
{
    vaddr_t va;

    if (high <= low || high - low < f->len)
        return 0;
    if (t != f->below && f->below->root)
        return search_up(f, f->below, low, high);
    if (f->tries)
        f->tries--;
    return align_up_ok(low, f->align, &va) && range_within(va, f->len, low, high) ? va : 0;
}

/* There was no room in the gap of s (NULL: behind the last span), behind `before`. If there would
   be none with any alignment either, record that. */
static void tighten(const struct search *f, const struct treap *t, struct span *s,
                    const struct span *before)
{
    struct search page = *f;

    page.align = PAGE_SIZE;
    page.gap = f->len;
    page.tries = 2;
    if (s && t != f->below && !fit_down(&page, t, before ? before->end : 0, s->start))
        span_set_gap(s, f->len - PAGE_SIZE);
}

/* The highest place within [low, high) among the spans of t; 0: none. */
static vaddr_t search_down(struct search *f, const struct treap *t, vaddr_t low, vaddr_t high)
{
    struct span *s = span_floor(t, high - 1); /* the span below the stretch that is looked at */
    vaddr_t va = fit_down(f, t, MAX(low, s ? s->end : 0), high);

    while (!va && f->tries && (s = span_last_gap(s, f->gap)) != NULL && s->start > low) {
        struct span *before = span_prev(s);

        va = fit_down(f, t, MAX(low, before ? before->end : 0), s->start);
        if (!va)
            tighten(f, t, s, before);
        s = before;
    }
    return va;
}

static vaddr_t search_up(struct search *f, const struct treap *t, vaddr_t low, vaddr_t high)
{
    struct span *before = span_floor(t, low), *s;
    vaddr_t va = 0;

    s = before ? span_next(before) : span_of(treap_first(t));
    low = MAX(low, before ? before->end : 0);
    va = fit_up(f, t, low, MIN(high, s ? s->start : high)); /* of the first gap, what is above */
    while (!va && f->tries && s) {
        struct span *end = span_next(s);

        end = span_first_gap(end, f->gap);
        before = end ? span_prev(end) : span_of(treap_last(t));
        if (before->end >= high)
            return 0;
        va = fit_up(f, t, before->end, MIN(high, end ? end->start : high));
        if (!va)
            tighten(f, t, end, before);
        s = end;
    }
    return va;
}

vaddr_t aspace_find_locked(struct aspace *as, uint64_t len, uint64_t align, vaddr_t low,
                           vaddr_t high, bool down)
{
    struct search f = {.len = len,
                       .gap = len,
                       .align = MAX(align, PAGE_SIZE),
                       .tries = ALIGNMENT_TRIES,
                       .below = &as->region_tree};
    vaddr_t (*search)(struct search *f, const struct treap *t, vaddr_t low,
                      vaddr_t high) = down ? search_down : search_up;
    vaddr_t va;

    if (failure_inject(MEGA_ALLOC_PLACE) || low >= high || high - low < len)
        return 0;
    va = search(&f, &as->tree, low, high);
    if (va || f.tries)
        return va;
    f.gap = len + f.align - PAGE_SIZE;
    f.tries = UINT32_MAX;
    va = search(&f, &as->tree, low, high);
    if (va)
        return va;
    f.gap = len;
    return search(&f, &as->tree, low, high);
}

void aspace_mark_entry(struct aspace *as, struct map_entry *e, uint8_t mark)
{
    int64_t n = (int64_t)(e->end - e->start);
    ipl_t ipl = IPL_NONE;

    aspace_count_extent(as, e, -n); /* out with the old mark, and in again with the new one */
    if (e->object)
        ipl = spin_lock(e->object->lock);
    e->locked = mark;
    if (e->object)
        spin_unlock(e->object->lock, ipl);
    aspace_count_extent(as, e, n);
}
