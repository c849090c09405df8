/*
 * Faults on entries that have an object: find the page in the object, ask the pager if necessary,
 * copy it if private memory is written, and map it.
 *
 * A store faults for one of three reasons:
 *   - the entry is private, and the page is the object's: it is copied. The copy is a private page
 *     (mm/space/anon.c), which has nothing to do with the object any more;
 *   - the pager has not granted write access to the page, and is asked for an upgrade;
 *   - the page is clean, and is marked modified.
 * The PTE has FOW set and KWE, UWE clear in all of them. PTE_SW_COW tells the first from the
 * others.
 *
 * Locks: the aspace mutex is held shared. A page is copied, or a new page zeroed, without the
 * object's lock; a reference keeps the source page, and the lookup is repeated before the new page
 * is mapped. If it finds something else, the new page is freed and the fault starts again. A page
 * is found and mapped under one hold of the lock, so it cannot be taken away in between.
 *
 * Unless the fault is a write to private memory or makes a page, up to 16 neighbours that are in
 * memory already are mapped too, as blocks where they can be (mm/space/object_block.h). The
 * faulting page costs some hundreds of instructions, a neighbour fifty to a hundred.
 *
 * A fault that cannot allocate a table, page or index node fails with -ENOMEM.
 */
#include "arch/alpha/hw/tb.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/sched/mutex_inline.h"
#include "kernel/sched/thread.h"
#include "mm/object/object_pages.h"
#include "mm/phys/page_quick.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"
#include "mm/space/object_block.h"

#define BATCH_PAGES 16u /* pages allocated at once */

static inline bool is_shared(const struct map_entry *e) { return (e->flags & MAPF_SHARED) != 0; }

/* The state of page offset; 0: it is not there. Lock held. */
static inline slot_t slot_at(struct mm_object *o, uint64_t offset)
{
    slot_t *s = index_find(o, offset);

    return s ? *s : 0;
}

static inline uint64_t offset_of(const struct map_entry *e, vaddr_t va)
{
    return (e->offset + (va - e->start)) >> PAGE_SHIFT;
}

/* May the object's page be mapped writable now? If not, a write fault has to do something first. */
static inline bool writable_now(const struct map_entry *e, slot_t slot)
{
    const struct pager_ops *ops = e->object->ops;

    if (!is_shared(e))
        return false;
    return !ops || ((slot & (SLOT_W | SLOT_PUT)) == SLOT_W && (!ops->put || (slot & SLOT_DIRTY)));
}

static inline pte_t object_pte(const struct map_entry *e, pfn_t pfn, bool write)
{
    pte_t bits = pt_user_bits(e->prot, write) | PTE_SW_SHARED;

    if (!is_shared(e))
        bits |= PTE_SW_COW;
    return pte_make(pfn, bits);
}

/* Map the block that begins at va by PTEs with a granularity hint, if it can be. Memory that may be
   written has no hints: the first write of a page would have to break its block. p: PTE of va.
   faulting: it has the page of the fault, which the caller counts. Lock held. False: nothing was
   done. */
static bool map_block(struct aspace *as, const struct map_entry *e, pte_t *p, vaddr_t va,
                      bool faulting)
{
    const slot_t *s;

    if (va < e->start || va + BLOCK_BYTES > e->end || e->ops != &anon_ops)
        return false;
    s = index_find(e->object, offset_of(e, va) & ~(uint64_t)(GH_SMALL - 1));
    if (!s || !block_fits(e, p, va, s))
        return false;
    __atomic_thread_fence(__ATOMIC_RELEASE); /* as that of pt_store(), for all of them */
    block_map(p, s, object_pte(e, PFN_NONE, false));
    pt_count(p, GH_SMALL);
    pt_mark(p);
    page_table_add_rss(&as->pt, GH_SMALL);
    count_add(&as->counts.object_valid, GH_SMALL - faulting);
    return true;
}

/* Map the block of va, and then the other one of the AROUND_PAGES. p: PTE of va. Lock held. False:
   va is not mapped. */
