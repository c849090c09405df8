/*
 * The watchdog: each CPU watches that the others take clock interrupts. One that has taken none for
 * WATCH_LIMIT_NS stands at raised IPL for good (or is gone), and the one that notices names it and
 * panics; its registers come from the emulator's monitor. Spinning on a lock is caught by the
 * spinner itself (spinlock.c), an unanswered request by the one that asks.
 *
 * Limits. Four virtual CPUs share two cores of the host or fewer, so a CPU may be off its core
 * while another runs. So two things must have passed since the last tick of the watched CPU:
 * WATCH_LIMIT_NS of time, and WATCH_LIMIT_TICKS ticks that the watching CPU has itself taken. If
 * the whole machine was stopped (a debugger, a suspended host), time has jumped but hardly any
 * ticks were taken: the ticks lost meanwhile are not made up.
 * A single CPU that stands at raised IPL takes no ticks to watch by: then the harness sees that
 * nothing happens any more.
 */
#include "kernel/base/panic.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/sched_private.h"

#define WATCH_LIMIT_NS    10000000000ul
#define WATCH_LIMIT_TICKS (CLOCK_TICK_HZ * 4) /* 4 s of the watcher's own */
#define WATCH_EVERY_TICKS 128u                /* look 8 times a second */

/* What a CPU saw of another. Own CPU of the first index, IPL_CLOCK. */
static struct watch {
    uint64_t ticks;     /* its count */
    uint64_t at_ns;     /* when that changed last */
    uint64_t own_ticks; /* and our count then */
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
