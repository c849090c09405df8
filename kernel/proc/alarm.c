/*
 * ITIMER_REAL. The timer's function runs at IPL_CLOCK and can take no lock of ours: it notes that
 * it fired, sets the bit for the way out and interrupts the thread's wait. The thread makes a
 * SIGALRM of it (process_alarm_deliver).
 *
 * alarm_busy is 1 from before timer_start until the function has run for the last time, or the
 * timer was cancelled while it was pending: whoever stops it waits for that, so the structure
 * outlives the function.
 */
#include "kernel/base/errno.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/signal.h"

static void alarm_expired(struct timer *t)
{
    struct process *p = container_of(t, struct process, alarm);
    struct thread *thread = t->arg;
    uint64_t interval = __atomic_load_n(&p->alarm_interval, __ATOMIC_RELAXED);

    __atomic_store_n(&p->alarm_fired, 1, __ATOMIC_SEQ_CST);
    if (signal_is_wanted(p->sig, SIGALRM)) /* else set_blocked finds it when that changes */
        thread_interrupt(thread);
    if (interval) {
        uint64_t now = clock_ns(), next = p->alarm_deadline + interval;

        if (next <= now) /* ticks that were missed are not made up for */
            next = now + interval;
        __atomic_store_n(&p->alarm_deadline, next, __ATOMIC_RELAXED);
        timer_start(t, next);
    } else {
        __atomic_store_n(&p->alarm_deadline, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&p->alarm_busy, 0, __ATOMIC_RELEASE);
    }
}

/* Off, and the function does not run any more. */
static void alarm_stop(struct process *p)
{
    while (__atomic_load_n(&p->alarm_busy, __ATOMIC_ACQUIRE)) {
        if (timer_cancel(&p->alarm))
            __atomic_store_n(&p->alarm_busy, 0, __ATOMIC_RELAXED);
        else
            thread_yield(); /* it runs right now on another CPU */
    }
    p->alarm_deadline = 0;
}

void process_alarm_end(struct process *p)
{
    /* Marked: the function may read it just now; if it starts the timer again, alarm_stop() waits.
     */
    __atomic_store_n(&p->alarm_interval, 0, __ATOMIC_RELAXED);
    alarm_stop(p);
}

void process_alarm_deliver(struct process *p)
{
    struct signal_info info = {.signo = SIGALRM, .code = SI_KERNEL};

    if (__atomic_load_n(&p->alarm_fired, __ATOMIC_RELAXED) &&
        __atomic_exchange_n(&p->alarm_fired, 0, __ATOMIC_ACQ_REL))
        signal_send(p, &info);
}

void process_alarm_get(uint64_t *left, uint64_t *interval)
{
    const struct process *p = process_self();
    uint64_t deadline = __atomic_load_n(&p->alarm_deadline, __ATOMIC_RELAXED), now = clock_ns();

    *left = !deadline ? 0 : deadline > now ? deadline - now : 1;
    *interval = p->alarm_interval;
}

void process_alarm_set(uint64_t first, uint64_t interval, uint64_t *left, uint64_t *old_interval)
{
    struct process *p = process_self();

    process_alarm_get(left, old_interval);
    alarm_stop(p);
    p->alarm_interval = interval;
    if (!first)
        return;
    p->alarm.fn = alarm_expired;
    p->alarm.arg = thread_self();
    p->alarm_deadline = clock_ns() + first;
    __atomic_store_n(&p->alarm_busy, 1, __ATOMIC_RELEASE);
    timer_start(&p->alarm, p->alarm_deadline);
}
