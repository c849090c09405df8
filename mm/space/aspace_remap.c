/*
 * mremap: making a mapping longer or shorter, and moving it with its contents.
 *
 * The mutex is held exclusively throughout, so no fault of this address space runs meanwhile. A
 * mapping grows in place if the addresses behind it are free. To move it, a second entry is made at
 * the new place, with all tables that it needs, before anything changes; then the PTEs of private
 * pages are moved, table by table, and those of an object's pages are cleared, to be found again by
 * faults. The old entry, now empty, is removed.
 *
 * A page with one PTE is owned by it (mm/space/anon.c): moving the PTE moves the ownership. A
 * reverse walk may run meanwhile, since it needs no mutex: the new entry is attached to the object
 * first, and its place is behind the old one's (mm/object/mappings.c). The walk changes PTEs of the
 * object's pages alone; they are cleared under the object's lock and flushed before it is dropped,
 * as in an unmap. Translations of moved PTEs are flushed at the end: until then another thread may
 * write through an old address, which is no different from a write before the move, as the page is
 * the same.
 *
 * A thread that is to end stops between two tables: what was moved by then is a mapping of its own,
 * and the rest is where it was. Pages that are locked in memory are unlocked first and locked again
 * at their new place, if that is possible.
 */
#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/sched/thread.h"
#include "mm/object/object_pages.h"
#include "mm/pt/gh.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"
#include "mm/space/region.h"

#define STEP 32u /* PTEs moved under one hold of an object's lock */

/* Make the PTE `to` map what `from` maps, for an entry without an object's pages; or have its slot
 * of a page file. */
static void move_pte(pte_t *from, pte_t *to)
{
    pte_t pte = *from;

    if (likely(pte_valid(pte))) {
        struct page *page = page_of(pte_pfn(pte));

        if (__atomic_load_n(&page->owner, __ATOMIC_RELAXED) == kseg_paddr(from).a)
            __atomic_store_n(&page->owner, kseg_paddr(to).a, __ATOMIC_RELAXED);
    }
    pt_store(to, pte);
    pt_mark(to);
    __atomic_store_n(from, 0, __ATOMIC_RELAXED);
}

/* Move n PTEs, of one table each, from va on; those of an object's pages and of the page of
 * zeroes are cleared. With an object, its lock is held. Returns how many were cleared without being
 * moved. */
static unsigned move_ptes(pte_t *from, pte_t *to, vaddr_t va, uint64_t n, struct tb_gather *g)
{
    unsigned moved = 0, cleared = 0;

    for (uint64_t k = 0; k < n; k++, va += PAGE_SIZE) {
        if (!pte_maps_page(va, from[k]) && !from[k])
            continue;
        tb_gather_va(g, va);
        if (pte_is_private(from[k])) {
            move_pte(&from[k], &to[k]);
            moved++;
        } else {
            if (unlikely(pte_gh(from[k]))) /* the step may end within the block */
                gh_break(&from[k]);
            __atomic_store_n(&from[k], 0, __ATOMIC_RELAXED);
            cleared++;
        }
    }
    if (moved + cleared)
        pt_count(from, -(int)(moved + cleared));
    if (moved)
        pt_count(to, (int)moved);
    return cleared;
}

/* The bytes from va on that are within one table, both there and at the address `by` higher. */
static uint64_t within_tables(vaddr_t va, vaddr_t end, uint64_t by)
{
    uint64_t here = PTE_L2_SPAN - (va & (PTE_L2_SPAN - 1));
    uint64_t there = PTE_L2_SPAN - ((va + by) & (PTE_L2_SPAN - 1));

    return MIN(MIN(here, there), end - va);
}

/* Create the tables that the pages of [va, end) need at their new addresses. 0 or -ENOMEM. */
static int create_tables(struct aspace *as, vaddr_t va, vaddr_t end, uint64_t by)
{
    while ((va = pt_skip_holes(&as->pt, va, end)) < end) {
        if (!pt_create(&as->pt, va + by, 3))
            return -ENOMEM;
        if (thread_killed())
            return -EINTR;
        va += within_tables(va, end, by);
    }
    return 0;
}

/* Move the PTEs of the entry e to addresses that are `by` higher, where the tables are. Returns the
 * address up to which they were moved: less than e->end if the caller is to end, unless `whole`. */
static vaddr_t move_pages(struct aspace *as, struct map_entry *e, uint64_t by, bool whole,
                          struct tb_gather *g)
{
    vaddr_t va = e->start;
    uint64_t cleared = 0;

