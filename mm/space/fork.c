/*
 * fork: copying an address space.
 *
 * The regions are copied first, then entry after entry through map_ops.fork. Private memory is
 * copied by its PTEs: the pages of parent and child are the same, each counts one reference more,
 * and both PTEs are read-only with PTE_SW_COW, so that the first write by either copies the page
 * (mm/space/anon.c). PTEs of shared memory are not copied: faults map them, 16 pages at a time and
 * only where the child accesses them. The pages of an object that private memory only reads are
 * mapped in the child at once, because a copy of a PTE costs a tenth of a fault.
 *
 * Pages to which the child is going to write at once, as that of its stack, are copied here: that
 * saves both sides the fault. So are those that an earlier child copied first of all: mostly the
 * C library's, whose fork writes to them in each child. Such a page has a mark in the PFN database,
 * set by the copy (mm/space/anon.c), which stays with the parent. As nobody sees whether the next
 * child writes to it too, each FORGET_AFTER-th fork copies none and clears the marks: what children
 * still write to is marked again.
 *
 * Locks: the parent's mutex is held exclusively and, for an entry with an object, the object's lock
 * for some of its PTEs at a time: the child's entry is attached first, so that a reverse walk which
 * runs meanwhile finds what it copies (mm/object/rmap.c). The parent's translations are flushed
 * once, at the end, before the mutex is dropped and before the child can run. Until then another
 * thread of the parent may write through an old translation; that is no different from a write
 * before the fork.
 *
 * Out of memory, or the parent is killed: the incomplete child is destroyed, which drops its
 * references to pages. The parent's PTEs stay read-only and give write access again at the next
 * write.
 */
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/sched/thread.h"
#include "mm/object/object_pages.h"
#include "mm/pagefile/pagefile.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"
#include "mm/space/object_block.h"
#include "mm/space/pin.h"
#include "mm/space/region.h"

#define FORGET_AFTER 32u

/* What a fork notes on its way. Pages that are to be copied: those with the mark, found while their
   PTEs were shared, and those that the caller names. */
struct fork_noted {
    bool pinned; /* there are pages that a device may be writing (mm/space/pin.h) */
    unsigned n;
    unsigned slots; /* PTEs of pages in page files, which are not mapped */
    struct noted_page {
        const struct map_entry *e; /* of the parent */
        pte_t *p, *to;             /* its PTE and the child's */
    } page[FORK_SOON + FORK_ADDRESSES];
};

static void __attribute__((noinline)) note(struct fork_noted *noted, const struct map_entry *e,
                                           pte_t *p, pte_t *to)
{
    if (__atomic_load_n(&page_of(pte_pfn(*p))->soon, __ATOMIC_RELAXED) == PAGE_PINNED)
        noted->pinned = true;
    else if (noted->n < FORK_SOON)
        noted->page[noted->n++] = (struct noted_page){e, p, to};
}

/* The parent's PTE p, which maps a page of its own or one that can be written, or none, for the
   child. Returns its new value, of both. */
static inline pte_t share_private(const struct map_entry *e, struct fork_noted *noted, pte_t *p,
                                  pte_t *to, vaddr_t va, uint64_t *private)
{
    pte_t pte = *p;

    if (unlikely(!pte_valid(pte))) {
        pte_must_be_paged_out(va, pte);
        noted->slots++;
        ++*private;
        return pte;
    }
    if (!(pte & PTE_SW_COW)) {
        pte = (pte & ~(PTE_KWE | PTE_UWE)) | PTE_FOW | PTE_SW_COW;
        pt_store(p, pte);
    }
    if (!(pte & PTE_SW_SHARED)) {
        anon_page_share(pte_pfn(pte));
        if (unlikely(__atomic_load_n(&page_of(pte_pfn(pte))->soon, __ATOMIC_RELAXED)))
            note(noted, e, p, to);
        ++*private;
    }
    return pte;
}

/* Share the page of the parent's PTE p, if it maps one, with the child's PTE `to`. *rest: how many
   more there are in the table. A plain store does for the child, which has not begun. */
