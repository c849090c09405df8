// TAP
/*
 * epoll, eventfd and timerfd among several processes: no event is lost, each reaches those whom it
 * concerns, watches end with their files, and a user has no more of them than its quota.
 * userland/conformance/events.c has the results of single calls.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define WORKERS 4
#define CROWD   40
#define ROUNDS  2000
#define EDGES   500 /* each is two switches between processes, on several CPUs slow ones */
#define UID     1000

static struct epoll_event got[64];

static void settle(void) { usleep(20000); }

static int watch(int ep, int fd, uint32_t events)
{
    struct epoll_event e = {events, {.fd = fd}};

    return epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
}

static int reap(pid_t pid)
{
    int status;

    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Workers take one unit at a time from a semaphore that they watch; ROUNDS units are given. */
static void work(uint32_t flags, bool nested)
{
    int fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK), *done;
    pid_t pid[WORKERS];
    uint64_t v = 1;
    int sum = 0, bad = 0;

    done = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < WORKERS; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            int inner = epoll_create1(0), ep = nested ? epoll_create1(0) : inner;

            watch(inner, fd, EPOLLIN | flags);
            if (nested)
                watch(ep, inner, EPOLLIN);
            while (__atomic_load_n(done, __ATOMIC_SEQ_CST) < ROUNDS) {
                if (epoll_wait(ep, got, 1, 100) < 0)
                    _exit(1);
                if (nested)
                    epoll_wait(inner, got, 1, 0);
                while (read(fd, &v, sizeof(v)) == sizeof(v))
                    __atomic_fetch_add(done, 1, __ATOMIC_SEQ_CST);
            }
            _exit(0);
        }
    }
    for (int i = 0; i < ROUNDS; i++)
        if (write(fd, &v, sizeof(v)) == sizeof(v))
            sum++;
    for (int i = 0; i < WORKERS; i++)
        bad += reap(pid[i]) != 0;
    ok(sum == ROUNDS && !bad && *done == ROUNDS, "%d units reach %d workers, flags %#x%s", ROUNDS,
       WORKERS, flags, nested ? ", nested" : "");
    munmap(done, sizeof(int));
    close(fd);
}

/* Two processes answer each other, each waiting for an edge. A lost one would hang. */
static void ping_pong(void)
{
    int fd[2] = {eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK)};
    bool right = true;
    uint64_t v = 1;
    pid_t pid = fork();
    int me = pid ? 0 : 1, ep = epoll_create1(0);

    watch(ep, fd[me], EPOLLIN | EPOLLET);
    for (int i = 0; i < EDGES; i++) {
        if (pid && write(fd[1], &v, sizeof(v)) != sizeof(v))
            right = false;
        if (epoll_wait(ep, got, 1, 60000) != 1 || read(fd[me], &v, sizeof(v)) != sizeof(v))
            right = false;
        if (!pid && write(fd[0], &v, sizeof(v)) != sizeof(v))
            right = false;
    }
    if (!pid)
        _exit(right ? 0 : 1);
    ok(right, "%d edges there", EDGES);
    is(reap(pid), 0, "and back");
    close(ep);
    close(fd[0]);
    close(fd[1]);
}

static uint32_t state_of(pid_t pid)
{
    struct mega_process p;

    for (int64_t i = 0; mega$info(MEGA_INFO_PROCESS, i, &p, sizeof(p)) == SS$_NORMAL; i++)
        if (p.pid == (uint32_t)pid)
            return p.waits;
    return MEGA_STATES;
}

/* Wait until n children do not run: they wait for an event, or have ended. How many have ended. */
static int ended_of(const pid_t *pid, int n)
{
    int ended = 0, quiet = 0;

    while (quiet < 5) { /* a child that is woken may be about to run */
        int waiting = 0;

        settle();
        ended = 0;
        for (int i = 0; i < n; i++) {
            uint32_t state = state_of(pid[i]);

            ended += state == MEGA_STATE_ENDED;
            waiting += state == MEGA_STATE_LEF;
        }
        quiet = ended + waiting == n ? quiet + 1 : 0;
    }
    return ended;
}

