/*
 * Reports of broken locking rules. The rules are checked where locks are acquired and released
 * (spinlock.c, mutex.c, ipl.h), in every build; the functions here complete the check where that is
 * needed and print the report. Each report names two places: where the rule was broken, and where
 * the conflicting lock was taken or the IPL raised. A place is a PC; %pS prints it as function and
 * offset.
 *
 * All of them panic. Those for spinlocks and the IPL return if a panic is in progress already, so
 * that its output is not cut short. Any IPL.
 */
#ifndef KERNEL_SCHED_LOCKCHECK_H
#define KERNEL_SCHED_LOCKCHECK_H

#include "kernel/sched/mutex.h"
#include "kernel/sched/spinlock.h"

/* l is acquired at `place` while top is held, and l's rank is not above top's. */
void lockcheck_spin_rank(const struct spinlock *l, const struct spinlock *top, uint64_t place)
    __attribute__((cold));
/* l is acquired at `place` at an IPL that is not the one of the lock. */
void lockcheck_spin_ipl(const struct spinlock *l, ipl_t ipl, uint64_t place) __attribute__((cold));
/* l is released at `place` by a thread that does not hold it. */
void lockcheck_spin_release(const struct spinlock *l, uint64_t place) __attribute__((cold));
/* The IPL is lowered to `to` at `place`, below that of the spinlock `held`. */
void lockcheck_ipl_lowered(const struct spinlock *held, ipl_t to, uint64_t place)
    __attribute__((cold));
/* The current CPU has waited for l for `ms` at `place`, longer than the limit. */
void lockcheck_spun(const struct spinlock *l, uint64_t ms, uint64_t place) __attribute__((cold));

/* Check whether the current thread may take m; returns if it may. rank: check the rank too (the
 * caller is going to wait for m if it is held; mutex_try_lock() is not). */
void lockcheck_mutex(const struct mutex *m, bool rank, uint64_t place);
/* m is released at `place` by a thread that does not hold it, or not in this mode. */
void lockcheck_mutex_release(const struct mutex *m, uint64_t place) __attribute__((cold, noreturn));

/* The current thread does at `place` something that requires IPL 0 and no spinlock held; `does` is
 * the verb for the message ("waits"). */
void lockcheck_may_not(const char *does, ipl_t ipl, uint64_t place) __attribute__((cold, noreturn));
/* The current thread ends or is in user mode (`does`) with a lock held. place: the caller that ends
 * it, or 0. */
void lockcheck_left(const char *does, uint64_t place) __attribute__((cold, noreturn));
/* An interrupt handler returns with l held, or (NULL) has released locks of the interrupted
   code. */
void lockcheck_left_by_handler(const struct spinlock *l) __attribute__((cold, noreturn));

#endif
