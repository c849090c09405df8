/*
 * Calls on clocks, and sleeping. Times are 64-bit nanoseconds; the clocks are in
 * kernel/sched/timer.h. There is no lock, and nothing is allocated.
 */
#include "kernel/sys/posix/time.h"

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/process.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"

#define NS_PER_SECOND            1000000000ul
#define CLOCK_REALTIME           0
#define CLOCK_MONOTONIC          1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_THREAD_CPUTIME_ID  3
#define CLOCK_MONOTONIC_RAW      4
#define CLOCK_REALTIME_COARSE    5
#define CLOCK_MONOTONIC_COARSE   6
#define CLOCK_BOOTTIME           7
#define TIMER_ABSTIME            1
#define CPU_SLEEP_LEAST_NS       1000000u /* between two looks at a clock of CPU time */
/* 292 years: what fits into 63 bits of nanoseconds. A longer sleep is cut to that. */
#define SECONDS_MAX 9223372036ul

struct timespec {
    uint64_t seconds, nanoseconds;
};

/*
 * The clocks of CPU time of other processes and threads have negative numbers, as on Linux: all
 * bits of the pid or tid inverted, above bits that say which time (0 and 2: all, 1: in user mode)
 * and whether it is a thread's. Number 0 means the caller's.
 */
#define CPU_CLOCK_WHICH  3u
#define CPU_CLOCK_USER   1u
#define CPU_CLOCK_THREAD 4u

/* The CPU time of the thread tid, which is one of the caller's process. False: there is none. */
static bool thread_used(uint32_t tid, struct cpu_time *used)
{
    ipl_t ipl = spin_lock(&process_lock);
    const struct uthread *u = tid ? thread_find_locked(tid) : uthread_self();
    bool there = u && u->process == process_self();

    if (there)
        *used = thread_cpu_time(u->thread);
    spin_unlock(&process_lock, ipl);
    return there;
}

/* The CPU time of the process pid. False: there is none. */
static bool process_used(uint32_t pid, struct cpu_time *used)
{
    const struct process *self = process_self(), *p;
    struct thread_sums sums;
    uint64_t start = 0;
    ipl_t ipl;

    if (!pid || pid == self->pid) {
        *used = process_cpu_time(self);
        return true;
    }
    ipl = spin_lock(&process_lock);
    p = process_find_locked(pid);
    if (p)
        start = p->start_ns;
    spin_unlock(&process_lock, ipl);
    if (!p || !threads_sums_of(pid, start, &sums))
        return false;
    *used = sums.used;
    return true;
}

static __attribute__((noinline)) bool cpu_clock_read(int32_t clock, uint64_t *ns)
{
    uint32_t number = ~(uint32_t)(clock >> 3), which = (uint32_t)clock & CPU_CLOCK_WHICH;
    struct cpu_time used;

    if (clock >= 0 || which == CPU_CLOCK_WHICH)
        return false;
    if (!((uint32_t)clock & CPU_CLOCK_THREAD ? thread_used(number, &used)
                                             : process_used(number, &used)))
        return false;
    *ns = used.user_ns + (which == CPU_CLOCK_USER ? 0 : used.system_ns);
    return true;
}

/* The time of a clock now. False: there is no such clock. */
static bool clock_read(uint64_t clock, uint64_t *ns)
{
    struct cpu_time used;

    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        *ns = clock_wall_ns();
        return true;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
        *ns = clock_ns();
        return true;
    case CLOCK_PROCESS_CPUTIME_ID:
        used = process_cpu_time(process_self());
        *ns = used.user_ns + used.system_ns;
        return true;
    case CLOCK_THREAD_CPUTIME_ID:
        *ns = thread_cpu_ns(thread_self());
        return true;
    }
    return cpu_clock_read((int32_t)clock, ns);
}

static int timespec_out(vaddr_t to, uint64_t ns)
{
    struct timespec t = {ns / NS_PER_SECOND, ns % NS_PER_SECOND};

    return copyout(to, &t, sizeof(t));
}

long sys_clock_gettime(uint64_t clock, uint64_t to)
{
    uint64_t ns;

    if (!clock_read(clock, &ns))
        return -EINVAL;
    return timespec_out(to, ns);
}

long sys_clock_getres(uint64_t clock, uint64_t to)
{
    uint64_t ns;

    if (!clock_read(clock, &ns))
        return -EINVAL;
    return to ? timespec_out(to, 1) : 0;
}

/* Sleep until clock_ns() reaches deadline. If a signal ends the sleep, the time left is written to
   rem (unless 0). 0, -ERESTARTNOHAND or -EFAULT. */
