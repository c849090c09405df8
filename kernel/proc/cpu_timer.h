/*
 * Timers that count the CPU time of a process: ITIMER_VIRTUAL, ITIMER_PROF and RLIMIT_CPU; and when
 * those of $SETIMR are to be looked at (kernel/event/tqe.c).
 *
 * While a process has one (process.cpu_timers.watched), a clock tick that meets one of its threads
 * in user mode makes the thread take the slow path of its return there, which compares the times:
 * in the thread's own time, not in the interrupt. So such a timer expires at most 1,024 times a
 * second, and no earlier than its time.
 */
#ifndef KERNEL_PROC_CPU_TIMER_H
#define KERNEL_PROC_CPU_TIMER_H

#include "kernel/base/types.h"

struct process;

/* Bit of hw.syscall_exit: compare the timers. */
#define EXIT_CPU_TIME 8ul

enum cpu_timer { CPU_TIMER_VIRTUAL, CPU_TIMER_PROF, CPU_TIMERS };

struct cpu_timers {
    /* Of the process's CPU time, ns: the next expiration, 0: none, and the interval. Signal lock.
       */
    struct {
        uint64_t at, every;
    } timer[CPU_TIMERS];
    bool exceeded;     /* it ends because it has reached the hard limit: set under the signal lock,
                          read by its last thread */
    uint64_t warned_s; /* the second of CPU time for which SIGXCPU was sent, plus 1; signal lock */
    bool watched;      /* atomic: there is a timer or a limit */
};

/* Set a timer of the current process: first and interval in ns, first 0: off. The previous setting
 * goes to *left and *old_every. IPL 0. */
void cpu_timer_set(enum cpu_timer which, uint64_t first, uint64_t every, uint64_t *left,
                   uint64_t *old_every);
void cpu_timer_get(enum cpu_timer which, uint64_t *left, uint64_t *every);
/* The current process has got a timer of CPU time by $SETIMR. */
void cpu_timers_watch(void);
/* p's RLIMIT_CPU has been set, or inherited. */
void cpu_timers_limit_set(struct process *p);
/* By process_return_slow, for EXIT_CPU_TIME: send the signals of what has expired. IPL 0. */
void cpu_timers_check(void);
void cpu_timers_boot(void);

#endif