static bool __attribute__((noinline)) map_blocks(struct aspace *as, const struct map_entry *e,
                                                 pte_t *p, vaddr_t va)
{
    vaddr_t at = va & ~(BLOCK_BYTES - 1);

    _Static_assert(AROUND_PAGES == 2 * GH_SMALL, "there are two");
    p -= (va - at) >> PAGE_SHIFT;
    if (!map_block(as, e, p, at, true))
        return false;
    if (at & BLOCK_BYTES)
        (void)map_block(as, e, p - GH_SMALL, at - BLOCK_BYTES, false);
    else
        (void)map_block(as, e, p + GH_SMALL, at + BLOCK_BYTES, false);
    return true;
}

/* Map the neighbours that are in memory. p: PTE of va, which was just mapped. Slots follow each
   other in a leaf of the index, so that one look-up serves all up to the leaf's end. Lock held. */
static void map_around(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va)
{
    struct mm_object *o = e->object;
    const slot_t *s = NULL;
    const pte_t *first;
    unsigned mapped = 0, left = 0; /* left: slots up to the end of the leaf */
    vaddr_t to;

    first = p = entry_around(e, p, va, &va, &to);
    for (uint64_t offset = offset_of(e, va); va < to && offset < o->npages;
         va += PAGE_SIZE, p++, offset++) {
        slot_t slot;

        if (left-- == 0) {
            s = index_find(o, offset);
            left = INDEX_SLOTS - 1 - (unsigned)(offset % INDEX_SLOTS);
        } else if (s) {
            s++;
        }
        /* A private one, another thread's fault may change meanwhile. */
        if (!s || pte_maps_page(va, __atomic_load_n(p, __ATOMIC_RELAXED)))
            continue;
        slot = *s;
        if ((slot & (SLOT_PRESENT | SLOT_TAKE | SLOT_AGED)) != SLOT_PRESENT)
            continue;
        pt_store(p, object_pte(e, slot_pfn(slot), writable_now(e, slot)));
        mapped++;
    }
    if (mapped) {
        pt_count(p - 1, (int)mapped);
        pt_mark(first);
        page_table_add_rss(&as->pt, mapped);
        count_add(&as->counts.object_valid, mapped);
    }
}

/* PTE p, whose value is old, is about to differ from its neighbours. Returns it without a hint. */
static inline pte_t block_leave(pte_t *p, pte_t old)
{
    if (unlikely(pte_gh(old)))
        gh_break(p);
    return old & ~PTE_GH_MASK;
}

/* Store the PTE of va and invalidate the old one. Lock held. Returns the old PTE. */
static pte_t install(struct aspace *as, pte_t *p, vaddr_t va, pte_t now)
{
    pte_t old = *p;

    if (!pte_maps_page(va, old)) {
        pt_set(p, now);
        pt_mark(p);
        page_table_add_rss(&as->pt, 1);
    } else if ((old & ~PTE_GH_MASK) == now) {
        tb_invalidate_single(va); /* another thread was faster */
    } else if (pfn_eq(pte_pfn(old), pte_pfn(now))) {
        block_leave(p, old);
        pt_store(p, now);
        tb_invalidate_single(va); /* the access is the same or more: other CPUs may fault once */
    } else {
        /* Closed until no CPU has the old page any more, as in replace() of mm/space/anon.c. */
        old = block_leave(p, old);
        pt_store(p, old & ~(PTE_KRE | PTE_URE));
        tb_flush_page(&as->pt.loaded, va, TB_COW);
        pt_store(p, now);
    }
    return old;
}

