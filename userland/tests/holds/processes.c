/* Processes, groups, sessions, waiters and timers. */
#define _GNU_SOURCE
#include "holds.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <megalith/info.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Most processes at once: what the system's limit leaves. */
static unsigned processes(unsigned n) { return n < 8000 ? n : 8000; }

static void at_gate(unsigned i, void *g)
{
    (void)i;
    gate_wait(g);
}

/* Each fourth child leads a session of its own; of the others, every two are a group. */
static void in_groups(unsigned i, void *g)
{
    if (i % 4 == 0)
        setsid();
    else
        setpgid(0, i % 2 ? 0 : getpid() - 1);
    gate_wait(g);
}

/* Calls that look at processes, groups and sessions. */
static void look_at(pid_t pid)
{
    struct sched_param param;

    need(getpgid(pid) > 0 && getsid(pid) > 0);
    need(kill(pid, 0) == 0);
    kill(-pid, 0);
    setpgid(pid, getpid());
    getpriority(PRIO_PROCESS, (id_t)pid);
    getpriority(PRIO_PGRP, (id_t)pid);
    getpriority(PRIO_USER, 0);
    sched_getparam(pid, &param);
}

static void groups(unsigned n)
{
    struct gate g;
    struct mega_process p;
    int status;
    pid_t first;

    n = processes(n);
    setpgid(0, 0);
    gate_make(&g);
    first = crowd_start(n, in_groups, &g);
    for (pid_t pid = first; pid < first + (pid_t)n; pid += (pid_t)n / 16)
        look_at(pid);
    need(waitpid(-getpid(), &status, WNOHANG) == 0 || errno == ECHILD);
    need(waitpid(-first, &status, WNOHANG | WUNTRACED | WCONTINUED) == 0 || errno == ECHILD);
    need(waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED) == 0);
    for (int64_t i = 0; i < 3; i++)
        mega$info(MEGA_INFO_PROCESS, (int64_t)n - i, &p, sizeof(p));
    gate_open(&g);
    crowd_wait(n);
}

static void killed(unsigned n)
{
    struct gate g;
    int status;
    pid_t first;

    n = processes(n);
    setpgid(0, 0);
    gate_make(&g);
    signal(SIGUSR1, SIG_IGN);
    first = crowd_start(n, at_gate, &g);
    need(kill(0, SIGUSR1) == 0);
    need(kill(-getpid(), 0) == 0);
    need(kill(-1, SIGUSR1) == 0);
    need(kill(first + (pid_t)n / 2, SIGSTOP) == 0);
    need(waitpid(-1, &status, WUNTRACED) == first + (pid_t)n / 2);
    need(waitpid(-getpid(), &status, WUNTRACED | WNOHANG) == 0);
    signal(SIGTERM, SIG_IGN);
    need(kill(-getpid(), SIGCONT) == 0);
    need(kill(-getpid(), SIGTERM) == 0);
    need(kill(first + (pid_t)n / 2, SIGTERM) == 0);
    crowd_wait(n);
}

/* A session whose leader has ended, and its members with it. */
static void session(unsigned n)
{
    struct gate g;
    int status;
    pid_t leader;

    n = processes(n);
    gate_make(&g);
    leader = fork();
    if (leader == 0) {
        setsid();
        crowd_start(n, at_gate, &g);
        _exit(0);
    }
    need(waitpid(leader, &status, 0) == leader && status == 0);
    gate_open(&g);
    for (unsigned i = 0; kill(-leader, 0) == 0 && i < 100000; i++)
        sched_yield();
}

/* Children that have ended, half of which are waited for. */
static void zombies(unsigned n)
{
    struct gate g;
    int status;
    pid_t first;

    n = processes(n);
    gate_make(&g);
    first = crowd_start(n, at_gate, &g);
    gate_open(&g);
    need(waitpid(first + (pid_t)n - 1, &status, 0) == first + (pid_t)n - 1);
    need(waitpid(-first, &status, WNOHANG) <= 0);
    for (unsigned i = 0; i < n / 2; i++)
        need(wait(&status) > 0);
}

/* All wait for one byte of a pipe, then for its end. */
static void at_pipe(unsigned i, void *arg)
{
    int *fd = arg;
    char c;

    (void)i;
    close(fd[1]);
    need(read(fd[0], &c, 1) >= 0);
}

static void waiters(unsigned n)
{
    int fd[2];

    n = processes(n);
    need(pipe(fd) == 0);
    crowd_start(n, at_pipe, fd);
    sched_yield();
    need(write(fd[1], "x", 1) == 1);
    sched_yield();
    close(fd[1]);
    close(fd[0]);
    crowd_wait(n);
}

static void at_futex(unsigned i, void *word)
{
    (void)i;
    syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void futex(unsigned n)
{
    int *word = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    n = processes(n);
    need(word != MAP_FAILED);
    crowd_start(n, at_futex, word);
    while (syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) != 1)
        sched_yield();
    *word = 1;
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    crowd_wait(n);
}

/* All wait until the same time, by a sleep and by an interval timer. */
static void at_time(unsigned i, void *arg)
{
    const struct timespec *until = arg;
    struct itimerval it = {.it_value = {.tv_sec = 1000}};
    struct timespec now, left;

    setitimer(ITIMER_REAL, &it, NULL);
    if (i % 2) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        left.tv_sec = until->tv_sec - now.tv_sec;
        left.tv_nsec = until->tv_nsec - now.tv_nsec;
        if (left.tv_nsec < 0) {
            left.tv_sec--;
            left.tv_nsec += 1000000000;
        }
        if (left.tv_sec >= 0)
            nanosleep(&left, NULL);
        return;
    }
    signal(SIGALRM, SIG_IGN);
    clock_gettime(CLOCK_MONOTONIC, &now);
    it.it_value.tv_sec = until->tv_sec - now.tv_sec;
    it.it_value.tv_usec = (until->tv_nsec - now.tv_nsec) / 1000;
    if (it.it_value.tv_usec < 0) {
        it.it_value.tv_sec--;
        it.it_value.tv_usec += 1000000;
    }
    it.it_interval = (struct timeval){.tv_usec = 10000};
    if (it.it_value.tv_sec >= 0)
        setitimer(ITIMER_REAL, &it, NULL);
    left = (struct timespec){.tv_sec = it.it_value.tv_sec + 1};
    nanosleep(&left, NULL);
}

static void timers(unsigned n)
{
    struct timespec until;

    n = processes(n);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1 + n / 4000; /* about 200,000 instructions to start each */
    crowd_start(n, at_time, &until);
    crowd_wait(n);
}

const struct growth growth_processes[] = {
    {"groups", groups},   {"killed", killed}, {"session", session}, {"zombies", zombies},
    {"waiters", waiters}, {"futex", futex},   {"timers", timers},   {0},
};
