/* Time and one-shot timers. Virtual time in nanoseconds since boot (PALcode's cserve 7). */
#ifndef KERNEL_SCHED_TIMER_H
#define KERNEL_SCHED_TIMER_H

#include "kernel/base/types.h"

struct timer {
    /* Place in the queue (timerq.h), protected by the timer queue's lock. */
    struct timer *left, *right, *up;
    uint32_t weight;
    uint32_t cpu; /* whose queue it is on; set by timer_start; atomic */
    uint64_t deadline_ns;
    void (*fn)(struct timer *); /* runs at IPL_CLOCK on the CPU that started it; no waiting */
    void *arg;
    bool pending; /* protected by the timer queue's lock */
};

uint64_t clock_ns(void); /* monotonic; any IPL */
/* Boot: set the time at which the machine's clock was 0, in ns since 1970 (default 0). */
void clock_wall_boot(uint64_t base_ns);
uint64_t clock_wall_ns(void); /* ns since 1970; any IPL */
/* Set that clock. What was computed from it before stays. */
void clock_wall_set(uint64_t ns);
/* Have t->fn(t) called on this CPU when clock_ns() reaches deadline_ns, or some microseconds later
 * if many timers are due at that time (timer.c). t is not pending. IPL up to IPL_CLOCK, spinlocks
 * below RANK_TIMER. */
void timer_start(struct timer *t, uint64_t deadline_ns);
/* Returns true if t was pending; false if fn has run or is running. IPL and locks as above. */
bool timer_cancel(struct timer *t);
/* The same, and waits until fn is no longer running, so that t may be freed. Not to be called by fn
 * itself, nor with a lock held that fn takes. */
bool timer_cancel_wait(struct timer *t);

#endif
