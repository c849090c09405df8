#include "mm/space/aspace_read.h"

#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/base/list.h"
#include "kernel/base/string.h"
#include "kernel/sched/spinlock.h"
#include "kernel/sched/thread.h"
#include "mm/object/object.h"
#include "mm/phys/page.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"
#include "mm/space/pin.h"

#define ROUNDS_MAX 16 /* give up on a page that is taken back faster than it is supplied */

static struct list visits = LIST_INIT(visits); /* visits_lock */
static struct spinlock visits_lock = SPINLOCK_INIT("visits", RANK_QUOTA, IPL_ASTDEL);

void aspace_visit_begin(struct aspace_visit *v, struct aspace *as)
{
    ipl_t ipl = spin_lock(&visits_lock);

    v->as = as;
    list_add_tail(&visits, &v->link);
    spin_unlock(&visits_lock, ipl);
}

void aspace_visit_end(struct aspace_visit *v)
{
    ipl_t ipl = spin_lock(&visits_lock);

    list_remove(&v->link);
    spin_unlock(&visits_lock, ipl);
}

void aspace_visits(void (*fn)(void *arg, struct aspace *as), void *arg)
{
    struct aspace_visit *v;

    list_for_each_entry(v, &visits, link)
        fn(arg, v->as);
}

bool aspace_view(struct aspace *as, vaddr_t from, struct mapping_view *v)
{
    const struct map_entry *e = NULL;

    if (mutex_lock_shared_killable(&as->lock) != 0)
        return false;
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

/* How many PTEs map a private page: its references but for those of pins. Both counts are loaded at
 * once, since pins come and go without the mutex of the space that maps it. */
static uint32_t users_of(pfn_t pfn)
{
    uint64_t both = __atomic_load_n(&page_of(pfn)->both, __ATOMIC_ACQUIRE);

    return (uint32_t)both - (uint32_t)(both >> 32);
}

/* How many mappings share the page that the PTE maps. It may be freed meanwhile, but its entry in
 * the database stays readable. */
static uint64_t sharers_of(const struct map_entry *e, pte_t pte)
{
    if (e->ops->sharers)
        return e->ops->sharers(e, pte);
    return e->object && !pte_is_private(pte) ? object_mappers(e->object) : users_of(pte_pfn(pte));
}

/* Count what the PTE maps, of huge pages all that lies under its hint. Returns its bytes. */
static uint64_t count_page(const struct map_entry *e, pte_t pte, struct mapping_pages *n)
{
    bool huge = (e->flags & MAPF_HUGE) != 0;
    uint64_t npages = huge ? pte_gh_pages(pte_gh(pte)) : 1;
    uint64_t sharers = MAX(sharers_of(e, pte), 1u);

    if (pfn_eq(pte_pfn(pte), page_zeroes)) /* takes no memory of this process */
        return PAGE_SIZE;
    if (huge)
        *(sharers > 1 ? &n->huge_shared : &n->huge_own) += npages;
    else if (e->object && !pte_is_private(pte))
        n->object++;
    else if (e->smap)
        n->object++;
    else if (sharers > 1)
        n->forked++;
    else
        n->own++;
    if (!huge)
        n->share_bytes += PAGE_SIZE / sharers;
    return npages * PAGE_SIZE;
}

vaddr_t aspace_count(struct aspace *as, const struct mapping_view *v, vaddr_t va, vaddr_t end,
                     struct mapping_pages *n)
{
    const struct map_entry *e;

    if (mutex_lock_shared_killable(&as->lock) != 0)
        return end;
    e = aspace_lookup_locked(as, va);
    if (!e || e->end < end || ((e->flags & MAPF_HUGE) != 0) != v->huge)
        va = end; /* it has changed since it was looked at */
    for (unsigned k = 0; va < end && k < ASPACE_COUNT_MAX; k++) {
        const pte_t *p = pt_lookup(&as->pt, va, 3);
        uint64_t step = p ? PTE_L3_SPAN : pt_lookup(&as->pt, va, 2) ? PTE_L2_SPAN : PTE_L1_SPAN;

        if (p && pte_maps_page(va, pt_load(p)))
            step = count_page(e, pt_load(p), n);
        va = (va | (step - 1)) + 1;
    }
    mutex_unlock_shared(&as->lock);
    return MIN(va, end);
}

/*
 * May the page that the PTE maps be written here? If the PTE allows it, yes. If not, it must be a
 * private page that no other PTE maps: with the mutex held exclusively no fork of this space gives
 * it another user, and who has no reference to it cannot give one away. Nor may it be on its way to
 * a page file, which would get the old contents, or have got them: then the pager has the only pin.
 */
static bool may_write(pte_t pte)
{
    if (pte & PTE_UWE)
        return true;
    return pte_is_private(pte) && !(pte & PTE_SW_AGED) && users_of(pte_pfn(pte)) == 1 &&
           (__atomic_load_n(&page_of(pte_pfn(pte))->share, __ATOMIC_RELAXED) == 0 ||
            page_of(pte_pfn(pte))->soon == PAGE_PINNED);
}

/*
 * Copy n bytes at va to `to`, or from `from` to there (the other is NULL), if the page is present,
 * and may be written if it is to be. 0, -EAGAIN: it is not, -EIO or -EINTR. A page frame may be
 * given to somebody else as soon as its PTE is cleared. Faults, which may replace a PTE, need the
 * mutex; a pager or a truncation, which needs no mutex, clears the PTE under page_table.lock. So
 * with both held the frame stays.
 */
static int copy_present(struct aspace *as, vaddr_t va, void *to, const void *from, size_t n)
{
    int err = mutex_lock_killable(&as->lock);
    ipl_t ipl;

    if (err)
        return err;
    ipl = spin_lock(&as->pt.lock);
    const pte_t *p = pt_lookup(&as->pt, va & ~PAGE_MASK, 3);
    pte_t pte = p ? pt_load(p) : 0;
    if (!pte_maps_page(va & ~PAGE_MASK, pte)) {
        err = -EAGAIN;
    } else if (!page_is_ram(pte_pfn(pte))) {
        err = -EIO; /* the bus, where a read may have an effect */
    } else if (from && !may_write(pte)) {
        err = -EAGAIN;
    } else {
        uint8_t *at = (uint8_t *)kseg_page(pte_pfn(pte)) + (va & PAGE_MASK);

        memcpy(from ? at : to, from ? from : at, n);
    }
    spin_unlock(&as->pt.lock, ipl);
    mutex_unlock(&as->lock);
    return err;
}

int aspace_read(struct aspace *as, vaddr_t va, void *buf, size_t n)
{
    struct aspace_visit visit;

    if (va >= LAYOUT_USER_TOP || n > LAYOUT_USER_TOP - va)
        return -EFAULT;
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        int err = copy_present(as, va, buf, NULL, n);

        if (err != -EAGAIN)
            return err;
        aspace_visit_begin(&visit, as);
        err = aspace_populate(as, va & ~PAGE_MASK, PAGE_SIZE, false);
        aspace_visit_end(&visit);
        if (err)
            return err;
    }
    return -EIO;
}

