// TAP
// RUN: --icount --smp 1 -m 512M
/*
 * Interval timers: what they cost those who did not set them, and what a process sees of an alarm
 * whose next interval begins only when the signal is taken.
 *
 * On one CPU with --icount a nanosecond is an instruction, so the cost is exact. When a timer was
 * started again at interrupt level, without a least interval, 280 million instructions of work took
 * 51,000 million beside 1,000 processes that slept and ignored SIGALRM.
 */
#include <megalith/info.h>
#include <megalith/services.h>
#include <signal.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define IGNORING   1000
#define CATCHING   200
#define STEPS      10000000u
#define MS         1000000u
#define FLOOR_US   100u /* the least time between two expirations: kernel/proc/alarm.c */
#define EACH_US    50u  /* the same, for each timer of a user */
#define OTHERS     40u
#define PERIODS_MS 20u

static const struct itimerval often = {{0, 1}, {0, 1}}, off;
static volatile unsigned count;

static void note(int sig)
{
    (void)sig;
    count++;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t work(void)
{
    uint64_t start = now();

    for (volatile unsigned i = 0; i < STEPS; i++)
        ;
    return now() - start;
}

static void spend(uint64_t ns)
{
    for (uint64_t start = now(); now() - start < ns;)
        ;
}

/* Start n processes that sleep, each with a timer of 1 us. Their process group. */
static pid_t start(unsigned n, void (*action)(int))
{
    pid_t group = 0, pid;

    while (n--) {
        pid = fork();
        if (pid == 0) {
            setpgid(0, group);
            signal(SIGALRM, action);
            setitimer(ITIMER_REAL, &often, NULL);
            for (;;)
                pause();
        }
        if (pid < 0)
            return -1;
        if (!group)
            group = pid;
        setpgid(pid, group);
    }
    usleep(100000);
    return group;
}

static void end(pid_t group)
{
    kill(-group, SIGKILL);
    while (wait(NULL) > 0)
        ;
}

static void test_cost_to_others(void)
{
    uint64_t alone = work(), beside;
    pid_t group = start(IGNORING, SIG_IGN);

    ok(group > 0, "%d processes ignore a timer of 1 us", IGNORING);
    beside = work();
    ok(beside < alone + alone / 50, "work of %lu instructions takes %lu beside them",
       (unsigned long)alone, (unsigned long)beside);
    end(group);
}

static uint64_t in_interrupts(void)
{
    struct mega_cpu c = {0};

    mega$info(MEGA_INFO_CPU, 0, &c, sizeof(c));
    return c.interrupt_ns;
}

/* The handlers run in the time of their processes, which get the CPU as all others do. What is done
 * at interrupt level, in everybody's time, is bounded (kernel/sched/timer.c). */
static void test_handlers(void)
{
    pid_t group = start(CATCHING, note);
    uint64_t before, spent, took;

    ok(group > 0, "%d processes handle a timer of 1 us", CATCHING);
    before = now();
    spent = in_interrupts();
    spend(100 * MS);
    spent = in_interrupts() - spent;
    took = now() - before;
    ok(spent < took / 4, "interrupts take %lu of %lu us beside them", (unsigned long)(spent / 1000),
       (unsigned long)(took / 1000));
    end(group);
}

static void test_floor(void)
{
    uint64_t began;
    unsigned most;

    signal(SIGALRM, note);
    count = 0;
    began = now();
    setitimer(ITIMER_REAL, &often, NULL);
    spend(PERIODS_MS * MS);
    setitimer(ITIMER_REAL, &off, NULL);
    most = (unsigned)((now() - began) / 1000 / FLOOR_US) + 1; /* the last handlers take longer */
    ok(count <= most && count >= most / 2, "a timer of 1 us expires %u times in %u ms", count,
       PERIODS_MS);
}

/* Timers of one user together expire no more than once in EACH_US each, also those that rest. */
static void test_budget(void)
{
    unsigned most = PERIODS_MS * 1000 / (OTHERS * EACH_US) + 1;
    pid_t group = start(OTHERS, SIG_IGN);

    signal(SIGALRM, note);
    count = 0;
    setitimer(ITIMER_REAL, &often, NULL);
    spend(PERIODS_MS * MS);
    setitimer(ITIMER_REAL, &off, NULL);
    ok(count <= most && count >= most / 2, "beside %u others it expires %u times", OTHERS, count);
    end(group);
}

static uint64_t left_us(void)
{
    struct itimerval t;

    getitimer(ITIMER_REAL, &t);
    return (uint64_t)t.it_value.tv_sec * 1000000 + (uint64_t)t.it_value.tv_usec;
}

/* Does the timer expire in each of five intervals from now on? */
static int goes_on(unsigned interval_us)
{
    unsigned from = count;

    spend(11 * interval_us * 1000ul / 2);
    return count - from >= 4 && count - from <= 6;
}

static void test_rest(void)
{
    struct itimerval t = {{0, 2000}, {0, 2000}};
    struct timespec none = {0, 0}, second = {1, 0};
    sigset_t set, pending;

    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    signal(SIGALRM, SIG_IGN);
    setitimer(ITIMER_REAL, &t, NULL);
    spend(9 * MS);
    ok(left_us() > 0 && left_us() <= 2000, "an alarm that is ignored is read as running (%lu us)",
       (unsigned long)left_us());
    signal(SIGALRM, note);
    ok(goes_on(2000), "it goes on when the signal is not ignored any more");

    sigprocmask(SIG_BLOCK, &set, NULL);
    spend(9 * MS);
    sigpending(&pending);
    ok(sigismember(&pending, SIGALRM), "an alarm is pending while it is blocked");
    ok(left_us() <= 2000, "it is read as running");
    count = 0;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    is(count, 1, "it is taken once when it is unblocked");
    ok(goes_on(2000), "and it goes on");

    signal(SIGALRM, SIG_IGN);
    spend(5 * MS);
    sigprocmask(SIG_BLOCK, &set, NULL);
    spend(5 * MS);
    is(sigtimedwait(&set, NULL, &none), SIGALRM, "an ignored alarm is noted once it is blocked");
    is(sigtimedwait(&set, NULL, &second), SIGALRM, "and can be waited for again and again");
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    spend(5 * MS);
    is(sigtimedwait(&set, NULL, &second), SIGALRM, "also when it is ignored and not blocked");
    signal(SIGALRM, note);
    ok(goes_on(2000), "with a handler it goes on");

    raise(SIGALRM);
    ok(goes_on(2000), "a signal from elsewhere does not disturb it");
    setitimer(ITIMER_REAL, &off, &t);
    is(t.it_interval.tv_usec, 2000, "its interval is returned");
    count = 0;
    spend(5 * MS);
    is(count, 0, "and it is off");
}

/* ---- timers of timer_create ---- */

#define MANY 200u

static timer_t timer_of(int signo)
{
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signo};
    timer_t t;

    if (timer_create(CLOCK_MONOTONIC, &e, &t) != 0)
        bail_out("no timer: %s", strerror(errno));
    return t;
}