    while ((va = pt_skip_holes(&as->pt, va, e->end)) < e->end && (whole || !thread_killed())) {
        pte_t *from = pt_lookup(&as->pt, va, 3), *to = pt_lookup(&as->pt, va + by, 3);
        uint64_t n = within_tables(va, e->end, by) >> PAGE_SHIFT;

        if (e->object) {
            ipl_t ipl;

            n = MIN(n, STEP);
            ipl = spin_lock(e->object->lock);
            cleared += move_ptes(from, to, va, n, g);
            tb_gather_invalidate(g);
            spin_unlock(e->object->lock, ipl);
        } else {
            uint64_t zeroes = move_ptes(from, to, va, n, g);

            if (zeroes)
                __atomic_fetch_sub(&as->pt.zeroes, zeroes, __ATOMIC_RELAXED);
            cleared += zeroes;
        }
        va += n << PAGE_SHIFT;
    }
    if (cleared)
        page_table_sub_rss(&as->pt, cleared);
    return va;
}

/* Make `to`, from map_entry_alloc, a mapping like e of len bytes at va, `offset` bytes into the
 * object. */
static void insert_like(struct aspace *as, const struct map_entry *e, uint64_t offset,
                        struct map_entry *to, vaddr_t va, uint64_t len)
{
    to->start = va;
    to->end = va + len;
    to->prot = e->prot;
    to->max_prot = e->max_prot;
    to->flags = e->flags & ~MAPF_GROWSDOWN;
    to->ops = e->ops;
    to->offset = offset;
    to->low = to->end;
    aspace_insert_locked(as, to);
    if (e->object)
        object_attach_entry(e->object, to);
}

/* Take an entry, whose PTEs are all cleared, off the map. */
static void drop_entry(struct aspace *as, struct map_entry *e)
{
    aspace_remove_locked(as, e);
    map_entry_destroy(e);
}

/* The move of e to `to` stops at va: what was moved becomes all of `to`, the rest stays. False:
 * there is no memory for that. */
static bool stop_at(struct aspace *as, struct map_entry *e, struct map_entry *to, vaddr_t va)
{
    vaddr_t split = to->start + (va - e->start), whole = to->end;

    if (va == e->start) {
        drop_entry(as, to);
        return true;
    }
    if (aspace_split_locked(as, va, split < to->end ? split : 0) != 0)
        return false;
    if (split < whole)
        drop_entry(as, aspace_lookup_locked(as, split));
    drop_entry(as, e);
    return true;
}

/* Allocate what a move of [start, end) needs, an entry for the new place and tables, and then split
 * the old mapping at both ends. 0 with the entry in *to, -ENOMEM, -EINTR. */
static int prepare(struct aspace *as, vaddr_t start, vaddr_t end, vaddr_t va, struct map_entry **to,
                   struct tb_gather *g)
{
    int err = -ENOMEM;

    *to = as->counts.entries < ASPACE_ENTRIES_MAX ? map_entry_alloc() : NULL;
    if (*to)
        err = create_tables(as, start, end, va - start);
    if (!err)
        err = aspace_split_locked(as, start, end);
    if (err && *to) {
        map_entry_free(*to);
        pt_prune(&as->pt, va, va + (end - start), g);
    }
    return err;
}

/* Move the pages of [start, end), a part of one mapping, to a new one of len bytes at va, a free
 * range. keep: the old mapping stays, empty. *was_locked: it was locked in memory, which the new
 * one is not. 0, -ENOMEM, -EINTR. */
static int move(struct aspace *as, vaddr_t start, vaddr_t end, vaddr_t va, uint64_t len, bool keep,
                bool *was_locked)
{
    struct map_entry *e, *to;
    uint64_t by = va - start;
    struct tb_gather g;
    vaddr_t upto;
    int err;

    tb_gather_begin(&g, &as->pt.loaded, TB_UNMAP);
    err = prepare(as, start, end, va, &to, &g);
    if (err) {
        tb_gather_flush(&g);
        return err;
    }
    e = aspace_lookup_locked(as, start);
    *was_locked = e->locked != 0;
    if (e->locked)
        aspace_mark_entry(as, e, 0);
    insert_like(as, e, e->offset, to, va, len);
    upto = move_pages(as, e, by, false, &g);
    if (upto < end && !stop_at(as, e, to, upto))
        upto = move_pages(as, e, by, true, &g);
    err = upto < end ? -EINTR : 0;
    if (!err && !keep)
        drop_entry(as, e);
    pt_prune(&as->pt, start, end, &g);
    if (err)
        pt_prune(&as->pt, va, va + len, &g);
    tb_gather_flush(&g);
    if (!err)
        aspace_merge_locked(as, to);
    return err;
}

