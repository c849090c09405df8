// SOURCES: kernel/io/lock_range.c kernel/base/treap.c
/*
 * Ranges of file locks: every operation is compared with an array of bytes for each owner, and what
 * one owner does beside 10,000 others is timed.
 */
#include "kernel/io/lock_range.h"

#include <stdlib.h>
#include <string.h>

#include "userland/lib/include/tap.h"

#define BYTES  48
#define OWNERS 4
#define NODES  (OWNERS * BYTES + 2)
#define CROWD  10000u

static struct lock_set set;
static struct lock_range nodes[NODES], *spare;
static uint8_t model[OWNERS][BYTES + 1]; /* the last: all bytes from there to the end */
static char owners[OWNERS];

static struct lock_range *next_on(const struct lock_range *r)
{
    return r->node.left ? container_of(r->node.left, struct lock_range, node) : NULL;
}

static unsigned chain_length(void)
{
    unsigned n = 0;

    for (struct lock_range *r = spare; r; r = next_on(r))
        n++;
    return n;
}

static void give(struct lock_range *r)
{
    r->node.left = spare ? &spare->node : NULL;
    spare = r;
}

static void begin(void)
{
    memset(&set, 0, sizeof(set));
    spare = NULL;
    memset(model, 0, sizeof(model));
    for (unsigned k = 0; k < NODES; k++)
        give(&nodes[k]);
}

static uint64_t place(unsigned byte) { return byte < BYTES ? byte : LOCK_END; }

/* The first byte that another owner's lock keeps from `who`; BYTES + 1: none. */
static unsigned model_conflict(unsigned who, unsigned from, unsigned to, enum lock_kind kind)
{
    for (unsigned b = from; b <= to; b++)
        for (unsigned o = 0; o < OWNERS; o++)
            if (o != who && model[o][b] &&
                (model[o][b] == LOCK_EXCLUSIVE || kind == LOCK_EXCLUSIVE))
                return b;
    return BYTES + 1;
}

/* Is the summary of r right? Counts r. */
static bool summary_right(const struct lock_range *r, unsigned *count)
{
    const struct treap_node *stack[64] = {&r->node};
    uint64_t high = 0, other = 0;
    bool others = false;

    (*count)++;
    for (unsigned depth = 1; depth;) {
        const struct treap_node *n = stack[--depth];
        const struct lock_range *x = container_of(n, struct lock_range, node);

        high = MAX(high, x->end);
        if (x->owner != r->high[0].owner) {
            other = MAX(other, x->end);
            others = true;
        }
        if (n->left)
            stack[depth++] = n->left;
        if (n->right)
            stack[depth++] = n->right;
    }
    return r->high[0].end == high && (r->high[1].owner != NULL) == others &&
           (!others || (r->high[1].end == other && r->high[1].owner != r->high[0].owner));
}

/* Are the ranges those of the model, merged where they touch, in order, with right summaries? */
static bool same(unsigned claims)
{
    unsigned count = 0, own = 0, runs = 0;

    for (unsigned kind = 0; kind < LOCK_KINDS; kind++) {
        uint64_t last = 0;

        for (struct treap_node *n = treap_first(&set.by_start[kind]); n; n = treap_next(n)) {
            const struct lock_range *r = container_of(n, struct lock_range, node);

            if (r->kind != kind || r->start < last || !summary_right(r, &count))
                return false;
            last = r->start;
        }
    }
    for (struct treap_node *n = treap_first(&set.by_owner); n; n = treap_next(n), own++) {
        const struct lock_range *r = container_of(n, struct lock_range, own);
        unsigned o = (unsigned)((const char *)r->owner - owners);
        uint64_t last = r->end == LOCK_END ? BYTES : r->end;

        if (r->start > last || last > BYTES)
            return false;
        for (uint64_t b = r->start; b <= last; b++)
            if (model[o][b] != r->kind)
                return false;
    }
    for (unsigned o = 0; o < OWNERS; o++)
        for (unsigned b = 0; b <= BYTES; b++)
            runs += model[o][b] && (b == 0 || model[o][b - 1] != model[o][b]);
    return runs == own && count == own + claims && count + chain_length() == NODES;
}

static bool conflict_right(unsigned who, unsigned from, unsigned to, const struct lock_range *want)
{
    const struct lock_range *r = lock_conflict(&set, want);
    unsigned first = model_conflict(who, from, to, want->kind);

    if (first > BYTES)
        return !r;
    return r && r->owner != want->owner && MAX(r->start, want->start) == first;
}

/* Lock or unlock as kernel/io/lock.c does, with a claim if it takes long. */
static bool change(const struct lock_range *want)
{
    struct lock_range *claim = NULL, other = *want;

    while (!lock_clear(&set, want, &spare)) {
        if (!claim && want->kind != LOCK_NONE)
            claim = lock_claim(&set, want, &spare);
        other.owner = NULL;
        other.kind = LOCK_EXCLUSIVE;
        if (claim && !lock_conflict(&set, &other))
            return false;
    }
    if (claim)
        lock_unclaim(&set, claim, &spare);
    if (want->kind != LOCK_NONE)
        lock_put(&set, want, &spare);
    return true;
}