/* Many instances watch one file: the change reaches all; with EPOLLEXCLUSIVE, not all. */
static void crowd(uint32_t flags, bool all)
{
    int fd = eventfd(0, EFD_NONBLOCK), woken, right = 0;
    pid_t pid[CROWD];
    uint64_t v = 1;

    for (int i = 0; i < CROWD; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            int ep = epoll_create1(0);

            watch(ep, fd, EPOLLIN | flags);
            _exit(epoll_wait(ep, got, 1, -1) == 1 ? 0 : 1);
        }
    }
    is(ended_of(pid, CROWD), 0, "%d processes wait", CROWD);
    if (write(fd, &v, sizeof(v)) != sizeof(v))
        bail_out("no event");
    woken = ended_of(pid, CROWD);
    diag("%d of %d woke", woken, CROWD);
    ok(all ? woken == CROWD : woken > 0 && woken < CROWD, "a change wakes %s",
       all ? "all instances" : "some of the exclusive instances");
    for (int i = 0; i < CROWD; i++) {
        kill(pid[i], SIGKILL);
        right += reap(pid[i]) == 0;
    }
    is(right, woken, "and each of them has its event");
    close(fd);
}

/* Files are closed while their instance is waited for, changed and closed by others. */
static void closing_races(void)
{
    int ep = epoll_create1(0), bad = 0;
    pid_t pid[WORKERS];

    for (int i = 0; i < WORKERS; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            for (int n = 0; n < 500; n++) {
                int fd = eventfd(1, 0), inner = epoll_create1(0);

                if (watch(ep, fd, EPOLLIN) != 0 || watch(inner, fd, EPOLLIN | EPOLLET) != 0 ||
                    watch(ep, inner, EPOLLIN) != 0)
                    _exit(1);
                epoll_wait(ep, got, 64, 0);
                close(n % 2 ? fd : inner);
                close(n % 2 ? inner : fd);
            }
            _exit(0);
        }
    }
    for (int i = 0; i < WORKERS; i++)
        bad += reap(pid[i]) != 0;
    is(bad, 0, "%d processes add files to one instance and close them", WORKERS);
    is(epoll_wait(ep, got, 64, 0), 0, "of which none is left there");
    close(ep);
}

static void killed(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        int ep = epoll_create1(0), fd = eventfd(0, 0);

        watch(ep, fd, EPOLLIN);
        epoll_wait(ep, got, 1, -1);
        _exit(0);
    }
    settle();
    kill(pid, SIGKILL);
    is(reap(pid), -1, "a process that waits in epoll_wait is killed");
    pid = fork();
    if (pid == 0) {
        uint64_t v;

        _exit(read(eventfd(0, 0), &v, sizeof(v)) != 0);
    }
    settle();
    kill(pid, SIGKILL);
    is(reap(pid), -1, "and so is one that reads an eventfd");
}

static void timers(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, 0), ep = epoll_create1(0);
    struct itimerspec t = {{0, 2000000}, {0, 2000000}};
    uint64_t v, sum = 0;
    bool right = true;

    watch(ep, fd, EPOLLIN);
    timerfd_settime(fd, 0, &t, NULL);
    for (int i = 0; i < 20; i++) {
        right = right && epoll_wait(ep, got, 1, 10000) == 1 && read(fd, &v, sizeof(v)) == sizeof(v);
        sum += v;
    }
    ok(right && sum >= 20, "a timer with an interval expires 20 times");
    t = (struct itimerspec){{0, 1}, {0, 1}};
    timerfd_settime(fd, 0, &t, NULL);
    right = true;
    for (int i = 0; i < 20; i++)
        right = right && read(fd, &v, sizeof(v)) == sizeof(v);
    ok(right && v > 1000, "one with an interval of 1 ns counts many at once");
    close(fd);
    close(ep);
}

static void set_limit(const char *name, long value)
{
    if (mega$control(MEGA_CTL_SET_PARAM, (uint64_t)name, (uint64_t)value, 0, 0, 0) != SS$_NORMAL)
        bail_out("%s cannot be set", name);
}

/* ---- timers that signal threads ---- */

#define TIMED_THREADS 6

static void on_timer(int sig) { (void)sig; }

/* Timers of 100 us that signal the thread itself, until it ends and leaves them behind. */
static void *timed_thread(void *arg)
{
    timer_t *t = arg;
    struct itimerspec often = {{0, 100000}, {0, 100000}};
    struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 1};

    e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    for (int k = 0; k < 3; k++) {
        timer_create(CLOCK_MONOTONIC, &e, &t[k]);
        timer_settime(t[k], 0, &often, NULL);
    }
    usleep(1000);
    return NULL;
}

