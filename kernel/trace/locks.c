/*
 * Callers of locks.
 *
 * Each CPU counts callers in its own table at IPL_HIGH: so no update is interrupted by another one
 * on the same CPU, and a CPU that answers an inter-processor call is not in the middle of an
 * update. Tables are cleared and freed accordingly: first the round ends (or the pointer to the
 * tables is cleared), then every CPU answers a call (lockstat_start(), lockstat_listen()); a CPU
 * that comes later checks round and pointer again, at IPL_HIGH.
 *
 * Memory is allocated by locks_load() only. A full table counts what it drops.
 */
#include "kernel/trace/locks.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/ipl.h"
#include "mm/pool/pool.h"

/* Slots that are tried for a caller: the cost does not depend on how full the table is. */
#define PROBES 16u

struct lock_callers { /* of one CPU */
    uint64_t dropped;
    struct lock_caller slot[LOCK_CALLERS];
};

/* Atomic: the tables, one for each CPU, or NULL. Changed by callers that exclude each other. */
static struct lock_callers *callers[LOCKSTAT_KINDS];

static size_t tables_bytes(void) { return cpu_count * sizeof(struct lock_callers); }

/* ---- counting ---- */

/* The slot of that caller in this CPU's table, claimed if it is new; NULL: no slot. IPL_HIGH. */
static struct lock_caller *caller_of(struct lock_callers *t, const struct lockstat_hold *h)
{
    uint64_t hash = (h->place >> 2) * 0x9E3779B97F4A7C15ul + ((uint64_t)h->name >> 3) + h->shared;

    for (unsigned i = 0; i < PROBES; i++) {
        struct lock_caller *c = &t->slot[((hash >> 32) + i) % LOCK_CALLERS];

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

static void note(uint32_t round, const struct lockstat_hold *h, unsigned what)
{
    ipl_t ipl = ipl_raise(IPL_HIGH);
    struct lock_callers *t = __atomic_load_n(&callers[h->kind], __ATOMIC_ACQUIRE);
    struct lock_caller *c = NULL;

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

static void clear(enum lockstat_kind kind)
{
    struct lock_callers *t = __atomic_load_n(&callers[kind], __ATOMIC_RELAXED);

    if (t)
        memset(t, 0, tables_bytes());
}

/* ---- start and stop ---- */

int locks_load(enum lockstat_kind kind)
{
    static const struct lockstat_listener listener = {.note = note, .clear = clear};
    struct lock_callers *t;

    if (callers[kind])
        return -EALREADY;
    t = npp_alloc_zeroed(tables_bytes());
    if (!t)
        return -ENOMEM;
    __atomic_store_n(&callers[kind], t, __ATOMIC_RELEASE);
    lockstat_listen(kind, &listener);
    return 0;
}

int locks_start(enum lockstat_kind kind)
{
    if (!callers[kind])
        return -ENOENT;
    if (lockstat_on(kind))
        return -EALREADY;
    lockstat_start(kind);
    return 0;
}

int locks_stop(enum lockstat_kind kind)
{
    if (!lockstat_on(kind))
        return -EALREADY;
    lockstat_stop(kind);
    return 0;
}

int locks_unload(enum lockstat_kind kind)
{
    struct lock_callers *t = callers[kind];

    if (!t)
        return -ENOENT;
    lockstat_stop(kind);
    /* Clear the pointer before every CPU answers a call: note() reads it at IPL_HIGH, so a CPU that
       was called before has either finished or finds NULL. */
    __atomic_store_n(&callers[kind], NULL, __ATOMIC_RELEASE);
    lockstat_listen(kind, NULL);
    npp_free(t, tables_bytes());
    return 0;
}

/* ---- reading ---- */

uint64_t locks_bytes(enum lockstat_kind kind) { return callers[kind] ? tables_bytes() : 0; }

static uint64_t load(const uint64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

uint64_t locks_dropped(enum lockstat_kind kind)
{
    uint64_t n = 0;

    for (unsigned i = 0; callers[kind] && i < cpu_count; i++)
        n += load(&callers[kind][i].dropped);
    return n;
}

bool locks_get(enum lockstat_kind kind, uint64_t cpu, uint64_t slot, struct lock_caller *out)
{
    const struct lock_caller *c;

    if (!callers[kind] || cpu >= cpu_count || slot >= LOCK_CALLERS)
        return false;
    c = &callers[kind][cpu].slot[slot];
    *out = (struct lock_caller){.name = __atomic_load_n(&c->name, __ATOMIC_ACQUIRE)};
    if (out->name)
        *out = (struct lock_caller){.name = out->name,
                                    .place = c->place,
                                    .rank = c->rank,
                                    .shared = c->shared,
                                    .count = load(&c->count),
                                    .waits = load(&c->waits),
                                    .wait_ns = load(&c->wait_ns),
                                    .held_ns = load(&c->held_ns)};
    return true;
}
