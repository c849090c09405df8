/*
 * Timers: a queue for each CPU, sorted by deadline, and the CPU's one-shot alarm set to the
 * earliest. The alarm raises a clock interrupt, exact to the nanosecond where time is counted in
 * instructions. A tick of the interval clock has work of its own: it leaves a timer that is due to
 * an interrupt right after it, and runs it itself only if the machine has lost that alarm.
 *
 * Timers belong to users, and any number of them may be due at the same moment. So at most
 * one of them runs in any WINDOW_NS; those that are due besides wait for the next window, in the
 * order of their deadlines. One interrupt runs for a bounded time, and all of them together take a
 * bounded part of a CPU.
 *
 * A timer's function runs at IPL_CLOCK with the queue unlocked, so that it may wake threads and
 * start timers; meanwhile `running` points to the timer, for timer_cancel_wait(). Nothing here
 * allocates or fails.
 */
#include "kernel/sched/timerq.h"

#include "kernel/base/panic.h"
#include "kernel/sched/sched_private.h"

#define WINDOW_NS   5000u /* a timer that wakes a thread takes some 1,300 instructions */
#define POSTPONE_NS 1000u /* longer than the rest of a tick's interrupt */

struct timer_cpu {
    struct spinlock lock;  /* RANK_TIMER */
    struct timerq timers;  /* protected by lock. Only the own CPU adds timers; others may cancel */
    uint64_t first_ns;     /* earliest deadline; protected by lock; atomic: the own CPU reads it
                           without */
    struct timer *running; /* atomic; written by the own CPU, under lock */
    uint64_t window_ns;    /* when the latest timer ran; own CPU, in timer_run() */
    bool postponed;        /* a tick has left timers to an alarm that has not come; likewise */
} __attribute__((aligned(128)));

static struct timer_cpu timer_cpus[MAX_CPUS];

uint64_t clock_ns(void) { return clock_read_ns(); }

static uint64_t wall_base_ns; /* atomic */

void clock_wall_boot(uint64_t base_ns) { wall_base_ns = base_ns; }
uint64_t clock_wall_ns(void)
{
    return __atomic_load_n(&wall_base_ns, __ATOMIC_RELAXED) + clock_read_wall_ns();
}
void clock_wall_set(uint64_t ns)
{
    __atomic_store_n(&wall_base_ns, ns - clock_read_wall_ns(), __ATOMIC_RELAXED);
}

void timer_boot(void)
{
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        spin_init(&timer_cpus[i].lock, "timers", RANK_TIMER, IPL_CLOCK);
        timerq_init(&timer_cpus[i].timers, (uint32_t)clock_read_ns() ^ i << 16);
        timer_cpus[i].first_ns = TIMERQ_NEVER;
    }
}

void timer_start(struct timer *t, uint64_t deadline_ns)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct timer_cpu *tc = &timer_cpus[cpu_id()];

    spin_lock_at_ipl(&tc->lock);
    KASSERT(!t->pending, "a timer is started when it is not pending");
    /* Atomic, as is the read in queue_of(): a timer whose function restarts it may be cancelled at
     * this moment. That function stays on its CPU, so the value does not change. */
    __atomic_store_n(&t->cpu, cpu_id(), __ATOMIC_RELAXED);
    t->deadline_ns = deadline_ns;
    if (timerq_add(&tc->timers, t)) {
        __atomic_store_n(&tc->first_ns, deadline_ns, __ATOMIC_RELAXED);
        clock_alarm_at(deadline_ns);
    }
    spin_unlock_at_ipl(&tc->lock);
    ipl_restore(ipl);
}

static struct timer_cpu *queue_of(const struct timer *t)
{
    return &timer_cpus[__atomic_load_n(&t->cpu, __ATOMIC_RELAXED)];
}

bool timer_cancel(struct timer *t)
{
    struct timer_cpu *tc = queue_of(t);
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    bool pending;

    spin_lock_at_ipl(&tc->lock);
    pending = t->pending;
    if (pending) {
        timerq_remove(&tc->timers, t);
        /* The alarm stays as it is: one that finds nothing due is harmless. */
        __atomic_store_n(&tc->first_ns, timerq_first(&tc->timers), __ATOMIC_RELAXED);
    }
    spin_unlock_at_ipl(&tc->lock);
    ipl_restore(ipl);
    return pending;
}

bool timer_cancel_wait(struct timer *t)
{
    struct timer_cpu *tc = queue_of(t);

    if (timer_cancel(t))
        return true;
    while (__atomic_load_n(&tc->running, __ATOMIC_ACQUIRE) == t)
        ; /* fn runs on another CPU, for some microseconds: it may not wait */
    return false;
}

void timer_run(uint64_t now_ns)
{
    struct timer_cpu *tc = &timer_cpus[cpu_id()];
    struct timer *t = NULL;

    if (__atomic_load_n(&tc->first_ns, __ATOMIC_RELAXED) > now_ns)
        return;
    tc->postponed = false;
    spin_lock_at_ipl(&tc->lock);
    if (now_ns - tc->window_ns >= WINDOW_NS)
        t = timerq_pop_due(&tc->timers, now_ns);
    if (t) {
        tc->window_ns = now_ns;
        __atomic_store_n(&tc->running, t, __ATOMIC_RELAXED);
        spin_unlock_at_ipl(&tc->lock);
        t->fn(t);
        spin_lock_at_ipl(&tc->lock);
        __atomic_store_n(&tc->running, NULL, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&tc->first_ns, timerq_first(&tc->timers), __ATOMIC_RELAXED);
    if (tc->first_ns != TIMERQ_NEVER)
        clock_alarm_at(MAX(tc->first_ns, tc->window_ns + WINDOW_NS));
    spin_unlock_at_ipl(&tc->lock);
}

void timer_run_after_tick(uint64_t now_ns)
{
    struct timer_cpu *tc = &timer_cpus[cpu_id()];

    if (__atomic_load_n(&tc->first_ns, __ATOMIC_RELAXED) > now_ns)
        return;
    if (tc->postponed) {
        timer_run(now_ns);
        return;
    }
    tc->postponed = true;
    clock_alarm_at(now_ns + POSTPONE_NS);
}
