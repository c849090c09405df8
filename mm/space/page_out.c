/*
 * Private pages that go to a page file.
 *
 * Alpha's hardware does not record accesses. So the pager takes all access to a page away, by a PTE
 * that is valid but allows nothing (PTE_SW_AGED), and sees at its next visit whether a fault has
 * given it back. A page that was not used in between, the length of a round over all address
 * spaces, is copied to the page file's buffer, the buffer is written, and then, if the PTE is still
 * the same, the PTE gets the slot and the page is free:
 *
 *     [ page ] --- visit ---> [ page, aged ] --- visit: copy, write, look ---> [ slot ]
 *         ^                          |    |                                      |
 *         '--------- use ------------'    '-- use: the slot is cancelled         |
 *         '------------------------------- use: read ----------------------------'
 *
 * No store is lost: between the copy and the last look the PTE allows no access, and every CPU has
 * dropped older translations since it was aged. Any access, and any mprotect, changes the PTE, and
 * nobody but the pager sets PTE_SW_LEAVE again, so a PTE that has it and names the same page has
 * not been away: had the page been freed and allocated again, its new PTE would not have the bit. A
 * fork may leave both PTEs as they are; as long as this one is there, a write by the other process
 * copies the page. So a page that several PTEs have does not change either, and goes PTE by PTE
 * (page_written.c). Who accesses a page without
 * its PTE's leave, as a debugger does, does not write to an aged one (aspace_read.c).
 *
 * Until the write has succeeded, the page is in memory and its PTE refers to it: a write that fails
 * loses nothing but the slots, which are not used again.
 *
 * Left in memory are copies of an object's pages and locked ones. Pages of objects go by
 * mm/object/object_paging.c.
 *
 * Locks: the mutex is held exclusively for a step, which looks at STEP_PTES PTEs and copies
 * PAGEFILE_CLUSTER pages at most, and again to change the PTEs; not while the disk is waited for.
 * Nothing is allocated.
 */
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/layout.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "mm/pagefile/pagefile.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_page.h"
#include "mm/space/aspace_private.h"
#include "mm/space/pin.h"

#define STEP_PTES 512u /* PTEs, tables and entries looked at in one hold of the mutex, */
#define EMPTY     16u  /* of PTEs that are empty, so many for one */

/* Pages that are written: they go to slots in a row. */
struct victims {
    pagefile_slot_t slot;
    unsigned room, n; /* slots, pages */
    unsigned gone;    /* PTEs that got slots */
    unsigned freed;   /* pages that no other PTE has */
    const struct quota_count *only;
    struct {
        vaddr_t va;
        pte_t pte;
    } page[PAGEFILE_CLUSTER];
};

/* May the private page that the PTE maps go? It is one that only this PTE has, or that several have
   and none can write. */
static bool may_go(const struct victims *v, pte_t pte)
{
    const struct page *page = page_of(pte_pfn(pte));

    if (!pte_is_private(pte) || page->state != PAGE_ACTIVE || page->flags != 0 ||
        (v->only && quota_counter(page->charge) != v->only))
        return false;
    if (__atomic_load_n(&page->refcnt, __ATOMIC_ACQUIRE) == 1)
        return true;
    return (pte & PTE_SW_COW) && page->soon != PAGE_PINNED;
}

/* Give the PTE the slot, which has one count more for it, in place of its page. Mutex exclusive. */
static void leave_to_slot(pte_t *p, vaddr_t va, pte_t pte, pagefile_slot_t slot,
                          struct tb_gather *g)
{
    pt_store(p, pte_paged_out(slot));
    tb_gather_va(g, va); /* a CPU may know that nothing is allowed, and shall not remember it */
    tb_gather_page(g, pte_pfn(pte));
}

/* Look at the page of va, which e maps if it maps any. False: there is no more room for pages that
   are to be written. Mutex exclusive. */
static bool visit(struct victims *v, vaddr_t va, pte_t *p, struct tb_gather *g)
{
    pagefile_slot_t slot;
    pte_t pte = *p;

    if (!pte_maps_page(va, pte) || !may_go(v, pte))
        return true;
    if (!(pte & PTE_SW_AGED)) {
        pt_store(p, (pte & ~(PTE_KRE | PTE_URE | PTE_KWE | PTE_UWE)) | PTE_FOW | PTE_FOE |
                        PTE_SW_AGED);
        tb_gather_va(g, va);
        return true;
    }
    if (written_find(pte_pfn(pte), &slot)) {
        pagefile_share(slot);
        leave_to_slot(p, va, pte, slot, g);
        v->gone++; /* the page goes with its entry in the table: written_sweep() counts it */
        return true;
    }
    if (!pagefile_may_take(page_of(pte_pfn(pte))->charge))
        return true;
    if (v->n == v->room)
        return false;
    pte |= PTE_SW_LEAVE;
    pt_store(p, pte);
    memcpy(pagefile_buffer(v->slot, v->n), kseg_page(pte_pfn(pte)), PAGE_SIZE);
    v->page[v->n].va = va;
    v->page[v->n].pte = pte;
    v->n++;
    return true;
}

