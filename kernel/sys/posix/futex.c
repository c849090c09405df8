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
 */
#include "kernel/sys/posix/futex_private.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/process.h"
#include "kernel/sched/ipl.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/posix/process.h"

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

#define BUCKETS      256u
#define WAKE_AT_ONCE 2u  /* waiters woken in a hold, in up to 700 instructions each */
#define LOOK_AT_ONCE 12u /* waiters looked at in a hold, each found in up to 120 instructions */

static struct futex_bucket buckets[BUCKETS];
struct futex_bucket futex_moving, futex_away;

struct futex_bucket *futex_bucket_of(const struct futex_key *k)
{
    uint64_t h = (k->base ^ treap_secret) * UINT64_C(0x9E3779B97F4A7C15);

    h = (h ^ k->offset >> 2) * UINT64_C(0xBF58476D1CE4E5B9);
    return &buckets[h >> 56];
}

_Static_assert(BUCKETS == 256, "a bucket's number is the highest 8 bits of the hash");

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

ipl_t futex_bucket_lock(struct futex_bucket *b)
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
static void wake_locked(struct futex_bucket *b, struct futex_waiter *w)
{
    futexq_remove(&b->q, &w->node);
    wake_one(&w->queue);
    __atomic_store_n(&w->at, NULL, __ATOMIC_RELEASE); /* the last access */
}

ipl_t futex_round_begin(struct futex_round *r, const struct word_name *name)
{
    ipl_t ipl;

    r->key = futex_key_of(name);
    r->b = futex_bucket_of(&r->key);
    ipl = futex_bucket_lock(r->b);
    r->turn = 0;
    r->last = r->b->q.turns;
    return ipl;
}

struct futex_waiter *futex_round_next_locked(struct futex_round *r)
{
    struct futex_node *n = futexq_find(&r->b->q, &r->key, r->turn);

    if (!n || n->turn > r->last)
        return NULL;
    r->turn = n->turn + 1;
    return container_of(n, struct futex_waiter, node);
}

long futex_wake_named(const struct word_name *name, int32_t most, uint32_t bits)
{
    uint32_t now = 0, looks = 0;
    long woken = 0;
    struct futex_waiter *w;
    struct futex_round r;
    ipl_t ipl;

    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the caller has stored to the word */
    ipl = futex_round_begin(&r, name);
    while ((w = futex_round_next_locked(&r)) != NULL) {
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
            ipl = futex_bucket_lock(r.b);
        }
    }
    spin_unlock(&r.b->lock, ipl);
    return woken;
}

long futex_wake(vaddr_t word, bool shared, int32_t most, uint32_t bits)
{
    struct word_name name;
    long n = futex_name_get(word, shared, &name);

    if (n)
        return n;
    n = futex_wake_named(&name, most, bits);
    word_name_drop(&name);
    return n;
}

/* ---- waiting ---- */

long futex_deadline(vaddr_t timeout, bool absolute, bool wall, uint64_t *deadline)
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

void futex_enter(struct futex_waiter *w, uint32_t bits)
{
    struct futex_bucket *b;
    ipl_t ipl;

    if (w->pi) {
        futex_pi_prepare(w->pi);
    } else {
        wait_queue_init(&w->queue, "futex");
        wait_enqueue(&w->queue, &w->waiter);
    }
    w->node.key = futex_key_of(&w->name);
    w->node.bitset = bits;
    b = futex_bucket_of(&w->node.key);
    ipl = spin_lock(&b->lock);
    futexq_insert(&b->q, &w->node);
    __atomic_store_n(&w->at, b, __ATOMIC_RELAXED);
    spin_unlock(&b->lock, ipl);
}

/* Leave the bucket. True: a call has woken w before. */
static bool leave(struct futex_waiter *w)
{
    struct futex_bucket *b;
    bool there = false;

    while (!there && (b = __atomic_load_n(&w->at, __ATOMIC_ACQUIRE)) != NULL) {
        ipl_t ipl;

        if (b == FUTEX_MOVING)
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

long futex_expect(vaddr_t word, uint32_t expected)
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
    long err = futex_expect(word, expected);

    if (err)
        return err;
    futex_enter(w, bits);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    err = futex_expect(word, expected);
    if (err) {
        if (leave(w))
            (void)futex_wake_named(&w->name, 1, bits);
        return err;
    }
    err = wait_block(&w->waiter, WAIT_INTERRUPTIBLE, deadline);
    return leave(w) ? 0 : err;
}

long futex_wait(vaddr_t word, bool shared, uint32_t expected, uint32_t bits, uint64_t deadline)
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

long futex_names_get(vaddr_t a, vaddr_t b, bool shared, struct word_name *name_a,
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

void futex_boot(void)
{
    for (unsigned k = 0; k < BUCKETS; k++)
        spin_init(&buckets[k].lock, "futexes", RANK_FUTEX, IPL_ASTDEL);
    futex_pi_boot();
    futex_end_hook = futex_thread_ends;
}

/* ---- the calls ---- */

static long wait_call(vaddr_t word, uint64_t op, bool shared, uint32_t v, vaddr_t timeout,
                      uint32_t bits)
{
    bool absolute = (op & FUTEX_COMMAND) == FUTEX_WAIT_BITSET;
    uint64_t deadline;
    long err = futex_deadline(timeout, absolute, (op & FUTEX_CLOCK_REALTIME) != 0, &deadline);

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
    long err = futex_deadline(timeout, true, wall, &deadline);

    return err ? err : futex_pi_lock(word, shared, false, deadline);
}

static long wait_requeue_call(vaddr_t word, vaddr_t lock, uint64_t op, bool shared, uint32_t v,
                              vaddr_t timeout)
{
    uint64_t deadline;
    long err = futex_deadline(timeout, true, (op & FUTEX_CLOCK_REALTIME) != 0, &deadline);

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
        return wait_call(word, op, shared, (uint32_t)v, timeout, FUTEX_ANY_BIT);
    case FUTEX_WAIT_BITSET:
        return wait_call(word, op, shared, (uint32_t)v, timeout, (uint32_t)v3);
    case FUTEX_WAKE:
        return futex_wake(word, shared, (int32_t)v, FUTEX_ANY_BIT);
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
