/* Timers and clocks: timer_create and its relatives, what signals say, overruns, clocks of CPU
   time, setting clocks; from timer_create(2), timer_settime(2), timer_getoverrun(2), sigevent(7),
   clock_nanosleep(2), clock_settime(2), settimeofday(2), adjtimex(2), timer_delete(2). */
#include "conformance.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

#define SIG    SIGRTMIN
#define SECOND 1000000000l
#define MS     1000000l

/* The calls themselves: the C library has numbers of its own for timers. */
static int create(int clock, struct sigevent *e, int *id)
{
    return (int)syscall(SYS_timer_create, clock, e, id);
}

static int set(int id, int flags, long first, long interval, struct itimerspec *was)
{
    struct itimerspec t = {{interval / SECOND, interval % SECOND},
                           {first / SECOND, first % SECOND}};

    return (int)syscall(SYS_timer_settime, id, flags, &t, was);
}

static int get(int id, struct itimerspec *t) { return (int)syscall(SYS_timer_gettime, id, t); }
static int overrun(int id) { return (int)syscall(SYS_timer_getoverrun, id); }
static int drop(int id) { return (int)syscall(SYS_timer_delete, id); }

static struct sigevent event(int notify, int signo, int value)
{
    return (struct sigevent){
        .sigev_notify = notify, .sigev_signo = signo, .sigev_value.sival_int = value};
}

static int made(int notify, int signo, int value)
{
    struct sigevent e = event(notify, signo, value);
    int id = -1;

    return create(CLOCK_MONOTONIC, &e, &id) == 0 ? id : -1;
}

static void hold(int signo)
{
    sigset_t s;

    sigemptyset(&s);
    sigaddset(&s, signo);
    sigprocmask(SIG_BLOCK, &s, NULL);
}

/* Wait up to two seconds for a signal; ms 0: look only. */
static int take(int signo, siginfo_t *info, long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * MS};
    sigset_t s;

    sigemptyset(&s);
    sigaddset(&s, signo);
    return sigtimedwait(&s, info, &t);
}

static void creation(void)
{
    struct sigevent e = event(SIGEV_SIGNAL, SIG, 0);
    int id = -1;

    CASE_AS("no such clock", create(77, NULL, &id));
    CASE_AS("CLOCK_MONOTONIC_RAW", create(CLOCK_MONOTONIC_RAW, NULL, &id));
    CASE_AS("CLOCK_REALTIME_COARSE", create(CLOCK_REALTIME_COARSE, NULL, &id));
    CASE_AS("a bad event", create(CLOCK_REALTIME, (void *)8, &id));
    CASE_AS("a bad place for the number", create(CLOCK_REALTIME, NULL, (void *)8));
    e.sigev_signo = 0;
    CASE_AS("signal 0", create(CLOCK_REALTIME, &e, &id));
    e.sigev_signo = 65;
    CASE_AS("signal 65", create(CLOCK_REALTIME, &e, &id));
    e.sigev_signo = -1;
    CASE_AS("signal -1", create(CLOCK_REALTIME, &e, &id));
    e = event(SIGEV_NONE, -1, 0);
    CASE_AS("SIGEV_NONE needs no signal", create(CLOCK_REALTIME, &e, &id));
    CASE_AS("delete", drop(id));
    CASE_AS("delete again", drop(id));
    e = event(3, SIG, 0);
    CASE_AS("no such notification", create(CLOCK_REALTIME, &e, &id));
    e = event(SIGEV_THREAD_ID, SIG, 0);
    CASE_AS("thread 0", create(CLOCK_REALTIME, &e, &id));
    e._sigev_un._tid = getppid();
    CASE_AS("a thread of another process", create(CLOCK_REALTIME, &e, &id));
    e._sigev_un._tid = getpid();
    CASE_AS("SIGEV_THREAD_ID", create(CLOCK_REALTIME, &e, &id));
    drop(id);
    CASE_AS("CLOCK_BOOTTIME", create(CLOCK_BOOTTIME, NULL, &id));
    drop(id);
    CASE_AS("gettime of none", get(12345, &(struct itimerspec){{0, 0}, {0, 0}}));
    CASE_AS("settime of none", set(12345, 0, 1, 0, NULL));
    CASE_AS("getoverrun of none", overrun(12345));
    CASE_AS("getoverrun of number -1", overrun(-1));
}