/* n pages that were mapped are in page files now. Mutex exclusive. */
static void count_gone(struct aspace *as, unsigned n)
{
    if (!n)
        return;
    __atomic_fetch_add(&as->pt.paged_out, n, __ATOMIC_RELAXED);
    page_table_sub_rss(&as->pt, n);
}

/* The first PTE from p on, of va, that is not empty; or that of end or of the next table. */
static pte_t *skip_empty(pte_t *p, vaddr_t va, vaddr_t end)
{
    vaddr_t left = MIN((end - va) >> PAGE_SHIFT, PTES_PER_PAGE - pte_l3_index(va));

    for (pte_t *last = p + left; p < last && *p == 0; p++)
        ;
    return p;
}

/* One step over the pages from va on. Returns where it has stopped. Mutex exclusive. */
static __attribute__((noinline)) vaddr_t look_around(struct aspace *as, vaddr_t va,
                                                     struct victims *v)
{
    struct map_entry *e = NULL;
    struct tb_gather g;
    pte_t *first, *p;

    tb_gather_begin(&g, &as->pt.loaded, TB_PROTECT);
    for (size_t k = 0; k < STEP_PTES; k++) {
        if (!e || va >= e->end) {
            e = aspace_first_in_locked(as, va, LAYOUT_USER_TOP);
            va = !e ? LAYOUT_USER_TOP : MAX(va, e->start);
            if (!e)
                break;
        }
        va = anon_is_pageable(e) ? pt_skip_holes(&as->pt, va, e->end) : e->end;
        if (va >= e->end) {
            va = e->end;
            continue;
        }
        first = pt_lookup(&as->pt, va, 3);
        p = skip_empty(first, va, e->end);
        if (p > first) {
            k += (size_t)(p - first) / EMPTY;
            va += (vaddr_t)(p - first) << PAGE_SHIFT;
        } else if (visit(v, va, p, &g)) {
            va += PAGE_SIZE;
        } else {
            break;
        }
    }
    count_gone(as, v->gone);
    v->gone = 0;
    tb_gather_flush(&g);
    return va;
}

/* Give a page that was written to its slot free, if its PTE is still what it was. Mutex exclusive.
 */
static bool let_go(struct aspace *as, struct victims *v, unsigned k, struct tb_gather *g)
{
    vaddr_t va = v->page[k].va;
    pte_t pte = v->page[k].pte;
    const struct map_entry *e = aspace_lookup_locked(as, va);
    pte_t *p = e && anon_is_pageable(e) ? pt_lookup(&as->pt, va, 3) : NULL;

    /* Of several pages that were noted, the first ones may have taken what the user may have. */
    if (!p || *p != pte || !may_go(v, pte) || !pagefile_may_take(page_of(pte_pfn(pte))->charge))
        return false;
    pagefile_commit(v->slot + k, page_of(pte_pfn(pte))->charge);
    /* Of two users, the other may leave at any time: then the table's entry goes soon. */
    if (__atomic_load_n(&page_of(pte_pfn(pte))->refcnt, __ATOMIC_RELAXED) > 1)
        written_add(pte_pfn(pte), v->slot + k);
    else
        v->freed++;
    leave_to_slot(p, va, pte, v->slot + k, g);
    return true;
}

/* Give those free whose PTEs are unchanged. Returns how many pages nobody has any more. */
static __attribute__((noinline)) unsigned let_all_go(struct aspace *as, struct victims *v)
{
    struct tb_gather g;

    tb_gather_begin(&g, &as->pt.loaded, TB_PROTECT);
    mutex_lock(&as->lock);
    for (unsigned k = 0; k < v->n; k++) {
        if (let_go(as, v, k, &g))
            v->gone++;
        else
            pagefile_cancel(v->slot + k);
    }
    count_gone(as, v->gone);
    tb_gather_flush(&g);
    mutex_unlock(&as->lock);
    return v->freed;
}

unsigned aspace_page_out(struct aspace *as, vaddr_t *va, const struct quota_count *only)
{
    struct victims v; /* without an initialiser, which would clear all of it */

    v.only = only;
    v.n = v.gone = v.freed = 0;
    v.room = pagefile_reserve(PAGEFILE_CLUSTER, &v.slot);
    if (v.room == 0) {
        *va = LAYOUT_USER_TOP;
        return 0;
    }
    mutex_lock(&as->lock);
    *va = look_around(as, *va, &v);
    mutex_unlock(&as->lock);
    for (unsigned k = v.n; k < v.room; k++)
        pagefile_cancel(v.slot + k);
    if (v.n == 0)
        return 0;
    if (pagefile_write(v.slot, v.n) == 0)
        return let_all_go(as, &v);
    for (unsigned k = 0; k < v.n; k++)
        pagefile_retire(v.slot + k);
    return 0;
}
