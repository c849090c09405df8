/*
 * Page index of an object: offset in pages to slot_t (mm/object/object_private.h). Pure apart from
 * the pool; the object's lock is held around every call. Nodes stay for as long as the object, and
 * an emptied one is used again by the same offsets, but for those that were made for a page that
 * could not be had (index_trim).
 */
#include "kernel/base/bitops.h"
#include "mm/object/object_private.h"
#include "mm/pool/pool.h"

static struct index_node *node_alloc(struct mm_object *o)
{
    struct index_node *n = npp_alloc_zeroed(sizeof(*n));

    o->nodes += n != NULL;
    return n;
}

/* Number of offsets that a tree of this height reaches. */
static inline uint64_t capacity(unsigned height)
{
    return UINT64_C(1) << (INDEX_BITS * (height + 1));
}
static inline unsigned slot_at(uint64_t offset, unsigned height)
{
    return (offset >> (INDEX_BITS * height)) & (INDEX_SLOTS - 1);
}

slot_t *index_find(struct mm_object *o, uint64_t offset)
{
    struct index_node *n = o->root;
    unsigned h = o->height;

    if (likely(h == 0)) {
        if (!n || (offset & ~(uint64_t)(INDEX_SLOTS - 1)) != o->leaf_base)
            return NULL;
        return &n->slot[offset & (INDEX_SLOTS - 1)];
    }
    if (offset >= capacity(h))
        return NULL;
    for (; h > 0; h--) {
        n = (struct index_node *)n->slot[slot_at(offset, h)];
        if (!n)
            return NULL;
    }
    return &n->slot[offset & (INDEX_SLOTS - 1)];
}

#define HEIGHT_MAX 11 /* 64 bits of offset, six a level */

/* Put a lone leaf into its place in a tree that reaches it. */
static bool grow_leaf(struct mm_object *o)
{
    struct index_node *made[HEIGHT_MAX];
    struct index_node *down = o->root;
    unsigned height = 1;

    while (height + 1 < HEIGHT_MAX && capacity(height) <= o->leaf_base)
        height++;
    for (unsigned h = 1; h <= height; h++) {
        made[h] = node_alloc(o);
        if (!made[h]) {
            while (--h > 0) {
                npp_free(made[h], sizeof(*made[h]));
                o->nodes--;
            }
            return false;
        }
    }
    for (unsigned h = 1; h <= height; h++) {
        made[h]->slot[slot_at(o->leaf_base, h)] = (uint64_t)down;
        down = made[h];
    }
    o->root = down;
    o->height = (uint8_t)height;
    return true;
}

/* Add a level on top. */
static bool grow(struct mm_object *o)
{
    struct index_node *top;

    if (o->height == 0)
        return grow_leaf(o);
    top = node_alloc(o);
    if (!top)
        return false;
    top->slot[0] = (uint64_t)o->root;
    o->root = top;
    o->height++;
    return true;
}

static bool is_empty(const struct index_node *n)
{
    for (unsigned i = 0; i < INDEX_SLOTS; i++)
        if (n->slot[i])
            return false;
    return true;
}

/* The only child of a node; NULL: there are several. *i: which. */
static struct index_node *only_child(const struct index_node *n, unsigned *i)
{
    unsigned children = 0;

    for (unsigned k = 0; k < INDEX_SLOTS; k++)
        if (n->slot[k]) {
            *i = k;
            children++;
        }
    return children == 1 ? (struct index_node *)n->slot[*i] : NULL;
}

static void node_drop(struct mm_object *o, struct index_node *n)
{
    npp_free(n, sizeof(*n));
    o->nodes--;
}

/* No level on top that has one way down for the lowest offsets; and above a single leaf nothing is
   needed: it stands alone, wherever it is. */
static void shrink(struct mm_object *o)
{
    struct index_node *n, *next;
    uint64_t base = 0;
    unsigned i = 0;

    while (o->height > 0 && (next = only_child(o->root, &i)) != NULL && i == 0) {
        node_drop(o, o->root);
        o->root = next;
        o->leaf_base = 0;
        o->height--;
    }
    if (o->height == 0)
        return;
    n = o->root;
    for (unsigned h = o->height; h > 0; h--, n = next) {
        next = only_child(n, &i);
        if (!next)
            return;
        base |= (uint64_t)i << (INDEX_BITS * h);
    }
    for (n = o->root; o->height > 0; o->height--, n = next) {
        next = only_child(n, &i);
        node_drop(o, n);
    }
    o->root = n;
    o->leaf_base = base;
}

