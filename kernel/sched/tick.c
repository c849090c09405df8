/*
 * The clock interrupt, the start of the scheduler on each CPU, and CPU statistics.
 *
 * The clock interrupt of a CPU runs expired timers and, if it is a tick, accounts for the current
 * thread's time and looks whether another one should run, balances the load, checks the other CPUs
 * (watchdog.c) and calls the reaper. Everything runs at IPL_CLOCK on the CPU concerned. Nothing
 * here can fail after boot.
 */
#include "arch/alpha/hw/hwrpb.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/perturb.h"
#include "kernel/sched/sched_private.h"
#include "kernel/sched/timer.h"

/* Clock ticks of CPU 0. scripts/run reads this in the machine's memory: time limits count it. */
uint64_t clock_ticks;

#define BALANCE_TICKS 64 /* 62.5 ms: a busy CPU looks 16 times a second */

/* A tick met t, in user mode or in the kernel: account for its time, and have another thread run if
   the rule says so. */
static void thread_tick(struct runq *rq, struct thread *t, bool user)
{
    uint32_t cycles;

    spin_lock_at_ipl(&rq->lock);
    cycles = clock_cycles();
    t->run_sum = &t->run_ns[user];
    account(t, cycles);
    t->grace = thread_hurries(t) ? t->grace + 1 : 0;
    if (t->prio == PRIO_NORMAL && fair_tick(&t->fair, cycles, t->grace - 1 < SCHED_GRACE_TICKS))
        runq_kick(rq);
    if (rq->several) {
        sched_set_share(rq, t);
        __atomic_fetch_add(&rq->load,
                           fair_load(&rq->fair) -
                               __atomic_load_n(&rq->load, __ATOMIC_RELAXED) / LOAD_TICKS,
                           __ATOMIC_RELAXED);
    }
    spin_unlock_at_ipl(&rq->lock);
    if (user)
        __atomic_store_n(&rq->user_ns, rq->user_ns + CLOCK_TICK_NS, __ATOMIC_RELAXED);
}

/* The interval clock and the alarm share one interrupt, so a tick is recognised by its time: it is
   the first interrupt that comes no earlier than half an interval before the tick is due. Ticks do
   not drift, since the due time advances by whole intervals, unless one comes more than an interval
   late, because the host has not run this CPU. */
static bool is_tick(struct runq *rq, uint64_t now_ns)
{
    if (now_ns + CLOCK_TICK_NS / 2 < rq->next_tick_ns)
        return false;
    rq->next_tick_ns += CLOCK_TICK_NS;
    if (rq->next_tick_ns < now_ns)
        rq->next_tick_ns = now_ns + CLOCK_TICK_NS;
    return true;
}

void (*sched_user_tick)(struct thread *t);

void sched_clock_tick(bool user)
{
    struct runq *rq = &runqs[cpu_id()]; /* while a CPU starts, its thread has none yet */
    struct thread *t = thread_self();
    unsigned self = runq_cpu(rq);
    uint64_t now;

    if (rq->current == NULL)
        return; /* the scheduler is not up yet */
    now = clock_ns();
    if (!is_tick(rq, now)) {
        timer_run(now);
        return;
    }
    __atomic_store_n(&rq->ticks, rq->ticks + 1, __ATOMIC_RELEASE);
    if (self == 0)
        __atomic_store_n(&clock_ticks, rq->ticks, __ATOMIC_RELAXED);
    thread_tick(rq, t, user);
    if (user && sched_user_tick)
        sched_user_tick(t);
    if (__atomic_load_n(&cpu_count, __ATOMIC_RELAXED) > 1) {
        if (rq->ticks % BALANCE_TICKS == self * (BALANCE_TICKS / MAX_CPUS))
            sched_balance(self);
        watchdog_tick(now);
    }
    thread_reaper_tick(now);
    timer_run_after_tick(now);
}

/* ---- boot ---- */

/* Nothing to do: runq_kick() has set the flags, which are checked on the way out of the
   interrupt. */
static void ipi_reschedule(void) {}

static void runq_boot(unsigned cpu, struct thread *current, struct thread *idle)
{
    struct runq *rq = &runqs[cpu];

    rq->current = current;
    rq->idle = idle;
    rq->online_ns = clock_ns();
    rq->next_tick_ns = rq->online_ns + CLOCK_TICK_NS;
    thread_state_set_locked(current, THREAD_RUNNING);
    current->start_cycles = clock_cycles();
    cpus[cpu].idle = current == idle;
}

