/*
 * futex: waiting and waking by a word of memory (README.md).
 *
 * A word is known by a name that is the same in all address spaces that map it (mm/space/word.h),
 * or, with FUTEX_PRIVATE_FLAG, by the address space and the address. Waiters are in one of BUCKETS
 * trees, chosen by a hash of the name with this boot's secret; each lies on its thread's stack, has
 * a wait queue of its own, and holds its name.
 *
 * No wake-up is lost. The waiter enters the bucket before it reads the word, and the waker has
 * stored to the word before it looks into the bucket:
 *
 *     waiter: insert, barrier, read the word        waker: store the word, barrier, look
 *
 * One of them sees what the other has done. A waiter that then finds another value than it expected
 * was never to wait; if it was woken nevertheless, it passes that on to the next one.
 *
 * The bucket's lock is dropped after each few waiters, so that a hold does not grow with their
 * number. A call concerns only those that were there when it began: each has the number of its
 * insertion, and a call stops at the first one that is younger.
 *
 * The waker's accesses to a waiter end with the store of NULL in `at`, under the bucket's lock; the
 * waiter leaves only after it has seen that, or has taken itself out.
 *
 * Requeue. No CPU holds two buckets' locks. Waiters on their way from one bucket to another are in
 * none: `at` is MOVING, and `incoming` of the target is raised, which makes who looks into it wait.
 * The CPU is not preempted meanwhile, and a portion is small, so this takes some microseconds, as a
 * spinlock would.
 *
 * Requeue to a lock with inheritance. Such waiters (`pi`) wait for their whole time on the queue of
 * their struct pi_waiter, and go on when they have the lock. One is moved at a time, under the
 * mutex of the lock's bucket in futex_pi.c: it is taken out of its bucket (`at` is AWAY), an
 * attempt to take the lock is made for it, and if that fails it is put back as old as it was. Who
 * leaves takes that mutex first, and then is in the bucket or is the lock's.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/ipl.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"
#include "kernel/sys/posix/futex_pi.h"
#include "kernel/sys/posix/futexq.h"
#include "kernel/sys/posix/process.h"
#include "mm/space/word.h"

#define FUTEX_WAIT           0
#define FUTEX_WAKE           1
#define FUTEX_REQUEUE        3
#define FUTEX_CMP_REQUEUE    4
#define FUTEX_WAKE_OP        5
#define FUTEX_LOCK_PI        6
#define FUTEX_UNLOCK_PI      7
#define FUTEX_TRYLOCK_PI     8
#define FUTEX_WAIT_BITSET    9
#define FUTEX_WAKE_BITSET    10
#define FUTEX_WAIT_REQUEUE   11
#define FUTEX_CMP_REQUEUE_PI 12
#define FUTEX_LOCK_PI2       13
#define FUTEX_COMMAND        0x7Fu
#define FUTEX_PRIVATE_FLAG   0x80u
#define FUTEX_CLOCK_REALTIME 0x100u
#define ANY_BIT              (~0u)

#define BUCKETS      256u
#define WAKE_AT_ONCE 2u  /* waiters woken in a hold, in up to 700 instructions each */
#define LOOK_AT_ONCE 12u /* waiters looked at in a hold, each found in up to 120 instructions */
#define MOVE_AT_ONCE 3u

struct bucket {
    struct spinlock lock; /* RANK_FUTEX, IPL_ASTDEL */
    struct futexq q;      /* lock */
    bool incoming;        /* a call moves waiters here; lock */
};

static struct bucket buckets[BUCKETS];
static struct bucket moving; /* only its address is used */
#define MOVING (&moving)
static struct bucket away; /* like that one */
#define AWAY (&away)

struct futex_waiter {
    struct futex_node node;  /* lock of the bucket `at` */
    struct bucket *at;       /* atomic; NULL: woken */
    struct wait_queue queue; /* of this waiter */
    struct waiter waiter;
    struct word_name name; /* held; changed as node.key is */
    /* The rest is constant while it waits. */
    struct pi_waiter *pi; /* NULL; or it waits on the queue of this, for the lock `lock` */
    const struct word_name *lock;
};

