/* Time and one-shot timers. Virtual time in nanoseconds since boot (PALcode's cserve 7). */
#ifndef KERNEL_SCHED_TIMER_H
#define KERNEL_SCHED_TIMER_H

#include "kernel/base/list.h"
#include "kernel/base/types.h"

struct timer {
    struct list link; /* protected by the timer queue's lock */
    uint64_t deadline_ns;
    void (*fn)(struct timer *); /* runs at IPL_CLOCK on the CPU that started it; no waiting */
    void *arg;
    uint32_t cpu; /* whose queue; set by timer_start */
    bool pending; /* protected by the timer queue's lock */
};

uint64_t clock_ns(void); /* monotonic; any IPL */
/* Boot: when the machine's clock was 0, in ns since 1970; 0 unless said. */
void clock_wall_boot(uint64_t base_ns);
uint64_t clock_wall_ns(void); /* since 1970; any IPL */
void timer_start(struct timer *t, uint64_t deadline_ns);
/* True when it was pending; false when it has run or is running. */
bool timer_cancel(struct timer *t);
/* The same, and when it returns fn is not running any more: t may go. Not from fn itself, nor with
 * a lock held that fn takes. */
bool timer_cancel_wait(struct timer *t);

#endif
