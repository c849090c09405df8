/*
 * Traces: what `sda` starts, stops and shows. Lock traces are the statistics of
 * kernel/sched/lockstat.h with callers, PC samples those of kernel/proc/pcsample.h; here are their
 * memory, who may, and the answers. A facility is loaded when it has memory, runs when it notes
 * something, and keeps what it noted until it starts again or is unloaded.
 *
 * `tracing` keeps loads, unloads, starts and stops apart, and memory where it is while it is read.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/base/symbols.h"
#include "kernel/proc/alignment.h"
#include "kernel/proc/pcsample.h"
#include "kernel/proc/process.h"
#include "kernel/sched/lockstat.h"
#include "kernel/sys/info/control.h"
#include "kernel/sys/info/info.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"

#define PCS_PAGES 128u /* of a CPU: 1 MB, 20 seconds at the clock's rate */

_Static_assert((int)MEGA_TRACE_SPL == LOCKSTAT_SPIN && (int)MEGA_TRACE_MTX == LOCKSTAT_MUTEX,
               "facilities of locks are kinds of locks");
_Static_assert(MEGA_TRACE_RATE_MAX == PCS_RATE_MAX, "the limit is told as it is");

static struct mutex tracing = MUTEX_INIT("trace", MUTEX_TRACE, tracing);
/* Callers of each CPU, NULL: not loaded. Protected by tracing. */
static struct lockstat_callers *callers[LOCKSTAT_KINDS];

static uint64_t callers_bytes(void) { return cpu_count * sizeof(struct lockstat_callers); }

/* ---- locks ---- */

static cond_t lock_load(enum lockstat_kind kind)
{
    struct lockstat_callers *tables;

    if (callers[kind])
        return SS$_NOTMODIFIED;
    tables = npp_alloc_zeroed(callers_bytes());
    if (!tables)
        return SS$_INSFMEM;
    callers[kind] = tables;
    lockstat_attach(kind, tables);
    return SS$_NORMAL;
}

static cond_t lock_verb(enum lockstat_kind kind, enum mega_trace_verb verb)
{
    switch (verb) {
    case MEGA_TRACE_LOAD:
        return lock_load(kind);
    case MEGA_TRACE_START:
        if (!callers[kind])
            return SS$_NONEXPR;
        if (lockstat_on(kind))
            return SS$_NOTMODIFIED;
        lockstat_start(kind);
        return SS$_NORMAL;
    case MEGA_TRACE_STOP:
        if (!lockstat_on(kind))
            return SS$_NOTMODIFIED;
        lockstat_stop(kind);
        return SS$_NORMAL;
    case MEGA_TRACE_UNLOAD:
        if (!callers[kind])
            return SS$_NOTMODIFIED;
        lockstat_stop(kind);
        npp_free(lockstat_attach(kind, NULL), callers_bytes());
        callers[kind] = NULL;
        return SS$_NORMAL;
    }
    return SS$_BADPARAM;
}

/* ---- PC samples ---- */

static cond_t pcs_verb(enum mega_trace_verb verb, uint64_t number)
{
    int err = 0;

    switch (verb) {
    case MEGA_TRACE_LOAD:
        if (number > MEGA_TRACE_PAGES_MAX)
            return SS$_BADPARAM;
        err = pcs_load(number ? number : PCS_PAGES);
        break;
    case MEGA_TRACE_START:
        if (number > PCS_RATE_MAX)
            return SS$_BADPARAM;
        err = pcs_start(number);
        if (err == -ENOENT)
            return SS$_NONEXPR;
        break;
    case MEGA_TRACE_STOP:
        err = pcs_stop();
        break;
    case MEGA_TRACE_UNLOAD:
        err = pcs_unload();
        break;
    default:
        return SS$_BADPARAM;
    }
    return err == 0 ? SS$_NORMAL : err == -ENOMEM ? SS$_INSFMEM : SS$_NOTMODIFIED;
}

/* ---- alignment faults ---- */