static inline __attribute__((always_inline)) void share_one(const struct map_entry *e,
                                                            struct fork_noted *noted, pte_t *p,
                                                            pte_t *to, vaddr_t va, uint64_t *rest,
                                                            uint64_t *private)
{
    const pte_t as_is = PTE_V | PTE_SW_SHARED | PTE_SW_COW;
    pte_t pte = *p;

    if (pte == 0)
        return;
    if (~pte & as_is)
        pte = share_private(e, noted, p, to, va, private);
    __atomic_store_n(to, pte, __ATOMIC_RELAXED);
    --*rest;
}

/* Share a block of an object's pages: its PTEs are copied as they are. */
static inline void block_copy(const pte_t *p, pte_t *to)
{
#pragma GCC unroll 8
    for (unsigned k = 0; k < GH_SMALL; k++)
        __atomic_store_n(&to[k], p[k], __ATOMIC_RELAXED);
}

/* Share n pages of one table, from the parent's PTEs at p to the child's at `to`. With an object
   its lock is held. Returns their number; *others: how many are not private. The text of a program
   is mapped here and there, so PTEs that are zero are passed over in few instructions, and those of
   an object's page that cannot be written are copied as they are. */
static inline unsigned share_ptes(const struct map_entry *e, struct fork_noted *noted, pte_t *p,
                                  pte_t *to, vaddr_t va, uint64_t n, uint32_t *left,
                                  unsigned *others)
{
    uint64_t upto = *left, private = 0, rest = upto, i = 0;

    for (; rest && i + 4 <= n; i += 4) {
        if (pte_gh(p[i]) && block_begins(va + (i << PAGE_SHIFT)) && i + GH_SMALL <= n) {
            block_copy(p + i, to + i);
            rest -= GH_SMALL;
            i += GH_SMALL - 4;
            continue;
        }
#pragma GCC unroll 4
        for (unsigned k = 0; k < 4; k++)
            share_one(e, noted, p + i + k, to + i + k, va + ((i + k) << PAGE_SHIFT), &rest,
                      &private);
    }
    for (; rest && i < n; i++)
        share_one(e, noted, p + i, to + i, va + (i << PAGE_SHIFT), &rest, &private);
    *left = (uint32_t)rest;
    *others += (unsigned)(upto - rest - private);
    return (unsigned)(upto - rest);
}

/* How many groups of PTEs of e are shared at once. With an object its lock is held for them: PTEs
   of its own pages take some 9 instructions, private ones 25, and what is read-only has mostly the
   former. */
static inline unsigned groups_at_once(const struct map_entry *e)
{
    if (!e->object)
        return PTES_PER_PAGE / PT_GROUP;
    return e->prot & MAP_W ? 1 : 2;
}

/* Count the slots of page files that n PTEs of the child have, as those of the parent do: apart, as
   a call in the loop would make it store registers. */
static void __attribute__((noinline, cold)) share_slots(const pte_t *to, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++)
        if (pte_is_paged_out(to[k]))
            pagefile_share(pte_slot(to[k]));
}

/* The same for n pages of some groups of PTEs of entry e; `table` is the child's.
   The lock of the entry's object is taken. They are counted before it is released, as a reverse
   walk may take them away from then on. */
static inline void share_group(const struct map_entry *e, struct aspace *dst, struct page *table,
                               pte_t *p, pte_t *to, vaddr_t va, uint64_t n, uint32_t *left,
                               unsigned *others)
{
    ipl_t ipl = e->object ? spin_lock(e->object->lock) : 0;
    unsigned before = dst->noted->slots;
    unsigned shared = share_ptes(e, dst->noted, p, to, va, n, left, others);

    if (unlikely(dst->noted->slots != before))
        share_slots(to, n);
    if (shared) {
        __atomic_fetch_add(&table->aux, shared, __ATOMIC_RELAXED);
        page_table_add_rss(&dst->pt, shared);
    }
    if (e->object)
        spin_unlock(e->object->lock, ipl);
}

