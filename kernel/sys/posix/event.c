/*
 * Calls of epoll, eventfd and timerfd: arguments and descriptors. What they do is in kernel/io
 * (epoll.c, eventfd.c, timerfd.c). No lock here.
 */
#include "kernel/sys/posix/event.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/epoll.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/timerfd.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signalfd.h"
#include "kernel/sys/posix/poll.h"

/* A descriptor for a new file, whose reference passes to the table or is dropped. */
static long install(struct file *f, bool cloexec)
{
    int fd = fd_add(process_self()->files, f, 0, cloexec);

    if (fd < 0)
        file_unref(f);
    return fd;
}

/* ---- epoll ---- */

long sys_epoll_create1(uint64_t flags)
{
    struct file *f;
    int err = (uint32_t)flags & ~EPOLL_CLOEXEC ? -EINVAL : epoll_create_file(&f);

    return err ? err : install(f, (flags & EPOLL_CLOEXEC) != 0);
}

long sys_epoll_create(uint64_t size) { return (int32_t)size <= 0 ? -EINVAL : sys_epoll_create1(0); }

long sys_epoll_ctl(uint64_t epfd, uint64_t op, uint64_t fd, uint64_t event)
{
    struct file_table *t = process_self()->files;
    struct epoll_event e = {0};
    struct fd_use ep, f;
    long err = -EBADF;

    if ((uint32_t)op != EPOLL_CTL_DEL && copyin(&e, event, sizeof(e)))
        return -EFAULT;
    ep = fd_get(t, (uint32_t)epfd);
    if (!ep.file)
        return -EBADF;
    f = fd_get(t, (uint32_t)fd);
    if (f.file && !(f.file->flags & O_PATH))
        err = epoll_control(ep.file, (uint32_t)op, f.file, (int)fd, &e);
    fd_put(f);
    fd_put(ep);
    return err;
}

static long wait_call(uint64_t epfd, vaddr_t events, uint64_t most, uint64_t deadline)
{
    int32_t n = (int32_t)most;
    struct fd_use u;
    long r;

    if (n <= 0 || n > INT32_MAX / (int32_t)sizeof(struct epoll_event))
        return -EINVAL;
    if (!user_range_ok(events, (uint64_t)n * sizeof(struct epoll_event)))
        return -EFAULT;
    u = fd_get(process_self()->files, (uint32_t)epfd);
    if (!u.file)
        return -EBADF;
    r = epoll_wait(u.file, events, (unsigned)n, deadline);
    fd_put(u);
    return r;
}

long sys_epoll_wait(uint64_t epfd, uint64_t events, uint64_t most, uint64_t ms)
{
    return wait_call(epfd, events, most, poll_deadline_ms((int32_t)ms));
}

static long pwait(uint64_t epfd, vaddr_t events, uint64_t most, uint64_t deadline, vaddr_t mask,
                  uint64_t size)
{
    long r = poll_mask_begin(mask, size);

    if (r)
        return r;
    r = wait_call(epfd, events, most, deadline);
    poll_mask_end(mask, r);
    return r;
}

long sys_epoll_pwait(uint64_t epfd, uint64_t events, uint64_t most, uint64_t ms, uint64_t mask,
                     uint64_t size)
{
    return pwait(epfd, events, most, poll_deadline_ms((int32_t)ms), mask, size);
}

long sys_epoll_pwait2(uint64_t epfd, uint64_t events, uint64_t most, uint64_t timeout,
                      uint64_t mask, uint64_t size)
{
    uint64_t deadline;
    long err = poll_deadline(timeout, 1, &deadline);

    return err ? err : pwait(epfd, events, most, deadline, mask, size);
}

/* ---- eventfd ---- */

#define EFD_SEMAPHORE 1u

long sys_eventfd2(uint64_t initial, uint64_t flags)
{
    uint32_t all = (uint32_t)flags;
    struct file *f;
    int err;

    if (all & ~(EFD_SEMAPHORE | O_CLOEXEC | O_NONBLOCK))
        return -EINVAL;
    err = eventfd_create_file((uint32_t)initial, all & EFD_SEMAPHORE, all & O_NONBLOCK, &f);
    return err ? err : install(f, (all & O_CLOEXEC) != 0);
}

long sys_eventfd(uint64_t initial) { return sys_eventfd2(initial, 0); }

