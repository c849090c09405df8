/*
 * Page index of an object: a radix tree that maps an offset in pages to a slot_t
 * (mm/object/object_pages.h). Depends on nothing but the pool. The caller holds the object's lock.
 *
 * A node is freed when a range is freed and it has become empty, or when it was created for a page
 * for which there was then no memory (index_trim), so that a failed access leaves no pool
 * allocated. Each node has a bit map of its slots, so that none of the functions here that are
 * called with the lock held looks at slot after slot of a node. A page far from all others may need
 * ten nodes, which are allocated and freed without the lock (struct index_nodes).
 */
#include "kernel/base/bitops.h"
#include "mm/object/object_private.h"
#include "mm/pool/pool.h"

/* ---- nodes outside an index ---- */

static void node_put(struct index_nodes *c, struct index_node *n)
{
    n->slot[0] = (uint64_t)c->first;
    c->first = n;
    c->count++;
}

static struct index_node *node_get(struct index_nodes *c)
{
    struct index_node *n = c->first;

    c->first = (struct index_node *)n->slot[0];
    c->count--;
    n->slot[0] = 0;
    return n;
}

void index_nodes_free(struct index_nodes *spare)
{
    while (spare->first)
        npp_free(node_get(spare), sizeof(struct index_node));
}

bool index_nodes_fill(struct index_nodes *spare)
{
    while (spare->count < spare->wanted) {
        struct index_node *n = npp_alloc_zeroed(sizeof(*n));

        if (!n) {
            index_nodes_drop(spare);
            return false;
        }
        node_put(spare, n);
    }
    return true;
}

/* ---- the tree ---- */

static struct index_node *node_add(struct mm_object *o, struct index_nodes *spare)
{
    o->nodes++;
    return node_get(spare);
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

static inline uint64_t leaf_base_of(uint64_t offset)
{
    return offset & ~(uint64_t)(INDEX_SLOTS - 1);
}

/* The leaf that offset belongs to, or NULL. */
static inline struct index_node *leaf_find(const struct mm_object *o, uint64_t offset)
{
    struct index_node *n = o->root;
    unsigned h = o->height;

    if (likely(h == 0))
        return n && leaf_base_of(offset) == o->leaf_base ? n : NULL;
    if (offset >= capacity(h))
        return NULL;
    for (; n && h > 0; h--)
        n = (struct index_node *)n->slot[slot_at(offset, h)];
    return n;
}

slot_t *index_find(struct mm_object *o, uint64_t offset)
{
    struct index_node *n = leaf_find(o, offset);

    return n ? &n->slot[offset & (INDEX_SLOTS - 1)] : NULL;
}

#define HEIGHT_MAX 10 /* 60 bits of offset, six bits a level; pages have 32 (OBJECT_MAX_PAGES) */

/* The height of the lowest tree that has nodes above the leaf and reaches offset. */
static unsigned height_for(uint64_t offset)
{
    unsigned h = 1;

    while (h < HEIGHT_MAX - 1 && capacity(h) <= offset)
        h++;
    return h;
}

/* How many nodes have to be added for offset, which has no leaf. */
static unsigned nodes_missing(const struct mm_object *o, uint64_t offset)
{
    const struct index_node *n = o->root;
    unsigned h = o->height, height;

    if (!n)
        return 1;
    if (h == 0) { /* a tree for both: down to where their ways part they share the nodes */
        height = height_for(MAX(o->leaf_base, offset));
        for (h = height; slot_at(offset, h) == slot_at(o->leaf_base, h);)
            h--;
        return height + h;
    }
    height = MAX(height_for(offset), h);
    if (height > h) /* the top has a way of its own for offset */
        return height - h + height;
    for (; n; h--)
        n = (const struct index_node *)n->slot[slot_at(offset, h)];
    return h + 1;
}

/* Put levels above a lone leaf, or on top of a tree, until it reaches `height`. */
static void grow(struct mm_object *o, unsigned height, struct index_nodes *spare)
{
    uint64_t base = o->height == 0 ? o->leaf_base : 0;

    while (o->height < height) {
        struct index_node *top = node_add(o, spare);
        unsigned slot = slot_at(base, ++o->height);

        top->slot[slot] = (uint64_t)o->root;
        top->used = UINT64_C(1) << slot;
        o->root = top;
    }
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

static void node_remove(struct mm_object *o, struct index_node *n, struct index_nodes *removed)
{
    node_put(removed, n);
    o->nodes--;
}

/* Remove levels that are not needed: a root whose only child is that of the lowest offsets; and all
   levels above a single leaf, which then becomes the root with its offset in leaf_base. */
static void shrink(struct mm_object *o, struct index_nodes *removed)
{
    struct index_node *n, *next;
    uint64_t base = 0;
    unsigned i = 0;

    while (o->height > 0 && (next = only_child(o->root, &i)) != NULL && i == 0) {
        node_remove(o, o->root, removed);
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
        node_remove(o, n, removed);
    }
    o->root = n;
    o->leaf_base = base;
}

void index_trim(struct mm_object *o, uint64_t offset, struct index_nodes *removed)
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
        node_remove(o, path[h], removed);
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
        shrink(o, removed);
}

/* Create the leaf of offset, with nodes of `spare`, which has enough. */
static struct index_node *leaf_create(struct mm_object *o, uint64_t offset,
                                      struct index_nodes *spare)
{
    struct index_node *n;

