/*
 * Faults on entries that have an object: find the page in the object or behind it, copy, ask the
 * pager, map.
 *
 * What a store faults for: a page of the source behind our object (copy), an entry marked
 * needs_copy (a new object in front first), a page whose pager has not granted write access
 * (upgrade), a page that is to be marked modified. All have FOW set and KWE, UWE clear. PTE_SW_COW
 * tells the first two from the rest.
 *
 * A copy is made, and a new page zeroed, without the family's lock: the source page is held by a
 * reference, and what was found is looked up again before the new page goes in. If it has changed,
 * the new page goes back and the fault starts again. Finding a page and mapping it are one hold of
 * the lock, so no page is taken away in between.
 *
 * Around a fault that is no private write, up to 16 neighbours that are in memory already are
 * mapped too; around one that finds its own page read-only, because fork left it so and the other
 * side has gone, they are made writable. The page itself costs a fault of some hundred
 * instructions, a neighbour fifty to a hundred.
 */
#include "arch/alpha/hw/tb.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "mm/object/object_pages.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"

#define AROUND_PAGES 16u
#define BATCH_PAGES  32u /* pages allocated at once */

struct found {
    struct mm_object *top; /* what the entry maps */
    uint64_t top_offset;
    struct mm_object
        *at; /* where the page is, or who must be asked for it; NULL: nowhere, it is zero */
    uint64_t offset;
    slot_t slot;
};

/* Look for a page from o down the chain. Lock held. */
static inline void find_page(struct mm_object *o, uint64_t offset, struct found *f)
{
    f->top = o;
    f->top_offset = offset;
    for (;;) {
        slot_t *s = index_find(o, offset);

        f->slot = s ? *s : 0;
        f->at = o;
        f->offset = offset;
        if ((f->slot & SLOT_PRESENT) || o->ops)
            return;
        offset += o->shadow_offset;
        o = o->shadow;
        if (!o) {
            f->at = NULL;
            return;
        }
    }
}

/* May a page found so be mapped writable now, without another fault that has something to do? */
static inline bool writable_now(const struct map_entry *e, const struct found *f)
{
    if (f->at != f->top || e->needs_copy)
        return false;
    if (!f->at->ops)
        return true;
    return (f->slot & (SLOT_W | SLOT_PUT)) == SLOT_W &&
           (!f->at->ops->put || (f->slot & SLOT_DIRTY));
}

static inline pte_t object_pte(const struct map_entry *e, pfn_t pfn, bool write)
{
    pte_t bits = pt_user_bits(e->prot, write) | PTE_SW_SHARED;

    if (!write && !(e->flags & MAPF_SHARED))
        bits |= PTE_SW_COW;
    return pte_make(pfn, bits);
}

/* The neighbours of va that one fault may do good to: [*from,*to), within va's table. Returns the
   PTE of *from. */
static pte_t *around(const struct map_entry *e, pte_t *p, vaddr_t va, vaddr_t *from, vaddr_t *to)
{
    *from = MAX(va & ~(vaddr_t)(AROUND_PAGES * PAGE_SIZE - 1), e->start);
    if (e->flags & MAPF_GROWSDOWN)
        *from = MAX(*from, e->start + PAGE_SIZE);
    *to = MIN((va & ~(vaddr_t)(AROUND_PAGES * PAGE_SIZE - 1)) + AROUND_PAGES * PAGE_SIZE, e->end);
    return p - ((va - *from) >> PAGE_SHIFT);
}

/* Map neighbours that are in memory. p: PTE of va, which was just mapped. Lock held. */
static void map_around(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va)
{
    struct mm_object *o = e->object;
    unsigned mapped = 0;
    vaddr_t to;

    p = around(e, p, va, &va, &to);
    for (uint64_t offset = (e->offset + (va - e->start)) >> PAGE_SHIFT; va < to;
         va += PAGE_SIZE, p++, offset++) {
        struct found f;

        if (pte_maps_page(va, *p))
            continue;
        find_page(o, offset, &f);
        if ((f.slot & (SLOT_PRESENT | SLOT_TAKE)) != SLOT_PRESENT)
            continue;
        pt_store(p, object_pte(e, slot_pfn(f.slot), writable_now(e, &f)));
        mapped++;
    }
    if (mapped) {
        pt_count(p - 1, (int)mapped);
        count_rss(as, mapped);
        count_add(&as->counts.object_valid, mapped);
    }
}

/* A page of the entry's own object was found read-only, as fork left it, and nobody shares it any
   more: so it is with its neighbours. p: PTE of va, which was just made writable. Lock held. */
