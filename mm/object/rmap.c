/*
 * Reverse walk: from the pages of an object to the PTEs that map them, through the object's map
 * entries.
 *
 * Pagers and truncation call it, without any aspace mutex. The object's lock protects the tree of
 * entries and the PTEs that map the object's pages (PTE_SW_SHARED); page_table.lock, taken inside,
 * keeps the tables that hold the PTEs. Other PTEs of an entry, for private pages copied from the
 * object, are left alone.
 *
 * A walk is done in steps, each of which holds the lock for a bounded number of PTEs, whatever the
 * number of mappings and of pages. In between, only the position is kept: the first page and age of
 * the entry (mm/object/mappings.c), and the next page in it. The entry itself may be gone when the
 * next step begins. That no PTE is missed follows from two rules:
 *
 *  - Before the walk begins, the caller has marked the pages under the lock: their slots say
 *    SLOT_TAKE, SLOT_PUT or no SLOT_W, or they lie behind the object's end. A fault finds a page
 * and
 *    maps it under one hold of the lock, so from then on none adds a PTE that the walk would have
 * to
 *    change.
 *  - PTEs move only away from the position, to what the walk has not reached: fork copies them to a
 *    younger entry that begins at the same page, a split to one that begins at a later page, both
 *    with the lock held for the PTEs. What is copied from an entry behind the position has been
 *    changed already; what is removed needs no change.
 *
 *     walk                                   fork
 *     restricts the parent's PTEs, drops
 *     the lock
 *                                            attaches the child's entry, behind the parent's
 *                                            copies the PTEs, as the walk has left them
 *     goes on behind the parent: visits the
 *     child, finds nothing to do
 *
 * Nothing is allocated, so nothing can fail. A walk takes time in proportion to the entries that
 * map one of the pages and to the PTEs that they have for them.
 */
#include "kernel/sched/thread.h"
#include "mm/object/object_private.h"
#include "mm/pt/gh.h"
#include "mm/pt/pt.h"

/* How much one step does: the sum of the costs of what it visits. A unit is some 25 instructions.
   */
#define STEP_COST  28u
#define COST_ENTRY 12u /* to find it, and to flush */
#define COST_TABLE 2u
#define COST_PTE   2u /* to change it */
#define EMPTY_PTES 8u /* looked at together, for the cost of 1 */

struct rmap_walk {
    struct mm_object *o;
    uint64_t from, to; /* pages */
    unsigned access;
    enum rmap_locked locked; /* what to do where an entry is locked in memory */
    bool stopped;            /* result: met such an entry, and RMAP_STOP */
    bool inside;         /* the position is at page `at` of entry (first, age); else behind it */
    uint64_t first, age; /* position */
    uint64_t at;
    unsigned cost; /* of this step so far */
    /* The last entry of the step before. It is there still, and in its place, if no entry was
       attached and none detached since. */
    struct map_entry *last;
    uint64_t next_age;
    uint32_t nentries;
};

/* Change one PTE; the caller counts. Both locks held. True: it was cleared. */
static bool restrict_pte(struct rmap_walk *w, pte_t *p, vaddr_t va, struct tb_gather *g)
{
    /* One that is private, a fault may change meanwhile. */
    pte_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

    if (!pte_maps_page(va, old) || !(old & PTE_SW_SHARED))
        return false;
    if (w->access && !(old & (PTE_KWE | PTE_UWE)))
        return false;
    if (unlikely(pte_gh(old))) { /* its neighbours stay mapped, also those behind w->to */
        gh_break(p);
        w->cost += COST_PTE;
        old &= ~PTE_GH_MASK;
    }
    pt_store(p, w->access ? (old & ~(PTE_KWE | PTE_UWE)) | PTE_FOW : 0);
    tb_gather_va(g, va);
    w->cost += COST_PTE;
    return w->access == 0;
}

/* Change n PTEs of one table. Both locks held. */
static void restrict_ptes(struct rmap_walk *w, struct page_table *pt, pte_t *p, vaddr_t va,
                          uint64_t n, struct tb_gather *g)
{
    unsigned cleared = 0;

    for (uint64_t i = 0; i < n; i++)
        cleared += restrict_pte(w, p + i, va + (i << PAGE_SHIFT), g);
    if (cleared) {
        pt_count(p, -(int)cleared);
        page_table_sub_rss(pt, cleared);
    }
}

/* Does the table at p, for va, have a PTE among the next n that maps a page of the object? */
static bool any_shared(const pte_t *p, vaddr_t va, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (pte_maps_page(va + (i << PAGE_SHIFT), p[i]) && (p[i] & PTE_SW_SHARED))
            return true;
    return false;
}

