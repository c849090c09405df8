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

/* An exchange takes fewer instructions than a compare-and-swap, and stores no other value. */
static inline bool spin_try_take(struct spinlock *l)
{
    return __atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE) == 0;
}

/* Note that t, whose innermost lock was `below`, has taken l, at pc. */
static inline void spin_note_above(struct spinlock *l, struct thread *t, struct spinlock *below,
                                   uint64_t pc)
{
    __atomic_store_n(&l->holder, t, __ATOMIC_RELAXED);
    l->below = below;
    __atomic_signal_fence(__ATOMIC_RELEASE); /* an interrupt may walk the chain from here on */
    thread_spin_top_set(t, l);
    l->taken_at = pc;
}

static inline void spin_note_taken(struct spinlock *l, struct thread *t, uint64_t pc)
{
    spin_note_above(l, t, thread_spin_top(t), pc);
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

/* Release l, above which `below` is innermost. */
static inline void spin_release_to(struct spinlock *l, struct thread *t, struct spinlock *below)
{
    thread_spin_top_set(t, below);
    __atomic_store_n(&l->holder, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
}

static inline void spin_release_plain(struct spinlock *l, struct thread *t)
{
    spin_release_to(l, t, l->below);
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

/* The same for a caller that knows what the checks would ask: it has set the IPL to that of l
 * itself, and its innermost lock is `below`, of a lower rank, or NULL: it has none. So l need not
 * be checked again when the same function releases it, by spin_release_to(). */
static inline __attribute__((always_inline)) bool spin_lock_above(struct spinlock *l,
                                                                  struct spinlock *below)
{
    if (unlikely(lockstat_on(LOCKSTAT_SPIN) || !spin_try_take(l)))
        return false;
    spin_note_above(l, thread_self(), below, cpu_pc());
    return true;
}

/* As spin_lock() for a caller that holds no spinlock, at IPL 0. False: l was not taken. So for
 * spin_lock_above(), l need not be checked again when the same function releases it. */
static inline __attribute__((always_inline)) bool spin_lock_first(struct spinlock *l)
{
    ipl_t old;

    if (unlikely(lockstat_on(LOCKSTAT_SPIN) || thread_spin_top(thread_self()) != NULL))
        return false;
    old = ipl_set(l->ipl);
    if (unlikely(old != IPL_NONE || !spin_try_take(l))) {
        ipl_set(old);
        return false;
    }
    spin_note_above(l, thread_self(), NULL, cpu_pc());
    return true;
}

/* Does a reschedule wait for this CPU's IPL to be 0? Then call sched_preempt(). */
static inline bool spin_resched_pending(void)
{
    return unlikely(__atomic_load_n(&current_hw->cpu->resched, __ATOMIC_RELAXED) != 0);
}

/* As ipl_restore(IPL_NONE). */
static inline __attribute__((always_inline)) void ipl_restore_none(void)
{
    if (unlikely(thread_spin_top(thread_self()) != NULL)) {
        ipl_restore(IPL_NONE);
        return;
    }
    ipl_set(IPL_NONE);
    if (spin_resched_pending())
        sched_preempt();
}

#endif