static void idle_main(void *arg)
{
    (void)arg;
    sched_idle_loop();
}

void sched_boot(void)
{
    struct thread *boot = thread_self(), *idle;

    for (unsigned i = 0; i < MAX_CPUS; i++) {
        spin_init(&runqs[i].lock, "run queue", RANK_SCHED, IPL_CLOCK);
        prioq_init(&runqs[i].ready);
        fair_queue_init(&runqs[i].fair, NULL);
        list_init(&runqs[i].movable);
        runqs[i].several = bit_count(hwrpb_cpus_present()) > 1;
    }
    sched_group_init(&sched_kernel_group, NULL);
    timer_boot();
    ipi_boot();
    watchdog_boot();
    ipi_register(IPI_RESCHEDULE, ipi_reschedule);
    thread_init_static(boot, "boot", PRIO_NORMAL, ~0ul);
    fair_attach(&boot->fair, &boot->group->queues[0]);
    runq_resume(&runqs[0], boot, clock_cycles());
    idle = thread_create_on("idle 0", idle_main, NULL, PRIO_IDLE, 1);
    if (idle == NULL)
        panic("no memory for the first idle thread");
    thread_state_set_locked(idle, THREAD_RUNNABLE);
    runq_boot(0, boot, idle);
    thread_boot();
    __atomic_fetch_or(&cpu_online_mask, 1, __ATOMIC_RELEASE);
}

void sched_secondary_start(void)
{
    struct thread *self = thread_self();
    unsigned cpu = cpu_id();
    char name[] = "idle 0";

    name[sizeof(name) - 2] = (char)('0' + cpu);
    thread_init_static(self, name, PRIO_IDLE, 1ul << cpu);
    self->root_pfn = self->hw.pcb.ptbr;
    runq_boot(cpu, self, self);
    __atomic_fetch_or(&cpu_online_mask, 1ul << cpu, __ATOMIC_ACQ_REL);
    __atomic_store_n(&cpus[cpu].online, 1, __ATOMIC_RELEASE);
    ipl_set(IPL_CLOCK); /* the IPL at which the idle loop begins */
    perturb_cpu_start();
    sched_idle_loop();
}

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static uint64_t read(const uint64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

static uint64_t cycles_ns(const uint64_t *counter) { return read(counter) * CLOCK_CYCLE_NS; }

/* Idle time is accounted at ticks and switches but interrupts when they end, so that a difference
 * could come out below 0. */
static void divide_time(const struct cpu *c, struct sched_cpu_stats *s)
{
    uint64_t busy = cycles_ns(&c->interrupt_cycles[0]) + cycles_ns(&c->spin_cycles[0]);
    uint64_t idle = cycles_ns(&c->interrupt_cycles[1]) + cycles_ns(&c->spin_cycles[1]);

    s->spin_ns = cycles_ns(&c->spin_cycles[0]) + cycles_ns(&c->spin_cycles[1]);
    s->interrupt_ns = cycles_ns(&c->interrupt_cycles[0]) + cycles_ns(&c->interrupt_cycles[1]);
    s->pure_idle_ns = less(s->idle_ns, idle);
    s->kernel_ns = less(s->busy_ns, busy + s->user_ns);
}

void sched_cpu_stats(unsigned i, struct sched_cpu_stats *s)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = &runqs[i];

    spin_lock_at_ipl(&rq->lock);
    s->idle_ns = thread_cpu_ns(rq->idle);
    s->busy_ns = clock_ns() - rq->online_ns - s->idle_ns;
    s->user_ns = read(&rq->user_ns);
    divide_time(&cpus[i], s);
    s->switches = rq->switches;
    s->ticks = read(&rq->ticks);
    s->ipis = read(&rq->ipis);
    s->steals = read(&rq->steals);
    s->balanced = read(&rq->balanced);
    s->ready = runq_ready(rq);
    s->current_process = rq->current->process;
    str_copy(s->current_name, rq->current->name, sizeof(s->current_name));
    s->idle = rq->current == rq->idle;
    spin_unlock_at_ipl(&rq->lock);
    ipl_restore(ipl);
}
