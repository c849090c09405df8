// SOURCES: kernel/net/cycles.c
/* The search for sockets that nobody can reach: figures drawn by hand, and random ones against a
 * plain model. */
#include "kernel/net/cycles.h"

#include "userland/lib/include/tap.h"

#define MOST 12

static struct flyer flyer[MOST];
static struct flyer outer; /* a socket that is in no message */
static struct carrier carrier[4 * MOST];
static struct flyer *held[4 * MOST];
static unsigned ncarriers;
static struct list all;

static void reset(void)
{
    list_init(&all);
    list_init(&outer.carriers);
    ncarriers = 0;
    for (unsigned k = 0; k < MOST; k++) {
        flyer[k] = (struct flyer){.flights = 0};
        list_init(&flyer[k].link);
        list_init(&flyer[k].work);
        list_init(&flyer[k].carriers);
    }
}

/* Put the file of flyer k (MOST: one that is no socket) into a message in the queue of `in`. */
static void send(unsigned k, struct flyer *in)
{
    struct carrier *c = &carrier[ncarriers];

    held[ncarriers] = k < MOST ? &flyer[k] : NULL;
    *c = (struct carrier){.n = 1, .flyer = &held[ncarriers]};
    list_add_tail(&in->carriers, &c->link);
    ncarriers++;
    if (k == MOST)
        return;
    flyer[k].references++;
    if (flyer[k].flights++ == 0)
        list_add_tail(&all, &flyer[k].link);
}

static void figures(void)
{
    reset();
    is(cycles_find(&all), 0, "nothing flies, nothing is lost");

    reset();
    send(0, &flyer[0]);
    is(cycles_find(&all), 1, "a socket in its own queue is lost");
    flyer[0].references++;
    is(cycles_find(&all), 0, "but not while it has a descriptor");

    reset();
    send(0, &flyer[1]);
    send(1, &flyer[0]);
    is(cycles_find(&all), 2, "two sockets in each other's queues are lost");
    flyer[1].references++;
    is(cycles_find(&all), 0, "but not while one has a descriptor");

    reset();
    send(0, &flyer[1]);
    send(1, &flyer[0]);
    send(1, &outer);
    is(cycles_find(&all), 0, "nor while one is in the queue of a socket that is open");

    reset();
    send(0, &flyer[1]);
    send(1, &flyer[0]);
    send(2, &flyer[1]);
    send(MOST, &flyer[2]);
    is(cycles_find(&all), 3, "what is in the queue of one that is lost is lost");
    ok(flyer[2].lost, "the third is");
    send(2, &outer);
    is(cycles_find(&all), 2, "unless it is elsewhere, too");
    ok(!flyer[2].lost, "and the third is not");

    reset();
    for (unsigned k = 0; k + 1 < MOST; k++)
        send(k + 1, &flyer[k]);
    is(cycles_find(&all), 0, "a chain whose first socket is open is not lost");
    send(0, &flyer[MOST - 1]);
    is(cycles_find(&all), MOST, "one that was closed to a ring is");
}

/* The model: what can be reached from descriptors and open sockets, by repetition. */
static unsigned model(bool reached[MOST])
{
    bool more = true;
    unsigned lost = 0;
    uint64_t flights_seen[MOST] = {0};

    for (unsigned k = 0; k < MOST; k++) {
        struct carrier *c;

        reached[k] = flyer[k].references > flyer[k].flights || !flyer[k].flights;
        list_for_each_entry(c, &outer.carriers, link)
            if (c->flyer[0] == &flyer[k])
                flights_seen[k]++;
        reached[k] |= flights_seen[k] != 0;
    }
    while (more) {
        more = false;
        for (unsigned k = 0; k < MOST; k++) {
            struct carrier *c;

            if (!reached[k])
                continue;
            list_for_each_entry(c, &flyer[k].carriers, link) {
                unsigned to = c->flyer[0] ? (unsigned)(c->flyer[0] - flyer) : MOST;

                if (to < MOST && !reached[to]) {
                    reached[to] = true;
                    more = true;
                }
            }
        }
    }
    for (unsigned k = 0; k < MOST; k++)
        lost += !reached[k];
    return lost;
}

static void random_ones(void)
{
    unsigned wrong = 0, lost = 0;
    uint32_t state = 12345;

    for (unsigned round = 0; round < 20000; round++) {
        bool reached[MOST];
        unsigned n;

        reset();
        for (unsigned k = 0; k < 2 * MOST; k++) {
            unsigned from, to;

            state = state * 1664525 + 1013904223;
            from = (state >> 10) % MOST;
            to = (state >> 20) % (MOST + 1);
            send(from, to == MOST ? &outer : &flyer[to]);
        }
        state = state * 1664525 + 1013904223;
        if (state & 0x10000)
            flyer[(state >> 20) % MOST].references++;
        n = cycles_find(&all);
        wrong += n != model(reached);
        for (unsigned k = 0; k < MOST; k++)
            wrong += flyer[k].flights && flyer[k].lost == reached[k];
        lost += n;
    }
    is(wrong, 0, "20,000 random figures agree with the model");
    ok(lost > 1000, "in which many sockets are lost");
}

int main(void)
{
    figures();
    random_ones();
    return tap_done();
}
