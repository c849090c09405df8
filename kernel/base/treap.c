/* Search trees: tree.h. */
#include "kernel/base/treap.h"

uint64_t treap_secret = UINT64_C(0x6A09E667F3BCC909);

void treap_insert(struct treap *t, struct treap_node *n, struct treap_node *up,
                  struct treap_node **where)
{
    treap_link(n, up, where);
    while (n->up && n->up->weight < n->weight)
        treap_rotate_up(t, n);
}

void treap_remove(struct treap *t, struct treap_node *n)
{
    while (n->left && n->right)
        treap_rotate_up(t, n->left->weight > n->right->weight ? n->left : n->right);
    treap_replace_child(t, n, n->left ? n->left : n->right);
}

static struct treap_node *leftmost(struct treap_node *n)
{
    while (n && n->left)
        n = n->left;
    return n;
}

static struct treap_node *rightmost(struct treap_node *n)
{
    while (n && n->right)
        n = n->right;
    return n;
}

struct treap_node *treap_first(const struct treap *t) { return leftmost(t->root); }
struct treap_node *treap_last(const struct treap *t) { return rightmost(t->root); }

struct treap_node *treap_next(const struct treap_node *n)
{
    if (n->right)
        return leftmost(n->right);
    while (n->up && n->up->right == n)
        n = n->up;
    return n->up;
}

struct treap_node *treap_prev(const struct treap_node *n)
{
    if (n->left)
        return rightmost(n->left);
    while (n->up && n->up->left == n)
        n = n->up;
    return n->up;
}

/* ---- trees that count ---- */

static uint32_t nodes_below(const struct treap_node *n) { return n ? n->hash : 0; }

/* Rotate c above its parent, and count anew. */
static void raise_counted(struct treap *t, struct treap_node *c)
{
    struct treap_node *p = c->up;

    treap_rotate_up(t, c);
    c->hash = p->hash;
    p->hash = nodes_below(p->left) + nodes_below(p->right) + 1;
}

void treap_append(struct treap *t, struct treap_node *n)
{
    struct treap_node *up = NULL, **where = &t->root;

    while (*where) {
        up = *where;
        up->hash++;
        where = &up->right;
    }
    treap_link(n, up, where);
    n->hash = 1;
    while (n->up && n->up->weight < n->weight)
        raise_counted(t, n);
}

void treap_take_out(struct treap *t, struct treap_node *n)
{
    while (n->left && n->right)
        raise_counted(t, n->left->weight > n->right->weight ? n->left : n->right);
    for (struct treap_node *up = n->up; up; up = up->up)
        up->hash--;
    treap_replace_child(t, n, n->left ? n->left : n->right);
}

struct treap_node *treap_nth(const struct treap *t, uint64_t index)
{
    struct treap_node *n = t->root;

    while (n && index != nodes_below(n->left)) {
        if (index < nodes_below(n->left)) {
            n = n->left;
        } else {
            index -= nodes_below(n->left) + 1;
            n = n->right;
        }
    }
    return n;
}
