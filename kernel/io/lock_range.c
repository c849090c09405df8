/* Sets of locked ranges: lock_range.h. */
#include "kernel/io/lock_range.h"

static struct lock_range *range_of(struct treap_node *n)
{
    return n ? container_of(n, struct lock_range, node) : NULL;
}

static struct lock_range *own_of(struct treap_node *n)
{
    return n ? container_of(n, struct lock_range, own) : NULL;
}

/* ---- the trees by start ---- */

/* One more end, of `owner`, for a summary. */
static void note_end(struct lock_high *h, uint64_t end, const void *owner)
{
    if (!owner)
        return;
    if (owner == h[0].owner) {
        h[0].end = MAX(h[0].end, end);
    } else if (end > h[0].end) {
        h[1] = h[0];
        h[0] = (struct lock_high){end, owner};
    } else if (!h[1].owner || end > h[1].end) {
        h[1] = (struct lock_high){end, owner};
    }
}

static bool same_high(const struct lock_high *a, const struct lock_high *b)
{
    return a->end == b->end && a->owner == b->owner;
}

/* Make the summary of r right, if those of its children are. Has it changed? */
static bool update(struct lock_range *r)
{
    const struct lock_range *below[2] = {range_of(r->node.left), range_of(r->node.right)};
    struct lock_high h[2] = {{r->end, r->owner}, {0, NULL}};
    bool changed;

    for (unsigned side = 0; side < 2; side++)
        for (unsigned k = 0; below[side] && k < 2; k++)
            note_end(h, below[side]->high[k].end, below[side]->high[k].owner);
    changed = !same_high(&h[0], &r->high[0]) || !same_high(&h[1], &r->high[1]);
    r->high[0] = h[0];
    r->high[1] = h[1];
    return changed;
}

/* The summaries from n up to the root, or up to one that remains as it was. */
static void update_path(struct treap_node *n)
{
    while (n && update(range_of(n)))
        n = n->up;
}

static void link_by_start(struct lock_set *set, struct lock_range *r)
{
    struct treap *t = &set->by_start[r->kind];
    struct treap_node *up = NULL, **where = &t->root;

    while (*where) {
        up = *where;
        where = r->start < range_of(up)->start ? &up->left : &up->right;
    }
    treap_link(&r->node, up, where);
    while (r->node.up && r->node.up->weight < r->node.weight) {
        struct treap_node *p = r->node.up;

        treap_rotate_up(t, &r->node);
        (void)update(range_of(p));
    }
    (void)update(r);
    update_path(r->node.up);
}

/* What rises above r has the summary of r's place, with r in it, until that is updated. */
static void unlink_by_start(struct lock_set *set, struct lock_range *r)
{
    struct treap *t = &set->by_start[r->kind];
    struct treap_node *n = &r->node, *up;

    while (n->left && n->right) {
        struct lock_range *c = range_of(n->left->weight > n->right->weight ? n->left : n->right);

        c->high[0] = r->high[0];
        c->high[1] = r->high[1];
        treap_rotate_up(t, &c->node);
        (void)update(r);
    }
    up = n->up;
    treap_replace_child(t, n, n->left ? n->left : n->right);
    update_path(up);
}

/* Does a range of the subtree of r, of another owner than `owner`, end at `start` or later? */
static bool reaches(const struct lock_range *r, uint64_t start, const void *owner)
{
    unsigned k = r && r->high[0].owner == owner;

    return r && r->high[k].owner && r->high[k].end >= start;
}

/* The first range of another owner that overlaps [start, end]. If one on the left reaches start,
 * the leftmost of those is the one, or all overlapping ones would start after `end`. */
static struct lock_range *first_of_others(const struct treap *t, uint64_t start, uint64_t end,
                                          const void *owner)
{
    struct lock_range *r = range_of(t->root);

    if (!reaches(r, start, owner))
        return NULL;
    for (;;) {
        struct lock_range *left = range_of(r->node.left);

        if (reaches(left, start, owner))
            r = left;
        else if (r->start > end)
            return NULL;
        else if (r->end >= start && r->owner != owner)
            return r;
        else
            r = range_of(r->node.right); /* or nothing would reach start here */
    }
}

struct lock_range *lock_conflict(const struct lock_set *set, const struct lock_range *want)
{
    struct lock_range *found = first_of_others(&set->by_start[LOCK_EXCLUSIVE], want->start,
                                               want->end, want->owner);
    struct lock_range *shared;