static struct bucket *bucket_of(const struct futex_key *k)
{
    uint64_t h = (k->base ^ treap_secret) * UINT64_C(0x9E3779B97F4A7C15);

    h = (h ^ k->offset >> 2) * UINT64_C(0xBF58476D1CE4E5B9);
    return &buckets[h >> 56];
}

_Static_assert(BUCKETS == 256, "a bucket's number is the highest 8 bits of the hash");

static bool same_name(const struct word_name *a, const struct word_name *b)
{
    return a->base == b->base && a->offset == b->offset;
}

static struct futex_key key_of(const struct word_name *name)
{
    return (struct futex_key){(uint64_t)name->base, name->offset};
}

long futex_name_get(vaddr_t va, bool shared, struct word_name *name)
{
    struct aspace *as = process_self()->aspace;

    if (va & 3)
        return -EINVAL;
    if (!user_range_ok(va, 4))
        return -EFAULT;
    if (shared)
        return word_name_get(as, va, name);
    *name = (struct word_name){.base = as, .offset = va};
    return 0;
}

/* Lock b, when no waiters are on their way to it. */
static ipl_t bucket_lock(struct bucket *b)
{
    for (;;) {
        ipl_t ipl = spin_lock(&b->lock);

        if (likely(!b->incoming))
            return ipl;
        spin_unlock(&b->lock, ipl);
    }
}

/* ---- waking ---- */

/* Wake w, which is in b. Bucket locked. */
static void wake_locked(struct bucket *b, struct futex_waiter *w)
{
    futexq_remove(&b->q, &w->node);
    wake_one(&w->queue);
    __atomic_store_n(&w->at, NULL, __ATOMIC_RELEASE); /* the last access */
}

/* A call's way through the waiters of one word, from the oldest to the youngest that was there at
 * its beginning. */
struct round {
    struct futex_key key;
    struct bucket *b;
    uint64_t turn, last; /* turns to go on from and to end at */
};

static ipl_t round_begin(struct round *r, const struct word_name *name)
{
    ipl_t ipl;

    r->key = key_of(name);
    r->b = bucket_of(&r->key);
    ipl = bucket_lock(r->b);
    r->turn = 0;
    r->last = r->b->q.turns;
    return ipl;
}

static struct futex_waiter *round_next_locked(struct round *r)
{
    struct futex_node *n = futexq_find(&r->b->q, &r->key, r->turn);

    if (!n || n->turn > r->last)
        return NULL;
    r->turn = n->turn + 1;
    return container_of(n, struct futex_waiter, node);
}

/* Wake up to `most` waiters (as on Linux, at least one) that wait for one of the bits. Returns how
 * many; -EINVAL: it has met one that is to be requeued to a lock with inheritance. */
static long wake_named(const struct word_name *name, int32_t most, uint32_t bits)
{
    uint32_t now = 0, looks = 0;
    long woken = 0;
    struct futex_waiter *w;
    struct round r;
    ipl_t ipl;

    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the caller has stored to the word */
    ipl = round_begin(&r, name);
    while ((w = round_next_locked(&r)) != NULL) {
        looks++;
        if (w->pi) {
            woken = -EINVAL;
            break;
        }
        if (w->node.bitset & bits) {
            wake_locked(r.b, w);
            now++;
            if (++woken >= most)
                break;
        }
        if (now == WAKE_AT_ONCE || looks == LOOK_AT_ONCE) {
            now = looks = 0;
            spin_unlock(&r.b->lock, ipl);
            if (thread_killed())
                return woken;
            ipl = bucket_lock(r.b);
        }
    }
    spin_unlock(&r.b->lock, ipl);
    return woken;
}