static long sleep_until(uint64_t deadline, vaddr_t rem)
{
    uint64_t now;

    if (thread_sleep_until(deadline, WAIT_INTERRUPTIBLE) == 0)
        return 0;
    now = clock_ns();
    if (rem && timespec_out(rem, deadline > now ? deadline - now : 0) != 0)
        return -EFAULT;
    return -ERESTARTNOHAND;
}

/* Decode the arguments of a sleep, and sleep. */
static long sleep_call(uint64_t clock, bool absolute, vaddr_t req, vaddr_t rem)
{
    struct timespec t;
    uint64_t ns, now;

    if (copyin(&t, req, sizeof(t)) != 0)
        return -EFAULT;
    if (t.nanoseconds >= NS_PER_SECOND || (int64_t)t.seconds < 0)
        return -EINVAL;
    ns = t.seconds >= SECONDS_MAX ? INT64_MAX : t.seconds * NS_PER_SECOND + t.nanoseconds;
    if (!clock_read(clock, &now))
        return -EINVAL;
    if (absolute)
        ns = ns > now ? ns - now : 0;
    if (ns == 0)
        return 0;
    now = clock_ns();
    return sleep_until(ns > (uint64_t)INT64_MAX - now ? (uint64_t)INT64_MAX : now + ns,
                       absolute ? 0 : rem);
}

/* Is it a clock of CPU time that can be slept on? */
static bool is_cpu_clock(uint64_t clock)
{
    return clock == CLOCK_PROCESS_CPUTIME_ID || (int32_t)clock < 0;
}

/* Sleep until a clock of CPU time has reached `until`: as long as it can take at least, again and
 * again. All threads that could use the time run on cpu_count CPUs at most. 0 or -EINTR, or -EINVAL
 * when the process or thread has ended. */
static int sleep_cpu(uint64_t clock, uint64_t until)
{
    uint64_t used;

    while (clock_read(clock, &used)) {
        uint64_t left = until > used ? until - used : 0;

        if (!left)
            return 0;
        if (thread_sleep_until(clock_ns() + MAX(left / cpu_count, CPU_SLEEP_LEAST_NS),
                               WAIT_INTERRUPTIBLE) != 0)
            return -EINTR;
    }
    return -EINVAL;
}

static long cpu_sleep_call(uint64_t clock, bool absolute, vaddr_t req, vaddr_t rem)
{
    uint64_t now, ns;
    struct timespec t;
    int err;

    if (!clock_read(clock, &now))
        return -EINVAL;
    if (copyin(&t, req, sizeof(t)) != 0)
        return -EFAULT;
    if (t.nanoseconds >= NS_PER_SECOND || (int64_t)t.seconds < 0)
        return -EINVAL;
    ns = t.seconds >= SECONDS_MAX ? INT64_MAX : t.seconds * NS_PER_SECOND + t.nanoseconds;
    if (!absolute)
        ns = MIN(ns, (uint64_t)INT64_MAX - now) + now;
    err = sleep_cpu(clock, ns);
    if (err != -EINTR)
        return err;
    if (!absolute && rem && clock_read(clock, &now) &&
        timespec_out(rem, ns > now ? ns - now : 0) != 0)
        return -EFAULT;
    return -ERESTARTNOHAND;
}

long sys_clock_nanosleep(uint64_t clock, uint64_t flags, uint64_t request, uint64_t remain)
{
    bool absolute = (flags & TIMER_ABSTIME) != 0;

    if (is_cpu_clock(clock))
        return cpu_sleep_call(clock, absolute, request, remain);
    if (clock == CLOCK_THREAD_CPUTIME_ID || clock == CLOCK_MONOTONIC_RAW ||
        clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE)
        return -EOPNOTSUPP;
    return sleep_call(clock, absolute, request, remain);
}

long sys_nanosleep(uint64_t request, uint64_t remain)
{
    return sleep_call(CLOCK_MONOTONIC, false, request, remain);
}

long sys_gettimeofday(uint64_t tv, uint64_t tz)
{
    uint64_t ns = clock_wall_ns(), none = 0;
    struct {
        uint64_t seconds, microseconds;
    } t = {ns / NS_PER_SECOND, ns % NS_PER_SECOND / 1000};

    if (tv && copyout(tv, &t, sizeof(t)) != 0)
        return -EFAULT;
    return tz ? copyout(tz, &none, sizeof(none)) : 0;
}

/* ---- setting the clock ---- */

