/*
 * Futexes with priority inheritance: FUTEX_LOCK_PI and its relatives (README.md).
 *
 * The word of such a lock has the number of the thread that owns it, and WAITERS if others wait
 * in the kernel: only then do the owner's calls come here. A word for which threads wait has a
 * struct pi_lock, made by the first of them, which knows the owner and the waiters by nice value
 * and age.
 *
 * Handing over. The owner's call, or its end, gives the lock to the first waiter: it writes that
 * one's number into the word (at the owner's end the waiter does so itself, as the owner's
 * address of the word is not known), and nobody else can take the lock in between. A waiter that
 * a signal or the time ends looks under the mutex whether it was given the lock meanwhile, and
 * keeps it.
 *
 * Inheritance. In the fair rule the nice value is what a thread can be lent: an owner has the
 * weight of the best of its waiters' nice values, its own or lent ones, from the arrival of the
 * waiter until it gives the lock away. A waiter that is itself an owner passes it on, along
 * LEND_DEPTH threads.
 *
 * Locks. A mutex for each of BUCKETS sets of words is held for a whole step, in which the word is
 * read and written; so a step is atomic for all that happens in the kernel, and compare-and-swap
 * does the rest. The words of a set belong to anybody, and a page fault can take as long as the
 * server of a shared folder likes: so a step does not fault. One that would changes nothing, and is
 * repeated when the page is there. graph_lock, a spinlock, protects who owns what and
 * who waits for what, across buckets: pi_lock.owner, .next, .prev and .best, and uthread.pi_owned
 * and .pi_waits. It is taken with process_lock held where a thread is looked up by its number:
 * that one cannot be freed before it is known as an owner, and a thread that ends gives away what
 * it owns first. pi_owned is PI_GONE from then on.
 */
#include "kernel/sys/posix/futex_pi.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/treap.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/group.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"
#include "mm/pool/pool_charged.h"

#define BUCKETS     64u
#define CHAIN_DEPTH 32u /* owners in a row that are looked at, 12 instructions each */
#define LEND_DEPTH  4u  /* threads along which a nice value is passed on, 350 instructions each */
#define OWNED_SEEN  16u /* locks of one owner that are looked at */
#define TRIES       200u
#define TRY_NS      1000000u /* between two of them: while an owner ends */

struct pi_lock {
    struct list link; /* in its bucket; the bucket's mutex, like the next two */
    struct word_name name;
    struct list waiters; /* of struct pi_waiter, the first first */
    uint16_t account;
    int best;              /* of the waiters' nice values; graph_lock */
    struct uthread *owner; /* graph_lock */
    struct pi_lock *next, **prev;
};

struct bucket {
    struct mutex lock; /* MUTEX_FUTEX_PI */
    struct list locks;
};

static struct bucket buckets[BUCKETS];
static struct spinlock graph_lock = SPINLOCK_INIT("owners of futexes", RANK_FUTEX_OWNERS,
                                                  IPL_ASTDEL);

/* uthread.pi_owned of a thread that has ended. */
static struct pi_lock gone;
#define PI_GONE (&gone)

static struct bucket *bucket_of(const struct word_name *name)
{
    uint64_t h = ((uint64_t)name->base ^ treap_secret) * UINT64_C(0x9E3779B97F4A7C15);

    h = (h ^ name->offset >> 2) * UINT64_C(0xBF58476D1CE4E5B9);
    return &buckets[h >> 58];
}

static struct pi_lock *find(struct bucket *b, const struct word_name *name)
{
    struct pi_lock *l;

    list_for_each_entry(l, &b->locks, link)
        if (l->name.base == name->base && l->name.offset == name->offset)
            return l;
    return NULL;
}

static struct pi_waiter *first_waiter(const struct pi_lock *l)
{
    struct list *first = list_first(&l->waiters);

    return first ? list_entry(first, struct pi_waiter, link) : NULL;
}

/* ---- owners; graph_lock held ---- */

static void disown_locked(struct pi_lock *l)
{
    if (!l->owner)
        return;
    __atomic_store_n(l->prev, l->next, __ATOMIC_RELAXED);
    if (l->next)
        l->next->prev = l->prev;
    l->owner = NULL;
}

