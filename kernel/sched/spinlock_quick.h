/*
 * Private to kernel/sched: the quick paths of spinlock.c in line, for functions that are called so
 * often that a call for each lock matters. They make the same checks; where one fails, or there is
 * something to measure, they do nothing and say so, and the caller goes on with the ordinary
 * function.
 */
#ifndef KERNEL_SCHED_SPINLOCK_QUICK_H
#define KERNEL_SCHED_SPINLOCK_QUICK_H

#include "kernel/sched/lockstat.h"
#include "kernel/sched/thread.h"

static inline bool spin_try_take(struct spinlock *l)
{
    uint64_t free = 0;

    return __atomic_compare_exchange_n(&l->taken, &free, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/* Note that t has taken l, at pc. */
static inline void spin_note_taken(struct spinlock *l, struct thread *t, uint64_t pc)
{
    __atomic_store_n(&l->holder, t, __ATOMIC_RELAXED);
    l->below = thread_spin_top(t);
    __atomic_signal_fence(__ATOMIC_RELEASE); /* an interrupt may walk the chain from here on */
    thread_spin_top_set(t, l);
    l->taken_at = pc;
}

static inline bool spin_rank_rises(const struct spinlock *l, const struct thread *t)
{
    const struct spinlock *top = thread_spin_top(t);

    return top == NULL || top->rank < l->rank;
}

/* Is l the innermost lock of t, and nothing measured? */
static inline bool spin_is_plain(const struct spinlock *l, const struct thread *t)
{
    return thread_spin_top(t) == l && !lockstat_on(LOCKSTAT_SPIN);
}

static inline void spin_release_plain(struct spinlock *l, struct thread *t)
{
    thread_spin_top_set(t, l->below);
    __atomic_store_n(&l->holder, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
}

/* As spin_lock_at_ipl(). False: l was not taken. */
static inline __attribute__((always_inline)) bool spin_lock_quickly(struct spinlock *l)
{
    struct thread *t = thread_self();

    if (unlikely(ipl_get() != l->ipl || !spin_rank_rises(l, t) || lockstat_on(LOCKSTAT_SPIN) ||
                 !spin_try_take(l)))
        return false;
    spin_note_taken(l, t, (uint64_t)__builtin_return_address(0));
    return true;
}

/* As spin_lock_at_ipl(), of which the usual case is in line. */
static inline __attribute__((always_inline)) void spin_lock_inline(struct spinlock *l)
{
    if (unlikely(!spin_lock_quickly(l)))
        spin_lock_at_ipl(l);
}

/* As spin_lock(), of which the usual case is in line. */
static inline __attribute__((always_inline)) ipl_t spin_lock_raising(struct spinlock *l)
{
    struct thread *t = thread_self();
    ipl_t old;

    if (unlikely(lockstat_on(LOCKSTAT_SPIN) || thread_spin_top(t) != NULL))
        return spin_lock(l);
    old = ipl_set(l->ipl);
    if (unlikely(old > l->ipl || !spin_try_take(l))) {
        ipl_set(old);
        return spin_lock(l);
    }
    spin_note_taken(l, t, (uint64_t)__builtin_return_address(0));
    return old;
}

/* As spin_unlock(). */
static inline __attribute__((always_inline)) void spin_unlock_lowering(struct spinlock *l,
                                                                       ipl_t old)
{
    struct thread *t = thread_self();

    if (unlikely(!spin_is_plain(l, t) || l->below != NULL || old != IPL_NONE)) {
        spin_unlock(l, old);
        return;
    }
    spin_release_plain(l, t);
    ipl_set(IPL_NONE);
    if (unlikely(__atomic_load_n(&current_hw->cpu->resched, __ATOMIC_RELAXED)))
        sched_preempt();
}

/* As ipl_restore(IPL_NONE). */
static inline __attribute__((always_inline)) void ipl_restore_none(void)
{
    if (unlikely(thread_spin_top(thread_self()) != NULL)) {
        ipl_restore(IPL_NONE);
        return;
    }
    ipl_set(IPL_NONE);
    if (unlikely(__atomic_load_n(&current_hw->cpu->resched, __ATOMIC_RELAXED)))
        sched_preempt();
}

/* As spin_unlock_at_ipl(), to be a function's last action. */
static inline __attribute__((always_inline)) void spin_unlock_quickly(struct spinlock *l)
{
    struct thread *t = thread_self();

    if (unlikely(!spin_is_plain(l, t)))
        spin_unlock_at_ipl(l);
    else
        spin_release_plain(l, t);
}

#endif