static long futex_wake(vaddr_t word, bool shared, int32_t most, uint32_t bits)
{
    struct word_name name;
    long n = futex_name_get(word, shared, &name);

    if (n)
        return n;
    n = wake_named(&name, most, bits);
    word_name_drop(&name);
    return n;
}

/* ---- waiting ---- */

static long deadline_of(vaddr_t timeout, bool absolute, bool wall, uint64_t *deadline)
{
    uint64_t t[2], ns, now = wall ? clock_wall_ns() : clock_ns();

    *deadline = WAIT_FOREVER;
    if (!timeout)
        return 0;
    if (copyin(t, timeout, sizeof(t)) != 0)
        return -EFAULT;
    if ((int64_t)t[0] < 0 || t[1] >= 1000000000)
        return -EINVAL;
    if (t[0] >= INT64_MAX / 1000000000 / 2)
        return 0;
    ns = t[0] * 1000000000 + t[1];
    if (absolute)
        ns = ns > now ? ns - now : 0;
    *deadline = clock_ns() + ns;
    return 0;
}

/* Begin to wait, w->pi being set. */
static void enter(struct futex_waiter *w, uint32_t bits)
{
    struct bucket *b;
    ipl_t ipl;

    if (w->pi) {
        futex_pi_prepare(w->pi);
    } else {
        wait_queue_init(&w->queue, "futex");
        wait_enqueue(&w->queue, &w->waiter);
    }
    w->node.key = key_of(&w->name);
    w->node.bitset = bits;
    b = bucket_of(&w->node.key);
    ipl = spin_lock(&b->lock);
    futexq_insert(&b->q, &w->node);
    __atomic_store_n(&w->at, b, __ATOMIC_RELAXED);
    spin_unlock(&b->lock, ipl);
}

/* Leave the bucket. True: a call has woken w before. */
static bool leave(struct futex_waiter *w)
{
    struct bucket *b;
    bool there = false;

    while (!there && (b = __atomic_load_n(&w->at, __ATOMIC_ACQUIRE)) != NULL) {
        ipl_t ipl;

        if (b == MOVING)
            continue;
        ipl = spin_lock(&b->lock);
        there = __atomic_load_n(&w->at, __ATOMIC_RELAXED) == b;
        if (there)
            futexq_remove(&b->q, &w->node);
        spin_unlock(&b->lock, ipl);
    }
    wait_finish(&w->waiter);
    return !there;
}

/* 0: the word has that value; -EAGAIN: it has another one; -EFAULT. */
static long expect(vaddr_t word, uint32_t expected)
{
    uint32_t v;

    if (copyin_u32(&v, word) != 0)
        return -EFAULT;
    return v != expected ? -EAGAIN : 0;
}

/* Wait by w, whose name is held. The word is read before too, so that who comes too late does not
 * take a wake-up away from others. */
static long wait_named(struct futex_waiter *w, vaddr_t word, uint32_t expected, uint32_t bits,
                       uint64_t deadline)
{
    long err = expect(word, expected);

    if (err)
        return err;
    enter(w, bits);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    err = expect(word, expected);
    if (err) {
        if (leave(w))
            (void)wake_named(&w->name, 1, bits);
        return err;
    }
    err = wait_block(&w->waiter, WAIT_INTERRUPTIBLE, deadline);
    return leave(w) ? 0 : err;
}

static long futex_wait(vaddr_t word, bool shared, uint32_t expected, uint32_t bits,
                       uint64_t deadline)
{
    struct futex_waiter w;
    long err;

    if (!bits)
        return -EINVAL;
    err = futex_name_get(word, shared, &w.name);
    if (err)
        return err;
    w.pi = NULL;
    err = wait_named(&w, word, expected, bits, deadline);
    word_name_drop(&w.name);
    return err;
}

/* ---- requeue ---- */

/* Take up to `most` waiters, and a portion, out of the round's bucket. Returns how many; err:
 * -EINVAL, the next is to be requeued to a lock with inheritance. */
