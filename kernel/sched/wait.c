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
#include "kernel/sched/sched_quick.h"
#include "kernel/sched/spinlock_quick.h"
#include "kernel/sched/timer.h"

void wait_queue_init(struct wait_queue *q, const char *name)
{
    q->lock = (struct spinlock)SPINLOCK_INIT(name, RANK_WAIT, IPL_CLOCK);
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

/* Is the wait of t for w over, of the kind `flags`? 1: w was woken, as it may have been before;
 * -ETIMEDOUT: *done is set; -EINTR: a signal came that ends this kind of wait; 0: sleep, and be
 * woken by such a signal. The run queue's lock is held. */
static inline __attribute__((always_inline)) int
wait_state(struct thread *t, const struct waiter *w, unsigned flags, const bool *done)
{
    if (__atomic_load_n(&w->queue, __ATOMIC_RELAXED) == NULL)
        return 1;
    if (done && __atomic_load_n(done, __ATOMIC_ACQUIRE))
        return -ETIMEDOUT;
    if (flags & WAIT_INTERRUPTIBLE) {
        if (__atomic_load_n(&t->interrupted, __ATOMIC_RELAXED))
            return -EINTR;
        __atomic_store_n(&t->interruptible, WAIT_INTERRUPTIBLE, __ATOMIC_RELAXED);
    } else if ((flags & WAIT_KILLABLE) && !wait_killable(t)) {
        return -EINTR;
    }
    return 0;
}

/* The wait is over, as wait_state() said. The run queue's lock is held, under which the waker, or
 * who interrupts, made known what it had stored before; released. */
static int __attribute__((noinline)) wait_over(int state)
{
    spin_unlock_at_ipl(&runq_self()->lock);
    ipl_restore(IPL_NONE);
    return state < 0 ? state : 0;
}

/* Lock this CPU's run queue, which is busy or measured. */
static struct runq *__attribute__((noinline)) lock_own_slowly(void)
{
    struct runq *rq = runq_self();

    spin_lock_at_ipl(&rq->lock);
    return rq;
}

/* Sleep until wait_state() says that the wait is over. The IPL is IPL_CLOCK, and no spinlock is
 * held; returns at IPL 0. */
static inline __attribute__((always_inline)) int block_raised(struct waiter *w, unsigned flags,
                                                              const bool *done)
{
    for (;;) {
        struct runq *rq = runq_self();
        int state;

        if (unlikely(!spin_lock_above(&rq->lock, NULL)))
            rq = lock_own_slowly();
        state = wait_state(thread_self(), w, flags, done);
        if (unlikely(state))
            return wait_over(state);
        sched_block_locked(rq);
        sched_finish_switch();
        /* Usually the waiter was woken: then nothing needs to be checked under the lock. */
        if (likely(__atomic_load_n(&w->queue, __ATOMIC_ACQUIRE) == NULL)) {
            ipl_restore_none();
            return 0;
        }
        ipl_set(IPL_CLOCK);
    }
}

/* Two copies: the rare killable wait costs the common kinds nothing. */
static int block(struct waiter *w, unsigned flags, const bool *done)
{
    ipl_set(IPL_CLOCK);
    return block_raised(w, flags & WAIT_INTERRUPTIBLE, done);
}
static int __attribute__((noinline, cold)) block_killable(struct waiter *w)
{
    ipl_set(IPL_CLOCK);
    return block_raised(w, WAIT_KILLABLE, NULL);
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

/* All of wait_if(), for a caller at IPL_CLOCK. */
static int __attribute__((noinline)) wait_if_slowly(struct wait_queue *q, bool (*must_wait)(void *),
                                                    void *arg)
{
    struct waiter w;
    int err = 0;

    ipl_restore(IPL_NONE);
    wait_enqueue(q, &w);
    if (must_wait(arg))
        err = wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
    wait_finish(&w);
    return err;
}

/* As wait_if_slowly(), without a return to IPL 0 in between, and with few registers saved. */
int wait_if(struct wait_queue *q, bool (*must_wait)(void *), void *arg)
{
    struct waiter w;
    ipl_t ipl = ipl_set(IPL_CLOCK);
    int err;

    if (unlikely(ipl != IPL_NONE || thread_spin_top(thread_self()) != NULL))
        lockcheck_may_not("waits", ipl, cpu_pc());
    if (unlikely(!spin_lock_above(&q->lock, NULL)))
        return wait_if_slowly(q, must_wait, arg);
    enqueue_locked(q, &w);
    spin_release_to(&q->lock, thread_self(), NULL);
    if (unlikely(!must_wait(arg))) {
        ipl_restore(IPL_NONE);
        wait_finish(&w);
        return 0;
    }
    err = block_raised(&w, WAIT_INTERRUPTIBLE, NULL);
    if (unlikely(err || spin_is_busy(&q->lock)))
        wait_finish(&w);
    return err;
}

/* Wake the thread of w, which was on q, locked at IPL_CLOCK, and was taken off. */
static inline __attribute__((always_inline)) bool wake_quickly(struct wait_queue *q,
                                                               struct waiter *w)
{
    _Static_assert(RANK_WAIT < RANK_SCHED, "a run queue may be locked with a wait queue locked");

    return likely(sched_wake_quickly(&q->lock, w->thread, &w->queue));
}

/* Take the first waiter off `list`, which is q's or was taken off it, and wake its thread. q is
   locked. */
static void __attribute__((noinline)) wake_first(struct wait_queue *q, struct list *list,
                                                 bool follow)
{
    struct waiter *w = list_first_entry(list, struct waiter, link);

    list_remove(&w->link);
    if (!wake_quickly(q, w))
        sched_wake(w->thread, &w->queue, follow);
}

unsigned wake_one(struct wait_queue *q)
{
    ipl_t ipl = spin_lock(&q->lock);
    bool any = !list_empty(&q->waiters);

    if (any)
        wake_first(q, &q->waiters, false);
    spin_unlock(&q->lock, ipl);
    return any;
}

/* Each wake-up takes up to 650 instructions under the lock among 10,000 threads. */
#define WAKES_AT_ONCE 2u

/* Wake up to a portion of the waiters on `list`: q's own, or those taken off it. Returns how many.
   q is locked. */
static unsigned wake_some(struct wait_queue *q, struct list *list, bool follow)
{
    unsigned n = 0;

    for (; n < WAKES_AT_ONCE && !list_empty(list); n++)
        wake_first(q, list, follow);
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
        n += wake_some(q, &rest, follow);
    }
    spin_unlock(&q->lock, ipl);
    return n;
}

/* Wake all waiters of q, which is locked; its caller's IPL was ipl. Releases the lock. */
static __attribute__((noinline)) unsigned wake_several(struct wait_queue *q, ipl_t ipl, bool follow)
{
    unsigned n = wake_some(q, &q->waiters, follow);

    if (!list_empty(&q->waiters))
        return n + wake_rest(q, ipl, follow);
    spin_unlock(&q->lock, ipl);
    return n;
}

static __attribute__((noinline)) unsigned wake_each_slowly(struct wait_queue *q, bool follow)
{
    return wake_several(q, spin_lock(&q->lock), follow);
}

/* The only waiter of q, w, was taken off. q is locked, and its caller's IPL was 0. Releases the
   lock. Returns 1. */
static __attribute__((noinline)) unsigned wake_only(struct wait_queue *q, struct waiter *w,
                                                    bool follow)
{
    sched_wake(w->thread, &w->queue, follow);
    spin_unlock(&q->lock, IPL_NONE);
    return 1;
}

static __attribute__((noinline)) unsigned preempt_and_return(unsigned n)
{
    sched_preempt();
    return n;
}

/* Usually one waits, and the caller is at IPL 0 without a spinlock. All other cases are left to
   another function, as the last action: so this one has no frame. */
static inline __attribute__((always_inline)) unsigned wake_each(struct wait_queue *q, bool follow)
{
    struct list *first;
    unsigned n = 0;

    if (unlikely(!spin_lock_first(&q->lock)))
        return wake_each_slowly(q, follow);
    first = q->waiters.next;
    if (likely(first != &q->waiters)) {
        struct waiter *w = container_of(first, struct waiter, link);

        if (unlikely(first->next != &q->waiters))
            return wake_several(q, IPL_NONE, follow);
        list_init(&q->waiters);
        if (unlikely(!wake_quickly(q, w)))
            return wake_only(q, w, follow);
        n = 1;
    }
    spin_release_to(&q->lock, thread_self(), NULL);
    ipl_set(IPL_NONE);
    if (spin_resched_pending())
        return preempt_and_return(n);
    return n;
}

unsigned wake_all(struct wait_queue *q) { return wake_each(q, false); }
unsigned wake_all_follow(struct wait_queue *q) { return wake_each(q, true); }