static void settings(void)
{
    struct itimerspec t = {{1, 2}, {3, 4}}, bad = {{0, 0}, {0, SECOND}};
    int id = made(SIGEV_SIGNAL, SIG, 0);

    VALUE_AS("created", id >= 0);
    CASE_AS("gettime at first", get(id, &t));
    TEXT("which is off", "%ld %ld %ld %ld", (long)t.it_interval.tv_sec, t.it_interval.tv_nsec,
         (long)t.it_value.tv_sec, t.it_value.tv_nsec);
    CASE_AS("getoverrun at first", overrun(id));
    CASE_AS("settime", set(id, 0, 1000 * SECOND, 7 * SECOND, NULL));
    CASE_AS("gettime", get(id, &t));
    TEXT("it runs", "%ld %ld %d", (long)t.it_interval.tv_sec, t.it_interval.tv_nsec,
         t.it_value.tv_sec >= 990 && t.it_value.tv_sec < 1000);
    CASE_AS("settime, old setting", set(id, 0, 0, 0, &t));
    TEXT("the old setting", "%ld %d", (long)t.it_interval.tv_sec,
         t.it_value.tv_sec >= 990 && t.it_value.tv_sec < 1000);
    get(id, &t);
    TEXT("it is off", "%ld %ld", (long)t.it_value.tv_sec, t.it_value.tv_nsec);
    CASE_AS("too many nanoseconds", syscall(SYS_timer_settime, id, 0, &bad, NULL));
    bad.it_value.tv_nsec = 0;
    bad.it_interval.tv_nsec = -1;
    CASE_AS("a negative interval", syscall(SYS_timer_settime, id, 0, &bad, NULL));
    CASE_AS("no setting", syscall(SYS_timer_settime, id, 0, NULL, NULL));
    CASE_AS("a bad setting", syscall(SYS_timer_settime, id, 0, 8, NULL));
    CASE_AS("a bad place for the old one", set(id, 0, 0, 0, (void *)8));
    CASE_AS("a bad place", get(id, (void *)8));
    drop(id);
}

static void signals(void)
{
    struct itimerspec t;
    siginfo_t info;
    int id = made(SIGEV_SIGNAL, SIG, 42), other, n = 0;

    hold(SIG);
    set(id, 0, MS, 0, NULL);
    VALUE_AS("the signal comes", take(SIG, &info, 2000) == SIG);
    VALUE_AS("its code", info.si_code);
    VALUE_AS("its value", info.si_value.sival_int);
    VALUE_AS("its timer", info.si_timerid == id);
    VALUE_AS("its overrun", info.si_overrun);
    CASE_AS("a second one", take(SIG, &info, 20));
    get(id, &t);
    TEXT("after it", "%ld %ld", (long)t.it_value.tv_sec, t.it_value.tv_nsec);
    set(id, 0, MS, MS, NULL);
    usleep(50000);
    VALUE_AS("an interval", take(SIG, &info, 2000) == SIG);
    VALUE_AS("overruns", info.si_overrun >= 40 && overrun(id) == info.si_overrun);
    VALUE_AS("the next one", take(SIG, &info, 2000) == SIG);
    get(id, &t);
    VALUE_AS("it goes on", t.it_value.tv_nsec > 0 && t.it_value.tv_nsec <= MS);
    set(id, 0, 0, 0, NULL);
    take(SIG, &info, 0);
    CASE_AS("nothing after it is off", take(SIG, &info, 20));
    set(id, TIMER_ABSTIME, 1, 0, NULL);
    VALUE_AS("an absolute time in the past", take(SIG, &info, 2000) == SIG);
    set(id, TIMER_ABSTIME, 1, MS, NULL);
    take(SIG, &info, 2000);
    VALUE_AS("which began long ago", info.si_overrun > 0);
    set(id, 0, 0, 0, NULL);
    other = made(SIGEV_SIGNAL, SIG, 43);
    set(id, 0, MS, 0, NULL);
    set(other, 0, 2 * MS, 0, NULL);
    usleep(20000);
    for (int k = 0; k < 2 && take(SIG, &info, 2000) == SIG; k++)
        n += info.si_value.sival_int;
    VALUE_AS("two timers, one signal", n);
    drop(other);
    set(id, 0, MS, 0, NULL);
    usleep(20000);
    sigqueue(getpid(), SIG, (union sigval){.sival_int = 1});
    for (n = 0; take(SIG, &info, 20) == SIG;)
        n += info.si_value.sival_int;
    VALUE_AS("a timer and another sender", n);
    drop(id);
    id = -1;
    create(CLOCK_REALTIME, NULL, &id);
    hold(SIGALRM);
    set(id, 0, MS, 0, NULL);
    VALUE_AS("SIGALRM without an event", take(SIGALRM, &info, 2000) == SIGALRM);
    VALUE_AS("with its number", info.si_value.sival_int == id);
    drop(id);
    CASE_AS("sigqueue that looks like a timer's",
            syscall(SYS_rt_sigqueueinfo, getpid(), SIG,
                    &(siginfo_t){.si_signo = SIG, .si_code = SI_TIMER}));
    VALUE_AS("it comes", take(SIG, &info, 2000) == SIG);
}

