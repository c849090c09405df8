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
 * request says for which owner it waits, in a tree by owner (wait_mutex, MUTEX_LOCK_WAITS, taken
 * with a shard's held). Of two requests that would close a cycle together the second finds the
 * entry of the first. The waker takes the entry away, and not the woken thread; otherwise:
 *
 *   A waits for B    B unlocks, which wakes A    B asks for what A has, finds "A waits for B", and
 *                                                fails, although A is about to run
 *
 * Who unlocks releases the mutex now and then, and what it has not come to yet may say that it
 * waits for what is unlocked already. So from the first release on no request of the inode counts
 * in a search before the walk that wakes has passed it. What the walk leaves asleep counts again;
 * if it closes a cycle then, which others could not see meanwhile, it is woken, to find that out by
 * itself. So each entry is part of a search when it is put in, or when it counts again.
 *
 * A chain of more than CHAIN_MAX processes counts as no cycle.
 *
 * Costs in one hold of a shard's mutex, which other files have too: logarithmic in the inode's
 * locks and in the waiting threads, for each of up to AT_ONCE waiting requests and of up to
 * LOCK_CLEAR_MAX ranges that are taken out. Where there are more, the mutex is released between.
 * Who locks over many ranges of its own claims all of its range first.
 */
#include "kernel/io/lock.h"

#include "kernel/base/errno.h"
#include "kernel/base/order.h"
#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"
#include "mm/pool/pool.h"

#define SHARD_BITS 5u
#define CHAIN_MAX  64u /* processes that wait for each other */
#define AT_ONCE    8u  /* requests looked at in one hold */

/* In nonpaged pool; protected by the shard's mutex. */
struct file_locks {
    struct lock_set ranges; /* of processes and open files */
    struct lock_set flocks; /* of flock: whole files */
    struct order requests;  /* of struct request */
    uint32_t passing;       /* calls that walk along them */
    /* These are changed with wait_mutex held, too. */
    uint32_t changing; /* calls that have taken out a part, and have not begun to wake */
    uint32_t walks;    /* that have begun to wake */
};

/* A thread that waits; on its stack. */
struct request {
    struct order_node place; /* in file_locks.requests; shard's mutex */
    const struct file_locks *locks;
    const struct lock_set *set;
    const struct lock_range *want;
    struct wait_queue queue;
    /* These are changed with both mutexes held. */
    struct treap_node waits; /* by want->owner */
    const void *blocking;    /* the owner that it waits for; NULL: it is not in that tree */
    uint32_t walks;          /* of locks->walks, those that had begun before it or have passed it */
};

static struct mutex shards[1u << SHARD_BITS];
static struct mutex wait_mutex = MUTEX_INIT("lock waits", MUTEX_LOCK_WAITS, wait_mutex);
static struct treap waits; /* of struct request, by owner; wait_mutex */

static struct mutex *shard_of(const struct inode *i)
{
    return &shards[((uint64_t)i >> 5) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - SHARD_BITS)];
}

void lock_boot(void)
{
    for (unsigned k = 0; k < ARRAY_SIZE(shards); k++)
        mutex_init(&shards[k], "file locks", MUTEX_FILE_LOCKS);
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

    if (!l && (l = npp_alloc_zeroed(sizeof(*l))) != NULL)
        __atomic_store_n(&i->locks, l, __ATOMIC_RELEASE);
    return l;
}

/* Free what i has of locks if it is empty. Shard locked. */
static void trim(struct inode *i)
{
    struct file_locks *l = i->locks;

    if (!l || !lock_set_empty(&l->ranges) || !lock_set_empty(&l->flocks) ||
        !order_empty(&l->requests) || l->passing || l->changing)
        return;
    __atomic_store_n(&i->locks, NULL, __ATOMIC_RELEASE);
    npp_free(l, sizeof(*l));
}

/* ---- waiting ---- */

static struct request *request_of(struct treap_node *n)
{
    return n ? container_of(n, struct request, waits) : NULL;
}

/* Does r wait for what it says, or may that have been unlocked? */
static bool counts(const struct request *r)
{
    return !r->locks->changing && r->walks == r->locks->walks;
}