static uint32_t take_some(struct round *r, uint32_t most, struct futex_waiter *taken[], long *err)
{
    ipl_t ipl = spin_lock(&r->b->lock); /* not bucket_lock: r->b may be the target */
    struct futex_waiter *w;
    uint32_t n = 0;

    while (n < MIN(most, MOVE_AT_ONCE) && (w = round_next_locked(r)) != NULL) {
        if (w->pi) {
            *err = -EINVAL;
            break;
        }
        futexq_remove(&r->b->q, &w->node);
        __atomic_store_n(&w->at, MOVING, __ATOMIC_RELAXED);
        taken[n++] = w;
    }
    spin_unlock(&r->b->lock, ipl);
    return n;
}

/* Move a portion of waiters to the word `to`, in b. Returns how many, and err as take_some(). */
static uint32_t move_some(struct round *r, uint32_t most, struct bucket *b,
                          const struct word_name *to, long *err)
{
    struct futex_waiter *taken[MOVE_AT_ONCE];
    struct word_name old[MOVE_AT_ONCE];
    ipl_t ipl = bucket_lock(b);
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
        w->node.key = key_of(to);
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
    long done = wake ? wake_named(from, (int32_t)wake, ANY_BIT) : 0, err = 0;
    struct futex_key key = key_of(to);
    struct round r;
    uint32_t n;
    ipl_t ipl;

    if (done < 0)
        return done;
    ipl = round_begin(&r, from);
    spin_unlock(&r.b->lock, ipl);
    while (most && !err && (n = move_some(&r, most, bucket_of(&key), to, &err)) != 0 &&
           !thread_killed()) {
        most -= n;
        done += n;
    }
    return err ? err : done;
}

/* The two words of a call, named. */
static long names_get(vaddr_t a, vaddr_t b, bool shared, struct word_name *name_a,
                      struct word_name *name_b)
{
    long err = futex_name_get(a, shared, name_a);

    if (err)
        return err;
    err = futex_name_get(b, shared, name_b);
    if (err)
        word_name_drop(name_a);
    return err;
}