static volatile sig_atomic_t caught;

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)context;
    caught += info->si_code == SI_TIMER ? 1 : 1000;
}

static void handlers(void)
{
    struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    int id = made(SIGEV_SIGNAL, SIGUSR1, 0), n;

    sigaction(SIGUSR1, &act, NULL);
    set(id, 0, MS, MS, NULL);
    for (n = 0; caught < 5 && n < 2000; n++)
        usleep(1000);
    VALUE_AS("a handler is called again and again", caught >= 5 && caught < 1000);
    drop(id);
    n = caught;
    usleep(10000);
    VALUE_AS("no more once it is deleted", caught <= n + 1);
    id = made(SIGEV_NONE, 0, 0);
    set(id, 0, MS, MS, NULL);
    usleep(5000);
    VALUE_AS("SIGEV_NONE", get(id, &(struct itimerspec){{0, 0}, {0, 0}}));
    drop(id);
}

static void *thread(void *arg)
{
    struct sigevent e = event(SIGEV_THREAD_ID, SIG, 9);
    siginfo_t info;
    int id = -1;

    e._sigev_un._tid = gettid();
    create(CLOCK_MONOTONIC, &e, &id);
    set(id, 0, MS, 0, NULL);
    VALUE_AS("a thread gets its signal", take(SIG, &info, 2000) == SIG);
    VALUE_AS("the value for the thread", info.si_value.sival_int);
    set(id, 0, 30 * MS, 30 * MS, NULL);
    *(int *)arg = id;
    return NULL;
}

static void threads(void)
{
    pthread_t t;
    siginfo_t info;
    int id = -1;

    pthread_create(&t, NULL, thread, &id);
    pthread_join(t, NULL);
    CASE_AS("nobody gets the signal of a thread that has ended", take(SIG, &info, 80));
    CASE_AS("its timer exists still", drop(id));
}

static void heirs(void)
{
    siginfo_t info;

    CASE_AS("a child has no timers", get(0, &(struct itimerspec){{0, 0}, {0, 0}}));
    CASE_AS("nor their signals", take(SIG, &info, 30));
}

static void by_file(void)
{
    struct signalfd_siginfo s;
    sigset_t set_of;
    int id = made(SIGEV_SIGNAL, SIG, 5), fd;

    sigemptyset(&set_of);
    sigaddset(&set_of, SIG);
    fd = signalfd(-1, &set_of, 0);
    set(id, 0, MS, 0, NULL);
    CASE_AS("read of a signalfd", read(fd, &s, sizeof(s)));
    TEXT("what it says", "%d %d %d %u %d", s.ssi_code, s.ssi_int, (int)s.ssi_tid == id,
         s.ssi_overrun, (int)s.ssi_pid);
    close(fd);
    drop(id);
}

static long spent(clockid_t clock)
{
    struct timespec t;

    return clock_gettime(clock, &t) == 0 ? (long)t.tv_sec * SECOND + t.tv_nsec : -1;
}

static void *spin(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
        ;
    return NULL;
}

