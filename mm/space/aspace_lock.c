/*
 * Pages locked in memory: $LCKPAG_64, $ULKPAG_64, mlock and munlock.
 *
 * Pages are locked by a mark on their map entry, which is split at the ends of the range. Every
 * page of a marked entry is present. When a pager takes pages back (mm/object/pager.c), a reverse
 * walk looks for marked entries that map the page, and if there is one the page stays.
 *
 * Locking first makes the pages present, with the mutex shared as for a fault. Then, with the mutex
 * exclusive, it marks the entries and checks whether the pages are still present. A pager, which
 * needs no mutex, may have taken one back in between; then the new marks are removed and everything
 * starts again:
 *
 *     this thread                             pager
 *     populates: the page is present
 *                                             takes the page back
 *     marks the entry, page is not present:
 *     removes the mark, populates again
 *     marks the entry, under the object's
 *     lock
 *                                             finds the mark, leaves the page
 *     all pages are present: locked
 *
 * So a call that fails has locked nothing. The pages that it has made present stay so until they
 * are discarded or unmapped, as after any access.
 *
 * Pages of memory-resident and page-frame sections cannot be taken back: they are made present, and
 * their entries get no mark. A child of fork does not inherit marks; a page that both share is kept
 * by the parent's mark for as long as the parent maps it.
 *
 * Locking takes memory away from all others, and is allowed only if the pages that are missing can
 * be allocated above the minimum of fluid pages. That is checked first, so that a request that
 * cannot succeed costs nothing.
 */
#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/sched/thread.h"
#include "mm/object/object_pages.h"
#include "mm/phys/fluid.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"

#define ROUNDS_MAX 64 /* give up on a pager that takes pages back faster than they are supplied */

static vaddr_t first_page(const struct map_entry *e)
{
    return e->flags & MAPF_GROWSDOWN ? e->start + PAGE_SIZE : e->start; /* above the guard page */
}

/* Could its pages be taken back? Not those of memory-resident and page-frame sections. */
static bool is_pageable(const struct map_entry *e) { return e->ops == &anon_ops || e->object; }

/* Does the PTE of va map a page that the first write would not replace, as it would that of
   zeroes? */
static bool is_there(vaddr_t va, pte_t pte)
{
    return pte_maps_page(va, pte) && !pfn_eq(pte_pfn(pte), page_zeroes);
}

/* Add to *missing the number of pages of [va, end), within one entry, that are not there. 0;
   -EINTR: the caller is to end. Mutex held. */
static int count_missing(struct aspace *as, vaddr_t va, vaddr_t end, uint64_t *missing)
{
    while (va < end) {
        vaddr_t table = MIN(pt_skip_holes(&as->pt, va, end), end);

        if (thread_killed())
            return -EINTR;
        *missing += (table - va) >> PAGE_SHIFT;
        va = table;
        for (; va < end && (va == table || va % PTE_L2_SPAN != 0); va += PAGE_SIZE)
            *missing += !is_there(va, pt_load(pt_lookup(&as->pt, va, 3)));
    }
    return 0;
}

/* Can the pages of e, the entry at va or NULL, be made present from va on? 0, -EFAULT, -EACCES. */
static int check_entry(const struct map_entry *e, vaddr_t va)
{
    return !e ? -EFAULT : e->prot == 0 || va < first_page(e) ? -EACCES : 0;
}

/* Check every entry of the range. *missing: private pages that are not present yet. Errors as for
   check_entry and count_missing. Mutex held. */
static int check(struct aspace *as, vaddr_t va, vaddr_t end, uint64_t *missing)
{
    *missing = 0;
    while (va < end) {
        struct map_entry *e = aspace_lookup_locked(as, va);
        int err = thread_killed() ? -EINTR : check_entry(e, va);

        if (!err && e->ops == &anon_ops && !e->object)
            err = count_missing(as, va, MIN(end, e->end), missing);
        if (err)
            return err;
        va = e->end;
    }
    return 0;
}

/* Would the address space have more than `limit` locked pages with those of [va, end), which are
   all mapped? Mutex held. */
