/*
 * Wait queues.
 *
 * No wake-up is lost. The sleeper, on the queue since wait_enqueue(), goes to sleep only if, under
 * its run queue's lock, w->queue is not NULL; it then becomes WAITING, and the lock is held until
 * its registers are saved. The waker removes the waiter under the wait queue's lock, and stores
 * NULL in w->queue under the lock of the thread's run queue (sched_wake). These two critical
 * sections of the run queue's lock are ordered:
 *
 *   - if the waker's is first, the sleeper sees NULL and does not sleep;
 *   - if the sleeper's is first, the waker finds a WAITING thread with its context saved, and makes
 *     it runnable.
 *
 * Signals and timeouts work in the same way, with t->interrupted and the timeout's `done` in place
 * of w->queue.
 *
 * No access comes too late. The waiter lies on the sleeper's stack, and the sleeper may have ended
 * right after it has seen w->queue == NULL. The waker accesses the waiter and the thread last
 * inside that critical section of the run queue's lock, which the thread would have to take to end.
 * Its last access to the wait queue is the release of the queue's lock, and wait_finish() waits for
 * that: once it has seen NULL, it checks whether the lock is held. The waker took the lock before
 * it stored NULL with release order, so we see the lock taken; if we see it free again, the waker
 * has released it.
 *
 * Nothing here allocates.
 */
#include "kernel/sched/wait.h"

#include "kernel/base/errno.h"
#include "kernel/sched/lockcheck.h"
#include "kernel/sched/sched_private.h"
#include "kernel/sched/spinlock_quick.h"
#include "kernel/sched/timer.h"

void wait_queue_init(struct wait_queue *q, const char *name)
{
    spin_init(&q->lock, name, RANK_WAIT, IPL_CLOCK);
    list_init(&q->waiters);
}

/* q is locked. */
static inline void enqueue_locked(struct wait_queue *q, struct waiter *w)
{
    w->thread = thread_self();
    w->home = q;
    list_add_tail(&q->waiters, &w->link);
    __atomic_store_n(&w->queue, q, __ATOMIC_RELAXED);
}

void wait_enqueue(struct wait_queue *q, struct waiter *w)
{
    ipl_t ipl = spin_lock(&q->lock);

    enqueue_locked(q, w);
    spin_unlock(&q->lock, ipl);
}

struct timeout {
    struct timer timer;
    struct thread *thread;
    bool done; /* atomic */
};

/* The deadline has passed: wake the thread. IPL_CLOCK. */
static void timeout_fn(struct timer *timer)
{
    struct timeout *o = container_of(timer, struct timeout, timer);

    __atomic_store_n(&o->done, true, __ATOMIC_RELEASE);
    sched_wake(o->thread, NULL, false);
}

/* Prepare a killable wait; the run queue's lock is held. False: t is to end and does not wait. */
static bool wait_killable(struct thread *t)
{
    if (__atomic_load_n(&t->fatal, __ATOMIC_ACQUIRE)) {
        /* thread_interrupt() sets it too, but possibly later than it sets `fatal`. */
        __atomic_fetch_or(&t->hw.syscall_exit, EXIT_INTERRUPTED, __ATOMIC_RELAXED);
        return false;
    }
    __atomic_store_n(&t->interruptible, WAIT_KILLABLE, __ATOMIC_RELAXED);
    return true;
}

/* Sleep until the waiter is woken, *done is set, or a signal came that ends this kind of wait; each
 * of these may have happened already. */
static inline __attribute__((always_inline)) int block_as(struct waiter *w, unsigned flags,
                                                          const bool *done)
{
    struct thread *t = thread_self();
    int err = 0;

    for (;;) {
        ipl_set(IPL_CLOCK);

        struct runq *rq = runq_self();

        spin_lock_inline(&rq->lock);
        if (__atomic_load_n(&w->queue, __ATOMIC_ACQUIRE) == NULL)
            break;
        if (done && __atomic_load_n(done, __ATOMIC_ACQUIRE)) {
            err = -ETIMEDOUT;
            break;
        }
        if (flags & WAIT_INTERRUPTIBLE) {
            if (__atomic_load_n(&t->interrupted, __ATOMIC_ACQUIRE)) {
                err = -EINTR;
                break;
            }
            __atomic_store_n(&t->interruptible, WAIT_INTERRUPTIBLE, __ATOMIC_RELAXED);
        } else if ((flags & WAIT_KILLABLE) && !wait_killable(t)) {
            err = -EINTR;
            break;
        }
        sched_block_locked(rq);
        /* Usually the waiter was woken: then nothing needs to be checked under the lock. */
        if (likely(__atomic_load_n(&w->queue, __ATOMIC_ACQUIRE) == NULL)) {
            ipl_restore_none();
            return 0;
        }
    }
    spin_unlock_at_ipl(&runq_self()->lock);
    ipl_restore(IPL_NONE);
    return err;
}

/* Two copies of block_as(): the rare killable wait costs the common kinds nothing. */
static int block(struct waiter *w, unsigned flags, const bool *done)
{
    return block_as(w, flags & WAIT_INTERRUPTIBLE, done);
}
static int __attribute__((noinline, cold)) block_killable(struct waiter *w)
{
    return block_as(w, WAIT_KILLABLE, NULL);
}

