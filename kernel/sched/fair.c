/*
 * The fair rule: the tree of a queue, and the steps through the levels of groups.
 *
 * The tree is red-black, ordered by deadline, equal ones in the order of their insertion. Each node
 * knows the least v of its subtree. The node to run is the eligible one with the earliest deadline:
 * from the root, go left if anything on the left is eligible, as all of it has earlier deadlines;
 * else take the node itself if it is eligible; else go right.
 *
 * Eligibility without a division: v_i is not above the weighted mean of all v_j if and only if
 *
 *     sum of w_j * (v_j - floor)  >=  (v_i - floor) * sum of w_j
 *
 * which is exact in integers, so that the node with the least v is always eligible. Range: weights
 * are below 2^17, a queue has fewer than 2^15 nodes, and v differs from the floor by less than 2^29
 * (fair_attach; the longest request is 2^26, and a tick charges at most 2^25), so that the sum
 * stays below 2^61.
 *
 * Nothing here allocates or can fail.
 */
#include "kernel/sched/fair.h"

#define SPREAD_MAX (1l << 28) /* how far above the floor a node from another queue may begin */

void fair_queue_init(struct fair_queue *q, struct fair_node *owner)
{
    *q = (struct fair_queue){.owner = owner, .depth = owner ? owner->queue->depth + 1 : 0};
    list_init(&q->urgent);
}

void fair_set_weight(struct fair_node *n, uint32_t weight)
{
    __atomic_store_n(&n->weight, weight, __ATOMIC_RELAXED);
    n->rate = ((uint64_t)FAIR_WEIGHT << FAIR_RATE_SHIFT) / weight;
    n->request = FAIR_REQUEST * n->rate >> FAIR_RATE_SHIFT;
    n->grain = FAIR_GRAIN * n->rate >> FAIR_RATE_SHIFT;
    n->credit = n->request + n->grain;
}

void fair_node_init(struct fair_node *n, struct fair_queue *q, struct fair_queue *inner,
                    uint32_t weight)
{
    *n = (struct fair_node){.queue = q, .inner = inner, .v = q->floor};
    fair_set_weight(n, weight);
}

uint32_t fair_weight_of_nice(int nice)
{
    /* 1024 * 1.25^-nice, rounded. */
    static const uint32_t weights[40] = {88818, 71054, 56843, 45475, 36380, 29104, 23283, 18626,
                                         14901, 11921, 9537,  7629,  6104,  4883,  3906,  3125,
                                         2500,  2000,  1600,  1280,  1024,  819,   655,   524,
                                         419,   336,   268,   215,   172,   137,   110,   88,
                                         70,    56,    45,    36,    29,    23,    18,    15};

    return weights[nice + 20];
}

/* The comparison needs no division, of which most calls would have no use. */
void fair_set_share(struct fair_node *n, uint64_t here, uint64_t all)
{
    uint64_t wanted = MAX(FAIR_WEIGHT * here, FAIR_WEIGHT_MIN * all), has = n->weight * all;

    if (16 * (wanted > has ? wanted - has : has - wanted) > has)
        fair_set_weight(n, fair_share(here, all));
}

uint32_t fair_load(const struct fair_queue *q)
{
    uint64_t load = q->current ? q->current->weight : 0;

    if (q->root)
        load += fair_has_children(q->root) ? q->weights : q->root->weight;
    return (uint32_t)load;
}

/* ---- the tree ---- */

static bool is_red(const struct fair_node *n) { return n != NULL && n->red; }

static void least_update(struct fair_node *n)
{
    uint64_t least = n->v;

    for (unsigned side = 0; side < 2; side++)
        if (n->child[side] && fair_before(n->child[side]->least, least))
            least = n->child[side]->least;
    n->least = least;
}

/* Put `new`, or nothing, in the place that `old` has below its parent. */
static void replace(struct fair_queue *q, const struct fair_node *old, struct fair_node *new)
{
    struct fair_node *up = old->up;

    if (up == NULL)
        q->root = new;
    else
        up->child[up->child[1] == old] = new;
    if (new)
        new->up = up;
}

/* Rotate: x goes down to `side`, and its child of the other side takes its place. */
static void rotate(struct fair_queue *q, struct fair_node *x, unsigned side)
{
    struct fair_node *y = x->child[!side], *middle = y->child[side];

    replace(q, x, y);
    x->child[!side] = middle;
    if (middle)
        middle->up = x;
    y->child[side] = x;
    x->up = y;
    y->least = x->least;
    least_update(x);
}

static void link_red(struct fair_queue *q, struct fair_node *n)
{
    struct fair_node *up = NULL, **place = &q->root;

    while (*place) {
        up = *place;
        if (fair_before(n->v, up->least))
            up->least = n->v;
        place = &up->child[!fair_before(n->deadline, up->deadline)];
    }
    *place = n;
    n->up = up;
    n->least = n->v;
    n->red = 1;
}

