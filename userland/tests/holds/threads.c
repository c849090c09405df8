/* Growths of threads of one process. */
#define _GNU_SOURCE
#include "holds.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint32_t words[2]; /* where they wait: the first, or after a requeue the second */

static void *at_word(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&words[1], __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &words[0], FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0);
    return NULL;
}

static void ignore(int sig) { (void)sig; }

/* Start n threads that block SIGUSR1, as the caller does. */
static void start(unsigned n)
{
    pthread_attr_t a;
    sigset_t set;
    pthread_t t;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGUSR1, ignore);
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 16384);
    while (n--)
        need(pthread_create(&t, &a, at_word, NULL) == 0);
}

/* Wake n waiters, half of them after a requeue. */
static void wake(unsigned n)
{
    long moved;

    do {
        usleep(1000);
        moved = syscall(SYS_futex, &words[0], FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0,
                        (void *)(long)n, &words[0], 0);
    } while (moved < (long)n);
    moved = syscall(SYS_futex, &words[0], FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 1,
                    (void *)(long)(n / 2), &words[1], 0);
    need(moved > (long)(n / 2));
    words[0] = words[1] = 1;
    syscall(SYS_futex, &words[1], FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL, 0);
    syscall(SYS_futex, &words[0], FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL, 0);
}

/* A child with n threads that is stopped, continued, looked at and ended in that way. */
static void child(unsigned n, int how)
{
    struct timespec used;
    int status;
    pid_t pid = fork();

    need(pid >= 0);
    if (pid == 0) {
        start(n);
        raise(SIGSTOP);
        kill(getpid(), SIGUSR1); /* nobody takes it */
        if (how == SIGKILL)
            wake(n); /* and they end */
        if (how == 0)
            _exit(0);
        for (;;)
            pause();
    }
    need(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    kill(pid, SIGCONT);
    usleep(20000);
    if (how) {
        clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &used);
        kill(pid, SIGUSR1);
        kill(pid, SIGSTOP);
        kill(pid, SIGCONT);
        kill(pid, how);
    }
    need(waitpid(pid, &status, 0) == pid);
}

static void threads(unsigned n)
{
    child(n, 0);
    child(n, SIGTERM);
    child(n, SIGKILL);
}

const struct growth growth_threads[] = {{"threads", threads}, {0}};
