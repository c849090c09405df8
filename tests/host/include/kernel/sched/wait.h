/* Host stand-in for wait queues: the kernel's pattern on POSIX conditions. Times are of
 * host_clock_ns(). */
#ifndef KERNEL_SCHED_WAIT_H
#define KERNEL_SCHED_WAIT_H

#include "arch/alpha/hw/cpu.h"
#include "kernel/base/list.h"
#include "kernel/sched/spinlock.h"

struct thread;

struct wait_queue {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    struct list waiters; /* protected by mutex */
};

struct waiter {
    struct list link;
    struct thread *thread;
    struct wait_queue *queue; /* NULL once woken; atomic */
    struct wait_queue *home;
};

#define WAIT_UNINTERRUPTIBLE 0u
#define WAIT_INTERRUPTIBLE   1u
#define WAIT_KILLABLE        2u
#define WAIT_FOREVER         UINT64_MAX

#define WAIT_QUEUE_INIT(name_, q_)                                                         \
    {                                                                                      \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER, .waiters = { \
            &(q_).waiters,                                                                 \
            &(q_).waiters                                                                  \
        }                                                                                  \
    }

void wait_queue_init(struct wait_queue *q, const char *name);
void wait_enqueue(struct wait_queue *q, struct waiter *w);
void wait_enqueue_first(struct wait_queue *q, struct waiter *w);
int wait_block(struct waiter *w, unsigned flags, uint64_t deadline_ns);
void wait_finish(struct waiter *w);
unsigned wake_one(struct wait_queue *q);
unsigned wake_all(struct wait_queue *q);
/* The same by a thread that is likely to wait or to end soon: where nobody else is ready on this
   CPU, a woken thread follows it here, instead of on a CPU that would have to be interrupted. If it
   does not give up the CPU, an idle one takes the thread at the next tick. */
unsigned wake_all_follow(struct wait_queue *q);

/* The thread that plays this CPU is to end: its killable waits do, until it is taken back. */
extern bool host_killed[MAX_CPUS]; /* atomic */

/* The clock that deadlines refer to: nanoseconds of the host's monotonic clock. */
uint64_t host_clock_ns(void);

#endif
