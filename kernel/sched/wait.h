/*
 * Wait queues. The usual pattern, where the condition is atomic or protected by a lock of the
 * caller:
 *
 *     struct waiter w;
 *     for (;;) {
 *         wait_enqueue(&q, &w);            -- from here on no wake-up is lost
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

/* Is somebody on the queue? Without its lock: whoever comes is seen if he came before. Any IPL. */
#define wait_queue_is_used(q) \
    (__atomic_load_n(&(q)->waiters.next, __ATOMIC_SEQ_CST) != &(q)->waiters)

struct waiter {
    struct list link;
    struct thread *thread;
    struct wait_queue *queue; /* NULL once woken; atomic */
    struct wait_queue *home;  /* the queue it was put on; own thread */
};

#define WAIT_UNINTERRUPTIBLE 0u
#define WAIT_INTERRUPTIBLE   1u
/* Interrupted only if the thread is to end (struct thread, fatal): for waits inside a page fault or
   a copy, which cannot be interrupted to run a signal handler and restarted, but which can be
   abandoned when the process ends. Only with WAIT_FOREVER. */
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
/* Put the current thread on q, for the first time or again after a wake-up. Any IPL up to
   IPL_CLOCK, spinlocks below RANK_WAIT. */
void wait_enqueue(struct wait_queue *q, struct waiter *w);
/* Sleep until woken. Returns 0; -EINTR if the wait is interruptible and thread_interrupt() was
   called, or if it is killable and the thread is to end; -ETIMEDOUT when clock_ns() reaches
   deadline_ns. flags: one of the WAIT_ values above. IPL 0, no spinlock. */
int wait_block(struct waiter *w, unsigned flags, uint64_t deadline_ns);
/* Leave the queue; every wait_enqueue() must be followed by this in the end. On return no waker
   accesses w or, on behalf of this waiter, the queue, which may then be freed if nobody else uses
   it. */
void wait_finish(struct waiter *w);
/* The whole pattern for one interruptible wait, in fewer steps: put the current thread on q, and if
   must_wait(arg) then is true, sleep until woken. 0, or -EINTR as wait_block(). must_wait is called
   once, at IPL_CLOCK without a spinlock of q; what it looks at is ordered as with wait_enqueue().
   IPL 0, no spinlock. */
int wait_if(struct wait_queue *q, bool (*must_wait)(void *), void *arg);
/* Wake the oldest waiter, or all that wait at this moment. Returns how many. Any IPL up to
   IPL_CLOCK, spinlocks below RANK_WAIT; where many can wait, IPL 0 without spinlocks, because
   wake_all() drops the queue's lock and the IPL after each few. The caller keeps the queue in
   existence until wake_all() returns. */
unsigned wake_one(struct wait_queue *q);
unsigned wake_all(struct wait_queue *q);
/* wake_all() for a thread that is likely to wait or to end soon: if no other thread is ready on
   this CPU, the woken threads run here next, instead of on a CPU that would have to be interrupted.
   If the caller does not give up the CPU, an idle CPU takes the threads at its next tick. */
unsigned wake_all_follow(struct wait_queue *q);

#endif