static bool is_too_many(struct aspace *as, vaddr_t va, vaddr_t end, uint64_t limit)
{
    uint64_t n = __atomic_load_n(&as->counts.locked, __ATOMIC_RELAXED);

    for (; limit != UINT64_MAX && va < end && !thread_killed();) {
        const struct map_entry *e = aspace_lookup_locked(as, va);

        if (is_pageable(e) && !e->locked)
            n += (MIN(end, e->end) - va) >> PAGE_SHIFT;
        va = e->end;
    }
    return n > limit;
}

static int make_present(struct aspace *as, vaddr_t va, uint64_t len, uint64_t limit)
{
    uint64_t missing, fluid, minimum = fluid_minimum();
    int err;

    err = mutex_lock_shared_killable(&as->lock);
    if (err)
        return err;
    err = check(as, va, va + len, &missing);
    if (!err && is_too_many(as, va, va + len, limit))
        err = -ENOMEM;
    mutex_unlock_shared(&as->lock);
    if (err)
        return err;
    fluid = fluid_count();
    if (missing > (fluid > minimum ? fluid - minimum : 0))
        return -ENOMEM;
    err = aspace_populate(as, va, len, false);
    return err && err != -ENOMEM && err != -EINTR && err != -EIO ? -EFAULT : err;
}

enum { UNLOCKED, LOCKED, LOCKING }; /* map_entry.locked; LOCKING: a new mark, not final yet */

/* Change the mark of the range's entries, which have no holes between them, from `from` to `to`;
   not of those that are not pageable. Who is to end stops at a mark that is not final. Returns how
   far it came. Mutex exclusive. */
static vaddr_t mark_range(struct aspace *as, vaddr_t va, vaddr_t end, uint8_t from, uint8_t to)
{
    struct map_entry *e = aspace_lookup_locked(as, va);

    while (va < end && !(to == LOCKING && thread_killed())) {
        struct list *l;

        if (is_pageable(e) && e->locked == from)
            aspace_mark_entry(as, e, to);
        if (to == LOCKED || from == LOCKED) /* adjacent entries may be equal now */
            e = aspace_merge_locked(as, e);
        va = e->end;
        l = list_next(&as->entries, &e->link); /* much less than a search */
        e = l ? list_entry(l, struct map_entry, link) : NULL;
    }
    return va;
}

/* Set the final mark of entries that are LOCKING. Without the lock they are as they were, but for
   the ends, where they may have been split: that is as short as can be for who is to end. */
static void mark_finally(struct aspace *as, vaddr_t va, vaddr_t end, bool lock)
{
    (void)mark_range(as, va, end, LOCKING, lock ? LOCKED : UNLOCKED);
    if (lock || va == end)
        return;
    aspace_merge_locked(as, aspace_lookup_locked(as, va));
    aspace_merge_locked(as, aspace_lookup_locked(as, end - PAGE_SIZE));
}

/* *any, *all: is a page of [va, end) locked, are all? 0; -EFAULT: there are holes. Mutex held. */
static int look(struct aspace *as, vaddr_t va, vaddr_t end, bool *any, bool *all)
{
    *any = false;
    *all = true;
    while (va < end) {
        struct map_entry *e = aspace_lookup_locked(as, va);

        if (!e)
            return -EFAULT;
        if (thread_killed())
            return -EINTR;
        *any |= e->locked != 0;
        *all &= e->locked != 0;
        va = e->end;
    }
    return 0;
}

/* Split the pageable entries that extend across an end of the range. Mutex exclusive. */
static int split_ends(struct aspace *as, vaddr_t va, vaddr_t end)
{
    const struct map_entry *first = aspace_lookup_locked(as, va);
    const struct map_entry *last = aspace_lookup_locked(as, end);

    return aspace_split_locked(as, first && is_pageable(first) ? va : 0,
                               last && is_pageable(last) ? end : 0);
}

/* 0: every pageable page of the range is present; -EAGAIN: one is not; or an error as of check. */
static int all_present(struct aspace *as, vaddr_t va, vaddr_t end)
{
    while (va < end) {
        struct map_entry *e = aspace_lookup_locked(as, va);
        uint64_t missing = 0;
        int err = thread_killed() ? -EINTR : check_entry(e, va);

        if (!err && is_pageable(e))
            err = count_missing(as, va, MIN(end, e->end), &missing);
        if (err || missing)
            return err ? err : -EAGAIN;
        va = e->end;
    }
    return 0;
}