/* n and its parent may both be red: restore the rule that no red node has a red child. */
static void mend_red(struct fair_queue *q, struct fair_node *n)
{
    while (is_red(n->up)) {
        struct fair_node *up = n->up, *top = up->up;
        unsigned side = top->child[1] == up;
        struct fair_node *uncle = top->child[!side];

        if (is_red(uncle)) {
            up->red = uncle->red = 0;
            top->red = 1;
            n = top;
            continue;
        }
        if (up->child[!side] == n) {
            rotate(q, up, side);
            n = up;
            up = n->up;
        }
        up->red = 0;
        top->red = 1;
        rotate(q, top, !side);
    }
    q->root->red = 0;
}

/* The paths through n, a child of `up` and perhaps NULL, have one black node too few: restore the
 * rule that all have the same number. */
static void mend_black(struct fair_queue *q, struct fair_node *n, struct fair_node *up)
{
    while (n != q->root && !is_red(n)) {
        unsigned side = up->child[0] != n;
        struct fair_node *sibling = up->child[!side];

        if (sibling->red) {
            sibling->red = 0;
            up->red = 1;
            rotate(q, up, side);
            sibling = up->child[!side];
        }
        if (!is_red(sibling->child[0]) && !is_red(sibling->child[1])) {
            sibling->red = 1;
            n = up;
            up = n->up;
            continue;
        }
        if (!is_red(sibling->child[!side])) {
            sibling->child[side]->red = 0;
            sibling->red = 1;
            rotate(q, sibling, !side);
            sibling = up->child[!side];
        }
        sibling->red = up->red;
        up->red = 0;
        sibling->child[!side]->red = 0;
        rotate(q, up, side);
        n = q->root;
    }
    if (n)
        n->red = 0;
}

/* Take n, which has two children, out by putting its successor in its place. Returns the
 * successor's former child in *child and the parent of that place in *up, and whether the node that
 * is gone from there was red. */
static bool unlink_inner(struct fair_queue *q, struct fair_node *n, struct fair_node **child,
                         struct fair_node **up)
{
    struct fair_node *s = n->child[1];
    bool red;

    while (s->child[0])
        s = s->child[0];
    red = s->red;
    *child = s->child[1];
    *up = s->up == n ? s : s->up;
    replace(q, s, *child);
    replace(q, n, s);
    for (unsigned side = 0; side < 2; side++) {
        s->child[side] = n->child[side];
        if (s->child[side])
            s->child[side]->up = s;
    }
    s->red = n->red;
    return red;
}

static void unlink_node(struct fair_queue *q, struct fair_node *n)
{
    struct fair_node *child, *up;
    bool red;

    if (n->child[0] && n->child[1]) {
        red = unlink_inner(q, n, &child, &up);
    } else {
        child = n->child[n->child[0] == NULL];
        up = n->up;
        red = n->red;
        replace(q, n, child);
    }
    for (struct fair_node *u = up; u; u = u->up)
        least_update(u);
    if (!red)
        mend_black(q, child, up);
    n->up = n->child[0] = n->child[1] = NULL;
    n->red = 0;
}

static int64_t moment_of(const struct fair_queue *q, const struct fair_node *n)
{
    return (int64_t)(n->v - q->floor) * n->weight;
}

void fair_tree_add(struct fair_queue *q, struct fair_node *n)
{
    if (!fair_has_children(q->root)) {
        q->weights = q->root->weight;
        q->moment = moment_of(q, q->root);
    }
    q->weights += n->weight;
    q->moment += moment_of(q, n);
    link_red(q, n);
    mend_red(q, n);
}

void fair_tree_remove(struct fair_queue *q, struct fair_node *n)
{
    q->weights -= n->weight;
    q->moment -= moment_of(q, n);
    unlink_node(q, n);
}

void fair_raise_floor(struct fair_queue *q, uint64_t floor)
{
    if (q->root && fair_before(q->root->least, floor))
        floor = q->root->least;
    if (!fair_before(q->floor, floor))
        return;
    q->moment -= (int64_t)(floor - q->floor) * (int64_t)q->weights;
    q->floor = floor;
}

/* The node of q's tree with the earliest deadline among those whose v, less the floor, is not above
 * moment / weights; NULL: there is none. */
static struct fair_node *earliest(const struct fair_queue *q, int64_t moment, uint64_t weights)
{
    struct fair_node *n = q->root;

    while (n) {
        struct fair_node *l = n->child[0];

        if (l && (int64_t)(l->least - q->floor) * (int64_t)weights <= moment)
            n = l;
        else if ((int64_t)(n->v - q->floor) * (int64_t)weights <= moment)
            break;
        else
            n = n->child[1];
    }
    return n;
}

/* The first of those that hurry. However often it does, what it owes the others stays bounded. */
static struct fair_node *pop_urgent(struct fair_queue *q)
{
    struct fair_node *n = list_first_entry(&q->urgent, struct fair_node, urgent_link);

    fair_unhurry(n, FAIR_HURRIED);
    fair_tree_remove(q, n);
    if (fair_before(q->floor + SPREAD_MAX, n->v))
        n->v = q->floor + SPREAD_MAX;
    return n;
}

struct fair_node *fair_tree_pop(struct fair_queue *q)
{
    struct fair_node *n;

