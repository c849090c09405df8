/*
 * timerfd: a timer that is an open file. Once it has expired, the file can be read: the read
 * returns how often it has expired since it was set or read, and starts the timer again if it has
 * an interval. So one that nobody reads interrupts nobody, and the count comes from the time that
 * has passed.
 *
 * Two expirations that interrupt are at least TIMER_FLOOR_NS apart, and TIMER_EACH_NS for each
 * timer with an interval that the user has, as in kernel/proc/alarm.c; each timerfd is charged as
 * one. The count is not affected.
 *
 * The state is protected by a spinlock (RANK_TIMERFD), which the timer's function takes at
 * IPL_CLOCK. To set the timer anew, a thread first stops it: `armed` is true from timer_start until
 * the function has run or the timer was cancelled, as in alarm.c.
 */
#include "kernel/io/timerfd.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"
#include "mm/pool/pool.h"

#define TIMER_FLOOR_NS 100000u
#define TIMER_EACH_NS  50000u

struct timed {            /* nonpaged pool */
    struct spinlock lock; /* RANK_TIMERFD, IPL_CLOCK; protects the rest */
    struct timer timer;
    bool armed;              /* the timer is pending, or its function is about to run */
    bool expired;            /* since the last read */
    bool realtime;           /* which clock its times are of; constant */
    uint64_t deadline;       /* of clock_ns(): the next, or that which has expired; 0: it is off */
    uint64_t interval;       /* ns, 0: none */
    uint64_t last;           /* when its function ran last */
    struct account *account; /* charged for it; constant */
    struct wait_queue readers;
    struct poll_source polled;
};

static void expired(struct timer *timer)
{
    struct timed *t = container_of(timer, struct timed, timer);
    ipl_t ipl = spin_lock(&t->lock);

    t->armed = false;
    t->expired = true;
    t->last = clock_ns();
    wake_one(&t->readers); /* who takes the count wakes the next */
    poll_notify(&t->polled, POLLIN | POLLRDNORM);
    spin_unlock(&t->lock, ipl);
}

static void arm_locked(struct timed *t)
{
    uint64_t used = __atomic_load_n(&t->account->count[QUOTA_TIMERS].used, __ATOMIC_RELAXED);
    uint64_t floor = t->last ? t->last + MAX(TIMER_EACH_NS * used, TIMER_FLOOR_NS) : 0;

    t->armed = true;
    timer_start(&t->timer, MAX(t->deadline, floor));
}

/* Stop the timer. On return its function does not run any more, and t is locked; returns the IPL to
 * restore. IPL 0; may wait. */
static ipl_t stop(struct timed *t)
{
    for (;;) {
        ipl_t ipl = spin_lock(&t->lock);

        if (t->armed && timer_cancel(&t->timer))
            t->armed = false;
        if (!t->armed)
            return ipl;
        spin_unlock(&t->lock, ipl);
        thread_yield();
    }
}

/* How many of its expirations are over at `now`, the one at the deadline included; moves the
 * deadline to the next. */
static uint64_t count_locked(struct timed *t, uint64_t now)
{
    uint64_t n = 1;

    if (!t->interval) {
        t->deadline = 0;
        return n;
    }
    if (now > t->deadline)
        n += (now - t->deadline) / t->interval;
    t->deadline += n * t->interval;
    return n;
}

/* Take the count of expirations; 0: there were none. */
static uint64_t take(struct timed *t)
{
    ipl_t ipl = spin_lock(&t->lock);
    uint64_t n = 0;

    if (t->expired) {
        t->expired = false;
        n = count_locked(t, clock_ns());
        if (t->deadline)
            arm_locked(t);
    }
    spin_unlock(&t->lock, ipl);
    return n;
}