/* Make the page at va one that may be written: as a write fault would, whatever the protection if
 * the mapping is private and `forced`. 0 or an error as for aspace_write. */
static int make_writable(struct aspace *as, vaddr_t va, bool forced)
{
    int err = mutex_lock_shared_killable(&as->lock);

    if (err)
        return err;
    do {
        struct map_entry *e = aspace_lookup_locked(as, va);

        if (!e)
            err = -EFAULT;
        else if (!(e->prot & MAP_W) && (!forced || e->smap || (e->flags & MAPF_SHARED)))
            err = -EACCES;
        else if (e->flags & MAPF_HUGE && !(e->prot & MAP_W))
            err = -EACCES; /* their pages are not copied one at a time */
        else
            err = e->ops->fault(as, e, va, FAULT_WRITE);
        if (thread_killed())
            err = -EINTR;
    } while (err == -EAGAIN);
    mutex_unlock_shared(&as->lock);
    return err;
}

int aspace_write(struct aspace *as, vaddr_t va, const void *buf, size_t n, bool forced)
{
    struct aspace_visit visit;

    if (va >= LAYOUT_USER_TOP)
        return -EFAULT;
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        int err;

        aspace_visit_begin(&visit, as);
        err = make_writable(as, va & ~PAGE_MASK, forced);
        aspace_visit_end(&visit);
        if (!err)
            err = copy_present(as, va, NULL, buf, n);
        if (err != -EAGAIN)
            return err;
    }
    return -EIO;
}

