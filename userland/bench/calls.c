// RUN: -m 1G
/* The cost of system calls and processes: a null call, sched_yield, a pipe round trip, fork + exit
 * + wait, fork + exec + wait. */
#include "bench.h"

#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 1000
#define TRIPS 200
#define FORKS 8

static void null_call(void)
{
    struct bench b = {0};

    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < CALLS; i++)
            getpid(); /* the C library does not cache the result */
        bench_stop(&b);
    }
    bench_report("null_syscall", &b, CALLS);
}

static void yield(void)
{
    struct bench b = {0};

    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < CALLS; i++)
            sched_yield();
        bench_stop(&b);
    }
    bench_report("sched_yield", &b, CALLS);
}

/* One byte to a child and one byte back: four system calls and two context switches. */
static void pipe_trip(void)
{
    struct bench b = {0};
    int to[2], from[2];
    char c = 'x';
    pid_t pid;

    bench_need(pipe(to) == 0 && pipe(from) == 0);
    pid = fork();
    bench_need(pid >= 0);
    if (pid == 0) {
        close(to[1]);
        while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1)
            ;
        _exit(0);
    }
    close(to[0]);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < TRIPS; i++)
            bench_need(write(to[1], &c, 1) == 1 && read(from[0], &c, 1) == 1);
        bench_stop(&b);
    }
    close(to[1]);
    close(from[0]);
    close(from[1]);
    bench_need(waitpid(pid, NULL, 0) == pid);
    bench_report("pipe_round_trip", &b, TRIPS);
}

static void fork_exit_wait(void)
{
    struct bench b = {0};

    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < FORKS; i++) {
            pid_t pid = fork();

            if (pid == 0)
                _exit(0);
            bench_need(pid > 0 && waitpid(pid, NULL, 0) == pid);
        }
        bench_stop(&b);
    }
    bench_report("fork_exit_wait", &b, FORKS);
}

/* The child executes this program, which exits at once if its name is "leave". */
static void fork_exec_wait(void)
{
    struct bench b = {0};
    char *argv[] = {"leave", NULL}, *env[] = {NULL};

    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < FORKS; i++) {
            int status;
            pid_t pid = fork();

            if (pid == 0) {
                execve("/bench/calls", argv, env);
                _exit(1);
            }
            bench_need(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
        }
        bench_stop(&b);
    }
    bench_report("fork_exec_wait", &b, FORKS);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!strcmp(argv[0], "leave"))
        _exit(0);
    null_call();
    yield();
    pipe_trip();
    fork_exit_wait();
    fork_exec_wait();
    return 0;
}
