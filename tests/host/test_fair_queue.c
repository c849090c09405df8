// SOURCES: kernel/sched/fair.c
/*
 * The queue of the fair rule against a plain model: which node is chosen, and that the tree is
 * balanced.
 */
#include "tests/host/fair_world.h"

/* ---- the queue ---- */

#define NODES 300

static struct fair_queue queue;
static struct fair_node nodes[NODES];
static uint64_t order[NODES], inserted;

static bool model_eligible(const struct fair_node *n)
{
    __int128 moment = 0, weights = 0;

    for (unsigned i = 0; i < NODES; i++)
        if (fair_in_tree(&nodes[i])) {
            moment += (__int128)(int64_t)(nodes[i].v - queue.floor) * nodes[i].weight;
            weights += nodes[i].weight;
        }
    return (__int128)(int64_t)(n->v - queue.floor) * weights <= moment;
}

static struct fair_node *model_choice(void)
{
    struct fair_node *best = NULL;

    for (unsigned i = 0; i < NODES; i++) {
        struct fair_node *n = &nodes[i];

        if (fair_in_tree(n) && model_eligible(n) &&
            (!best || fair_before(n->deadline, best->deadline) ||
             (n->deadline == best->deadline && order[i] < order[best - nodes])))
            best = n;
    }
    return best;
}

/* The number of black nodes on each path below n; -1: the rules of the tree are broken. */
static int black_height(const struct fair_node *n, unsigned *count, uint64_t *least)
{
    uint64_t below[2];
    int height[2];

    if (!n)
        return 0;
    *least = n->v;
    ++*count;
    for (unsigned side = 0; side < 2; side++) {
        const struct fair_node *c = n->child[side];

        height[side] = black_height(c, count, &below[side]);
        if (!c)
            continue;
        if (fair_before(below[side], *least))
            *least = below[side];
        if (c->up != n || (n->red && c->red) ||
            (side ? fair_before(c->deadline, n->deadline) : fair_before(n->deadline, c->deadline)))
            return -1;
    }
    if (height[0] < 0 || height[0] != height[1] || n->least != *least)
        return -1;
    return height[0] + !n->red;
}

static void test_queue(void)
{
    unsigned wrong_choice = 0, wrong_tree = 0, wrong_count = 0, chosen = 0, in = 0;

    fair_queue_init(&queue, NULL);
    for (unsigned i = 0; i < NODES; i++)
        fair_node_init(&nodes[i], &queue, NULL, fair_weight_of_nice((int)rnd(40) - 20));
    for (unsigned round = 0; round < 30000; round++) {
        unsigned i = (unsigned)rnd(NODES), count = 0;
        struct fair_node *n = &nodes[i];
        uint64_t least;

        if (!fair_in_tree(n) && rnd(NODES) >= in / 2) {
            fair_charge(n, (uint32_t)rnd(2 * TICK)); /* deadlines are often equal */
            if (rnd(2))
                n->v = queue.floor + rnd(4) * TICK;
            fair_add(n);
            order[i] = ++inserted;
            in++;
        } else if (fair_in_tree(n) && rnd(3) == 0) {
            fair_remove(n);
            in--;
        } else if (queue.root) {
            struct fair_node *want = model_choice();

            wrong_choice += fair_pop(&queue) != want;
            chosen++;
            in--;
        }
        wrong_tree += black_height(queue.root, &count, &least) < 0 ||
                      (queue.root && queue.root->red);
        wrong_count += count != in;
    }
    ok(chosen > 5000, "%u nodes were chosen", chosen);
    is(wrong_choice, 0, "always the eligible one with the earliest deadline");
    is(wrong_tree, 0, "the tree stays balanced and knows the least v of its parts");
    is(wrong_count, 0, "no node is lost");
}

int main(void)
{
    test_queue();
    return tap_done();
}
