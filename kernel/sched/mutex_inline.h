/*
 * The usual case of the functions of mutex.h in line: nobody else has or wants the mutex, the
 * caller holds no other, which makes any rank right, and nothing is measured. The checks are those
 * of mutex.c.
 *
 * There are two kinds. mutex_quick_...() return false if they have done nothing, because a check
 * failed: they are for callers that go on elsewhere then, and so save no registers, like the page
 * fault (mm/space/fault.c). The others call the function of mutex.h, which does the whole
 * operation.
 */
#ifndef KERNEL_SCHED_MUTEX_INLINE_H
#define KERNEL_SCHED_MUTEX_INLINE_H

#include "kernel/sched/ipl.h"
#include "kernel/sched/lockstat.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/mutex_word.h"
#include "kernel/sched/thread.h"

/* May t, the caller, take any mutex, and is none measured? */
static inline __attribute__((always_inline)) bool mutex_quick_may_take(const struct thread *t)
{
    if (unlikely(t->held_mutexes != 0 || thread_spin_top(t) != NULL || ipl_get() != IPL_NONE ||
                 lockstat_on(LOCKSTAT_MUTEX)))
        return false;
    return true;
}

/* Note that t, the caller, has taken m, its first mutex. */
static inline __attribute__((always_inline)) void mutex_quick_note(struct thread *t,
                                                                   struct mutex *m)
{
    t->held[0] = m;
    t->held_at[0] = cpu_pc();
    __atomic_signal_fence(__ATOMIC_RELEASE); /* a clock tick reads held[0] if it sees the number */
    __atomic_store_n(&t->held_mutexes, 1, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) bool mutex_quick_is_only(const struct thread *t,
                                                                      const struct mutex *m)
{
    if (unlikely(t->held_mutexes != 1 || t->held[0] != m))
        return false;
    return true;
}

/* As mutex_lock_shared(), if it need not wait. */
static inline __attribute__((always_inline)) bool mutex_quick_lock_shared(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t old = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

    if (unlikely(!mutex_quick_may_take(t) || (old & (MUTEX_WRITER | MUTEX_WAITERS)) ||
                 !mutex_word_cas(&m->state, &old, old + MUTEX_READER)))
        return false;
    mutex_quick_note(t, m);
    return true;
}

/* As mutex_unlock_shared(), if the caller holds no other, and nobody waits. */
static inline __attribute__((always_inline)) bool mutex_quick_unlock_shared(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t old = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

    if (unlikely(!mutex_quick_is_only(t, m) || (old & (MUTEX_WAITERS | MUTEX_WRITER)) ||
                 lockstat_on(LOCKSTAT_MUTEX) ||
                 !__atomic_compare_exchange_n(&m->state, &old, old - MUTEX_READER, true,
                                              __ATOMIC_RELEASE, __ATOMIC_RELAXED)))
        return false;
    __atomic_store_n(&t->held_mutexes, 0, __ATOMIC_RELAXED);
    return true;
}

/* As mutex_lock(), if it need not wait. */
static inline __attribute__((always_inline)) bool mutex_quick_lock(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t open = 0;

    if (unlikely(!mutex_quick_may_take(t) || !mutex_word_cas(&m->state, &open, MUTEX_WRITER)))
        return false;
    __atomic_store_n(&m->owner, t, __ATOMIC_RELAXED);
    mutex_quick_note(t, m);
    return true;
}

/* As mutex_unlock(), if the caller holds no other, and nobody waits. Owner and record are cleared
 * first, because the next writer sets its own; if somebody waits, they are as before. */
static inline __attribute__((always_inline)) bool mutex_quick_unlock(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t only_writer = MUTEX_WRITER;

    if (unlikely(!mutex_quick_is_only(t, m) || __atomic_load_n(&m->owner, __ATOMIC_RELAXED) != t ||
                 lockstat_on(LOCKSTAT_MUTEX)))
        return false;
    __atomic_store_n(&m->owner, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&t->held_mutexes, 0, __ATOMIC_RELAXED);
    if (likely(__atomic_compare_exchange_n(&m->state, &only_writer, 0, true, __ATOMIC_RELEASE,
                                           __ATOMIC_RELAXED)))
        return true;
    __atomic_store_n(&t->held_mutexes, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&m->owner, t, __ATOMIC_RELAXED);
    return false;
}

static inline __attribute__((always_inline)) int mutex_lock_killable_inline(struct mutex *m)
{
    return likely(mutex_quick_lock(m)) ? 0 : mutex_lock_killable(m);
}

static inline __attribute__((always_inline)) void mutex_unlock_inline(struct mutex *m)
{
    if (unlikely(!mutex_quick_unlock(m)))
        mutex_unlock(m);
}

static inline __attribute__((always_inline)) int mutex_lock_shared_killable_inline(struct mutex *m)
{
    return likely(mutex_quick_lock_shared(m)) ? 0 : mutex_lock_shared_killable(m);
}

static inline __attribute__((always_inline)) void mutex_unlock_shared_inline(struct mutex *m)
{
    if (unlikely(!mutex_quick_is_only(thread_self(), m) || !mutex_quick_unlock_shared(m)))
        mutex_unlock_shared(m);
}

#endif
