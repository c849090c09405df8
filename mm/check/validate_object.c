/*
 * The self-check of objects: index, pages, references, and the lists of map entries and copies. An
 * object is found from the map entries that map it, from its copies, or from the file or section
 * that holds it. The pages of an object that nothing refers to are reported as lost.
 */
#include "mm/check/validate_private.h"
#include "mm/object/mapping.h"

struct index_walk {
    struct validate *v;
    uint64_t resident, pending;
};

static bool one_slot(struct mm_object *o, uint64_t offset, slot_t *s, void *arg)
{
    struct index_walk *w = arg;

    if (*s & SLOT_BUSY)
        w->pending++;
    if (*s & SLOT_PRESENT) {
        w->resident++;
        validate_active(w->v, slot_pfn(*s), VALIDATE_OBJECT, PAGE_T_OBJECT, (uint64_t)o, offset);
    }
    return true;
}

static uint64_t entries_of(struct validate *v, const struct mm_object *o)
{
    const struct map_entry *e;
    uint64_t n = 0;

    list_for_each_entry(e, &o->entries, obj_link) {
        n++;
        if (e->object != o || e->obj_lock != o->lock)
            validate_error(v, "object %p: its entry at %lx maps another", (const void *)o,
                           e->start);
    }
    return n;
}

static uint64_t copies_of(struct validate *v, const struct mm_object *o)
{
    const struct mm_object *c;
    uint64_t n = 0;

    list_for_each_entry(c, &o->copies, copy_link) {
        n++;
        if (c->shadow != o || c->lock != o->lock)
            validate_error(v, "object %p: its copy %p has another source", (const void *)o,
                           (const void *)c);
    }
    return n;
}

static void one_object(struct validate *v, struct mm_object *o, uint32_t holders)
{
    struct index_walk w = {.v = v};
    uint64_t entries = entries_of(v, o), copies = copies_of(v, o);

    v->r.objects++;
    v->listed += entries;
    index_for_each(o, 0, UINT64_MAX, one_slot, &w);
    if (o->resident != w.resident || o->pending != w.pending)
        validate_error(v, "object %p: %lu pages, %lu requests, counted as %lu and %u", (void *)o,
                       w.resident, w.pending, o->resident, o->pending);
    /* A thread that waits for a pager holds a reference too, as long as its request is pending. */
    if (o->dead || o->ncopies != copies || o->refs < entries + copies + holders ||
        (o->refs > entries + copies + holders && o->pending == 0))
        validate_error(
            v, "object %p: %lu entries, %lu copies, %u holders, counted as %u, refs %u%s",
            (void *)o, entries, copies, holders, o->ncopies, o->refs, o->dead ? ", dead" : "");
}

void validate_object(struct validate *v, struct mm_object *o, uint32_t holders)
{
    for (; o && !validate_seen(v, &o->seen); o = o->shadow, holders = 0)
        one_object(v, o, holders);
}

void validate_file_object(struct validate *v, struct mm_object *o) { validate_object(v, o, 1); }
