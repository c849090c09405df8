// SOURCES: kernel/sched/fair.c
/*
 * The fair rule in a simulation (its queue: test_fair_queue.c; several CPUs: test_fair_balance.c).
 * On a CPU threads compute, sleep, wake each other, come, go and change queues, with clock ticks
 * and preemption as in the kernel: the service that each gets is compared with the ideal one at all
 * times, and the time from a wake-up to running is measured.
 */
#include "tests/host/fair_world.h"

/* ---- the simulated CPU ---- */

#define THREADS 1200

struct sim_thread {
    struct fair_node node; /* first */
    bool ready;            /* or running */
    uint64_t run, sleep;   /* it runs for that long, then sleeps; run 0: it never sleeps */
    bool keep;             /* it holds what others wait for */
    int wakes;             /* index of the thread that it wakes when it stops, -1: none. Then it
                              sleeps until it is woken */
    uint64_t left, wake_at, woken_at;
    uint64_t service, rounds, worst; /* worst: from a wake-up to running */
};

static struct sim_thread t[THREADS];
static unsigned nthreads;
static struct fair_queue cpu;
static uint64_t now, next_tick, switches;
static struct sim_thread *current;
static uint32_t charged; /* low half of the time up to which `current` is charged */

static void cpu_init(void)
{
    fair_queue_init(&cpu, NULL);
    nthreads = 0;
    now = switches = 0;
    next_tick = TICK;
    current = NULL;
}

static struct sim_thread *add(struct fair_queue *q, int nice)
{
    struct sim_thread *s = &t[nthreads++];

    memset(s, 0, sizeof(*s));
    fair_node_init(&s->node, q, NULL, fair_weight_of_nice(nice));
    s->wakes = -1;
    return s;
}

static void account(void)
{
    if (!current)
        return;
    fair_charge(&current->node, (uint32_t)now - charged);
    current->service += (uint32_t)now - charged;
    charged = (uint32_t)now;
}

/* Start the thread that is to run: no thread is current. */
static void dispatch(void)
{
    current = cpu.root || cpu.current ? (struct sim_thread *)fair_pick(&cpu, (uint32_t)now) : NULL;
    charged = (uint32_t)now;
    switches++;
    if (current && current->woken_at) {
        if (now - current->woken_at > current->worst)
            current->worst = now - current->woken_at;
        current->woken_at = 0;
    }
}

static void preempt(void)
{
    account();
    fair_put_back(&current->node, (uint32_t)now);
    if (current->keep)
        fair_hurry(&current->node);
    dispatch();
}

static void wake(struct sim_thread *s)
{
    s->ready = true;
    s->left = s->run;
    s->woken_at = now;
    fair_add(&s->node);
    if (current && fair_preempts(&s->node, &current->node))
        preempt();
    else if (!current)
        dispatch();
}

static void stop(struct sim_thread *s)
{
    account();
    s->ready = false;
    s->rounds++;
    s->wake_at = s->wakes >= 0 ? UINT64_MAX : now + s->sleep;
    if (s->wakes >= 0) { /* as the writer of a pipe: it wakes the other and then waits */
        struct sim_thread *other = &t[s->wakes];

        other->ready = true;
        other->left = other->run;
        other->woken_at = now;
        fair_add(&other->node);
    }
    fair_stop(&s->node, (uint32_t)now, true);
    dispatch();
}

/* Advance to the next event, at most to `end`. */
static void step(uint64_t end)
{
    uint64_t next = end < next_tick ? end : next_tick;

    for (unsigned i = 0; i < nthreads; i++)
        if (!t[i].ready && t[i].wake_at < next)
            next = t[i].wake_at;
    if (current && current->run && now + current->left < next)
        next = now + current->left;
    if (current && current->run)
        current->left -= next - now;
    now = next;
    if (current && current->run && current->left == 0)
        stop(current);
    for (unsigned i = 0; i < nthreads; i++)
        if (!t[i].ready && t[i].wake_at <= now)
            wake(&t[i]);
    if (now < next_tick)
        return;
    next_tick += TICK;
    if (current) {
        account();
        if (fair_tick(&current->node, (uint32_t)now, current->keep))
            preempt();
    }
}

static void run_until(uint64_t end)
{
    while (now < end)
        step(end);
    account();
}

