#include "mm/space/aspace_read.h"

#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/sched/thread.h"
#include "mm/object/object.h"
#include "mm/phys/page.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"

#define ROUNDS_MAX 16 /* give up on a page that is taken back faster than it is supplied */

bool aspace_view(struct aspace *as, vaddr_t from, struct mapping_view *v)
{
    const struct map_entry *e = NULL;

    mutex_lock_shared(&as->lock);
    if (from < LAYOUT_USER_TOP)
        e = aspace_first_in_locked(as, from, LAYOUT_USER_TOP);
    if (e)
        *v = (struct mapping_view){.start = e->start,
                                   .end = e->end,
                                   .offset = e->offset,
                                   .prot = e->prot,
                                   .shared = (e->flags & MAPF_SHARED) || e->smap,
                                   .stack = (e->flags & MAPF_GROWSDOWN) != 0,
                                   .section = e->smap != NULL,
                                   .huge = (e->flags & MAPF_HUGE) != 0,
                                   .object = e->object};
    if (e && e->object)
        object_ref(e->object);
    mutex_unlock_shared(&as->lock);
    return e != NULL;
}

/* What a PTE maps may be freed meanwhile, but its entry in the database stays readable. A section
 * may map frames that have no entry. */
static void count_page(const struct mapping_view *v, pte_t pte, struct mapping_pages *n)
{
    const struct page *page = v->section ? NULL : page_of(pte_pfn(pte));

    if (!page || page->type != PAGE_T_PROCESS)
        n->object++;
    else if (__atomic_load_n(&page->refcnt, __ATOMIC_RELAXED) > 1)
        n->forked++;
    else
        n->own++;
}

vaddr_t aspace_count(struct aspace *as, const struct mapping_view *v, vaddr_t va, vaddr_t end,
                     struct mapping_pages *n)
{
    mutex_lock_shared(&as->lock);
    for (unsigned k = 0; va < end && k < ASPACE_COUNT_MAX; k++) {
        const pte_t *p = pt_lookup(&as->pt, va, 3);
        uint64_t step = p ? PTE_L3_SPAN : pt_lookup(&as->pt, va, 2) ? PTE_L2_SPAN : PTE_L1_SPAN;

        if (p && pte_maps_page(va, pt_load(p)))
            count_page(v, pt_load(p), n);
        va = (va | (step - 1)) + 1;
    }
    mutex_unlock_shared(&as->lock);
    return MIN(va, end);
}

/*
 * Copy n bytes at va, if the page is present. A page frame may be given to somebody else as soon as
 * its PTE is cleared. Faults, which may replace a PTE, need the mutex; a pager or a truncation,
 * which needs no mutex, clears the PTE under page_table.lock. So with both held the frame stays.
 */
static bool copy_present(struct aspace *as, vaddr_t va, void *buf, size_t n)
{
    bool present;
    ipl_t ipl;

    mutex_lock(&as->lock);
    ipl = spin_lock(&as->pt.lock);
    const pte_t *p = pt_lookup(&as->pt, va & ~PAGE_MASK, 3);
    pte_t pte = p ? pt_load(p) : 0;
    present = pte_maps_page(va & ~PAGE_MASK, pte);
    if (present)
        memcpy(buf, (const uint8_t *)kseg_page(pte_pfn(pte)) + (va & PAGE_MASK), n);
    spin_unlock(&as->pt.lock, ipl);
    mutex_unlock(&as->lock);
    return present;
}

int aspace_read(struct aspace *as, vaddr_t va, void *buf, size_t n)
{
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        int err;

        if (copy_present(as, va, buf, n))
            return 0;
        err = aspace_populate(as, va & ~PAGE_MASK, PAGE_SIZE, false);
        if (err)
            return err;
    }
    return -EIO;
}

int aspace_check_mapped(struct aspace *as, vaddr_t va, uint64_t len, enum aspace_bar bar)
{
    vaddr_t end = va + len;
    int err = 0;

    mutex_lock_shared(&as->lock);
    while (va < end && !err) {
        const struct map_entry *e = aspace_lookup_locked(as, va);

        if (!e)
            err = -ENOMEM;
        else if (bar == ASPACE_PRIVATE_ANON && (e->ops != &anon_ops || e->object))
            err = -EINVAL;
        else if (thread_killed())
            err = -EINTR;
        else
            va = e->end;
    }
    mutex_unlock_shared(&as->lock);
    return err;
}

/* Is the page in memory: mapped, or a page of the object that a fault would find? Mutex held. */
static bool is_resident(struct aspace *as, const struct map_entry *e, vaddr_t va)
{
    const pte_t *p = pt_lookup(&as->pt, va, 3);
    pfn_t pfn;

    if (p && pte_maps_page(va, pt_load(p)))
        return true;
    if (!e->object)
        return false;
    pfn = object_page_try_get(e->object, (e->offset + (va - e->start)) >> PAGE_SHIFT);
    if (pfn_eq(pfn, PFN_NONE))
        return false;
    page_unref(pfn);
    return true;
}

int aspace_resident(struct aspace *as, vaddr_t va, unsigned npages, uint8_t *vec)
{
    int err = 0;

    mutex_lock_shared(&as->lock);
    for (unsigned k = 0; k < npages && !err; k++, va += PAGE_SIZE) {
        const struct map_entry *e = aspace_lookup_locked(as, va);

        if (e)
            vec[k] = is_resident(as, e, va);
        else
            err = -ENOMEM;
    }
    mutex_unlock_shared(&as->lock);
    return err;
}
