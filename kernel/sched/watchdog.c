/*
 * The watchdog: each CPU checks that the others take clock interrupts. A CPU that has taken none
 * for WATCH_LIMIT_NS is stuck at raised IPL (or is gone); the CPU that notices names it and panics.
 * Its registers have to be read in the emulator's monitor. Spinning on a lock is detected by the
 * spinning CPU itself (spinlock.c), an unanswered request by the CPU that has sent it (ipi.c).
 *
 * Limits. Four virtual CPUs share two cores of the host or fewer, so one CPU may be off its core
 * while another runs. Therefore two things must have passed since the last tick of the watched CPU:
 * WATCH_LIMIT_NS of time, and WATCH_LIMIT_TICKS ticks taken by the watching CPU. If the whole
 * machine was stopped (by a debugger, or because the host was suspended), time has jumped but
 * hardly any ticks were taken: ticks that were missed are not made up for.
 *
 * A single CPU that is stuck at raised IPL takes no ticks and cannot be detected here; then the
 * time limit of scripts/run ends the run.
 */
#include "kernel/base/panic.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/sched_private.h"

#define WATCH_LIMIT_NS    10000000000ul
#define WATCH_LIMIT_TICKS (CLOCK_TICK_HZ * 4) /* 4 s of the watcher's own */
#define WATCH_EVERY_TICKS 128u                /* look 8 times a second */

/* What a CPU (first index) last saw of another (second). Own CPU of the first index, IPL_CLOCK. */
static struct watch {
    uint64_t ticks;     /* the other CPU's tick count */
    uint64_t at_ns;     /* when that was last seen to change */
    uint64_t own_ticks; /* and our own tick count at that time */
} watches[MAX_CPUS][MAX_CPUS];

static void __attribute__((cold, noinline)) stuck(unsigned cpu, uint64_t ns)
{
    const struct thread *t = runqs[cpu].current;

    panic("CPU %u has taken no clock interrupt for %lu ms: stuck with interrupts off in thread %s",
          cpu, ns / 1000000, t ? t->name : "(none)");
}

void watchdog_tick(uint64_t now_ns)
{
    unsigned self = cpu_id();
    uint64_t own = runqs[self].ticks;

    if (own % WATCH_EVERY_TICKS != 0)
        return;
    for (cpumask_t m = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~(1ul << self); m;
         m &= m - 1) {
        unsigned i = bit_lowest(m);
        struct watch *w = &watches[self][i];
        uint64_t ticks = __atomic_load_n(&runqs[i].ticks, __ATOMIC_ACQUIRE);

        if (ticks != w->ticks || w->at_ns == 0) {
            *w = (struct watch){.ticks = ticks, .at_ns = now_ns, .own_ticks = own};
            continue;
        }
        if (now_ns - w->at_ns > WATCH_LIMIT_NS && own - w->own_ticks > WATCH_LIMIT_TICKS &&
            !panic_in_progress())
            stuck(i, now_ns - w->at_ns);
    }
}
