// SOURCES:
/*
 * The scheduler's queues compared with plain models: ready threads by priority, timers by deadline.
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/sched/prioq.h"
#include "kernel/sched/timerq.h"
#include "tests/host/rnd.h"
#include "userland/lib/include/tap.h"

#define ITEMS 200

/* ---- ready queue. In the model each item has an order number: descending for items inserted at
   the head, ascending for items inserted at the tail ---- */

struct item {
    struct list link;
    unsigned prio;
    bool in;
    long order;
    uint64_t cpus;
};

static struct item items[ITEMS];

static struct item *model_first(void)
{
    struct item *best = NULL;

    for (unsigned i = 0; i < ITEMS; i++)
        if (items[i].in && (!best || items[i].prio > best->prio ||
                            (items[i].prio == best->prio && items[i].order < best->order)))
            best = &items[i];
    return best;
}

static bool on_cpu(const struct list *l, uint64_t cpu)
{
    return (list_entry(l, struct item, link)->cpus >> cpu) & 1;
}

/* The item that prioq_find must find: of the highest priority that has one, the last that fits. */
static struct item *model_find(uint64_t cpu)
{
    struct item *best = NULL;

    for (unsigned i = 0; i < ITEMS; i++)
        if (items[i].in && ((items[i].cpus >> cpu) & 1) &&
            (!best || items[i].prio > best->prio ||
             (items[i].prio == best->prio && items[i].order > best->order)))
            best = &items[i];
    return best;
}

static void test_prioq(void)
{
    struct prioq q;
    long head = 0, tail = 0;
    unsigned n = 0, wrong_pop = 0, wrong_find = 0, wrong_count = 0, wrong_map = 0;

    prioq_init(&q);
    ok(prioq_pop(&q) == NULL, "an empty queue returns nothing");
    for (unsigned round = 0; round < 200000; round++) {
        struct item *it = &items[rnd(ITEMS)];
        uint32_t map = 0;

        if (!it->in) {
            it->prio = (unsigned)rnd(PRIOQ_LEVELS);
            it->cpus = rnd(16);
            it->in = true;
            if (rnd(3) == 0) {
                it->order = --head;
                prioq_add_head(&q, &it->link, it->prio);
            } else {
                it->order = ++tail;
                prioq_add_tail(&q, &it->link, it->prio);
            }
            n++;
        } else if (rnd(2)) {
            prioq_remove(&q, &it->link, it->prio);
            it->in = false;
            n--;
        } else {
            uint64_t cpu = rnd(4);
            struct item *want = model_find(cpu);
            struct list *got = prioq_find(&q, on_cpu, cpu);

            wrong_find += got != (want ? &want->link : NULL);
            want = model_first();
            got = prioq_pop(&q);
            wrong_pop += got != &want->link;
            want->in = false;
            n--;
        }
        for (unsigned i = 0; i < ITEMS; i++)
            map |= items[i].in ? 1u << items[i].prio : 0;
        wrong_map += map != q.bitmap;
        wrong_count += n != q.count;
    }
    is(wrong_pop, 0, "the first item of the highest priority is returned first");
    is(wrong_find, 0,
       "the thread to move is the last that fits of the highest priority that has one");
    is(wrong_map, 0, "the bitmap shows which priorities have ready threads");
    is(wrong_count, 0, "the count is right");
}

/* ---- timers ---- */

static void test_timerq(void)
{
    static struct timer timers[ITEMS];
    static uint64_t order[ITEMS];
    struct timerq q;
    uint64_t now = 0, started = 0;
    unsigned wrong_first = 0, wrong_due = 0, fired = 0, early = 0;

    timerq_init(&q, 1);
    ok(timerq_first(&q) == TIMERQ_NEVER && !timerq_pop_due(&q, UINT64_MAX),
       "an empty queue has no deadline");
    for (unsigned round = 0; round < 100000; round++) {
        struct timer *t = &timers[rnd(ITEMS)];
        uint64_t first = TIMERQ_NEVER;

        if (t->pending && rnd(4) == 0) {
            timerq_remove(&q, t);
        } else if (!t->pending) {
            bool becomes_first;

            for (unsigned i = 0; i < ITEMS; i++)
                if (timers[i].pending)
                    first = MIN(first, timers[i].deadline_ns);
            t->deadline_ns = now + rnd(50); /* many are equal */
            order[t - timers] = ++started;
            becomes_first = timerq_add(&q, t);
            wrong_first += becomes_first != (t->deadline_ns < first);
        }
        if (rnd(8) == 0) {
            uint64_t last_deadline = 0, last_order = 0;

            now += rnd(20);
            while ((t = timerq_pop_due(&q, now))) {
                fired++;
                early += t->deadline_ns > now;
                wrong_due += t->deadline_ns < last_deadline ||
                             (t->deadline_ns == last_deadline && order[t - timers] < last_order);
                last_deadline = t->deadline_ns;
                last_order = order[t - timers];
            }
            for (unsigned i = 0; i < ITEMS; i++)
                wrong_due += timers[i].pending && timers[i].deadline_ns <= now;
        }
    }
    ok(fired > 1000, "%u timers fired", fired);
    is(early, 0, "none before its deadline");
    is(wrong_due, 0, "in the order of deadlines and of starts, and none is left behind");
    is(wrong_first, 0, "a timer is reported as the first exactly if it is");
}

int main(void)
{
    test_prioq();
    test_timerq();
    return tap_done();
}