static void upgrade_around(struct map_entry *e, pte_t *p, vaddr_t va)
{
    vaddr_t to;

    p = around(e, p, va, &va, &to);
    for (uint64_t offset = (e->offset + (va - e->start)) >> PAGE_SHIFT; va < to;
         va += PAGE_SIZE, p++, offset++) {
        struct found f;

        if (!pte_maps_page(va, *p) || (*p & PTE_UWE))
            continue;
        find_page(e->object, offset, &f);
        if (!(f.slot & SLOT_PRESENT) || !writable_now(e, &f) ||
            !pfn_eq(slot_pfn(f.slot), pte_pfn(*p)))
            continue;
        pt_store(p, object_pte(e, slot_pfn(f.slot), true));
        tb_invalidate_single(va); /* as for the page itself */
    }
}

/* Store the PTE of va. Lock held. Returns what it was before. */
static pte_t install(struct aspace *as, pte_t *p, vaddr_t va, pte_t now)
{
    pte_t old = *p;

    pt_set(p, now);
    if (!pte_maps_page(va, old))
        count_rss(as, 1);
    else if (pfn_eq(pte_pfn(old), pte_pfn(now)))
        tb_invalidate_single(va); /* as before or more access: other CPUs find out by a fault */
    else
        tb_flush_page(&as->pt.loaded, va, TB_COW);
    return old;
}

/* What a fault has prepared without the lock. */
struct spare {
    pfn_t page;   /* new page, or PFN_NONE */
    pfn_t source; /* what it is a copy of, referenced; PFN_NONE: it is zero */
};

static void spare_drop(struct spare *sp)
{
    if (sp->page.n)
        page_free(sp->page);
    if (sp->source.n)
        page_unref(sp->source);
    sp->page = PFN_NONE;
    sp->source = PFN_NONE;
}

/* The spare page becomes the top object's. Lock held. False: no memory for an index node. */
static bool spare_insert(struct found *f, struct spare *sp)
{
    slot_t *s = index_create(f->top, f->top_offset);

    if (!s)
        return false;
    *s = slot_make(sp->page, SLOT_W);
    object_page_own(f->top, f->top_offset, sp->page);
    f->top->resident++;
    f->at = f->top;
    f->offset = f->top_offset;
    f->slot = *s;
    sp->page = PFN_NONE;
    return true;
}

/* Prepare a copy of source, or a zero page (PFN_NONE). Lock held on entry, dropped on return. */
static int spare_make_unlock(struct map_entry *e, struct aspace *as, pfn_t source, struct spare *sp,
                             ipl_t ipl)
{
    if (source.n)
        page_ref(source);
    spin_unlock(e->obj_lock, ipl);
    spare_drop(sp);
    sp->source = source;
    if (page_alloc(source.n ? 0 : PA_ZERO, PAGE_T_OBJECT, as->pt.home_rad, &sp->page) != 0) {
        sp->page = PFN_NONE;
        return -ENOMEM;
    }
    if (source.n)
        page_copy(sp->page, source);
    return 0;
}

/* A write wants a page to itself: no marks of a pending copy on the entry. Lock held. */
static bool resolve_needs_copy(struct map_entry *e)
{
    if (e->object->refs == 1 && !e->object->ops) { /* everybody else has gone */
        e->needs_copy = 0;
        return true;
    }
    return object_shadow_entry_locked(e);
}

/* The page is the pager's to give: ask, or wait. Lock held on entry, dropped on return. 0 or
 * -EAGAIN: look again; -ENXIO: it lies behind the object's end. */
static int pager_turn_unlock(struct aspace *as, struct found *f, bool write, ipl_t ipl)
{
    struct mm_object *o = f->at;

    if (f->offset >= o->npages) {
        spin_unlock(o->lock, ipl);
        return -ENXIO;
    }
    if (f->slot & SLOT_BUSY)
        return pager_wait_unlock(o, f->offset, ipl, &as->lock);
    count_add(&as->counts.file, 1);
    return pager_request_unlock(o, f->offset, write ? MAP_R | MAP_W : MAP_R, ipl);
}

/* Everything is there: map it. Lock held. */
static void finish_fault(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va,
                         struct found *f, bool write)
{
    pte_t old;

    if (write && f->at->ops && f->at->ops->put) {
        slot_t *s = index_find(f->at, f->offset);

        *s |= SLOT_DIRTY;
        f->slot = *s;
    }
    old = install(as, p, va, object_pte(e, slot_pfn(f->slot), writable_now(e, f)));
    if (old == 0 && (!write || (e->flags & MAPF_SHARED)))
        map_around(as, e, p, va);
    else if ((old & PTE_SW_COW) && pfn_eq(pte_pfn(old), slot_pfn(f->slot)))
        upgrade_around(e, p, va);
}

