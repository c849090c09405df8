/* Spans and their gaps: span.h. */
#include "kernel/base/span.h"

/* Compute the summary of n from those of its children. */
static void update(struct treap_node *n)
{
    struct span *s = container_of(n, struct span, node);
    uint64_t max = s->gap;
    uint8_t all = s->inner;

    if (n->left) {
        max = MAX(max, span_of(n->left)->max_gap);
        all &= span_of(n->left)->all_inner;
    }
    if (n->right) {
        max = MAX(max, span_of(n->right)->max_gap);
        all &= span_of(n->right)->all_inner;
    }
    s->max_gap = max;
    s->all_inner = all;
}

struct span *span_above(const struct treap *t, vaddr_t va)
{
    struct treap_node *n = t->root;
    struct span *best = NULL;

    while (n) {
        struct span *s = container_of(n, struct span, node);

        if (s->start > va) {
            best = s;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

void span_insert(struct treap *t, struct span *s, struct span *before, struct span *after)
{
    struct treap_node *n = &s->node;

    /* Of two neighbours one is above the other, and the lower one has no child on that side. */
    if (before && !before->node.right)
        treap_link(n, &before->node, &before->node.right);
    else if (after)
        treap_link(n, &after->node, &after->node.left);
    else
        treap_link(n, NULL, &t->root);
    s->max_gap = s->gap;
    s->all_inner = s->inner;
    while (n->up && n->up->weight < n->weight) {
        const struct span *p = span_of(n->up);

        s->max_gap = MAX(s->max_gap, p->max_gap);
        s->all_inner &= p->all_inner;
        treap_rotate_up(t, n);
    }
    for (n = n->up; n && (span_of(n)->max_gap < s->gap || span_of(n)->all_inner > s->inner);
         n = n->up) {
        span_of(n)->max_gap = MAX(span_of(n)->max_gap, s->gap);
        span_of(n)->all_inner &= s->inner;
    }
}

void span_set_gap(struct span *s, uint64_t gap)
{
    s->gap = gap;
    for (struct treap_node *n = &s->node; n && span_of(n)->max_gap < gap; n = n->up)
        span_of(n)->max_gap = gap;
}

void span_remove(struct treap *t, struct span *s, struct span *after, uint64_t gap)
{
    struct treap_node *n = &s->node;

    while (n->left && n->right) {
        struct treap_node *c = n->left->weight > n->right->weight ? n->left : n->right;

        span_of(c)->max_gap = s->max_gap;
        span_of(c)->all_inner = s->all_inner;
        treap_rotate_up(t, c);
    }
    treap_replace_child(t, n, n->left ? n->left : n->right);
    if (after)
        span_set_gap(after, gap);
}

/* ---- searches for a gap ---- */

/* The last (first) span of the subtree of root with a gap of that size; NULL: there is none, and
   the summaries say so now. A node whose summary promises a gap that is not there is corrected, and
   the search goes on above it. */
static struct span *last_in(struct treap_node *root, uint64_t size)
{
    for (struct treap_node *n = root;;) {
        if (n->right && span_of(n->right)->max_gap >= size) {
            n = n->right;
        } else if (span_of(n)->gap >= size) {
            return span_of(n);
        } else if (n->left && span_of(n->left)->max_gap >= size) {
            n = n->left;
        } else {
            update(n);
            if (n == root)
                return NULL;
            n = n->up;
        }
    }
}

static struct span *first_in(struct treap_node *root, uint64_t size)
{
    for (struct treap_node *n = root;;) {
        if (n->left && span_of(n->left)->max_gap >= size) {
            n = n->left;
        } else if (span_of(n)->gap >= size) {
            return span_of(n);
        } else if (n->right && span_of(n->right)->max_gap >= size) {
            n = n->right;
        } else {
            update(n);
            if (n == root)
                return NULL;
            n = n->up;
        }
    }
}

struct span *span_last_gap(struct span *s, uint64_t size)
{
    struct treap_node *n = s ? &s->node : NULL;
    struct span *found;

    while (n) {
        if (span_of(n)->gap >= size)
            return span_of(n);
        if (n->left && span_of(n->left)->max_gap >= size && (found = last_in(n->left, size)))
            return found;
        while (n->up && n->up->left == n) /* what is above on this way comes after s */
            n = n->up;
        n = n->up;
    }
    return NULL;
}

struct span *span_first_gap(struct span *s, uint64_t size)
{
    struct treap_node *n = s ? &s->node : NULL;
    struct span *found;

    while (n) {
        if (span_of(n)->gap >= size)
            return span_of(n);
        if (n->right && span_of(n->right)->max_gap >= size && (found = first_in(n->right, size)))
            return found;
        while (n->up && n->up->right == n)
            n = n->up;
        n = n->up;
    }
    return NULL;
}

/* ---- searches for a span without the mark ---- */

static bool has_outer(const struct treap_node *n)
{
    return n && !container_of(n, struct span, node)->all_inner;
}

/* As last_in and first_in. */
static struct span *last_outer_in(struct treap_node *root)
{
    for (struct treap_node *n = root;;) {
        if (has_outer(n->right)) {
            n = n->right;
        } else if (!span_of(n)->inner) {
            return span_of(n);
        } else if (has_outer(n->left)) {
            n = n->left;
        } else {
            update(n);
            if (n == root)
                return NULL;
            n = n->up;
        }
    }
}

static struct span *first_outer_in(struct treap_node *root)
{
    for (struct treap_node *n = root;;) {
        if (has_outer(n->left)) {
            n = n->left;
        } else if (!span_of(n)->inner) {
            return span_of(n);
        } else if (has_outer(n->right)) {
            n = n->right;
        } else {
            update(n);
            if (n == root)
                return NULL;
            n = n->up;
        }
    }
}

struct span *span_last_outer(const struct treap *t, vaddr_t va)
{
    struct span *s = va ? span_floor(t, va - 1) : NULL, *found;
    struct treap_node *n = s ? &s->node : NULL;

    while (n) {
        if (!span_of(n)->inner)
            return span_of(n);
        if (has_outer(n->left) && (found = last_outer_in(n->left)))
            return found;
        while (n->up && n->up->left == n)
            n = n->up;
        n = n->up;
    }
    return NULL;
}

struct span *span_first_outer(const struct treap *t, vaddr_t va)
{
    struct span *s = va ? span_above(t, va - 1) : span_of(treap_first(t)), *found;
    struct treap_node *n = s ? &s->node : NULL;

    while (n) {
        if (!span_of(n)->inner)
            return span_of(n);
        if (has_outer(n->right) && (found = first_outer_in(n->right)))
            return found;
        while (n->up && n->up->right == n)
            n = n->up;
        n = n->up;
    }
    return NULL;
}
