/* epoll, eventfd, timerfd, timers of signals, clocks, pidfds, pseudo-terminals, and poll of more
   files than need no allocation. */
#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define SYS_EPOLL_PWAIT2 551
#define SIGNAL           16
#define A(p)             ((unsigned long)(p))

static int ep = -1, event = -1, timer = -1, taken = -1; /* taken: a signalfd */
static int master = -1, terminal = -1;
static struct epoll_event wish = {EPOLLIN, {0}};
static unsigned long signals = 1ul << (SIGNAL - 1);
static struct timespec at_once;
static struct itimerspec setting = {{0, 0}, {1000, 0}};
static struct pollfd many[20];

static void make(void)
{
    ep = epoll_create1(0);
    event = eventfd(1, EFD_NONBLOCK);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    if (ep < 0 || event < 0 || timer < 0)
        bail_out("no files of events: %s", strerror(errno));
    for (unsigned i = 0; i < 20; i++)
        many[i] = (struct pollfd){timer, POLLIN, 0};
    cold_make();
}

static void make_watched(void)
{
    make();
    if (epoll_ctl(ep, EPOLL_CTL_ADD, event, &wish) != 0)
        bail_out("no watch");
}

/* A signal that waits to be read. */
static void make_pending(void)
{
    make();
    raw6(SYS_rt_sigprocmask, SIG_BLOCK, A(&signals), 0, 8, 0, 0);
    kill(getpid(), SIGNAL);
    taken = (int)raw6(SYS_signalfd4, -1ul, A(&signals), 8, O_NONBLOCK, 0, 0);
    if (taken < 0)
        bail_out("no signalfd");
}

static void make_pair(void)
{
    int unlocked = 0;

    make();
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    ioctl(master, TIOCSPTLCK, &unlocked);
    terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
    if (terminal < 0)
        bail_out("no pair");
}

/* A timer of signals. */
static int number;
static struct sigevent silent = {.sigev_notify = SIGEV_NONE};

static void make_timer(void)
{
    make();
    number = -1;
    if (raw6(SYS_timer_create, CLOCK_MONOTONIC, A(&silent), A(&number), 0, 0, 0) != 0)
        bail_out("no timer");
}

/* What timer_create has made, if anything, has number 0. */
static void drop_timer(void)
{
    raw6(SYS_timer_delete, 0, 0, 0, 0, 0, 0);
    cold_drop();
    raw6(SYS_close_range, 3, 255, 0, 0, 0, 0);
}

static void drop(void)
{
    cold_drop();
    raw6(SYS_close_range, 3, 255, 0, 0, 0, 0);
}

/* Take the signal if it is still pending. */
static void drop_pending(void)
{
    raw6(SYS_rt_sigtimedwait, A(&signals), 0, A(&at_once), 8, 0, 0);
    raw6(SYS_rt_sigprocmask, SIG_UNBLOCK, A(&signals), 0, 8, 0, 0);
    drop();
}

static bool opened(long r) { return r >= 3 && close((int)r) == 0; }
static bool watches(long r)
{
    return r == 0 && epoll_wait(ep, &(struct epoll_event){0}, 1, 0) == 1;
}
static bool unwatched(long r) { return r == 0 && epoll_ctl(ep, EPOLL_CTL_ADD, event, &wish) == 0; }
static bool reported(long r) { return r == 1 && *(unsigned *)COLD == EPOLLIN; }
static bool counted(long r) { return r == 8 && *(unsigned long *)COLD == 1; }
static bool is_signal(long r) { return r == 128 && *(unsigned *)COLD == SIGNAL; }
static bool is_set(long r)
{
    struct itimerspec t;

    return r == 0 && timerfd_gettime(timer, &t) == 0 && t.it_value.tv_sec > 900;
}