/* The request of an owner that waits: of several the one that has waited longest. */
static const struct request *first_of(const void *owner)
{
    const struct request *r = request_of(waits.root), *found = NULL;

    while (r)
        if ((uintptr_t)r->want->owner < (uintptr_t)owner) {
            r = request_of(r->waits.right);
        } else {
            found = r;
            r = request_of(r->waits.left);
        }
    return found && found->want->owner == owner ? found : NULL;
}

/* Does `owner` wait, directly or through others, for `me`? wait_mutex held. */
static bool waits_for(const void *owner, const void *me)
{
    for (unsigned n = 0; n < CHAIN_MAX && owner != me; n++) {
        const struct request *r = first_of(owner);

        if (!r || !counts(r))
            return false;
        owner = r->blocking;
    }
    return owner == me;
}

static void enter(struct request *r)
{
    struct treap_node *up = NULL, **where = &waits.root;

    while (*where) {
        up = *where;
        where = (uintptr_t)r->want->owner < (uintptr_t)request_of(up)->want->owner ? &up->left
                                                                                   : &up->right;
    }
    treap_insert(&waits, &r->waits, up, where);
}

/* Say that r waits for the owner `blocking`. 0 or -EDEADLK. Shard locked, as in the next one. */
static int begin_wait(struct request *r, const void *blocking)
{
    int err = 0;

    mutex_lock(&wait_mutex);
    if (waits_for(blocking, r->want->owner)) {
        err = -EDEADLK;
    } else {
        r->blocking = blocking;
        r->walks = r->locks->walks;
        enter(r);
    }
    mutex_unlock(&wait_mutex);
    return err;
}

static void end_wait_locked(struct request *r)
{
    treap_remove(&waits, &r->waits);
    r->blocking = NULL;
}

static void end_wait(struct request *r)
{
    if (!r->blocking)
        return;
    mutex_lock(&wait_mutex);
    end_wait_locked(r);
    mutex_unlock(&wait_mutex);
}

/* A walk passes r. Wake it if it wants a part of the range, or waits in a cycle. Shard locked. */
static void pass(struct request *r, const struct lock_set *set, uint64_t start, uint64_t end)
{
    bool ready = r->set == set && r->want->start <= end && r->want->end >= start;

    if (r->blocking) {
        mutex_lock(&wait_mutex);
        r->walks++;
        ready = ready || (counts(r) && waits_for(r->blocking, r->want->owner));
        if (ready)
            end_wait_locked(r);
        mutex_unlock(&wait_mutex);
    }
    if (ready)
        wake_all(&r->queue);
}

/* Until the next walk begins, what the requests of l say does not count. Shard locked. */
static void begin_change(struct file_locks *l)
{
    mutex_lock(&wait_mutex);
    l->changing++;
    mutex_unlock(&wait_mutex);
}

static void begin_walk(struct file_locks *l, bool changing)
{
    mutex_lock(&wait_mutex);
    l->changing -= changing;
    l->walks++;
    mutex_unlock(&wait_mutex);
}

/* A range of `set` was unlocked, or locked by less, after begin_change() or in one hold: wake the
 * requests for parts of it. Shard locked, but released after each AT_ONCE requests, of which a user
 * can have as many as threads. The walk goes by age: who asks again meanwhile, or for the first
 * time, is younger than its end, and has seen the change. */
static void wake(struct inode *i, const struct lock_set *set, const struct lock_range *of,
                 bool changing)
{
    struct file_locks *l = i->locks;
    uint64_t since_ns = clock_ns(), age = 0, end = order_end(&l->requests);
    struct order_node *at;

    if (changing || !order_empty(&l->requests))
        begin_walk(l, changing);
    l->passing++; /* l stays */
    for (unsigned n = 1; (at = order_from(&l->requests, age)) != NULL && at->age < end; n++) {
        age = at->age + 1;
        /* It goes away when it gets the mutex. */
        pass(container_of(at, struct request, place), set, of->start, of->end);
        if (n % AT_ONCE == 0)
            mutex_pause(shard_of(i), &since_ns);
    }
    l->passing--;
}

