/*
 * What is said when the rules of locks are broken. The questions are asked where locks are taken
 * and released (spinlock.c, mutex.c, ipl.h), in every build; here are the answers, which name both
 * places: where the offence is, and where what is in the way was taken, or the IPL raised. A place
 * is a PC; %pS prints it as function and offset.
 *
 * All of them panic; one may be called again while a panic is under way, and then returns.
 */
#ifndef KERNEL_SCHED_LOCKCHECK_H
#define KERNEL_SCHED_LOCKCHECK_H

#include "kernel/sched/mutex.h"
#include "kernel/sched/spinlock.h"

/* l is taken at `place` with top held, whose rank does not let it. */
void lockcheck_spin_rank(const struct spinlock *l, const struct spinlock *top, uint64_t place)
    __attribute__((cold));
/* l is taken at `place` at an IPL that is not its own. */
void lockcheck_spin_ipl(const struct spinlock *l, ipl_t ipl, uint64_t place) __attribute__((cold));
/* l is released at `place` by somebody who does not hold it. */
void lockcheck_spin_release(const struct spinlock *l, uint64_t place) __attribute__((cold));
/* The IPL goes down to `to` at `place`, below that of `held`. */
void lockcheck_ipl_lowered(const struct spinlock *held, ipl_t to, uint64_t place)
    __attribute__((cold));
/* l has been waited for too long at `place`. */
void lockcheck_spun(const struct spinlock *l, uint64_t seconds, uint64_t place)
    __attribute__((cold));

/* May the current thread take m? rank: its rank counts (it will wait, if need be). Returns when it
 * may. */
void lockcheck_mutex(const struct mutex *m, bool rank, uint64_t place);
/* m is released at `place` by a thread that does not hold it (so). */
void lockcheck_mutex_release(const struct mutex *m, uint64_t place) __attribute__((cold, noreturn));

/* The current thread does at `place` what may be done at IPL 0 with no spinlock held only: does
 * says what ("waits"). */
void lockcheck_may_not(const char *does, ipl_t ipl, uint64_t place) __attribute__((cold, noreturn));
/* The current thread ends or is in user mode (`does`) with a lock held; place: who ends it, or 0.
 */
void lockcheck_left(const char *does, uint64_t place) __attribute__((cold, noreturn));
/* An interrupt handler comes back with l held. */
void lockcheck_left_by_handler(const struct spinlock *l) __attribute__((cold, noreturn));

#endif