int aspace_check_mapped(struct aspace *as, vaddr_t va, uint64_t len, enum aspace_bar bar)
{
    vaddr_t end = va + len;
    int err = mutex_lock_shared_killable(&as->lock);

    if (err)
        return err;
    while (va < end && !err) {
        const struct map_entry *e = aspace_lookup_locked(as, va);

        if (!e)
            err = -ENOMEM;
        else if (bar == ASPACE_PRIVATE_ANON && (e->ops != &anon_ops || e->object))
            err = -EINVAL;
        else if (bar == ASPACE_UNLOCKED && e->locked)
            err = -EBUSY;
        else if (thread_killed())
            err = -EINTR;
        else
            va = e->end;
    }
    mutex_unlock_shared(&as->lock);
    return err;
}

/* The object of the shared mapping at va, held, and its pages up to `end`; NULL: the mapping there
   needs no writing back. *next: where the mapping ends; 0: there is none. */
static struct mm_object *object_at(struct aspace *as, vaddr_t va, vaddr_t end, vaddr_t *next,
                                   uint64_t *first, uint64_t *n)
{
    struct mm_object *o = NULL;
    const struct map_entry *e;

    *next = 0;
    if (mutex_lock_shared_killable(&as->lock) != 0)
        return NULL;
    e = aspace_lookup_locked(as, va);
    *next = e ? e->end : 0;
    if (e && (e->flags & MAPF_SHARED) && e->object && object_pager(e->object) &&
        object_pager(e->object)->sync) {
        o = e->object;
        object_hold(o);
        *first = (e->offset + (va - e->start)) >> PAGE_SHIFT;
        *n = (MIN(end, e->end) - va) >> PAGE_SHIFT;
    }
    mutex_unlock_shared(&as->lock);
    return o;
}

int aspace_sync(struct aspace *as, vaddr_t va, uint64_t len)
{
    vaddr_t end = va + len, next;
    uint64_t first, n;
    int err = 0;

    for (; va < end; va = next) {
        struct mm_object *o = object_at(as, va, end, &next, &first, &n);

        if (!next)
            return thread_killed() ? -EINTR : -ENOMEM;
        if (o) {
            int failed = object_pager(o)->sync(o, first, n);

            object_drop(o);
            err = err ? err : failed;
        }
        if (thread_killed())
            return -EINTR;
    }
    return err;
}

/* Is the page in memory: mapped, or a page of the object that a fault would find? Mutex held. */
static bool is_resident(struct aspace *as, const struct map_entry *e, vaddr_t va)
{
    const pte_t *p = pt_lookup(&as->pt, va, 3);

    if (p && pte_maps_page(va, pt_load(p)))
        return true;
    return e->object &&
           object_page_is_there(e->object, (e->offset + (va - e->start)) >> PAGE_SHIFT);
}

int aspace_resident(struct aspace *as, vaddr_t va, unsigned npages, uint8_t *vec)
{
    int err = mutex_lock_shared_killable(&as->lock);

    if (err)
        return err;
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