/* ---- timerfd ---- */

#define CLOCK_REALTIME       0
#define CLOCK_MONOTONIC      1
#define CLOCK_BOOTTIME       7 /* the same as the monotonic one: the machine is never suspended */
#define CLOCK_REALTIME_ALARM 8 /* these two would wake it, which only the superuser may */
#define CLOCK_BOOTTIME_ALARM 9

#define TFD_TIMER_ABSTIME       1u
#define TFD_TIMER_CANCEL_ON_SET 2u

long sys_timerfd_create(uint64_t clock, uint64_t flags)
{
    struct file *f;
    int err;

    if ((uint32_t)flags & ~(O_CLOEXEC | O_NONBLOCK))
        return -EINVAL;
    switch ((uint32_t)clock) {
    case CLOCK_REALTIME_ALARM:
    case CLOCK_BOOTTIME_ALARM:
        if (process_euid(process_self()) != 0)
            return -EPERM;
        break;
    case CLOCK_REALTIME:
    case CLOCK_MONOTONIC:
    case CLOCK_BOOTTIME:
        break;
    default:
        return -EINVAL;
    }
    err = timerfd_create_file(clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_ALARM,
                              (flags & O_NONBLOCK) != 0, &f);
    return err ? err : install(f, (flags & O_CLOEXEC) != 0);
}

struct itimerspec {
    int64_t interval_s, interval_ns, first_s, first_ns;
};

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

static int copyout_setting(vaddr_t to, uint64_t left, uint64_t interval)
{
    struct itimerspec t = {(int64_t)(interval / NS_PER_SECOND), (int64_t)(interval % NS_PER_SECOND),
                           (int64_t)(left / NS_PER_SECOND), (int64_t)(left % NS_PER_SECOND)};

    return copyout(to, &t, sizeof(t));
}

long sys_timerfd_settime(uint64_t fd, uint64_t flags, uint64_t new, uint64_t old)
{
    uint64_t left, interval;
    struct itimerspec t;
    struct fd_use u;
    long err;

    if (copyin(&t, new, sizeof(t)))
        return -EFAULT;
    if ((uint32_t)flags & ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET) ||
        !is_time(t.interval_s, t.interval_ns) || !is_time(t.first_s, t.first_ns))
        return -EINVAL;
    u = fd_get(process_self()->files, (uint32_t)fd);
    if (!u.file)
        return -EBADF;
    err = timerfd_set(u.file, (flags & TFD_TIMER_ABSTIME) != 0, to_ns(t.first_s, t.first_ns),
                      to_ns(t.interval_s, t.interval_ns), &left, &interval);
    fd_put(u);
    return !err && old ? copyout_setting(old, left, interval) : err;
}

long sys_timerfd_gettime(uint64_t fd, uint64_t to)
{
    struct fd_use u = fd_get(process_self()->files, (uint32_t)fd);
    uint64_t left, interval;
    long err;

    if (!u.file)
        return -EBADF;
    err = timerfd_get(u.file, &left, &interval);
    fd_put(u);
    return err ? err : copyout_setting(to, left, interval);
}

/* ---- signalfd ---- */

/* Change the signals of the file of a descriptor. Returns the descriptor. */
static long change_signals(uint64_t fd, sigset_t set)
{
    struct fd_use u = fd_get(process_self()->files, (uint32_t)fd);
    int err;

    if (!u.file)
        return -EBADF;
    err = signalfd_set(u.file, set);
    fd_put(u);
    return err ? err : (long)(uint32_t)fd;
}

long sys_signalfd4(uint64_t fd, uint64_t mask, uint64_t size, uint64_t flags)
{
    struct file *f;
    sigset_t set;
    int err;

    if (size != sizeof(set))
        return -EINVAL;
    if (copyin_u64(&set, mask))
        return -EFAULT;
    if ((uint32_t)flags & ~(O_CLOEXEC | O_NONBLOCK))
        return -EINVAL;
    set &= ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP));
    if ((int32_t)fd != -1)
        return change_signals(fd, set);
    err = signalfd_create(set, (flags & O_NONBLOCK) != 0, &f);
    return err ? err : install(f, (flags & O_CLOEXEC) != 0);
}

long sys_signalfd(uint64_t fd, uint64_t mask, uint64_t size)
{
    return sys_signalfd4(fd, mask, size, 0);
}
