/*
 * Pinned pages (pin.h).
 *
 * A page is pinned with the mutex held shared, when its PTE allows writing: then this PTE is the
 * only one, no fault changes it, and only who holds the mutex exclusively takes it away.
 */
#include "mm/space/pin.h"

#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/sched/mutex_inline.h"
#include "kernel/sched/thread.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"

#define ROUNDS_MAX 16u /* give up on a page that others make read-only again and again */

struct aspace *(*aspace_self)(void);

/* A reference, and that it is a pin, in one atomic step. */
#define PIN (UINT64_C(1) << 32 | 1)

void page_unpin(pfn_t pfn)
{
    uint32_t refs = (uint32_t)__atomic_fetch_sub(&page_of(pfn)->both, PIN, __ATOMIC_RELEASE);

    if (unlikely(refs <= 1))
        page_unref_last(pfn, refs);
}

static inline __attribute__((always_inline)) void pin(struct page *p)
{
    uint32_t refs = (uint32_t)__atomic_fetch_add(&p->both, PIN, __ATOMIC_RELAXED);

    KASSERT(refs + 1 > 1, "a pin is made from a reference, and their count fits");
}

void page_pin_again(pfn_t pfn) { pin(page_of(pfn)); }

/* Pin the page of va. 0; -EAGAIN: a write fault has to supply it first; otherwise as aspace_pin.
   Mutex held shared. */
static inline __attribute__((always_inline)) int pin_one(struct aspace *as, vaddr_t va, pfn_t *page)
{
    const struct map_entry *e = aspace_entry_locked(as, va);
    struct page *table, *of;
    const pte_t *p;
    pte_t pte;

    if (!e)
        return -EAGAIN; /* the fault may let a region grow */
    if (e->ops != &anon_ops || (e->flags & (MAPF_SHARED | MAPF_HUGE)) || !(e->prot & MAP_W))
        return -EOPNOTSUPP;
    p = pt_recent(&as->pt, va, &table);
    if (unlikely(!p))
        p = pt_lookup(&as->pt, va, 3);
    pte = p ? pt_load(p) : 0;
    if (!pte_maps_page(va, pte) || !pte_is_private(pte) || !(pte & PTE_UWE))
        return -EAGAIN;
    *page = pte_pfn(pte);
    of = page_of(*page);
    pin(of);
    __atomic_store_n(&of->soon, PAGE_PINNED, __ATOMIC_RELAXED);
    return 0;
}

/* Pin all pages, or none. *va: where it has failed. As pin_one. */
static int pin_all(struct aspace *as, vaddr_t *va, unsigned n, pfn_t *page)
{
    int err = mutex_lock_shared_killable(&as->lock);
    unsigned done = 0;

    if (err)
        return err;
    while (done < n && !err) {
        err = *va < LAYOUT_USER_TOP ? pin_one(as, *va, &page[done]) : -EFAULT;
        if (!err) {
            done++;
            *va += PAGE_SIZE;
        }
    }
    mutex_unlock_shared(&as->lock);
    while (err && done--)
        page_unpin(page[done]);
    return err;
}

static int __attribute__((noinline)) pin_range(struct aspace *as, vaddr_t va, unsigned n,
                                               pfn_t *page)
{
    int err = -EAGAIN;

    for (unsigned round = 0; round < n + ROUNDS_MAX && err == -EAGAIN; round++) {
        vaddr_t at = va & ~PAGE_MASK;

        err = pin_all(as, &at, n, page);
        /* The fault may wait: meanwhile nothing is pinned that the self-check does not know. */
        if (err == -EAGAIN && thread_self()->no_faults)
            break;
        if (err == -EAGAIN) {
            err = aspace_fault(as, at, FAULT_WRITE);
            err = err ? err : -EAGAIN;
        }
    }
    return !err || err == -ENOMEM || err == -EINTR || err == -EOPNOTSUPP ? err : -EFAULT;
}

int aspace_pin(struct aspace *as, vaddr_t va, unsigned n, pfn_t *page)
{
    int err = -EAGAIN;

    /* Mostly it is one page, which is there. */
    if (n == 1 && va < LAYOUT_USER_TOP && mutex_quick_lock_shared(&as->lock)) {
        err = pin_one(as, va & ~PAGE_MASK, page);
        mutex_unlock_shared_inline(&as->lock);
    }
    return likely(!err) ? 0 : pin_range(as, va, n, page);
}
