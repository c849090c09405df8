/*
 * Memory objects: creation, references, the entries that map an object, and truncation.
 *
 * An object is a set of pages with an index (mm/object/object_index.c). It may have a pager, which
 * supplies the pages that are not present, and it may have a shadow: the object that it was copied
 * from, in which a page is looked up that the object itself does not have. A page belongs to the
 * object whose index holds it; mappings are not counted. The PTEs that map a page are found from
 * the object, through its list of map entries and those of its copies (mm/object/rmap.c). So
 * mapping and unmapping cost no atomic operation on the page, and a page leaves its object only
 * after its PTEs have been found, cleared and flushed, or when no entry can reach it.
 *
 * Symmetric copy (mm/space/fork.c, mm/object/object_copy.c): after a fork, parent and child map the
 * same object. Both entries are marked needs_copy and all their PTEs are read-only. An entry that
 * is then written gets a new, empty object, whose shadow is the shared one; the page that is
 * written is copied into it.
 *
 *     before the fork           parent ---------> O
 *
 *     after the fork            parent ----+----> O     both entries marked needs_copy
 *                               child  ----'
 *
 *     after the parent wrote    parent -> S -+--> O     S has the pages that were written;
 *                               child  ------'          its shadow is O
 *
 *     after the child ended     parent ---------> S     S and O have been merged into S, or into O
 *                                                       if O had more resident pages
 *
 * Reading through a shadow maps the source's page and copies nothing. When a copy is the only user
 * left of an object the two are merged (object_collapse_locked), so every object of a chain, except
 * the first, has at least two users or a pager.
 *
 * Locks: a family is an object and everything that was ever copied from it. It shares one spinlock
 * (RANK_OBJECT) out of a fixed number, because a fault walks from copy to source and a reverse walk
 * in the other direction, and with a lock for each object both would need several locks of one
 * rank. Families that happen to share a lock contend for it, which does no other harm. The lock
 * protects the objects' fields, indexes and lists, the fields object, offset and needs_copy of
 * their entries (mm/object/mapping.h), and the level-3 PTEs of these entries. Pager operations are
 * called without it.
 *
 * Out of memory: when no index node or object can be allocated, the fault or call fails with
 * -ENOMEM before anything has changed. A merge that runs out of memory stops half-way, which is
 * consistent: each page is in one of the two objects, and a lookup finds it there.
 *
 * When a process ends, its entries are detached. An object whose last reference goes while a pager
 * still owes answers stays, marked dead and unreachable, until the last answer.
 */
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "mm/object/object_private.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"

#define FAMILIES   64u /* far more than CPUs: two families in use rarely share a lock */
#define FREE_BATCH 32u /* pages freed at once */

static struct spinlock family_locks[FAMILIES] = {
    [0 ... FAMILIES - 1] = SPINLOCK_INIT("object family", RANK_OBJECT, IPL_ASTDEL)};
static uint32_t next_family; /* families get the locks in turn; atomic */

struct mm_object *object_create_in(struct spinlock *family, uint64_t npages)
{
    struct mm_object *o = npp_alloc(sizeof(*o));

    KASSERT(npages <= OBJECT_MAX_PAGES, "a page's number in its object fits its entry");
    if (!o)
        return NULL;
    *o = (struct mm_object){.lock = family, .npages = npages};
    list_init(&o->copies);
    list_init(&o->copy_link);
    list_init(&o->entries);
    return o;
}

struct mm_object *object_create(uint64_t npages, const struct pager_ops *ops, void *pager_data)
{
    uint32_t n = __atomic_fetch_add(&next_family, 1, __ATOMIC_RELAXED);
    struct mm_object *o = object_create_in(&family_locks[n % FAMILIES], npages);

    if (o) {
        o->refs = 1;
        o->ops = ops;
        o->pager_data = pager_data;
    }
    return o;
}

void *object_pager_data(struct mm_object *o) { return o->pager_data; }

void object_measure(struct mm_object *o, uint64_t *resident, uint64_t *pool_bytes)
{
    ipl_t ipl = spin_lock(o->lock);

    *resident = o->resident;
    *pool_bytes = sizeof(*o) + o->nodes * sizeof(struct index_node);
    spin_unlock(o->lock, ipl);
}

void object_census(struct census *c, const struct mm_object *o)
{
    census_explain(c, CENSUS_NONPAGED, sizeof(*o), 1);
    census_explain(c, CENSUS_NONPAGED, sizeof(struct index_node), o->nodes);
}

void object_ref(struct mm_object *o)
{
    ipl_t ipl = spin_lock(o->lock);

    KASSERT(o->refs != 0, "a reference is made from another one");
    o->refs++;
    spin_unlock(o->lock, ipl);
}

struct page_batch {
    uint32_t n;
    pfn_t pages[FREE_BATCH];
};

static bool free_slot(struct mm_object *o, uint64_t offset, slot_t *s, void *arg)
{
    struct page_batch *b = arg;
    pfn_t pfn = slot_pfn(*s);
    bool present = (*s & SLOT_PRESENT) != 0;

    (void)offset;
    *s = 0;
    if (!present)
        return true;
    o->resident--;
    if (__atomic_load_n(&page_of(pfn)->refcnt, __ATOMIC_ACQUIRE) != 1) {
        page_unref(pfn);
        return true;
    }
    if (b->n == FREE_BATCH) {
        page_free_bulk(b->pages, b->n);
        b->n = 0;
    }
    b->pages[b->n++] = pfn;
    return true;
}