/* A page that a fault has prepared without the lock. */
struct spare {
    pfn_t page;               /* new page, or PFN_NONE */
    pfn_t source;             /* the page it is a copy of, with a reference; PFN_NONE: it is zero */
    struct index_nodes nodes; /* for a new page's slot */
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

/* Put the spare page, which is zero, into the object. Lock held. Returns its slot, or 0: sp has too
   few index nodes. */
static slot_t spare_insert(struct mm_object *o, uint64_t offset, struct spare *sp)
{
    slot_t *s = index_create(o, offset, &sp->nodes);

    if (!s)
        return 0;
    *s = slot_make(sp->page, SLOT_W);
    object_page_own(o, offset, sp->page);
    o->resident++;
    sp->page = PFN_NONE;
    return *s;
}

/* Prepare a copy of source, for private memory, or a zero page (PFN_NONE), for the object. Lock
   held on entry, dropped on return. 0 or -ENOMEM. */
static int spare_make_unlock(struct map_entry *e, struct aspace *as, pfn_t source, struct spare *sp,
                             ipl_t ipl)
{
    if (source.n)
        page_ref(source);
    spin_unlock(e->object->lock, ipl);
    spare_drop(sp);
    sp->source = source;
    if (page_alloc(source.n ? 0 : PA_ZERO, source.n ? PAGE_T_PROCESS : PAGE_T_OBJECT,
                   as->pt.home_rad, &sp->page) != 0) {
        sp->page = PFN_NONE;
        return -ENOMEM;
    }
    if (source.n)
        page_copy(sp->page, source);
    return 0;
}

/* Ask the pager for the page, or wait for an outstanding request. Lock held on entry, dropped on
   return. 0: look again; -EAGAIN: it has waited without the mutex, return to the caller of the
   fault; or the pager's error. */
static int pager_turn_unlock(struct aspace *as, struct mm_object *o, uint64_t offset, slot_t slot,
                             bool write, ipl_t ipl)
{
    if (slot & SLOT_BUSY)
        return pager_wait_unlock(o, offset, ipl, &as->lock);
    count_add(&as->counts.file, 1);
    return pager_request_unlock(o, offset, write ? MAP_R | MAP_W : MAP_R, ipl);
}

/* Map the copy of an object's page in private memory. Lock held. */
static void map_copy(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va, struct spare *sp)
{
    page_of(sp->page)->owner = kseg_paddr(p).a;
    install(as, p, va, pte_make(sp->page, pt_user_bits(e->prot, true)));
    sp->page = PFN_NONE;
}

/* Map the page that was found, mark it modified on a write, and map its neighbours; not those of a
   page that is new in the object (fresh), which mostly has none yet. Lock held. */
static void map_found(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va, slot_t slot,
                      bool write, bool fresh)
{
    struct mm_object *o = e->object;
    pte_t old;

    if (write && o->ops && o->ops->put) {
        slot_t *s = index_find(o, offset_of(e, va));

        *s |= SLOT_DIRTY;
        slot = *s;
    }
    if (!(e->prot & MAP_W) && !fresh && *p == 0 && block_may_hold(va, slot_pfn(slot)) &&
        map_blocks(as, e, p, va))
        old = 0;
    else
        old = install(as, p, va, object_pte(e, slot_pfn(slot), writable_now(e, slot)));
    if (old == 0 && !fresh)
        map_around(as, e, p, va);
}

/* Look the page up and resolve the fault, or find out what is missing. p: PTE of va, which maps no
   private page. copies: the fault writes to private memory. Lock held on entry, dropped on return.
   0: *done says whether the fault is resolved, else look again; or an error as for map_ops.fault.
   */
static int try_unlock(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va, bool write,
                      struct spare *sp, bool *done, ipl_t ipl)
{
    struct mm_object *o = e->object;
    uint64_t offset = offset_of(e, va);
    slot_t slot = slot_at(o, offset);
    bool copies = write && !is_shared(e), zero = false, aged = false;