/* Wait until the lock `by`, which is in the way of `want`, may have gone. Shard locked, but not
 * during the wait. 0: try again; -EDEADLK, -ERESTARTSYS. */
static int wait_turn(struct inode *i, const struct lock_set *set, const struct lock_range *want,
                     const struct lock_range *by, bool deadlocks)
{
    struct request r = {.locks = i->locks, .set = set, .want = want};
    struct waiter w;
    int err = 0;

    wait_queue_init(&r.queue, "file lock");
    if (deadlocks)
        err = begin_wait(&r, by->owner);
    if (err)
        return err;
    order_append(&i->locks->requests, &r.place);
    wait_enqueue(&r.queue, &w);
    mutex_unlock(shard_of(i));
    err = wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
    wait_finish(&w);
    mutex_lock(shard_of(i));
    order_remove(&i->locks->requests, &r.place);
    end_wait(&r);
    return err ? -ERESTARTSYS : 0;
}

/* ---- locks ---- */

/* Make what is wanted hold for the owner, whose way is free. Shard locked, but released between if
 * the owner has many ranges there. 0; -ERESTARTSYS, unless all must be done: the caller is to end,
 * and a part of the ranges is gone. */
static int apply(struct inode *i, struct lock_set *set, const struct lock_range *want,
                 struct lock_range **spare, bool all)
{
    bool had = lock_has_part(set, want), cleared = lock_clear(set, want, spare);
    bool weaker = had && want->kind != LOCK_EXCLUSIVE, changing = weaker && !cleared;
    struct lock_range *claim = NULL;
    uint64_t since_ns = clock_ns();
    bool killed = false;

    if (!cleared && want->kind != LOCK_NONE)
        claim = lock_claim(set, want, spare);
    if (changing)
        begin_change(i->locks); /* and keep i->locks there, as the claim does */
    while (!cleared && !killed) {
        mutex_pause(shard_of(i), &since_ns);
        cleared = lock_clear(set, want, spare);
        killed = !all && thread_killed();
    }
    if (claim)
        lock_unclaim(set, claim, spare);
    if (cleared && want->kind != LOCK_NONE)
        lock_put(set, want, spare);
    if (weaker || killed)
        wake(i, set, want, changing);
    return cleared ? 0 : -ERESTARTSYS;
}

/* flock changes the kind of a lock by giving it up first, and then may have to wait. */
static int convert(struct inode *i, const struct lock_range *want, struct lock_range **spare)
{
    struct lock_range none = *want;

    none.kind = LOCK_NONE;
    return apply(i, &i->locks->flocks, &none, spare, false);
}

static int set_locked(struct inode *i, enum lock_family family, const struct lock_range *want,
                      bool wait, struct lock_range **spare)
{
    struct file_locks *l = want->kind == LOCK_NONE ? i->locks : locks_of(i);
    struct lock_range *by;
    struct lock_set *set;
    int err = 0;

    if (!l)
        return want->kind == LOCK_NONE ? 0 : -ENOLCK;
    set = family == LOCK_FLOCK ? &l->flocks : &l->ranges;
    if (family == LOCK_FLOCK)
        err = convert(i, want, spare);
    while (!err && want->kind != LOCK_NONE && (by = lock_conflict(set, want)) != NULL)
        err = wait ? wait_turn(i, set, want, by, family == LOCK_POSIX) : -EAGAIN;
    return err ? err : apply(i, set, want, spare, false);
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

/* An owner that ends waits for nothing and asks for nothing, so all of it goes, killed or not. */
void lock_release(struct inode *i, const void *owner)
{
    struct lock_range all = {.start = 0, .end = LOCK_END, .owner = owner, .kind = LOCK_NONE};
    struct lock_range *gone = NULL;
    struct file_locks *l;

    mutex_lock(shard_of(i));
    l = i->locks;
    if (l) {
        (void)apply(i, &l->ranges, &all, &gone, true);
        (void)apply(i, &l->flocks, &all, &gone, true);
        trim(i);
    }
    mutex_unlock(shard_of(i));
    free_chain(gone);
}
