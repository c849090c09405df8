/*
 * Private pages that come back from a page file, and those that turn out to be in use still.
 *
 * A fault on a PTE that has a slot reads the slot, and those that follow it if the PTEs behind have
 * them too, without any lock: the slots are held meanwhile (mm/pagefile), the mutex of the address
 * space is not. Then the mutex is taken again, and each PTE that still has its slot is changed by
 * compare-and-swap to map the page. It may have moved or been copied in between: a slot has the
 * contents of whichever PTE has the slot. If the PTE has changed, the page is freed.
 *
 *     thread 1                    thread 2                     PTE          slot
 *     faults, holds the slot                                   slot 7       2
 *     reads                       faults, holds the slot       slot 7       3
 *                                 reads, maps its page         page B       2 (of thread 1, 2)
 *     PTE has changed:                                         page B       0
 *     frees its page
 *
 * So two threads that fault on a page at the same time read it twice, and so do two processes that
 * share a slot after a fork: each gets a page of its own, which it may write. The pages that were
 * read beyond the one that was asked for are mapped without access, as those that were not used for
 * a while (page_out.c): if they are not used before the pager comes by, they go again.
 *
 * Out of memory: the fault fails, and the trap waits for the pager before it tries again or gives
 * up (kernel/proc/oom.c). A slot that cannot be read gives -EIO, and the thread SIGBUS.
 */
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/tb.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "mm/pagefile/pagefile.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_page.h"
#include "mm/space/aspace_private.h"

/* Pages read at once, if memory is not short: the seek is shared, but of pages that nobody asked
   for each takes memory and a copy to the page file. */
#define READ_AT_ONCE 8u

int anon_fault_aged(struct aspace *as, struct map_entry *e, vaddr_t va, pte_t *p, pte_t old)
{
    pte_t now = pte_make(pte_pfn(old),
                         pt_user_bits(e->prot, !(old & PTE_SW_COW)) | (old & PTE_SW_COW));

    /* If it has changed meanwhile, the access is tried again anyway. */
    (void)__atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    tb_invalidate_single(va);
    count_add(&as->counts.aged, 1);
    return 0;
}

/* Slots in a row that are held, for the pages from va on. */
struct reading {
    vaddr_t va;
    pagefile_slot_t slot;
    unsigned n;
};

/* Hold the slot that the PTE p has, if it is `slot`. */
static bool hold(const pte_t *p, pagefile_slot_t slot)
{
    bool held;

    if (pt_load(p) != pte_paged_out(slot))
        return false;
    held = pagefile_hold(slot);
    if (pt_load(p) == pte_paged_out(slot)) {
        if (unlikely(!held))
            pagefile_expect(slot);
        return held;
    }
    if (held)
        pagefile_release(slot); /* of another page by now */
    return false;
}

/* How many pages of e from va on may be read at once. */
static unsigned at_once(const struct map_entry *e, vaddr_t va)
{
    uint64_t n = MIN((e->end - va) >> PAGE_SHIFT, PTES_PER_PAGE - pte_l3_index(va));

    if (pagefile_memory_is_short())
        return 1;
    return (unsigned)MIN(n, (uint64_t)READ_AT_ONCE);
}

/* The PTE of va, which lies in e if anywhere, if it has this slot; else NULL. Mutex shared. */
static pte_t *find_slot(struct aspace *as, const struct map_entry *e, vaddr_t va,
                        pagefile_slot_t slot)
{
    pte_t *p = e && e->ops == &anon_ops && !e->object ? pt_lookup(&as->pt, va, 3) : NULL;

    return p && pt_load(p) == pte_paged_out(slot) ? p : NULL;
}

/* Map a page that was read from the slot at va, if the PTE of va still has it. aged: nobody has
   asked for it. False: it has changed. Mutex shared. */