int wait_block(struct waiter *w, unsigned flags, uint64_t deadline_ns)
{
    struct thread *t = thread_self();
    ipl_t ipl = ipl_get();

    if (unlikely(ipl != IPL_NONE || thread_spin_top(t) != NULL))
        lockcheck_may_not("waits", ipl, (uint64_t)__builtin_return_address(0));
    if (__atomic_load_n(&w->queue, __ATOMIC_ACQUIRE) == NULL)
        return 0;
    if (deadline_ns == WAIT_FOREVER)
        return unlikely(flags & WAIT_KILLABLE) ? block_killable(w) : block(w, flags, NULL);

    struct timeout o = {.timer = {.fn = timeout_fn}, .thread = t, .done = false};
    int err;

    timer_start(&o.timer, deadline_ns);
    err = block(w, flags, &o.done);
    timer_cancel_wait(&o.timer);
    return err;
}

/* Take w off its queue, if it is still there, and let a waker release the queue's lock. */
static void __attribute__((noinline)) leave_queue(struct waiter *w)
{
    struct wait_queue *q = w->home;
    ipl_t ipl = spin_lock(&q->lock);

    if (__atomic_load_n(&w->queue, __ATOMIC_RELAXED) != NULL) {
        list_remove(&w->link);
        __atomic_store_n(&w->queue, NULL, __ATOMIC_RELAXED);
    }
    spin_unlock(&q->lock, ipl);
}

static inline bool is_off(const struct waiter *w, const struct wait_queue *q)
{
    return __atomic_load_n(&w->queue, __ATOMIC_ACQUIRE) == NULL && !spin_is_busy(&q->lock);
}

void wait_finish(struct waiter *w)
{
    if (!is_off(w, w->home))
        leave_queue(w);
}

/* As wait_enqueue(), must_wait(), wait_block() and wait_finish(), without a return to IPL 0 in
   between. */
int wait_if(struct wait_queue *q, bool (*must_wait)(void *), void *arg)
{
    struct waiter w;
    int err = 0;
    ipl_t ipl = ipl_set(IPL_CLOCK);

    if (unlikely(ipl != IPL_NONE || thread_spin_top(thread_self()) != NULL))
        lockcheck_may_not("waits", ipl, (uint64_t)__builtin_return_address(0));
    spin_lock_inline(&q->lock);
    enqueue_locked(q, &w);
    spin_unlock_quickly(&q->lock);
    if (likely(must_wait(arg)))
        err = block_as(&w, WAIT_INTERRUPTIBLE, NULL);
    else
        ipl_restore(IPL_NONE);
    if (unlikely(!is_off(&w, q)))
        leave_queue(&w);
    return err;
}

/* Take the waiter off the queue, which is locked, and wake its thread. */
static inline void wake(struct waiter *w, bool follow)
{
    list_remove(&w->link);
    sched_wake(w->thread, &w->queue, follow);
}

unsigned wake_one(struct wait_queue *q)
{
    ipl_t ipl = spin_lock(&q->lock);
    bool any = !list_empty(&q->waiters);

    if (any)
        wake(list_first_entry(&q->waiters, struct waiter, link), false);
    spin_unlock(&q->lock, ipl);
    return any;
}

/* Each wake-up takes up to 650 instructions under the lock among 10,000 threads. */
#define WAKES_AT_ONCE 2u

/* Wake up to a portion of the waiters on `list`: q's own, or those taken off it. Returns how many.
   q is locked. */
static inline unsigned wake_some(struct list *list, bool follow)
{
    unsigned n = 0;

    for (; n < WAKES_AT_ONCE && !list_empty(list); n++)
        wake(list_first_entry(list, struct waiter, link), follow);
    return n;
}

/*
 * Waiters can be as many as there are threads, so they are woken in portions, with the lock dropped
 * in between. The first hold takes all of them off the queue, so that one that comes later, even a
 * woken one that waits again, is not woken by this call. They stay waiters of q: one whose wait
 * ends otherwise takes itself off our list, under q's lock, as ever. This is why the caller of
 * wake_all() keeps q in existence until the call returns, unless it knows that no more than a
 * portion waits: a waiter that has left may free what contains q.
 *
 * q is locked, and its caller's IPL was ipl. Releases the lock. Returns how many were woken.
 */
static __attribute__((noinline)) unsigned wake_rest(struct wait_queue *q, ipl_t ipl, bool follow)
{
    struct list rest = LIST_INIT(rest);
    unsigned n = 0;

    list_splice_tail(&rest, &q->waiters);
    while (!list_empty(&rest)) {
        spin_unlock(&q->lock, ipl);
        ipl = spin_lock(&q->lock);
        n += wake_some(&rest, follow);
    }
    spin_unlock(&q->lock, ipl);
    return n;
}

/* The first waiter has been woken: the same for the others. */
static __attribute__((noinline)) unsigned wake_others(struct wait_queue *q, ipl_t ipl, bool follow)
{
    unsigned n = 1;

    for (; n < WAKES_AT_ONCE && !list_empty(&q->waiters); n++)
        wake(list_first_entry(&q->waiters, struct waiter, link), follow);
    if (!list_empty(&q->waiters))
        return n + wake_rest(q, ipl, follow);
    spin_unlock(&q->lock, ipl);
    return n;
}

/* Usually one waits. */
static inline unsigned wake_each(struct wait_queue *q, bool follow)
{
    ipl_t ipl = spin_lock_raising(&q->lock);
    unsigned n = 0;

    if (likely(!list_empty(&q->waiters))) {
        wake(list_first_entry(&q->waiters, struct waiter, link), follow);
        if (unlikely(!list_empty(&q->waiters)))
            return wake_others(q, ipl, follow);
        n = 1;
    }
    spin_unlock_lowering(&q->lock, ipl);
    return n;
}

unsigned wake_all(struct wait_queue *q) { return wake_each(q, false); }
unsigned wake_all_follow(struct wait_queue *q) { return wake_each(q, true); }
