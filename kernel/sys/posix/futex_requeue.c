/*
 * Futexes whose waiters are moved to another word (futex.c has the rest).
 *
 * Requeue. No CPU holds two buckets' locks. Waiters on their way from one bucket to another are in
 * none: `at` is FUTEX_MOVING, and `incoming` of the target is raised, which makes who looks into it
 * wait. The CPU is not preempted meanwhile, and a portion is small, so this takes some
 * microseconds, as a spinlock would.
 *
 * Requeue to a lock with inheritance. Such waiters (`pi`) wait for their whole time on the queue of
 * their struct pi_waiter, and go on when they have the lock. One is moved at a time, under the
 * mutex of the lock's bucket in futex_pi.c: it is taken out of its bucket (`at` is FUTEX_AWAY), an
 * attempt to take the lock is made for it, and if that fails it is put back as old as it was. Who
 * leaves takes that mutex first, and then is in the bucket or is the lock's.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/sched/ipl.h"
#include "kernel/sched/thread.h"
#include "kernel/sys/posix/futex_private.h"

#define MOVE_AT_ONCE 3u

/* ---- requeue ---- */

/* Take up to `most` waiters, and a portion, out of the round's bucket. Returns how many; err:
 * -EINVAL, the next is to be requeued to a lock with inheritance. */
static uint32_t take_some(struct futex_round *r, uint32_t most, struct futex_waiter *taken[],
                          long *err)
{
    ipl_t ipl = spin_lock(&r->b->lock); /* not futex_bucket_lock: r->b may be the target */
    struct futex_waiter *w;
    uint32_t n = 0;

    while (n < MIN(most, MOVE_AT_ONCE) && (w = futex_round_next_locked(r)) != NULL) {
        if (w->pi) {
            *err = -EINVAL;
            break;
        }
        futexq_remove(&r->b->q, &w->node);
        __atomic_store_n(&w->at, FUTEX_MOVING, __ATOMIC_RELAXED);
        taken[n++] = w;
    }
    spin_unlock(&r->b->lock, ipl);
    return n;
}

/* Move a portion of waiters to the word `to`, in b. Returns how many, and err as take_some(). */
static uint32_t move_some(struct futex_round *r, uint32_t most, struct futex_bucket *b,
                          const struct word_name *to, long *err)
{
    struct futex_waiter *taken[MOVE_AT_ONCE];
    struct word_name old[MOVE_AT_ONCE];
    ipl_t ipl = futex_bucket_lock(b);
    uint32_t n;

    b->incoming = true;
    spin_unlock(&b->lock, IPL_ASTDEL); /* nobody preempts this CPU until all is done */
    n = take_some(r, most, taken, err);
    (void)spin_lock(&b->lock);
    for (uint32_t k = 0; k < n; k++) {
        struct futex_waiter *w = taken[k];

        old[k] = w->name;
        (void)word_name_hold(to); /* one for each thread: not too many */
        w->name = *to;
        w->node.key = futex_key_of(to);
        futexq_insert(&b->q, &w->node);
        __atomic_store_n(&w->at, b, __ATOMIC_RELEASE);
    }
    b->incoming = false;
    spin_unlock(&b->lock, ipl);
    for (uint32_t k = 0; k < n; k++)
        word_name_drop(&old[k]);
    return n;
}

/* Wake `wake` waiters of one word and move up to `most` others to another word. */
static long requeue_named(const struct word_name *from, const struct word_name *to, uint32_t wake,
                          uint32_t most)
{
    long done = wake ? futex_wake_named(from, (int32_t)wake, FUTEX_ANY_BIT) : 0, err = 0;
    struct futex_key key = futex_key_of(to);
    struct futex_round r;
    uint32_t n;
    ipl_t ipl;

    if (done < 0)
        return done;
    ipl = futex_round_begin(&r, from);
    spin_unlock(&r.b->lock, ipl);
    while (most && !err && (n = move_some(&r, most, futex_bucket_of(&key), to, &err)) != 0 &&
           !thread_killed()) {
        most -= n;
        done += n;
    }
    return err ? err : done;
}

long futex_requeue(vaddr_t from, vaddr_t to, bool shared, int32_t wake, int32_t most,
                   const uint32_t *expected)
{
    struct word_name name_from, name_to;
    uint32_t v;
    long r;

    if (wake < 0 || most < 0)
        return -EINVAL;
    r = futex_names_get(from, to, shared, &name_from, &name_to);
    if (r)
        return r;
    if (expected && copyin_u32(&v, from) != 0)
        r = -EFAULT;
    else if (expected && v != *expected)
        r = -EAGAIN;
    else
        r = requeue_named(&name_from, &name_to, (uint32_t)wake, (uint32_t)most);
    word_name_drop(&name_to);
    word_name_drop(&name_from);
    return r;
}

/* ---- requeue to a lock with inheritance ---- */

