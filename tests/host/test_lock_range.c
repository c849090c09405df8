// SOURCES: kernel/io/lock_range.c kernel/base/treap.c
/* Ranges of file locks: every operation is compared with an array of bytes for each owner. */
#include "kernel/io/lock_range.h"

#include <stdlib.h>
#include <string.h>

#include "userland/lib/include/tap.h"

#define BYTES  48
#define OWNERS 4
#define NODES  (OWNERS * BYTES + 2)

static struct treap set;
static struct lock_range nodes[NODES], *spare;
static uint8_t model[OWNERS][BYTES + 1]; /* the last: all bytes from there to the end */
static char owners[OWNERS];

static unsigned chain_length(void)
{
    unsigned n = 0;

    for (struct lock_range *r = spare; r;
         r = r->node.left ? container_of(r->node.left, struct lock_range, node) : NULL)
        n++;
    return n;
}

static void begin(void)
{
    set.root = NULL;
    spare = NULL;
    memset(model, 0, sizeof(model));
    for (unsigned k = 0; k < NODES; k++) {
        nodes[k].node.left = spare ? &spare->node : NULL;
        spare = &nodes[k];
    }
}

static uint64_t place(unsigned byte) { return byte < BYTES ? byte : LOCK_END; }

static bool model_conflict(unsigned who, unsigned from, unsigned to, enum lock_kind kind)
{
    for (unsigned o = 0; o < OWNERS; o++)
        for (unsigned b = from; o != who && b <= to; b++)
            if (model[o][b] && (model[o][b] == LOCK_EXCLUSIVE || kind == LOCK_EXCLUSIVE))
                return true;
    return false;
}

/* Are the ranges those of the model, merged where they touch, in order, with right summaries? */
static bool same(void)
{
    unsigned count = 0, runs = 0;
    uint64_t before = 0;

    for (struct lock_range *r = lock_first(&set, 0, LOCK_END); r;
         r = lock_next(r, 0, LOCK_END), count++) {
        unsigned o = (unsigned)((const char *)r->owner - owners);
        uint64_t last = r->end == LOCK_END ? BYTES : r->end, max = r->end;

        if (r->start < before || r->start > last || last > BYTES)
            return false;
        before = r->start;
        for (uint64_t b = r->start; b <= last; b++)
            if (model[o][b] != r->kind)
                return false;
        for (unsigned side = 0; side < 2; side++) {
            struct treap_node *c = side ? r->node.right : r->node.left;

            if (c && container_of(c, struct lock_range, node)->max_end > max)
                max = container_of(c, struct lock_range, node)->max_end;
        }
        if (r->max_end != max)
            return false;
    }
    for (unsigned o = 0; o < OWNERS; o++)
        for (unsigned b = 0; b <= BYTES; b++)
            runs += model[o][b] && (b == 0 || model[o][b - 1] != model[o][b]);
    return runs == count && count + chain_length() == NODES;
}

/* Each range that overlaps [from, to] is visited once. */
static bool visits(unsigned from, unsigned to)
{
    unsigned found = 0, wanted = 0;

    for (struct lock_range *r = lock_first(&set, from, place(to)); r;
         r = lock_next(r, from, place(to)))
        found++;
    for (struct lock_range *r = lock_first(&set, 0, LOCK_END); r; r = lock_next(r, 0, LOCK_END))
        wanted += r->start <= place(to) && r->end >= from;
    return found == wanted;
}

static bool step(void)
{
    unsigned who = (unsigned)rand() % OWNERS, from = (unsigned)rand() % (BYTES + 1);
    unsigned to = from + (unsigned)rand() % (rand() % 4 ? 6 : BYTES + 1);
    struct lock_range want = {.owner = &owners[who]};

    to = to > BYTES ? BYTES : to;
    want.kind = (enum lock_kind)(rand() % 3);
    want.start = from;
    want.end = place(to);
    if (from == BYTES)
        to = BYTES;
    if (!visits(from, to))
        return false;
    if (want.kind != LOCK_NONE) {
        bool refused = lock_conflict(&set, &want) != NULL;

        if (refused != model_conflict(who, from, to, want.kind))
            return false;
        if (refused)
            return true;
    }
    lock_apply(&set, &want, &spare);
    for (unsigned b = from; b <= to; b++)
        model[who][b] = (uint8_t)want.kind;
    return same();
}

/* What the largest and the smallest numbers of nodes are needed for. */
static void test_spare(void)
{
    struct lock_range want = {.owner = owners, .start = 10, .end = 20, .kind = LOCK_EXCLUSIVE};

    begin();
    spare = &nodes[0];
    nodes[0].node.left = &nodes[1].node;
    nodes[1].node.left = NULL;
    lock_apply(&set, &want, &spare);
    is(chain_length(), 1, "a new range takes a node");
    nodes[2].node.left = spare ? &spare->node : NULL;
    spare = &nodes[2];
    want = (struct lock_range){.owner = owners, .start = 14, .end = 15, .kind = LOCK_SHARED};
    lock_apply(&set, &want, &spare);
    is(chain_length(), 0, "a range within another one takes two");
    want = (struct lock_range){.owner = owners, .start = 0, .end = LOCK_END, .kind = LOCK_NONE};
    lock_apply(&set, &want, &spare);
    ok(!set.root, "unlocking all takes none");
    is(chain_length(), 3, "and gives all back");
}

int main(void)
{
    unsigned long steps = 0;
    bool right = true;

    for (unsigned round = 0; round < 300 && right; round++) {
        srand(round);
        begin();
        for (unsigned k = 0; k < 300 && right; k++, steps++)
            right = step();
        if (!right)
            diag("seed %u", round);
    }
    ok(right, "%lu operations agree with a model of bytes", steps);
    test_spare();
    return tap_done();
}
