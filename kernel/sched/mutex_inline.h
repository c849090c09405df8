/*
 * The usual case of the functions of mutex.h in line, for callers that take one mutex after the
 * other: nobody else has or wants it, the caller holds no other, and nothing is measured. The
 * checks are those of mutex.c; where one fails, the function there does the whole operation.
 */
#ifndef KERNEL_SCHED_MUTEX_INLINE_H
#define KERNEL_SCHED_MUTEX_INLINE_H

#include "kernel/sched/ipl.h"
#include "kernel/sched/lockstat.h"
#include "kernel/sched/mutex_word.h"
#include "kernel/sched/thread.h"

static inline __attribute__((always_inline)) int mutex_lock_shared_killable_inline(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t old = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

    if (unlikely(t->held_mutexes != 0 || thread_spin_top(t) != NULL || ipl_get() != IPL_NONE ||
                 lockstat_on(LOCKSTAT_MUTEX) || (old & (MUTEX_WRITER | MUTEX_WAITERS)) ||
                 !mutex_word_cas(&m->state, &old, old + MUTEX_READER)))
        return mutex_lock_shared_killable(m);
    t->held[0] = m;
    t->held_at[0] = cpu_pc();
    __atomic_signal_fence(__ATOMIC_RELEASE); /* a clock tick reads held[0] if it sees 1 */
    __atomic_store_n(&t->held_mutexes, 1, __ATOMIC_RELAXED);
    return 0;
}

static inline __attribute__((always_inline)) void mutex_unlock_shared_inline(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t old = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

    if (unlikely(t->held_mutexes != 1 || t->held[0] != m ||
                 (old & (MUTEX_WAITERS | MUTEX_WRITER)) || lockstat_on(LOCKSTAT_MUTEX) ||
                 !__atomic_compare_exchange_n(&m->state, &old, old - MUTEX_READER, true,
                                              __ATOMIC_RELEASE, __ATOMIC_RELAXED)))
        mutex_unlock_shared(m);
    else
        __atomic_store_n(&t->held_mutexes, 0, __ATOMIC_RELAXED);
}

#endif