static bool map_read(struct aspace *as, vaddr_t va, pagefile_slot_t slot, pfn_t pfn, bool aged)
{
    const struct map_entry *e = aspace_lookup_locked(as, va);
    pte_t *p = find_slot(as, e, va, slot), old = pte_paged_out(slot), bits;
    struct page *page = page_of(pfn);

    if (!p)
        return false;
    bits = pt_user_bits(e->prot, true);
    if (aged && !e->locked)
        bits = pt_user_bits(0, false) | PTE_SW_AGED;
    page->type = PAGE_T_PROCESS;
    page->owner = kseg_paddr(p).a;
    if (!__atomic_compare_exchange_n(p, &old, pte_make(pfn, bits), false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED)) {
        page->type = PAGE_T_SYSTEM;
        page->owner = 0;
        return false;
    }
    pagefile_charge_page(slot, &page->charge);
    pagefile_drop(slot);
    __atomic_fetch_sub(&as->pt.paged_out, 1, __ATOMIC_RELAXED);
    page_table_add_rss(&as->pt, 1);
    return true;
}

/* Read the slots and map the pages. Mutex not held before; shared afterwards. */
static int read_and_map(struct aspace *as, struct reading *r)
{
    pfn_t pages[READ_AT_ONCE];
    unsigned n = r->n;
    int err = pagefile_may_read(r->slot, n) ? pagefile_read(r->slot, n, pages) : -ENOMEM;

    if (err && n > 1) { /* the error, or the shortage, may be that of the others */
        n = 1;
        err = pagefile_may_read(r->slot, n) ? pagefile_read(r->slot, n, pages) : -ENOMEM;
    }
    mutex_lock_shared(&as->lock);
    if (err == -EIO && !find_slot(as, aspace_lookup_locked(as, r->va), r->va, r->slot))
        return -EAGAIN; /* nobody needs it there any more */
    if (err)
        return err;
    for (unsigned k = 0; k < n; k++)
        if (!map_read(as, r->va + k * PAGE_SIZE, r->slot + k, pages[k], k > 0))
            page_free(pages[k]);
    return 0;
}

int anon_page_in(struct aspace *as, struct map_entry *e, vaddr_t va, pte_t *p, pte_t pte)
{
    struct reading r = {.va = va, .slot = pte_slot(pte)};
    unsigned most = at_once(e, va);
    int err;

    pte_must_be_paged_out(va, pte);
    while (r.n < most && hold(p + r.n, r.slot + r.n))
        r.n++;
    if (r.n == 0)
        return -EAGAIN; /* the PTE has changed */
    mutex_unlock_shared(&as->lock);
    count_add(&as->counts.page_file, 1);
    err = read_and_map(as, &r);
    for (unsigned k = 0; k < r.n; k++)
        pagefile_release(r.slot + k);
    return err;
}

#define LOOK_MOST 4096u /* PTEs, tables and entries looked at in one hold of the mutex */

/* Is the page in this file? */
static bool is_in(pte_t pte, unsigned file)
{
    return pte_is_paged_out(pte) && pagefile_of(pte_slot(pte)) == file;
}

/* The PTE and the entry of the first page from *va on that is in the file; NULL: none was seen
   before *va, where the look has stopped. Mutex shared. */
static pte_t *find_in(struct aspace *as, unsigned file, vaddr_t *va, struct map_entry **entry)
{
    struct map_entry *e = NULL;

    for (unsigned k = 0; k < LOOK_MOST; k++) {
        if (!e || *va >= e->end) {
            e = aspace_first_in_locked(as, *va, LAYOUT_USER_TOP);
            *va = !e ? LAYOUT_USER_TOP : MAX(*va, e->start);
            if (!e)
                break;
        }
        *va = e->ops == &anon_ops && !e->object ? pt_skip_holes(&as->pt, *va, e->end) : e->end;
        if (*va >= e->end) {
            *va = e->end;
            continue;
        }
        *entry = e;
        if (is_in(pt_load(pt_lookup(&as->pt, *va, 3)), file))
            return pt_lookup(&as->pt, *va, 3);
        *va += PAGE_SIZE;
    }
    return NULL;
}

int aspace_page_in(struct aspace *as, unsigned file, vaddr_t *va)
{
    struct map_entry *e;
    int err = 0;
    pte_t *p;

    mutex_lock_shared(&as->lock);
    p = find_in(as, file, va, &e);
    if (p) {
        pte_t pte = pt_load(p);

        if (is_in(pte, file)) /* another thread's fault may have brought it meanwhile */
            err = anon_page_in(as, e, *va, p, pte);
    }
    mutex_unlock_shared(&as->lock);
    return err == -EAGAIN ? 0 : err;
}
