/*
 * Placement: on which CPU a thread runs that becomes ready, and its affinity. idle.c moves threads
 * that are ready already.
 */
#include "kernel/sched/sched_private.h"

#include "kernel/base/errno.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/rad.h"

/* The load of CPU i as a thread of g, a user's group whose threads with this one weigh `all`, would
   find it, times `all`: the mean load of the other users, and what g has there at this moment. 0:
   the CPU is idle. */
static uint64_t load_for(const struct sched_group *g, uint64_t all, unsigned i)
{
    uint64_t active = __atomic_load_n(&g->active[i], __ATOMIC_RELAXED);
    int64_t others = __atomic_load_n(&runqs[i].load, __ATOMIC_RELAXED) / LOAD_TICKS;

    if (cpu_is_idle(i) && runq_ready(&runqs[i]) == 0)
        return 0;
    if (active)
        others -= __atomic_load_n(&g->nodes[i].weight, __ATOMIC_RELAXED);
    return (uint64_t)MAX(others, 0) * all + FAIR_WEIGHT * active + 1;
}

unsigned sched_choose_cpu(const struct thread *t, unsigned last)
{
    cpumask_t allowed = t->affinity & __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED);
    cpumask_t near = rad_count == 1 ? ~0ul
                                    : rad_cpus(__atomic_load_n(&t->home_rad, __ATOMIC_RELAXED));
    uint64_t all, quarter, best_load = UINT64_MAX;
    unsigned best = last;

    if ((allowed & near & (1ul << last)) && cpu_is_idle(last) && runq_ready(&runqs[last]) == 0)
        return last;
    all = sched_active(t->group->top) + t->fair.weight;
    quarter = FAIR_WEIGHT / 4 * t->fair.weight;
    for (cpumask_t m = allowed; m; m &= m - 1) {
        unsigned i = bit_lowest(m);
        uint64_t load = load_for(t->group->top, all, i);

        if (load && i != last)
            load += quarter + FAIR_GAP_MIN / 2 * all;
        if (!((near >> i) & 1))
            load += load ? 2 * quarter : 1;
        if (load < best_load) {
            best = i;
            best_load = load;
        }
    }
    return best;
}

/* Should t run on this CPU, whose thread is about to give it up? Not if a CPU has fewer
   threads than wait for this one already, nor if the waker is an interrupt of the idle thread,
   which is waiting already. */
static bool may_follow(const struct thread *t)
{
    unsigned self = cpu_id();
    uint32_t ready = runq_ready(&runqs[self]);

    if (!((t->affinity >> self) & 1) || cpu_is_idle(self))
        return false;
    if (likely(ready == 0))
        return true;
    for (cpumask_t m = t->affinity & __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED); m;
         m &= m - 1) {
        unsigned i = bit_lowest(m);

        if (i != self && runq_ready(&runqs[i]) + !cpu_is_idle(i) < ready)
            return false;
    }
    return true;
}

bool sched_move_to_better(struct runq *rq, struct thread *t, bool follow)
{
    unsigned cpu = follow && may_follow(t) ? cpu_id() : sched_choose_cpu(t, runq_cpu(rq));

    if (cpu == runq_cpu(rq))
        return false;
    thread_state_set_locked(t, THREAD_RUNNABLE);
    thread_leave_locked(t, cpu);
    spin_unlock_at_ipl(&rq->lock);
    runq_deliver(t);
    return true;
}

int thread_set_affinity(struct thread *t, cpumask_t mask)
{
    if ((mask & __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED)) == 0)
        return -EINVAL;

    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = runq_lock_of(t);

    if (thread_is_queued(t)) {
        runq_take(rq, t);
        __atomic_store_n(&t->affinity, mask, __ATOMIC_RELAXED);
        thread_leave_locked(t, mask & (1ul << runq_cpu(rq)) ? runq_cpu(rq)
                                                            : sched_choose_cpu(t, runq_cpu(rq)));
        spin_unlock_at_ipl(&rq->lock);
        runq_deliver(t);
    } else {
        __atomic_store_n(&t->affinity, mask, __ATOMIC_RELAXED);
        /* One that waits or is on its way is put on the right queue when it is woken or
           delivered. */
        if (t->state == THREAD_RUNNING && !(mask & (1ul << runq_cpu(rq))))
            runq_kick(rq);
        spin_unlock_at_ipl(&rq->lock);
    }
    ipl_restore(ipl);
    return 0;
}
