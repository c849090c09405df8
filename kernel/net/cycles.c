/*
 * The search for sockets that cannot be reached.
 *
 * A flyer that has more references than flights has a descriptor, or is in use: it can be reached.
 * Of the others, the candidates, those are reached from outside that fly in the queue of a socket
 * that is no candidate: they have more flights than there are in the queues of candidates. Whatever
 * is in the queue of one that can be reached can be reached, too. The rest is lost.
 */
#include "kernel/net/cycles.h"

static bool is_candidate(const struct flyer *f) { return f->references <= f->flights; }

/* Call fn for each socket that is in the queue of f. */
static void each(const struct flyer *f, void (*fn)(struct flyer *in, struct list *work),
                 struct list *work)
{
    const struct carrier *c;

    list_for_each_entry(c, &f->carriers, link)
        for (uint32_t k = 0; k < c->n; k++)
            if (c->flyer[k])
                fn(c->flyer[k], work);
}

static void count(struct flyer *f, struct list *work)
{
    (void)work;
    f->inner++;
}

static void reach(struct flyer *f, struct list *work)
{
    if (!f->lost)
        return;
    f->lost = false;
    list_add_tail(work, &f->work);
}

unsigned cycles_find(struct list *all)
{
    struct list work = LIST_INIT(work), *l;
    struct flyer *f;
    unsigned n = 0;

    list_for_each_entry(f, all, link) {
        f->inner = 0;
        f->lost = is_candidate(f);
    }
    list_for_each_entry(f, all, link)
        if (f->lost)
            each(f, count, NULL);
    list_for_each_entry(f, all, link)
        if (f->inner < f->flights)
            reach(f, &work);
    while ((l = list_pop_head(&work)) != NULL)
        each(list_entry(l, struct flyer, work), reach, &work);
    list_for_each_entry(f, all, link)
        n += f->lost;
    return n;
}
