/*
 * Stopping all threads at safe points, for a check of structures that no single lock covers.
 *
 * A thread is at a safe point
 *   - on its way out to user mode, with no lock held (it parks there);
 *   - in a wait for an event, with no mutex held and not waiting for one;
 *   - between two steps of a long loop (sched_loop_point), with no mutex held;
 *   - if it is an idle thread, between two rounds of its loop.
 * At such a point everything that a thread owns is recorded in structures that others can find.
 */
#ifndef KERNEL_SCHED_FREEZE_H
#define KERNEL_SCHED_FREEZE_H

#include "kernel/base/types.h"

struct thread;

/* Bit of hw.syscall_exit: park on the way out to user mode. */
#define EXIT_FREEZE 4ul

/* A thread that did not stop, and the reason. */
struct freeze_blocker {
    uint32_t tid; /* 0: no thread; another freeze was in progress all the time */
    char name[16];
    char why[64];
};

/* Stop all threads but the current one. On success (0) it is the only one that runs until
   sched_thaw(); interrupts are served as always, and threads that they make ready do not run yet.
   If another thread freezes at the same time, waits for its turn. -ETIMEDOUT, with *who filled in,
   if not all threads have stopped by clock_ns() + limit_ns; -ENOMEM. After an error all threads run
   again. IPL 0, no spinlock, no mutex. Waits. */
int sched_freeze(uint64_t limit_ns, struct freeze_blocker *who);
/* Let all threads run again. Called by the thread that froze them. IPL 0. */
void sched_thaw(void);
/* Is t one of the threads that hold CPUs during a freeze? They are created by the first freeze and
   kept. */
bool sched_is_stopper(const struct thread *t);
/* Park the current thread, which is on its way out to user mode with EXIT_FREEZE set. IPL 0. */
void sched_freeze_park(void);

/* thread_killed() for loops that may run for seconds, between two steps that hold no mutex, when
   all that the thread has allocated is recorded where others find it: such a point is safe, and a
   thread that is to park does so here. IPL 0. May wait. */
bool sched_loop_point(void);

#endif
