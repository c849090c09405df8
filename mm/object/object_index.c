/*
 * Page index of an object: a radix tree that maps an offset in pages to a slot_t
 * (mm/object/object_pages.h). Depends on nothing but the pool. The caller holds the object's lock.
 *
 * A node is freed with the object, or when a range is freed and it has become empty, or when it was
 * created for a page for which there was then no memory (index_trim), so that a failed access
 * leaves no pool allocated. Each node has a bit map of its slots, so that none of the functions
 * here that are called with the lock held looks at slot after slot of a node.
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

#define HEIGHT_MAX 11 /* 64 bits of offset, six bits a level, rounded up */

/* Build the lowest tree that reaches the lone leaf's offsets and put the leaf into it. False: out
   of memory, nothing changed. */
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
        made[h]->used = UINT64_C(1) << slot_at(o->leaf_base, h);
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
    top->used = 1;
    o->root = top;
    o->height++;
    return true;
}

/* Is the node empty? Of a leaf, `used` says which slots may be nonempty. */
static bool is_empty(struct index_node *n, unsigned height)
{
    for (uint64_t used = n->used; height == 0 && used; used &= used - 1) {
        unsigned i = bit_lowest(used);

        if (n->slot[i])
            return false;
        n->used &= ~(UINT64_C(1) << i);
    }
    return n->used == 0;
}

/* The only child of a node, with its slot number in *i; NULL: it has several. */
static struct index_node *only_child(const struct index_node *n, unsigned *i)
{
    *i = bit_lowest(n->used);
    return n->used & (n->used - 1) ? NULL : (struct index_node *)n->slot[*i];
}

static void node_drop(struct mm_object *o, struct index_node *n)
{
    npp_free(n, sizeof(*n));
    o->nodes--;
}

/* Remove levels that are not needed: a root whose only child is that of the lowest offsets; and all
   levels above a single leaf, which then becomes the root with its offset in leaf_base. */
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
    for (h += n == NULL; h <= o->height && path[h] && is_empty(path[h], h); h++) {
        node_drop(o, path[h]);
        if (h == o->height) {
            o->root = NULL;
        } else {
            path[h + 1]->slot[slot_at(offset, h + 1)] = 0;
            path[h + 1]->used &= ~(UINT64_C(1) << slot_at(offset, h + 1));
        }
    }
    if (!o->root)
        o->height = 0;
    else
        shrink(o);
}

/* Find or create the slot and the nodes on the way to it. NULL: out of memory; the nodes that were
   created stay, for the caller to trim. */
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
            n->used |= UINT64_C(1) << slot_at(offset, h);
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

struct index_node *index_last_leaf(struct mm_object *o, uint64_t from, uint64_t below,
                                   uint64_t *base)
{
    struct index_node *n, *next;
    uint64_t at = 0, last = below - 1; /* go down to the leaf of `last`, or to the last before it */
    unsigned h;

    if (!o->root || from >= below)
        return NULL;
    if (o->height == 0) {
        *base = o->leaf_base;
        return o->leaf_base < below && o->leaf_base + INDEX_SLOTS > from ? o->root : NULL;
    }
    last = MIN(last, capacity(o->height) - 1);
    for (;;) { /* from the root, until the way leads to a leaf without a turn into emptiness */
        n = o->root;
        at = 0;
        for (h = o->height; h > 0; h--, n = next) {
            unsigned want = slot_at(last, h);
            uint64_t mine = n->used & ((UINT64_C(2) << want) - 1); /* those not behind `want` */

            if (!mine)
                break;
            want = bit_highest(mine);
            next = (struct index_node *)n->slot[want];
            at += (uint64_t)want << (INDEX_BITS * h);
            if (at + (UINT64_C(1) << (INDEX_BITS * h)) - 1 <
                last) /* all of the subtree is before */
                last = at + (UINT64_C(1) << (INDEX_BITS * h)) - 1;
        }
        if (h == 0)
            break;
        if (at == 0) /* nothing at or before `last` */
            return NULL;
        last = at - 1; /* this subtree begins behind it: go on before the subtree */
    }
    *base = at;
    return at + INDEX_SLOTS > from ? n : NULL;
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
    uint64_t span = UINT64_C(1) << (INDEX_BITS * h); /* offsets that one slot covers */

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
