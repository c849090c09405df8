/*
 * Traces: what `sda` starts, stops and shows. This file has the privilege checks, the verbs and the
 * answers; each facility (locks.c, pcsample.c, alignment.c, events.c) defines what is recorded, and
 * where. A facility is loaded when it has memory and runs while it records; what it has recorded
 * remains until it is started again or unloaded.
 *
 * The mutex `tracing` serialises loads, unloads, starts and stops, and keeps the memory from being
 * freed while it is read.
 */
#include "kernel/trace/trace.h"

#include "kernel/base/abi/megalith/info.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/base/symbols.h"
#include "kernel/proc/process.h"
#include "kernel/sched/meter.h"
#include "kernel/trace/alignment.h"
#include "kernel/trace/events.h"
#include "kernel/trace/locks.h"
#include "kernel/trace/pcsample.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_census.h"

#define PCS_PAGES 128u /* default for each CPU: 1 MB, 20 seconds at the clock's rate */

_Static_assert((int)MEGA_TRACE_SPL == LOCKSTAT_SPIN && (int)MEGA_TRACE_MTX == LOCKSTAT_MUTEX,
               "facilities of locks are kinds of locks");
_Static_assert(MEGA_TRACE_RATE_MAX == PCS_RATE_MAX, "the limit is told as it is");

static struct mutex tracing = MUTEX_INIT("trace", MUTEX_TRACE, tracing);

/* ---- verbs ---- */

/* Returns 0 or a negative errno, like the facilities. `tracing` is held. */
static int do_verb(enum mega_facility f, enum mega_trace_verb verb, uint64_t number)
{
    enum lockstat_kind kind = (enum lockstat_kind)f;

    switch (verb) {
    case MEGA_TRACE_LOAD:
        return f == MEGA_TRACE_PCS   ? pcs_load(number ? number : PCS_PAGES)
               : f == MEGA_TRACE_FLT ? align_load()
               : f == MEGA_TRACE_PRF ? events_load()
                                     : locks_load(kind);
    case MEGA_TRACE_START:
        return f == MEGA_TRACE_PCS   ? pcs_start(number)
               : f == MEGA_TRACE_FLT ? align_start()
               : f == MEGA_TRACE_PRF ? events_start()
                                     : locks_start(kind);
    case MEGA_TRACE_STOP:
        return f == MEGA_TRACE_PCS   ? pcs_stop()
               : f == MEGA_TRACE_FLT ? align_stop()
               : f == MEGA_TRACE_PRF ? events_stop()
                                     : locks_stop(kind);
    case MEGA_TRACE_UNLOAD:
        break;
    }
    return f == MEGA_TRACE_PCS   ? pcs_unload()
           : f == MEGA_TRACE_FLT ? align_unload()
           : f == MEGA_TRACE_PRF ? events_unload()
                                 : locks_unload(kind);
}

/* The largest number that the verb takes. */
static uint64_t number_max(uint64_t facility, uint64_t verb)
{
    if (facility != MEGA_TRACE_PCS)
        return 0;
    return verb == MEGA_TRACE_LOAD    ? MEGA_TRACE_PAGES_MAX
           : verb == MEGA_TRACE_START ? PCS_RATE_MAX
                                      : UINT64_MAX;
}

cond_t trace_verb(uint64_t facility, uint64_t verb, uint64_t number)
{
    int err;

    if (facility >= MEGA_FACILITIES || verb < MEGA_TRACE_LOAD || verb > MEGA_TRACE_UNLOAD ||
        number > number_max(facility, verb))
        return SS$_BADPARAM;
    mutex_lock(&tracing);
    err = do_verb((enum mega_facility)facility, (enum mega_trace_verb)verb, number);
    mutex_unlock(&tracing);
    if (err == -ENOENT && verb == MEGA_TRACE_START)
        return SS$_NONEXPR;
    if (err == -EOPNOTSUPP)
        return SS$_UNSUPPORTED;
    return err == 0 ? SS$_NORMAL : err == -ENOMEM ? SS$_INSFMEM : SS$_NOTMODIFIED;
}

cond_t trace_lock_stats(uint64_t on)
{
    if (on > 1)
        return SS$_BADPARAM;
    mutex_lock(&tracing);
    for (unsigned kind = 0; kind < LOCKSTAT_KINDS; kind++)
        if (on)
            lockstat_start((enum lockstat_kind)kind);
        else
            lockstat_stop((enum lockstat_kind)kind);
    mutex_unlock(&tracing);
    return SS$_NORMAL;
}

/* Census: memory of loaded traces, which remains when the process that loaded them has ended. */
static void explain(struct census *c)
{
    for (unsigned kind = 0; kind < LOCKSTAT_KINDS; kind++)
        if (locks_bytes((enum lockstat_kind)kind))
            census_explain(c, CENSUS_NONPAGED, locks_bytes((enum lockstat_kind)kind), 1);
    if (pcs_room())
        census_explain(c, CENSUS_NONPAGED, pcs_ring_bytes(), cpu_count);
    if (align_bytes())
        census_explain(c, CENSUS_NONPAGED, align_bytes(), 1);
}

void trace_boot(void) { census_register(explain, NULL, 0); }

/* ---- answers ---- */

static bool may_look(void) { return (process_privileges(process_self()) & PRV_CMKRNL) != 0; }

