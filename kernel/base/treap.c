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

void treap_replace(struct treap *t, struct treap_node *n, struct treap_node *new)
{
    new->left = n->left;
    new->right = n->right;
    new->up = n->up;
    new->weight = n->weight;
    treap_replace_child(t, n, new);
    if (new->left)
        new->left->up = new;
    if (new->right)
        new->right->up = new;
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