/* Share the pages of e from va to end, which the PTEs from p on of a table of the parent map. 0 or
   -ENOMEM. */
static inline int share_table(const struct page *table, pte_t *p, struct map_entry *e,
                              struct aspace *dst, vaddr_t va, vaddr_t end)
{
    uint32_t left = __atomic_load_n(&table->aux, __ATOMIC_RELAXED);
    unsigned at_once = groups_at_once(e);
    uint64_t groups, n = (end - va) >> PAGE_SHIFT;
    unsigned others = 0;
    struct page *copy;
    pte_t *to;

    if (!left)
        return 0;
    to = pt_recent(&dst->pt, va, &copy);
    if (!to) {
        to = pt_create(&dst->pt, va, 3);
        if (!to)
            return -ENOMEM;
        copy = pt_page_of(to);
    }
    groups = __atomic_load_n(&table->groups, __ATOMIC_RELAXED) & pt_groups(p, n);
    __atomic_fetch_or(&copy->groups, (uint32_t)groups, __ATOMIC_RELAXED);
    while (left && groups) {
        unsigned k = bit_lowest(groups);
        pte_t *first = pt_group(p, k), *from = MAX(first, p);
        const pte_t *upto = MIN(first + at_once * PT_GROUP, p + n);

        groups &= ~(((UINT64_C(1) << at_once) - 1) << k);
        share_group(e, dst, copy, from, to + (from - p), va + (vaddr_t)(from - p) * PAGE_SIZE,
                    (uint64_t)(upto - from), &left, &others);
    }
    if (!e->object)
        dst->pt.zeroes += others; /* no reverse walk changes this */
    return 0;
}

/* The PTE of the first address from *va on, below end, that has a table, with that in *table; NULL:
   there is none. Most entries of a program lie in the table of the one before. */
static inline pte_t *first_pte(struct page_table *pt, vaddr_t *va, vaddr_t end, struct page **table)
{
    pte_t *p = pt_recent(pt, *va, table);
    const pte_t *l2;

    if (p)
        return p;
    l2 = pt_next_table(pt, va, end);
    if (!l2)
        return NULL;
    pt_remember(pt, *va, pte_pfn(pt_load(l2)));
    return pt_recent(pt, *va, table);
}

int anon_fork(struct aspace *src, struct map_entry *e, struct aspace *dst, struct map_entry *child)
{
    vaddr_t va = e->flags & MAPF_GROWSDOWN ? MAX(e->low, e->start) : e->start;
    struct page *table;
    int err = 0;

    if (e->object)
        object_attach_entry(e->object, child);
    if (e->flags & MAPF_SHARED)
        return 0;
    while (!err && va < e->end) {
        pte_t *p = first_pte(&src->pt, &va, e->end, &table);
        vaddr_t end = MIN(e->end, (va & ~(PTE_L2_SPAN - 1)) + PTE_L2_SPAN);

        if (!p)
            break;
        err = thread_killed() ? -EINTR : share_table(table, p, e, dst, va, end);
        va = end;
    }
    return err;
}

static int fork_entry(struct aspace *src, struct map_entry *e, struct aspace *dst)
{
    struct map_entry *child = map_entry_copy(e);

    if (!child)
        return -ENOMEM;
    aspace_append_locked(dst, child);
    return e->ops->fork ? e->ops->fork(src, e, dst, child) : 0;
}

/* Let the child's PTE have page `copy`, a copy of the page that it shares with the parent's PTE,
   which keeps the page itself.
   The parent's mutex is held exclusively and its translations have been flushed, so no thread
   writes to the page while it is copied, and none has a translation that allows more than the PTE.
   One that another thread fetches meanwhile allows less than the PTE will: then a write faults once
   more. */
static void copy_for_child(const struct noted_page *k, pfn_t copy)
{
    pte_t bits = pt_user_bits(k->e->prot, true);
    pfn_t pfn = pte_pfn(pt_load(k->to));

    page_copy(copy, pfn);
    page_of(copy)->owner = kseg_paddr(k->to).a;
    pt_store(k->to, pte_make(copy, bits));
    if (page_unref_shared(pfn) != 1)
        return; /* older children have it too */
    __atomic_store_n(&page_of(pfn)->owner, kseg_paddr(k->p).a, __ATOMIC_RELAXED);
    pt_store(k->p, pte_make(pfn, bits));
}

