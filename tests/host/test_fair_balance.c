// SOURCES: kernel/sched/fair.c
/*
 * The balance of several CPUs by the fair rule, in a simulation: from any beginning the loads
 * become even with few moves, and each user gets its share.
 */
#include "tests/host/fair_world.h"

/* ---- several CPUs ---- */

#define CPUS_MAX 4
#define USERS    3

static unsigned ncpus;
static uint32_t placed[USERS][CPUS_MAX]; /* threads, all of which compute */

static uint32_t all_of(unsigned u)
{
    return placed[u][0] + placed[u][1] + placed[u][2] + placed[u][3];
}

static uint32_t weight_of(unsigned u, unsigned i)
{
    return placed[u][i] ? fair_share(placed[u][i], all_of(u)) : 0;
}

static uint32_t load_of(unsigned i) { return weight_of(0, i) + weight_of(1, i) + weight_of(2, i); }

static uint32_t count_on(unsigned i) { return placed[0][i] + placed[1][i] + placed[2][i]; }

/* Take a thread that does not run from CPU `from` to CPU i, if there is one that is light enough. A
 * CPU without threads takes any. */
static bool take(unsigned from, unsigned i)
{
    uint32_t turn = (uint32_t)rnd(count_on(from)), gap = load_of(from) - load_of(i);
    unsigned running = turn < placed[0][from]                     ? 0
                       : turn < placed[0][from] + placed[1][from] ? 1
                                                                  : 2;

    for (unsigned n = 0, u = (unsigned)rnd(USERS); n < USERS; n++, u = (u + 1) % USERS)
        if (placed[u][from] > (u == running) &&
            (count_on(i) == 0 || fair_moves(gap, FAIR_WEIGHT, FAIR_WEIGHT * all_of(u)))) {
            placed[u][from]--;
            placed[u][i]++;
            return true;
        }
    return false;
}

/* CPU i looks at those with higher loads, the highest first, as sched_balance() does. Did it take a
 * thread? */
static bool balance(unsigned i)
{
    for (unsigned tried = 1u << i;;) {
        unsigned from = i;

        for (unsigned k = 0; k < ncpus; k++)
            if (!(tried >> k & 1) && count_on(k) > 1 && load_of(k) > load_of(from))
                from = k;
        if (from == i)
            return false;
        if (take(from, i))
            return true;
        tried |= 1u << from;
    }
}

/* How much of all CPUs user u has, in percent of one. */
static unsigned percent_of(unsigned u)
{
    unsigned percent = 0;

    for (unsigned i = 0; i < ncpus; i++)
        percent += placed[u][i] ? 100 * weight_of(u, i) / load_of(i) : 0;
    return percent;
}

/* Threads of three users begin on CPUs at random, which balance them until nothing has moved for
 * long. Returns how many threads were moved. */
static unsigned settle(unsigned cpus, uint32_t a, uint32_t b, uint32_t c)
{
    unsigned moved = 0, quiet = 0;

    ncpus = cpus;
    memset(placed, 0, sizeof(placed));
    for (uint32_t n = 0; n < a + b + c; n++)
        placed[n < a ? 0 : n < a + b ? 1 : 2][rnd(ncpus)]++;
    while (quiet < 100 && moved < 100000) {
        bool took = balance((unsigned)rnd(ncpus));

        moved += took;
        quiet = took ? 0 : quiet + 1;
    }
    return moved;
}

/* The least that user u has in any of 200 settlements, in percent of a CPU. */
static unsigned least_of(unsigned u, unsigned cpus, uint32_t a, uint32_t b, uint32_t c)
{
    unsigned least = UINT32_MAX;

    for (unsigned i = 0; i < 200; i++) {
        settle(cpus, a, b, c);
        if (percent_of(u) < least)
            least = percent_of(u);
    }
    return least;
}

static void test_balance(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 200; i++) {
        uint32_t a = 1 + (uint32_t)rnd(50), b = (uint32_t)rnd(500), c = (uint32_t)rnd(3000);

        wrong += settle(2 + 2 * (i & 1), a, b, c) > a + b + c;
    }
    is(wrong, 0, "whatever the users run, loads become even with less than a move for each thread");
    settle(4, 16, 0, 0);
    ok(placed[0][0] == 4 && placed[0][1] == 4 && placed[0][2] == 4 && placed[0][3] == 4,
       "one user's threads are spread evenly");
    ok(least_of(0, 2, 1, 30, 0) >= 95 && least_of(0, 2, 1, 2000, 0) >= 95,
       "one thread beside many has a CPU of two");
    ok(least_of(0, 4, 1, 30, 0) >= 95 && least_of(0, 4, 1, 2000, 0) >= 95, "and of four");
    ok(least_of(0, 4, 1, 1, 30) >= 95 && least_of(1, 4, 1, 1, 30) >= 95,
       "two users' only threads have a CPU each, beside 30 of a third");
    ok(least_of(0, 4, 1, 1, 2000) >= 95 && least_of(1, 4, 1, 1, 2000) >= 95, "and beside 2,000");
    ok(least_of(0, 4, 2, 2000, 0) >= 180, "two threads of one have two CPUs");
    ok(least_of(0, 2, 1, 1, 30) >= 60, "and three users share two CPUs: %u %%",
       least_of(0, 2, 1, 1, 30));
    ok(least_of(0, 4, 8, 2000, 0) >= 190 && least_of(1, 4, 8, 2000, 0) >= 190,
       "eight threads of one user have as much as 2,000");
    ok(least_of(0, 4, 40, 400, 4) >= 120 && least_of(1, 4, 40, 400, 4) >= 120 &&
           least_of(2, 4, 40, 400, 4) >= 120,
       "three users have equal shares");
}

int main(void)
{
    test_balance();
    return tap_done();
}
