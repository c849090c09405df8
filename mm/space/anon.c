/*
 * Anonymous memory and mapped objects: private pages, and the operations unmap, protect and split
 * of all such entries. Faults on the pages of objects are in mm/space/object_fault.c.
 *
 * A private page belongs to the PTEs that map it, and its reference count says how many there are.
 * One PTE: the PFN database has its physical address. After a fork there are several, in as many
 * address spaces, all read-only with PTE_SW_COW, and the database names none. A write to such a
 * page copies it, unless the count says that this PTE is the last: then the page becomes writable
 * again.
 *
 *     before the fork      parent [ W ]----> A (1)
 *
 *     after the fork       parent [COW]--+-> A (2)
 *                          child  [COW]--'
 *
 *     the parent wrote     parent [ W ]----> B (1), a copy
 *                          child  [COW]----> A (1), writable at the child's next write
 *
 * So a copy-on-write fault costs the same after any number of forks, and what a process writes is
 * found without looking at what others wrote. Private pages in an entry that maps an object (a
 * private mapping of a file) are the copies of the object's pages that were written; PTEs of the
 * object's own pages have PTE_SW_SHARED.
 *
 * An entry without an object is all zero at first. A read maps the one page of zeroes that the
 * system has (page_zeroes), in the form of an object's page: with PTE_SW_SHARED, as it belongs to
 * no PTE and counts none, and with PTE_SW_COW. The first write puts a page in its place. A page of
 * such an entry that only one PTE maps may be put into a page file; page_out.c and page_in.c beside
 * this file say how.
 *
 * Locks: faults hold the aspace mutex shared, all other operations hold it exclusively. A PTE of a
 * private page is changed, by a fault, with compare-and-swap; PTEs of an object's pages, and empty
 * ones that are to map one, under the object's lock, held for some of them at a time.
 *
 * Two threads may write to one shared page at the same time. One swaps its copy in, the other fails
 * and frees its own. The second may even have copied from a page that was freed meanwhile, because
 * the first had its copy in place and dropped the last reference; then the copy is wrong, and not
 * used. The PTE cannot have come back to its old value in between, because only fork and unmap,
 * which need the mutex exclusively, could bring that about. A count of 1 stays 1 for the same
 * reason: this PTE is the only place from which another reference could be made. It was read with
 * acquire order, so what the other users did with the page is over.
 *
 * A fault fails with -ENOMEM when no table or page can be allocated. Unmapping, protection and
 * splitting allocate nothing and cannot fail; the first two may stop early if the thread is to end.
 */
#include "arch/alpha/hw/tb.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/sched/thread.h"
#include "mm/object/object_pages.h"
#include "mm/pagefile/pagefile.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"
#include "mm/space/object_block.h"

#define BATCH_PAGES 32u /* pages allocated at once */

/* ---- stacks ---- */