static cond_t lock_line(enum lockstat_kind kind, int64_t index, struct mega_lock *m)
{
    struct lockstat s;

    if (index < 0 || !lockstat_get(kind, (uint64_t)index, &s))
        return SS$_NONEXPR;
    *m = (struct mega_lock){.rank = s.rank,
                            .ipl = s.ipl,
                            .measuring = lockstat_on(kind),
                            .acquisitions = s.acquisitions,
                            .shared = s.shared,
                            .waits = s.waits,
                            .held_ns = s.held_ns,
                            .longest_ns = s.longest_ns,
                            .shared_waits = s.shared_waits,
                            .wait_ns = s.wait_ns,
                            .longest_wait_ns = s.longest_wait_ns,
                            .unlocks = s.unlocks,
                            .shared_unlocks = s.shared_unlocks};
    str_copy(m->name, s.name, sizeof(m->name));
    if (s.longest_place)
        format(m->longest_place, sizeof(m->longest_place), "%pS", (void *)s.longest_place);
    return SS$_NORMAL;
}

cond_t trace_spinlock(int64_t index, void *out) { return lock_line(LOCKSTAT_SPIN, index, out); }
cond_t trace_mutex(int64_t index, void *out) { return lock_line(LOCKSTAT_MUTEX, index, out); }

cond_t trace_ipl(int64_t index, void *out)
{
    struct mega_ipl *m = out;
    struct meter_record r;

    if (index <= IPL_NONE || index > IPL_HIGH)
        return SS$_NONEXPR;
    meter_get((ipl_t)index, &r);
    *m = (struct mega_ipl){.ipl = (uint32_t)index,
                           .measuring = lockstat_on(LOCKSTAT_SPIN),
                           .longest_ns = r.longest_ns};
    if (r.place)
        format(m->longest_place, sizeof(m->longest_place), "%pS", (void *)r.place);
    return SS$_NORMAL;
}

cond_t trace_hold(int64_t index, void *out)
{
    struct mega_held *m = out;
    struct meter_hold h;

    if (index < 0 || !meter_hold_get((uint64_t)index, &h))
        return SS$_NONEXPR;
    *m = (struct mega_held){.longest_ns = h.longest_ns};
    if (!h.longest_ns)
        return SS$_NORMAL;
    m->ipl = h.ipl;
    if (h.name)
        str_copy(m->name, h.name, sizeof(m->name));
    format(m->place, sizeof(m->place), "%pS", (void *)h.place);
    return SS$_NORMAL;
}

static void lock_answer(enum lockstat_kind kind, struct mega_trace *m)
{
    m->bytes = locks_bytes(kind);
    m->loaded = m->bytes != 0;
    m->running = lockstat_on(kind);
    lockstat_times(kind, &m->started_ns, &m->lasted_ns);
    if (!m->loaded)
        return;
    m->cpus = cpu_count;
    m->slots = LOCK_CALLERS;
    m->dropped = locks_dropped(kind);
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

static void prf_answer(struct mega_trace *m)
{
    m->loaded = events_loaded();
    m->running = events_on();
    m->cpus = cpu_count;
    events_times(&m->started_ns, &m->lasted_ns);
}

cond_t trace_state(int64_t index, void *out)
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
    else if (index == MEGA_TRACE_PRF)
        prf_answer(out);
    else
        lock_answer((enum lockstat_kind)index, out);
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

cond_t trace_caller(int64_t index, void *out)
{
    uint64_t kind = (uint64_t)index >> 32, cpu = index >> 16 & 0xFFFF, slot = index & 0xFFFF;
    struct mega_caller *m = out;
    struct lock_caller c;
    bool there;

    if (!may_look())
        return SS$_NOCMKRNL;
    if (kind >= LOCKSTAT_KINDS)
        return SS$_NONEXPR;
    mutex_lock(&tracing);
    there = locks_get((enum lockstat_kind)kind, cpu, slot, &c);
    mutex_unlock(&tracing);
    if (!there)
        return SS$_NONEXPR;
    if (!c.name)
        return SS$_NORMAL;
    *m = (struct mega_caller){.rank = c.rank,
                              .shared = c.shared,
                              .place = c.place,
                              .count = c.count,
                              .waits = c.waits,
                              .wait_ns = c.wait_ns,
                              .held_ns = c.held_ns};
    str_copy(m->name, c.name, sizeof(m->name));
    name_place(m->place, m->routine, m->module, sizeof(m->routine));
    return SS$_NORMAL;
}

cond_t trace_pc_sample(int64_t index, void *out)
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

cond_t trace_fault(int64_t index, void *out)
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

cond_t trace_events(int64_t index, void *out)
{
    struct mega_events *m = out;
    struct vhpt_counts c;

    if (!may_look())
        return SS$_NOCMKRNL;
    if (index < 0 || index >= cpu_count)
        return SS$_NONEXPR;
    mutex_lock(&tracing);
    c = events_of((unsigned)index);
    mutex_unlock(&tracing);
    *m = (struct mega_events){.vhpt_kib = vhpt_kib(),
                              .vhpt_address = vhpt_table((unsigned)index).a,
                              .data_misses = c.data_misses,
                              .fetch_misses = c.fetch_misses,
                              .walks = c.walks,
                              .data_hits = c.data_hits,
                              .fetch_hits = c.fetch_hits,
                              .replaced = c.replaced};
    return SS$_NORMAL;
}