static const struct itimerspec soon = {{0, 1000}, {0, 1000}}, never;

/* Hundreds of timers of 1 us, whose signals nobody takes or all ignore. */
static void test_many(void)
{
    static timer_t t[MANY];
    uint64_t alone = work(), ignored, blocked;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    signal(SIGRTMIN, SIG_IGN);
    for (unsigned k = 0; k < MANY; k++) {
        t[k] = timer_of(SIGRTMIN);
        timer_settime(t[k], 0, &soon, NULL);
    }
    spend(100 * MS);
    ignored = work();
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGRTMIN, note);
    spend(100 * MS);
    blocked = work();
    ok(ignored < alone + alone / 20, "beside %u ignored timers of 1 us it takes %lu", MANY,
       (unsigned long)ignored);
    ok(blocked < alone + alone / 20, "beside %u blocked ones %lu", MANY, (unsigned long)blocked);
    count = 0;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    for (unsigned k = 0; k < 40 && count < MANY; k++)
        spend(100 * MS);
    ok(count >= MANY, "they all go on when the signal can be taken (%u)", count);
    for (unsigned k = 0; k < MANY; k++)
        timer_delete(t[k]);
    count = 0;
    spend(5 * MS);
    is(count, 0, "and none is left when they are deleted");
}

static void test_timer_floor(void)
{
    unsigned most = PERIODS_MS * 1000 / FLOOR_US + 1;
    timer_t t = timer_of(SIGUSR1);

    signal(SIGUSR1, note);
    count = 0;
    timer_settime(t, 0, &soon, NULL);
    spend(PERIODS_MS * MS);
    timer_settime(t, 0, &never, NULL);
    ok(count <= most && count >= most / 2, "a timer of 1 us expires %u times in %u ms", count,
       PERIODS_MS);
    timer_delete(t);
}

/* A user's timers count; exec and exit give them back, and leave no signal behind. */
static int user_of_timers(void)
{
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    unsigned n = 0;
    sigset_t set;
    timer_t t;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (setuid(1000) != 0)
        return 9;
    while (timer_create(CLOCK_MONOTONIC, &e, &t) == 0) {
        timer_settime(t, 0, &soon, NULL);
        n++;
    }
    if (n != 30 || errno != EAGAIN)
        return 1;
    execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
    return 2;
}

static void test_quota(void)
{
    int status = 0;
    pid_t pid;

    mega$control(MEGA_CTL_SET_PARAM, (uint64_t)"USER_TIMERS", 30, 0, 0, 0);
    for (unsigned k = 0; k < 2 && (k == 0 || status == 5 << 8); k++) {
        pid = fork();
        if (pid == 0)
            _exit(user_of_timers());
        waitpid(pid, &status, 0);
    }
    is(status, 5 << 8, "a user has as many timers as the quota says, and each program anew");
    mega$control(MEGA_CTL_SET_PARAM, (uint64_t)"USER_TIMERS", -1ul, 0, 0, 0);
}

static void test_clock_set(void)
{
    struct timespec was, t, then;
    uint64_t start;

    clock_gettime(CLOCK_REALTIME, &was);
    start = now();
    t = (struct timespec){was.tv_sec + 5000, was.tv_nsec};
    is(clock_settime(CLOCK_REALTIME, &t), 0, "root sets the clock");
    clock_gettime(CLOCK_REALTIME, &then);
    ok(then.tv_sec - t.tv_sec <= 1 && then.tv_sec >= t.tv_sec, "it shows the time that was set");
    ok(now() - start < 1000000000u, "the monotonic clock does not jump");
    is(clock_settime(CLOCK_REALTIME, &was), 0, "and back");
}

int main(void)
{
    test_clock_set();
    test_many();
    test_timer_floor();
    test_quota();
    test_cost_to_others();
    test_handlers();
    test_floor();
    test_budget();
    test_rest();
    return tap_done();
}