static bool step(void)
{
    unsigned who = (unsigned)rand() % OWNERS, from = (unsigned)rand() % (BYTES + 1);
    unsigned to = from + (unsigned)rand() % (rand() % 4 ? 3 : BYTES + 1);
    struct lock_range want = {.owner = &owners[who]};
    bool part = false;

    to = from == BYTES || to > BYTES ? BYTES : to;
    want.kind = (enum lock_kind)(rand() % 3);
    want.start = from;
    want.end = place(to);
    for (unsigned b = from; b <= to; b++)
        part = part || model[who][b];
    if (lock_has_part(&set, &want) != part)
        return false;
    if (want.kind != LOCK_NONE) {
        if (!conflict_right(who, from, to, &want))
            return false;
        if (lock_conflict(&set, &want))
            return true;
    }
    if (!change(&want))
        return false;
    for (unsigned b = from; b <= to; b++)
        model[who][b] = (uint8_t)want.kind;
    return same(0);
}

/* What the largest and the smallest numbers of nodes are needed for. */
static void test_spare(void)
{
    struct lock_range want = {.owner = owners, .start = 10, .end = 20, .kind = LOCK_EXCLUSIVE};

    begin();
    spare = NULL;
    give(&nodes[0]);
    give(&nodes[1]);
    change(&want);
    is(chain_length(), 1, "a new range takes a node");
    give(&nodes[2]);
    want = (struct lock_range){.owner = owners, .start = 14, .end = 15, .kind = LOCK_SHARED};
    change(&want);
    is(chain_length(), 0, "a range within another one takes two");
    want = (struct lock_range){.owner = owners, .start = 0, .end = LOCK_END, .kind = LOCK_NONE};
    change(&want);
    ok(lock_set_empty(&set), "unlocking all takes none");
    is(chain_length(), 3, "and gives all back");
}

/* Many ranges of one owner are locked over: in portions, while another owner already meets the new
 * range, and the two spare nodes suffice. */
static void test_portions(void)
{
    struct lock_range want = {.owner = &owners[1], .kind = LOCK_SHARED};
    struct lock_range all = {
        .owner = &owners[1], .start = 1, .end = 2 * BYTES, .kind = LOCK_EXCLUSIVE};
    unsigned turns = 1;
    struct lock_range *claim;

    begin();
    spare = NULL;
    for (unsigned k = 0; k < BYTES; k++) {
        give(&nodes[k]);
        want.start = want.end = 2 * k + 1;
        lock_put(&set, &want, &spare);
    }
    give(&nodes[BYTES]);
    give(&nodes[BYTES + 1]);
    ok(!lock_clear(&set, &all, &spare), "many ranges are not taken out at once");
    claim = lock_claim(&set, &all, &spare);
    want = (struct lock_range){.owner = owners, .start = 2, .end = 2, .kind = LOCK_SHARED};
    ok(lock_conflict(&set, &want) == claim, "who claims a range is in others' way");
    ok(!lock_conflict(&set, &all), "but not in its own");
    for (; !lock_clear(&set, &all, &spare); turns++)
        ;
    is(turns, (BYTES - 1) / LOCK_CLEAR_MAX, "the others are taken out in portions");
    lock_unclaim(&set, claim, &spare);
    lock_put(&set, &all, &spare);
    is(chain_length(), BYTES + 1, "one range is left");
    ok(lock_conflict(&set, &want) != NULL, "the new one");
}

/* Each of a crowd has the whole file shared, and the last of it a part of each other kind. */
static void test_crowd(void)
{
    struct lock_range *many = calloc(CROWD + 4, sizeof(*many));
    char *crowd = calloc(CROWD, 1);
    unsigned depth = 0, lower = 0;
    struct lock_range want = {.start = 5, .end = LOCK_END, .kind = LOCK_SHARED};

    memset(&set, 0, sizeof(set));
    spare = NULL;
    for (unsigned k = 0; k < CROWD + 4; k++)
        give(&many[k]);
    for (unsigned k = 0; k < CROWD; k++) {
        want.owner = &crowd[k];
        lock_put(&set, &want, &spare);
    }
    for (unsigned k = 0; k < CROWD; k++) {
        depth = 0;
        for (const struct treap_node *n = &many[k].own; n->up; n = n->up)
            depth++;
        lower = MAX(lower, depth);
    }
    ok(lower < 80, "the tree of %u owners has %u levels", CROWD, lower);
    ok(!lock_conflict(&set, &want), "who shares meets nobody");
    want.kind = LOCK_EXCLUSIVE;
    ok(lock_conflict(&set, &want) != NULL, "who wants it alone does");
    for (unsigned k = 0; k + 1 < CROWD; k++) {
        want.owner = &crowd[k];
        want.kind = LOCK_NONE;
        change(&want);
    }
    want.owner = &crowd[CROWD - 1];
    want.kind = LOCK_EXCLUSIVE;
    ok(!lock_conflict(&set, &want), "the last one has only itself in its way");
    free(crowd);
    free(many);
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
    test_portions();
    test_crowd();
    return tap_done();
}