    if (unlikely(offset >= o->npages)) {
        spin_unlock(o->lock, ipl);
        return -ENXIO;
    }
    if (unlikely(slot & (SLOT_FILED | SLOT_AGED))) {
        if (slot & SLOT_FILED) {
            count_add(&as->counts.page_file, 1);
            return object_bring_unlock(o, offset, ipl, &as->lock);
        }
        *index_find(o, offset) &= ~SLOT_AGED;
        aged = true;
    }
    if ((slot & (SLOT_PRESENT | SLOT_TAKE)) != SLOT_PRESENT ||
        (write && !copies && o->ops && (slot & (SLOT_W | SLOT_PUT)) != SLOT_W)) {
        if (o->ops)
            return pager_turn_unlock(as, o, offset, slot, write && !copies, ipl);
        KASSERT(!copies, "an anonymous object is mapped shared");
        if (!sp->page.n) /* it is zero */
            return spare_make_unlock(e, as, PFN_NONE, sp, ipl);
        slot = spare_insert(o, offset, sp);
        if (unlikely(slot == 0)) {
            spin_unlock(o->lock, ipl);
            return index_nodes_fill(&sp->nodes) ? 0 : -ENOMEM;
        }
        zero = true;
    } else if (copies && (!sp->page.n || !pfn_eq(sp->source, slot_pfn(slot)))) {
        return spare_make_unlock(e, as, slot_pfn(slot), sp, ipl);
    }
    if (copies)
        map_copy(as, e, p, va, sp);
    else
        map_found(as, e, p, va, slot, write, zero);
    spin_unlock(o->lock, ipl);
    *done = true;
    if (zero && !(e->flags & MAPF_GROWSDOWN))
        __atomic_store_n(&e->fresh, 1, __ATOMIC_RELAXED);
    count_add(copies ? &as->counts.cow
              : zero ? &as->counts.demand_zero
              : aged ? &as->counts.aged
                     : &as->counts.object_valid,
              1);
    return 0;
}

/* Tell the pager that a store to shared memory has faulted. Stores to a page that is mapped
   writable already, with a neighbour for example, are not noticed, as on Linux. */
static inline void tell_pager(const struct map_entry *e)
{
    const struct pager_ops *ops = e->object->ops;

    if (ops && ops->written && is_shared(e))
        ops->written(e->object);
}

int object_fault(struct aspace *as, struct map_entry *e, vaddr_t va, bool write)
{
    pte_t *p = pt_create(&as->pt, va, 3);
    struct spare sp = {PFN_NONE, PFN_NONE, {0}};
    int err = p ? 0 : -ENOMEM;
    bool done = false;

    while (!err && !done) {
        ipl_t ipl = spin_lock(e->object->lock);
        pte_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

        /* No reverse walk changes it, but another thread's fault may, without this lock. */
        if (pte_maps_page(va, old) && pte_is_private(old)) {
            spin_unlock(e->object->lock, ipl);
            __atomic_thread_fence(__ATOMIC_ACQUIRE); /* with what the page has, as pt_load() */
            err = anon_fault_present(as, e, va, p, old, write);
            break;
        }
        err = try_unlock(as, e, p, va, write, &sp, &done, ipl);
    }
    if (done && write)
        tell_pager(e);
    spare_drop(&sp);
    index_nodes_drop(&sp.nodes);
    return err;
}

/* ---- the first access to a page of shared memory ---- */

/*
 * Where the last fault of an entry found no page in the object (map_entry.fresh), the next one
 * probably finds none either. So it brings a page, and takes the lock and looks once instead of
 * twice. If it was wrong, the page goes back, still zero, to the cache from which the next
 * allocation takes it: an access that the hint misleads costs no more than a hundred instructions.
 * Whatever is not as expected is left to the general way.
 */

/* Put page n, which is zero, into the object, and map it by the PTE p of `table`. Lock held. False:
   there is a page, or no place for one, and nothing has changed. */
static inline bool first_locked(const struct map_entry *e, vaddr_t va, struct page *table, pte_t *p,
                                uint64_t n)
{
    struct mm_object *o = e->object;
    uint64_t offset = offset_of(e, va);
    struct index_nodes none = {0};
    slot_t *s;

    if (unlikely(*p != 0 || offset >= o->npages))
        return false;
    s = index_create(o, offset, &none);
    if (unlikely(!s || *s != 0))
        return false;
    *s = slot_make(pfn_of(n), SLOT_W);
    page_of(pfn_of(n))->offset = (uint32_t)offset;
    o->resident++;
    pt_store(p, object_pte(e, pfn_of(n), true));
    __atomic_fetch_add(&table->aux, 1, __ATOMIC_RELAXED);
    pt_mark_in(table, p);
    return true;
}

/* A page of `o`, which has been charged and is zero. */
static inline uint64_t take_first(const struct aspace *as, struct mm_object *o, uint32_t charge)
{
    uint64_t n = page_quick_zeroed(as->pt.home_rad);

    if (n == 0)
        return page_take_zeroed(PAGE_T_OBJECT, as->pt.home_rad, charge, (uint64_t)o);
    page_entry_fresh(n, PAGE_T_OBJECT, charge, (uint64_t)o);
    return n;
}

int object_first_unlock(struct aspace *as, struct map_entry *e, vaddr_t va,
                        enum fault_access access)
{
    struct page *table;
    pte_t *p = pt_recent(&as->pt, va, &table);
    uint32_t charge;
    uint64_t n;
    bool mapped;
    ipl_t ipl;