/* The greatest difference between what a thread got and its ideal share, in units of a request plus
 * a tick, over a run of nthreads busy threads of one queue. */
static double worst_error(uint64_t length)
{
    double worst = 0, weights = 0;

    for (unsigned i = 0; i < nthreads; i++)
        weights += t[i].node.weight;
    while (now < length) {
        step(length);
        account();
        for (unsigned i = 0; i < nthreads; i++) {
            double ideal = (double)now * t[i].node.weight / weights;
            double error = ((double)t[i].service - ideal) / (FAIR_REQUEST + TICK);

            error = error < 0 ? -error : error;
            worst = error > worst ? error : worst;
        }
    }
    return worst;
}

static void test_share(void)
{
    static const int counts[] = {2, 3, 8, 40};
    double worst;

    for (unsigned k = 0; k < 4; k++) {
        cpu_init();
        for (int i = 0; i < counts[k]; i++)
            add(&cpu, 0)->ready = false;
        worst = worst_error((uint64_t)counts[k] * 200 * TICK);
        ok(worst <= 1,
           "%d equal threads: nobody is ever further from its share than a request and "
           "a tick (%.2f of it)",
           counts[k], worst);
    }
    cpu_init();
    for (int nice = -20; nice < 20; nice += 3)
        add(&cpu, nice);
    worst = worst_error(4000ul * TICK);
    ok(worst <= 1, "the same with nice values from -20 to 19 (%.2f)", worst);
}

static void test_nice(void)
{
    bool right = true;

    for (int nice = -20; nice < 19; nice++) {
        double ratio;

        cpu_init();
        add(&cpu, nice);
        add(&cpu, nice + 1);
        run_until(4000ul * TICK);
        ratio = (double)t[0].service / (double)t[1].service;
        right = right && ratio > 1.17 && ratio < 1.36;
    }
    ok(right, "one step of nice is a factor of about 1.25 everywhere");
}

static void test_latency(void)
{
    static const int counts[] = {1, 8, 100, 1000};

    for (unsigned k = 0; k < 4; k++) {
        uint64_t unit = counts[k] > 100 ? 20 : 1;

        cpu_init();
        for (int i = 0; i < counts[k]; i++)
            add(&cpu, i % 3 - 1);
        struct sim_thread *s = add(&cpu, 0);

        /* Below its share: 1 in 2,000 of the time beside a thousand. */
        s->run = 20 * US;
        s->sleep = 20 * 1000 * US * unit + 77;
        s->wake_at = 3 * TICK;
        s->node.v -= 1ul << 30; /* it has slept for long */
        run_until(400 * TICK * unit);
        ok(s->rounds >= 15 && s->worst <= TICK,
           "beside %d busy threads one that sleeps much waits %u us at most (%u wake-ups)",
           counts[k], (unsigned)(s->worst / US), (unsigned)s->rounds);
    }
}

/* Two threads that wake each other, in percent of what they do alone. */
static unsigned pair_beside(int busy)
{
    cpu_init();
    add(&cpu, 0);
    add(&cpu, 0);
    for (unsigned i = 0; i < 2; i++) {
        t[i].run = 7 * US;
        t[i].wakes = !i;
    }
    t[1].wake_at = UINT64_MAX;
    for (int i = 0; i < busy; i++)
        add(&cpu, 0);
    run_until(1000 * TICK);
    return (unsigned)((t[0].service + t[1].service) * 100 / now);
}

static void test_pair(void)
{
    unsigned one = pair_beside(1), eight = pair_beside(8);

    ok(one >= 60, "two threads that wake each other get their two thirds beside a busy one: %u %%",
       one);
    ok(eight >= 18, "and their two tenths beside eight: %u %%", eight);
}

/* ---- groups ---- */

#define GROUPS 40

static struct fair_node group_nodes[GROUPS];
static struct fair_queue group_queues[GROUPS];
static unsigned ngroups;

static struct fair_queue *group(struct fair_queue *above)
{
    unsigned i = ngroups++;

    fair_node_init(&group_nodes[i], above, &group_queues[i], FAIR_WEIGHT);
    fair_queue_init(&group_queues[i], &group_nodes[i]);
    return &group_queues[i];
}

