/*
 * Private to kernel/sched: parts of sched.c that are in line where a thread waits and is woken
 * (wait.c), because a call for each of them matters there.
 */
#ifndef KERNEL_SCHED_SCHED_QUICK_H
#define KERNEL_SCHED_SCHED_QUICK_H

#include "kernel/sched/sched_private.h"
#include "kernel/sched/spinlock_quick.h"

/* The first thing that a thread does when it runs again: leave the address space of the thread that
 * ran before, and release the run queue's lock, which was held across the switch. IPL_HIGH, and the
 * caller lowers it afterwards: what may wait for another CPU is done at IPL_CLOCK. */
static inline __attribute__((always_inline)) void sched_finish_switch(void)
{
    struct runq *rq = runq_self();
    struct thread *self = thread_self(), *from = rq->switched_from;

    if (from->root_mask && from->root_mask != self->root_mask)
        __atomic_fetch_and(from->root_mask, ~(1ul << cpu_self()->id), __ATOMIC_ACQ_REL);
    if (unlikely(rq->after != AFTER_NOTHING || thread_spin_top(self) != &rq->lock ||
                 lockstat_on(LOCKSTAT_SPIN)))
        sched_finish_slowly(rq, from);
    else
        spin_release_to(&rq->lock, self, NULL); /* the only one, as switch_last() has checked */
}

/* Does t, which belongs to rq, become ready without anything to decide? It does if it waits and
   goes to the queue of the thread that runs there, which has no other ready thread, others wait for
   neither, and it does not preempt. Then it has its place in the queue already, which would be the
   same if it were placed there again. rq is locked. */
static inline __attribute__((always_inline)) bool sched_wakes_simply(const struct runq *rq,
                                                                     struct thread *t)
{
    const struct fair_queue *q = t->fair.queue;

    if (unlikely(t->state != THREAD_WAITING || t->prio != PRIO_NORMAL || q == NULL ||
                 q->root != NULL || q->current != &rq->current->fair || t->held_mutexes != 0 ||
                 __atomic_load_n(&t->wants, __ATOMIC_RELAXED) != NULL))
        return false;
    fair_place(&t->fair);
    if (unlikely(fair_precedes(&t->fair, q->current)))
        return false;
    return true;
}

/* sched_wake() in the most frequent case: where there is one CPU, whose thread wakes the only other
   one of its group. `above` is the caller's innermost lock, of a rank below RANK_SCHED, and the
   caller has set the IPL to IPL_CLOCK. False: t was not woken. Calls nothing. */
static inline __attribute__((always_inline)) bool
sched_wake_quickly(struct spinlock *above, struct thread *t, struct wait_queue **clear)
{
    struct runq *rq = __atomic_load_n(&t->runq, __ATOMIC_RELAXED);

    if (unlikely(rq->several || !spin_lock_above(&rq->lock, above)))
        return false;
    if (unlikely(!sched_wakes_simply(rq, t))) {
        spin_release_to(&rq->lock, thread_self(), above);
        return false;
    }
    __atomic_store_n(clear, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&t->interruptible, 0, __ATOMIC_RELAXED);
    thread_state_set_locked(t, THREAD_RUNNABLE);
    fair_insert_only(&t->fair);
    runq_note_ready(rq, t, true);
    trace(rq, clock_cycles(), TRACE_READY, t->tid, 0, 0);
    spin_release_to(&rq->lock, thread_self(), above);
    return true;
}

#endif
