/*
 * File locks: lock.h. What an inode has of them exists from the first lock or waiting thread on
 * until the last has gone.
 *
 * Locks. One of SHARDS mutexes, chosen by the inode's address, protects inode.locks and everything
 * under it (MUTEX_FILE_LOCKS). A thread that must wait puts a request on the inode's list before it
 * releases the mutex; whoever removes or weakens a lock wakes the requests that overlap it, under
 * the mutex, and each of these tries again. A request is on its thread's stack and leaves the list
 * under the mutex, so it cannot go while it is being woken.
 *
 * Deadlocks among processes are looked for whenever one begins to wait: until it is woken, its
 * request says for which owner it waits, in a hash by owner (wait_mutex, MUTEX_LOCK_WAITS, taken
 * with a shard's held). Of two requests that would close a cycle together the second finds the
 * entry of the first. The waker takes the entry away, and not the woken thread; otherwise:
 *
 *   A waits for B    B unlocks, which wakes A    B asks for what A has, finds "A waits for B", and
 *                                                fails, although A is about to run
 *
 * A chain of more than CHAIN_MAX processes counts as no cycle. While one of a process's threads
 * goes on waking many waiters, another that asks for a lock may meet those that it has not come to,
 * and fail.
 *
 * Costs in one hold of a shard's mutex: logarithmic in the inode's locks for each range that
 * overlaps, and constant for each of some waiting requests of the inode (AT_ONCE).
 */
#include "kernel/io/lock.h"

#include "kernel/base/errno.h"
#include "kernel/base/list.h"
#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/wait.h"
#include "mm/pool/pool.h"

#define SHARD_BITS  5u
#define BUCKET_BITS 6u
#define CHAIN_MAX   64u /* processes that wait for each other */
#define AT_ONCE     8u  /* requests looked at in one hold */

/* In nonpaged pool; protected by the shard's mutex. */
struct file_locks {
    struct treap ranges;  /* of processes and open files */
    struct treap flocks;  /* of flock: whole files */
    struct list requests; /* of struct request; some are marks of walks, without a set */
};

/* A thread that waits; on its stack. */
struct request {
    struct list link; /* in file_locks.requests; shard's mutex */
    const struct treap *set;
    const struct lock_range *want;
    struct wait_queue queue;
    struct list waits; /* in the hash by want->owner, or empty; wait_mutex, as is the next field */
    const void *blocking; /* the owner that it waits for */
};

static struct mutex shards[1u << SHARD_BITS];
static struct mutex wait_mutex = MUTEX_INIT("lock waits", MUTEX_LOCK_WAITS, wait_mutex);
static struct list buckets[1u << BUCKET_BITS]; /* of struct request; wait_mutex */

static uint64_t hash_of(const void *p, unsigned bits)
{
    return ((uint64_t)p >> 5) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - bits);
}

static struct mutex *shard_of(const struct inode *i) { return &shards[hash_of(i, SHARD_BITS)]; }
static struct list *bucket_of(const void *owner) { return &buckets[hash_of(owner, BUCKET_BITS)]; }

void lock_boot(void)
{
    for (unsigned k = 0; k < ARRAY_SIZE(shards); k++)
        mutex_init(&shards[k], "file locks", MUTEX_FILE_LOCKS);
    for (unsigned k = 0; k < ARRAY_SIZE(buckets); k++)
        list_init(&buckets[k]);
}

/* ---- memory ---- */

static void free_chain(struct lock_range *r)
{
    while (r) {
        struct treap_node *next = r->node.left;

        account_release(r->account, QUOTA_LOCKS, 1);
        npp_free(r, sizeof(*r));
        r = next ? container_of(next, struct lock_range, node) : NULL;
    }
}