/* Free the pages of [from, to), which no PTE maps. Lock held, or o unreachable. */
static void free_range(struct mm_object *o, uint64_t from, uint64_t to)
{
    struct page_batch b;

    if (o->resident == 0)
        return;
    b.n = 0;
    index_for_each(o, from, to, free_slot, &b);
    if (b.n)
        page_free_bulk(b.pages, b.n);
}

void object_free_memory(struct mm_object *o)
{
    free_range(o, 0, UINT64_MAX);
    if (o->ops && o->ops->end)
        o->ops->end(o);
    index_free(o);
    npp_free(o, sizeof(*o));
}

/*
 * Walks down the chain of shadows under one hold of the lock, because a reference does not keep an
 * object from being merged. If the lock were dropped before the shadow's reference is, the shadow
 * could be merged into its own source, which takes over its references, and be freed:
 *
 *     this CPU                                another CPU
 *     last reference to o is dropped,
 *     remembers S, the shadow of o
 *                                             the other user of T, the shadow of S, goes away
 *                                             T has one user left: S is merged into T and freed
 *     S->refs-- in freed memory
 */
void object_unref_unlock(struct mm_object *o, ipl_t ipl)
{
    struct spinlock *lock = o->lock;
    struct list doomed = LIST_INIT(doomed), *l;

    while (o) {
        struct mm_object *shadow, *victim = NULL;

        KASSERT(o->refs != 0, "a reference that is dropped exists");
        o->refs--;
        if (o->refs != 0) {
            if (o->refs == 1 && o->ncopies == 1 && !o->ops)
                victim = object_collapse_locked(o);
            if (victim)
                list_add_tail(&doomed, &victim->copy_link);
            break;
        }
        shadow = o->shadow;
        if (shadow) {
            list_remove(&o->copy_link);
            shadow->ncopies--;
            o->shadow = NULL;
        }
        o->dead = true;
        if (o->pending == 0)
            list_add_tail(&doomed, &o->copy_link); /* otherwise the last answer frees it */
        o = shadow;
    }
    spin_unlock(lock, ipl);
    while ((l = list_pop_head(&doomed)))
        object_free_memory(list_entry(l, struct mm_object, copy_link));
}

void object_unref(struct mm_object *o)
{
    ipl_t ipl = spin_lock(o->lock);

    object_unref_unlock(o, ipl);
}

void object_attach_entry_locked(struct mm_object *o, struct map_entry *e)
{
    e->object = o;
    /* obj_lock is read without a lock: it is not stored again for an object of the same family. */
    if (e->obj_lock != o->lock)
        e->obj_lock = o->lock;
    list_add_tail(&o->entries, &e->obj_link);
    o->refs++;
}

void object_attach_entry(struct mm_object *o, struct map_entry *e)
{
    ipl_t ipl = spin_lock(o->lock);

    object_attach_entry_locked(o, e);
    spin_unlock(o->lock, ipl);
}

static uint64_t entry_first(const struct map_entry *e) { return e->offset >> PAGE_SHIFT; }
static uint64_t entry_pages(const struct map_entry *e) { return (e->end - e->start) >> PAGE_SHIFT; }

/* An entry is detached that was part of a larger mapping, so the object stays. Could only this
   entry reach the pages that it mapped? Lock held; `gone` is off the list, its reference is not
   dropped yet. */
static bool only_ours(const struct mm_object *o, const struct map_entry *gone)
{
    uint64_t first = entry_first(gone), last = first + entry_pages(gone), entries = 0;
    const struct map_entry *e;

    if (o->ops || o->ncopies)
        return false;
    list_for_each_entry(e, &o->entries, obj_link) {
        if (entry_first(e) < last && first < entry_first(e) + entry_pages(e))
            return false;
        entries++;
    }
    return entries == o->refs - 1; /* otherwise something that is no entry holds a reference */
}

void object_detach_entry(struct map_entry *e)
{
    ipl_t ipl = spin_lock(e->obj_lock);
    struct mm_object *o = e->object;

    list_remove(&e->obj_link);
    e->object = NULL;
    if (o->refs > 1 && only_ours(o, e))
        free_range(o, entry_first(e), entry_first(e) + entry_pages(e));
    object_unref_unlock(o, ipl);
}

struct mm_object *object_base_get(struct map_entry *e, uint64_t *offset)
{
    ipl_t ipl = spin_lock(e->obj_lock);
    struct mm_object *o = e->object;

    *offset = e->offset;
    for (; o && !o->ops; o = o->shadow)
        *offset += o->shadow_offset << PAGE_SHIFT;
    if (o)
        o->refs++;
    spin_unlock(e->obj_lock, ipl);
    return o;
}

static bool truncate_slot(struct mm_object *o, uint64_t offset, slot_t *s, void *arg)
{
    (void)arg;
    if (*s & SLOT_PRESENT)
        object_take_page_locked(o, offset, s);
    return true;
}

void object_truncate(struct mm_object *o, uint64_t npages)
{
    ipl_t ipl = spin_lock(o->lock);

    KASSERT(npages <= OBJECT_MAX_PAGES, "a page's number in its object fits its entry");
    o->npages = npages;
    index_for_each(o, npages, UINT64_MAX, truncate_slot, NULL);
    spin_unlock(o->lock, ipl);
}
