/*
 * The watchdog: each CPU checks that the others take clock interrupts.
 *
 * A CPU that has taken none for patience_limits.ns is either stuck at raised IPL, or the host does
 * not run it (one virtual CPU of four may lose its core while another keeps one; the host may be
 * short of memory). The watching CPU tells these apart by asking for a sign of life, an
 * inter-processor interrupt at every look:
 *
 *   ticks  answers   the watched CPU
 *   yes              is well
 *   no     yes       executes instructions and takes no clock interrupt: panic
 *   no     no        is not run by the host, or is stuck at IPL_IPI or above, where only the
 *                    handlers of these interrupts and panics run: a message, and a panic after
 *                    patience_limits.silent_ns
 *
 * ANSWERS_NEEDED looks with an answer and without a tick are needed: a CPU that the host has just
 * begun to run again may answer before it takes the clock interrupt, which has the lower level.
 *
 * Time that passes while the whole machine is stopped (by a debugger, or because the host was
 * suspended) is not counted: the watching CPU must have taken ticks of its own for two fifths of
 * each limit, and ticks that were missed are not made up for.
 *
 * Spinning on a lock is detected by the spinning CPU itself (spinlock.c), an unanswered request by
 * the CPU that has sent it (ipi.c). A single CPU that is stuck at raised IPL takes no ticks and
 * cannot be detected here; then the limit of scripts/run ends the run.
 */
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/patience.h"
#include "kernel/sched/sched_private.h"

#define WATCH_EVERY_TICKS 128u /* look 8 times a second */
#define ANSWERS_NEEDED    8u   /* a second */

struct patience_limits patience_limits = {
    .ns = 10000000000ul, .silent_ns = 60000000000ul, .reads = 16 * 1024};

struct moment {
    uint64_t ns, ticks; /* virtual time, and the number of ticks of the watching CPU */
};

/* What a CPU (first index) last saw of another (second). Own CPU of the first index, IPL_CLOCK. */
static struct watch {
    uint64_t ticks;          /* the other CPU's tick count */
    struct moment ticked;    /* when that was last seen to change */
    uint64_t answers;        /* signs of life at the last look */
    struct moment answered;  /* when the last one was seen */
    uint32_t looks_answered; /* looks that found a new one, since the CPU became suspect */
    bool told;               /* the message was printed */
} watches[MAX_CPUS][MAX_CPUS];

static uint64_t answers[MAX_CPUS]; /* signs of life that each CPU has given; own CPU, atomic */

static void give_sign(void)
{
    uint64_t *mine = &answers[cpu_id()];

    __atomic_store_n(mine, *mine + 1, __ATOMIC_RELAXED);
}

static const char *thread_on(unsigned cpu)
{
    const struct thread *t = runqs[cpu].current;

    return t ? t->name : "(none)";
}

static bool passed(struct moment since, struct moment now, uint64_t limit_ns)
{
    return now.ns - since.ns > limit_ns &&
           now.ticks - since.ticks > limit_ns / CLOCK_TICK_NS * 2 / 5;
}

/* CPU i is suspect. */
static void __attribute__((cold, noinline)) suspect(struct watch *w, unsigned i, struct moment now)
{
    uint64_t given = __atomic_load_n(&answers[i], __ATOMIC_RELAXED);

    if (panic_in_progress())
        return;
    if (given != w->answers) {
        w->answers = given;
        w->answered = now;
        if (++w->looks_answered >= ANSWERS_NEEDED)
            panic("CPU %u has taken no clock interrupt for %lu ms: stuck with interrupts off in "
                  "thread %s",
                  i, (now.ns - w->ticked.ns) / 1000000, thread_on(i));
    }
    if (passed(w->answered, now, patience_limits.silent_ns))
        panic("CPU %u has given no sign of life for %lu ms: stuck with all interrupts off in "
              "thread %s",
              i, (now.ns - w->answered.ns) / 1000000, thread_on(i));
    if (!w->told && passed(w->answered, now, 2 * patience_limits.ns)) {
        w->told = true;
        printk("CPU %u has given no sign of life for %lu ms\n", i,
               (now.ns - w->answered.ns) / 1000000);
    }
    ipi_send(1ul << i, IPI_WATCH);
}

void watchdog_tick(uint64_t now_ns)
{
    unsigned self = cpu_id();
    struct moment now = {now_ns, runqs[self].ticks};

    if (now.ticks % WATCH_EVERY_TICKS != 0)
        return;
    for (cpumask_t m = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~(1ul << self); m;
         m &= m - 1) {
        unsigned i = bit_lowest(m);
        struct watch *w = &watches[self][i];
        uint64_t ticks = __atomic_load_n(&runqs[i].ticks, __ATOMIC_ACQUIRE);

        if (ticks != w->ticks || w->ticked.ns == 0)
            *w = (struct watch){
                .ticks = ticks,
                .ticked = now,
                .answers = __atomic_load_n(&answers[i], __ATOMIC_RELAXED),
                .answered = now,
            };
        else if (passed(w->ticked, now, patience_limits.ns))
            suspect(w, i, now);
    }
}

void watchdog_boot(void) { ipi_register(IPI_WATCH, give_sign); }
