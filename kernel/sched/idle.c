/*
 * The idle loop, and the distribution of ready threads over the CPUs.
 *
 * A woken or new thread goes to the CPU on which it is likely to run soonest (choose_cpu in
 * sched.c). What can become uneven is the number of ready threads that queue behind a long-running
 * one. An idle CPU takes a thread from the longest queue before it sleeps and at each tick that
 * wakes it; a busy one looks every BALANCE_TICKS, and takes a thread if that makes the loads more
 * equal. To take a thread is to remove it from the victim's queue under its lock and then to add it
 * to the own queue under that one's lock; the two are never held together.
 */
#include "kernel/sched/ipi.h"
#include "kernel/sched/lockstat.h"
#include "kernel/sched/meter.h"
#include "kernel/sched/perturb.h"
#include "kernel/sched/sched_private.h"

static bool may_run_on(const struct list *l, uint64_t cpu)
{
    return (thread_of_link(l)->affinity >> cpu) & 1;
}

/* How many ready threads one look of another CPU examines. Those that may not move there come last
   afterwards, so that the next look examines others. */
#define EXAMINED_MAX 8

/* A ready thread of rq, locked, that may run on CPU cpu; NULL: none was found. Among the fair ones
   the newest: it has waited least, and its data is least likely to be in the cache of its CPU. */
static struct thread *find_movable(struct runq *rq, unsigned cpu)
{
    struct list *l;

    for (unsigned i = 0; i < EXAMINED_MAX && (l = list_last(&rq->movable)); i++) {
        if (may_run_on(l, cpu))
            return thread_of_link(l);
        list_remove(l);
        list_add_head(&rq->movable, l);
    }
    l = prioq_find(&rq->ready, may_run_on, cpu);
    return l ? thread_of_link(l) : NULL;
}

/* Move one ready thread of another CPU to this one; false if there was none. IPL_CLOCK, no lock. */
static bool steal_from(unsigned victim, unsigned self)
{
    struct runq *rq = &runqs[victim];
    struct thread *t;

    spin_lock_at_ipl(&rq->lock);
    t = find_movable(rq, self);
    if (t) {
        runq_take(rq, t);
        thread_leave_locked(t, self);
    }
    spin_unlock_at_ipl(&rq->lock);
    if (t)
        runq_deliver(t);
    return t != NULL;
}

static uint32_t load_of(unsigned i) { return runq_ready(&runqs[i]) + !cpu_is_idle(i); }

/* The online CPU other than self with the highest load (ready threads and a running one), which is
 * at least `least` and includes a ready thread; MAX_CPUS when there is none. */
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

/* Take a thread only if that makes the loads more equal, so that it is not taken back at the next
 * look. */
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

/* One step of the work that idle CPUs do. True: there may be more. */
static bool idle_work(const struct runq *rq)
{
    bool (*work)(void) = __atomic_load_n(&sched_idle_work, __ATOMIC_ACQUIRE);

    return work && !prioq_has(&rq->ready, 0) && work();
}

static void wait_for_interrupt(void)
{
    pal_wtint(0);
    if (lockstat_on(LOCKSTAT_SPIN))
        meter_waited();
}

/*
 * The idle loop. WTINT stops the CPU until an interrupt is pending, even one that the IPL blocks
 * (QEMU 7.2: alpha_cpu_has_work checks what is requested, not the IPL; on hardware, a WTINT that
 * missed an interrupt would end at the next clock tick). Therefore no wake-up is lost: a CPU that
 * gives this one a thread puts it on the queue, sets resched and then sends an interrupt. We first
 * block interrupts and then look at both. If we see neither, the interrupt comes after our look,
 * stays pending, and WTINT returns at once.
 */
void sched_idle_loop(void)
{
    unsigned self = cpu_id(); /* the idle thread does not move */
    struct runq *rq = &runqs[self];

    for (;;) {
        ipl_set(IPL_CLOCK);
        if (!prioq_has(&rq->ready, 0))
            idle_steal(self);
        ipl_restore(IPL_NONE); /* switches to a thread that has become ready */
        if (idle_work(rq))
            continue;
        if (perturb_keeps_awake(self))
            continue;
        ipl_set(IPL_IPI);
        if (!__atomic_load_n(&cpus[self].resched, __ATOMIC_ACQUIRE) && !prioq_has(&rq->ready, 0))
            wait_for_interrupt();
        ipl_restore(IPL_NONE);
    }
}
