/*
 * How raised IPL is measured.
 *
 * Each CPU has a record for each IPL. When the IPL rises from `old` to `ipl`, a time begins for
 * each level between; when it falls to `ipl`, the times of all levels above end. The hooks of
 * arch/alpha/hw/ipl_hook.h report every rise and fall: SWPIPL, an interrupt, the return from it.
 * The thread may change in between: the times belong to the CPU.
 *
 * The clock is the cycle counter less `excluded`. An interrupt that comes at raised IPL is excluded
 * from the times that have begun: its entry notes the cycle counter and `excluded`, and its return
 * sets `excluded` to what it was plus the whole time of the interrupt, whatever was excluded
 * meanwhile. Such an interrupt returns on the same CPU, and the interrupts of a CPU nest by their
 * IPLs, so there is one such note for each IPL. An interrupt of IPL 0 may end on another CPU, in
 * another thread, but then no time has begun that it would have to be excluded from.
 *
 * The hooks are excluded too. What they spend before they read the cycle counter first, and after
 * they have read it last, is added as a constant, in cycles of 4 ns. The constants were found by
 * measuring holds of known length (userland/tests/meter.c) under --icount, where an instruction
 * takes 1 ns.
 *
 * Everything belongs to one CPU and is written at IPL_HIGH. Records are read by others as
 * statistics, hence atomically; the place is stored after the length, so a reader may see the
 * length of one time with the place of another.
 */
#include "kernel/sched/meter.h"

#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/ipl_hook.h"
#include "arch/alpha/hw/trapframe.h"
#include "kernel/sched/ipi.h"

#define LEVELS (IPL_HIGH + 1)

/* Places for each CPU: half as many again as the kernel has calls of spin_lock() and the like. A
   place is looked for in PROBES slots; if others have them all, the shortest gives way. */
#define HOLDS  1024u
#define PROBES 16u

/* Cycles that are not seen between the readings of the counter: a SWPIPL with its hook, an
   interrupt from its request to the hook and from the hook to the interrupted code, a pause. */
#define SWPIPL_CYCLES    10
#define INTERRUPT_CYCLES 37
#define PAUSE_CYCLES     21

struct level {
    uint32_t begun, running;     /* running: a time has begun, at `begun` of meter_clock() */
    uint64_t begun_at;           /* its place */
    uint32_t noted;              /* an interrupt of this IPL is in progress: */
    uint32_t entered, excluded;  /* the cycle counter and cpu_meter.excluded at its entry */
    struct meter_record longest; /* atomic */
};

struct cpu_meter {
    uint32_t excluded; /* cycles; atomic: interrupts on the same CPU change it */
    struct level level[LEVELS];
    struct meter_hold hold[HOLDS]; /* atomic */
} __attribute__((aligned(128)));

static struct cpu_meter meters[MAX_CPUS];

static struct cpu_meter *own(void) { return &meters[cpu_id()]; }

static uint32_t excluded(const struct cpu_meter *m)
{
    return __atomic_load_n(&m->excluded, __ATOMIC_RELAXED);
}

static void exclude(struct cpu_meter *m, uint32_t cycles)
{
    __atomic_store_n(&m->excluded, excluded(m) + cycles, __ATOMIC_RELAXED);
}

/* The slot of that place in m's table, or the one that it may take. */
static struct meter_hold *slot_of(struct cpu_meter *m, const char *name, ipl_t ipl, uint64_t place)
{
    uint64_t hash = (place >> 2) * 0x9E3779B97F4A7C15ul + ((uint64_t)name >> 3) + ipl;
    struct meter_hold *shortest = NULL;

    for (unsigned i = 0; i < PROBES; i++) {
        struct meter_hold *h = &m->hold[((hash >> 32) + i) % HOLDS];

        if (!h->longest_ns || (h->place == place && h->name == name && h->ipl == ipl))
            return h;
        if (!shortest || h->longest_ns < shortest->longest_ns)
            shortest = h;
    }
    return shortest;
}

static void note_hold(struct cpu_meter *m, const char *name, ipl_t ipl, uint64_t place, uint64_t ns)
{
    struct meter_hold *h = slot_of(m, name, ipl, place);

    if (ns <= h->longest_ns)
        return;
    __atomic_store_n(&h->name, name, __ATOMIC_RELAXED);
    __atomic_store_n(&h->ipl, ipl, __ATOMIC_RELAXED);
    __atomic_store_n(&h->place, place, __ATOMIC_RELAXED);
    __atomic_store_n(&h->longest_ns, ns, __ATOMIC_RELEASE);
}

static void begin(struct level *l, uint32_t now, uint64_t pc)
{
    l->begun = now;
    l->begun_at = pc;
    l->running = 1;
}

/* End the times of all levels above `ipl`. Of several that began together only that of the
   highest level counts. */
static void end_above(struct cpu_meter *m, ipl_t ipl, uint32_t now)
{
    const struct level *above = NULL;

    for (unsigned i = IPL_HIGH; i > ipl; i--) {
        struct level *l = &m->level[i];
        uint64_t ns = (uint64_t)MAX((int32_t)(now - l->begun), 0) * CLOCK_CYCLE_NS;

        if (!l->running)
            continue;
        l->running = 0;
        if (!above || above->begun != l->begun) {
            note_hold(m, NULL, (ipl_t)i, l->begun_at, ns);
            if (ns > l->longest.longest_ns) {
                __atomic_store_n(&l->longest.longest_ns, ns, __ATOMIC_RELAXED);
                __atomic_store_n(&l->longest.place, l->begun_at, __ATOMIC_RELAXED);
            }
        }
        above = l;
    }
}

