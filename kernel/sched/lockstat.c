/*
 * A table of lines without a lock. A line is found by the address of the name and the rank: the
 * linker keeps one copy of equal strings, and a lock and the queue of its waiters may share a name.
 * A line is claimed once, by a compare-and-swap, and never given up. Between the claim and `ready`
 * the claimer stands at IPL_HIGH: no handler on its own CPU can come upon the half-made line and
 * wait for it, and other CPUs wait for a few instructions.
 *
 * Counters are atomic additions: locks of one name are held by several CPUs at once. The place of
 * the longest hold is stored behind its length, so two CPUs that set a record in the same moment
 * may leave the place of the shorter one.
 *
 * Callers are counted by each CPU in its own table, at IPL_HIGH: so no update is interrupted by
 * another of the same CPU, and a CPU that answers an inter-processor call is in the middle of none.
 * That is how a table is taken away or cleared: first the round ends (or the pointer goes), then
 * every CPU answers a call, and whoever comes later looks at round and pointer again, at IPL_HIGH.
 */
#include "kernel/sched/lockstat.h"

#include "kernel/base/string.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/ipl.h"
#include "kernel/sched/rank.h"
#include "kernel/sched/timer.h"

/* Names are literals in the source: some forty, wait queues included. */
#define LINES 128u

struct line {
    uint32_t claimed, ready; /* atomic; ready by release order */
    struct lockstat s;       /* name, rank, ipl: constant once ready; the rest atomic */
};

static struct line lines[LOCKSTAT_KINDS][LINES];
static uint32_t rounds; /* atomic: rounds begun so far */
/* Atomic: a table for each CPU, or NULL. */
static struct lockstat_callers *callers[LOCKSTAT_KINDS];
static uint64_t started_at[LOCKSTAT_KINDS], ended_at[LOCKSTAT_KINDS]; /* atomic */

uint32_t lockstat_rounds[LOCKSTAT_KINDS];