static void clocks(void)
{
    struct timespec t = {0, 5 * MS}, past = {0, 0}, bad = {0, SECOND}, left = {-1, -1};
    clockid_t mine, child;
    pthread_t other;
    int stop = 0;
    pid_t pid;
    long at;

    CASE_AS("clock_nanosleep", syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, &left));
    TEXT("what is left", "%ld %ld", (long)left.tv_sec, left.tv_nsec);
    CASE_AS("in the past",
            syscall(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL));
    CASE_AS("CLOCK_BOOTTIME", syscall(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, &t, NULL));
    CASE_AS("a bad time", syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &bad, NULL));
    CASE_AS("a bad address", syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, 8, NULL));
    CASE_AS("no such clock", syscall(SYS_clock_nanosleep, 77, 0, &t, NULL));
    CASE_AS("the thread's CPU time",
            syscall(SYS_clock_nanosleep, CLOCK_THREAD_CPUTIME_ID, 0, &t, NULL));
    CASE_AS("a coarse clock", syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC_COARSE, 0, &t, NULL));
    CASE_AS("a raw clock", syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC_RAW, 0, &t, NULL));
    CASE_AS("CPU time, a bad time",
            syscall(SYS_clock_nanosleep, CLOCK_PROCESS_CPUTIME_ID, 0, &bad, NULL));
    CASE_AS("CPU time in the past",
            syscall(SYS_clock_nanosleep, CLOCK_PROCESS_CPUTIME_ID, TIMER_ABSTIME, &past, NULL));
    pthread_create(&other, NULL, spin, &stop);
    at = spent(CLOCK_PROCESS_CPUTIME_ID);
    CASE_AS("CPU time of a process that works",
            syscall(SYS_clock_nanosleep, CLOCK_PROCESS_CPUTIME_ID, 0, &t, NULL));
    VALUE_AS("so much was used", spent(CLOCK_PROCESS_CPUTIME_ID) - at >= 5 * MS);
    stop = 1;
    pthread_join(other, NULL);
    CASE_AS("clock_getcpuclockid", clock_getcpuclockid(0, &mine));
    VALUE_AS("which can be read", spent(mine) > 0);
    pid = fork();
    if (pid == 0)
        for (;;)
            ;
    clock_getcpuclockid(pid, &child);
    at = spent(child);
    CASE_AS("CPU time of a child", syscall(SYS_clock_nanosleep, child, 0, &t, NULL));
    VALUE_AS("it was used", spent(child) - at >= 5 * MS);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CASE_AS("CPU time of nobody", spent(child));
}

/* As a user who may not. */
static void setting_clocks(void)
{
    struct timespec t = {1000000000, 0}, bad = {0, -1};
    struct timeval tv = {1000000000, 0}, bad_tv = {0, 1000001};
    struct timezone tz = {0, 0};
    struct timex x = {.modes = 0};

    setresuid(65534, 65534, 65534);
    CASE_AS("clock_settime", clock_settime(CLOCK_REALTIME, &t));
    CASE_AS("clock_settime of a bad time", syscall(SYS_clock_settime, CLOCK_REALTIME, &bad));
    CASE_AS("clock_settime of CLOCK_MONOTONIC", clock_settime(CLOCK_MONOTONIC, &t));
    CASE_AS("clock_settime of no clock", clock_settime(77, &t));
    CASE_AS("clock_settime of no process", clock_settime((int)(~99999999u << 3 | 2), &t));
    CASE_AS("clock_settime of an open file", clock_settime((int)(~0u << 3 | 3), &t));
    CASE_AS("clock_settime of a process", clock_settime((int)(~0u << 3 | 2), &t));
    CASE_AS("clock_settime from a bad address", syscall(SYS_clock_settime, CLOCK_REALTIME, 8));
    CASE_AS("settimeofday", syscall(SYS_settimeofday, &tv, NULL));
    CASE_AS("settimeofday of a bad time", syscall(SYS_settimeofday, &bad_tv, NULL));
    CASE_AS("settimeofday of a time zone", syscall(SYS_settimeofday, NULL, &tz));
    CASE_AS("settimeofday from a bad address", syscall(SYS_settimeofday, 8, NULL));
    VALUE_AS("adjtimex", adjtimex(&x) >= 0);
    VALUE_AS("the time", x.time.tv_sec > 0);
    x.modes = ADJ_FREQUENCY;
    CASE_AS("adjtimex of the rate", adjtimex(&x));
    CASE_AS("adjtimex at a bad address", syscall(SYS_adjtimex, 8));
    x.modes = 0;
    VALUE_AS("clock_adjtime", clock_adjtime(CLOCK_REALTIME, &x) >= 0);
    CASE_AS("clock_adjtime of CLOCK_MONOTONIC", clock_adjtime(CLOCK_MONOTONIC, &x));
    CASE_AS("clock_adjtime of no clock", clock_adjtime(77, &x));
}

int main(void)
{
    int id;

    cases_begin();
    creation();
    settings();
    in_child("signals", signals);
    handlers();
    hold(SIG);
    threads();
    id = made(SIGEV_SIGNAL, SIG, 1);
    set(id, 0, 10 * MS, 10 * MS, NULL);
    in_child("heirs", heirs);
    drop(id);
    by_file();
    clocks();
    in_child("setting clocks", setting_clocks);
    return 0;
}
