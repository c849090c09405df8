/*
 * The self-check of objects: index, pages, references, and the tree of map entries. An object is
 * found from the map entries that map it, or from the file or section that holds it. The pages of
 * an object that nothing refers to are reported as lost.
 */
#include "kernel/base/bitops.h"
#include "mm/check/validate_private.h"
#include "mm/object/mapping.h"

struct index_walk {
    struct validate *v;
    uint64_t resident, filed, pending;
};

static bool one_slot(struct mm_object *o, uint64_t offset, slot_t *s, void *arg)
{
    struct index_walk *w = arg;

    w->pending += bit_count(*s & SLOT_REQUESTED) + (*s & SLOT_WALKS) / SLOT_WALK;
    if (*s & SLOT_PRESENT) {
        w->resident++;
        validate_active(w->v, slot_pfn(*s), VALIDATE_OBJECT, PAGE_T_OBJECT, (uint64_t)o, offset);
    } else if (*s & SLOT_FILED) {
        w->filed++;
        if (!pagefile_check_slot(slot_filed(*s)))
            validate_error(w->v,
                           "object %p: page %lx has slot %x, which is not there, or others have",
                           (void *)o, offset, slot_filed(*s));
    }
    return true;
}

/* Check the tree of map entries: order, contents, summaries. Returns the number of entries. */
static uint64_t entries_of(struct validate *v, const struct mm_object *o)
{
    const struct map_entry *e = NULL, *before = NULL;
    uint64_t n = 0, max = 0;

    while ((e = object_next_entry(o, e)) != NULL) {
        uint64_t first = e->offset >> PAGE_SHIFT;

        n++;
        max = MAX(max, e->pages.end);
        if (e->object != o || e->pages.first != first ||
            e->pages.end != first + ((e->end - e->start) >> PAGE_SHIFT))
            validate_error(v, "object %p: its entry at %lx maps another, or other pages",
                           (const void *)o, e->start);
        if (before && (before->pages.first > first ||
                       (before->pages.first == first && before->pages.age >= e->pages.age)))
            validate_error(v, "object %p: its entry at %lx is out of order", (const void *)o,
                           e->start);
        before = e;
    }
    if (n && container_of(o->entries.root, struct object_mapping, node)->max_end != max)
        validate_error(v, "object %p: its entries end at page %lx, not where their tree says",
                       (const void *)o, max);
    return n;
}

static void one_object(struct validate *v, struct mm_object *o, uint32_t holders)
{
    struct index_walk w = {.v = v};
    uint64_t entries = entries_of(v, o);
    uint32_t others = holders + o->held;

    v->r.objects++;
    v->listed += entries;
    index_for_each(o, 0, UINT64_MAX, one_slot, &w);
    if (o->resident != w.resident || o->pending != w.pending)
        validate_error(v, "object %p: %lu pages, %lu requests, counted as %lu and %u", (void *)o,
                       w.resident, w.pending, o->resident, o->pending);
    if (o->filed != w.filed)
        validate_error(v, "object %p: %lu pages in page files, counted as %lu", (void *)o, w.filed,
                       o->filed);
    /* A thread that waits for a pager holds a reference too, as long as its request is pending. */
    if (o->dead || o->nentries != entries || o->refs < entries + others ||
        (o->refs > entries + others && o->pending == 0))
        validate_error(v, "object %p: %lu entries, counted as %u, %u holders, refs %u%s", (void *)o,
                       entries, o->nentries, others, o->refs, o->dead ? ", dead" : "");
}

void validate_object(struct validate *v, struct mm_object *o, uint32_t holders)
{
    if (!validate_seen(v, &o->seen))
        one_object(v, o, holders);
}

void validate_held_objects(struct validate *v)
{
    for (unsigned k = 0; k < OBJECT_LOCKS; k++) {
        struct mm_object *o;
        struct list *all;

        (void)object_list(k, &all);
        if (!all->next)
            continue;
        list_for_each_entry(o, all, link)
            if (o->held)
                validate_object(v, o, 0);
    }
}

void validate_file_object(struct validate *v, struct mm_object *o) { validate_object(v, o, 1); }
