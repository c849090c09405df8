/*
 * The calls of POSIX timers: their arguments. The timers themselves are kernel/proc/posix_timer.c.
 * Timers that count CPU time do not exist (EOPNOTSUPP); setitimer has such.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/proc/posix_timer.h"
#include "kernel/proc/signal_numbers.h"
#include "kernel/sys/posix/time.h"

#define NS_PER_SECOND UINT64_C(1000000000)

#define CLOCK_REALTIME       0
#define CLOCK_CPU_FIRST      2 /* two clocks of CPU time, */
#define CLOCK_COARSE_LAST    6 /* and three that timers cannot follow */
#define CLOCK_REALTIME_ALARM 8
#define CLOCK_BOOTTIME_ALARM 9

#define SIGEV_SIGNAL    0
#define SIGEV_NONE      1
#define SIGEV_THREAD    2
#define SIGEV_THREAD_ID 4
#define TIMER_ABSTIME   1u

struct sigevent {
    uint64_t value;
    int32_t signo, notify;
    uint32_t tid, rest[11];
};
_Static_assert(sizeof(struct sigevent) == 64, "the layout is Linux/Alpha's");

struct itimerspec {
    int64_t interval_s, interval_ns, first_s, first_ns;
};

/* 0; -EINVAL: there is no such clock; -EOPNOTSUPP: it has no timers. */
static int check_clock(uint64_t clock, struct posix_timer_wish *wish)
{
    uint32_t c = (uint32_t)clock;

    if ((int32_t)c < 0 || (c >= CLOCK_CPU_FIRST && c <= CLOCK_COARSE_LAST))
        return -EOPNOTSUPP;
    wish->realtime = c == CLOCK_REALTIME || c == CLOCK_REALTIME_ALARM;
    return c <= CLOCK_BOOTTIME_ALARM ? 0 : -EINVAL;
}

/* How the timer is to tell of an expiration. Whether there is such a thread turns out later. */
static int read_event(vaddr_t from, struct posix_timer_wish *wish)
{
    struct sigevent e;

    if (copyin(&e, from, sizeof(e)) != 0)
        return -EFAULT;
    wish->silent = e.notify == SIGEV_NONE;
    wish->signo = e.signo;
    wish->value = e.value;
    switch (e.notify) {
    case SIGEV_NONE:
        return 0;
    case SIGEV_THREAD_ID:
        wish->tid = e.tid;
        if (!e.tid)
            return -EINVAL;
        break;
    case SIGEV_SIGNAL:
    case SIGEV_THREAD: /* the C library makes the thread */
        break;
    default:
        return -EINVAL;
    }
    return e.signo >= 1 && e.signo <= NSIG ? 0 : -EINVAL;
}

long sys_timer_create(uint64_t clock, uint64_t event, uint64_t to)
{
    struct posix_timer_wish wish = {.signo = SIGALRM, .own_value = true};
    int err = check_clock(clock, &wish);
    long number;

    if (!err && event) {
        wish.own_value = false;
        err = read_event(event, &wish);
    }
    number = err ? err : posix_timer_create(&wish);
    if (number < 0)
        return number;
    if (copyout_u32(to, (uint32_t)number) == 0)
        return 0;
    posix_timer_delete((uint64_t)number);
    return -EFAULT;
}

static bool is_time(int64_t s, int64_t ns)
{
    return s >= 0 && ns >= 0 && (uint64_t)ns < NS_PER_SECOND;
}

/* A time in ns; one of more than 292 years is as good as that. */
static uint64_t to_ns(int64_t s, int64_t ns)
{
    return (uint64_t)s >= INT64_MAX / NS_PER_SECOND ? INT64_MAX
                                                    : (uint64_t)s * NS_PER_SECOND + (uint64_t)ns;
}

static int setting_out(vaddr_t to, const struct posix_timer_setting *s)
{
    struct itimerspec t = {
        (int64_t)(s->interval / NS_PER_SECOND), (int64_t)(s->interval % NS_PER_SECOND),
        (int64_t)(s->first / NS_PER_SECOND), (int64_t)(s->first % NS_PER_SECOND)};

    return copyout(to, &t, sizeof(t));
}

long sys_timer_settime(uint64_t number, uint64_t flags, uint64_t from, uint64_t to)
{
    struct posix_timer_setting now, was;
    struct itimerspec t;
    int err;

    if (!from)
        return -EINVAL;
    if (copyin(&t, from, sizeof(t)) != 0)
        return -EFAULT;
    if (!is_time(t.interval_s, t.interval_ns) || !is_time(t.first_s, t.first_ns))
        return -EINVAL;
    now = (struct posix_timer_setting){.first = to_ns(t.first_s, t.first_ns),
                                       .interval = to_ns(t.interval_s, t.interval_ns),
                                       .absolute = (flags & TIMER_ABSTIME) != 0};
    err = posix_timer_set((uint32_t)number, &now, &was);
    return !err && to ? setting_out(to, &was) : err;
}

long sys_timer_gettime(uint64_t number, uint64_t to)
{
    struct posix_timer_setting now;
    int err = posix_timer_get((uint32_t)number, &now);

    return err ? err : setting_out(to, &now);
}

long sys_timer_getoverrun(uint64_t number) { return posix_timer_overrun((uint32_t)number); }

long sys_timer_delete(uint64_t number) { return posix_timer_delete((uint32_t)number); }
