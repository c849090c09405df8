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
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"
#include "mm/space/region_memory.h"

static inline bool access_allowed(unsigned prot, enum fault_access access)
{
    if (access == FAULT_WRITE)
        return (prot & MAP_W) != 0;
    return access == FAULT_EXEC ? (prot & MAP_X) != 0 : prot != 0;
}

static inline struct map_entry *lookup_hinted(struct aspace *as, vaddr_t va)
{
    struct map_entry *e = __atomic_load_n(&as->hint, __ATOMIC_ACQUIRE);

    if (likely(e && va >= e->start && va < e->end))
        return e;
    e = aspace_lookup_locked(as, va);
    if (e)
        __atomic_store_n(&as->hint, e, __ATOMIC_RELEASE);
    return e;
}

/* Nothing is mapped at va: perhaps a region grows to it. -EAGAIN: it has; -EFAULT; -ENOMEM; -EINTR.
   Mutex held shared on entry and return, and dropped in between. */
static int outside(struct aspace *as, vaddr_t va)
{
    int err;

    if (list_empty(&as->regions))
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

int aspace_fault(struct aspace *as, vaddr_t va, enum fault_access access)
{
    int err;

    va &= ~PAGE_MASK;
    if (unlikely(va >= LAYOUT_USER_TOP))
        return -EFAULT;
    if (unlikely((err = mutex_lock_shared_killable(&as->lock)) != 0))
        return err;
    do {
        struct map_entry *e = lookup_hinted(as, va);

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
