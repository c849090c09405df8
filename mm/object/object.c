/*
 * Objects: what address spaces map.
 *
 * An object is a set of pages with an index (mm/object/object_index.c), perhaps a pager that has
 * what is not there, perhaps a shadow: the object that it was copied from, looked at where the
 * object itself has no page. Who owns a page? The object whose index holds it; nothing else counts
 * mappings. A PTE that maps an object's page is found from the object: its list of map entries, and
 * those of its copies (mm/object/rmap.c). So mapping and unmapping cost no atomic operation on the
 * page, and a page leaves its object only after its PTEs were found and flushed, or when no entry
 * can reach it.
 *
 * Symmetric copy (mm/space/fork.c, mm/object/object_copy.c): fork lets parent and child map the
 * same object, both marked needs_copy, all PTEs read-only. Whoever writes first gets a new, empty
 * object in front, whose shadow is the shared one:
 *
 *     before the fork       after it                 after the parent wrote       after the child
 * ended parent -> O           parent --> O             parent -> S -> O             parent -> S or
 * O, merged child  --'               child  ------'
 *
 * Reading through a shadow maps the source's page and copies nothing. When only one copy is left as
 * an object's user the two are merged (object_collapse_locked), so chains stay as long as there are
 * live users at every joint, and no longer.
 *
 * Locks: an object and everything that was ever copied from it, its family, share one spinlock out
 * of a fixed number (RANK_OBJECT), because a fault walks from copy to source and a reverse walk the
 * other way, and both would need several locks of one rank. Two families may share a lock by
 * chance, which costs contention only. It protects the objects' fields, their indexes and lists,
 * the entries' object, offset and needs_copy, and the level-3 PTEs of entries with an object. Pager
 * operations are called without it.
 *
 * Out of memory: an index node or an object that cannot be had makes the fault or the call fail
 * with -ENOMEM before anything has changed. A merge that runs out of memory stops half way, which
 * is consistent: a page is found in either object.
 *
 * A process that dies: its entries are detached; an object whose last reference goes while a pager
 * still owes answers stays, dead and unreachable, until the last of them.
 */
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "mm/object/object_private.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"

#define FAMILIES   64u /* more than CPUs by far, so that unrelated families seldom meet */
#define FREE_BATCH 32u

static struct spinlock family_locks[FAMILIES] = {
    [0 ... FAMILIES - 1] = SPINLOCK_INIT("object family", RANK_OBJECT, IPL_ASTDEL)};
static uint32_t next_family; /* atomic */

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

/* Free the pages of [from,to), which no PTE maps. */
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
 * Goes down the chain of shadows, under one hold of the lock: a reference alone does not keep an
 * object in its place. Were the lock dropped before the shadow's turn, the shadow could meanwhile
 * be merged into its own source, which takes over its references, and be freed:
 *
 *     here: o goes, o -> S remembered        there: the other user of T (S -> T) goes
 *                                            T has one user left: S is merged into T and freed
 *     here: S->refs-- in freed memory
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
            list_add_tail(&doomed, &o->copy_link); /* else the last answer frees it */
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
    if (e->obj_lock !=
        o->lock) /* read without the lock; a new object of the same family changes nothing */
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

/* A part of a split mapping goes: are the pages behind it out of everybody's reach? */
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
    return entries == o->refs - 1; /* else somebody outside holds it */
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