/* Make e longer by n bytes, if they are free. */
static bool grow_in_place(struct aspace *as, struct map_entry *e, uint64_t n)
{
    if (!aspace_user_range(e->end, n) || !aspace_range_free_locked(as, e->end, n))
        return false;
    aspace_count_extent(as, e, (int64_t)n);
    aspace_set_end_locked(as, e, e->end + n);
    count_peak(&as->counts.vsize_peak, as->counts.vsize);
    if (e->object)
        object_extend_entry(e);
    aspace_merge_locked(as, e);
    return true;
}

/* A second mapping of the object of a shared one. */
static int duplicate(struct aspace *as, const struct map_entry *e, const struct remap *r,
                     vaddr_t va)
{
    struct map_entry *to;

    if (!(e->flags & MAPF_SHARED) || !e->object)
        return -EINVAL;
    to = as->counts.entries < ASPACE_ENTRIES_MAX ? map_entry_alloc() : NULL;
    if (!to)
        return -ENOMEM;
    insert_like(as, e, e->offset + (r->old - e->start), to, va, r->new_len);
    return 0;
}

/* Find or free the addresses of the new mapping. 0 or a negative errno. */
static int place(struct aspace *as, const struct remap *r, vaddr_t *va)
{
    if (!(r->flags & REMAP_FIXED)) {
        *va = aspace_find_locked(as, r->new_len, PAGE_SIZE, LAYOUT_P2_BASE, LAYOUT_USER_TOP, false);
        return *va ? 0 : -ENOMEM;
    }
    *va = r->fixed;
    if (!aspace_user_range(*va, r->new_len))
        return -EINVAL;
    return region_overlaps_locked(as, *va, r->new_len) ? -ENOMEM
                                                       : aspace_unmap_locked(as, *va, r->new_len);
}

/* Make the mapping shorter. */
static int shrink(struct aspace *as, const struct remap *r)
{
    return r->old_len > r->new_len
               ? aspace_unmap_locked(as, r->old + r->new_len, r->old_len - r->new_len)
               : 0;
}

/* Huge pages: as on Linux a mapping does not grow, and becomes shorter by huge pages. It is not
 * moved. */
static int remap_huge(struct aspace *as, const struct remap *r)
{
    if ((r->flags & (REMAP_FIXED | REMAP_KEEP)) || r->new_len > r->old_len)
        return -EINVAL;
    return shrink(as, r);
}

/* As aspace_remap. *relock: the mapping was locked in memory. */
static int remap_locked(struct aspace *as, const struct remap *r, vaddr_t *va, bool *relock)
{
    bool stays = !(r->flags & (REMAP_FIXED | REMAP_KEEP));
    uint64_t len = MIN(r->old_len, r->new_len);
    struct map_entry *e = aspace_lookup_locked(as, r->old);
    int err;

    if (!e)
        return -EFAULT;
    *va = r->old;
    if ((e->flags & MAPF_HUGE) && !e->inner)
        return remap_huge(as, r);
    if (e->ops != &anon_ops || e->inner)
        return -EINVAL;
    if (stays && len == r->new_len)
        return shrink(as, r);
    if (r->old + len > e->end)
        return -EFAULT;
    if (r->new_len > len && !aspace_may_grow_locked(as, r->new_len - len, aspace_is_data(e)))
        return -ENOMEM;
    if (stays && len && r->old + len == e->end) {
        uint8_t locked = e->locked;

        *relock = locked != 0;
        if (locked)
            aspace_mark_entry(as, e, 0);
        if (grow_in_place(as, e, r->new_len - len))
            return 0;
        if (locked)
            aspace_mark_entry(as, e, locked);
        *relock = false;
    }
    if (!(r->flags & REMAP_MAYMOVE))
        return -ENOMEM;
    err = shrink(as, r);
    if (!err)
        err = place(as, r, va);
    if (err)
        return err;
    if (!len)
        return duplicate(as, aspace_lookup_locked(as, r->old), r, *va);
    return move(as, r->old, r->old + len, *va, r->new_len, (r->flags & REMAP_KEEP) != 0, relock);
}

int aspace_remap(struct aspace *as, const struct remap *r, vaddr_t *va)
{
    bool relock = false, any;
    int err;

    if (!aspace_user_range(r->old, MAX(r->old_len, PAGE_SIZE)))
        return -EFAULT;
    err = mutex_lock_killable(&as->lock);
    if (err)
        return err;
    err = remap_locked(as, r, va, &relock);
    mutex_unlock(&as->lock);
    if (r->flags & REMAP_FIXED)
        aspace_entries_left();
    if (!err && relock) /* an error leaves them unlocked: they have their place and contents */
        (void)aspace_lock_pages(as, *va, r->new_len, &any);
    return err;
}
