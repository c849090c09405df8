/*
 * fork: copying an address space.
 *
 * The regions are copied first, then entry after entry through map_ops.fork. Private memory is
 * copied symmetrically (mm/object/object.c). Pages that no fork has shared belong to their PTEs and
 * first move into a new object. Then parent and child map the same object, both marked needs_copy,
 * and the parent's PTEs lose their write access. The child gets a copy of the read-only PTEs of
 * private memory, because it is about to access most of them and copying a PTE costs a tenth of a
 * fault. PTEs of shared memory are not copied: faults map them, 16 pages at a time and only where
 * the child accesses them.
 *
 * Locks: the parent's mutex is held exclusively, and the family's lock for one table at a time. The
 * parent's translations are flushed once, at the end, before the mutex is dropped and before the
 * child can run. Until then another thread of the parent may write through an old translation; that
 * is no different from a write before the fork.
 *
 * Out of memory: the incomplete child is destroyed. The parent's memory may have moved into objects
 * by then, which changes nothing that the parent can see.
 */
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "mm/object/object_pages.h"
#include "mm/pt/pt.h"
#include "mm/space/aspace_private.h"
#include "mm/space/region.h"

/* The arguments of the functions that handle an entry table by table. */
struct part {
    struct aspace *src, *dst;
    struct map_entry *e; /* of src */
    struct mm_object *o; /* reserve_slots, move_pages: the entry's new object */
    uint64_t pages;      /* reserve_slots: valid PTEs seen so far */
};

typedef int part_fn(struct part *x, pte_t *p, vaddr_t va, uint64_t n);

/* Call fn for each part of the entry that lies in one existing level-3 table. Stops at an error. */
static int for_each_part(struct part *x, part_fn *fn)
{
    struct map_entry *e = x->e;
    vaddr_t va = e->flags & MAPF_GROWSDOWN ? MAX(e->low, e->start) : e->start;

    while ((va = pt_skip_holes(&x->src->pt, va, e->end)) < e->end) {
        pte_t *p = pt_lookup(&x->src->pt, va, 3);
        uint64_t n = MIN(PTES_PER_PAGE - pte_l3_index(va), (e->end - va) >> PAGE_SHIFT);
        int err = __atomic_load_n(&pt_page_of(p)->aux, __ATOMIC_RELAXED) ? fn(x, p, va, n) : 0;

        if (err)
            return err;
        va += n << PAGE_SHIFT;
    }
    return 0;
}

/* First pass of the move: create the index nodes, so that the second pass cannot fail. */
static int reserve_slots(struct part *x, pte_t *p, vaddr_t va, uint64_t n)
{
    uint64_t offset = (va - x->e->start) >> PAGE_SHIFT;
    uint64_t have = UINT64_MAX; /* number of the leaf that was created last */

    for (uint64_t i = 0; i < n; i++) {
        if (!pte_maps_page(va + (i << PAGE_SHIFT), p[i]))
            continue;
        x->pages++;
        if ((offset + i) / INDEX_SLOTS == have)
            continue;
        if (!index_create(x->o, offset + i))
            return -ENOMEM;
        have = (offset + i) / INDEX_SLOTS;
    }
    return 0;
}

/* Second pass: put the pages into the index. */
static int move_pages(struct part *x, pte_t *p, vaddr_t va, uint64_t n)
{
    uint64_t offset = (va - x->e->start) >> PAGE_SHIFT;

    for (uint64_t i = 0; i < n; i++) {
        pte_t pte = p[i];

        if (!pte_maps_page(va + (i << PAGE_SHIFT), pte))
            continue;
        *index_create(x->o, offset + i) = slot_make(pte_pfn(pte), SLOT_W);
        object_page_own(x->o, offset + i, pte_pfn(pte));
        pt_store(&p[i], pte | PTE_SW_SHARED);
        x->o->resident++;
    }
    return 0;
}

/* Create an object that holds the pages of a private entry without one. An entry without pages
   stays as it is. 0 or -ENOMEM. */
