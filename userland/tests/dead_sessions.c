// TAP
// RUN: --smp 1 --icount -m 2G --set MAXPROCESSCNT=8192
/*
 * Numbers of processes when many are in use by sessions whose leaders have ended: the search for a
 * free number once went through all processes for each number that it tried, with the process table
 * locked, so that one user could stop every CPU.
 *
 * The numbers wrap at 32,768. Processes are made and ended in two passes of the same length, the
 * first before the wrap, the second behind it, through all numbers that are in use; both must take
 * the same time, which counts instructions. With 3,000 sessions the second pass took four times as
 * long as the first one.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define SESSIONS 3000
#define PASS     12000
#define WRAP     32768

static int hold[2];

/* A process in a session whose leader has ended. It ends when the pipe is closed. */
static bool session_without_leader(void)
{
    int status;
    char c;
    pid_t leader = fork();

    if (leader == 0) {
        close(hold[1]);
        if (setsid() < 0)
            _exit(1);
        if (fork() == 0)
            _exit(read(hold[0], &c, 1) == 0 ? 0 : 1);
        _exit(0);
    }
    return leader > 0 && waitpid(leader, &status, 0) == leader && status == 0;
}

static pid_t short_life(void)
{
    pid_t pid = vfork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

static double pass(unsigned n)
{
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    while (n--)
        if (short_life() < 0)
            return -1;
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

int main(void)
{
    double first, second;
    unsigned made = 0, repeated = 0;
    pid_t last, pid;

    if (pipe(hold))
        return 1;
    while (made < SESSIONS && session_without_leader())
        made++;
    is(made, SESSIONS, "sessions whose leaders have ended");
    first = pass(PASS);
    do
        last = short_life();
    while (last > PASS);
    ok(last > 1, "the numbers begin again");
    for (unsigned i = 0; i < 100; i++) { /* among the numbers in use, and none of them again */
        pid = short_life();
        repeated += pid <= last || kill(pid, 0) == 0;
        last = pid;
    }
    is(repeated, 0, "numbers ascend, and none of them is in use");
    second = pass(PASS);
    ok(first > 0 && second > 0, "%.2f s for %d processes, then %.2f s", first, PASS, second);
    ok(second < 2 * first, "they cost the same when the numbers are used again");
    close(hold[1]);
    return tap_done();
}