/* The PTE of va; NULL: it has no table. The stack's table is often the one found last. */
static inline pte_t *lookup(struct aspace *as, vaddr_t va)
{
    struct page *table;
    pte_t *p = pt_recent(&as->pt, va, &table);

    return p ? p : pt_lookup(&as->pt, va, 3);
}

/* The child is going to write at va at once, and the parent probably too: if there is a private
   page that can be written, it is to be copied, and neither takes a fault for it. */
static void note_address(struct aspace *src, struct aspace *dst, vaddr_t va,
                         struct fork_noted *noted)
{
    struct map_entry *e = aspace_lookup_locked(src, va);
    pte_t *to = e ? lookup(dst, va) : NULL;

    if (!to || !pte_maps_page(va, pt_load(to)))
        return;
    for (unsigned i = 0; i < noted->n; i++)
        if (noted->page[i].to == to)
            return;
    noted->page[noted->n++] = (struct noted_page){e, lookup(src, va), to};
}

/* May the child have a copy of the page, which is private and shared with the parent only for now?
 */
static bool to_copy(const struct noted_page *k)
{
    return (k->e->prot & MAP_W) && (pt_load(k->to) & (PTE_SW_COW | PTE_SW_SHARED)) == PTE_SW_COW;
}

/* Copy the pages that were noted, or clear their marks, and copy those of n addresses. 0 or
   -ENOMEM. */
static int __attribute__((noinline)) copy_soon(struct aspace *src, struct aspace *dst,
                                               const vaddr_t *soon, unsigned n,
                                               struct fork_noted *noted)
{
    pfn_t page[ARRAY_SIZE(noted->page)];
    unsigned copies = 0;

    if (++src->forks % FORGET_AFTER == 0) {
        for (unsigned i = 0; i < noted->n; i++)
            __atomic_store_n(&page_of(pte_pfn(pt_load(noted->page[i].to)))->soon, 0,
                             __ATOMIC_RELAXED);
        noted->n = 0;
    }
    for (unsigned i = 0; i < n; i++)
        note_address(src, dst, soon[i], noted);
    for (unsigned i = 0; i < noted->n; i++)
        if (to_copy(&noted->page[i]))
            noted->page[copies++] = noted->page[i];
    if (!copies)
        return 0;
    if (page_alloc_bulk(0, PAGE_T_PROCESS, dst->pt.home_rad, page, copies) != 0)
        return -ENOMEM;
    for (unsigned i = 0; i < copies; i++)
        copy_for_child(&noted->page[i], page[i]);
    return 0;
}

/* ---- pinned pages ---- */

/* The child cannot get a copy of a pinned page, and is not going to begin: it loses the page, which
   the parent can write again. */
static void take_back(struct aspace *dst, const struct noted_page *k)
{
    pfn_t pfn = pte_pfn(pt_load(k->to));

    pt_store(k->to, 0);
    pt_count(k->to, -1);
    page_table_sub_rss(&dst->pt, 1);
    (void)page_unref_shared(pfn);
    __atomic_store_n(&page_of(pfn)->owner, kseg_paddr(k->p).a, __ATOMIC_RELAXED);
    pt_store(k->p, pte_make(pfn, pt_user_bits(k->e->prot, true)));
}

/* A page with the mark of pins is shared with the child. While it is pinned the parent is its only
   user but for this child, and is that again afterwards. err, if not 0: the child is not going to
   begin. Returns it, or -EINTR or -ENOMEM. */
