/*
 * ITIMER_REAL: one timer for all threads of a process. Its state is protected by the signal lock,
 * which the timer's function takes at IPL_CLOCK to send SIGALRM.
 *
 * alarm_armed is true from timer_start until the function has run for the last time, or the timer
 * was cancelled while it was pending. To stop the alarm, a thread cancels the pending timer; if the
 * timer is not pending because another CPU has already taken it off its queue, the thread waits,
 * without the lock, until the function has run:
 *
 *   CPU 0                                        CPU 1
 *   timer is due, taken off the queue            lock; timer_cancel finds nothing pending
 *   function: waits for the lock                 unlock, look again
 *   lock, send, armed = false, unlock            lock; not armed: the function has run
 */
#include "kernel/proc/proc_private.h"
#include "kernel/proc/signal.h"

static void alarm_expired(struct timer *t)
{
    static const struct signal_info info = {.signo = SIGALRM, .code = SI_KERNEL};
    struct process *p = container_of(t, struct process, alarm);
    struct sighand *s = p->sig;
    ipl_t ipl = spin_lock(&s->lock);

    if (p->alarm_interval) {
        uint64_t now = clock_ns();

        p->alarm_deadline += p->alarm_interval;
        if (p->alarm_deadline <= now) /* missed expirations are not made up for */
            p->alarm_deadline = now + p->alarm_interval;
        timer_start(t, p->alarm_deadline);
    } else {
        p->alarm_deadline = 0;
        p->alarm_armed = false;
    }
    signal_send_locked(p, &info);
    spin_unlock(&s->lock, ipl);
}

/* Stop the alarm: on return the function neither runs nor will run, and the signal lock is held.
 * Returns the IPL to restore. IPL 0 on entry; waits. */
static ipl_t alarm_stop(struct process *p)
{
    for (;;) {
        ipl_t ipl = spin_lock(&p->sig->lock);

        if (p->alarm_armed && timer_cancel(&p->alarm))
            p->alarm_armed = false;
        if (!p->alarm_armed)
            return ipl;
        spin_unlock(&p->sig->lock, ipl);
        thread_yield();
    }
}

/* Nanoseconds until the next expiration; 0: the alarm is off. Signal lock held. */
static uint64_t left_locked(const struct process *p)
{
    uint64_t now = clock_ns();

    return !p->alarm_deadline ? 0 : p->alarm_deadline > now ? p->alarm_deadline - now : 1;
}

void process_alarm_end(struct process *p)
{
    ipl_t ipl;

    if (!p->alarm.fn)
        return; /* the alarm was never set */
    ipl = alarm_stop(p);
    p->alarm_deadline = 0;
    spin_unlock(&p->sig->lock, ipl);
}

void process_alarm_get(uint64_t *left, uint64_t *interval)
{
    const struct process *p = process_self();
    ipl_t ipl = spin_lock(&p->sig->lock);

    *left = left_locked(p);
    *interval = p->alarm_interval;
    spin_unlock(&p->sig->lock, ipl);
}

void process_alarm_set(uint64_t first, uint64_t interval, uint64_t *left, uint64_t *old_interval)
{
    struct process *p = process_self();
    ipl_t ipl = alarm_stop(p);

    *left = left_locked(p);
    *old_interval = p->alarm_interval;
    p->alarm_interval = interval;
    p->alarm_deadline = 0;
    if (first) {
        p->alarm.fn = alarm_expired;
        p->alarm_deadline = clock_ns() + first;
        p->alarm_armed = true;
        timer_start(&p->alarm, p->alarm_deadline);
    }
    spin_unlock(&p->sig->lock, ipl);
}
