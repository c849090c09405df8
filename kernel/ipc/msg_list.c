/* Messages of a System V queue: msg_list.h. */
#include "kernel/ipc/msg_list.h"

static struct ipc_msg *of_age(struct treap_node *n)
{
    return n ? container_of(n, struct ipc_msg, by_age) : NULL;
}

static struct ipc_msg *of_type(struct treap_node *n)
{
    return n ? container_of(n, struct ipc_msg, by_type) : NULL;
}

static const struct ipc_msg *older(const struct ipc_msg *a, const struct ipc_msg *b)
{
    return !a || (b && b->age < a->age) ? b : a;
}

/* The oldest message of a subtree by type. */
static const struct ipc_msg *oldest_below(struct treap_node *n)
{
    return n ? of_type(n)->oldest : NULL;
}

static void summarise(struct ipc_msg *m)
{
    m->oldest = older(m, older(oldest_below(m->by_type.left), oldest_below(m->by_type.right)));
}

/* Rotate m above its parent by type. */
static void raise(struct msg_list *l, struct ipc_msg *m)
{
    struct ipc_msg *parent = of_type(m->by_type.up);

    treap_rotate_up(&l->by_type, &m->by_type);
    m->oldest = parent->oldest;
    summarise(parent);
}

void msg_list_enter(struct msg_list *l, struct ipc_msg *m)
{
    struct treap_node *up = NULL, **where = &l->by_type.root;

    m->age = l->next_age++; /* the youngest of its type */
    m->oldest = m;
    while (*where) {
        up = *where;
        where = m->type < of_type(up)->type ? &up->left : &up->right;
    }
    treap_link(&m->by_type, up, where); /* nothing above changes: it is the youngest of all */
    while (m->by_type.up && m->by_type.up->weight < m->by_type.weight)
        raise(l, m);
    treap_append(&l->by_age, &m->by_age);
}

void msg_list_take_out(struct msg_list *l, struct ipc_msg *m)
{
    struct treap_node *n = &m->by_type, *up;

    treap_take_out(&l->by_age, &m->by_age);
    while (n->left && n->right)
        raise(l, of_type(n->left->weight > n->right->weight ? n->left : n->right));
    up = n->up;
    treap_replace_child(&l->by_type, n, n->left ? n->left : n->right);
    for (; up; up = up->up)
        summarise(of_type(up));
}

struct ipc_msg *msg_list_first(const struct msg_list *l) { return of_age(treap_first(&l->by_age)); }

struct ipc_msg *msg_list_next(const struct ipc_msg *m) { return of_age(treap_next(&m->by_age)); }

struct ipc_msg *msg_list_nth(const struct msg_list *l, uint64_t number)
{
    return of_age(treap_nth(&l->by_age, number));
}

struct ipc_msg *msg_list_of_lowest(const struct msg_list *l)
{
    return of_type(treap_first(&l->by_type));
}

struct ipc_msg *msg_list_of_type(const struct msg_list *l, int64_t type)
{
    struct treap_node *at = l->by_type.root, *best = NULL;

    while (at) {
        if (of_type(at)->type == type)
            best = at;
        at = of_type(at)->type >= type ? at->left : at->right;
    }
    return of_type(best);
}

/* The oldest message of the types below, or above, `type`. */
static const struct ipc_msg *oldest_beside(const struct msg_list *l, int64_t type, bool above)
{
    const struct ipc_msg *best = NULL;

    for (struct treap_node *at = l->by_type.root; at;) {
        int64_t here = of_type(at)->type;
        bool counts = above ? here > type : here < type;

        if (counts) /* and so do all on that side of it */
            best = older(best, older(of_type(at), oldest_below(above ? at->right : at->left)));
        at = counts == above ? at->left : at->right;
    }
    return best;
}

struct ipc_msg *msg_list_but_type(const struct msg_list *l, int64_t type)
{
    return (struct ipc_msg *)older(oldest_beside(l, type, false), oldest_beside(l, type, true));
}

bool msg_list_has(const struct msg_list *l, int64_t type, uint64_t age)
{
    struct treap_node *n = l->by_type.root;

    while (n) {
        const struct ipc_msg *m = of_type(n);

        if (m->type == type && m->age == age)
            return true;
        n = type < m->type || (type == m->type && age < m->age) ? n->left : n->right;
    }
    return false;
}
