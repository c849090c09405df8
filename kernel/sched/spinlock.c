/*
 * Ranked spinlocks.
 *
 * A lock is one word, taken by an exchange that stores 1 with acquire order and finds 0, and
 * released by a store of 0 with release order, so that the next holder sees all that the last one
 * wrote. A CPU that finds the lock taken reads the word until it is 0 before it tries again, so
 * that waiters do not take the cache line from the holder.
 *
 * These are deliberately not ticket locks. A ticket lock goes to the CPU that came first, which may
 * have lost its host core (four virtual CPUs share two) or be in an interrupt handler, and all CPUs
 * behind it wait for that. Measured: a hundred processes on 4 CPUs took 176 s with ticket locks.
 * The price is that fairness is left to chance; critical sections are bounded, and a CPU that never
 * gets the lock is found by the limit on spinning.
 *
 * Checks. The locks that a CPU holds form a chain from thread_self()->spin_top through `below`: at
 * raised IPL the thread is not preempted, and an interrupt handler runs as the thread that it
 * interrupted, so the chain describes the CPU although it belongs to the thread. The one lock that
 * is held across a context switch, the run queue's, is moved from thread to thread by sched.c.
 * Ranks rise strictly along the chain, except where SPIN_NESTS allows equal ones; comparing with
 * the innermost lock is enough, since the ranks of the remaining locks still rise when locks are
 * released in any order.
 *
 * Why rising ranks and the IPL check prevent a deadlock of CPUs: a cycle of waiting CPUs would need
 * one that holds a higher rank and waits for a lower one, or an interrupt handler that waits for a
 * lock of the code it interrupted. The latter cannot be, since a lock is held only at its own IPL,
 * at which handlers that use it are blocked. For the same reason spin_lock() also panics when it is
 * called above the lock's IPL: the IPL is part of the contract between all users of the lock.
 */
#include "kernel/sched/spinlock.h"

#include "arch/alpha/hw/clock.h"
#include "kernel/base/panic.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/lockcheck.h"
#include "kernel/sched/lockstat.h"
#include "kernel/sched/meter.h"
#include "kernel/sched/patience.h"
#include "kernel/sched/spinlock_quick.h"

void spin_init(struct spinlock *l, const char *name, enum spin_rank rank, ipl_t ipl)
{
    *l = (struct spinlock)SPINLOCK_INIT(name, rank, ipl);
}

/* The IPL is not the lock's: report it, unless the CPU is not online yet and still runs at the
   highest IPL, where it stays. */
static void __attribute__((cold, noinline)) ipl_broken(const struct spinlock *l, ipl_t ipl,
                                                       uint64_t pc)
{
    if ((__atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) >> cpu_id()) & 1)
        lockcheck_spin_ipl(l, ipl, pc);
    ipl_set(ipl);
}

/* Acquire l, which another CPU holds. Runs at the lock's IPL, so that inter-processor requests are
 * answered. Returns the time it took, in cycles, at least 1. The time, less that of interrupts, is
 * added to the CPU's spin_cycles. */
static uint32_t __attribute__((noinline)) spin_wait(struct spinlock *l, uint64_t pc)
{
    uint32_t begin = clock_cycles(), spun;
    struct patience patience = {0};
    struct cpu *c = cpu_self();
    unsigned idle = __atomic_load_n(&c->idle, __ATOMIC_RELAXED) != 0;
    const uint64_t *handlers = &c->interrupt_cycles[idle]; /* atomic: an interrupt adds to them */
    uint64_t interrupts = __atomic_load_n(handlers, __ATOMIC_RELAXED);
    uint64_t before = __atomic_load_n(&c->spin_cycles[idle], __ATOMIC_RELAXED);

    while (__atomic_load_n(&l->taken, __ATOMIC_RELAXED) != 0 || !spin_try_take(l)) {
        if (patience_lost(&patience))
            lockcheck_spun(l, patience_limits.ns / 1000000, pc);
    }
    spun = clock_cycles() - begin;
    /* An interrupt may have spun meanwhile too. `spun` includes that time and `before` does not, so
       it is counted once. */
    __atomic_store_n(&c->spin_cycles[idle],
                     before + spun - (__atomic_load_n(handlers, __ATOMIC_RELAXED) - interrupts),
                     __ATOMIC_RELAXED);
    return MAX(spun, 1u);
}