static long wait_expired(struct file *f, uint64_t *n)
{
    struct timed *t = f->priv;
    struct waiter w;
    int err = 0;

    for (;;) {
        wait_enqueue(&t->readers, &w);
        *n = take(t);
        if (*n)
            break;
        err = f->flags & O_NONBLOCK ? -EAGAIN : wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    if (err) /* it may have been woken, and leaves */
        wake_one(&t->readers);
    return err == -EINTR ? -ERESTARTSYS : err;
}

static long timed_read(struct file *f, vaddr_t ubuf, size_t n)
{
    uint64_t count;
    long err;

    if (n < sizeof(count))
        return -EINVAL;
    err = wait_expired(f, &count);
    if (err)
        return err;
    return copyout_u64(ubuf, count) ? -EFAULT : (long)sizeof(count);
}

static unsigned timed_poll(struct file *f, struct poll_entry *e)
{
    struct timed *t = f->priv;
    bool ready;
    ipl_t ipl;

    poll_register(&t->polled, e);
    ipl = spin_lock(&t->lock);
    ready = t->expired;
    spin_unlock(&t->lock, ipl);
    return ready ? POLLIN | POLLRDNORM : 0;
}

static void timed_close(struct file *f)
{
    struct timed *t = f->priv;

    spin_unlock(&t->lock, stop(t));
    poll_source_end(&t->polled);
    account_release(t->account, QUOTA_TIMERS, 1);
    npp_free(t, sizeof(*t));
}

static const struct file_ops timed_ops = {.name = "anon_inode:[timerfd]",
                                          .read = timed_read,
                                          .lseek = anon_lseek,
                                          .stat = anon_stat,
                                          .poll = timed_poll,
                                          .close = timed_close};

static void setting_locked(const struct timed *t, uint64_t now, uint64_t *left, uint64_t *interval)
{
    uint64_t next = t->deadline;

    if (next && next <= now) /* it has expired: the next one, as if it had been started again */
        next = t->interval ? next + ((now - next) / t->interval + 1) * t->interval : 0;
    *left = next ? next - now : 0;
    *interval = t->interval;
}

int timerfd_get(struct file *f, uint64_t *left, uint64_t *interval)
{
    struct timed *t = f->priv;
    ipl_t ipl;

    if (f->ops != &timed_ops)
        return -EINVAL;
    ipl = spin_lock(&t->lock);
    setting_locked(t, clock_ns(), left, interval);
    spin_unlock(&t->lock, ipl);
    return 0;
}

/* `first`, a time of the timer's clock if absolute, as a time of clock_ns(); at least 1. */
static uint64_t deadline_of(const struct timed *t, uint64_t first, bool absolute, uint64_t now)
{
    uint64_t base = t->realtime ? clock_wall_ns() - now : 0;

    if (!absolute)
        return first > INT64_MAX - now ? INT64_MAX : now + first;
    return first > base ? first - base : 1;
}

int timerfd_set(struct file *f, bool absolute, uint64_t first, uint64_t interval, uint64_t *left,
                uint64_t *old_interval)
{
    struct timed *t = f->priv;
    uint64_t now;
    ipl_t ipl;

    if (f->ops != &timed_ops)
        return -EINVAL;
    ipl = stop(t);
    now = clock_ns();
    setting_locked(t, now, left, old_interval);
    t->expired = false;
    t->interval = interval;
    t->deadline = first ? deadline_of(t, first, absolute, now) : 0;
    if (first)
        arm_locked(t);
    spin_unlock(&t->lock, ipl);
    return 0;
}

int timerfd_create_file(bool realtime, bool nonblock, struct file **out)
{
    struct account *a = account_self();
    struct timed *t;
    struct file *f;

    if (!account_charge(a, QUOTA_TIMERS, 1))
        return -ENFILE;
    t = npp_alloc_zeroed(sizeof(*t));
    f = t ? file_alloc(&timed_ops, O_RDWR | (nonblock ? O_NONBLOCK : 0)) : NULL;
    if (!f) {
        if (t)
            npp_free(t, sizeof(*t));
        account_release(a, QUOTA_TIMERS, 1);
        return file_why_not();
    }
    spin_init(&t->lock, "timerfd", RANK_TIMERFD, IPL_CLOCK);
    wait_queue_init(&t->readers, "timerfd");
    poll_source_init(&t->polled);
    t->timer.fn = expired;
    t->realtime = realtime;
    t->account = a;
    f->priv = t;
    *out = f;
    return 0;
}