static uint64_t served(unsigned from, unsigned to)
{
    uint64_t sum = 0;

    for (unsigned i = from; i < to; i++)
        sum += t[i].service;
    return sum;
}

static void test_groups(void)
{
    struct fair_queue *a, *b, *many, *one;
    uint64_t part;

    cpu_init();
    ngroups = 0;
    a = group(&cpu);
    b = group(&cpu);
    add(a, 0);
    for (unsigned i = 0; i < 50; i++)
        add(b, 0);
    run_until(2000 * TICK);
    part = served(0, 1) * 1000 / now;
    ok(part >= 495 && part <= 505, "a user's one process has as much as another's 50: %u per mille",
       (unsigned)part);

    /* User a: a process with ten threads, one with one thread; user b: one busy process. */
    cpu_init();
    ngroups = 0;
    a = group(&cpu);
    b = group(&cpu);
    many = group(a);
    for (unsigned i = 0; i < 10; i++)
        add(many, 0);
    one = a;
    add(one, 0);
    add(b, 0);
    run_until(4000 * TICK);
    ok(served(0, 10) * 100 / now >= 24 && served(0, 10) * 100 / now <= 26 &&
           served(10, 11) * 100 / now >= 24 && served(10, 11) * 100 / now <= 26 &&
           served(11, 12) * 100 / now >= 49 && served(11, 12) * 100 / now <= 51,
       "users, then processes, then threads: %u, %u and %u percent",
       (unsigned)(served(0, 10) * 100 / now), (unsigned)(served(10, 11) * 100 / now),
       (unsigned)(served(11, 12) * 100 / now));
}

/* A user's thread that sleeps much runs soon after it wakes, whatever 500 threads of another user
 * do: compute, sleep and wake at every moment, stop just before each tick. */
static void test_hostile_user(void)
{
    struct fair_queue *a, *b;
    struct sim_thread *s;

    cpu_init();
    ngroups = 0;
    a = group(&cpu);
    b = group(&cpu);
    s = add(a, 0);
    s->run = 100 * US;
    s->sleep = 5000 * US + 11;
    for (unsigned i = 0; i < 500; i++) {
        struct sim_thread *h = add(b, -20);

        if (i % 3) {
            h->run = 1 + rnd(TICK);
            h->sleep = 1 + rnd(20 * TICK);
        }
        h->wake_at = rnd(10 * TICK);
    }
    run_until(1000 * TICK);
    ok(s->rounds >= 40 && s->worst <= TICK,
       "a thread beside 500 of another user waits %u us at most", (unsigned)(s->worst / US));

    /* A thread that leaves just before each tick is charged for what it used. */
    cpu_init();
    s = add(&cpu, 0);
    s->run = TICK - 10;
    s->sleep = 11;
    add(&cpu, 0);
    run_until(2000 * TICK);
    ok(s->service * 100 / now <= 51, "who avoids the ticks gains nothing: %u percent",
       (unsigned)(s->service * 100 / now));
}

/* A thread that goes to and fro between two CPUs' queues takes its debt along. */
static void test_migration(void)
{
    struct fair_queue other;
    struct sim_thread *s;
    uint64_t advance;

    cpu_init();
    fair_queue_init(&other, NULL);
    other.floor = 1ul << 40;
    s = add(&cpu, 0);
    add(&cpu, 0);
    fair_add(&s->node);
    fair_add(&t[1].node);
    for (unsigned i = 0; i < 10; i++) {
        struct fair_queue *q = s->node.queue;

        fair_charge(&s->node, TICK / 4);
        advance = s->node.v - q->floor;
        if (fair_in_tree(&s->node))
            fair_remove(&s->node);
        fair_detach(&s->node);
        s->node.queue = NULL;
        fair_attach(&s->node, q == &cpu ? &other : &cpu);
        is(s->node.v - s->node.queue->floor, advance, "what it is ahead stays the same");
        if (i == 0)
            is(s->node.queue == &other, 1, "in the other queue");
    }
    struct fair_node child = {0};

    fair_inherit(&child, &s->node);
    fair_attach(&child, &other);
    ok(child.v - other.floor == s->node.v - s->node.queue->floor && child.v > other.floor,
       "a new thread begins where its creator stands");
}

/* The host does not run the CPU for `lost` cycles; then comes the tick. `late`: there is a switch
 * before, as where the host does not run who has the lock of the queue. */
