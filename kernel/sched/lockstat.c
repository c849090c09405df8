/*
 * A table of entries without a lock. An entry is found by the address of the name and the rank: the
 * linker keeps one copy of equal strings, but a lock and the queue of its waiters may share a name.
 * An entry is claimed once, by a compare-and-swap, and never released. Between the claim and
 * `ready` the claiming CPU is at IPL_HIGH: no handler on that CPU can find the entry half made and
 * wait for it, and other CPUs wait for a few instructions.
 *
 * Counters are changed by atomic additions, since locks of one name are held by several CPUs at
 * once. The place of the longest hold is stored after its length, so two CPUs that set a record at
 * the same moment may leave the place of the shorter hold.
 *
 * Nothing is allocated. When the table is full, further names are not counted.
 */
#include "kernel/sched/lockstat.h"

#include "kernel/base/string.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/ipl.h"
#include "kernel/sched/meter.h"
#include "kernel/sched/rank.h"
#include "kernel/sched/timer.h"

/* Names are string literals; there are some forty, those of wait queues included. */
#define LINES 128u

struct line {
    uint32_t claimed, ready; /* atomic; ready by release order */
    struct lockstat s;       /* name, rank, ipl: constant once ready; the rest atomic */
};

static struct line lines[LOCKSTAT_KINDS][LINES];
static uint32_t rounds;                                           /* atomic: rounds begun so far */
static const struct lockstat_listener *listeners[LOCKSTAT_KINDS]; /* atomic */
static uint64_t started_at[LOCKSTAT_KINDS], ended_at[LOCKSTAT_KINDS]; /* atomic */

uint64_t lockstat_rounds[LOCKSTAT_KINDS];

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

/* The entry for h's name and rank; NULL when the table is full, which a test would notice as a
   missing name. */
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

/* Raise *most to n if it is less. True: it was raised. */
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
    if (h->kind == LOCKSTAT_SPIN)
        meter_held(h->name, h->ipl, h->place, h->held_ns);
    if (raise_to(&s->longest_ns, h->held_ns))
        __atomic_store_n(&s->longest_place, h->place, __ATOMIC_RELAXED);
}

void lockstat_note(uint32_t round, const struct lockstat_hold *h, unsigned what)
{
    const struct lockstat_listener *l;
    struct lockstat *s;

    if (round != lockstat_round_of(h->kind))
        return;
    if (h->kind == LOCKSTAT_MUTEX && h->rank == MUTEX_TRACE)
        return; /* a display takes it thousands of times, and would show it as the busiest lock */
    l = __atomic_load_n(&listeners[h->kind], __ATOMIC_RELAXED);
    if (l && h->place)
        l->note(round, h, what);
    s = line_of(h);
    if (!s)
        return;
    if (what & LOCKSTAT_TAKEN)
        note_taken(s, h);
    if (what & LOCKSTAT_RELEASED)
        note_released(s, h);
}

static void nothing(void *arg) { (void)arg; }

/* Wait until no CPU is in a part of a listener that it entered before this call and that runs with
   inter-processor interrupts blocked. */
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
    const struct lockstat_listener *l = __atomic_load_n(&listeners[kind], __ATOMIC_RELAXED);

    lockstat_stop(kind);
    wait_for_cpus();
    for (unsigned i = 0; i < LINES; i++)
        clear_line(&lines[kind][i].s);
    if (l)
        l->clear(kind);
    if (kind == LOCKSTAT_SPIN)
        meter_start();
    __atomic_store_n(&started_at[kind], clock_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&lockstat_rounds[kind], __atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED),
                     __ATOMIC_RELEASE);
}

void lockstat_stop(enum lockstat_kind kind)
{
    if (!__atomic_exchange_n(&lockstat_rounds[kind], 0, __ATOMIC_RELEASE))
        return;
    if (kind == LOCKSTAT_SPIN)
        meter_stop();
    __atomic_store_n(&ended_at[kind], clock_ns(), __ATOMIC_RELAXED);
}

void lockstat_times(enum lockstat_kind kind, uint64_t *started_ns, uint64_t *lasted_ns)
{
    uint64_t end = lockstat_on(kind) ? clock_ns()
                                     : __atomic_load_n(&ended_at[kind], __ATOMIC_RELAXED);

    *started_ns = __atomic_load_n(&started_at[kind], __ATOMIC_RELAXED);
    *lasted_ns = end - *started_ns;
}

void lockstat_listen(enum lockstat_kind kind, const struct lockstat_listener *l)
{
    __atomic_store_n(&listeners[kind], l, __ATOMIC_RELEASE);
    wait_for_cpus();
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