    if (unlikely(!p || __atomic_load_n(p, __ATOMIC_RELAXED) != 0 || access == FAULT_EXEC ||
                 !(e->prot & MAP_W) || !page_quick_charge(&charge)))
        return aspace_fault_unlock(as, va, access);
    n = take_first(as, e->object, charge);
    ipl = spin_lock(e->object->lock);
    mapped = first_locked(e, va, table, p, n);
    spin_unlock(e->object->lock, ipl);
    if (unlikely(!mapped)) {
        __atomic_store_n(&e->fresh, 0, __ATOMIC_RELAXED);
        page_free_zeroed(pfn_of(n));
        return aspace_fault_unlock(as, va, access);
    }
    page_table_add_rss(&as->pt, 1);
    count_add(&as->counts.demand_zero, 1);
    count_add(&as->counts.faults, 1);
    return likely(mutex_quick_unlock_shared(&as->lock)) ? 0 : aspace_fault_release(as);
}

/* What is added to an object at once. */
struct batch {
    pfn_t pfns[BATCH_PAGES]; /* zero pages: `count` of them, of which `used` are in the object */
    unsigned count, used;
    struct index_nodes nodes;
};

/* Map the pages from number `from` up to n, from p and va on, adding pages of b to the object.
   Lock held. Returns how many were dealt with: fewer than there are when b lacks index nodes. */
static unsigned populate_locked(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va,
                                unsigned from, unsigned n, struct batch *b)
{
    struct mm_object *o = e->object;
    uint64_t offset = offset_of(e, va);
    unsigned i, mapped = 0;

    for (i = from; i < n; i++) {
        slot_t *s;

        if (pte_maps_page(va + i * PAGE_SIZE, p[i]))
            continue;
        s = index_create(o, offset + i, &b->nodes);
        if (!s)
            break;
        if (unlikely(*s & (SLOT_FILED | SLOT_AGED))) {
            if (*s & SLOT_FILED)
                continue; /* left to a fault, which reads it */
            *s &= ~SLOT_AGED;
        }
        if (!(*s & SLOT_PRESENT)) {
            if (b->used == b->count)
                continue; /* it was removed while the lock was not held: left to a fault */
            *s = slot_make(b->pfns[b->used], SLOT_W);
            object_page_own(o, offset + i, b->pfns[b->used++]);
            o->resident++;
        }
        pt_store(&p[i], object_pte(e, slot_pfn(*s), true));
        mapped++;
    }
    if (mapped) {
        pt_count(p, (int)mapped);
        pt_mark_range(p + from, i - from);
        page_table_add_rss(&as->pt, mapped);
    }
    return i - from;
}

/* Map n pages of an anonymous object, and add zero pages where it has none yet. p: PTE of va; all n
   PTEs are in one table. 0 or -ENOMEM. An object with a pager is left alone: the caller resolves a
   fault for each PTE that is still empty. */
static int object_populate_batch(struct aspace *as, struct map_entry *e, pte_t *p, vaddr_t va,
                                 unsigned n)
{
    struct batch b; /* without an initialiser, which would clear pfns */
    uint64_t offset = offset_of(e, va);
    unsigned done = 0;
    ipl_t ipl;

    if (e->object->ops)
        return 0;
    b.count = b.used = 0;
    b.nodes = (struct index_nodes){0};
    ipl = spin_lock(e->object->lock);
    for (unsigned i = 0; i < n; i++)
        b.count += !pte_maps_page(va + i * PAGE_SIZE, p[i]) &&
                   !(slot_at(e->object, offset + i) & (SLOT_PRESENT | SLOT_FILED));
    spin_unlock(e->object->lock, ipl);
    if (b.count == 0)
        return 0;
    if (page_alloc_bulk(PA_ZERO, PAGE_T_OBJECT, as->pt.home_rad, b.pfns, b.count) != 0)
        return -ENOMEM;
    do {
        ipl = spin_lock(e->object->lock);
        done += populate_locked(as, e, p, va, done, n, &b);
        spin_unlock(e->object->lock, ipl);
    } while (done < n && index_nodes_fill(&b.nodes)); /* no memory: left to a fault, which fails */
    index_nodes_drop(&b.nodes);
    if (b.used < b.count)
        page_free_bulk(&b.pfns[b.used], b.count - b.used);
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
        if (thread_killed())
            return -EINTR;
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
