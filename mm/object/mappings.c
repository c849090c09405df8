/*
 * The map entries of an object: a search tree (kernel/base/treap.h) in which each node knows the
 * largest end of its subtree, so that the entries that map a page are found in logarithmic time,
 * beside any number of entries that do not.
 *
 * The order is by first page and, among equals, by age. It makes a walk resumable that drops the
 * lock between two entries and goes on behind the last one that it visited (mm/object/rmap.c):
 * whoever gets PTEs from an entry gets a place behind it. A child's entry, made by fork, begins at
 * the same page and is younger. The upper part of a split entry begins at a later page. And a new
 * mapping has no PTEs.
 *
 * The youngest entries come and go most: those of children, and of programs that run for a moment.
 * So all but the OLD first entries of an object have smaller weights: an entry that has just come
 * lies below those, and comes and goes without a rotation. Of both kinds each is as random among
 * its like as in any treap, so a path is at most twice as long. A weight is made from the age and
 * the object's number. An entry that comes and goes gets the same place in memory again, so with a
 * hash of that it would have a bad place each time.
 */
#include "kernel/base/panic.h"
#include "mm/object/object_private.h"

#define OLD        8u
#define YOUNG_LESS 6u /* bits */

static inline struct object_mapping *mapping_of(struct treap_node *n)
{
    return container_of(n, struct object_mapping, node);
}

static inline struct map_entry *entry_of(struct object_mapping *m)
{
    return m ? container_of(m, struct map_entry, pages) : NULL;
}

static inline void update(struct treap_node *n)
{
    struct object_mapping *m = mapping_of(n);
    uint64_t max = m->end;

    if (n->left)
        max = MAX(max, mapping_of(n->left)->max_end);
    if (n->right)
        max = MAX(max, mapping_of(n->right)->max_end);
    m->max_end = max;
}

/* Bring the summaries from n up to date: what is above a node whose summary stays the same stays
   the same too. */
static void update_up(struct treap_node *n)
{
    for (; n; n = n->up) {
        uint64_t was = mapping_of(n)->max_end;

        update(n);
        if (mapping_of(n)->max_end == was)
            return;
    }
}

/* Of a mapping of o with that age. */
static inline uint32_t weight(const struct mm_object *o, uint64_t age)
{
    return treap_weight((uint64_t)o->number << 32 ^ age) >> (age < OLD ? 0 : YOUNG_LESS);
}

static inline void insert(struct mm_object *o, struct treap_node *n, struct treap_node *up,
                          struct treap_node **where)
{
    struct treap *t = &o->entries;
    struct object_mapping *m = mapping_of(n);
    uint64_t end = m->end;

    treap_link_with(n, up, where, weight(o, m->age));
    m->max_end = end;
    if (up && up->weight < n->weight) {
        do {
            treap_rotate_up(t, n);
            update(up);
        } while ((up = n->up) != NULL && up->weight < n->weight);
        update(n);
        end = m->max_end;
    }
    /* What is above an ancestor that ends no earlier does so too. */
    for (; up && mapping_of(up)->max_end < end; up = up->up)
        mapping_of(up)->max_end = end;
}

/* What is below n is merged from the top on, the heavier node first, and summed up from below: half
 * of what rotations take, on a path that can be long. */
static void take_out(struct treap *t, struct treap_node *n)
{
    struct treap_node *left = n->left, *right = n->right, *above = n->up, *last = above;
    struct treap_node **where = !above ? &t->root : above->left == n ? &above->left : &above->right;

    while (left && right) {
        if (left->weight > right->weight) {
            *where = left;
            left->up = last;
            last = left;
            where = &last->right;
            left = *where;
        } else {
            *where = right;
            right->up = last;
            last = right;
            where = &last->left;
            right = *where;
        }
    }
    *where = left ? left : right;
    if (*where)
        (*where)->up = last;
    for (; last != above; last = last->up)
        update(last);
    update_up(above);
}

static bool is_before(uint64_t first, uint64_t age, const struct object_mapping *m)
{
    return first < m->first || (first == m->first && age < m->age);
}