static cond_t flt_verb(enum mega_trace_verb verb)
{
    int err = 0;

    switch (verb) {
    case MEGA_TRACE_LOAD:
        err = align_load();
        break;
    case MEGA_TRACE_START:
        err = align_start();
        if (err == -ENOENT)
            return SS$_NONEXPR;
        break;
    case MEGA_TRACE_STOP:
        err = align_stop();
        break;
    case MEGA_TRACE_UNLOAD:
        err = align_unload();
        break;
    default:
        return SS$_BADPARAM;
    }
    return err == 0 ? SS$_NORMAL : err == -ENOMEM ? SS$_INSFMEM : SS$_NOTMODIFIED;
}

cond_t control_trace(const uint64_t a[CONTROL_ARGS])
{
    cond_t status;

    if (a[0] >= MEGA_FACILITIES || a[1] > MEGA_TRACE_UNLOAD || (a[0] != MEGA_TRACE_PCS && a[2]))
        return SS$_BADPARAM;
    mutex_lock(&tracing);
    if (a[0] == MEGA_TRACE_PCS)
        status = pcs_verb((enum mega_trace_verb)a[1], a[2]);
    else if (a[0] == MEGA_TRACE_FLT)
        status = flt_verb((enum mega_trace_verb)a[1]);
    else
        status = lock_verb((enum lockstat_kind)a[0], (enum mega_trace_verb)a[1]);
    mutex_unlock(&tracing);
    return status;
}

cond_t control_lock_stats(const uint64_t a[CONTROL_ARGS])
{
    if (a[0] > 1)
        return SS$_BADPARAM;
    mutex_lock(&tracing);
    for (unsigned kind = 0; kind < LOCKSTAT_KINDS; kind++)
        if (a[0])
            lockstat_start((enum lockstat_kind)kind);
        else
            lockstat_stop((enum lockstat_kind)kind);
    mutex_unlock(&tracing);
    return SS$_NORMAL;
}

/* What is loaded outlives who loaded it. */
static void explain(struct census *c)
{
    for (unsigned kind = 0; kind < LOCKSTAT_KINDS; kind++)
        census_explain(c, CENSUS_NONPAGED, callers_bytes(), callers[kind] != NULL);
    if (pcs_room())
        census_explain(c, CENSUS_NONPAGED, pcs_ring_bytes(), cpu_count);
    if (align_bytes())
        census_explain(c, CENSUS_NONPAGED, align_bytes(), 1);
}

void trace_boot(void) { census_register(explain, NULL, 0); }

/* ---- answers ---- */

static bool may_look(void) { return (process_self()->privileges & PRV_CMKRNL) != 0; }

static void lock_state(enum lockstat_kind kind, struct mega_trace *m)
{
    const struct lockstat_callers *t = callers[kind];

    m->loaded = t != NULL;
    m->running = lockstat_on(kind);
    lockstat_times(kind, &m->started_ns, &m->lasted_ns);
    if (!t)
        return;
    m->bytes = callers_bytes();
    m->cpus = cpu_count;
    m->slots = LOCKSTAT_CALLERS;
    for (unsigned i = 0; i < cpu_count; i++)
        m->dropped += __atomic_load_n(&t[i].dropped, __ATOMIC_RELAXED);
}

static void pcs_answer(struct mega_trace *m)
{
    _Static_assert(ARRAY_SIZE(m->next) == MAX_CPUS, "each CPU has its count");
    m->loaded = pcs_room() != 0;
    m->running = pcs_on();
    m->bytes = pcs_room() * sizeof(struct pc_sample) * cpu_count;
    m->interval_ns = pcs_interval_ns();
    pcs_times(&m->started_ns, &m->lasted_ns);
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        struct pcs_state s;

        pcs_state_of(i, &s);
        m->first[i] = s.first;
        m->next[i] = s.next;
        m->late[i] = s.late;
    }
}

static void flt_answer(struct mega_trace *m)
{
    m->bytes = align_bytes();
    m->loaded = m->bytes != 0;
    m->running = align_on();
    m->cpus = cpu_count;
    m->slots = ALIGN_SLOTS;
    m->dropped = align_dropped();
    align_times(&m->started_ns, &m->lasted_ns);
}

