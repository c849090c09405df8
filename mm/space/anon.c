/*
 * Anonymous memory and mapped objects: faults on private memory that no fork has shared, and the
 * operations unmap, protect and split of all such entries. Faults on entries with an object are in
 * mm/space/object_fault.c.
 *
 * An entry without an object is private memory that no fork has shared. Its pages belong to their
 * PTEs (the PFN database holds the PTE's physical address), a fault installs a zero page with one
 * compare-and-swap, and unmapping frees the pages that the PTEs map. An entry with an object maps
 * the pages of the object and of its chain of shadows (mm/object/object.c).
 *
 * Locks: faults hold the aspace mutex shared, all other operations hold it exclusively. The PTEs of
 * an entry with an object are written under the family's lock, held for one table at a time.
 *
 * A fault fails with -ENOMEM when no table or page can be allocated. Unmapping, protection and
 * splitting allocate nothing and cannot fail.
 */
#include "arch/alpha/hw/tb.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "mm/object/object_pages.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"

#define BATCH_PAGES 32u /* pages allocated at once */

/* ---- stacks ---- */

/* Record in e->low that the stack has been used down to va. False: va is in the guard page, which
   is the lowest page of the entry. */
static bool stack_touch(struct aspace *as, struct map_entry *e, vaddr_t va)
{
    vaddr_t low;

    if (va < e->start + PAGE_SIZE)
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

/* ---- entries without an object ---- */

static int private_fault(struct aspace *as, struct map_entry *e, vaddr_t va)
{
    pte_t *p = pt_create(&as->pt, va, 3);
    pfn_t pfn;

    if (unlikely(!p))
        return -ENOMEM;
    if (unlikely(pte_maps_page(va, pt_load(p)))) {
        /* Another thread has mapped the page, or this CPU's translation is older than an mprotect
           that gave more access. */
        tb_invalidate_single(va);
        return 0;
    }
    if (unlikely(page_alloc(PA_ZERO, PAGE_T_PROCESS, as->pt.home_rad, &pfn) != 0))
        return -ENOMEM;
    page_of(pfn)->owner = kseg_paddr(p).a;
    if (unlikely(!pt_cas(p, 0, pte_make(pfn, pt_user_bits(e->prot, true))))) {
        page_free(pfn);
        return 0;
    }
    count_add(&as->counts.demand_zero, 1);
    count_rss(as, 1);
    return 0;
}

/* Map zero pages at the empty ones of n PTEs of one table. p: PTE of va. */
static int private_populate_batch(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va,
                                  unsigned n)
{
    pfn_t pfns[BATCH_PAGES];
    pte_t bits = pt_user_bits(e->prot, true);
    unsigned want = 0, used = 0, installed = 0;

    for (unsigned i = 0; i < n; i++)
        want += !pte_maps_page(va + i * PAGE_SIZE, p[i]);
    if (want == 0)
        return 0;
    if (page_alloc_bulk(PA_ZERO, PAGE_T_PROCESS, as->pt.home_rad, pfns, want) != 0)
        return -ENOMEM;
    for (unsigned i = 0; i < n && used < want; i++) {
        pte_t none = 0;

        if (pte_maps_page(va + i * PAGE_SIZE, pt_load(&p[i])))
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
    count_rss(as, installed);
    return 0;
}

static int private_populate(struct aspace *as, struct map_entry *e, vaddr_t va, vaddr_t end)
{
    while (va < end) {
        pte_t *p = pt_create(&as->pt, va, 3);
        uint64_t n = MIN(PTES_PER_PAGE - pte_l3_index(va), (end - va) >> PAGE_SHIFT);
        int err;

        if (!p)
            return -ENOMEM;
        n = MIN(n, BATCH_PAGES);
        err = private_populate_batch(as, e, p, va, (unsigned)n);
        if (err)
            return err;
        va += n << PAGE_SHIFT;
    }
    return 0;
}

/* ---- operations of the map ---- */

static int anon_fault(struct aspace *as, struct map_entry *e, vaddr_t va, enum fault_access access)
{
    if (unlikely(e->flags & MAPF_GROWSDOWN) && !stack_touch(as, e, va))
        return -EFAULT;
    if (!e->obj_lock)
        return private_fault(as, e, va);
    return object_fault(as, e, va, access == FAULT_WRITE);
}

static int anon_populate(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    if (e->flags & MAPF_GROWSDOWN) {
        start = MAX(start, e->start + PAGE_SIZE);
        if (start >= end || !stack_touch(as, e, start))
            return 0;
    }
    return e->obj_lock ? object_populate(as, e, start, end) : private_populate(as, e, start, end);
}

/* First page of the entry that can have a PTE. */
static vaddr_t first_touched(const struct map_entry *e)
{
    return e->flags & MAPF_GROWSDOWN ? MAX(e->low, e->start) & ~PAGE_MASK : e->start;
}

/* Clear the PTEs of n pages of one table and add the pages to the gather if the PTEs own them.
   Returns the number of valid PTEs cleared. */
static unsigned clear_table_part(pte_t *p, vaddr_t va, uint64_t n, struct tb_gather *g, bool own)
{
    uint32_t left = __atomic_load_n(&pt_page_of(p)->aux, __ATOMIC_RELAXED);
    unsigned cleared = 0;

    for (uint64_t i = 0; i < n && left; i++) {
        pte_t pte = p[i];

        if (!pte_maps_page(va + (i << PAGE_SHIFT), pte))
            continue;
        __atomic_store_n(&p[i], 0, __ATOMIC_RELAXED);
        left--;
        cleared++;
        tb_gather_va(g, va + (i << PAGE_SHIFT));
        if (own)
            tb_gather_page(g, pte_pfn(pte));
    }
    if (cleared)
        pt_count(p, -(int)cleared);
    return cleared;
}

static int anon_unmap(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    struct tb_gather g;
    uint64_t cleared = 0;
    vaddr_t va = MAX(start, first_touched(e));

    tb_gather_begin(&g, &as->pt.loaded, TB_UNMAP);
    while ((va = pt_skip_holes(&as->pt, va, end)) < end) {
        pte_t *p = pt_lookup(&as->pt, va, 3);
        uint64_t n = MIN(PTES_PER_PAGE - pte_l3_index(va), (end - va) >> PAGE_SHIFT);

        if (e->obj_lock) {
            ipl_t ipl = spin_lock(e->obj_lock);

            cleared += clear_table_part(p, va, n, &g, false);
            /* Flush before the lock is dropped: after that, a reverse walk finds no PTE here, and
               its caller frees the page. */
            if (!as->pt.dying)
                tb_gather_flush(&g);
            spin_unlock(e->obj_lock, ipl);
        } else {
            cleared += clear_table_part(p, va, n, &g, true);
        }
        va += n << PAGE_SHIFT;
    }
    if (cleared)
        __atomic_fetch_sub(&as->pt.rss, cleared, __ATOMIC_RELAXED);
    pt_prune(&as->pt, start, end, &g);
    if (as->pt.dying)
        g.nvas = 0; /* no CPU has the root loaded: there is nothing to invalidate */
    tb_gather_flush(&g);
    return 0;
}

static void anon_protect(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end,
                         unsigned prot)
{
    struct tb_gather g;
    vaddr_t va = start;
    ipl_t ipl = IPL_NONE;

    tb_gather_begin(&g, &as->pt.loaded, TB_PROTECT);
    while ((va = pt_skip_holes(&as->pt, va, end)) < end) {
        pte_t *p = pt_lookup(&as->pt, va, 3);
        uint64_t n = MIN(PTES_PER_PAGE - pte_l3_index(va), (end - va) >> PAGE_SHIFT);

        if (e->obj_lock)
            ipl = spin_lock(e->obj_lock);
        for (uint64_t i = 0; i < n; i++, va += PAGE_SIZE) {
            pte_t old = p[i], now;
            bool write = !e->obj_lock || (old & PTE_UWE);

            if (!pte_maps_page(va, old))
                continue;
            now = pte_make(pte_pfn(old), pt_user_bits(prot, write) | (old & PTE_SW_MASK));
            if (now == old)
                continue;
            pt_store(&p[i], now);
            tb_gather_va(&g, va);
        }
        if (e->obj_lock) {
            /* As in anon_unmap: a reverse walk does not flush a PTE that is read-only already. */
            tb_gather_flush(&g);
            spin_unlock(e->obj_lock, ipl);
        }
    }
    tb_gather_flush(&g);
}

static void anon_split(struct map_entry *e, struct map_entry *second, vaddr_t va)
{
    ipl_t ipl;

    (void)va;
    if (!e->obj_lock)
        return;
    ipl = spin_lock(e->obj_lock);
    second->needs_copy = e->needs_copy;
    second->offset = e->offset + (second->start - e->start);
    object_attach_entry_locked(e->object, second);
    spin_unlock(e->obj_lock, ipl);
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
