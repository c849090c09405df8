#define _GNU_SOURCE
#include "siege.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Children that have children; sessions and groups whose leaders have ended. */
void attack_fork(void)
{
    for (;;) {
        pid_t pid = fork();

        if (pid < 0)
            siege_nap_ms(100);
        if (pid == 0) {
            if (siege_draw(2))
                setsid();
            siege_seed((uint64_t)getpid());
            if (siege_draw(3) == 0)
                _exit(0);
        } else if (siege_draw(4) == 0) {
            waitpid(-1, NULL, WNOHANG);
        }
        siege_nap_ms(20);
    }
}

/* Programs with many arguments, one after the other. */
void attack_exec(void)
{
    static char *args[600];

    for (unsigned i = 0; i < 599; i++)
        args[i] = "an argument among many others";
    for (;;) {
        pid_t pid = fork();

        if (pid == 0) {
            execv(siege_draw(2) ? "/bin/true" : "/bin/none", args);
            _exit(1);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) < 0)
            siege_nap_ms(50);
    }
}

/* Signals to everybody. Those of this user that are stopped are continued some time. */
void attack_kill(void)
{
    static const int signals[] = {SIGSTOP, SIGCONT, SIGCONT, SIGCONT, SIGUSR1, SIGALRM, SIGCHLD, 0};

    signal(SIGUSR1, SIG_IGN);
    signal(SIGALRM, SIG_IGN);
    for (;;) {
        kill((pid_t)siege_draw(32768) + 1, signals[siege_draw(8)]);
        if (siege_draw(200) == 0)
            kill(-1, SIGCONT);
        if (siege_draw(20) == 0)
            siege_nap_ms(20);
    }
}

/* CPU time, at every priority. */
void attack_compute(void)
{
    for (;;) {
        setpriority(PRIO_PROCESS, 0, (int)siege_draw(20));
        for (volatile unsigned i = 0; i < 10000000; i++)
            ;
        sched_yield();
    }
}

/* Interval timers that are due all the time. */
void attack_timer(void)
{
    struct itimerval t = {{0, 1}, {0, 1}};

    signal(SIGALRM, SIG_IGN);
    setitimer(ITIMER_REAL, &t, NULL);
    for (;;)
        pause();
}

/* Sleeps of a nanosecond, and polls of nothing. */
void attack_sleep(void)
{
    struct timespec t = {0, 1};

    for (;;) {
        nanosleep(&t, NULL);
        poll(NULL, 0, 0);
    }
}

/* The fuzzer of system calls, again and again. */
void attack_calls(void)
{
    for (;;) {
        char seed[24];
        pid_t pid = fork();

        if (pid == 0) {
            int none = open("/dev/null", O_RDWR);

            snprintf(seed, sizeof(seed), "%d", getpid());
            setenv("IN_COMPANY", "1", 1); /* else it ends where only root may go on */
            dup2(none, 1);
            dup2(none, 2);
            execl("/tests/syscall_fuzz", "syscall_fuzz", seed, "2", "300", "1", NULL);
            _exit(1);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) < 0)
            siege_nap_ms(200);
        siege_nap_ms(100);
    }
}