    if (!list_empty(&q->urgent)) {
        n = pop_urgent(q);
    } else {
        n = earliest(q, q->moment, q->weights);
        fair_tree_remove(q, n);
    }
    fair_raise_floor(q, n->v);
    return n;
}

/* ---- the levels ---- */

/* Charge a group that is current for the time since it was last charged. */
static void charge_group(struct fair_node *n, uint32_t now)
{
    fair_charge(n, now - n->start);
    n->start = now;
}

/* If n's request is over, it begins the next one. */
static void renew(struct fair_node *n)
{
    if (!fair_before(n->v, n->deadline))
        n->deadline = n->v + n->request;
}

void fair_add_level(struct fair_node *n)
{
    for (;;) {
        struct fair_queue *q = n->queue;
        bool idle = q->root == NULL && q->current == NULL;

        fair_place(n);
        fair_insert(q, n);
        if (!idle || q->owner == NULL)
            return;
        n = q->owner;
    }
}

/* Take n out of its queue's tree. */
static void withdraw(struct fair_node *n)
{
    struct fair_queue *q = n->queue;

    if (n->urgent == FAIR_HURRIES)
        fair_unhurry(n, FAIR_CALM);
    if (fair_has_children(q->root))
        fair_tree_remove(q, n);
    else
        q->root = NULL;
}

void fair_remove(struct fair_node *n)
{
    for (;;) {
        struct fair_queue *q = n->queue;

        withdraw(n);
        if (q->root || q->current || !q->owner)
            return;
        n = q->owner;
    }
}

void fair_stop(struct fair_node *n, uint32_t now, bool keep)
{
    struct fair_queue *q = n->queue;

    q->current = NULL;
    while ((n = q->owner) && !(keep && q->root)) {
        charge_group(n, now);
        n->queue->current = NULL;
        if (q->root) {
            renew(n);
            fair_insert(n->queue, n);
        }
        q = n->queue;
    }
}

void fair_put_back(struct fair_node *n, uint32_t now)
{
    struct fair_queue *q = n->queue;

    q->current = NULL;
    renew(n);
    fair_insert(q, n);
    if (q->owner)
        fair_stop(n, now, false);
}

struct fair_node *fair_pass(struct fair_node *n, uint32_t now)
{
    struct fair_node *top = n, *next, *m = n;

    while (top && !top->queue->root)
        top = top->queue->owner;
    if (!top)
        return n;
    next = fair_pop(top->queue);
    next->start = now;
    for (;;) {
        struct fair_queue *q = m->queue;

        renew(m);
        q->current = NULL;
        fair_insert(q, m);
        if (m == top)
            break;
        m = q->owner;
        charge_group(m, now);
    }
    top->queue->current = next;
    return next->inner ? fair_pick(next->inner, now) : next;
}

void fair_resume(struct fair_node *n, uint32_t now)
{
    for (; n; n = n->queue->owner) {
        struct fair_queue *q = n->queue;

        if (n->inner && fair_in_tree(n))
            withdraw(n);
        else
            fair_place(n);
        n->start = now;
        q->current = n;
    }
}

/* Is there a node in q that is eligible and has an earlier deadline than n, which is current? */
static bool is_another_due(const struct fair_queue *q, const struct fair_node *n)
{
    bool several = fair_has_children(q->root);
    uint64_t weights = several ? q->weights : q->root->weight;
    int64_t moment = several ? q->moment : moment_of(q, q->root);
    const struct fair_node *best = earliest(q, moment + moment_of(q, n), weights + n->weight);

    return best && fair_before(best->deadline, n->deadline);
}

bool fair_tick(struct fair_node *n, uint32_t now, bool keep)
{
    bool other = false;

    for (; n; n = n->queue->owner) {
        struct fair_queue *q = n->queue;

        if (n->inner)
            charge_group(n, now);
        fair_raise_floor(q, n->v);
        /* When its request is over, n is chosen again only if it is still eligible. */
        other = other || (!keep && q->root &&
                          (!fair_before(n->v, n->deadline) || !list_empty(&q->urgent) ||
                           is_another_due(q, n)));
        keep = false;
        renew(n);
    }
    return other;
}

void fair_hurry(struct fair_node *n)
{
    for (; n->queue->owner && fair_in_tree(n) && n->urgent != FAIR_HURRIES; n = n->queue->owner) {
        n->urgent = FAIR_HURRIES;
        list_add_tail(&n->queue->urgent, &n->urgent_link);
    }
}

bool fair_preempts(const struct fair_node *n, const struct fair_node *current)
{
    while (n->queue != current->queue) {
        uint32_t depth = n->queue->depth;

        if (depth >= current->queue->depth)
            n = n->queue->owner;
        if (current->queue->depth >= depth)
            current = current->queue->owner;
    }
    return fair_precedes(n, current);
}

void fair_attach(struct fair_node *n, struct fair_queue *q)
{
    int64_t ahead = (int64_t)n->v;

    n->queue = q;
    n->v = q->floor + (uint64_t)(ahead > SPREAD_MAX ? SPREAD_MAX : ahead);
}