static long do_add(void)
{
    return raw6(SYS_epoll_ctl, A(ep), EPOLL_CTL_ADD, A(event), A(&wish), 0, 0);
}
static long do_del(void) { return raw6(SYS_epoll_ctl, A(ep), EPOLL_CTL_DEL, A(event), 0, 0, 0); }
static long do_wait(void) { return raw6(SYS_epoll_wait, A(ep), COLD, 8, 0, 0, 0); }
static long do_pwait(void) { return raw6(SYS_epoll_pwait, A(ep), COLD, 8, 0, 0, 0); }
static long do_pwait2(void) { return raw6(SYS_EPOLL_PWAIT2, A(ep), COLD, 8, A(&at_once), 0, 0); }
static long do_read_event(void) { return raw6(SYS_read, A(event), COLD, 8, 0, 0, 0); }
static long do_read_signal(void) { return raw6(SYS_read, A(taken), COLD, 128, 0, 0, 0); }
static long do_set(void) { return raw6(SYS_timerfd_settime, A(timer), 0, A(&setting), COLD, 0, 0); }
static long do_get(void) { return raw6(SYS_timerfd_gettime, A(timer), COLD, 0, 0, 0, 0); }
static long do_poll_many(void) { return raw6(SYS_poll, A(many), 20, 1, 0, 0, 0); }

static long do_create_timer(void)
{
    return raw6(SYS_timer_create, CLOCK_MONOTONIC, A(&silent), COLD, 0, 0, 0);
}
static long do_set_timer(void)
{
    return raw6(SYS_timer_settime, A(number), 0, A(&setting), COLD, 0, 0);
}
static long do_get_timer(void) { return raw6(SYS_timer_gettime, A(number), COLD, 0, 0, 0, 0); }
static long do_overrun(void) { return raw6(SYS_timer_getoverrun, A(number), 0, 0, 0, 0, 0); }
static long do_delete_timer(void) { return raw6(SYS_timer_delete, A(number), 0, 0, 0, 0, 0); }
static bool is_number(long r) { return r == 0 && *(int *)COLD == 0; }
static bool set_timer(long r)
{
    struct itimerspec t;

    return r == 0 && raw6(SYS_timer_gettime, A(number), A(&t), 0, 0, 0, 0) == 0 &&
           t.it_value.tv_sec > 900;
}

/* The clock is set to what it is, or nearly. */
static struct timespec at_now;
static struct timeval at_now_us;

static void make_now(void)
{
    clock_gettime(CLOCK_REALTIME, &at_now);
    at_now_us = (struct timeval){at_now.tv_sec, at_now.tv_nsec / 1000};
}

static bool is_unsynchronised(long r) { return r == TIME_ERROR; }

static int pidfd = -1;

static void make_pidfd(void)
{
    make();
    pidfd = (int)raw6(SYS_pidfd_open, A(getpid()), 0, 0, 0, 0, 0);
}
static long do_open_pid(void) { return raw6(SYS_pidfd_open, A(getpid()), 0, 0, 0, 0, 0); }
static long do_send_pid(void) { return raw6(SYS_pidfd_send_signal, A(pidfd), 0, 0, 0, 0, 0); }

static long do_get_file(void) { return raw6(SYS_pidfd_getfd, A(pidfd), 1, 0, 0, 0, 0); }

static long do_open_peer(void)
{
    return raw6(SYS_ioctl, A(master), TIOCGPTPEER, O_RDWR | O_NOCTTY, 0, 0, 0);
}
static long do_number(void) { return raw6(SYS_ioctl, A(master), TIOCGPTN, COLD, 0, 0, 0); }
static long do_write_master(void) { return raw6(SYS_write, A(master), A("abc\n"), 4, 0, 0, 0); }
static long do_write_terminal(void) { return raw6(SYS_write, A(terminal), A("abc\n"), 4, 0, 0, 0); }
static bool wrote_line(long r) { return r == 4; }

#define CREATE(name_, call_, ...) \
    {.name = name_, .call = (call_), .args = {__VA_ARGS__}, .effect = opened, .undo = drop}

