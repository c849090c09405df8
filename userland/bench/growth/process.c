/* Rows of processes. */
#include "growth.h"

#include <efndef.h>
#include <iledef.h>
#include <jpidef.h>
#include <starlet.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  8192ul
#define FORKS 8

/* Fork a child that waits at a gate, a pipe, until its parent closes it. */
static void fork_waiting(const int gate[2])
{
    pid_t pid = fork();
    char c;

    bench_need(pid >= 0);
    if (pid == 0) {
        close(gate[1]);
        _exit(read(gate[0], &c, 1) == 0 ? 0 : 1);
    }
}

static void end_waiting(const int gate[2], uint64_t n)
{
    close(gate[1]);
    for (uint64_t i = 0; i < n; i++)
        bench_need(wait(NULL) > 0);
}

/* n children wait at a gate while their parent forks one more. The parent
 * and each new child also write memory that was last written before all the children were there. */
static double fork_exit_wait(uint64_t n)
{
    struct bench b = {0};
    int gate[2];
    volatile char *old = mmap(NULL, BENCH_ROUNDS * FORKS * PAGE, PROT_READ | PROT_WRITE,
                              MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);

    bench_need(old != MAP_FAILED && pipe(gate) == 0);
    for (unsigned long i = 0; i < BENCH_ROUNDS * FORKS; i++)
        old[i * PAGE] = 1;
    for (uint64_t i = 0; i < n; i++) {
        fork_waiting(gate);
        old[0] = 1; /* so that the parent has something new to share with the next one */
    }
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < FORKS; i++) {
            pid_t pid = fork();

            old[(r * FORKS + i) * (long)PAGE] = 2;
            if (pid == 0)
                _exit(0);
            bench_need(pid > 0 && waitpid(pid, NULL, 0) == pid);
        }
        bench_stop(&b);
    }
    end_waiting(gate, n);
    return growth_median(&b, FORKS);
}

/* The cost of one call while n processes of another group are there. */
static double beside(uint64_t n, void (*call)(void))
{
    struct bench b = {0};
    int gate[2];

    bench_need(pipe(gate) == 0);
    for (uint64_t i = 0; i < n; i++)
        fork_waiting(gate);
    bench_need(setpgid(0, 0) == 0);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        call();
        bench_stop(&b);
    }
    end_waiting(gate, n);
    return growth_median(&b, 1);
}

/* A signal to a group of one process, and the group's nice value. */
static void ask_group(void)
{
    bench_need(kill(0, 0) == 0);
    bench_need(getpriority(PRIO_PGRP, 0) == 0);
}

/* One step of a search over all processes. */
static void ask_next(void)
{
    unsigned pid = 0x80000000u | (unsigned)(getpid() - 1), found = 0;
    ILE3 items[2] = {
        {.ile3$w_length = sizeof(found), .ile3$w_code = JPI$_PID, .ile3$ps_bufaddr = &found}};

    bench_need((sys$getjpiw(EFN$C_ENF, &pid, 0, items, 0, 0, 0) & 1) &&
               found == (unsigned)getpid());
}

static double signal_group(uint64_t n) { return beside(n, ask_group); }
static double next_process(uint64_t n) { return beside(n, ask_next); }

const struct growth_row growth_process[] = {
    {"fork, exit and wait", "children", 100, 4000, 1.2, 150000, fork_exit_wait},
    {"signal a group of one", "other processes", 100, 4000, 1.3, 0, signal_group},
    {"ask for the next process", "processes", 100, 4000, 1.3, 0, next_process},
    {.name = NULL},
};