static void stall(uint64_t lost, bool late)
{
    struct sim_thread *met = current;

    now += lost;
    next_tick += lost;
    if (late)
        preempt();
    account();
    met->service -= lost;
    if (fair_tick(&current->node, (uint32_t)now, current->keep))
        preempt();
}

/* One that the host's stalls meet again and again loses nothing, nor does its user. */
static void test_stall(void)
{
    static struct fair_queue inner[2];
    static struct fair_node users[2];
    uint64_t before[3], most = 0, least = UINT64_MAX;

    cpu_init();
    for (unsigned i = 0; i < 2; i++) {
        fair_node_init(&users[i], &cpu, &inner[i], FAIR_WEIGHT);
        fair_queue_init(&inner[i], &users[i]);
    }
    add(&inner[0], 0)->ready = true;
    add(&inner[1], 0)->ready = true;
    add(&inner[1], 0)->ready = true;
    for (unsigned i = 0; i < 3; i++)
        fair_add(&t[i].node);
    dispatch();
    for (unsigned k = 0; k < 20; k++) {
        run_until(now + 40 * TICK);
        for (unsigned i = 0; i < 3; i++)
            before[i] = t[i].service;
        while (current != &t[1])
            step(UINT64_MAX);
        stall((uint64_t)(k + 1) * 20 * TICK, k % 2);
        run_until(now + 40 * TICK);
        most = t[0].service - before[0] > most ? t[0].service - before[0] : most;
        for (unsigned i = 1; i < 3; i++)
            least = t[i].service - before[i] < least ? t[i].service - before[i] : least;
    }
    ok(most <= 20 * TICK + 2 * (FAIR_REQUEST + TICK) &&
           least + 2 * (FAIR_REQUEST + TICK) >= 10 * TICK,
       "time in which the host does not run the CPU is charged to nobody (%.1f and %.1f ticks)",
       (double)most / TICK, (double)least / TICK);
}

/* Have the current thread put back, and choose again. */
static struct sim_thread *choose_again(void)
{
    preempt();
    return current;
}

/* Those that hurry are chosen first, in their order; one that is current and is to be kept gives
 * way to other users only; and what they use they have less of later. */
static void test_urgent(void)
{
    struct sim_thread *hurried[4], *kept;
    struct fair_queue *a, *b;
    unsigned n = 0, right = 0;
    uint64_t begin;

    cpu_init();
    ngroups = 0;
    a = group(&cpu);
    b = group(&cpu);
    for (unsigned i = 0; i < 200; i++)
        add(a, 0);
    run_until(500 * TICK);
    for (unsigned i = 199; n < 4; i -= 40)
        if (&t[i] != current)
            hurried[n++] = &t[i];
    for (unsigned i = 0; i < 4; i++)
        fair_hurry(&hurried[i]->node);
    fair_hurry(&hurried[1]->node);
    fair_remove(&hurried[2]->node);
    fair_add(&hurried[2]->node);
    right += choose_again() == hurried[0];
    right += choose_again() == hurried[1];
    right += choose_again() == hurried[3];
    is(right, 3, "those that hurry are chosen in their order, without one that left");
    is(list_empty(&a->urgent), 1, "and then nobody hurries");

    kept = choose_again();
    kept->keep = true;
    begin = kept->service;
    run_until(now + 30 * TICK);
    ok(current == kept && kept->service - begin >= 30 * TICK,
       "one that is to be kept does not give way to others of its user");
    wake(add(b, 0));
    begin = kept->service;
    run_until(now + 100 * TICK);
    ok(kept->service - begin >= 48 * TICK && kept->service - begin <= 52 * TICK,
       "but to another user: it has %u of 100 ticks", (unsigned)((kept->service - begin) / TICK));
    kept->keep = false;
    begin = kept->service;
    run_until(now + 20000ul * TICK);
    ok(kept->service - begin <= 2 * TICK, "afterwards it waits until the others have had as much");
    run_until(now + 20000ul * TICK);
    ok(kept->service - begin >= 2 * TICK, "and then has its turn again");
}

int main(void)
{
    test_share();
    test_stall();
    test_urgent();
    test_nice();
    test_latency();
    test_pair();
    test_groups();
    test_hostile_user();
    test_migration();
    return tap_done();
}
