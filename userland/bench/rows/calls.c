/* Calls that touch neither files nor memory; pipes, signals. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rows.h"

static int to[2], from[2];
static pid_t child;
static char buffer[4096];

static void null_call(unsigned times)
{
    while (times--)
        getppid();
}

static void yield(unsigned times)
{
    while (times--)
        sched_yield();
}

static void clock_call(unsigned times)
{
    struct timespec t;

    while (times--)
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
}

static void time_of_day(unsigned times)
{
    struct timeval t;

    while (times--)
        gettimeofday(&t, NULL);
}

static void mask(unsigned times)
{
    sigset_t set;

    sigemptyset(&set);
    while (times--)
        sigprocmask(SIG_BLOCK, &set, NULL);
}

static void sleep_1ns(unsigned times)
{
    while (times--)
        nanosleep(&(struct timespec){0, 1}, NULL);
}

/* ---- pipes ---- */

static void open_pipe(void) { need(pipe(to) == 0); }

static void close_pipe(void)
{
    close(to[0]);
    close(to[1]);
}

static void dup_close(unsigned times)
{
    while (times--)
        need(close(dup(to[0])) == 0);
}

static void poll_one(unsigned times)
{
    struct pollfd p = {.fd = to[0], .events = POLLIN};

    while (times--)
        need(poll(&p, 1, 0) == 0);
}

static void through(unsigned times, size_t n)
{
    while (times--) {
        need(write(to[1], buffer, n) == (ssize_t)n);
        need(read(to[0], buffer, n) == (ssize_t)n);
    }
}

static void through_1(unsigned times) { through(times, 1); }
static void through_4k(unsigned times) { through(times, sizeof(buffer)); }

static void start_echo(void)
{
    char c;

    need(pipe(to) == 0 && pipe(from) == 0);
    child = fork();
    need(child >= 0);
    if (child == 0) {
        close(to[1]);
        while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1)
            ;
        _exit(0);
    }
    close(to[0]);
}

static void stop_echo(void)
{
    close(to[1]);
    close(from[0]);
    close(from[1]);
    need(waitpid(child, NULL, 0) == child);
}

static void round_trip(unsigned times)
{
    char c = 'x';

    while (times--)
        need(write(to[1], &c, 1) == 1 && read(from[0], &c, 1) == 1);
}

/* ---- signals ---- */

static volatile unsigned taken;

static void on_signal(int sig)
{
    (void)sig;
    taken++;
}

static void on_information(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)info;
    (void)context;
    taken++;
}

static void handle(void)
{
    need(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL) == 0);
}

static void handle_information(void)
{
    struct sigaction a = {.sa_sigaction = on_information, .sa_flags = SA_SIGINFO};

    need(sigaction(SIGUSR1, &a, NULL) == 0);
}

static void send(unsigned times)
{
    pid_t self = getpid();

    while (times--)
        kill(self, SIGUSR1);
}

const struct row call_rows[] = {
    {"null", 1000, null_call, NULL, NULL},
    {"sched_yield", 1000, yield, NULL, NULL},
    {"clock_gettime", 1000, clock_call, NULL, NULL},
    {"gettimeofday", 1000, time_of_day, NULL, NULL},
    {"sigprocmask", 1000, mask, NULL, NULL},
    {"nanosleep_1ns", 50, sleep_1ns, NULL, NULL},
    {"dup_close", 500, dup_close, open_pipe, close_pipe},
    {"poll", 500, poll_one, open_pipe, close_pipe},
    {"pipe_self", 500, through_1, open_pipe, close_pipe},
    {"pipe_self_4k", 200, through_4k, open_pipe, close_pipe},
    {"pipe_round_trip", 200, round_trip, start_echo, stop_echo},
    {"signal", 500, send, handle, NULL},
    {"signal_information", 500, send, handle_information, NULL},
    {0},
};