cond_t info_trace(int64_t index, void *out)
{
    if (!may_look())
        return SS$_NOCMKRNL;
    if (index < 0 || index >= MEGA_FACILITIES)
        return SS$_NONEXPR;
    mutex_lock(&tracing);
    if (index == MEGA_TRACE_PCS)
        pcs_answer(out);
    else if (index == MEGA_TRACE_FLT)
        flt_answer(out);
    else
        lock_state((enum lockstat_kind)index, out);
    mutex_unlock(&tracing);
    return SS$_NORMAL;
}

static void name_place(uint64_t pc, char *routine, char *module, size_t nbytes)
{
    const char *file = symbol_module(pc);

    format(routine, nbytes, "%pS", (void *)pc);
    if (file)
        str_copy(module, file, nbytes);
}

static uint64_t load(const uint64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

cond_t info_caller(int64_t index, void *out)
{
    uint64_t kind = (uint64_t)index >> 32, cpu = index >> 16 & 0xFFFF, slot = index & 0xFFFF;
    const struct lockstat_caller *c;
    struct mega_caller *m = out;
    const char *name = NULL;

    if (!may_look())
        return SS$_NOCMKRNL;
    if (kind >= LOCKSTAT_KINDS || cpu >= cpu_count || slot >= LOCKSTAT_CALLERS)
        return SS$_NONEXPR;
    mutex_lock(&tracing);
    if (callers[kind]) {
        c = &callers[kind][cpu].slot[slot];
        name = __atomic_load_n(&c->name, __ATOMIC_ACQUIRE);
        if (name) {
            *m = (struct mega_caller){.rank = c->rank,
                                      .shared = c->shared,
                                      .place = c->place,
                                      .count = load(&c->count),
                                      .waits = load(&c->waits),
                                      .wait_ns = load(&c->wait_ns),
                                      .held_ns = load(&c->held_ns)};
        }
    }
    kind = callers[kind] != NULL;
    mutex_unlock(&tracing);
    if (!kind)
        return SS$_NONEXPR;
    if (name) {
        str_copy(m->name, name, sizeof(m->name));
        name_place(m->place, m->routine, m->module, sizeof(m->routine));
    }
    return SS$_NORMAL;
}

cond_t info_pc_sample(int64_t index, void *out)
{
    uint64_t cpu = (uint64_t)index >> 48, number = index & 0xFFFFFFFFFFFF;
    struct mega_pc_sample *m = out;
    char path[PCS_PATH_MAX];
    struct pc_sample s;
    bool there;

    if (!may_look())
        return SS$_NOCMKRNL;
    if (cpu >= MAX_CPUS)
        return SS$_NONEXPR;
    mutex_lock(&tracing);
    there = pcs_get((unsigned)cpu, number, &s, path);
    mutex_unlock(&tracing);
    if (!there)
        return SS$_NONEXPR;
    *m = (struct mega_pc_sample){
        .ns = s.ns, .pc = s.pc, .pid = s.pid, .cpu = (uint32_t)cpu, .ipl = s.ipl, .user = s.user};
    str_copy(m->name, s.name, sizeof(m->name));
    if (s.user)
        str_copy(m->module, path, sizeof(m->module));
    else
        name_place(s.pc, m->routine, m->module, sizeof(m->routine));
    return SS$_NORMAL;
}

cond_t info_fault(int64_t index, void *out)
{
    struct mega_fault *m = out;
    struct align_slot s;
    bool there;

    _Static_assert(sizeof(m->path) == ALIGN_PATH_MAX, "a path is told as it is kept");
    if (!may_look())
        return SS$_NOCMKRNL;
    if (index < 0 || index >> 16 >= MAX_CPUS)
        return SS$_NONEXPR;
    mutex_lock(&tracing);
    there = align_get((unsigned)(index >> 16), (unsigned)(index & 0xFFFF), &s);
    mutex_unlock(&tracing);
    if (!there)
        return SS$_NONEXPR;
    *m = (struct mega_fault){.pc = s.pc,
                             .count = s.count,
                             .first_address = s.first_va,
                             .last_address = s.last_va,
                             .pid = s.pid,
                             .opcode = s.opcode};
    str_copy(m->name, s.name, sizeof(m->name));
    str_copy(m->path, s.path, sizeof(m->path));
    return SS$_NORMAL;
}
