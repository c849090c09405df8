/*
 * The names of a table in the order of their definition, and the n-th of them.
 *
 * They are in a list. Behind each RUN names or so there is a mark in it, which counts the names up
 * to the next mark, and the marks are in a search tree whose nodes count those of their subtrees:
 * so the n-th name is found in logarithmic time, and the block of a name contains nothing for that.
 * Tables with few names have no marks. A name finds its mark by a walk to it:
 *
 *     list    a b c d .. [32] p q r .. [31] x y z ..      [n]: a mark with n names behind it
 *     tree               [32]---------->[31]
 *
 * A run that shrinks is joined to its neighbour when both together are short, so there are at most
 * 4 marks for each RUN names: 9 bytes for each name, which nobody is charged for. If there is no
 * memory for a mark, names are found more slowly until there is.
 *
 * All functions: LNM mutex, or the space is reached by nobody else.
 */
#include "kernel/lnm/lnm_private.h"
#include "mm/pool/pool.h"

#define RUN 32u /* names behind a mark, at most, unless memory is short */

struct mark {               /* begins like struct lnm_name */
    struct treap_node node; /* in table.marks, in the order of the list; `hash`: names behind the
                               marks of its subtree */
    struct list in_table;
    struct lnm_table *table; /* NULL: it is no name */
    uint32_t names;          /* behind it, up to the next */
};
_Static_assert(offsetof(struct mark, in_table) == offsetof(struct lnm_name, in_table) &&
                   offsetof(struct mark, table) == offsetof(struct lnm_name, table),
               "names and marks are told apart by `table`");

static struct mark *mark_of(struct treap_node *n)
{
    return n ? container_of(n, struct mark, node) : NULL;
}

static struct lnm_name *name_at(struct list *l) { return list_entry(l, struct lnm_name, in_table); }

static bool is_mark(struct list *l) { return name_at(l)->table == NULL; }

/* The first name from l on, in one direction. */
static struct lnm_name *name_from(const struct lnm_table *t, struct list *l, bool forward)
{
    while (l != &t->names && is_mark(l))
        l = forward ? l->next : l->prev;
    return l == &t->names ? NULL : name_at(l);
}

struct lnm_name *lnm_first_name(const struct lnm_table *t)
{
    return name_from(t, t->names.next, true);
}

struct lnm_name *lnm_last_name(const struct lnm_table *t)
{
    return name_from(t, t->names.prev, false);
}

struct lnm_name *lnm_next_name(const struct lnm_name *n)
{
    return name_from(n->table, n->in_table.next, true);
}

/* ---- the tree of marks ---- */

static uint32_t names_below(const struct treap_node *n) { return n ? n->hash : 0; }

/* Names before the first mark. */
static uint32_t head_names(const struct lnm_table *t)
{
    return t->count - names_below(t->marks.root);
}

static void raise(struct lnm_table *t, struct treap_node *c)
{
    struct treap_node *p = c->up;

    treap_rotate_up(&t->marks, c);
    c->hash = p->hash;
    p->hash = names_below(p->left) + names_below(p->right) + mark_of(p)->names;
}

static void add_names(struct mark *m, int32_t more)
{
    m->names += (uint32_t)more;
    for (struct treap_node *n = &m->node; n; n = n->up)
        n->hash += (uint32_t)more;
}

/* Put a mark at the end. False: there is no memory. */
static bool append_mark(struct lnm_table *t)
{
    struct treap_node *up = treap_last(&t->marks);
    struct mark *m = pgd_alloc(sizeof(*m));

    if (!m)
        return false;
    m->table = NULL;
    m->names = 0;
    m->node.hash = 0;
    list_add_tail(&t->names, &m->in_table);
    treap_link(&m->node, up, up ? &up->right : &t->marks.root);
    while (m->node.up && m->node.up->weight < m->node.weight)
        raise(t, &m->node);
    return true;
}

static void remove_mark(struct lnm_table *t, struct mark *m)
{
    struct treap_node *n = &m->node;

    add_names(m, -(int32_t)m->names);
    while (n->left && n->right)
        raise(t, n->left->weight > n->right->weight ? n->left : n->right);
    treap_replace_child(&t->marks, n, n->left ? n->left : n->right);
    list_remove(&m->in_table);
    pgd_free(m, sizeof(*m));
}

/* The mark that n is behind, or NULL. */
static struct mark *mark_before(struct lnm_table *t, struct lnm_name *n)
{
    struct list *l = &n->in_table;

    if (!t->marks.root)
        return NULL;
    if (l->next == &t->names)
        return mark_of(treap_last(&t->marks));
    while (l != &t->names && !is_mark(l))
        l = l->prev;
    return l == &t->names ? NULL : container_of(l, struct mark, in_table);
}

/* Join the run behind m to the one before it if they are short. */
static void join(struct lnm_table *t, struct mark *m)
{
    struct mark *before = mark_of(treap_prev(&m->node));
    uint32_t names = m->names;

    if (names && names + (before ? before->names : head_names(t)) > RUN / 2)
        return;
    remove_mark(t, m);
    if (before)
        add_names(before, (int32_t)names);
}

/* ---- changes ---- */

void lnm_enter_order(struct lnm_table *t, struct lnm_name *n)
{
    struct treap_node *last = treap_last(&t->marks);

    if ((last ? mark_of(last)->names : t->count) >= RUN && append_mark(t))
        last = treap_last(&t->marks);
    list_add_tail(&t->names, &n->in_table);
    t->count++;
    if (last)
        add_names(mark_of(last), 1);
}

void lnm_leave_order(struct lnm_name *n)
{
    struct lnm_table *t = n->table;
    struct mark *m = mark_before(t, n), *after;

    list_remove(&n->in_table);
    t->count--;
    if (!t->marks.root)
        return;
    if (m)
        add_names(m, -1);
    after = mark_of(m ? treap_next(&m->node) : treap_first(&t->marks));
    if (after)
        join(t, after);
    if (m)
        join(t, m);
}

struct lnm_name *lnm_nth_name(const struct lnm_table *t, uint64_t number)
{
    uint32_t head = head_names(t);
    struct treap_node *at = number < head ? NULL : t->marks.root;
    struct list *l = t->names.next;

    if (number >= t->count)
        return NULL;
    number -= at ? head : 0;
    while (at) {
        uint64_t left = names_below(at->left), own = mark_of(at)->names;

        if (number < left) {
            at = at->left;
        } else if (number < left + own) {
            number -= left;
            l = mark_of(at)->in_table.next;
            break;
        } else {
            number -= left + own;
            at = at->right;
        }
    }
    while (number--)
        l = l->next;
    return name_at(l);
}

uint64_t lnm_marks(const struct lnm_table *t, size_t *bytes)
{
    uint64_t n = 0;

    for (const struct treap_node *at = treap_first(&t->marks); at; at = treap_next(at))
        n++;
    *bytes = sizeof(struct mark);
    return n;
}
