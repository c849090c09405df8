/*
 * Symmetric copy: inserting an object between an entry and its object, and merging two objects of
 * which one is the other's only user. mm/object/object.c has a picture. `front` is the copy here,
 * `source` its shadow.
 *
 * Where both begin at the same page and the front is no shorter, a merge keeps the object with more
 * resident pages and moves the pages of the other: the parent of many short-lived children has few
 * pages in the front, those that it wrote, and all others in the source. Otherwise the front stays.
 *
 * All of it runs under the family's lock. A merge that runs out of memory for index nodes leaves
 * both objects, each page in one of them.
 */
#include "kernel/base/panic.h"
#include "mm/object/object_private.h"

bool object_shadow_entry_locked(struct map_entry *e)
{
    struct mm_object *o = e->object;
    struct mm_object *front = object_create_in(o->lock, (e->end - e->start) >> PAGE_SHIFT);

    if (!front)
        return false;
    front->shadow = o; /* takes over the entry's reference */
    front->shadow_offset = e->offset >> PAGE_SHIFT;
    list_add_head(&o->copies, &front->copy_link);
    o->ncopies++;
    list_remove(&e->obj_link);
    object_attach_entry_locked(front, e);
    e->offset = 0;
    e->needs_copy = 0;
    return true;
}

/* The arguments of move_slot, which moves one page between the two objects of a merge. */
struct move {
    struct mm_object *to;
    uint64_t minus; /* subtract this from an offset to get the offset in `to` */
    bool override;  /* replace a page that `to` has already; otherwise that page hides ours */
    bool stopped;   /* result: no memory for an index node, the remaining pages were not moved */
};

static bool move_slot(struct mm_object *from, uint64_t offset, slot_t *s, void *arg)
{
    struct move *m = arg;
    slot_t *there;

    KASSERT(!(*s & SLOT_BUSY), "an anonymous object waits for no pager");
    there = index_create(m->to, offset - m->minus);
    if (!there) {
        m->stopped = true;
        return false;
    }
    if (*there & SLOT_PRESENT) {
        if (!m->override)
            return true;              /* it stays in `from` and is freed with it */
        page_unref(slot_pfn(*there)); /* hidden by ours, so nothing maps it */
        m->to->resident--;
    }
    *there = *s;
    *s = 0;
    object_page_own(m->to, offset - m->minus, slot_pfn(*there));
    m->to->resident++;
    from->resident--;
    return true;
}

/* Keep the source: move the front's pages into it, and make the front's users its users. Returns
   the front, or NULL when memory ran out. */
static struct mm_object *merge_into_source(struct mm_object *source, struct mm_object *front)
{
    struct move m = {.to = source, .override = true};
    struct map_entry *e;
    struct mm_object *c;

    index_for_each(front, 0, UINT64_MAX, move_slot, &m);
    if (m.stopped)
        return NULL;
    list_remove(&front->copy_link);
    list_for_each_entry(e, &front->entries, obj_link)
        e->object = source;
    list_splice_tail(&source->entries, &front->entries);
    list_for_each_entry(c, &front->copies, copy_link)
        c->shadow = source;
    list_splice_tail(&source->copies, &front->copies);
    source->npages = front->npages;
    source->ncopies = front->ncopies;
    source->refs = front->refs;
    front->refs = 0;
    front->shadow = NULL;
    return front;
}

/* Keep the front: move those of the source's pages that it can see into it, and make the source's
   shadow its shadow. Returns the source, or NULL when memory ran out. */
static struct mm_object *merge_into_front(struct mm_object *source, struct mm_object *front)
{
    struct move m = {.to = front, .minus = front->shadow_offset};

    if (source->resident)
        index_for_each(source, front->shadow_offset, front->shadow_offset + front->npages,
                       move_slot, &m);
    if (m.stopped)
        return NULL;
    list_remove(&front->copy_link);
    front->shadow = source->shadow;
    front->shadow_offset += source->shadow_offset;
    if (source->shadow) {
        list_remove(&source->copy_link);
        list_add_head(&source->shadow->copies, &front->copy_link);
    }
    source->shadow = NULL;
    source->refs = 0;
    source->ncopies = 0;
    return source;
}

struct mm_object *object_collapse_locked(struct mm_object *o)
{
    struct mm_object *front = list_first_entry(&o->copies, struct mm_object, copy_link);

    if (!list_empty(&o->entries))
        return NULL;
    if (front->shadow_offset == 0 && front->npages >= o->npages && o->resident > front->resident)
        return merge_into_source(o, front);
    return merge_into_front(o, front);
}