void index_trim(struct mm_object *o, uint64_t offset)
{
    struct index_node *path[HEIGHT_MAX + 1], *n = o->root;
    unsigned h = o->height;

    if (h == 0 ? o->leaf_base != (offset & ~(uint64_t)(INDEX_SLOTS - 1)) : offset >= capacity(h))
        return;
    for (; n && h > 0; h--) {
        path[h] = n;
        n = (struct index_node *)n->slot[slot_at(offset, h)];
    }
    path[h] = n;
    for (h += n == NULL; h <= o->height && path[h] && is_empty(path[h]); h++) {
        node_drop(o, path[h]);
        if (h == o->height)
            o->root = NULL;
        else
            path[h + 1]->slot[slot_at(offset, h + 1)] = 0;
    }
    if (!o->root)
        o->height = 0;
    else
        shrink(o);
}

/* The slot, with what nodes it takes; NULL: there was no memory for all of them. */
static slot_t *create(struct mm_object *o, uint64_t offset)
{
    struct index_node *n;

    if (!o->root) {
        o->root = node_alloc(o);
        if (!o->root)
            return NULL;
        o->leaf_base = offset & ~(uint64_t)(INDEX_SLOTS - 1);
    }
    if (o->height == 0 ? o->leaf_base != (offset & ~(uint64_t)(INDEX_SLOTS - 1))
                       : offset >= capacity(o->height)) {
        do {
            if (!grow(o))
                return NULL;
        } while (offset >= capacity(o->height));
    }
    n = o->root;
    for (unsigned h = o->height; h > 0; h--) {
        uint64_t *down = &n->slot[slot_at(offset, h)];

        if (!*down) {
            *down = (uint64_t)node_alloc(o);
            if (!*down)
                return NULL;
        }
        n = (struct index_node *)*down;
    }
    n->used |= UINT64_C(1) << (offset & (INDEX_SLOTS - 1));
    return &n->slot[offset & (INDEX_SLOTS - 1)];
}

slot_t *index_create(struct mm_object *o, uint64_t offset)
{
    slot_t *s = create(o, offset);

    if (unlikely(!s))
        index_trim(o, offset);
    return s;
}

typedef bool slot_fn(struct mm_object *o, uint64_t offset, slot_t *s, void *arg);

static bool leaf_for_each(struct mm_object *o, struct index_node *leaf, uint64_t base,
                          uint64_t from, uint64_t to, slot_fn *fn, void *arg)
{
    for (uint64_t used = leaf->used; used; used &= used - 1) {
        unsigned i = bit_lowest(used);
        uint64_t offset = base + i;

        if (offset < from || offset >= to)
            continue;
        if (leaf->slot[i] && !fn(o, offset, &leaf->slot[i], arg))
            return false;
        if (!leaf->slot[i])
            leaf->used &= ~(UINT64_C(1) << i);
    }
    return true;
}

static bool node_for_each(struct mm_object *o, struct index_node *n, unsigned h, uint64_t base,
                          uint64_t from, uint64_t to, slot_fn *fn, void *arg)
{
    uint64_t span = UINT64_C(1) << (INDEX_BITS * h); /* offsets behind one slot */

    if (h == 0)
        return leaf_for_each(o, n, base, from, to, fn, arg);
    for (unsigned i = 0; i < INDEX_SLOTS; i++) {
        uint64_t start = base + i * span;

        if (n->slot[i] && start < to && start + span > from &&
            !node_for_each(o, (struct index_node *)n->slot[i], h - 1, start, from, to, fn, arg))
            return false;
    }
    return true;
}

void index_for_each(struct mm_object *o, uint64_t from, uint64_t to, slot_fn *fn, void *arg)
{
    if (!o->root)
        return;
    if (o->height == 0)
        leaf_for_each(o, o->root, o->leaf_base, from, to, fn, arg);
    else
        node_for_each(o, o->root, o->height, 0, from, to, fn, arg);
}

static void node_free(struct index_node *n, unsigned h)
{
    if (h > 0)
        for (unsigned i = 0; i < INDEX_SLOTS; i++)
            if (n->slot[i])
                node_free((struct index_node *)n->slot[i], h - 1);
    npp_free(n, sizeof(*n));
}

void index_free(struct mm_object *o)
{
    if (o->root)
        node_free(o->root, o->height);
    o->root = NULL;
    o->height = 0;
}