/* Put one more node on the chain. False: no memory, or the user's limit. */
static bool add_range(struct lock_range **chain)
{
    struct account *a = account_self();
    struct lock_range *r;

    if (!account_charge(a, QUOTA_LOCKS, 1))
        return false;
    r = npp_alloc(sizeof(*r));
    if (!r) {
        account_release(a, QUOTA_LOCKS, 1);
        return false;
    }
    r->account = a;
    r->node.left = *chain ? &(*chain)->node : NULL;
    *chain = r;
    return true;
}

/* The locks of i, created if there are none; NULL: no memory. Shard locked. */
static struct file_locks *locks_of(struct inode *i)
{
    struct file_locks *l = i->locks;

    if (!l && (l = npp_alloc_zeroed(sizeof(*l))) != NULL) {
        list_init(&l->requests);
        __atomic_store_n(&i->locks, l, __ATOMIC_RELEASE);
    }
    return l;
}

/* Free what i has of locks if it is empty. Shard locked. */
static void trim(struct inode *i)
{
    struct file_locks *l = i->locks;

    if (!l || l->ranges.root || l->flocks.root || !list_empty(&l->requests))
        return;
    __atomic_store_n(&i->locks, NULL, __ATOMIC_RELEASE);
    npp_free(l, sizeof(*l));
}

/* ---- waiting ---- */

/* Does `owner` wait, directly or through others, for `me`? wait_mutex held. */
static bool waits_for(const void *owner, const void *me)
{
    for (unsigned n = 0; n < CHAIN_MAX && owner != me; n++) {
        struct list *at, *head = bucket_of(owner);
        const struct request *r = NULL;

        list_for_each(at, head) {
            r = list_entry(at, struct request, waits);
            if (r->want->owner == owner)
                break;
            r = NULL;
        }
        if (!r)
            return false;
        owner = r->blocking;
    }
    return owner == me;
}

/* Say that r waits for the owner `blocking`. 0 or -EDEADLK. */
static int begin_wait(struct request *r, const void *blocking)
{
    int err = 0;

    mutex_lock(&wait_mutex);
    if (waits_for(blocking, r->want->owner))
        err = -EDEADLK;
    r->blocking = blocking;
    if (!err)
        list_add_tail(bucket_of(r->want->owner), &r->waits);
    mutex_unlock(&wait_mutex);
    return err;
}

static void end_wait(struct request *r)
{
    mutex_lock(&wait_mutex);
    list_remove(&r->waits);
    mutex_unlock(&wait_mutex);
}

/* Wake r if it wants a part of the range. Shard locked. */
static void wake_one_request(struct request *r, const struct treap *set, uint64_t start,
                             uint64_t end)
{
    if (r->set != set || r->want->start > end || r->want->end < start)
        return; /* another one, or the mark of a walk */
    end_wait(r);
    wake_all(&r->queue);
}

/* A range of `set` was unlocked, or locked by less: wake the requests for parts of it. Shard
 * locked, but released after each AT_ONCE requests, of which a user can have as many as threads.
 * Two marks in the list, which keep i->locks there, say where the walk is and where it ends: who
 * asks again meanwhile, or for the first time, does so behind the end, and has seen the change. */
static void wake(struct inode *i, const struct treap *set, uint64_t start, uint64_t end)
{
    struct file_locks *l = i->locks;
    struct request here = {0}, last = {0};
    struct list *at;

    if (list_empty(&l->requests))
        return;
    list_add_head(&l->requests, &here.link);
    list_add_tail(&l->requests, &last.link);
    for (unsigned n = 0; (at = list_next(&l->requests, &here.link)) != &last.link;) {
        struct request *r = list_entry(at, struct request, link);

        list_remove(&here.link);
        list_add_after(at, &here.link);
        wake_one_request(r, set, start, end); /* it goes away when it gets the mutex */
        if (r->set && ++n % AT_ONCE == 0) {   /* marks do not count: each turn passes requests */
            mutex_unlock(shard_of(i));
            mutex_lock(shard_of(i));
        }
    }
    list_remove(&here.link);
    list_remove(&last.link);
}

