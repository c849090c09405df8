/*
 * What a CPU does that has nothing to do, and how ready threads spread over the CPUs.
 *
 * A woken or new thread goes to the CPU that promises it soonest (choose_cpu in sched.c); nobody
 * looks again at a thread that runs. What stays uneven is a queue of ready threads behind a long
 * runner. An idle CPU takes one from the longest queue before it sleeps and at each tick that wakes
 * it; a busy one looks BALANCE_TICKS apart, and takes one where that makes the loads more equal.
 * Taking means: off the victim's queue under its lock, then onto the own one under its lock, never
 * both.
 */
#include "kernel/sched/ipi.h"
#include "kernel/sched/perturb.h"
#include "kernel/sched/sched_private.h"

static bool may_run_on(const struct list *l, uint64_t cpu)
{
    return (thread_of_link(l)->affinity >> cpu) & 1;
}

/* Take one ready thread of another CPU to this one. IPL_CLOCK, no lock. */
static bool steal_from(unsigned victim, unsigned self)
{
    struct runq *rq = &runqs[victim];
    struct list *l;
    struct thread *t = NULL;

    spin_lock_at_ipl(&rq->lock);
    l = prioq_find(&rq->ready, may_run_on, self);
    if (l) {
        t = thread_of_link(l);
        runq_take(rq, t);
        __atomic_store_n(&t->last_cpu, self, __ATOMIC_RELAXED);
    }
    spin_unlock_at_ipl(&rq->lock);
    if (t)
        runq_deliver(t);
    return t != NULL;
}

static uint32_t load_of(unsigned i) { return prioq_count(&runqs[i].ready) + !cpu_is_idle(i); }

/* The online CPU with the most ready threads, at least `least` of them in all; MAX_CPUS when there
 * is none. */
static unsigned busiest(unsigned self, uint32_t least)
{
    cpumask_t m = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~(1ul << self);
    unsigned best = MAX_CPUS;

    for (; m; m &= m - 1) {
        unsigned i = bit_lowest(m);
        uint32_t load = load_of(i);

        if (load >= least && prioq_has(&runqs[i].ready, 0)) {
            best = i;
            least = load + 1;
        }
    }
    return best;
}

/* A thread moves only where that makes the loads more equal, so that it does not come back at the
 * next look. */
void sched_balance(unsigned self)
{
    unsigned victim = busiest(self, load_of(self) + 2);

    if (victim < MAX_CPUS && steal_from(victim, self))
        count_up(&runqs[self].balanced);
}

static bool idle_steal(unsigned self)
{
    unsigned victim = busiest(self, 2);

    if (victim == MAX_CPUS || !steal_from(victim, self))
        return false;
    count_up(&runqs[self].steals);
    return true;
}

bool (*sched_idle_work)(void);

/* A step of what idle CPUs do for others. True: there may be more. */
static bool idle_work(const struct runq *rq)
{
    bool (*work)(void) = __atomic_load_n(&sched_idle_work, __ATOMIC_ACQUIRE);

    return work && !prioq_has(&rq->ready, 0) && work();
}

/*
 * Idle. WTINT stops the CPU until an interrupt is pending, also one that the IPL blocks (QEMU 7.2:
 * alpha_cpu_has_work looks at what is requested, not at the IPL; on a chip a WTINT that missed one
 * would end at the next clock tick). So no wake-up is lost: who gives this CPU a thread puts it on
 * the queue, sets resched and then sends an interrupt. We block interrupts, then look at both. If
 * we see nothing, the interrupt comes after our look, is held pending, and WTINT returns at once.
 */
void sched_idle_loop(void)
{
    unsigned self = cpu_id(); /* the idle thread does not move */
    struct runq *rq = &runqs[self];

    for (;;) {
        ipl_set(IPL_CLOCK);
        if (!prioq_has(&rq->ready, 0))
            idle_steal(self);
        ipl_restore(IPL_NONE); /* a thread that came is switched to here */
        if (idle_work(rq))
            continue;
        if (perturb_keeps_awake(self))
            continue;
        ipl_set(IPL_IPI);
        if (!__atomic_load_n(&cpus[self].resched, __ATOMIC_ACQUIRE) && !prioq_has(&rq->ready, 0))
            pal_wtint(0);
        ipl_restore(IPL_NONE);
    }
}