/* Mark the range if all of its pages are present. -EAGAIN: one is not. Mutex exclusive. */
static int lock_present(struct aspace *as, vaddr_t va, vaddr_t end, uint64_t limit, bool *any_set)
{
    int err = split_ends(as, va, end);
    vaddr_t upto;
    bool all;

    if (!err)
        err = look(as, va, end, any_set, &all);
    if (!err && is_too_many(as, va, end, limit)) /* others have locked pages meanwhile */
        err = -ENOMEM;
    if (err)
        return err;
    upto = mark_range(as, va, end, UNLOCKED, LOCKING);
    err = upto < end ? -EINTR : all_present(as, va, end);
    mark_finally(as, va, upto, !err);
    return err;
}

int aspace_lock_pages_within(struct aspace *as, vaddr_t va, uint64_t len, uint64_t limit,
                             bool *any_set)
{
    int err = -EAGAIN;

    if (!aspace_user_range(va, len))
        return -EFAULT;
    for (unsigned round = 0; round < ROUNDS_MAX && err == -EAGAIN; round++) {
        err = make_present(as, va, len, limit);
        if (err)
            break;
        err = mutex_lock_killable(&as->lock);
        if (err)
            break;
        err = lock_present(as, va, va + len, limit, any_set);
        mutex_unlock(&as->lock);
    }
    return err == -EAGAIN ? -ENOMEM : err;
}

int aspace_lock_pages(struct aspace *as, vaddr_t va, uint64_t len, bool *any_set)
{
    return aspace_lock_pages_within(as, va, len, UINT64_MAX, any_set);
}

/* The used part of the first entry from va on: its first page in *start, its end in *end. False:
   there is no entry, or the caller is to end. */
static bool next_used(struct aspace *as, vaddr_t va, vaddr_t *start, vaddr_t *end)
{
    struct map_entry *e;

    if (mutex_lock_shared_killable(&as->lock) != 0)
        return false;
    e = aspace_first_in_locked(as, va, LAYOUT_USER_TOP);
    if (e) {
        *start = e->flags & MAPF_GROWSDOWN ? MAX(first_page(e), e->low & ~PAGE_MASK) : e->start;
        *start = MAX(*start, va);
        *end = e->end;
    }
    mutex_unlock_shared(&as->lock);
    return e != NULL;
}

int aspace_lock_all(struct aspace *as, uint64_t limit)
{
    vaddr_t va = LAYOUT_P0_FIRST, start, end;
    uint64_t npages = 0;
    int err = 0;
    bool any;

    for (; va < LAYOUT_USER_TOP && next_used(as, va, &start, &end); va = end) {
        npages += start < end ? (end - start) >> PAGE_SHIFT : 0;
        if (thread_killed())
            return -EINTR;
    }
    if (npages > limit)
        return -ENOMEM;
    for (va = LAYOUT_P0_FIRST; va < LAYOUT_USER_TOP && next_used(as, va, &start, &end); va = end) {
        if (start < end)
            err = aspace_lock_pages_within(as, start, end - start, limit, &any);
        if (err == -ENOMEM || err == -EINTR)
            return err; /* what cannot be accessed is left out */
    }
    return 0;
}

int aspace_unlock_all(struct aspace *as)
{
    vaddr_t va = LAYOUT_P0_FIRST;
    struct map_entry *e;
    int err = mutex_lock_killable(&as->lock);

    if (err)
        return err;
    while ((e = aspace_first_in_locked(as, va, LAYOUT_USER_TOP)) != NULL) {
        va = e->end;
        if (e->locked)
            aspace_mark_entry(as, e, UNLOCKED);
        aspace_merge_locked(as, e);
        if (va >= LAYOUT_USER_TOP)
            break;
        if (thread_killed()) {
            err = -EINTR;
            break;
        }
    }
    mutex_unlock(&as->lock);
    return err;
}

int aspace_unlock_pages(struct aspace *as, vaddr_t va, uint64_t len, bool *all_set)
{
    bool any;
    int err;

    if (!aspace_user_range(va, len))
        return -EFAULT;
    err = mutex_lock_killable(&as->lock);
    if (err)
        return err;
    err = look(as, va, va + len, &any, all_set);
    if (!err && any)
        err = split_ends(as, va, va + len);
    if (!err && any)
        (void)mark_range(as, va, va + len, LOCKED, UNLOCKED);
    mutex_unlock(&as->lock);
    return err;
}
