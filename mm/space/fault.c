/*
 * Page faults on user addresses, from user mode or from the kernel's accesses to user memory.
 *
 * The aspace mutex is held shared for the whole of a fault, so faults of several threads run in
 * parallel, and meanwhile the map and the regions do not change and no table is freed. The comment
 * at the top of mm/pt/pt.h says what two faults may do to one PTE at the same time. A fault that
 * has to wait for a pager drops the mutex first and looks everything up again afterwards.
 *
 * A fault that runs out of memory fails with -ENOMEM; the empty tables that it has created are
 * freed. A fault at raised IPL or with a spinlock held panics, by the checks of the mutex
 * (kernel/sched/mutex.h), because it might have to wait.
 */
#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/sched/mutex_inline.h"
#include "mm/phys/page_quick.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"
#include "mm/space/region_memory.h"

static inline bool access_allowed(unsigned prot, enum fault_access access)
{
    if (access == FAULT_WRITE)
        return (prot & MAP_W) != 0;
    return access == FAULT_EXEC ? (prot & MAP_X) != 0 : prot != 0;
}

/* Nothing is mapped at va: perhaps a region grows to it. -EAGAIN: it has; -EFAULT; -ENOMEM; -EINTR.
   Mutex held shared on entry and return, and dropped in between. */
static int outside(struct aspace *as, vaddr_t va)
{
    int err;

    if (va >= LAYOUT_USER_TOP || list_empty(&as->regions))
        return -EFAULT;
    mutex_unlock_shared(&as->lock);
    err = region_grow_to(as, va);
    mutex_lock_shared(&as->lock);
    return err ? err : -EAGAIN;
}

void aspace_prune(struct aspace *as, vaddr_t va, vaddr_t end)
{
    struct tb_gather g;

    if (mutex_lock_killable(&as->lock) != 0)
        return; /* they go with the mapping */
    tb_gather_begin(&g, &as->pt.loaded, TB_PTPAGE);
    pt_prune(&as->pt, va, end, &g);
    tb_gather_flush(&g);
    mutex_unlock(&as->lock);
}

int __attribute__((noinline)) aspace_fault_unlock(struct aspace *as, vaddr_t va,
                                                  enum fault_access access)
{
    int err;

    do {
        struct map_entry *e = aspace_entry_locked(as, va);

        if (unlikely(!e))
            err = outside(as, va);
        else if (unlikely(!access_allowed(e->prot, access)))
            err = -EACCES;
        else
            err = e->ops->fault(as, e, va, access);
    } while (err == -EAGAIN);
    mutex_unlock_shared(&as->lock);
    if (unlikely(err == -ENOMEM))
        aspace_prune(as, va, va + PAGE_SIZE); /* free the tables that were created for it */
    count_add(&as->counts.faults, 1);
    return err;
}

static int __attribute__((noinline)) fault_wait(struct aspace *as, vaddr_t va,
                                                enum fault_access access)
{
    int err = mutex_lock_shared_killable(&as->lock);

    return err ? err : aspace_fault_unlock(as, va, access);
}

/* ---- writes to private memory ---- */

/*
 * First writes make a program's memory, and are nearly all of its faults. The functions below do
 * what aspace_fault_unlock() and private_fault() of mm/space/anon.c do, as long as nothing is in
 * the way: the entry and the table are those of the fault before, the PTE is empty, there is a
 * page. They are one leaf function: without calls it stores no registers, and what the steps have
 * in common is computed once. Where something is missing, the rest is a jump to a function that
 * does all of it, or goes on.
 */

/* Not in line, as a call would make the caller store registers. */
int __attribute__((noinline)) aspace_fault_release(struct aspace *as)
{
    mutex_unlock_shared(&as->lock);
    return 0;
}

/* Another thread has mapped a page there meanwhile. */
static int __attribute__((noinline)) lose_unlock(struct aspace *as, uint64_t n)
{
    page_free_zeroed(pfn_of(n));
    count_add(&as->counts.faults, 1);
    return aspace_fault_release(as);
}

/* Map page n, which is new and zero, by the empty PTE p of `table`. */
static inline __attribute__((always_inline)) int
map_unlock(struct aspace *as, const struct map_entry *e, struct page *table, pte_t *p, uint64_t n)
{
    pte_t bits = e->prot & MAP_X ? pt_user_bits(MAP_R | MAP_W | MAP_X, true)
                                 : pt_user_bits(MAP_R | MAP_W, true);

    if (unlikely(!pt_install_in(table, p, pte_make(pfn_of(n), bits))))
        return lose_unlock(as, n);
    page_table_add_rss(&as->pt, 1);
    count_add(&as->counts.demand_zero, 1);
    count_add(&as->counts.faults, 1);
    return likely(mutex_quick_unlock_shared(&as->lock)) ? 0 : aspace_fault_release(as);
}

/* The CPU has no page that is zero already. */
static int __attribute__((noinline)) zero_unlock(struct aspace *as, const struct map_entry *e,
                                                 struct page *table, pte_t *p, uint32_t charge)
{
    uint64_t n = page_take_zeroed(PAGE_T_PROCESS, as->pt.home_rad, charge, kseg_paddr(p).a);

    return map_unlock(as, e, table, p, n);
}

/* Is it private memory without an object, and not a stack, and may it be written? */
static inline bool is_plain(const struct map_entry *e)
{
    return e->ops == &anon_ops && !e->object && !(e->flags & MAPF_GROWSDOWN) && (e->prot & MAP_W);
}

/* The PTE p of va is not empty: a page is to be copied, or is valid already. No table was made for
   it, so none is to be freed where there is no memory. */
static int __attribute__((noinline)) present_unlock(struct aspace *as, struct map_entry *e,
                                                    vaddr_t va, pte_t *p)
{
    pte_t old = pt_load(p);
    int err;

    if (unlikely(!pte_maps_page(va, old)))
        return aspace_fault_unlock(as, va, FAULT_WRITE);
    err = anon_fault_present(as, e, va, p, old, true);
    count_add(&as->counts.faults, 1);
    if (unlikely(!mutex_quick_unlock_shared(&as->lock)))
        aspace_fault_release(as);
    return err;
}

int aspace_fault(struct aspace *as, vaddr_t va, enum fault_access access)
{
    struct map_entry *e;
    struct page *table;
    uint32_t charge;
    uint64_t n;
    pte_t *p;

    va &= ~PAGE_MASK;
    if (unlikely(!mutex_quick_lock_shared(&as->lock)))
        return fault_wait(as, va, access);
    e = aspace_hinted(as, va);
    if (!e)
        return aspace_fault_unlock(as, va, access);
    if (access != FAULT_WRITE || !is_plain(e))
        return __atomic_load_n(&e->fresh, __ATOMIC_RELAXED) ? object_first_unlock(as, e, va, access)
                                                            : aspace_fault_unlock(as, va, access);
    p = pt_recent(&as->pt, va, &table);
    if (!p)
        return aspace_fault_unlock(as, va, access);
    if (__atomic_load_n(p, __ATOMIC_RELAXED) != 0)
        return present_unlock(as, e, va, p);
    if (!page_quick_charge(&charge))
        return aspace_fault_unlock(as, va, access);
    n = page_quick_zeroed(as->pt.home_rad);
    if (n == 0)
        return zero_unlock(as, e, table, p, charge);
    page_entry_fresh(n, PAGE_T_PROCESS, charge, kseg_paddr(p).a);
    return map_unlock(as, e, table, p, n);
}
