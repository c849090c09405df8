/* The waiters of one bucket of futexes (futexq.h). */
#include "kernel/sys/posix/futexq.h"

/* Does (key, turn) stand before n? */
static bool before(const struct futex_key *key, uint64_t turn, const struct futex_node *n)
{
    if (key->base != n->key.base)
        return key->base < n->key.base;
    return key->offset != n->key.offset ? key->offset < n->key.offset : turn < n->turn;
}

static struct futex_node *node_of(struct treap_node *t)
{
    return container_of(t, struct futex_node, tree);
}

void futexq_put_back(struct futexq *q, struct futex_node *n)
{
    struct treap_node *up = NULL, **where = &q->tree.root;

    while (*where) {
        up = *where;
        where = before(&n->key, n->turn, node_of(up)) ? &up->left : &up->right;
    }
    treap_insert(&q->tree, &n->tree, up, where);
}

void futexq_insert(struct futexq *q, struct futex_node *n)
{
    n->turn = ++q->turns;
    futexq_put_back(q, n);
}

struct futex_node *futexq_find(const struct futexq *q, const struct futex_key *key, uint64_t turn)
{
    struct treap_node *t = q->tree.root;
    struct futex_node *found = NULL;

    while (t) { /* the first node that does not stand before (key, turn) */
        struct futex_node *n = node_of(t);
        bool right = !before(key, turn, n) &&
                     (key->base != n->key.base || key->offset != n->key.offset || turn != n->turn);

        if (!right)
            found = n;
        t = right ? t->right : t->left;
    }
    return found && found->key.base == key->base && found->key.offset == key->offset ? found : NULL;
}