/* Wait until the lock `by`, which is in the way of `want`, may have gone. Shard locked, but not
 * during the wait. 0: try again; -EDEADLK, -ERESTARTSYS. */
static int wait_turn(struct inode *i, const struct treap *set, const struct lock_range *want,
                     const struct lock_range *by, bool deadlocks)
{
    struct request r = {.set = set, .want = want};
    struct waiter w;
    int err = 0;

    wait_queue_init(&r.queue, "file lock");
    list_init(&r.waits);
    if (deadlocks)
        err = begin_wait(&r, by->owner);
    if (err)
        return err;
    list_add_tail(&i->locks->requests, &r.link);
    wait_enqueue(&r.queue, &w);
    mutex_unlock(shard_of(i));
    err = wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
    wait_finish(&w);
    mutex_lock(shard_of(i));
    list_remove(&r.link);
    end_wait(&r);
    return err ? -ERESTARTSYS : 0;
}

/* ---- locks ---- */

/* flock changes the kind of a lock by giving it up first, and then may have to wait. */
static void convert(struct inode *i, const struct lock_range *want, struct lock_range **spare)
{
    struct lock_range none = *want;

    none.kind = LOCK_NONE;
    lock_apply(&i->locks->flocks, &none, spare);
    wake(i, &i->locks->flocks, 0, LOCK_END);
}

static int set_locked(struct inode *i, enum lock_family family, const struct lock_range *want,
                      bool wait, struct lock_range **spare)
{
    struct file_locks *l = want->kind == LOCK_NONE ? i->locks : locks_of(i);
    struct lock_range *by;
    struct treap *set;
    int err = 0;

    if (!l)
        return want->kind == LOCK_NONE ? 0 : -ENOLCK;
    set = family == LOCK_FLOCK ? &l->flocks : &l->ranges;
    if (family == LOCK_FLOCK)
        convert(i, want, spare);
    while (want->kind != LOCK_NONE && (by = lock_conflict(set, want)) != NULL) {
        err = wait ? wait_turn(i, set, want, by, family == LOCK_POSIX) : -EAGAIN;
        if (err)
            return err;
    }
    lock_apply(set, want, spare);
    if (want->kind != LOCK_EXCLUSIVE)
        wake(i, set, want->start, want->end);
    return 0;
}

int lock_set(struct inode *i, enum lock_family family, const struct lock_range *want, bool wait)
{
    bool whole = want->kind == LOCK_NONE && want->start == 0 && want->end == LOCK_END;
    struct lock_range *spare = NULL;
    int err = whole || (add_range(&spare) && add_range(&spare)) ? 0 : -ENOLCK;

    if (!err) {
        mutex_lock(shard_of(i));
        err = set_locked(i, family, want, wait, &spare);
        trim(i);
        mutex_unlock(shard_of(i));
    }
    free_chain(spare);
    return err;
}

bool lock_test(struct inode *i, const struct lock_range *want, struct lock_range *found)
{
    const struct lock_range *by;

    mutex_lock(shard_of(i));
    by = i->locks ? lock_conflict(&i->locks->ranges, want) : NULL;
    if (by)
        *found = *by;
    mutex_unlock(shard_of(i));
    return by != NULL;
}

void lock_release(struct inode *i, const void *owner)
{
    struct lock_range all = {.start = 0, .end = LOCK_END, .owner = owner, .kind = LOCK_NONE};
    struct lock_range *gone = NULL;
    struct file_locks *l;

    mutex_lock(shard_of(i));
    l = i->locks;
    if (l) {
        lock_apply(&l->ranges, &all, &gone);
        if (gone)
            wake(i, &l->ranges, 0, LOCK_END);
        if (l->flocks.root) {
            struct lock_range *before = gone;

            lock_apply(&l->flocks, &all, &gone);
            if (gone != before)
                wake(i, &l->flocks, 0, LOCK_END);
        }
        trim(i);
    }
    mutex_unlock(shard_of(i));
    free_chain(gone);
}