/* Threads end while their timers run; others delete these meanwhile. */
static int timer_races(void)
{
    signal(SIGRTMIN + 1, on_timer);
    for (int n = 0; n < 30; n++) {
        pthread_t threads[TIMED_THREADS];
        timer_t timers[TIMED_THREADS][3];

        for (int k = 0; k < TIMED_THREADS; k++)
            if (pthread_create(&threads[k], NULL, timed_thread, timers[k]) != 0)
                return 1;
        for (int k = 0; k < TIMED_THREADS; k++) {
            pthread_join(threads[k], NULL);
            for (int j = 0; j < 3; j++)
                if (timer_delete(timers[k][j]) != 0)
                    return 2;
        }
    }
    for (int k = 0; k < 5; k++) { /* these are for exit to end */
        pthread_t thread;
        static timer_t left[5][3];

        pthread_create(&thread, NULL, timed_thread, left[k]);
    }
    usleep(500);
    return 0;
}

static void timers_of_threads(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(timer_races());
    is(reap(pid), 0, "threads end beside timers that signal them");
}

static int exhaust(void)
{
    int ep = epoll_create1(0), n = 0, fds[64], k;
    int fd = eventfd(0, 0);

    if (setgid(UID) != 0 || setuid(UID) != 0)
        return 97;
    for (k = 0; k < 64; k++)
        fds[k] = dup(fd);
    while (n < 64 && watch(ep, fds[n], EPOLLIN) == 0)
        n++;
    if (n != 40 || errno != ENOSPC)
        return 1;
    close(ep);
    ep = epoll_create1(0);
    for (n = 0; n < 64 && watch(ep, fds[n], EPOLLIN) == 0; n++)
        ;
    if (n != 40)
        return 2;
    for (n = 0; timerfd_create(CLOCK_MONOTONIC, 0) >= 0; n++)
        ;
    return n == 10 && errno == ENFILE ? 0 : 3;
}

static void quotas(void)
{
    pid_t pid;

    set_limit("USER_WATCHES", 40);
    set_limit("USER_TIMERS", 10);
    pid = fork();
    if (pid == 0)
        _exit(exhaust());
    is(reap(pid), 0, "a user watches as many files, and has as many timers, as its quota says");
    set_limit("USER_WATCHES", -1);
    set_limit("USER_TIMERS", -1);
}

/* ---- ends of what is watched by many ---- */

#define SOURCES  40
#define WATCHERS 40

/* fds[0]: what is watched; fds[1]: a byte to here changes it. */
static int open_source(int kind, int fds[2])
{
    switch (kind) {
    case 0:
        fds[0] = eventfd(0, 0);
        fds[1] = dup(fds[0]);
        return fds[1] < 0;
    case 1:
        return pipe(fds);
    default:
        return socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    }
}

/* Changes of what is watched by more than a few are passed on later. It is closed before that, and
 * its memory is used again. */
static bool end_while_told(int kind)
{
    static const char news[8] = {1};
    int fds[SOURCES][2], watcher[WATCHERS];
    bool well = true;

    for (unsigned w = 0; w < WATCHERS; w++)
        watcher[w] = epoll_create1(0);
    for (unsigned s = 0; s < SOURCES; s++) {
        well = well && open_source(kind, fds[s]) == 0;
        for (unsigned w = 0; w < WATCHERS; w++)
            well = well && watch(watcher[w], fds[s][0], EPOLLIN) == 0;
    }
    for (unsigned s = 0; s < SOURCES; s++)
        well = well && write(fds[s][1], news, sizeof(news)) == sizeof(news);
    for (unsigned s = 0; s < SOURCES; s++) {
        close(fds[s][1]);
        close(fds[s][0]);
    }
    for (unsigned w = 0; w < WATCHERS; w++)
        close(watcher[w]);
    for (unsigned s = 0; s < SOURCES; s++)
        open_source((kind + 1) % 3, fds[s]);
    for (unsigned s = 0; s < SOURCES; s++) {
        close(fds[s][1]);
        close(fds[s][0]);
    }
    return well;
}

static void ends(void)
{
    static const char *const kinds[] = {"event counters", "pipes", "sockets"};

    for (int kind = 0; kind < 3; kind++) {
        bool well = true;

        for (unsigned round = 0; well && round < 5; round++)
            well = end_while_told(kind);
        ok(well, "%s are closed while many are to be told of a change", kinds[kind]);
    }
}

int main(void)
{
    ends();
    work(0, false);
    work(EPOLLEXCLUSIVE, false);
    work(0, true);
    ping_pong();
    crowd(0, true);
    crowd(EPOLLEXCLUSIVE, false);
    closing_races();
    killed();
    timers();
    timers_of_threads();
    quotas();
    return tap_done();
}