static long futex_requeue(vaddr_t from, vaddr_t to, bool shared, int32_t wake, int32_t most,
                          const uint32_t *expected)
{
    struct word_name name_from, name_to;
    uint32_t v;
    long r;

    if (wake < 0 || most < 0)
        return -EINVAL;
    r = names_get(from, to, shared, &name_from, &name_to);
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
    struct bucket *b = __atomic_load_n(&w->at, __ATOMIC_ACQUIRE);
    ipl_t ipl;

    if (b == AWAY)
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
    long err = expect(word, expected);

    if (err)
        return err;
    enter(&q->w, ANY_BIT);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    err = expect(word, expected);
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

static long futex_wait_requeue(vaddr_t word, vaddr_t lock, bool shared, uint32_t expected,
                               uint64_t deadline)
{
    struct requeued q = {.back = false};
    long err;

    if (word == lock)
        return -EINVAL;
    err = names_get(word, lock, shared, &q.w.name, &q.lock);
    if (err)
        return err;
    q.w.pi = &q.pi;
    q.w.lock = &q.lock;
    if (same_name(&q.w.name, &q.lock))
        err = -EINVAL;
    else
        err = wait_requeued(&q, word, lock, expected, deadline);
    word_name_drop(&q.lock);
    word_name_drop(&q.w.name);
    return err;
}

/* A call that moves waiters to `lock`. */
struct move {
    struct round round;
    const struct word_name *lock;
    struct futex_waiter *taken;
};

/* The next waiter, taken out of its bucket. NULL: there is none; or err: it is none of these, or
 * waits for another lock. */
static struct pi_waiter *take_next(void *arg, long *err)
{
    struct move *m = arg;
    ipl_t ipl = bucket_lock(m->round.b);
    struct futex_waiter *w = round_next_locked(&m->round);

    if (w && (!w->pi || !same_name(w->lock, m->lock))) {
        *err = -EINVAL;
        w = NULL;
    }
    if (w) {
        futexq_remove(&m->round.b->q, &w->node);
        __atomic_store_n(&w->at, AWAY, __ATOMIC_RELAXED);
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
    ipl = bucket_lock(m->round.b);
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
    ipl_t ipl = round_begin(&m.round, from);
    long done = 0, r;

    spin_unlock(&m.round.b->lock, ipl);
    do {
        r = futex_pi_move(to, lock, take_next, settle, &m);
        if (r > 0)
            done++;
    } while (r > 0 && done <= (long)most && !thread_killed());
    return r < 0 ? r : done;
}

static long futex_requeue_pi(vaddr_t from, vaddr_t to, bool shared, int32_t wake, int32_t most,
                             uint32_t expected)
{
    struct word_name name_from, name_to;
    uint32_t v;
    long r;

    if (wake != 1 || most < 0 || from == to)
        return -EINVAL;
    r = names_get(from, to, shared, &name_from, &name_to);
    if (r)
        return r;
    if (same_name(&name_from, &name_to))
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

/* ---- FUTEX_WAKE_OP ---- */

/* The new value of a word; -ENOSYS: there is no such operation. */
static long operate(uint32_t op, uint32_t arg, uint32_t old, uint32_t *new)
{
    switch (op) {
    case 0:
        *new = arg;
        return 0;
    case 1:
        *new = old + arg;
        return 0;
    case 2:
        *new = old | arg;
        return 0;
    case 3:
        *new = old & ~arg;
        return 0;
    case 4:
        *new = old ^ arg;
        return 0;
    default:
        return -ENOSYS;
    }
}

/* Does the old value compare? 0, 1, or -ENOSYS. */
static long compare(uint32_t how, int32_t old, int32_t arg)
{
    switch (how) {
    case 0:
        return old == arg;
    case 1:
        return old != arg;
    case 2:
        return old < arg;
    case 3:
        return old <= arg;
    case 4:
        return old > arg;
    case 5:
        return old >= arg;
    default:
        return -ENOSYS;
    }
}

/* Carry out the operation that `code` describes on the word, atomically, and compare its old value:
 * 0, 1, -ENOSYS or -EFAULT. */
static long change(vaddr_t word, uint32_t code)
{
    uint32_t op = code >> 28 & 7, old, new, seen;
    int32_t arg = (int32_t)(code << 8) >> 20, with = (int32_t)(code << 20) >> 20;
    long err;

    if (code >> 31)
        arg = (int32_t)(1u << (arg & 31));
    if (copyin_u32(&old, word) != 0)
        return -EFAULT;
    for (;;) {
        err = operate(op, (uint32_t)arg, old, &new);
        if (err)
            return err;
        if (user_compare_swap(word, old, new, &seen) != 0)
            return -EFAULT;
        if (seen == old)
            break;
        if (thread_killed())
            return -EINTR;
        old = seen;
    }
    return compare(code >> 24 & 15, (int32_t)old, with);
}

static long futex_wake_op(vaddr_t a, vaddr_t b, bool shared, int32_t wake_a, int32_t wake_b,
                          uint32_t code)
{
    struct word_name name_a, name_b;
    long r = names_get(a, b, shared, &name_a, &name_b), also;

    if (r)
        return r;
    also = change(b, code);
    r = also < 0 ? also : wake_named(&name_a, wake_a, ANY_BIT);
    if (also > 0 && r >= 0) {
        also = wake_named(&name_b, wake_b, ANY_BIT);
        r = also < 0 ? also : r + also;
    }
    word_name_drop(&name_b);
    word_name_drop(&name_a);
    return r;
}

/* ---- the end of a thread ---- */

#define ROBUST_MOST   2048u /* entries of a list that are looked at, as on Linux */
#define ROBUST_PI     1ul
#define ROBUST_LENGTH 24u

/* The current thread ends and the word is of its list: if it owns the lock, say that the owner has
 * died and wake a waiter. `begun`: the entry is of a lock that was being taken or given back.
 * False: the list is damaged. */
static bool release_robust(vaddr_t word, bool pi, bool begun)
{
    uint32_t tid = uthread_self()->tid, v, seen;

    if ((word & 3) || copyin_u32(&v, word) != 0)
        return false;
    for (;; v = seen) {
        if (begun && !pi && !v) {
            (void)futex_wake(word, true, 1, ANY_BIT);
            return true;
        }
        if ((v & FUTEX_OWNER) != tid)
            return true;
        if (user_compare_swap(word, v, (v & FUTEX_WAITERS) | FUTEX_OWNER_DIED, &seen) != 0)
            return false;
        if (seen == v)
            break;
    }
    if (!pi && (v & FUTEX_WAITERS))
        (void)futex_wake(word, true, 1, ANY_BIT);
    return true;
}

/* Go through the current thread's list of robust locks, which is user memory: a ring of pointers
 * whose lowest bit marks a lock with priority inheritance. */
static void release_list(vaddr_t head)
{
    uint64_t h[3], entry, next; /* first entry, offset of the words, entry begun */
    uint64_t begun;

    if (copyin(h, head, sizeof(h)) != 0)
        return;
    begun = h[2] & ~ROBUST_PI;
    entry = h[0];
    for (unsigned n = 0; n < ROBUST_MOST && (entry & ~ROBUST_PI) != head; n++) {
        bool more = copyin_u64(&next, entry & ~ROBUST_PI) == 0;

        if ((entry & ~ROBUST_PI) != begun &&
            !release_robust((entry & ~ROBUST_PI) + h[1], entry & ROBUST_PI, false))
            return;
        if (!more)
            return;
        entry = next;
    }
    if (begun)
        (void)release_robust(begun + h[1], h[2] & ROBUST_PI, true);
}

/* A killed thread does this, too, and waits for its address space if need be: otherwise whoever
 * waits for the lock, perhaps in another process, would do so for ever. */
static void thread_ends(struct process *p, struct uthread *u)
{
    vaddr_t list = u->robust_list, word = u->clear_tid;

    thread_self()->settling = 1;
    if (list) {
        __atomic_store_n(&u->robust_list, 0, __ATOMIC_RELAXED);
        release_list(list);
    }
    futex_pi_thread_ends(u);
    /* Needed only if others share the address space. As on Linux, a bad address is ignored. */
    if (word && !(process_alone(p) && __atomic_load_n(&p->aspace->refs, __ATOMIC_RELAXED) == 1) &&
        copyout_u32(word, 0) == 0)
        (void)futex_wake(word, true, 1, ANY_BIT);
    thread_self()->settling = 0;
}

void futex_boot(void)
{
    for (unsigned k = 0; k < BUCKETS; k++)
        spin_init(&buckets[k].lock, "futexes", RANK_FUTEX, IPL_ASTDEL);
    futex_pi_boot();
    futex_end_hook = thread_ends;
}

/* ---- the calls ---- */

long sys_set_robust_list(uint64_t head, uint64_t length)
{
    if (length != ROBUST_LENGTH)
        return -EINVAL;
    __atomic_store_n(&uthread_self()->robust_list, head, __ATOMIC_RELAXED);
    return 0;
}

long sys_get_robust_list(uint64_t tid, uint64_t head, uint64_t length)
{
    const struct process *self = process_self();
    const struct uthread *u;
    vaddr_t list = 0;
    long err = 0;
    ipl_t ipl;

    ipl = spin_lock(&process_lock);
    u = (int32_t)tid ? thread_find_locked((uint32_t)tid) : uthread_self();
    if (!u)
        err = -ESRCH;
    else if (u->process != self && process_euid(self) != 0 &&
             process_euid(self) != process_uid(u->process))
        err = -EPERM;
    else
        list = __atomic_load_n(&u->robust_list, __ATOMIC_RELAXED);
    spin_unlock(&process_lock, ipl);
    if (err)
        return err;
    return copyout_u64(length, ROBUST_LENGTH) || copyout_u64(head, list) ? -EFAULT : 0;
}

static long wait_call(vaddr_t word, uint64_t op, bool shared, uint32_t v, vaddr_t timeout,
                      uint32_t bits)
{
    bool absolute = (op & FUTEX_COMMAND) == FUTEX_WAIT_BITSET;
    uint64_t deadline;
    long err = deadline_of(timeout, absolute, (op & FUTEX_CLOCK_REALTIME) != 0, &deadline);

    if (err)
        return err;
    err = futex_wait(word, shared, v, bits, deadline);
    if (err != -EINTR)
        return err;
    /* A relative time cannot be continued where it was. */
    return deadline == WAIT_FOREVER ? -ERESTARTSYS : absolute ? -ERESTARTNOHAND : -EINTR;
}

static long lock_call(vaddr_t word, bool shared, bool wall, vaddr_t timeout)
{
    uint64_t deadline;
    long err = deadline_of(timeout, true, wall, &deadline);

    return err ? err : futex_pi_lock(word, shared, false, deadline);
}

static long wait_requeue_call(vaddr_t word, vaddr_t lock, uint64_t op, bool shared, uint32_t v,
                              vaddr_t timeout)
{
    uint64_t deadline;
    long err = deadline_of(timeout, true, (op & FUTEX_CLOCK_REALTIME) != 0, &deadline);

    return err ? err : futex_wait_requeue(word, lock, shared, v, deadline);
}

long sys_futex(uint64_t word, uint64_t op, uint64_t v, uint64_t timeout, uint64_t word2,
               uint64_t v3)
{
    unsigned command = (unsigned)op & FUTEX_COMMAND;
    bool shared = !(op & FUTEX_PRIVATE_FLAG);
    uint32_t expected = (uint32_t)v3;

    if ((op & FUTEX_CLOCK_REALTIME) && command != FUTEX_WAIT_BITSET && command != FUTEX_LOCK_PI2 &&
        command != FUTEX_WAIT_REQUEUE)
        return -ENOSYS;
    switch (command) {
    case FUTEX_WAIT:
        return wait_call(word, op, shared, (uint32_t)v, timeout, ANY_BIT);
    case FUTEX_WAIT_BITSET:
        return wait_call(word, op, shared, (uint32_t)v, timeout, (uint32_t)v3);
    case FUTEX_WAKE:
        return futex_wake(word, shared, (int32_t)v, ANY_BIT);
    case FUTEX_WAKE_BITSET:
        return (uint32_t)v3 ? futex_wake(word, shared, (int32_t)v, (uint32_t)v3) : -EINVAL;
    case FUTEX_REQUEUE:
        return futex_requeue(word, word2, shared, (int32_t)v, (int32_t)timeout, NULL);
    case FUTEX_CMP_REQUEUE:
        return futex_requeue(word, word2, shared, (int32_t)v, (int32_t)timeout, &expected);
    case FUTEX_WAIT_REQUEUE:
        return wait_requeue_call(word, word2, op, shared, (uint32_t)v, timeout);
    case FUTEX_CMP_REQUEUE_PI:
        return futex_requeue_pi(word, word2, shared, (int32_t)v, (int32_t)timeout, expected);
    case FUTEX_WAKE_OP:
        return futex_wake_op(word, word2, shared, (int32_t)v, (int32_t)timeout, (uint32_t)v3);
    case FUTEX_LOCK_PI:
        return lock_call(word, shared, true, timeout);
    case FUTEX_LOCK_PI2:
        return lock_call(word, shared, (op & FUTEX_CLOCK_REALTIME) != 0, timeout);
    case FUTEX_TRYLOCK_PI:
        return futex_pi_lock(word, shared, true, WAIT_FOREVER);
    case FUTEX_UNLOCK_PI:
        return futex_pi_unlock(word, shared);
    default:
        return -ENOSYS;
    }
}