static void attach_locked(struct mm_object *o, struct map_entry *e, uint64_t npages)
{
    struct object_mapping *m = &e->pages;
    struct treap_node *up = NULL, **where = &o->entries.root;

    e->object = o;
    m->first = e->offset >> PAGE_SHIFT;
    m->end = m->first + npages;
    m->age = o->next_age++;
    while (*where) { /* it is the youngest of those that begin at the same page */
        up = *where;
        where = m->first < mapping_of(up)->first ? &up->left : &up->right;
    }
    insert(o, &m->node, up, where);
    o->nentries++;
    o->refs++;
}

void object_attach_entry(struct mm_object *o, struct map_entry *e)
{
    ipl_t ipl = spin_lock(o->lock);

    attach_locked(o, e, (e->end - e->start) >> PAGE_SHIFT);
    spin_unlock(o->lock, ipl);
}

void object_split_entry(struct map_entry *e, struct map_entry *second)
{
    struct mm_object *o = e->object;
    ipl_t ipl = spin_lock(o->lock);

    e->pages.end = second->offset >> PAGE_SHIFT;
    update_up(&e->pages.node);
    attach_locked(o, second, (second->end - second->start) >> PAGE_SHIFT);
    spin_unlock(o->lock, ipl);
}

void object_extend_entry(struct map_entry *e)
{
    struct mm_object *o = e->object;
    ipl_t ipl = spin_lock(o->lock);

    e->pages.end = e->pages.first + ((e->end - e->start) >> PAGE_SHIFT);
    update_up(&e->pages.node);
    spin_unlock(o->lock, ipl);
}

/* The first entry of the subtree, whose max_end is above `from`, that ends above it. */
static struct object_mapping *first_in(struct treap_node *n, uint64_t from)
{
    for (;;) {
        if (n->left && mapping_of(n->left)->max_end > from)
            n = n->left;
        else if (mapping_of(n)->end > from)
            return mapping_of(n);
        else
            n = n->right;
    }
}

/* The first from n on in the order that maps a page of [from, to). */
static struct map_entry *from_on(struct treap_node *n, uint64_t from, uint64_t to)
{
    struct object_mapping *m = NULL;

    for (; n && !m; n = n->up) { /* the first that ends above `from` */
        if (mapping_of(n)->end > from) {
            m = mapping_of(n);
            break;
        }
        if (n->right && mapping_of(n->right)->max_end > from) {
            m = first_in(n->right, from);
            break;
        }
        while (n->up && n->up->right == n)
            n = n->up;
    }
    return m && m->first < to ? entry_of(m) : NULL;
}

struct map_entry *object_entry_after(const struct mm_object *o, uint64_t first, uint64_t age,
                                     uint64_t from, uint64_t to)
{
    struct treap_node *n = o->entries.root, *next = NULL;

    while (n) { /* the next one in the order, whatever it maps */
        if (is_before(first, age, mapping_of(n))) {
            next = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return from_on(next, from, to);
}

struct map_entry *object_entry_behind(const struct map_entry *e, uint64_t from, uint64_t to)
{
    return from_on(treap_next(&e->pages.node), from, to);
}

struct map_entry *object_next_entry(const struct mm_object *o, const struct map_entry *after)
{
    struct treap_node *n = after ? treap_next(&after->pages.node) : treap_first(&o->entries);

    return n ? entry_of(mapping_of(n)) : NULL;
}

/* Does an entry map a page of [from, to)? Lock held. */
static bool is_mapped(const struct mm_object *o, uint64_t from, uint64_t to)
{
    struct treap_node *n = o->entries.root;
    struct object_mapping *m = n && mapping_of(n)->max_end > from ? first_in(n, from) : NULL;

    return m && m->first < to;
}

void object_detach_entry(struct map_entry *e)
{
    struct mm_object *o = e->object;
    ipl_t ipl = spin_lock(o->lock);
    uint64_t from = e->pages.first, to = e->pages.end;
    bool ours;

    take_out(&o->entries, &e->pages.node);
    o->nentries--;
    e->object = NULL;
    /* If e was part of a larger mapping, the object stays. Could only e reach its pages? Then
       nobody can any more: an entry that maps them could come from another one only. */
    ours = !o->ops && o->nentries && o->refs - o->held == o->nentries + 1 &&
           (o->resident | o->filed) && !is_mapped(o, from, to);
    if (ours) {
        spin_unlock(o->lock, ipl);
        (void)object_free_range(o, from, to, false);
        ipl = spin_lock(o->lock);
    }
    object_unref_unlock(o, ipl);
}