static void claim(struct line *l, const struct lockstat_hold *h)
{
    uint32_t no = 0;
    ipl_t ipl = ipl_raise(IPL_HIGH);

    if (__atomic_compare_exchange_n(&l->claimed, &no, 1, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
        l->s.name = h->name;
        l->s.rank = h->rank;
        l->s.ipl = h->ipl;
        __atomic_store_n(&l->ready, 1, __ATOMIC_RELEASE);
    }
    ipl_restore(ipl);
    while (!__atomic_load_n(&l->ready, __ATOMIC_ACQUIRE))
        ;
}

/* The line of that name; NULL when the table is full, which a test would notice as a missing name.
 */
static struct lockstat *line_of(const struct lockstat_hold *h)
{
    uint32_t start = (uint32_t)(((uint64_t)h->name >> 2) + h->rank);

    for (uint32_t i = 0; i < LINES; i++) {
        struct line *l = &lines[h->kind][(start + i) % LINES];

        if (!__atomic_load_n(&l->ready, __ATOMIC_ACQUIRE))
            claim(l, h);
        if (l->s.name == h->name && l->s.rank == h->rank)
            return &l->s;
    }
    return NULL;
}

static void add(uint64_t *counter, uint64_t n) { __atomic_fetch_add(counter, n, __ATOMIC_RELAXED); }

/* A slot is looked for in so many places: a look-up costs the same however full the table is. */
#define PROBES 16u

/* The slot of that caller in this CPU's table, claimed if need be; NULL: no place. IPL_HIGH. */
static struct lockstat_caller *caller_of(struct lockstat_callers *t, const struct lockstat_hold *h)
{
    uint64_t hash = (h->place >> 2) * 0x9E3779B97F4A7C15ul + ((uint64_t)h->name >> 3) + h->shared;

    for (unsigned i = 0; i < PROBES; i++) {
        struct lockstat_caller *c = &t->slot[((hash >> 32) + i) % LOCKSTAT_CALLERS];

        if (!c->name) {
            c->place = h->place;
            c->rank = h->rank;
            c->shared = h->shared;
            __atomic_store_n(&c->name, h->name, __ATOMIC_RELEASE);
        }
        if (c->name == h->name && c->place == h->place && c->rank == h->rank &&
            c->shared == h->shared)
            return c;
    }
    return NULL;
}

static void own_add(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static void note_caller(uint32_t round, const struct lockstat_hold *h, unsigned what)
{
    ipl_t ipl = ipl_raise(IPL_HIGH);
    struct lockstat_callers *t = __atomic_load_n(&callers[h->kind], __ATOMIC_ACQUIRE);
    struct lockstat_caller *c = NULL;

    if (t && round == __atomic_load_n(&lockstat_rounds[h->kind], __ATOMIC_ACQUIRE)) {
        t += cpu_id();
        c = caller_of(t, h);
        if (!c && (what & LOCKSTAT_TAKEN))
            own_add(&t->dropped, 1);
    }
    if (c && (what & LOCKSTAT_TAKEN)) {
        own_add(&c->count, 1);
        own_add(&c->waits, h->waited);
        own_add(&c->wait_ns, h->wait_ns);
    }
    if (c && (what & LOCKSTAT_RELEASED))
        own_add(&c->held_ns, h->held_ns);
    ipl_set(ipl); /* nothing here asked for a reschedule */
}

/* Raise *most to at least n. True: it was raised. */
static bool raise_to(uint64_t *most, uint64_t n)
{
    uint64_t old = __atomic_load_n(most, __ATOMIC_RELAXED);

    while (n > old)
        if (__atomic_compare_exchange_n(most, &old, n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
    return false;
}

static void note_taken(struct lockstat *s, const struct lockstat_hold *h)
{
    add(h->shared ? &s->shared : &s->acquisitions, 1);
    if (!h->waited)
        return;
    add(&s->waits, 1);
    if (h->shared)
        add(&s->shared_waits, 1);
    add(&s->wait_ns, h->wait_ns);
    raise_to(&s->longest_wait_ns, h->wait_ns);
}

static void note_released(struct lockstat *s, const struct lockstat_hold *h)
{
    add(h->shared ? &s->shared_unlocks : &s->unlocks, 1);
    add(&s->held_ns, h->held_ns);
    if (raise_to(&s->longest_ns, h->held_ns))
        __atomic_store_n(&s->longest_place, h->place, __ATOMIC_RELAXED);
}

void lockstat_note(uint32_t round, const struct lockstat_hold *h, unsigned what)
{
    struct lockstat *s;

    if (round != lockstat_round_of(h->kind))
        return;
    if (h->kind == LOCKSTAT_MUTEX && h->rank == MUTEX_TRACE)
        return; /* a display takes it thousands of times, and would show itself as the busiest */
    if (__atomic_load_n(&callers[h->kind], __ATOMIC_RELAXED) && h->place)
        note_caller(round, h, what);
    s = line_of(h);
    if (!s)
        return;
    if (what & LOCKSTAT_TAKEN)
        note_taken(s, h);
    if (what & LOCKSTAT_RELEASED)
        note_released(s, h);
}

static void nothing(void *arg) { (void)arg; }

/* Wait until no CPU is in the middle of note_caller() with what was there before. */
static void wait_for_cpus(void) { ipi_call(~0ul, nothing, NULL); }

static void clear_line(struct lockstat *s)
{
    uint64_t *const counters[] = {&s->acquisitions, &s->shared,         &s->waits,
                                  &s->shared_waits, &s->wait_ns,        &s->longest_wait_ns,
                                  &s->unlocks,      &s->shared_unlocks, &s->held_ns,
                                  &s->longest_ns,   &s->longest_place};

    for (unsigned i = 0; i < ARRAY_SIZE(counters); i++)
        __atomic_store_n(counters[i], 0, __ATOMIC_RELAXED);
}

void lockstat_start(enum lockstat_kind kind)
{
    struct lockstat_callers *t = __atomic_load_n(&callers[kind], __ATOMIC_RELAXED);

    lockstat_stop(kind);
    wait_for_cpus();
    for (unsigned i = 0; i < LINES; i++)
        clear_line(&lines[kind][i].s);
    if (t)
        memset(t, 0, cpu_count * sizeof(*t));
    __atomic_store_n(&started_at[kind], clock_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&lockstat_rounds[kind], __atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED),
                     __ATOMIC_RELEASE);
}

void lockstat_stop(enum lockstat_kind kind)
{
    if (__atomic_exchange_n(&lockstat_rounds[kind], 0, __ATOMIC_RELEASE))
        __atomic_store_n(&ended_at[kind], clock_ns(), __ATOMIC_RELAXED);
}

void lockstat_times(enum lockstat_kind kind, uint64_t *started_ns, uint64_t *lasted_ns)
{
    uint64_t end = lockstat_on(kind) ? clock_ns()
                                     : __atomic_load_n(&ended_at[kind], __ATOMIC_RELAXED);

    *started_ns = __atomic_load_n(&started_at[kind], __ATOMIC_RELAXED);
    *lasted_ns = end - *started_ns;
}

struct lockstat_callers *lockstat_attach(enum lockstat_kind kind, struct lockstat_callers *tables)
{
    struct lockstat_callers *old = __atomic_exchange_n(&callers[kind], tables, __ATOMIC_ACQ_REL);

    wait_for_cpus();
    return old;
}

static uint64_t load(const uint64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

bool lockstat_get(enum lockstat_kind kind, uint64_t index, struct lockstat *out)
{
    for (unsigned i = 0; i < LINES; i++) {
        const struct line *l = &lines[kind][i];
        const struct lockstat *s = &l->s;

        if (!__atomic_load_n(&l->ready, __ATOMIC_ACQUIRE) || index-- != 0)
            continue;
        *out = (struct lockstat){.name = s->name,
                                 .rank = s->rank,
                                 .ipl = s->ipl,
                                 .acquisitions = load(&s->acquisitions),
                                 .shared = load(&s->shared),
                                 .waits = load(&s->waits),
                                 .shared_waits = load(&s->shared_waits),
                                 .wait_ns = load(&s->wait_ns),
                                 .longest_wait_ns = load(&s->longest_wait_ns),
                                 .unlocks = load(&s->unlocks),
                                 .shared_unlocks = load(&s->shared_unlocks),
                                 .held_ns = load(&s->held_ns),
                                 .longest_ns = load(&s->longest_ns),
                                 .longest_place = load(&s->longest_place)};
        return true;
    }
    return false;
}