    if (!o->root) {
        o->leaf_base = leaf_base_of(offset);
        o->root = node_add(o, spare);
        return o->root;
    }
    grow(o, height_for(o->height == 0 ? MAX(o->leaf_base, offset) : offset), spare);
    n = o->root;
    for (unsigned h = o->height; h > 0; h--) {
        unsigned slot = slot_at(offset, h);

        if (!n->slot[slot]) {
            n->slot[slot] = (uint64_t)node_add(o, spare);
            n->used |= UINT64_C(1) << slot;
        }
        n = (struct index_node *)n->slot[slot];
    }
    return n;
}

slot_t *index_create(struct mm_object *o, uint64_t offset, struct index_nodes *spare)
{
    struct index_node *n = leaf_find(o, offset);

    if (unlikely(!n)) {
        spare->wanted = nodes_missing(o, offset);
        if (spare->count < spare->wanted)
            return NULL;
        n = leaf_create(o, offset, spare);
    }
    n->used |= UINT64_C(1) << (offset & (INDEX_SLOTS - 1));
    return &n->slot[offset & (INDEX_SLOTS - 1)];
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

struct index_node *index_next_leaf(struct mm_object *o, uint64_t from, uint64_t below,
                                   uint64_t *base)
{
    uint64_t at = leaf_base_of(from), reach = o->height ? MIN(below, capacity(o->height)) : below;

    if (!o->root || from >= below)
        return NULL;
    if (o->height == 0) {
        *base = o->leaf_base;
        return o->leaf_base < below && o->leaf_base + INDEX_SLOTS > from ? o->root : NULL;
    }
    while (at < reach) { /* from the root, until the way leads to a leaf */
        struct index_node *n = o->root;
        unsigned h = o->height;

        for (; h > 0; h--) {
            unsigned shift = INDEX_BITS * h, want = slot_at(at, h);
            uint64_t mine = n->used >> want << want; /* those not before `want` */

            if (!mine) { /* go on behind the subtree */
                at = ((at >> shift >> INDEX_BITS) + 1) << shift << INDEX_BITS;
                break;
            }
            if (bit_lowest(mine) != want) /* all of that subtree is behind */
                at = ((at >> shift) - want + bit_lowest(mine)) << shift;
            n = (struct index_node *)n->slot[bit_lowest(mine)];
        }
        if (h == 0) {
            *base = at;
            return at < below ? n : NULL;
        }
    }
    return NULL;
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
