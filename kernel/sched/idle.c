/*
 * The idle loop, and the distribution of ready threads over the CPUs.
 *
 * A woken or new thread goes to the CPU on which it is likely to run soonest (choose_cpu in
 * sched.c). What can become uneven is the number of ready threads that queue behind a long-running
 * one. An idle CPU takes a thread from the longest queue before it sleeps and at each tick that
 * wakes it; a busy one looks every BALANCE_TICKS, and takes threads if that makes the loads more
 * equal. All users weigh the same, and each of a user's threads an equal part of that: so the only
 * thread of one user is as heavy as the thousands of another, which go to the other CPUs. To take a
 * thread is to remove it from the victim's queue under its lock and then to add it to the own queue
 * under that one's lock; the two are never held together.
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
/* How many threads a busy CPU takes at most when it looks. */
#define MOVED_MAX 4
#define ANY_GAP   UINT32_MAX

uint32_t sched_user_threads(const struct sched_group *g)
{
    cpumask_t m = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED);
    int32_t n = 0;

    for (; m; m &= m - 1) {
        unsigned i = bit_lowest(m);

        n += __atomic_load_n(&g->ready[i], __ATOMIC_RELAXED);
        n += __atomic_load_n(&runqs[i].user, __ATOMIC_RELAXED) == g;
    }
    return (uint32_t)MAX(n, 1);
}

/* Is t, whose run queue is locked, light enough to be moved to a CPU whose load is less by gap? */
static bool is_light(const struct thread *t, uint32_t gap)
{
    return gap == ANY_GAP || fair_moves(gap, sched_user_threads(t->group->top));
}

/* A ready thread of rq, locked, that may run on CPU cpu, whose load is `gap` below that of rq's,
   and not so heavy that it should stay; NULL: none was found. Among the fair ones the newest: it
   has waited least, and its data is least likely to be in the cache of its CPU. */
static struct thread *find_movable(struct runq *rq, unsigned cpu, uint32_t gap)
{
    struct list *l;

    for (unsigned i = 0; i < EXAMINED_MAX && (l = list_last(&rq->movable)); i++) {
        if (may_run_on(l, cpu) && is_light(thread_of_link(l), gap))
            return thread_of_link(l);
        list_remove(l);
        list_add_head(&rq->movable, l);
    }
    l = prioq_find(&rq->ready, may_run_on, cpu);
    return l ? thread_of_link(l) : NULL;
}

/* Move one ready thread of another CPU, whose load is `gap` above that of this one, to this one.
   Returns by how much that makes the gap less; 0: there was no thread to move. IPL_CLOCK, no lock.
 */
static uint32_t steal_from(unsigned victim, unsigned self, uint32_t gap)
{
    struct runq *rq = &runqs[victim];
    struct thread *t;
    uint32_t less;

    spin_lock_at_ipl(&rq->lock);
    t = find_movable(rq, self, gap);
    if (t) {
        runq_take(rq, t);
        thread_leave_locked(t, self);
    }
    spin_unlock_at_ipl(&rq->lock);
    if (!t)
        return 0;
    less = 2 * fair_part(sched_user_threads(t->group->top)); /* nobody else changes its group now */
    runq_deliver(t);
    return less;
}

static uint32_t load_of(unsigned i)
{
    uint32_t load;

    spin_lock_at_ipl(&runqs[i].lock);
    load = fair_load(&runqs[i].fair);
    spin_unlock_at_ipl(&runqs[i].lock);
    return load;
}

/* The online CPU other than self with the highest load of those with a ready thread, and that load;
 * MAX_CPUS when there is none above *load. */
static unsigned busiest(unsigned self, uint32_t *load)
{
    cpumask_t m = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~(1ul << self);
    unsigned best = MAX_CPUS;

    for (; m; m &= m - 1) {
        unsigned i = bit_lowest(m);
        uint32_t its = prioq_has(&runqs[i].ready, 0) ? load_of(i) : 0;

        if (its > *load) {
            best = i;
            *load = its;
        }
    }
    return best;
}

/* Take some threads as long as each makes the loads more equal, so that none is taken back at the
 * next look. */
void sched_balance(unsigned self)
{
    uint32_t own = load_of(self), load = own, less;
    unsigned victim = busiest(self, &load);

    if (victim == MAX_CPUS)
        return;
    for (unsigned n = 0; n < MOVED_MAX && (less = steal_from(victim, self, load - own)); n++) {
        count_up(&runqs[self].balanced);
        if (load - own <= less)
            break;
        load -= less;
    }
}

/* The online CPU other than self on which most threads are ready; MAX_CPUS: none is on any. */
static unsigned longest(unsigned self)
{
    cpumask_t m = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~(1ul << self);
    unsigned best = MAX_CPUS;
    uint32_t most = 1;

    for (; m; m &= m - 1) {
        unsigned i = bit_lowest(m);
        uint32_t n = runq_ready(&runqs[i]) + !cpu_is_idle(i);

        if (n > most && prioq_has(&runqs[i].ready, 0)) {
            best = i;
            most = n;
        }
    }
    return best;
}

static bool idle_steal(unsigned self)
{
    unsigned victim = longest(self);

    if (victim == MAX_CPUS || !steal_from(victim, self, ANY_GAP))
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