static int part_page(struct aspace *dst, const struct noted_page *k, int err)
{
    pfn_t pfn = pte_pfn(pt_load(k->p)), copy;
    struct page *page = page_of(pfn);

    if (__atomic_load_n(&page->share, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&page->soon, 0, __ATOMIC_RELAXED);
        return err;
    }
    if (!err && thread_killed())
        err = -EINTR;
    if (!err && page_alloc(0, PAGE_T_PROCESS, dst->pt.home_rad, &copy) != 0)
        err = -ENOMEM;
    if (err) {
        take_back(dst, k);
        return err;
    }
    copy_for_child(k, copy);
    __atomic_store_n(&page->owner, kseg_paddr(k->p).a, __ATOMIC_RELAXED);
    pt_store(k->p, pte_make(pfn, pt_user_bits(k->e->prot, true)));
    return 0;
}

/* The same for the pages of e. */
static int part_entry(struct aspace *src, const struct map_entry *e, struct aspace *dst, int err)
{
    vaddr_t va = e->start;

    while ((va = pt_skip_holes(&dst->pt, va, e->end)) < e->end) {
        pte_t *to = pt_lookup(&dst->pt, va, 3), *p = pt_lookup(&src->pt, va, 3);
        uint64_t n = MIN(PTES_PER_PAGE - pte_l3_index(va), (e->end - va) >> PAGE_SHIFT);

        for (uint64_t i = 0; i < n; i++) {
            const struct noted_page k = {e, p + i, to + i};
            pte_t pte = pt_load(k.to);

            if (pte_valid(pte) && pte_is_private(pte) &&
                __atomic_load_n(&page_of(pte_pfn(pte))->soon, __ATOMIC_RELAXED) == PAGE_PINNED)
                err = part_page(dst, &k, err);
        }
        va += n << PAGE_SHIFT;
    }
    return err;
}

/* Give the child copies of the pages that a device may be writing, or, if the fork fails, nothing;
   the parent keeps them, and can write them as before. All are seen to, whatever happens: others
   may share the parent's space. But none is copied after an error, which is passed on. The parent's
   translations have been flushed. err, -EINTR or -ENOMEM. */
static int __attribute__((noinline)) part_pinned(struct aspace *src, struct aspace *dst, int err)
{
    const struct map_entry *e;

    list_for_each_entry(e, &src->entries, link)
        if (e->ops == &anon_ops && !(e->flags & MAPF_SHARED))
            err = part_entry(src, e, dst, err);
    return err;
}

struct aspace *aspace_fork_writing(struct aspace *src, const vaddr_t *soon, unsigned n)
{
    struct aspace *dst = aspace_new(src->pt.home_rad);
    struct fork_noted noted;
    struct map_entry *e;
    struct tb_gather g;
    int err;

    KASSERT(n <= FORK_ADDRESSES, "a fork names few addresses");
    if (!dst)
        return NULL;
    if (mutex_lock_killable(&src->lock) != 0) {
        aspace_unref(dst);
        return NULL;
    }
    dst->next_region_id = src->next_region_id;
    noted.n = noted.slots = 0;
    noted.pinned = false;
    dst->noted = &noted;
    err = region_fork_locked(src, dst);
    if (!err)
        list_for_each_entry(e, &src->entries, link) {
            err = thread_killed() ? -EINTR : fork_entry(src, e, dst);
            if (err)
                break;
        }
    dst->counts.vsize = dst->counts.vsize_peak = src->counts.vsize;
    dst->counts.data = src->counts.data;
    dst->counts.entries = src->counts.entries;
    tb_gather_begin(&g, &src->pt.loaded, TB_FORK);
    g.nvas = TB_GATHER_VAS + 1; /* everything */
    tb_gather_flush(&g);
    if (unlikely(noted.pinned))
        err = part_pinned(src, dst, err);
    if (!err)
        err = copy_soon(src, dst, soon, n, &noted);
    /* Atomic: a reverse walk may clear PTEs of the child already. */
    if (unlikely(noted.slots)) {
        __atomic_fetch_sub(&dst->pt.rss, noted.slots, __ATOMIC_RELAXED);
        dst->pt.paged_out = noted.slots;
    }
    dst->noted = NULL;
    mutex_unlock(&src->lock);
    if (err) {
        aspace_unref(dst);
        return NULL;
    }
    return dst;
}
