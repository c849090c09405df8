/*
 * Faults on entries that have an object: find the page in the object or its chain of shadows, copy
 * it or ask the pager if necessary, and map it.
 *
 * A store faults for one of four reasons:
 *   - the page belongs to a shadow of the entry's object, and is copied;
 *   - the entry is marked needs_copy, and first gets a new object in front of its own;
 *   - the pager has not granted write access to the page, and is asked for an upgrade;
 *   - the page is clean, and is marked modified.
 * The PTE has FOW set and KWE, UWE clear in all of them. PTE_SW_COW tells the first two from the
 * others.
 *
 * Locks: the aspace mutex is held shared. A page is copied, or a new page zeroed, without the
 * family's lock; a reference keeps the source page, and the lookup is repeated before the new page
 * is inserted. If it finds something else, the new page is freed and the fault starts again. A page
 * is found and mapped under one hold of the lock, so it cannot be taken away in between.
 *
 * Unless the fault is a write to private memory, up to 16 neighbours that are in memory already are
 * mapped too. And when a fault finds its own page read-only as fork left it, because the other user
 * of the object has gone since, the neighbours are made writable as well. The faulting page costs
 * some hundreds of instructions, a neighbour fifty to a hundred.
 *
 * A fault that cannot allocate a table, page, object or index node fails with -ENOMEM; an object
 * that was put in front stays, which does no harm.
 */
#include "arch/alpha/hw/tb.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "mm/object/object_pages.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"

#define AROUND_PAGES 16u
#define BATCH_PAGES  32u /* pages allocated at once */

/* The result of a lookup. */
struct found {
    struct mm_object *top; /* the entry's object */
    uint64_t top_offset;   /* pages: of the page in `top` */
    struct mm_object *at;  /* has the page, or has the pager to ask; NULL: no object, it is zero */
    uint64_t offset;       /* pages: of the page in `at` */
    slot_t slot;           /* of `at`; 0: there is none */
};

/* Look a page up in o and then in its chain of shadows. Lock held. */
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

/* May the page be mapped writable now? If not, a write fault has to do something first. */
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

/* The pages around va that a fault handles with it: [*from, *to), within va's table. p: PTE of va.
   Returns the PTE of *from. */
static pte_t *around(const struct map_entry *e, pte_t *p, vaddr_t va, vaddr_t *from, vaddr_t *to)
{
    *from = MAX(va & ~(vaddr_t)(AROUND_PAGES * PAGE_SIZE - 1), e->start);
    if (e->flags & MAPF_GROWSDOWN)
        *from = MAX(*from, e->start + PAGE_SIZE);
    *to = MIN((va & ~(vaddr_t)(AROUND_PAGES * PAGE_SIZE - 1)) + AROUND_PAGES * PAGE_SIZE, e->end);
    return p - ((va - *from) >> PAGE_SHIFT);
}

/* Map the neighbours that are in memory. p: PTE of va, which was just mapped. Lock held. */
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

/* Make the neighbours writable too: a page of the entry's own object was mapped read-only by fork,
   nothing shares it any more, and the same probably holds for its neighbours. p: PTE of va, which
   was just made writable. Lock held. */
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
        tb_invalidate_single(va); /* this CPU only, as in install() */
    }
}

/* Store the PTE of va and invalidate the old one. Lock held. Returns the old PTE. */
static pte_t install(struct aspace *as, pte_t *p, vaddr_t va, pte_t now)
{
    pte_t old = *p;

    pt_set(p, now);
    if (!pte_maps_page(va, old))
        count_rss(as, 1);
    else if (pfn_eq(pte_pfn(old), pte_pfn(now)))
        tb_invalidate_single(va); /* the access is the same or more: other CPUs may fault once */
    else
        tb_flush_page(&as->pt.loaded, va, TB_COW);
    return old;
}

/* A page that a fault has prepared without the lock. */
struct spare {
    pfn_t page;   /* new page, or PFN_NONE */
    pfn_t source; /* the page it is a copy of, with a reference; PFN_NONE: it is zero */
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

/* Insert the spare page into the top object and update f. Lock held. False: no memory for an index
   node. */
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

/* Prepare a copy of source, or a zero page (PFN_NONE). Lock held on entry, dropped on return. 0 or
   -ENOMEM. */
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

/* Do the copy that needs_copy announces, before a write: the entry keeps its object if it is the
   only user, and gets a new one otherwise. False: out of memory. Lock held. */
static bool resolve_needs_copy(struct map_entry *e)
{
    if (e->object->refs == 1 && !e->object->ops) { /* no other user is left */
        e->needs_copy = 0;
        return true;
    }
    return object_shadow_entry_locked(e);
}

/* Ask the pager for the page, or wait for an outstanding request. Lock held on entry, dropped on
   return. 0: look again; -EAGAIN: it has waited without the mutex, return to the caller of the
   fault; -ENXIO: the page is beyond the end of the object; or the pager's error. */
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

/* Map the page that was found, mark it modified on a write, and map its neighbours. Lock held. */
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
        if (!f.at) { /* no object has the page: it is zero */
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
        } else if (write && f.at != f.top) { /* it belongs to a shadow: copy it */
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

/* Are all pages of the entry its object's own or zero, and may it write them? Lock held. */
static bool is_plain(const struct map_entry *e)
{
    return !e->needs_copy && !e->object->ops && !e->object->shadow;
}

/* Map n pages of a plain object, and add zero pages where it has none yet. p: PTE of va; all n PTEs
   are in one table. 0 or -ENOMEM. If the object is not plain it does nothing and returns 0: the
   caller then resolves a fault for each PTE that is still empty. */
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
                continue; /* it was removed while the lock was not held: left to a fault */
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
