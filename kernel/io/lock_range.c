/* Sets of locked ranges: lock_range.h. */
#include "kernel/io/lock_range.h"

static struct lock_range *range_of(struct treap_node *n)
{
    return n ? container_of(n, struct lock_range, node) : NULL;
}

/* ---- the tree ---- */

static void update(struct lock_range *r)
{
    r->max_end = r->end;
    if (r->node.left)
        r->max_end = MAX(r->max_end, range_of(r->node.left)->max_end);
    if (r->node.right)
        r->max_end = MAX(r->max_end, range_of(r->node.right)->max_end);
}

/* The summaries from n up to the root. */
static void update_path(struct treap_node *n)
{
    for (; n; n = n->up)
        update(range_of(n));
}

static void insert(struct treap *set, struct lock_range *r)
{
    struct treap_node *up = NULL, **where = &set->root;

    while (*where) {
        up = *where;
        where = r->start < range_of(up)->start ? &up->left : &up->right;
    }
    treap_link(&r->node, up, where);
    while (r->node.up && r->node.up->weight < r->node.weight) {
        struct treap_node *p = r->node.up;

        treap_rotate_up(set, &r->node);
        update(range_of(p));
    }
    update_path(&r->node);
}

static void take_out(struct treap *set, struct lock_range *r)
{
    struct treap_node *n = &r->node, *up;

    while (n->left && n->right)
        treap_rotate_up(set, n->left->weight > n->right->weight ? n->left : n->right);
    up = n->up;
    treap_replace_child(set, n, n->left ? n->left : n->right);
    update_path(up);
}

static void chain_put(struct lock_range **chain, struct lock_range *r)
{
    r->node.left = *chain ? &(*chain)->node : NULL;
    *chain = r;
}

static struct lock_range *chain_take(struct lock_range **chain)
{
    struct lock_range *r = *chain;

    *chain = range_of(r->node.left);
    return r;
}

/* The first range of a subtree that overlaps [start, end]. If some range on the left reaches start,
 * the leftmost of those is the one, or all overlapping ones would start after `end`. */
static struct lock_range *first_below(struct lock_range *r, uint64_t start, uint64_t end)
{
    while (r) {
        struct lock_range *left = range_of(r->node.left), *right = range_of(r->node.right);

        if (left && left->max_end >= start) {
            r = left;
            continue;
        }
        if (r->start > end)
            return NULL;
        if (r->end >= start)
            return r;
        r = right && right->max_end >= start ? right : NULL;
    }
    return NULL;
}

struct lock_range *lock_first(const struct treap *set, uint64_t start, uint64_t end)
{
    struct lock_range *root = range_of(set->root);

    return root && root->max_end >= start ? first_below(root, start, end) : NULL;
}

struct lock_range *lock_next(struct lock_range *r, uint64_t start, uint64_t end)
{
    for (;;) {
        struct lock_range *right = range_of(r->node.right);
        struct treap_node *from;

        if (right && right->max_end >= start)
            return first_below(right, start, end);
        do {
            from = &r->node;
            r = range_of(from->up);
        } while (r && r->node.right == from);
        if (!r || r->start > end)
            return NULL;
        if (r->end >= start)
            return r;
    }
}

/* ---- locks ---- */

struct lock_range *lock_conflict(const struct treap *set, const struct lock_range *want)
{
    struct lock_range *r = lock_first(set, want->start, want->end);

    while (r &&
           (r->owner == want->owner || (r->kind != LOCK_EXCLUSIVE && want->kind != LOCK_EXCLUSIVE)))
        r = lock_next(r, want->start, want->end);
    return r;
}

/* A node from the chain for a part of `like`. */
static struct lock_range *range_like(const struct lock_range *like, uint64_t start, uint64_t end,
                                     struct lock_range **spare)
{
    struct lock_range *r = chain_take(spare);

    r->start = start;
    r->end = end;
    r->owner = like->owner;
    r->kind = like->kind;
    r->pid = like->pid;
    return r;
}

/* Leave of r, which overlaps `want`, what lies outside. */
static void cut(struct treap *set, struct lock_range *r, const struct lock_range *want,
                struct lock_range **spare)
{
    struct lock_range was = *r;

    take_out(set, r);
    chain_put(spare, r);
    if (was.start < want->start)
        insert(set, range_like(&was, was.start, want->start - 1, spare));
    if (was.end > want->end)
        insert(set, range_like(&was, want->end + 1, was.end, spare));
}

/* One pass over all ranges that overlap or touch the wanted one: what is taken out or cut lies at
 * or before the place that the pass has reached. At most one range is split, which takes a node
 * more, and one is new: two spare nodes suffice. */
void lock_apply(struct treap *set, const struct lock_range *want, struct lock_range **spare)
{
    uint64_t from = want->start ? want->start - 1 : 0;
    uint64_t to = want->end == LOCK_END ? LOCK_END : want->end + 1;
    struct lock_range got = *want, *next;

    for (struct lock_range *r = lock_first(set, from, to); r; r = next) {
        next = lock_next(r, from, to);
        if (r->owner != want->owner)
            continue;
        if (r->kind == want->kind) {
            got.start = MIN(got.start, r->start);
            got.end = MAX(got.end, r->end);
            take_out(set, r);
            chain_put(spare, r);
        } else if (r->end >= want->start && r->start <= want->end) {
            cut(set, r, want, spare);
        }
    }
    if (got.kind != LOCK_NONE)
        insert(set, range_like(&got, got.start, got.end, spare));
}
