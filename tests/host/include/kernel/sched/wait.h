/* Host stand-in for wait queues: the kernel's interface, with POSIX condition variables. Times are
   those of host_clock_ns(). */
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
int wait_block(struct waiter *w, unsigned flags, uint64_t deadline_ns);
void wait_finish(struct waiter *w);
unsigned wake_one(struct wait_queue *q);
unsigned wake_all(struct wait_queue *q);
/* In the kernel, prefers this CPU for a woken thread, because the caller is about to wait or end.
   There is no scheduler here: the same as wake_all. */
unsigned wake_all_follow(struct wait_queue *q);

/* While set, killable waits of the thread that plays this CPU end with -EINTR. */
extern bool host_killed[MAX_CPUS]; /* atomic */
/* Whose turns those of that thread are (kernel/sched/turn.h). */
extern const void *host_user[MAX_CPUS];

/* The clock that deadlines refer to: nanoseconds of the host's monotonic clock. */
uint64_t host_clock_ns(void);

#endif