/* The fast paths below are leaf functions: rare cases end in a jump to one of these. */

/* Begin to measure a hold of l, which has just been acquired at pc. Returns old, the IPL before. */
static ipl_t __attribute__((noinline)) begin_measured(struct spinlock *l, ipl_t old, uint32_t spun,
                                                      uint64_t pc)
{
    struct meter_pause p = meter_pause();

    meter_place(old, l->ipl, pc);
    l->spun = spun;
    l->measured = lockstat_round_of(LOCKSTAT_SPIN);
    meter_resume(p);
    l->hold_start = meter_clock();
    return old;
}

/* The lock is held by another CPU: wait for it. Returns old, as do the functions below. */
static ipl_t __attribute__((noinline)) lock_wait(struct spinlock *l, ipl_t old, uint64_t pc)
{
    uint32_t spun = spin_wait(l, pc);

    spin_note_taken(l, thread_self(), pc);
    return lockstat_on(LOCKSTAT_SPIN) ? begin_measured(l, old, spun, pc) : old;
}

/* A check of the fast path failed: check in full, then acquire. old: the IPL before; lowest: the
 * least that it may be. */
static ipl_t __attribute__((noinline)) lock_checked(struct spinlock *l, ipl_t old, ipl_t lowest,
                                                    uint64_t pc)
{
    const struct spinlock *top = thread_spin_top(thread_self());

    if (old > l->ipl || old < lowest)
        ipl_broken(l, old, pc);
    if (top &&
        (spin_held(l) || top->rank > l->rank || (top->rank == l->rank && !(l->flags & SPIN_NESTS))))
        lockcheck_spin_rank(l, top, pc);
    if (!spin_try_take(l))
        return lock_wait(l, old, pc);
    spin_note_taken(l, thread_self(), pc);
    return lockstat_on(LOCKSTAT_SPIN) ? begin_measured(l, old, 0, pc) : old;
}

static inline ipl_t take(struct spinlock *l, struct thread *t, ipl_t old, uint64_t pc)
{
    if (unlikely(!spin_try_take(l)))
        return lock_wait(l, old, pc);
    spin_note_taken(l, t, pc);
    if (unlikely(lockstat_on(LOCKSTAT_SPIN)))
        return begin_measured(l, old, 0, pc);
    return old;
}

ipl_t spin_lock(struct spinlock *l)
{
    struct thread *t = thread_self();
    ipl_t old = ipl_set(l->ipl);

    if (unlikely(old > l->ipl || !spin_rank_rises(l, t)))
        return lock_checked(l, old, IPL_NONE, (uint64_t)__builtin_return_address(0));
    return take(l, t, old, (uint64_t)__builtin_return_address(0));
}

void spin_lock_at_ipl(struct spinlock *l)
{
    struct thread *t = thread_self();
    ipl_t now = ipl_get();

    if (unlikely(now != l->ipl || !spin_rank_rises(l, t))) {
        lock_checked(l, now, l->ipl, (uint64_t)__builtin_return_address(0));
        return;
    }
    take(l, t, now, (uint64_t)__builtin_return_address(0));
}

/* Release l in full: it is not the innermost lock (locks may be released in any order), or not held
 * at all. */
