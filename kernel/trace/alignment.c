/*
 * The alignment-fault trace.
 *
 * A CPU writes to its own table at IPL_HIGH, after it has checked `align_running` again at that
 * IPL. So a CPU that answers an inter-processor call is not in the middle of a write; and once all
 * CPUs have answered a call that was made after `align_running` became 0, no CPU accesses the
 * tables. Readers may come while the trace runs: a slot's count is stored after the data it stands
 * for, and only the last address and the count change afterwards.
 *
 * Memory is allocated by align_load() only. A full table counts what it drops.
 */
#include "kernel/trace/alignment.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/proc/program_path.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/ipl.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool.h"

/* Slots that are tried for an entry: the cost does not depend on how full the table is. */
#define PROBES 16u

static struct align_table *tables; /* one for each CPU; changed only while the trace is off */
static uint64_t started_at, ended_at;

uint32_t align_running;

static struct align_slot *slot_of(struct align_table *t, uint64_t pc, const struct process *p)
{
    uint64_t hash = ((pc >> 2) + p->pid) * 0x9E3779B97F4A7C15ul;

    for (unsigned i = 0; i < PROBES; i++) {
        struct align_slot *s = &t->slot[((hash >> 32) + i) % ALIGN_SLOTS];

        if (s->count == 0 || (s->pc == pc && s->pid == p->pid && strcmp(s->name, p->name) == 0))
            return s;
    }
    return NULL;
}

static void note(struct align_table *t, uint64_t pc, uint64_t va, unsigned opcode)
{
    const struct process *p = process_self();
    struct align_slot *s = slot_of(t, pc, p);

    if (!s) {
        __atomic_store_n(&t->dropped, t->dropped + 1, __ATOMIC_RELAXED);
        return;
    }
    if (s->count == 0) {
        s->pc = pc;
        s->first_va = va;
        s->pid = p->pid;
        s->opcode = opcode;
        str_copy(s->name, p->name, sizeof(s->name));
        str_copy(s->path, program_path_text(p->program), sizeof(s->path));
    }
    __atomic_store_n(&s->last_va, va, __ATOMIC_RELAXED);
    __atomic_store_n(&s->count, s->count + 1, __ATOMIC_RELEASE);
}

void align_note(uint64_t pc, uint64_t va, unsigned opcode)
{
    ipl_t ipl = ipl_raise(IPL_HIGH);

    if (__atomic_load_n(&align_running, __ATOMIC_ACQUIRE))
        note(&tables[cpu_id()], pc, va, opcode);
    ipl_restore(ipl);
}

static void nothing(void *arg) { (void)arg; }

int align_load(void)
{
    if (tables)
        return -EALREADY;
    tables = npp_alloc_zeroed(cpu_count * sizeof(*tables));
    return tables ? 0 : -ENOMEM;
}

int align_start(void)
{
    if (!tables)
        return -ENOENT;
    if (align_on())
        return -EALREADY;
    memset(tables, 0, cpu_count * sizeof(*tables));
    started_at = clock_ns();
    __atomic_store_n(&align_running, 1, __ATOMIC_RELEASE);
    return 0;
}

int align_stop(void)
{
    if (!__atomic_exchange_n(&align_running, 0, __ATOMIC_ACQ_REL))
        return -EALREADY;
    ipi_call(~0ul, nothing, NULL);
    ended_at = clock_ns();
    return 0;
}

int align_unload(void)
{
    if (!tables)
        return -ENOENT;
    align_stop();
    npp_free(tables, cpu_count * sizeof(*tables));
    tables = NULL;
    return 0;
}

uint64_t align_bytes(void) { return tables ? cpu_count * sizeof(*tables) : 0; }

uint64_t align_dropped(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; tables && i < cpu_count; i++)
        n += __atomic_load_n(&tables[i].dropped, __ATOMIC_RELAXED);
    return n;
}

void align_times(uint64_t *started_ns, uint64_t *lasted_ns)
{
    *started_ns = started_at;
    *lasted_ns = (align_on() ? clock_ns() : ended_at) - started_at;
}

bool align_get(unsigned cpu, unsigned slot, struct align_slot *out)
{
    const struct align_slot *s;
    uint64_t count;

    if (!tables || cpu >= cpu_count || slot >= ALIGN_SLOTS)
        return false;
    s = &tables[cpu].slot[slot];
    count = __atomic_load_n(&s->count, __ATOMIC_ACQUIRE);
    memset(out, 0, sizeof(*out));
    if (count)
        memcpy(out, s, sizeof(*out));
    out->count = count;
    return true;
}
