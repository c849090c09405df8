/*
 * Scheduling groups, and the changes of a thread's part in the fair rule that are not part of
 * scheduling: of its group, its nice value, its priority.
 *
 * All of them are made under the lock of the thread's run queue. Whether the thread is ready, runs
 * or waits, it is taken out of its queue as if it stopped, changed, and put where it belongs: this
 * may be done for a thread that runs on another CPU, which finds out at its next switch or tick.
 * Nothing here allocates or fails.
 */
#include "kernel/sched/group.h"

#include "kernel/sched/sched_private.h"

#define NICE_MAX 19

struct sched_group sched_kernel_group;

void sched_group_init(struct sched_group *g, struct sched_group *parent)
{
    g->top = parent ? parent->top : g;
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        fair_node_init(&g->nodes[i], parent ? &parent->queues[i] : &runqs[i].fair, &g->queues[i],
                       FAIR_WEIGHT);
        fair_queue_init(&g->queues[i], &g->nodes[i]);
    }
}

uint64_t sched_active(const struct sched_group *g)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < MAX_CPUS; i++)
        sum += __atomic_load_n(&g->active[i], __ATOMIC_RELAXED);
    return sum;
}

void sched_set_share(struct runq *rq, const struct thread *t)
{
    struct sched_group *g = t->group->top;
    unsigned cpu = runq_cpu(rq);

    if (t->prio == PRIO_NORMAL)
        fair_set_share(&g->nodes[cpu], g->active[cpu], sched_active(g));
}

/* Take t, whose run queue rq is locked, out of the fair rule, and return whether it was in it: only
 * then runq_rejoin() is to be called, after the change. */
static bool runq_part(struct runq *rq, struct thread *t)
{
    if (t->prio != PRIO_NORMAL || t->fair.queue == NULL)
        return false;
    if (t->state == THREAD_RUNNING)
        runq_stop(rq, t, clock_cycles());
    else if (t->state == THREAD_RUNNABLE)
        runq_take(rq, t);
    else
        return false;
    return true;
}

static void runq_rejoin(struct runq *rq, struct thread *t)
{
    if (t->state == THREAD_RUNNING)
        runq_resume(rq, t, clock_cycles());
    else
        runq_put(rq, t);
    if (t->state == THREAD_RUNNABLE && thread_hurries(t))
        fair_hurry(&t->fair);
    runq_kick(rq);
}

void thread_set_group(struct thread *t, struct sched_group *g)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = runq_lock_of(t);
    bool in = runq_part(rq, t);

    t->group = g;
    if (t->fair.queue) {
        fair_detach(&t->fair);
        fair_attach(&t->fair, &g->queues[runq_cpu(rq)]);
    }
    if (in)
        runq_rejoin(rq, t);
    spin_unlock_at_ipl(&rq->lock);
    ipl_restore(ipl);
}

int thread_lent_nice(const struct thread *t)
{
    int nice = __atomic_load_n(&t->nice, __ATOMIC_RELAXED);
    int lent = NICE_MAX - __atomic_load_n(&t->lent, __ATOMIC_RELAXED);

    return MIN(nice, lent);
}

/* Set t's nice value and what it is lent, and its weight by the better one. */
static void set_nice(struct thread *t, const int *nice, const int *lent)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = runq_lock_of(t);
    bool in = runq_part(rq, t);

    if (nice)
        __atomic_store_n(&t->nice, (int8_t)*nice, __ATOMIC_RELAXED);
    if (lent)
        __atomic_store_n(&t->lent, (int8_t)(NICE_MAX - *lent), __ATOMIC_RELAXED);
    fair_set_weight(&t->fair, fair_weight_of_nice(thread_lent_nice(t)));
    if (in)
        runq_rejoin(rq, t);
    spin_unlock_at_ipl(&rq->lock);
    ipl_restore(ipl);
}

void thread_set_nice(struct thread *t, int nice) { set_nice(t, &nice, NULL); }

void thread_lend_nice(struct thread *t, int nice)
{
    if (NICE_MAX - __atomic_load_n(&t->lent, __ATOMIC_RELAXED) != nice)
        set_nice(t, NULL, &nice);
}

struct thread_share thread_share(const struct thread *t)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = runq_lock_of(t);
    struct thread_share s = {.weight = t->fair.weight};

    if (t->fair.queue)
        s.lead_ns = (int64_t)(t->fair.v - t->fair.queue->floor) * CLOCK_CYCLE_NS;
    spin_unlock_at_ipl(&rq->lock);
    ipl_restore(ipl);
    return s;
}

void sched_own_priority(unsigned prio)
{
    struct thread *t = thread_self();
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = runq_self();

    spin_lock_at_ipl(&rq->lock);
    if (t->prio == PRIO_NORMAL)
        runq_stop(rq, t, clock_cycles());
    __atomic_store_n(&t->prio, (uint8_t)prio, __ATOMIC_RELAXED); /* also read without the lock */
    if (prio == PRIO_NORMAL)
        runq_resume(rq, t, clock_cycles());
    if (runq_has(rq, prio + 1))
        runq_kick(rq);
    spin_unlock_at_ipl(&rq->lock);
    ipl_restore(ipl);
}