static void release_unchained(struct spinlock *l, uint64_t pc)
{
    struct thread *t = thread_self();
    struct spinlock **p = &t->spin_top;

    if (__atomic_load_n(&l->holder, __ATOMIC_RELAXED) != t) {
        lockcheck_spin_release(l, pc);
        return;
    }
    while (__atomic_load_n(p, __ATOMIC_RELAXED) != l)
        p = &(*p)->below;
    __atomic_store_n(p, l->below, __ATOMIC_RELAXED);
    l->measured = 0;
    __atomic_store_n(&l->holder, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
}

/* The same for a lock that is measured. The statistics are updated after the lock is free, so that
 * no other CPU waits for that; the holds of other locks that go on do not include it. */
static void __attribute__((noinline)) release_checked(struct spinlock *l, uint64_t pc)
{
    uint32_t held = meter_clock() - l->hold_start, round = l->measured;
    struct lockstat_hold hold = {.kind = LOCKSTAT_SPIN,
                                 .name = l->name,
                                 .rank = l->rank,
                                 .ipl = l->ipl,
                                 .waited = l->spun != 0,
                                 .wait_ns = (uint64_t)l->spun * CLOCK_CYCLE_NS,
                                 .place = l->taken_at,
                                 .held_ns = (uint64_t)held * CLOCK_CYCLE_NS};
    struct meter_pause pause;

    if (round == 0 || !spin_held(l)) {
        release_unchained(l, pc);
        return;
    }
    pause = meter_pause();
    release_unchained(l, pc);
    lockstat_note(round, &hold, LOCKSTAT_TAKEN | LOCKSTAT_RELEASED);
    meter_resume(pause);
}

/*
 * A reschedule that this CPU itself requested at raised IPL is noticed only here; one that an
 * interrupt requested is noticed on the way out of that interrupt. If this thread is moved to
 * another CPU right after the IPL has dropped, it has just been rescheduled, and reading the flag
 * of the old or the new CPU costs at most one needless call.
 */
static void __attribute__((noinline)) preempt(void) { sched_preempt(); }

static inline void restore(ipl_t old)
{
    ipl_set(old);
    if (old == IPL_NONE && unlikely(__atomic_load_n(&current_hw->cpu->resched, __ATOMIC_RELAXED)))
        preempt(); /* in this file, so that it is a tail call and the callers stay leaf functions */
}

/* The IPL must not fall below that of the locks still held: IPLs rise with ranks, so the innermost
 * lock's is the highest. */
static void __attribute__((noinline)) restore_nested(const struct spinlock *top, ipl_t old,
                                                     uint64_t pc)
{
    if (old < top->ipl)
        lockcheck_ipl_lowered(top, old, pc);
    ipl_set(old);
}

static inline void restore_checked(const struct thread *t, ipl_t old, uint64_t pc)
{
    const struct spinlock *top = thread_spin_top(t);

    if (unlikely(top != NULL))
        restore_nested(top, old, pc);
    else
        restore(old);
}

void ipl_restore(ipl_t old)
{
    restore_checked(thread_self(), old, (uint64_t)__builtin_return_address(0));
}

static void __attribute__((noinline)) unlock_checked(struct spinlock *l, ipl_t ipl, uint64_t pc)
{
    release_checked(l, pc);
    restore_checked(thread_self(), ipl, pc);
}

void spin_unlock(struct spinlock *l, ipl_t ipl)
{
    struct thread *t = thread_self();

    if (unlikely(!spin_is_plain(l, t))) {
        unlock_checked(l, ipl, (uint64_t)__builtin_return_address(0));
        return;
    }
    spin_release_plain(l, t);
    restore_checked(t, ipl, (uint64_t)__builtin_return_address(0));
}

void spin_unlock_at_ipl(struct spinlock *l)
{
    struct thread *t = thread_self();

    if (unlikely(!spin_is_plain(l, t))) {
        release_checked(l, (uint64_t)__builtin_return_address(0));
        return;
    }
    spin_release_plain(l, t);
}

bool spin_held(const struct spinlock *l)
{
    return __atomic_load_n(&l->holder, __ATOMIC_RELAXED) == thread_self();
}

unsigned spin_depth(void)
{
    unsigned n = 0;

    for (const struct spinlock *l = thread_spin_top(thread_self()); l; l = l->below)
        n++;
    return n;
}
