/*
 * ITIMER_REAL: one timer for all threads of a process. Its state is protected by the signal lock,
 * which the timer's function takes at IPL_CLOCK to send SIGALRM.
 *
 * alarm_armed is true from timer_start until the function has run, or the timer was cancelled while
 * it was pending. To stop the alarm, a thread cancels the pending timer; if the timer is not
 * pending because another CPU has already taken it off its queue, the thread waits, without the
 * lock, until the function has run:
 *
 *   CPU 0                                        CPU 1
 *   timer is due, taken off the queue            lock; timer_cancel finds nothing pending
 *   function: waits for the lock                 unlock, look again
 *   lock, send, armed = false, unlock            lock; not armed: the function has run
 *
 * An interval costs its owner. The function, which interrupts whoever runs, does not start the next
 * interval: that is done when the process takes the signal (alarm_taken_locked), in its own time.
 * As signals are merged, no expiration is lost by that: one that came before would have found the
 * signal pending. While SIGALRM is ignored nobody takes it, and the alarm rests until it could have
 * an effect again: the signal gets another action, or is blocked or waited for (signal.c). A
 * resting alarm is read as if it went on.
 *
 * Two expirations of a process are at least ALARM_FLOOR_NS apart, whatever interval it asked for,
 * and at least ALARM_EACH_NS for each timer with an interval that its user has: so all timers of a
 * user together expire no more than 20,000 times a second. Such timers are charged to the user's
 * account, the one that the process had when it set the timer.
 */
#include "kernel/base/errno.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/signal.h"
#include "kernel/quota/quota.h"

#define ALARM_FLOOR_NS 100000u
#define ALARM_EACH_NS  50000u

static void alarm_expired(struct timer *t)
{
    static const struct signal_info info = {.signo = SIGALRM, .code = SI_KERNEL};
    struct process *p = container_of(t, struct process, alarm);
    struct sighand *s = p->sig;
    ipl_t ipl = spin_lock(&s->lock);

    p->alarm_armed = false;
    if (p->alarm_interval)
        p->alarm_rests = true;
    else
        p->alarm_deadline = 0;
    signal_send_locked(p, &info);
    spin_unlock(&s->lock, ipl);
}

/* The number of timers with an interval that a user has. */
static uint64_t timers_of(const struct account *a)
{
    return __atomic_load_n(&a->count[QUOTA_TIMERS].used, __ATOMIC_RELAXED);
}

/* The first expiration after `now` of an alarm that has expired at its deadline: those that were
 * missed are not made up for. */
static uint64_t next_after(const struct process *p, uint64_t now)
{
    uint64_t late = now - p->alarm_deadline;

    return now + p->alarm_interval - (late < p->alarm_interval ? late : late % p->alarm_interval);
}

void alarm_taken_locked(struct process *p)
{
    uint64_t now = clock_ns(), floor = ALARM_EACH_NS * timers_of(p->alarm_account);

    p->alarm_rests = false;
    p->alarm_deadline = MAX(next_after(p, now), p->alarm_deadline + MAX(floor, ALARM_FLOOR_NS));
    p->alarm_armed = true;
    timer_start(&p->alarm, p->alarm_deadline);
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

    if (p->alarm_rests)
        return next_after(p, now) - now;
    return !p->alarm_deadline ? 0 : p->alarm_deadline > now ? p->alarm_deadline - now : 1;
}

void process_alarm_end(struct process *p)
{
    ipl_t ipl;

    if (!p->alarm.fn)
        return; /* the alarm was never set */
    ipl = alarm_stop(p);
    p->alarm_deadline = 0;
    p->alarm_rests = false;
    if (p->alarm_account)
        account_release(p->alarm_account, QUOTA_TIMERS, 1);
    p->alarm_account = NULL;
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

static int alarm_set(struct process *p, uint64_t first, uint64_t interval, uint64_t *left,
                     uint64_t *old_interval)
{
    bool charged = p->alarm_account != NULL, repeats = first && interval;
    ipl_t ipl;

    if (repeats && !charged && !account_charge(p->account, QUOTA_TIMERS, 1))
        return -EAGAIN;
    ipl = alarm_stop(p);
    if (!repeats && charged)
        account_release(p->alarm_account, QUOTA_TIMERS, 1);
    p->alarm_account = !repeats ? NULL : charged ? p->alarm_account : p->account;
    *left = left_locked(p);
    *old_interval = p->alarm_interval;
    p->alarm_interval = interval;
    p->alarm_deadline = 0;
    p->alarm_rests = false;
    if (first) {
        p->alarm.fn = alarm_expired;
        p->alarm_deadline = clock_ns() + first;
        p->alarm_armed = true;
        timer_start(&p->alarm, p->alarm_deadline);
    }
    spin_unlock(&p->sig->lock, ipl);
    return 0;
}

int process_alarm_set(uint64_t first, uint64_t interval, uint64_t *left, uint64_t *old_interval)
{
    struct process *p = process_self();
    int err;

    if (process_alone(p))
        return alarm_set(p, first, interval, left, old_interval);
    mutex_lock(&p->settings_mutex); /* alarm_account is decided upon before the lock is taken */
    err = alarm_set(p, first, interval, left, old_interval);
    mutex_unlock(&p->settings_mutex);
    return err;
}