int object_fault(struct aspace *as, struct map_entry *e, vaddr_t va, bool write)
{
    pte_t *p = pt_create(&as->pt, va, 3);
    struct spare sp = {PFN_NONE, PFN_NONE};
    uint64_t *cause = &as->counts.object_valid;
    int err = p ? 0 : -ENOMEM;

    while (!err) {
        ipl_t ipl = spin_lock(e->obj_lock);
        struct found f;

        if (write && e->needs_copy && !resolve_needs_copy(e)) {
            spin_unlock(e->obj_lock, ipl);
            err = -ENOMEM;
            break;
        }
        find_page(e->object, (e->offset + (va - e->start)) >> PAGE_SHIFT, &f);
        if (!f.at) { /* nobody has it: zero */
            if (!sp.page.n || sp.source.n) {
                err = spare_make_unlock(e, as, PFN_NONE, &sp, ipl);
                continue;
            }
            cause = &as->counts.demand_zero;
        } else if ((f.slot & (SLOT_PRESENT | SLOT_TAKE)) != SLOT_PRESENT ||
                   (write && f.at == f.top && f.at->ops &&
                    (f.slot & (SLOT_W | SLOT_PUT)) != SLOT_W)) {
            err = pager_turn_unlock(as, &f, write && f.at == f.top, ipl);
            continue;
        } else if (write && f.at != f.top) { /* the source's: copy */
            if (!sp.page.n || !pfn_eq(sp.source, slot_pfn(f.slot))) {
                err = spare_make_unlock(e, as, slot_pfn(f.slot), &sp, ipl);
                continue;
            }
            cause = &as->counts.cow;
        }
        if (cause != &as->counts.object_valid && (!f.at || f.at != f.top) && !spare_insert(&f, &sp))
            err = -ENOMEM;
        else
            finish_fault(as, e, p, va, &f, write);
        spin_unlock(e->obj_lock, ipl);
        if (!err)
            count_add(cause, 1);
        break;
    }
    spare_drop(&sp);
    return err;
}

/* Is the object nothing but its own pages and zeros, for this entry to write? Lock held. */
static bool is_plain(const struct map_entry *e)
{
    return !e->needs_copy && !e->object->ops && !e->object->shadow;
}

/* Map n pages of a plain object, zero ones where there are none yet. p: PTE of va, within one
   table. 0, also when it is not plain: whatever PTE is still empty then takes a fault. */
static int object_populate_batch(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va,
                                 unsigned n)
{
    unsigned want = 0, used = 0, mapped = 0;
    pfn_t pfns[BATCH_PAGES];
    ipl_t ipl = spin_lock(e->obj_lock);
    uint64_t offset = (e->offset + (va - e->start)) >> PAGE_SHIFT;

    for (unsigned i = 0; i < n && is_plain(e); i++) {
        slot_t *s = index_find(e->object, offset + i);

        want += !pte_maps_page(va + i * PAGE_SIZE, p[i]) && !(s && (*s & SLOT_PRESENT));
    }
    spin_unlock(e->obj_lock, ipl);
    if (want == 0)
        return 0;
    if (page_alloc_bulk(PA_ZERO, PAGE_T_OBJECT, as->pt.home_rad, pfns, want) != 0)
        return -ENOMEM;
    ipl = spin_lock(e->obj_lock);
    for (unsigned i = 0; i < n && is_plain(e); i++) {
        slot_t *s = pte_maps_page(va + i * PAGE_SIZE, p[i]) ? NULL
                                                            : index_create(e->object, offset + i);

        if (!s)
            continue;
        if (!(*s & SLOT_PRESENT)) {
            if (used == want)
                continue; /* it went while we looked away: a fault will do */
            *s = slot_make(pfns[used], SLOT_W);
            object_page_own(e->object, offset + i, pfns[used++]);
            e->object->resident++;
        }
        pt_store(&p[i], object_pte(e, slot_pfn(*s), true));
        mapped++;
    }
    if (mapped)
        pt_count(p, (int)mapped);
    spin_unlock(e->obj_lock, ipl);
    count_rss(as, mapped);
    if (used < want)
        page_free_bulk(&pfns[used], want - used);
    return 0;
}

int object_populate(struct aspace *as, struct map_entry *e, vaddr_t va, vaddr_t end)
{
    bool write = (e->prot & MAP_W) != 0;

    while (va < end) {
        pte_t *p = pt_create(&as->pt, va, 3);
        uint64_t n = MIN(PTES_PER_PAGE - pte_l3_index(va), (end - va) >> PAGE_SHIFT);
        int err;

        if (!p)
            return -ENOMEM;
        n = MIN(n, BATCH_PAGES);
        err = object_populate_batch(as, e, p, va, (unsigned)n);
        for (uint64_t i = 0; i < n && !err; i++) {
            pte_t pte = pt_load(&p[i]);

            if (!pte_maps_page(va + i * PAGE_SIZE, pte) || (write && !(pte & PTE_UWE)))
                err = object_fault(as, e, va + i * PAGE_SIZE, write);
        }
        if (err)
            return err;
        va += n << PAGE_SHIFT;
    }
    return 0;
}