/* Take a waiter out of the bucket, when it is there. The mutex of the lock's bucket is held. */
static bool take_back(struct futex_waiter *w)
{
    struct futex_bucket *b = __atomic_load_n(&w->at, __ATOMIC_ACQUIRE);
    ipl_t ipl;

    if (b == FUTEX_AWAY)
        return false;
    ipl = spin_lock(&b->lock);
    futexq_remove(&b->q, &w->node);
    __atomic_store_n(&w->at, NULL, __ATOMIC_RELAXED);
    spin_unlock(&b->lock, ipl);
    return true;
}

/* A waiter of FUTEX_WAIT_REQUEUE_PI. */
struct requeued {
    struct futex_waiter w;
    struct pi_waiter pi;
    struct word_name lock;
    bool back; /* it was not moved, or not for good */
};

static bool withdraw(struct pi_waiter *pi)
{
    struct requeued *q = container_of(pi, struct requeued, pi);

    q->back = take_back(&q->w);
    return q->back;
}

/* As wait_named(). A wake-up cannot be lost to a waiter that finds another value after all: it is
 * only moved, and who finds that it was waits for the lock. */
static long wait_requeued(struct requeued *q, vaddr_t word, vaddr_t lock, uint32_t expected,
                          uint64_t deadline)
{
    long err = futex_expect(word, expected);

    if (err)
        return err;
    futex_enter(&q->w, FUTEX_ANY_BIT);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    err = futex_expect(word, expected);
    if (err && futex_pi_withdraw(&q->lock, &q->pi, withdraw)) {
        wait_finish(&q->pi.waiter);
        return err;
    }
    err = futex_pi_wait_moved(&q->lock, lock, &q->pi, deadline, withdraw);
    if (err != -EINTR)
        return err;
    /* The word has changed when it is moved: as on Linux, EAGAIN says that at once. */
    return q->back ? -ERESTARTNOINTR : -EAGAIN;
}

long futex_wait_requeue(vaddr_t word, vaddr_t lock, bool shared, uint32_t expected,
                        uint64_t deadline)
{
    struct requeued q = {.back = false};
    long err;

    if (word == lock)
        return -EINVAL;
    err = futex_names_get(word, lock, shared, &q.w.name, &q.lock);
    if (err)
        return err;
    q.w.pi = &q.pi;
    q.w.lock = &q.lock;
    if (futex_same_name(&q.w.name, &q.lock))
        err = -EINVAL;
    else
        err = wait_requeued(&q, word, lock, expected, deadline);
    word_name_drop(&q.lock);
    word_name_drop(&q.w.name);
    return err;
}

/* A call that moves waiters to `lock`. */
struct move {
    struct futex_round round;
    const struct word_name *lock;
    struct futex_waiter *taken;
};

/* The next waiter, taken out of its bucket. NULL: there is none; or err: it is none of these, or
 * waits for another lock. */
static struct pi_waiter *take_next(void *arg, long *err)
{
    struct move *m = arg;
    ipl_t ipl = futex_bucket_lock(m->round.b);
    struct futex_waiter *w = futex_round_next_locked(&m->round);

    if (w && (!w->pi || !futex_same_name(w->lock, m->lock))) {
        *err = -EINVAL;
        w = NULL;
    }
    if (w) {
        futexq_remove(&m->round.b->q, &w->node);
        __atomic_store_n(&w->at, FUTEX_AWAY, __ATOMIC_RELAXED);
    }
    spin_unlock(&m->round.b->lock, ipl);
    m->taken = w;
    return w ? w->pi : NULL;
}

static void settle(void *arg, bool moved)
{
    struct move *m = arg;
    struct futex_waiter *w = m->taken;
    ipl_t ipl;

    if (moved)
        return;
    ipl = futex_bucket_lock(m->round.b);
    futexq_put_back(&m->round.b->q, &w->node);
    __atomic_store_n(&w->at, m->round.b, __ATOMIC_RELEASE);
    m->round.turn = w->node.turn;
    spin_unlock(&m->round.b->lock, ipl);
}

/* Give the lock to the oldest waiter if it is free, and make it and `most` others wait for it. */
static long requeue_to_lock(const struct word_name *from, const struct word_name *to, vaddr_t lock,
                            uint32_t most)
{
    struct move m = {.lock = to};
    ipl_t ipl = futex_round_begin(&m.round, from);
    long done = 0, r;

    spin_unlock(&m.round.b->lock, ipl);
    do {
        r = futex_pi_move(to, lock, take_next, settle, &m);
        if (r > 0)
            done++;
    } while (r > 0 && done <= (long)most && !thread_killed());
    return done ? done : r;
}

long futex_requeue_pi(vaddr_t from, vaddr_t to, bool shared, int32_t wake, int32_t most,
                      uint32_t expected)
{
    struct word_name name_from, name_to;
    uint32_t v;
    long r;

    if (wake != 1 || most < 0 || from == to)
        return -EINVAL;
    r = futex_names_get(from, to, shared, &name_from, &name_to);
    if (r)
        return r;
    if (futex_same_name(&name_from, &name_to))
        r = -EINVAL;
    else if (copyin_u32(&v, from) != 0)
        r = -EFAULT;
    else if (v != expected)
        r = -EAGAIN;
    else
        r = requeue_to_lock(&name_from, &name_to, to, (uint32_t)most);
    word_name_drop(&name_to);
    word_name_drop(&name_from);
    return r;
}