    if (want->kind != LOCK_EXCLUSIVE)
        return found;
    shared = first_of_others(&set->by_start[LOCK_SHARED], want->start, want->end, want->owner);
    return !found || (shared && shared->start < found->start) ? shared : found;
}

/* ---- the ranges of an owner ---- */

static bool before(const struct lock_range *a, const struct lock_range *b)
{
    return a->owner != b->owner ? (uintptr_t)a->owner < (uintptr_t)b->owner : a->start < b->start;
}

static void insert(struct lock_set *set, struct lock_range *r)
{
    struct treap_node *up = NULL, **where = &set->by_owner.root;

    while (*where) {
        up = *where;
        where = before(r, own_of(up)) ? &up->left : &up->right;
    }
    treap_insert(&set->by_owner, &r->own, up, where);
    link_by_start(set, r);
}

static void take_out(struct lock_set *set, struct lock_range *r)
{
    treap_remove(&set->by_owner, &r->own);
    unlink_by_start(set, r);
}

/* The first range of the owner that overlaps [start, end]: its ranges end in the order in which
 * they start. */
static struct lock_range *first_own(const struct lock_set *set, uint64_t start, uint64_t end,
                                    const void *owner)
{
    struct lock_range *r = own_of(set->by_owner.root), *found = NULL;

    while (r)
        if (r->owner != owner ? (uintptr_t)r->owner < (uintptr_t)owner : r->end < start) {
            r = own_of(r->own.right);
        } else {
            found = r;
            r = own_of(r->own.left);
        }
    return found && found->owner == owner && found->start <= end ? found : NULL;
}

bool lock_has_part(const struct lock_set *set, const struct lock_range *want)
{
    return first_own(set, want->start, want->end, want->owner) != NULL;
}

/* ---- locks ---- */

static void chain_put(struct lock_range **chain, struct lock_range *r)
{
    r->node.left = *chain ? &(*chain)->node : NULL;
    *chain = r;
}

/* A node from the chain for a part of `like`. */
static struct lock_range *range_like(const struct lock_range *like, uint64_t start, uint64_t end,
                                     struct lock_range **spare)
{
    struct lock_range *r = *spare;

    *spare = range_of(r->node.left);
    r->start = start;
    r->end = end;
    r->owner = like->owner;
    r->kind = like->kind;
    r->pid = like->pid;
    return r;
}

/* Leave of r, which overlaps `want`, what lies outside. */
static void cut(struct lock_set *set, struct lock_range *r, const struct lock_range *want,
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

/* At most one range is split, which takes a node more, and then there is no other in `want`: with
 * the new one, two spare nodes suffice. */
bool lock_clear(struct lock_set *set, const struct lock_range *want, struct lock_range **spare)
{
    for (unsigned n = 0; n < LOCK_CLEAR_MAX; n++) {
        struct lock_range *r = first_own(set, want->start, want->end, want->owner);

        if (!r)
            return true;
        cut(set, r, want, spare);
    }
    return !lock_has_part(set, want);
}

/* Make `got` as long as itself and r, of the same owner, unless r is of another kind. */
static void join(struct lock_set *set, struct lock_range *got, struct lock_range *r,
                 struct lock_range **spare)
{
    if (!r || r->kind != got->kind)
        return;
    got->start = MIN(got->start, r->start);
    got->end = MAX(got->end, r->end);
    take_out(set, r);
    chain_put(spare, r);
}

void lock_put(struct lock_set *set, const struct lock_range *want, struct lock_range **spare)
{
    struct lock_range got = *want;

    if (want->start)
        join(set, &got, first_own(set, want->start - 1, want->start - 1, want->owner), spare);
    if (want->end != LOCK_END)
        join(set, &got, first_own(set, want->end + 1, want->end + 1, want->owner), spare);
    insert(set, range_like(&got, got.start, got.end, spare));
}

struct lock_range *lock_claim(struct lock_set *set, const struct lock_range *want,
                              struct lock_range **spare)
{
    struct lock_range *r = range_like(want, want->start, want->end, spare);

    link_by_start(set, r);
    return r;
}

void lock_unclaim(struct lock_set *set, struct lock_range *claim, struct lock_range **spare)
{
    unlink_by_start(set, claim);
    chain_put(spare, claim);
}