/* Set CLOCK_REALTIME, for the superuser. */
static long set_wall(int64_t seconds, uint64_t ns)
{
    if (seconds < 0 || (uint64_t)seconds >= SECONDS_MAX || ns >= NS_PER_SECOND)
        return -EINVAL;
    if (process_euid(process_self()) != 0)
        return -EPERM;
    clock_wall_set((uint64_t)seconds * NS_PER_SECOND + ns);
    return 0;
}

long sys_clock_settime(uint64_t clock, uint64_t from)
{
    struct timespec t;
    uint64_t now;

    if (clock != CLOCK_REALTIME && !cpu_clock_read((int32_t)clock, &now))
        return -EINVAL;
    if (copyin(&t, from, sizeof(t)) != 0)
        return -EFAULT;
    return (int32_t)clock < 0 ? -EPERM : set_wall((int64_t)t.seconds, t.nanoseconds);
}

/* The time zone, which the kernel has no use for, is checked and forgotten. */
long sys_settimeofday(uint64_t tv, uint64_t tz)
{
    struct {
        int64_t seconds;
        uint64_t microseconds;
    } t = {0};
    int32_t zone[2] = {0};

    if ((tv && copyin(&t, tv, sizeof(t)) != 0) || (tz && copyin(zone, tz, sizeof(zone)) != 0))
        return -EFAULT;
    if (t.microseconds > 1000000 || zone[0] > 15 * 60 || zone[0] < -15 * 60)
        return -EINVAL;
    if (!tv)
        return process_euid(process_self()) != 0 ? -EPERM : 0;
    return set_wall(t.seconds, t.microseconds * 1000);
}

/* As Linux/Alpha lays it out. */
struct timex {
    uint32_t modes, pad0;
    int64_t offset, freq, maxerror, esterror;
    int32_t status, pad1;
    int64_t constant, precision, tolerance, seconds, fraction, tick, ppsfreq, jitter;
    int32_t shift, pad2;
    int64_t stabil, jitcnt, calcnt, errcnt, stbcnt;
    int32_t tai, rest[11];
};
_Static_assert(sizeof(struct timex) == 208, "the layout is Linux/Alpha's");

#define ADJ_SETOFFSET 0x100u
#define ADJ_NANO      0x2000u
#define STA_UNSYNC    0x40
#define STA_NANO      0x2000
#define TIME_ERROR    5 /* the clock follows no other one */
#define ERROR_MOST    16000000
#define TOLERANCE     32768000

/* Move the clock by what t says, which may be negative: the fraction never is. */
static long move_wall(const struct timex *t)
{
    uint64_t unit = t->modes & ADJ_NANO ? 1 : 1000, now = clock_wall_ns();
    uint64_t ns = (uint64_t)t->fraction * unit + now % NS_PER_SECOND;

    if (t->fraction < 0 || (uint64_t)t->fraction >= NS_PER_SECOND / unit ||
        t->seconds > (int64_t)SECONDS_MAX || t->seconds < -(int64_t)SECONDS_MAX)
        return -EINVAL;
    return set_wall(t->seconds + (int64_t)(now / NS_PER_SECOND + ns / NS_PER_SECOND),
                    ns % NS_PER_SECOND);
}

/* The clock is that of the machine: its rate cannot be changed, only the time moved. */
long sys_adjtimex(uint64_t to)
{
    struct timex t;
    uint64_t now;
    long err;

    if (copyin(&t, to, sizeof(t)) != 0)
        return -EFAULT;
    if (t.modes && process_euid(process_self()) != 0)
        return -EPERM;
    if (t.modes & ~(ADJ_SETOFFSET | ADJ_NANO))
        return -EOPNOTSUPP;
    err = t.modes & ADJ_SETOFFSET ? move_wall(&t) : 0;
    if (err)
        return err;
    now = clock_wall_ns();
    t = (struct timex){.modes = t.modes,
                       .maxerror = ERROR_MOST,
                       .esterror = ERROR_MOST,
                       .status = STA_UNSYNC | (t.modes & ADJ_NANO ? STA_NANO : 0),
                       .constant = 2,
                       .precision = 1,
                       .tolerance = TOLERANCE,
                       .seconds = (int64_t)(now / NS_PER_SECOND),
                       .fraction = (int64_t)(now % NS_PER_SECOND / (t.modes & ADJ_NANO ? 1 : 1000)),
                       .tick = 1000000 / 1024};
    return copyout(to, &t, sizeof(t)) != 0 ? -EFAULT : TIME_ERROR;
}

long sys_clock_adjtime(uint64_t clock, uint64_t to)
{
    uint64_t now;

    if (clock != CLOCK_REALTIME)
        return clock_read(clock, &now) ? -EOPNOTSUPP : -EINVAL;
    return sys_adjtimex(to);
}
