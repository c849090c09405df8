// SOURCES: kernel/sys/posix/futexq.c kernel/base/treap.c
/* The waiters of a bucket of futexes against a plain model: an array in the order of insertion. */
#include <stdlib.h>
#include <string.h>

#include "kernel/sys/posix/futexq.h"
#include "tests/host/rnd.h"
#include "userland/lib/include/tap.h"

#define NODES 24u
#define KEYS  7u
#define STEPS 60000u
#define MANY  20000u

static struct futexq q;
static struct futex_node nodes[NODES];
static bool in[NODES];

static struct futex_key key_number(uint64_t k) /* some differ in one part only */
{
    return (struct futex_key){k % 3, k / 3 * 4};
}

static bool equal(const struct futex_key *a, const struct futex_key *b)
{
    return a->base == b->base && a->offset == b->offset;
}

static struct futex_node *model_find(const struct futex_key *key, uint64_t turn)
{
    struct futex_node *best = NULL;

    for (unsigned k = 0; k < NODES; k++)
        if (in[k] && equal(&nodes[k].key, key) && nodes[k].turn >= turn &&
            (!best || nodes[k].turn < best->turn))
            best = &nodes[k];
    return best;
}

static void test_against_model(void)
{
    unsigned wrong = 0, found = 0, missed = 0;

    for (unsigned step = 0; step < STEPS; step++) {
        unsigned k = (unsigned)rnd(NODES);
        struct futex_key key = key_number(rnd(KEYS));
        uint64_t turn = rnd(3) ? 0 : rnd(q.turns + 2);
        struct futex_node *n;

        if (!in[k] && rnd(3)) {
            nodes[k].key = key;
            futexq_insert(&q, &nodes[k]);
            in[k] = true;
        } else if (in[k] && rnd(2)) {
            futexq_remove(&q, &nodes[k]);
            in[k] = false;
        } else if (in[k]) {
            futexq_remove(&q, &nodes[k]);
            futexq_put_back(&q, &nodes[k]);
        }
        n = futexq_find(&q, &key, turn);
        wrong += n != model_find(&key, turn);
        found += n != NULL;
        missed += n == NULL;
    }
    is(wrong, 0, "the oldest waiter of a word from a turn on is found");
    ok(found > STEPS / 4 && missed > STEPS / 100, "in both cases: found %u, not %u", found, missed);
}

static unsigned height(const struct treap_node *t)
{
    unsigned left = t ? height(t->left) : 0, right = t ? height(t->right) : 0;

    return t ? 1 + (left > right ? left : right) : 0;
}

static void test_many(void)
{
    struct futex_node *many = calloc(MANY, sizeof(*many)), *n;
    struct futexq big = {0};
    struct futex_key key = {1, 2};
    unsigned count = 0;

    for (unsigned k = 0; k < MANY; k++) {
        many[k].key = key;
        futexq_insert(&big, &many[k]);
    }
    ok(height(big.tree.root) < 60, "%u waiters of one word lie in %u levels", MANY,
       height(big.tree.root));
    for (uint64_t turn = 0; (n = futexq_find(&big, &key, turn)) != NULL; turn = n->turn + 1)
        if (n != &many[count++])
            break;
    is(count, MANY, "and are met from the oldest to the youngest");
    key.offset = 1;
    ok(!futexq_find(&big, &key, 0), "a word before them has none");
    key.offset = 3;
    ok(!futexq_find(&big, &key, 0), "nor has one behind them");
    free(many);
}

int main(void)
{
    test_against_model();
    test_many();
    return tap_done();
}
