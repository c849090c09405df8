/*
 * Shared holds of a mutex that are a part of the caller's own code: for the page fault, whose usual
 * course calls no function at all, and so saves no registers (mm/space/fault.c). They do what the
 * functions of mutex.h do in the usual case, with the same checks; in any other they do nothing,
 * and the caller goes on with the function.
 */
#ifndef KERNEL_SCHED_MUTEX_QUICK_H
#define KERNEL_SCHED_MUTEX_QUICK_H

#include "kernel/sched/lockstat.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/mutex_word.h"
#include "kernel/sched/thread.h"

/* Take m as mutex_lock_shared() does, if no statistics are made, no writer has it or waits for it,
   and the caller holds no mutex, which makes any rank right. False: it is not taken. */
static inline bool mutex_quick_lock_shared(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t old = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

    if (unlikely(t->held_mutexes != 0 || thread_spin_top(t) != NULL || ipl_get() != IPL_NONE ||
                 (old & (MUTEX_WRITER | MUTEX_WAITERS)) || lockstat_on(LOCKSTAT_MUTEX) ||
                 !mutex_word_cas(&m->state, &old, old + MUTEX_READER)))
        return false;
    t->held[0] = m;
    t->held_at[0] = cpu_pc();
    __atomic_signal_fence(__ATOMIC_RELEASE); /* a clock tick reads held[0] if it sees the number */
    __atomic_store_n(&t->held_mutexes, 1, __ATOMIC_RELAXED);
    return true;
}

/* Release m, which mutex_quick_lock_shared() has taken, and since when the thread has taken no
   other mutex. False: it is not released, because somebody waits or statistics are made. */
static inline bool mutex_quick_unlock_shared(struct mutex *m)
{
    uint64_t old = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

    if (unlikely((old & (MUTEX_WAITERS | MUTEX_WRITER)) || lockstat_on(LOCKSTAT_MUTEX) ||
                 !__atomic_compare_exchange_n(&m->state, &old, old - MUTEX_READER, true,
                                              __ATOMIC_RELEASE, __ATOMIC_RELAXED)))
        return false;
    __atomic_store_n(&thread_self()->held_mutexes, 0, __ATOMIC_RELAXED);
    return true;
}

#endif