/* False: u has ended. That it ends without owning anything is noted without the lock. */
static bool own_locked(struct pi_lock *l, struct uthread *u)
{
    struct pi_lock *head = NULL;

    if (!__atomic_compare_exchange_n(&u->pi_owned, &head, l, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        if (head == PI_GONE)
            return false;
        head->prev = &l->next;
        __atomic_store_n(&u->pi_owned, l, __ATOMIC_RELAXED);
    }
    l->owner = u;
    l->next = head;
    l->prev = &u->pi_owned;
    return true;
}

/* Lend u what the waiters of its locks are worth. */
static void lend_locked(const struct uthread *u)
{
    int nice = NICE_WORST;
    unsigned n = 0;

    for (const struct pi_lock *l = __atomic_load_n(&u->pi_owned, __ATOMIC_RELAXED);
         l && l != PI_GONE && n < OWNED_SEEN; l = l->next, n++)
        nice = MIN(nice, l->best);
    thread_lend_nice(u->thread, nice);
}

/* A waiter of this nice value has come to l: so has one to what l's owner waits for. */
static void lend_along_locked(struct pi_lock *l, int nice)
{
    for (unsigned n = 0; l && l->owner && nice < l->best && n < LEND_DEPTH; n++) {
        l->best = nice;
        lend_locked(l->owner);
        l = l->owner->pi_waits;
    }
}

/* Would `self` wait for itself if it waited for u? */
static bool is_cycle_locked(const struct uthread *self, const struct uthread *u)
{
    for (unsigned n = 0; n < CHAIN_DEPTH; n++) {
        if (u == self)
            return true;
        if (!u->pi_waits || !u->pi_waits->owner)
            return false;
        u = u->pi_waits->owner;
    }
    return true;
}

/* ---- the locks of a bucket; its mutex held ---- */

static struct pi_lock *lock_new(struct bucket *b, const struct word_name *name)
{
    uint16_t account = pool_account();
    struct pi_lock *l = npp_alloc_charged(sizeof(*l), account);

    if (!l)
        return NULL;
    if (!word_name_hold(name)) {
        npp_free_charged(l, sizeof(*l), account);
        return NULL;
    }
    l->name = *name;
    l->account = account;
    l->best = NICE_WORST;
    l->owner = NULL;
    list_init(&l->waiters);
    list_add_tail(&b->locks, &l->link);
    return l;
}

/* l, which has no waiters, is not needed. */
static void lock_end(struct pi_lock *l)
{
    ipl_t ipl = spin_lock(&graph_lock);

    disown_locked(l);
    spin_unlock(&graph_lock, ipl);
    list_remove(&l->link);
    word_name_drop(&l->name);
    npp_free_charged(l, sizeof(*l), l->account);
}

/* The waiters of l have become fewer: what they are worth. */
static int worth(const struct pi_lock *l)
{
    const struct pi_waiter *w = first_waiter(l);

    return w ? w->nice : NICE_WORST;
}

/* Among equals the oldest is first. */
static void insert_waiter(struct pi_lock *l, struct pi_waiter *w)
{
    struct pi_waiter *at;

    list_for_each_entry(at, &l->waiters, link)
        if (w->nice < at->nice) {
            list_add_tail(&at->link, &w->link); /* before it */
            return;
        }
    list_add_tail(&l->waiters, &w->link);
}

/* Give l to its first waiter, if it has one, and end l if that was the only one. died: the owner
   has ended. */
static void hand_over(struct pi_lock *l, bool died)
{
    struct pi_waiter *w = first_waiter(l);
    struct uthread *from = l->owner;
    ipl_t ipl;

    if (w)
        list_remove(&w->link);
    ipl = spin_lock(&graph_lock);
    disown_locked(l);
    l->best = worth(l);
    if (w) {
        w->user->pi_waits = NULL;
        if (first_waiter(l)) {
            (void)own_locked(l, w->user); /* it waits: it has not ended */
            lend_locked(w->user);
        }
    }
    if (from && !died)
        lend_locked(from);
    spin_unlock(&graph_lock, ipl);
    if (w) {
        w->died = died;
        __atomic_store_n(&w->granted, true, __ATOMIC_RELEASE);
        wake_one(&w->queue);
    }
    if (!first_waiter(l))
        lock_end(l);
}

/* ---- steps: between enter() and leave() no access to user memory faults ---- */

static void entered(void) { thread_self()->no_faults = true; }

static int enter(struct bucket *b)
{
    int err = mutex_lock_killable(&b->lock);

    if (!err)
        entered();
    return err;
}

static void leave(struct bucket *b)
{
    thread_self()->no_faults = false;
    mutex_unlock(&b->lock);
}

/* What a step comes to, beside errors. */
enum {
    RETRY = 1,
    ENDING, /* the owner is about to give the lock away */
    QUEUED,
    TO_READ, /* nothing was changed: the word cannot be read, or written, without a fault */
    TO_WRITE
};

/* The fault, or faults: no mutex is held. 0: try the step again; -EFAULT, -EINTR. */
static long make_present(vaddr_t word, long wanted)
{
    uint32_t v, seen;

    if (copyin_u32(&v, word) == 0 &&
        (wanted == TO_READ || user_compare_swap(word, v, v, &seen) == 0))
        return thread_killed() ? -EINTR : 0;
    return -EFAULT;
}

static long read_word(vaddr_t word, uint32_t *v) { return copyin_u32(v, word) == 0 ? 0 : TO_READ; }

/* Change the word from v. 0; -EAGAIN: it has another value; TO_WRITE. */
static long change(vaddr_t word, uint32_t v, uint32_t new)
{
    uint32_t seen;

    if (user_compare_swap(word, v, new, &seen) != 0)
        return TO_WRITE;
    return seen == v ? 0 : -EAGAIN;
}

/* The owner of the lock has ended, and the current thread has it now: write so. 0, TO_READ,
   TO_WRITE or -EINVAL. */
static long take_from_dead(vaddr_t word, bool more)
{
    uint32_t v;
    long err;

    for (unsigned n = 0; n < TRIES; n++) { /* only a program that plays with the word gets far */
        err = read_word(word, &v);
        if (err)
            return err;
        err = change(word, v, uthread_self()->tid | FUTEX_OWNER_DIED | (more ? FUTEX_WAITERS : 0));
        if (err != -EAGAIN)
            return err;
    }
    return -EINVAL;
}

/* ---- FUTEX_LOCK_PI ---- */

/* Make w wait for the lock of this name, whose owner has the number tid. QUEUED; -ESRCH: there is
   no such thread, or it has ended; -EDEADLK, -EINVAL, -ENOMEM. */
static long queue_up(struct bucket *b, const struct word_name *name, uint32_t tid,
                     struct pi_waiter *w)
{
    struct pi_lock *l = find(b, name);
    struct uthread *u;
    long r = QUEUED;
    ipl_t ipl;

    if (!l)
        l = lock_new(b, name);
    if (!l)
        return -ENOMEM;
    w->nice = thread_lent_nice(w->user->thread);
    ipl = spin_lock(&process_lock);
    u = thread_find_locked(tid);
    spin_lock_at_ipl(&graph_lock);
    if (!u)
        r = -ESRCH;
    else if (l->owner && l->owner != u)
        r = -EINVAL; /* the program has changed the word */
    else if (is_cycle_locked(w->user, u))
        r = -EDEADLK;
    else if (!l->owner && !own_locked(l, u))
        r = -ESRCH;
    if (r == QUEUED) {
        w->user->pi_waits = l;
        lend_along_locked(l, w->nice);
    }
    spin_unlock_at_ipl(&graph_lock);
    spin_unlock(&process_lock, ipl);
    if (r == QUEUED)
        insert_waiter(l, w);
    else if (!first_waiter(l))
        lock_end(l);
    return r;
}

/* One attempt to take the lock for w's thread, a step: 0: it has the lock; QUEUED: w waits; another
   of these results, or an error. w's thread is the current one, or cannot end before w does. */
static long attempt(struct bucket *b, const struct word_name *name, vaddr_t word, bool try,
                    struct pi_waiter *w)
{
    uint32_t v, seen, tid = w->user->tid;
    long err = read_word(word, &v);

    if (err)
        return err;
    if ((v & FUTEX_OWNER) == tid)
        return -EDEADLK;
    if ((v & FUTEX_OWNER) == 0) {
        if (find(b, name))
            return ENDING; /* it is about to be given to a waiter */
        err = change(word, v, tid | (v & FUTEX_OWNER_DIED));
        return err == -EAGAIN ? RETRY : err;
    }
    if (try)
        return -EAGAIN;
    if (!(v & FUTEX_WAITERS)) {
        err = change(word, v, v | FUTEX_WAITERS);
        if (err)
            return err == -EAGAIN ? RETRY : err;
    }
    v |= FUTEX_WAITERS;
    err = queue_up(b, name, v & FUTEX_OWNER, w);
    if (err != -ESRCH)
        return err;
    /* A thread changes its robust locks before it has ended: is this one as before? */
    err = read_word(word, &seen);
    return err ? err : seen == v ? -ESRCH : RETRY;
}

/* w, which was given nothing, waits no longer. */
static void give_up(struct bucket *b, const struct word_name *name, struct pi_waiter *w)
{
    struct pi_lock *l = find(b, name);
    ipl_t ipl;

    list_remove(&w->link);
    ipl = spin_lock(&graph_lock);
    w->user->pi_waits = NULL;
    l->best = worth(l);
    if (l->owner)
        lend_locked(l->owner);
    spin_unlock(&graph_lock, ipl);
    if (!first_waiter(l))
        lock_end(l); /* WAITERS stays in the word, so that the owner's call sets it right */
}

/* Wait until w is given the lock, or not. 0, -EINTR, -ETIMEDOUT, or as take_from_dead(). withdraw:
   NULL, or as in futex_pi_wait_moved(). */
static long wait_for(struct bucket *b, const struct word_name *name, vaddr_t word,
                     struct pi_waiter *w, uint64_t deadline, bool (*withdraw)(struct pi_waiter *))
{
    long err = 0;

    while (!err && !__atomic_load_n(&w->granted, __ATOMIC_ACQUIRE)) {
        err = wait_block(&w->waiter, WAIT_INTERRUPTIBLE, deadline);
        if (!err && !__atomic_load_n(&w->granted, __ATOMIC_ACQUIRE))
            wait_enqueue(&w->queue, &w->waiter);
    }
    wait_finish(&w->waiter);
    mutex_lock(&b->lock); /* whoever gives w the lock is through with it */
    entered();
    if (w->granted)
        err = w->died ? take_from_dead(word, find(b, name) != NULL) : 0;
    else if (!withdraw || !withdraw(w))
        give_up(b, name, w);
    leave(b);
    return err;
}

/* Wait until w is given the lock, which 0 means, or -EINTR, -ETIMEDOUT; or -EFAULT. */
static long wait_and_take(struct bucket *b, const struct word_name *name, vaddr_t word,
                          struct pi_waiter *w, uint64_t deadline,
                          bool (*withdraw)(struct pi_waiter *))
{
    long err = wait_for(b, name, word, w, deadline, withdraw);

    while (err == TO_READ || err == TO_WRITE) {
        err = make_present(word, err);
        if (!err)
            err = enter(b);
        if (!err) {
            err = take_from_dead(word, find(b, name) != NULL);
            leave(b);
        }
    }
    return err;
}

/* An attempt has come to r, which says that it is to be repeated: see to what it lacked. 0, or an
   error. flags: of the wait for an owner that ends. */
static long before_retry(vaddr_t word, long r, unsigned *tries, unsigned flags)
{
    if (r == TO_READ || r == TO_WRITE)
        return make_present(word, r);
    if (thread_killed())
        return -EINTR;
    if (r != ENDING)
        return 0;
    if (++*tries == TRIES)
        return -EINVAL; /* the word says so, but nobody is about to give it away */
    return thread_sleep_until(clock_ns() + TRY_NS, flags) == -EINTR ? -EINTR : 0;
}

static bool is_retry(long r) { return r == RETRY || r == ENDING || r == TO_READ || r == TO_WRITE; }

void futex_pi_prepare(struct pi_waiter *w)
{
    w->user = uthread_self();
    w->granted = w->died = false;
    wait_queue_init(&w->queue, "futex with inheritance");
    wait_enqueue(&w->queue, &w->waiter);
}

static long lock_named(const struct word_name *name, vaddr_t word, bool try, uint64_t deadline)
{
    struct bucket *b = bucket_of(name);
    struct pi_waiter w = {.user = uthread_self()};
    unsigned tries = 0;
    long r;

    do {
        r = enter(b);
        if (r)
            return r;
        r = attempt(b, name, word, try, &w);
        if (r == QUEUED)
            futex_pi_prepare(&w); /* who gives w the lock has the mutex */
        leave(b);
        if (r == QUEUED)
            return wait_and_take(b, name, word, &w, deadline, NULL);
        if (!is_retry(r))
            return r;
        r = before_retry(word, r, &tries, WAIT_INTERRUPTIBLE);
    } while (!r);
    return r;
}

long futex_pi_lock(vaddr_t word, bool shared, bool try, uint64_t deadline)
{
    struct word_name name;
    long err = futex_name_get(word, shared, &name);

    if (err)
        return err;
    err = lock_named(&name, word, try, deadline);
    word_name_drop(&name);
    return err == -EINTR ? -ERESTARTNOINTR : err;
}

/* ---- waiters that others move here ---- */

bool futex_pi_withdraw(const struct word_name *name, struct pi_waiter *w,
                       bool (*withdraw)(struct pi_waiter *w))
{
    struct bucket *b = bucket_of(name);
    bool back;

    mutex_lock(&b->lock);
    back = withdraw(w);
    mutex_unlock(&b->lock);
    return back;
}

long futex_pi_wait_moved(const struct word_name *name, vaddr_t word, struct pi_waiter *w,
                         uint64_t deadline, bool (*withdraw)(struct pi_waiter *w))
{
    return wait_and_take(bucket_of(name), name, word, w, deadline, withdraw);
}

/* An attempt for a waiter that `take` gives, a step: 0: there was none; otherwise as attempt(), but
   QUEUED also if it was given the lock. */
static long move_step(struct bucket *b, const struct word_name *name, vaddr_t word,
                      struct pi_waiter *(*take)(void *arg, long *err),
                      void (*settle)(void *arg, bool moved), void *arg)
{
    long r = 0;
    struct pi_waiter *w = take(arg, &r);

    if (!w)
        return r;
    r = attempt(b, name, word, false, w);
    settle(arg, !r || r == QUEUED);
    if (r)
        return r;
    __atomic_store_n(&w->granted, true, __ATOMIC_RELEASE);
    wake_one(&w->queue);
    return QUEUED;
}

long futex_pi_move(const struct word_name *name, vaddr_t word,
                   struct pi_waiter *(*take)(void *arg, long *err),
                   void (*settle)(void *arg, bool moved), void *arg)
{
    struct bucket *b = bucket_of(name);
    unsigned tries = 0;
    long r;

    do {
        r = enter(b);
        if (r)
            return r;
        r = move_step(b, name, word, take, settle, arg);
        leave(b);
        if (!is_retry(r))
            return r == QUEUED ? 1 : r;
        r = before_retry(word, r, &tries, WAIT_UNINTERRUPTIBLE);
    } while (!r);
    return r;
}

/* ---- FUTEX_UNLOCK_PI ---- */

/* A step: 0, RETRY, TO_READ, TO_WRITE or an error. */
static long release(struct bucket *b, const struct word_name *name, vaddr_t word)
{
    struct pi_lock *l = find(b, name);
    const struct pi_waiter *w = l ? first_waiter(l) : NULL;
    uint32_t v, new = 0;
    long err;

    err = read_word(word, &v);
    if (err)
        return err;
    if ((v & FUTEX_OWNER) != uthread_self()->tid)
        return -EPERM;
    if (l && l->owner != uthread_self())
        return -EINVAL;
    if (w)
        new = w->user->tid | (list_next(&l->waiters, &w->link) ? FUTEX_WAITERS : 0);
    err = change(word, v, new);
    if (!err && l)
        hand_over(l, false);
    return err == -EAGAIN ? RETRY : err;
}

long futex_pi_unlock(vaddr_t word, bool shared)
{
    struct word_name name;
    struct bucket *b;
    long r = futex_name_get(word, shared, &name);

    if (r)
        return r;
    b = bucket_of(&name);
    do {
        r = enter(b);
        if (!r) {
            r = release(b, &name, word);
            leave(b);
        }
        if (r == TO_READ || r == TO_WRITE) {
            r = make_present(word, r);
            r = r ? r : RETRY;
        }
    } while (r == RETRY && !thread_killed());
    word_name_drop(&name);
    return r == RETRY ? -EINTR : r;
}

/* ---- the end of a thread ---- */

/* The bucket of the first lock that u owns; NULL: it owns none, and has ended from now on. The lock
   itself may be gone at once. */
static struct bucket *next_owned(struct uthread *u)
{
    struct pi_lock *l = NULL;
    struct bucket *b = NULL;
    ipl_t ipl;

    if (likely(__atomic_compare_exchange_n(&u->pi_owned, &l, PI_GONE, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_ACQUIRE)))
        return NULL;
    ipl = spin_lock(&graph_lock); /* without it the lock could be freed */
    l = __atomic_load_n(&u->pi_owned, __ATOMIC_RELAXED);
    if (l && l != PI_GONE)
        b = bucket_of(&l->name);
    spin_unlock(&graph_lock, ipl);
    return b;
}

/* Give away all locks of bucket b that u owns. */
static void leave_bucket(struct bucket *b, const struct uthread *u)
{
    struct pi_lock *l, *next;

    mutex_lock(&b->lock);
    list_for_each_entry_safe(l, next, &b->locks, link)
        if (l->owner == u) /* u is the current thread: only it changes that here */
            hand_over(l, true);
    mutex_unlock(&b->lock);
}

void futex_pi_thread_ends(struct uthread *u)
{
    struct bucket *b;

    while (__atomic_load_n(&u->pi_owned, __ATOMIC_RELAXED) != PI_GONE)
        if ((b = next_owned(u)) != NULL)
            leave_bucket(b, u);
}

void futex_pi_boot(void)
{
    for (unsigned k = 0; k < BUCKETS; k++) {
        mutex_init(&buckets[k].lock, "futexes with inheritance", MUTEX_FUTEX_PI);
        list_init(&buckets[k].locks);
    }
}