static void on_swpipl(uint64_t old, uint64_t ipl, uint64_t pc, uint64_t cycles)
{
    struct cpu_meter *m = own();
    uint32_t start = (uint32_t)cycles, now = start - excluded(m);

    end_above(m, (ipl_t)ipl, now);
    for (uint64_t i = old + 1; i <= ipl; i++)
        begin(&m->level[i], now, pc);
    exclude(m, clock_cycles() - start + SWPIPL_CYCLES);
}

static ipl_t interrupted_ipl(const struct trapframe *f)
{
    return frame_from_user(f) ? IPL_NONE : (ipl_t)(f->ps & 7);
}

static void on_interrupt(const struct trapframe *f)
{
    ipl_t ipl = (ipl_t)pal_swpipl_unmetered(IPL_HIGH), below = interrupted_ipl(f);
    struct cpu_meter *m = own();
    struct level *l = &m->level[ipl];
    uint32_t start = clock_cycles();

    l->noted = below != IPL_NONE;
    l->entered = start;
    l->excluded = excluded(m);
    for (unsigned i = below + 1; i <= ipl; i++)
        begin(&m->level[i], start - excluded(m), cpu_pc());
    exclude(m, clock_cycles() - start + SWPIPL_CYCLES);
    pal_swpipl_unmetered(ipl);
}

static void on_rti(const struct trapframe *f)
{
    ipl_t ipl = (ipl_t)pal_swpipl_unmetered(IPL_HIGH), to = interrupted_ipl(f);
    struct cpu_meter *m = own();
    struct level *l = &m->level[ipl];
    uint32_t start = clock_cycles();

    if (ipl > to) {
        end_above(m, to, start - excluded(m));
        if (to != IPL_NONE && l->noted)
            __atomic_store_n(&m->excluded,
                             l->excluded + (clock_cycles() - l->entered) + INTERRUPT_CYCLES,
                             __ATOMIC_RELAXED);
        l->noted = 0;
    }
    pal_swpipl_unmetered(ipl);
}

static const struct ipl_hooks hooks = {
    .swpipl = on_swpipl, .interrupt = on_interrupt, .rti = on_rti};

/* ---- on and off ---- */

/* Runs on each CPU, at IPL_IPI. */
static void clear(void *arg)
{
    struct cpu_meter *m = own();

    (void)arg;
    for (unsigned i = 0; i < LEVELS; i++) {
        struct level *l = &m->level[i];

        l->running = l->noted = 0;
        __atomic_store_n(&l->longest.longest_ns, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&l->longest.place, 0, __ATOMIC_RELAXED);
    }
    for (unsigned i = 0; i < HOLDS; i++)
        __atomic_store_n(&m->hold[i].longest_ns, 0, __ATOMIC_RELAXED);
}

static void fetch_anew(void *arg)
{
    (void)arg;
    pal_imb();
}

void meter_start(void)
{
    meter_stop();
    ipi_call(~0ul, fetch_anew, NULL);
    ipi_call(~0ul, clear, NULL);
    ipl_hooks_on(&hooks);
    ipi_call(~0ul, fetch_anew, NULL);
}

void meter_stop(void) { ipl_hooks_off(); }

void meter_get(ipl_t ipl, struct meter_record *out)
{
    *out = (struct meter_record){0};
    for (unsigned i = 0; ipl < LEVELS && i < MAX_CPUS; i++) {
        const struct meter_record *r = &meters[i].level[ipl].longest;
        uint64_t ns = __atomic_load_n(&r->longest_ns, __ATOMIC_RELAXED);

        if (ns > out->longest_ns) {
            out->longest_ns = ns;
            out->place = __atomic_load_n(&r->place, __ATOMIC_RELAXED);
        }
    }
}

bool meter_hold_get(uint64_t index, struct meter_hold *out)
{
    const struct meter_hold *h = &meters[index / HOLDS % MAX_CPUS].hold[index % HOLDS];

    if (index >= MAX_CPUS * HOLDS)
        return false;
    out->longest_ns = __atomic_load_n(&h->longest_ns, __ATOMIC_ACQUIRE);
    out->name = __atomic_load_n(&h->name, __ATOMIC_RELAXED);
    out->ipl = __atomic_load_n(&h->ipl, __ATOMIC_RELAXED);
    out->place = __atomic_load_n(&h->place, __ATOMIC_RELAXED);
    return true;
}

/* ---- for other measurements ---- */

void meter_held(const char *name, ipl_t ipl, uint64_t place, uint64_t ns)
{
    note_hold(own(), name, ipl, place, ns);
}

uint32_t meter_clock(void)
{
    const struct cpu_meter *m = own();
    uint32_t out, cycles;

    do { /* an interrupt between the two readings changes both */
        out = excluded(m);
        cycles = clock_cycles();
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (out != excluded(m));
    return cycles - out;
}

void meter_place(ipl_t old, ipl_t ipl, uint64_t place)
{
    struct cpu_meter *m = own();

    for (unsigned i = old + 1; i <= ipl; i++)
        m->level[i].begun_at = place;
}

struct meter_pause meter_pause(void)
{
    struct meter_pause p = {.ipl = (ipl_t)pal_swpipl_unmetered(IPL_HIGH)};

    p.excluded = excluded(own());
    p.start = clock_cycles();
    return p;
}

void meter_resume(struct meter_pause p)
{
    __atomic_store_n(&own()->excluded, p.excluded + clock_cycles() - p.start + PAUSE_CYCLES,
                     __ATOMIC_RELAXED); /* whatever was excluded meanwhile is part of it */
    pal_swpipl_unmetered(p.ipl);
}

void meter_waited(void)
{
    struct cpu_meter *m = own();
    uint32_t now = meter_clock();

    for (unsigned i = IPL_NONE + 1; i < LEVELS; i++)
        m->level[i].begun = now;
}
