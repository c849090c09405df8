/*
 * Stopping all threads at safe points, for a check of structures that no lock covers as a whole.
 *
 * A safe point: on the way out to user mode, with nothing held (the thread parks there); in a wait
 * for an event, with no mutex held and not on the way to one; an idle thread between two rounds.
 * What a thread has at such a point is in structures that others can find.
 */
#ifndef KERNEL_SCHED_FREEZE_H
#define KERNEL_SCHED_FREEZE_H

#include "kernel/base/types.h"

/* Bit of hw.syscall_exit: park on the way out to user mode. */
#define EXIT_FREEZE 4ul

/* Who did not stop, and why. */
struct freeze_blocker {
    uint32_t tid; /* 0: nobody, another freeze was under way all the time */
    char name[16];
    char why[64];
};

/* Stop all threads but the current one: on success (0) it is the only one that runs, until
   sched_thaw() (interrupts are served as always, and may make threads ready that then do not run).
   Others that freeze at the same time wait their turn. -ETIMEDOUT with *who when not all have
   stopped by clock_ns() + limit_ns, -ENOMEM; everything goes on then. IPL 0, no spinlock, no
   mutex. Waits. */
int sched_freeze(uint64_t limit_ns, struct freeze_blocker *who);
/* Let all go on. By the thread that froze them. */
void sched_thaw(void);
/* Is t one of the threads that hold CPUs for a freeze? They are made at the first and stay. */
struct thread;
bool sched_is_stopper(const struct thread *t);
/* The current thread, on its way out to user mode with EXIT_FREEZE set. IPL 0. */
void sched_freeze_park(void);

#endif
