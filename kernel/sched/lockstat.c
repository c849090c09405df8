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
 */
#include "kernel/sched/lockstat.h"

#include "kernel/sched/ipl.h"

/* Names are literals in the source: some forty, wait queues included. */
#define LINES 128u

struct line {
    uint32_t claimed, ready; /* atomic; ready by release order */
    struct lockstat s;       /* name, rank, ipl: constant once ready; the rest atomic */
};

static struct line lines[LOCKSTAT_KINDS][LINES];
static uint32_t rounds; /* atomic: rounds begun so far */

uint32_t lockstat_round;

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

void lockstat_note(uint32_t round, const struct lockstat_hold *h)
{
    struct lockstat *s;
    uint64_t longest;

    if (round != __atomic_load_n(&lockstat_round, __ATOMIC_RELAXED))
        return;
    s = line_of(h);
    if (!s)
        return;
    if (h->waited)
        add(&s->waits, 1);
    if (h->shared) {
        add(&s->shared, 1);
        return;
    }
    add(&s->acquisitions, 1);
    add(&s->held_ns, h->held_ns);
    longest = __atomic_load_n(&s->longest_ns, __ATOMIC_RELAXED);
    while (h->held_ns > longest)
        if (__atomic_compare_exchange_n(&s->longest_ns, &longest, h->held_ns, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            __atomic_store_n(&s->longest_place, h->place, __ATOMIC_RELAXED);
            break;
        }
}

static void clear(uint64_t *counter) { __atomic_store_n(counter, 0, __ATOMIC_RELAXED); }

void lockstat_start(void)
{
    lockstat_stop();
    for (unsigned k = 0; k < LOCKSTAT_KINDS; k++)
        for (unsigned i = 0; i < LINES; i++) {
            struct lockstat *s = &lines[k][i].s;

            clear(&s->acquisitions);
            clear(&s->shared);
            clear(&s->waits);
            clear(&s->held_ns);
            clear(&s->longest_ns);
            clear(&s->longest_place);
        }
    __atomic_store_n(&lockstat_round, __atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED),
                     __ATOMIC_RELEASE);
}

void lockstat_stop(void) { __atomic_store_n(&lockstat_round, 0, __ATOMIC_RELEASE); }

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
                                 .held_ns = load(&s->held_ns),
                                 .longest_ns = load(&s->longest_ns),
                                 .longest_place = load(&s->longest_place)};
        return true;
    }
    return false;
}
