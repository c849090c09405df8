/*
 * The map of an address space: entries in a list in address order, and in a search tree.
 *
 * The tree is a treap: a binary search tree by start address that is at the same time a heap by a
 * random weight, so its expected depth is logarithmic whatever the order of insertions. An
 * insertion or removal is a walk down the tree and some rotations; the weight is all that is stored
 * for balance. Everything is protected by the aspace mutex (exclusive to change). Nothing here
 * allocates, and only a search for a free range can fail.
 */
#include "mm/space/aspace_private.h"

#include "arch/alpha/hw/layout.h"
#include "kernel/base/panic.h"
#include "kernel/base/range.h"
#include "mm/object/object_pages.h"
#include "mm/phys/failure.h"
#include "mm/space/region.h"

static uint32_t next_weight(struct aspace *as)
{
    uint32_t x = as->heap_seed; /* xorshift: never becomes zero if the seed is not */

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    as->heap_seed = x;
    return x;
}

/* Make `by`, or nothing if it is NULL, the child of e's parent in place of e. */
static void replace_child(struct aspace *as, struct map_entry *e, struct map_entry *by)
{
    struct map_entry *up = e->parent;

    if (!up)
        as->tree = by;
    else if (up->left == e)
        up->left = by;
    else
        up->right = by;
    if (by)
        by->parent = up;
}

/* Rotate c above its parent. */
static void rotate_up(struct aspace *as, struct map_entry *c)
{
    struct map_entry *p = c->parent;

    replace_child(as, p, c);
    if (p->left == c) {
        p->left = c->right;
        if (p->left)
            p->left->parent = p;
        c->right = p;
    } else {
        p->right = c->left;
        if (p->right)
            p->right->parent = p;
        c->left = p;
    }
    p->parent = c;
}

/* The entry with the highest start that is not above va, or NULL. */
static struct map_entry *tree_floor(struct aspace *as, vaddr_t va)
{
    struct map_entry *e = as->tree, *best = NULL;

    while (e) {
        if (va < e->start) {
            e = e->left;
        } else {
            best = e;
            e = e->right;
        }
    }
    return best;
}

struct map_entry *aspace_lookup_locked(struct aspace *as, vaddr_t va)
{
    struct map_entry *e = tree_floor(as, va);

    return e && va < e->end ? e : NULL;
}

struct map_entry *aspace_first_in_locked(struct aspace *as, vaddr_t start, vaddr_t end)
{
    struct map_entry *e = tree_floor(as, start);
    struct list *l;

    if (e && start < e->end)
        return e;
    l = e ? list_next(&as->entries, &e->link) : list_first(&as->entries);
    if (!l)
        return NULL;
    e = list_entry(l, struct map_entry, link);
    return e->start < end ? e : NULL;
}

void aspace_count_extent(struct aspace *as, const struct map_entry *e, int64_t n)
{
    as->counts.vsize += (uint64_t)n;
    if (e->locked)
        __atomic_fetch_add(&as->counts.locked, (uint64_t)(n / (int64_t)PAGE_SIZE),
                           __ATOMIC_RELAXED);
}

void aspace_insert_locked(struct aspace *as, struct map_entry *e)
{
    struct map_entry *p = NULL, **where = &as->tree, *before = NULL;

    while (*where) {
        p = *where;
        if (e->start < p->start) {
            where = &p->left;
        } else {
            before = p;
            where = &p->right;
        }
    }
    KASSERT(!before || before->end <= e->start, "entries do not overlap");
    e->left = NULL;
    e->right = NULL;
    e->parent = p;
    e->heap = next_weight(as);
    e->pt = &as->pt;
    *where = e;
    list_add_after(before ? &before->link : &as->entries, &e->link);
    while (e->parent && e->parent->heap < e->heap)
        rotate_up(as, e);
    aspace_count_extent(as, e, (int64_t)(e->end - e->start));
    count_peak(&as->counts.vsize_peak, as->counts.vsize);
}

void aspace_remove_locked(struct aspace *as, struct map_entry *e)
{
    while (e->left && e->right)
        rotate_up(as, e->left->heap > e->right->heap ? e->left : e->right);
    replace_child(as, e, e->left ? e->left : e->right);
    list_remove(&e->link);
    if (__atomic_load_n(&as->hint, __ATOMIC_RELAXED) == e)
        __atomic_store_n(&as->hint, NULL, __ATOMIC_RELAXED);
    aspace_count_extent(as, e, -(int64_t)(e->end - e->start));
    if (e->start < as->full_below)
        as->full_below = MAX(e->start, LAYOUT_P2_BASE);
}

bool aspace_range_free_locked(struct aspace *as, vaddr_t va, uint64_t len)
{
    return !aspace_first_in_locked(as, va, va + len) && !region_overlaps_locked(as, va, len);
}

static struct region *region_of(struct list *l)
{
    return l ? list_entry(l, struct region, link) : NULL;
}

/* Lowest free address in [low, high), 0 if there is none. Like find_down, it walks the list of
   regions, which is in address order, only once, so that the cost is linear in the regions. */
static vaddr_t find_up(struct aspace *as, uint64_t len, uint64_t align, vaddr_t low, vaddr_t high)
{
    struct region *r = region_of(list_first(&as->regions));
    uint64_t va;

    for (;;) {
        struct map_entry *e;

        if (!align_up_ok(low, align, &va) || !range_within(va, len, low, high))
            return 0;
        e = aspace_first_in_locked(as, va, va + len);
        /* Step over the entries that overlap [va, va + len), along the list. */
        while (e && e->start < va + len) {
            struct list *l = list_next(&as->entries, &e->link);

            if (!align_up_ok(MAX(va, e->end), align, &va) || !range_within(va, len, low, high))
                return 0;
            e = l ? list_entry(l, struct map_entry, link) : NULL;
        }
        while (r && r->start + r->length <= va)
            r = region_of(list_next(&as->regions, &r->link));
        if (!r || r->start >= va + len)
            return va;
        low = r->start + r->length;
    }
}

/* The same for the highest free address. */
static vaddr_t find_down(struct aspace *as, uint64_t len, uint64_t align, vaddr_t low, vaddr_t high)
{
    struct region *r = region_of(list_last(&as->regions));

    for (;;) {
        struct map_entry *e;
        vaddr_t va;

        if (high < len || high - len < low)
            return 0;
        va = (high - len) & ~(align - 1);
        if (va < low)
            return 0;
        while (r && r->start >= va + len)
            r = region_of(list_prev(&as->regions, &r->link));
        if (r && r->start + r->length > va) {
            high = r->start;
            continue;
        }
        e = aspace_first_in_locked(as, va, va + len);
        if (!e)
            return va;
        high = e->start;
    }
}

/* Where an upward search of P2 may begin: after the entries that cover P2 from its low end without
   a hole. A process with many mappings would otherwise walk all of them each time. */
static vaddr_t search_start(struct aspace *as)
{
    struct map_entry *e;

    while ((e = aspace_lookup_locked(as, as->full_below)) != NULL)
        as->full_below = e->end;
    return as->full_below;
}

vaddr_t aspace_find_locked(struct aspace *as, uint64_t len, uint64_t align, vaddr_t low,
                           vaddr_t high, bool down)
{
    if (failure_inject(MEGA_ALLOC_PLACE))
        return 0;
    if (align < PAGE_SIZE)
        align = PAGE_SIZE;
    if (!down && low == LAYOUT_P2_BASE)
        low = search_start(as);
    return down ? find_down(as, len, align, low, high) : find_up(as, len, align, low, high);
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
