/* Wait queues in which users take turns: turn.h. Who waits and who wakes agree as in wait.c; only
 * the order of the queue is another. A thread's user is its account. */
#include "kernel/sched/turn.h"

#include "kernel/sched/sched_private.h"

static void start(struct wait_queue *q, struct turn *t)
{
    t->waiter.thread = thread_self();
    t->waiter.home = q;
    __atomic_store_n(&t->waiter.queue, q, __ATOMIC_RELAXED);
}

void turn_enqueue(struct wait_queue *q, struct turn *t)
{
    ipl_t ipl = spin_lock(&q->lock);

    start(q, t);
    turn_join(&q->waiters, t, thread_self()->account);
    spin_unlock(&q->lock, ipl);
}

void turn_enqueue_first(struct wait_queue *q, struct turn *t)
{
    ipl_t ipl = spin_lock(&q->lock);

    start(q, t);
    turn_join_first(&q->waiters, t);
    spin_unlock(&q->lock, ipl);
}

void turn_finish(struct turn *t)
{
    struct wait_queue *q = t->waiter.home;
    ipl_t ipl;

    if (__atomic_load_n(&t->waiter.queue, __ATOMIC_ACQUIRE) == NULL && !spin_is_busy(&q->lock))
        return;
    ipl = spin_lock(&q->lock);
    if (__atomic_load_n(&t->waiter.queue, __ATOMIC_RELAXED) != NULL) {
        turn_leave(t);
        __atomic_store_n(&t->waiter.queue, NULL, __ATOMIC_RELAXED);
    }
    spin_unlock(&q->lock, ipl);
}

void turn_wake(struct wait_queue *q)
{
    ipl_t ipl = spin_lock(&q->lock);
    struct turn *t = turn_take(&q->waiters);

    if (t)
        sched_wake(t->waiter.thread, &t->waiter.queue, false);
    spin_unlock(&q->lock, ipl);
}