const struct scenario event_scenarios[] = {
    CREATE("epoll_create", SYS_epoll_create, 1),
    CREATE("epoll_create1", SYS_epoll_create1, 0),
    CREATE("eventfd", SYS_eventfd, 5),
    CREATE("eventfd2", SYS_eventfd2, 5, EFD_SEMAPHORE),
    CREATE("open of /dev/ptmx", SYS_open, A("/dev/ptmx"), O_RDWR | O_NOCTTY),
    CREATE("signalfd", SYS_signalfd, -1ul, A(&signals), 8),
    CREATE("signalfd4", SYS_signalfd4, -1ul, A(&signals), 8, 0),
    CREATE("timerfd_create", SYS_timerfd_create, CLOCK_MONOTONIC, 0),
    WITH("epoll_ctl, add", SYS_epoll_ctl, make, do_add, watches, 0),
    WITH("epoll_ctl, delete", SYS_epoll_ctl, make_watched, do_del, unwatched, NOTHING),
    WITH("epoll_wait", SYS_epoll_wait, make_watched, do_wait, reported, 0),
    WITH("epoll_pwait", SYS_epoll_pwait, make_watched, do_pwait, reported, 0),
    WITH("epoll_pwait2", SYS_EPOLL_PWAIT2, make_watched, do_pwait2, reported, 0),
    WITH("read of an eventfd", SYS_read, make, do_read_event, counted, 0),
    {.name = "signalfd4, signals in an untouched page",
     .call = SYS_signalfd4,
     .prepare = make,
     .args = {-1ul, COLD, 8, 0},
     .effect = opened,
     .undo = drop,
     .flags = WARM},
    {.name = "read of a signalfd",
     .call = SYS_read,
     .prepare = make_pending,
     .act = do_read_signal,
     .effect = is_signal,
     .undo = drop_pending},
    WITH("timerfd_settime", SYS_timerfd_settime, make, do_set, is_set, 0),
    WITH("timerfd_gettime", SYS_timerfd_gettime, make, do_get, NULL, 0),
    WITH("ioctl, TIOCGPTPEER", SYS_ioctl, make_pair, do_open_peer, opened, 0),
    WITH("ioctl, TIOCGPTN", SYS_ioctl, make_pair, do_number, NULL, 0),
    WITH("write to a master", SYS_write, make_pair, do_write_master, wrote_line, NOTHING),
    WITH("write to a terminal", SYS_write, make_pair, do_write_terminal, wrote_line, NOTHING),
    BY("timer_create", SYS_timer_create, make, do_create_timer, is_number, drop_timer, 0),
    BY("timer_settime", SYS_timer_settime, make_timer, do_set_timer, set_timer, drop_timer, 0),
    BY("timer_gettime", SYS_timer_gettime, make_timer, do_get_timer, NULL, drop_timer, 0),
    BY("timer_getoverrun", SYS_timer_getoverrun, make_timer, do_overrun, NULL, drop_timer, NOTHING),
    BY("timer_delete", SYS_timer_delete, make_timer, do_delete_timer, NULL, drop_timer, NOTHING),
    {.name = "clock_settime",
     .call = SYS_clock_settime,
     .prepare = make_now,
     .args = {CLOCK_REALTIME, A(&at_now)},
     .flags = NOTHING},
    {.name = "settimeofday",
     .call = SYS_settimeofday,
     .prepare = make_now,
     .args = {A(&at_now_us), 0},
     .flags = NOTHING},
    {.name = "adjtimex",
     .call = SYS_adjtimex,
     .prepare = cold_make,
     .args = {COLD},
     .effect = is_unsynchronised,
     .undo = cold_drop,
     .flags = WARM},
    {.name = "clock_adjtime",
     .call = SYS_clock_adjtime,
     .prepare = cold_make,
     .args = {CLOCK_REALTIME, COLD},
     .effect = is_unsynchronised,
     .undo = cold_drop,
     .flags = WARM},
    WITH("pidfd_open", SYS_pidfd_open, make, do_open_pid, opened, 0),
    WITH("pidfd_getfd", SYS_pidfd_getfd, make_pidfd, do_get_file, opened, 0),
    WITH("pidfd_send_signal", SYS_pidfd_send_signal, make_pidfd, do_send_pid, NULL, NOTHING),
    WITH("poll of 20 files", SYS_poll, make, do_poll_many, NULL, 0),
    {0},
};