/* Skip groups of empty PTEs, of the n at p, until the step is long enough. Returns their number. */
static uint64_t skip_empty(struct rmap_walk *w, const pte_t *p, uint64_t n)
{
    uint64_t i = 0;

    while (i + EMPTY_PTES <= n && w->cost < STEP_COST &&
           !(p[i] | p[i + 1] | p[i + 2] | p[i + 3] | p[i + 4] | p[i + 5] | p[i + 6] | p[i + 7])) {
        i += EMPTY_PTES;
        w->cost++;
    }
    return i;
}

/* Change PTEs of e from page w->at to `end`, until the step is long enough. Lock held. Returns the
   page to go on with. */
static uint64_t restrict_entry(struct rmap_walk *w, struct map_entry *e, uint64_t end)
{
    struct page_table *pt = e->pt;
    uint64_t at = w->at;
    struct tb_gather g;
    ipl_t ipl = spin_lock(&pt->lock);

    tb_gather_begin(&g, &pt->loaded, w->access ? TB_PROTECT : TB_UNMAP);
    if (pt->dying) /* its tables go without this lock; no CPU can use a translation of it */
        at = end;
    while (at < end && w->cost < STEP_COST) {
        vaddr_t va = e->start + ((at - e->pages.first) << PAGE_SHIFT);
        uint64_t n = MIN(PTES_PER_PAGE - pte_l3_index(va), end - at);
        pte_t *p = pt_lookup(pt, va, 3);

        w->cost += COST_TABLE;
        if (p) {
            uint64_t empty = skip_empty(w, p, n);

            at += empty;
            n = MIN(n - empty, EMPTY_PTES);
            if (w->locked != RMAP_CHANGE && e->locked &&
                any_shared(p + empty, va + (empty << PAGE_SHIFT), n)) {
                w->stopped = w->locked == RMAP_STOP;
                if (w->stopped)
                    break;
                object_unmark_locked(w->o, at, at + n);
                w->cost += COST_TABLE;
            } else {
                restrict_ptes(w, pt, p + empty, va + (empty << PAGE_SHIFT), n, &g);
            }
        }
        at += n;
    }
    /* Before the locks are dropped: who finds no PTE here afterwards may free the page. */
    tb_gather_flush(&g);
    spin_unlock(&pt->lock, ipl);
    return at;
}

/* One step. Lock held. False: the walk is done. */
static bool step_locked(struct rmap_walk *w)
{
    struct mm_object *o = w->o;
    struct map_entry *e = o->next_age == w->next_age && o->nentries == w->nentries ? w->last : NULL;

    w->cost = 0;
    while (w->cost < STEP_COST && !w->stopped) {
        uint64_t end;

        /* Inside an entry, it is the one behind (first, age - 1), if it is still there. */
        if (e && !w->inside)
            e = object_entry_behind(e, w->from, w->to);
        else
            e = object_entry_after(w->o, w->first, w->inside ? w->age - 1 : w->age, w->from, w->to);
        if (!e)
            return false;
        if (!w->inside || e->pages.first != w->first || e->pages.age != w->age)
            w->at = MAX(w->from, e->pages.first);
        w->first = e->pages.first;
        w->age = e->pages.age;
        w->cost += COST_ENTRY;
        end = MIN(w->to, e->pages.end);
        w->at = w->at < end ? restrict_entry(w, e, end) : end;
        w->inside = w->at < end;
    }
    w->last = e;
    w->next_age = o->next_age;
    w->nentries = o->nentries;
    return !w->stopped;
}

/* False: something stopped the walk before its end. */
static bool walk(struct rmap_walk *w, bool killable)
{
    bool more = true;

    while (more) {
        ipl_t ipl = spin_lock(w->o->lock);

        more = step_locked(w);
        spin_unlock(w->o->lock, ipl);
        if (more && killable && thread_killed())
            return false;
    }
    return !w->stopped;
}

bool rmap_restrict(struct mm_object *o, uint64_t from, uint64_t to, unsigned access,
                   enum rmap_locked locked)
{
    struct rmap_walk w = {.o = o, .from = from, .to = to, .access = access, .locked = locked};

    return walk(&w, false);
}

bool rmap_unmap(struct mm_object *o, uint64_t from, uint64_t to, bool killable)
{
    struct rmap_walk w = {.o = o, .from = from, .to = to};

    return walk(&w, killable);
}