static int move_into_object(struct part *x)
{
    struct map_entry *e = x->e;
    struct mm_object *o = object_create((e->end - e->start) >> PAGE_SHIFT, NULL, NULL);
    int err;

    if (!o)
        return -ENOMEM;
    x->o = o;
    err = for_each_part(x, reserve_slots);
    if (!err && x->pages) {
        for_each_part(x, move_pages); /* no lock: the object is not reachable yet */
        e->offset = 0;
        e->needs_copy = 0;
        object_attach_entry(o, e);
    }
    object_unref(o);
    return err;
}

/* Make the parent's PTEs of one table read-only and copy them to the child. 0 or -ENOMEM. */
static int share_ptes(struct part *x, pte_t *p, vaddr_t va, uint64_t n)
{
    uint32_t left = __atomic_load_n(&pt_page_of(p)->aux, __ATOMIC_RELAXED);
    pte_t *to = NULL;
    uint32_t copied = 0;
    int err = 0;
    ipl_t ipl = spin_lock(x->e->obj_lock);

    for (uint64_t i = 0; i < n && left; i++) {
        pte_t pte = p[i];

        if (!pte_maps_page(va + (i << PAGE_SHIFT), pte))
            continue;
        left--;
        if (pte & PTE_UWE) {
            pte = (pte & ~(PTE_KWE | PTE_UWE)) | PTE_FOW | PTE_SW_COW;
            pt_store(&p[i], pte);
        }
        if (!to) {
            to = pt_create(&x->dst->pt, va, 3);
            if (!to) {
                err = -ENOMEM;
                break;
            }
        }
        pt_store(&to[i], pte);
        copied++;
    }
    if (to && copied)
        pt_count(to, (int)copied);
    spin_unlock(x->e->obj_lock, ipl);
    x->dst->pt.rss += copied;
    x->dst->counts.rss_peak = x->dst->pt.rss; /* no atomics: dst is not reachable yet */
    return err;
}

int anon_fork(struct aspace *src, struct map_entry *e, struct aspace *dst, struct map_entry *child)
{
    struct part x = {.src = src, .dst = dst, .e = e};
    ipl_t ipl;
    int err;

    if (e->flags & MAPF_SHARED) {
        object_attach_entry(e->object, child);
        return 0;
    }
    if (!e->obj_lock) {
        err = move_into_object(&x);
        if (err || !e->obj_lock)
            return err;
    }
    ipl = spin_lock(e->obj_lock);
    e->needs_copy = 1;
    child->needs_copy = 1;
    child->offset = e->offset;
    object_attach_entry_locked(e->object, child);
    spin_unlock(e->obj_lock, ipl);
    return for_each_part(&x, share_ptes);
}

static int fork_entry(struct aspace *src, struct map_entry *e, struct aspace *dst)
{
    struct map_entry *child = map_entry_alloc();

    if (!child)
        return -ENOMEM;
    child->start = e->start;
    child->end = e->end;
    child->prot = e->prot;
    child->max_prot = e->max_prot;
    child->flags = e->flags;
    child->ops = e->ops;
    child->offset = e->offset;
    child->low = e->low;
    aspace_insert_locked(dst, child);
    return e->ops->fork ? e->ops->fork(src, e, dst, child) : 0;
}

struct aspace *aspace_fork(struct aspace *src)
{
    struct aspace *dst = aspace_new(src->pt.home_rad);
    struct map_entry *e;
    struct tb_gather g;
    int err;

    if (!dst)
        return NULL;
    mutex_lock(&src->lock);
    dst->next_region_id = src->next_region_id;
    err = region_fork_locked(src, dst);
    if (!err)
        list_for_each_entry(e, &src->entries, link) {
            err = fork_entry(src, e, dst);
            if (err)
                break;
        }
    tb_gather_begin(&g, &src->pt.loaded, TB_FORK);
    g.nvas = TB_GATHER_VAS + 1; /* everything */
    tb_gather_flush(&g);
    mutex_unlock(&src->lock);
    if (err) {
        aspace_unref(dst);
        return NULL;
    }
    return dst;
}