bool anon_stack_touch(struct aspace *as, struct map_entry *e, vaddr_t va)
{
    vaddr_t low;

    if (va < e->start + PAGE_SIZE)
        return false;
    if (aspace_stack_limit && e->end - va > aspace_stack_limit())
        return false;
    low = __atomic_load_n(&e->low, __ATOMIC_RELAXED);
    while (va < low) { /* of two faults at the same time, the lower one counts */
        if (__atomic_compare_exchange_n(&e->low, &low, va, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            count_add(&as->counts.stack_grow, 1);
            break;
        }
    }
    return true;
}

/* ---- private pages ---- */

/* Is this PTE, which maps the page, the only one? */
static inline bool is_sole_user(pfn_t pfn)
{
    return __atomic_load_n(&page_of(pfn)->refcnt, __ATOMIC_ACQUIRE) == 1;
}

/* Give a page back write access whose only user this PTE has become. False: the PTE has changed. */
static bool reclaim(struct map_entry *e, pte_t *p, vaddr_t va, pte_t old)
{
    pte_t now = pte_make(pte_pfn(old), pt_user_bits(e->prot, true));

    if (!__atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&page_of(pte_pfn(old))->owner, kseg_paddr(p).a, __ATOMIC_RELAXED);
    tb_invalidate_single(va); /* the access is more: other CPUs may fault once */
    return true;
}

/* A page turned out to have no other user any more. Its neighbours were shared by the same fork,
   and the same probably holds for them. p: PTE of va. */
static void reclaim_around(struct map_entry *e, pte_t *p, vaddr_t va)
{
    vaddr_t to;

    p = entry_around(e, p, va, &va, &to);
    for (; va < to; va += PAGE_SIZE, p++) {
        pte_t pte = pt_load(p);

        if (pte_maps_page(va, pte) && (pte & (PTE_SW_COW | PTE_SW_SHARED)) == PTE_SW_COW &&
            is_sole_user(pte_pfn(pte)))
            reclaim(e, p, va, pte);
    }
}

/*
 * Change a PTE from `old` to `now`, which maps another page. False: it has changed meanwhile.
 *
 * Between the two nobody may use it: a store to the new page must not be seen, and spoken of, while
 * another CPU still reads the old page by its translation. So the PTE is closed, by taking away all
 * access, then every CPU's translation is invalidated, and only then it gets its new value. Whoever
 * faults on the closed PTE tries again until this is over. It is as valid as before: it refers to
 * the old page, and a thread whose write finds that it is the last to refer to it may open it
 * again, by which this change fails.
 */
static bool replace(struct aspace *as, pte_t *p, vaddr_t va, pte_t old, pte_t now)
{
    pte_t closed = old & ~(PTE_KRE | PTE_URE);
    ipl_t ipl = ipl_raise(IPL_ASTDEL); /* as tb_flush_page needs it */
    /* Relaxed, as the flush begins with a barrier; the second makes the contents visible first. */
    bool ours = __atomic_compare_exchange_n(p, &old, closed, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED);

    if (likely(ours)) {
        tb_flush_page(&as->pt.loaded, va, TB_COW);
        ours = __atomic_compare_exchange_n(p, &closed, now, false, __ATOMIC_RELEASE,
                                           __ATOMIC_RELAXED);
    }
    ipl_restore(ipl);
    return ours;
}

/* Put a copy of the page that `old` maps in its place, or an empty page in that of the page of
   zeroes. 0, also if the PTE has changed meanwhile, or -ENOMEM. */
static int copy_page(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va, pte_t old)
{
    pfn_t from = pte_pfn(old), to;
    bool zeroes = !pte_is_private(old);

    if (unlikely(page_alloc(zeroes ? PA_ZERO : 0, PAGE_T_PROCESS, as->pt.home_rad, &to) != 0))
        return -ENOMEM;
    if (!zeroes)
        page_copy(to, from);
    page_of(to)->owner = kseg_paddr(p).a;
    if (unlikely(!replace(as, p, va, old, pte_make(to, pt_user_bits(e->prot, true))))) {
        if (zeroes)
            page_free_zeroed(to);
        else
            page_free(to);
        return 0;
    }
    if (zeroes) {
        __atomic_fetch_sub(&as->pt.zeroes, 1, __ATOMIC_RELAXED);
    } else {
        if (__atomic_load_n(&as->counts.cow, __ATOMIC_RELAXED) < FORK_SOON)
            __atomic_store_n(&page_of(from)->soon, 1, __ATOMIC_RELAXED);
        page_unref(from); /* no CPU reads it through the old PTE any more */
    }
    count_add(&as->counts.cow, 1);
    return 0;
}

int anon_fault_present(struct aspace *as, struct map_entry *e, vaddr_t va, pte_t *p, pte_t old,
                       bool write)
{
    if (!write || !(old & PTE_SW_COW)) {
        if (unlikely(old & PTE_SW_AGED))
            return anon_fault_aged(as, e, va, p, old);
        /* Another thread has mapped the page, or this CPU's translation is older than an mprotect
           that gave more access. */
        tb_invalidate_single(va);
        return 0;
    }
    if (!pte_is_private(old) || !is_sole_user(pte_pfn(old)))
        return copy_page(as, e, p, va, old);
    if (reclaim(e, p, va, old))
        reclaim_around(e, p, va);
    return 0;
}

/* ---- entries without an object ---- */

/* Does no other CPU run in this space? To replace a page, as the first write does with that of
   zeroes, would interrupt the others: a program whose threads run at the same time gets pages of
   its own at once. A rule of thumb, which may be wrong as soon as it was asked. */
static inline bool is_alone(const struct aspace *as)
{
    return !(__atomic_load_n(&as->pt.loaded, __ATOMIC_RELAXED) & ~(UINT64_C(1) << cpu_id()));
}

/* Map the page of zeroes, where no PTE is: nothing was written there yet. */
static int zeroes_fault(struct aspace *as, struct map_entry *e, pte_t *p)
{
    pte_t bits = pt_user_bits(e->prot, false) | PTE_SW_SHARED | PTE_SW_COW;

    if (likely(pt_install(p, pte_make(page_zeroes, bits)))) {
        count_add(&as->counts.demand_zero, 1);
        count_add(&as->pt.zeroes, 1);
        page_table_add_rss(&as->pt, 1);
    }
    return 0;
}

static int private_fault(struct aspace *as, struct map_entry *e, vaddr_t va, bool write)
{
    pte_t *p = pt_create(&as->pt, va, 3), old;
    pfn_t pfn;

    if (unlikely(!p))
        return -ENOMEM;
    old = pt_load(p);
    if (old != 0)
        return likely(pte_valid(old)) ? anon_fault_present(as, e, va, p, old, write)
                                      : anon_page_in(as, e, va, p, old);
    if (!write && !e->locked && is_alone(as))
        return zeroes_fault(as, e, p);
    if (unlikely(page_alloc(PA_ZERO, PAGE_T_PROCESS, as->pt.home_rad, &pfn) != 0))
        return -ENOMEM;
    page_of(pfn)->owner = kseg_paddr(p).a;
    if (unlikely(!pt_install(p, pte_make(pfn, pt_user_bits(e->prot, true))))) {
        page_free(pfn);
        return 0;
    }
    count_add(&as->counts.demand_zero, 1);
    page_table_add_rss(&as->pt, 1);
    return 0;
}

/* Map zero pages at the empty ones of n PTEs of one table. *all: the bits that any of the others
   had. */
static int private_populate_batch(struct aspace *as, struct map_entry *e, pte_t *p, unsigned n,
                                  pte_t *all)
{
    pfn_t pfns[BATCH_PAGES];
    pte_t bits = pt_user_bits(e->prot, true);
    unsigned want = 0, used = 0, installed = 0;

    *all = 0;
    for (unsigned i = 0; i < n; i++) {
        want += p[i] == 0;
        *all |= p[i];
    }
    if (want == 0)
        return 0;
    if (page_alloc_bulk(PA_ZERO, PAGE_T_PROCESS, as->pt.home_rad, pfns, want) != 0)
        return -ENOMEM;
    for (unsigned i = 0; i < n && used < want; i++) {
        pte_t none = 0;

        if (pt_load(&p[i]) != 0)
            continue;
        page_of(pfns[used])->owner = kseg_paddr(&p[i]).a;
        if (__atomic_compare_exchange_n(&p[i], &none, pte_make(pfns[used], bits), false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
            installed++;
            used++;
        }
    }
    if (used < want) /* another thread has mapped some of them meanwhile */
        page_free_bulk(&pfns[used], want - used);
    pt_count(p, (int)installed);
    pt_mark_range(p, n);
    page_table_add_rss(&as->pt, installed);
    return 0;
}

/* Bring back a page that is in a page file. 0: there is none; -EAGAIN: it was brought, and the
   mutex was dropped meanwhile; or an error. */
static int bring_back(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va)
{
    pte_t pte = pt_load(p);
    int err;

    if (pte == 0 || pte_valid(pte))
        return 0;
    err = anon_page_in(as, e, va, p, pte);
    return err ? err : -EAGAIN;
}

/* Copy the page that a PTE maps if it is shared and the entry may write it. 0 or -ENOMEM. */
static int make_writable(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va)
{
    pte_t pte = pt_load(p);

    if (!(pte & PTE_SW_COW) || (!(e->prot & MAP_W) && pte_is_private(pte)))
        return 0;
    return anon_fault_present(as, e, va, p, pte, true);
}

static int private_populate(struct aspace *as, struct map_entry *e, vaddr_t va, vaddr_t end)
{
    while (va < end) {
        pte_t *p = pt_create(&as->pt, va, 3);
        uint64_t n = MIN(PTES_PER_PAGE - pte_l3_index(va), (end - va) >> PAGE_SHIFT);
        pte_t all;
        int err;

        if (!p)
            return -ENOMEM;
        if (thread_killed())
            return -EINTR;
        n = MIN(n, BATCH_PAGES);
        err = private_populate_batch(as, e, p, (unsigned)n, &all);
        for (uint64_t i = 0; i < n && !err && unlikely(all & PTE_FORM_MASK); i++)
            err = bring_back(as, e, p + i, va + (i << PAGE_SHIFT));
        for (uint64_t i = 0; i < n && !err && (all & PTE_SW_COW); i++)
            err = make_writable(as, e, p + i, va + (i << PAGE_SHIFT));
        if (err)
            return err;
        va += n << PAGE_SHIFT;
    }
    return 0;
}

/* ---- operations of the map ---- */

static int anon_fault(struct aspace *as, struct map_entry *e, vaddr_t va, enum fault_access access)
{
    if (unlikely(e->flags & MAPF_GROWSDOWN) && !anon_stack_touch(as, e, va))
        return -EFAULT;
    if (!e->object)
        return private_fault(as, e, va, access == FAULT_WRITE);
    return object_fault(as, e, va, access == FAULT_WRITE);
}

static int anon_populate(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    if (e->flags & MAPF_GROWSDOWN) {
        start = MAX(start, e->start + PAGE_SIZE);
        if (start >= end || !anon_stack_touch(as, e, start))
            return 0;
    }
    return e->object ? object_populate(as, e, start, end) : private_populate(as, e, start, end);
}

/* First page of the entry that can have a PTE. */
static vaddr_t first_touched(const struct map_entry *e)
{
    return e->flags & MAPF_GROWSDOWN ? MAX(e->low, e->start) & ~PAGE_MASK : e->start;
}

/* Clear the PTE of a page in a page file. It is counted here, as the caller counts pages that were
   mapped. */
static void __attribute__((noinline, cold)) clear_slot(pte_t *p, vaddr_t va, pte_t pte,
                                                       const struct tb_gather *g)
{
    struct page_table *pt = container_of(g->mask, struct page_table, loaded);

    pte_must_be_paged_out(va, pte);
    pt_set(p, 0);
    pagefile_drop(pte_slot(pte));
    __atomic_fetch_sub(&pt->paged_out, 1, __ATOMIC_RELAXED);
}

/* Clear the PTEs [p, end) of a group, the first of which is that of va and of which `left` are
   valid at most, and add the private pages that they map to the gather; others are counted in
   *others. Returns what remains of `left`. */
static inline uint64_t clear_group(pte_t *p, const pte_t *end, vaddr_t va, uint64_t left,
                                   struct tb_gather *g, uint64_t *others)
{
    for (; p < end && left; p++, va += PAGE_SIZE) {
        pte_t pte = *p;

        for (; pte == 0 && p + 4 < end && !(p[1] | p[2] | p[3]); va += 4 * PAGE_SIZE)
            pte = *(p += 4);
        if (pte == 0)
            continue;
        if (unlikely(!pte_valid(pte))) {
            clear_slot(p, va, pte, g);
            continue;
        }
        __atomic_store_n(p, 0, __ATOMIC_RELAXED);
        left--;
        tb_gather_va(g, va);
        if (pte_is_private(pte))
            tb_gather_page(g, pte_pfn(pte));
        else
            ++*others;
    }
    return left;
}

/* The same for a group of an entry with an object. */
static uint64_t clear_object_group(const struct map_entry *e, pte_t *p, const pte_t *end,
                                   vaddr_t va, uint64_t left, struct tb_gather *g)
{
    uint64_t of_object = 0;
    ipl_t ipl;

    _Static_assert(PT_GROUP < TB_GATHER_PAGES, "a gather has room for a group");
    if (g->npages > TB_GATHER_PAGES - PT_GROUP)
        tb_gather_flush(g);
    ipl = spin_lock(e->object->lock);
    left = clear_group(p, end, va, left, g, &of_object);
    /* Invalidate before the lock is dropped: after that, a reverse walk finds no PTE here, and
       its caller frees the page. */
    tb_gather_invalidate(g);
    spin_unlock(e->object->lock, ipl);
    return left;
}

/* Clear the PTEs [p, end) of one table, for the pages from va on. Returns the number of valid
   PTEs cleared. */
static uint64_t clear_table_part(const struct map_entry *e, pte_t *p, pte_t *end, vaddr_t va,
                                 struct tb_gather *g)
{
    struct page *page = pt_page_of(p);
    uint64_t before = __atomic_load_n(&page->aux, __ATOMIC_RELAXED), left = before;
    uint64_t used = __atomic_load_n(&page->groups, __ATOMIC_RELAXED), part = used, kept = 0;
    uint64_t zeroes = 0;

    if (end - p < (long)PTES_PER_PAGE)
        part &= pt_groups(p, (uint64_t)(end - p));
    for (uint64_t groups = part; groups && left; groups &= groups - 1) {
        pte_t *first = pt_group(p, bit_lowest(groups)), *from = MAX(first, p);
        pte_t *to = MIN(first + PT_GROUP, end);
        vaddr_t at = va + (vaddr_t)(from - p) * PAGE_SIZE;

        if (e->object)
            left = clear_object_group(e, from, to, at, left, g);
        else
            left = clear_group(from, to, at, left, g, &zeroes);
        if (to - from < (long)PT_GROUP)
            kept |= groups & -groups;
    }
    if (before == left)
        return 0;
    /* Groups of which only a part was cleared may still hold PTEs, unless the table is empty. */
    __atomic_store_n(&page->groups, left ? (uint32_t)((used & ~part) | kept) : 0, __ATOMIC_RELAXED);
    pt_count(p, -(int)(before - left));
    if (zeroes)
        __atomic_fetch_sub(&e->pt->zeroes, zeroes, __ATOMIC_RELAXED);
    return before - left;
}

/* What lies below va and from va on may change apart from each other: a block across it ends. */
static void break_across(const struct map_entry *e, vaddr_t va)
{
    pte_t *p = block_begins(va) ? NULL : pt_lookup(e->pt, va, 3);
    ipl_t ipl;

    if (!p)
        return;
    ipl = spin_lock(e->object->lock);

    if (pte_valid(*p) && pte_gh(*p)) {
        gh_break(p);
        tb_flush_page(&e->pt->loaded, va, TB_PROTECT);
    }
    spin_unlock(e->object->lock, ipl);
}

static void __attribute__((noinline)) break_ends(const struct map_entry *e, vaddr_t start,
                                                 vaddr_t end)
{
    if (start > e->start)
        break_across(e, start);
    if (end < e->end)
        break_across(e, end);
}

/* A thread that is to end leaves the rest of the pages to the end of the space. Not inline: a dying
   space asks for each of its entries, in vain, and would save all registers for it. */
static int __attribute__((noinline)) unmap_pages(struct aspace *as, struct map_entry *e,
                                                 vaddr_t start, vaddr_t end)
{
    struct tb_gather g;
    uint64_t cleared = 0;
    vaddr_t va = MAX(start, first_touched(e));
    pte_t *l2 = pt_next_table(&as->pt, &va, end);

    if (!l2 && !pt_may_prune_upper(&as->pt, start, end))
        return 0;
    if (unlikely(e->object && (start > e->start || end < e->end)))
        break_ends(e, start, end);
    tb_gather_begin(&g, &as->pt.loaded, TB_UNMAP);
    for (; l2 && !thread_killed(); l2 = pt_step_table(&as->pt, l2, &va, end)) {
        vaddr_t table = va & ~(PTE_L2_SPAN - 1), next = MIN(table + PTE_L2_SPAN, end);
        pte_t *p = pt_table(pt_load(l2));

        cleared += clear_table_part(e, p + ((va - table) >> PAGE_SHIFT),
                                    p + ((next - table) >> PAGE_SHIFT), va, &g);
        pt_prune_table(&as->pt, l2, va, &g);
        va = next;
    }
    if (cleared)
        page_table_sub_rss(&as->pt, cleared);
    pt_prune_upper(&as->pt, start, MIN(va, end), &g);
    tb_gather_flush(&g);
    return va < end ? -EINTR : 0;
}

/* In a dying space the PTEs stay until its end (anon_end). */
static int anon_unmap(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    return as->pt.dying ? 0 : unmap_pages(as, e, start, end);
}

/* ---- the end of an address space ---- */

/* What a dying space gives back. */
struct ending {
    struct page_batch pages, tables;
};
/* What is done with a PTE, which has been cleared. */
typedef void end_fn(pte_t pte, struct ending *d);

/* Clear a PTE whose value is `pte`, and hand it to fn, if it is not zero. */
static inline __attribute__((always_inline)) void end_one(pte_t *p, pte_t pte, end_fn *fn,
                                                          struct ending *d, uint64_t *left)
{
    if (pte == 0)
        return;
    *p = 0;
    --*left;
    fn(pte, d);
}

static inline void end_page(pte_t pte, struct ending *d)
{
    if (!(~pte & (PTE_V | PTE_SW_SHARED))) /* most: a page of an object */
        return;
    if (unlikely(!pte_valid(pte))) {
        pte_must_be_paged_out(0, pte);
        pagefile_drop(pte_slot(pte));
        return;
    }
    page_batch_add(&d->pages, pte_pfn(pte));
}

/* Clear the PTEs of a block, of which p is the first. Returns the fourth last of them. */
static inline pte_t *block_clear(pte_t *p)
{
#pragma GCC unroll 8
    for (unsigned k = 0; k < GH_SMALL; k++)
        p[k] = 0;
    return p + GH_SMALL - 4;
}

/* Clear the PTEs of a table, of which `left` are not zero, all in these groups, and hand each to
   fn. Where pages are apart most PTEs are zero: four are looked at with one branch. Returns how
   many were not found. */
static inline __attribute__((always_inline)) uint64_t end_groups(pte_t *table, uint64_t groups,
                                                                 uint64_t left, end_fn *fn,
                                                                 struct ending *d)
{
    for (; groups; groups &= groups - 1) {
        pte_t *p = table + bit_lowest(groups) * PT_GROUP, *end = p + PT_GROUP;

        for (; p < end; p += 4) {
            pte_t a = p[0], b = p[1], c = p[2], e = p[3];

            if (!(a | b | c | e))
                continue;
            if (fn == end_page && (b & BLOCK_BIT)) { /* with a block's pages nothing is done */
                p = block_clear(p);
                left -= GH_SMALL;
                if (!left)
                    return 0;
                continue;
            }
            end_one(p, a, fn, d, &left);
            end_one(p + 1, b, fn, d, &left);
            end_one(p + 2, c, fn, d, &left);
            end_one(p + 3, e, fn, d, &left);
            if (!left)
                return 0;
        }
    }
    return left;
}

/* Clear the PTEs of the table that `upper` maps, hand each to fn, and free the table. Nobody else
   looks at the tables of a dying space: there is no lock to take, nothing to invalidate, and the
   marks and counts need not be kept. */
static inline __attribute__((always_inline)) void end_table(pte_t upper, end_fn *fn,
                                                            struct ending *d)
{
    const struct page *page = page_of(pte_pfn(upper));
    uint64_t left = page->aux;

    if (left)
        left = end_groups(pt_table(upper), page->groups, left, fn, d);
    KASSERT(left == 0, "what is nonzero in a table is marked");
    page_batch_add(&d->tables, pte_pfn(upper));
}

static void end_level3(pte_t upper, struct ending *d) { end_table(upper, end_page, d); }
static void end_level2(pte_t upper, struct ending *d) { end_table(upper, end_level3, d); }

void anon_end(struct aspace *as, const struct l1_set *used)
{
    pte_t *root = kseg_page(as->pt.root);
    struct ending d;

    page_batch_begin(&d.pages, PAGE_FREE);
    page_batch_begin(&d.tables, PAGE_ZEROED);
    for (unsigned k = 0; k < ARRAY_SIZE(used->bits); k++) {
        for (uint64_t bits = used->bits[k]; bits; bits &= bits - 1) {
            pte_t *l1 = root + k * 64 + bit_lowest(bits), upper = *l1;

            if (!pte_valid(upper))
                continue;
            pt_set(l1, 0);
            end_level2(upper, &d);
        }
    }
    page_batch_flush(&d.pages);
    as->pt.tables = 1; /* the root */
    pt_root_clear(&as->pt);
    page_batch_add(&d.tables, as->pt.root);
    page_batch_flush(&d.tables);
}

/* Change the protection of n pages of one table, and gather the addresses of those that change. */
static void protect_table_part(pte_t *p, vaddr_t va, uint64_t n, unsigned prot, struct tb_gather *g)
{
    for (uint64_t i = 0; i < n; i++, va += PAGE_SIZE) {
        pte_t old = p[i], now;
        bool write = pte_is_private(old) ? !(old & PTE_SW_COW) : (old & PTE_UWE) != 0;

        if (!pte_maps_page(va, old))
            continue;
        now = pte_make(pte_pfn(old), pt_user_bits(prot, write) |
                                         (old & PTE_SW_MASK & ~(PTE_SW_AGED | PTE_SW_LEAVE)));
        if (now == old)
            continue;
        pt_store(&p[i], now);
        tb_gather_va(g, va);
    }
}

#define PROTECT_PAGES 4096u /* changed at least, before a thread that is to end stops */

static vaddr_t anon_protect(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end,
                            unsigned prot)
{
    struct tb_gather g;
    uint64_t left = PROTECT_PAGES;
    vaddr_t va = start;

    tb_gather_begin(&g, &as->pt.loaded, TB_PROTECT);
    while ((va = pt_skip_holes(&as->pt, va, end)) < end && (left || !thread_killed())) {
        pte_t *p = pt_lookup(&as->pt, va, 3);
        uint64_t n = MIN(PTES_PER_PAGE - pte_l3_index(va), (end - va) >> PAGE_SHIFT);

        if (e->object) {
            ipl_t ipl;

            /* A step ends where a block does: no other thread may see a part of one changed. */
            n = MIN(n, ENTRY_STEP - pte_l3_index(va) % GH_SMALL);
            ipl = spin_lock(e->object->lock);
            protect_table_part(p, va, n, prot, &g);
            /* As in anon_unmap: a reverse walk does not flush a PTE that is read-only already. */
            tb_gather_invalidate(&g);
            spin_unlock(e->object->lock, ipl);
        } else {
            protect_table_part(p, va, n, prot, &g);
        }
        va += n << PAGE_SHIFT;
        left -= MIN(left, n);
    }
    tb_gather_flush(&g);
    return MIN(va, end);
}

static void __attribute__((noinline)) split_object(struct map_entry *e, struct map_entry *second,
                                                   vaddr_t va)
{
    break_across(e, va);
    object_split_entry(e, second);
}

static void anon_split(struct map_entry *e, struct map_entry *second, vaddr_t va)
{
    if (e->object)
        split_object(e, second, va);
}

const struct map_ops anon_ops = {
    .name = "anonymous",
    .fault = anon_fault,
    .unmap = anon_unmap,
    .fork = anon_fork,
    .protect = anon_protect,
    .split = anon_split,
    .populate = anon_populate,
};
