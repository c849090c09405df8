/*
 * Wait queues. The pattern, with the condition protected by a lock of the caller's or atomic:
 *
 *     struct waiter w;
 *     for (;;) {
 *         wait_enqueue(&q, &w);            -- from here a wake-up is not lost
 *         if (condition) break;
 *         err = wait_block(&w, WAIT_INTERRUPTIBLE, deadline_ns);   -- IPL 0, no spinlock
 *         if (err) break;
 *     }
 *     wait_finish(&w);
 */
#ifndef KERNEL_SCHED_WAIT_H
#define KERNEL_SCHED_WAIT_H

#include "kernel/base/list.h"
#include "kernel/sched/spinlock.h"

struct thread;

struct wait_queue {
    struct spinlock lock; /* RANK_WAIT */
    struct list waiters;  /* of struct waiter; protected by lock */
};

struct waiter {
    struct list link;
    struct thread *thread;
    struct wait_queue *queue; /* NULL once woken; atomic */
    struct wait_queue *home;  /* the queue it was put on; own thread */
};

#define WAIT_UNINTERRUPTIBLE 0u
#define WAIT_INTERRUPTIBLE   1u
/* Ends only for a thread that is to end (struct thread, fatal): for waits inside of a fault or a
   copy, which cannot be begun anew for a handler's sake, but need not be lived through. Only with
   WAIT_FOREVER. */
#define WAIT_KILLABLE 2u
#define WAIT_FOREVER  UINT64_MAX

#define WAIT_QUEUE_INIT(name_, q_)                                       \
    {                                                                    \
        .lock = SPINLOCK_INIT(name_, RANK_WAIT, IPL_CLOCK), .waiters = { \
            &(q_).waiters,                                               \
            &(q_).waiters                                                \
        }                                                                \
    }

void wait_queue_init(struct wait_queue *q, const char *name);
/* Put the current thread on q (again after a wake-up). Any IPL up to IPL_CLOCK. */
void wait_enqueue(struct wait_queue *q, struct waiter *w);
/* The same in front of the others: for one that was woken and came too late. */
void wait_enqueue_first(struct wait_queue *q, struct waiter *w);
/* Sleep until woken. 0; -EINTR when interruptible and thread_interrupt() came, or killable and
   the thread is to end besides; -ETIMEDOUT when clock_ns() reaches deadline_ns. flags: one of the
   WAIT_ values above. */
int wait_block(struct waiter *w, unsigned flags, uint64_t deadline_ns);
/* Leave the queue. Always called in the end. When it returns, no waker touches w or the queue on
   this waiter's behalf any more: the queue may then go, if nobody else uses it. */
void wait_finish(struct waiter *w);
/* Wake the oldest waiter, or all. Returns how many. Any IPL up to IPL_CLOCK, locks up to RANK_WAIT.
 */
unsigned wake_one(struct wait_queue *q);
unsigned wake_all(struct wait_queue *q);
/* The same by a thread that is likely to wait or to end soon: where nobody else is ready on this
   CPU, a woken thread follows it here, instead of on a CPU that would have to be interrupted. If it
   does not give up the CPU, an idle one takes the thread at the next tick. */
unsigned wake_all_follow(struct wait_queue *q);

#endif
