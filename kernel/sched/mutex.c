/*
 * Mutexes. The algorithm is in mutex_word.h; this file adds the checks, the owner and the
 * statistics.
 *
 * Each thread records the mutexes that it holds, exclusively or shared, in the order in which it
 * took them. Their ranks rise, so a new mutex need only be compared with the last one. Two ranks
 * may be nested in themselves, address spaces and directories: see lockcheck.c.
 *
 * Nothing here allocates; the only failures are broken rules, which panic.
 */
#include "kernel/sched/mutex.h"

#include "kernel/sched/lockcheck.h"
#include "kernel/sched/lockstat.h"
#include "kernel/sched/mutex_word.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"

#define TURN_NS 1000000u /* for which a thread may hold a mutex, in portions, before others run */

void mutex_init(struct mutex *m, const char *name, enum mutex_rank rank)
{
    m->state = 0;
    m->owner = NULL;
    m->name = name;
    m->rank = (uint8_t)rank;
    m->measured = 0;
    wait_queue_init(&m->queue, name);
}

/*
 * The fast paths are leaf functions: if a check fails or the mutex is held, they jump to a function
 * that does the whole operation again, slowly.
 */

/* The quick form of lockcheck_mutex(): true if nothing forbids taking m. */
static inline bool may_take(const struct mutex *m, const struct thread *t)
{
    uint64_t n = t->held_mutexes;

    return thread_spin_top(t) == NULL && ipl_get() == IPL_NONE &&
           (n == 0 || (n < MUTEXES_HELD_MAX && t->held[n - 1]->rank < m->rank));
}

/* The scheduler of another CPU reads the number, as a hint. */
static inline void held_set(struct thread *t, uint64_t n)
{
    __atomic_store_n(&t->held_mutexes, n, __ATOMIC_RELAXED);
}

static inline void note_held(struct mutex *m, struct thread *t, uint64_t place)
{
    uint64_t n = t->held_mutexes;

    t->held[n] = m;
    t->held_at[n] = place;
    __atomic_signal_fence(__ATOMIC_RELEASE); /* a clock tick reads held[n] if it sees n + 1 */
    held_set(t, n + 1);
}

static bool measuring(void) { return lockstat_on(LOCKSTAT_MUTEX); }

/* A wait of the current thread has ended: add it to the thread's total, and return its length in ns
   for the statistics; 0 when measuring began during the wait. */
static uint64_t wait_ended(struct thread *t, uint64_t start, bool measured)
{
    uint64_t wait_ns = clock_ns() - start;

    t->waited_ns += wait_ns;
    return measured ? wait_ns : 0;
}

/* Statistics: the caller has become a reader of m. Returns 0, so that this can be the tail call of
   a function that has to return that. */
static int __attribute__((noinline)) note_reader(const struct mutex *m, bool waited,
                                                 uint64_t wait_ns, uint64_t place)
{
    struct lockstat_hold h = {.kind = LOCKSTAT_MUTEX,
                              .name = m->name,
                              .rank = m->rank,
                              .waited = waited,
                              .shared = true,
                              .place = place,
                              .wait_ns = wait_ns};

    lockstat_note(lockstat_round_of(LOCKSTAT_MUTEX), &h, LOCKSTAT_TAKEN);
    return 0;
}

/* Statistics: the caller has become the writer of m. Returns 0, as note_reader(). */
static int __attribute__((noinline)) begin_measured(struct mutex *m, bool waited, uint64_t wait_ns,
                                                    uint64_t place)
{
    uint32_t round = lockstat_round_of(LOCKSTAT_MUTEX);
    struct lockstat_hold h = {.kind = LOCKSTAT_MUTEX,
                              .name = m->name,
                              .rank = m->rank,
                              .waited = waited,
                              .place = place,
                              .wait_ns = wait_ns};

    m->place = place;
    m->measured = round;
    lockstat_note(round, &h, LOCKSTAT_TAKEN);
    m->hold_start_ns = clock_ns();
    return 0;
}

/* Record what t is about to wait for, for the freezer and displays. */
static void wants(struct thread *t, struct mutex *m, const char *name)
{
    __atomic_store_n(&t->wants, m, __ATOMIC_RELAXED);
    __atomic_store_n(&t->wants_name, name, __ATOMIC_RELAXED);
}

/* How t waits, which asked for `flags`. */
static unsigned how_to_wait(const struct thread *t, unsigned flags)
{
    return t->settling ? WAIT_UNINTERRUPTIBLE : flags;
}

static int __attribute__((noinline)) lock_slowly(struct mutex *m, unsigned flags, uint64_t place)
{
    struct thread *t = thread_self();
    uint64_t wait_ns = 0;
    bool waited;
    int err = 0;

    lockcheck_mutex(m, true, place);
    waited = !mutex_word_try_lock(&m->state);
    if (waited) {
        bool measured = measuring();
        uint64_t start = clock_ns();

        wants(t, m, m->name);
        err = mutex_word_lock_slow(&m->state, &m->queue, how_to_wait(t, flags));
        wants(t, NULL, NULL);
        wait_ns = wait_ended(t, start, measured);
    }
    if (err)
        return err;
    __atomic_store_n(&m->owner, t, __ATOMIC_RELAXED);
    note_held(m, t, place);
    if (measuring())
        begin_measured(m, waited, wait_ns, place);
    return 0;
}

void mutex_lock(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t open = 0;

    if (unlikely(!may_take(m, t) || !mutex_word_cas(&m->state, &open, MUTEX_WRITER))) {
        (void)lock_slowly(m, WAIT_UNINTERRUPTIBLE, (uint64_t)__builtin_return_address(0));
        return;
    }
    __atomic_store_n(&m->owner, t, __ATOMIC_RELAXED);
    note_held(m, t, (uint64_t)__builtin_return_address(0));
    if (measuring())
        begin_measured(m, false, 0, (uint64_t)__builtin_return_address(0));
}

int mutex_lock_killable(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t open = 0;

    if (unlikely(!may_take(m, t) || !mutex_word_cas(&m->state, &open, MUTEX_WRITER)))
        return lock_slowly(m, WAIT_KILLABLE, (uint64_t)__builtin_return_address(0));
    __atomic_store_n(&m->owner, t, __ATOMIC_RELAXED);
    note_held(m, t, (uint64_t)__builtin_return_address(0));
    if (measuring())
        return begin_measured(m, false, 0, (uint64_t)__builtin_return_address(0));
    return 0;
}

bool mutex_try_lock(struct mutex *m)
{
    struct thread *t = thread_self();

    if (!may_take(m, t))
        lockcheck_mutex(m, false, (uint64_t)__builtin_return_address(0));
    if (!mutex_word_try_lock(&m->state))
        return false;
    __atomic_store_n(&m->owner, t, __ATOMIC_RELAXED);
    note_held(m, t, (uint64_t)__builtin_return_address(0));
    if (measuring())
        begin_measured(m, false, 0, (uint64_t)__builtin_return_address(0));
    return true;
}

static int __attribute__((noinline)) lock_shared_slowly(struct mutex *m, unsigned flags,
                                                        uint64_t place)
{
    struct thread *t = thread_self();
    uint64_t wait_ns = 0;
    bool waited;
    int err = 0;

    lockcheck_mutex(m, true, place);
    waited = !mutex_word_try_lock_shared(&m->state);
    if (waited) {
        bool measured = measuring();
        uint64_t start = clock_ns();

        wants(t, m, m->name);
        err = mutex_word_lock_shared_slow(&m->state, &m->queue, how_to_wait(t, flags));
        wants(t, NULL, NULL);
        wait_ns = wait_ended(t, start, measured);
    }
    if (err)
        return err;
    note_held(m, t, place);
    if (measuring())
        note_reader(m, waited, wait_ns, place);
    return 0;
}

void mutex_lock_shared(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t old = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

    if (unlikely(!may_take(m, t) || (old & (MUTEX_WRITER | MUTEX_WAITERS)) ||
                 !mutex_word_cas(&m->state, &old, old + MUTEX_READER))) {
        (void)lock_shared_slowly(m, WAIT_UNINTERRUPTIBLE, (uint64_t)__builtin_return_address(0));
        return;
    }
    note_held(m, t, (uint64_t)__builtin_return_address(0));
    if (measuring())
        note_reader(m, false, 0, (uint64_t)__builtin_return_address(0));
}

bool mutex_try_lock_shared(struct mutex *m)
{
    struct thread *t = thread_self();

    if (!may_take(m, t))
        lockcheck_mutex(m, false, (uint64_t)__builtin_return_address(0));
    if (!mutex_word_try_lock_shared(&m->state))
        return false;
    note_held(m, t, (uint64_t)__builtin_return_address(0));
    if (measuring())
        note_reader(m, false, 0, (uint64_t)__builtin_return_address(0));
    return true;
}

int mutex_lock_shared_killable(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t old = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

    if (unlikely(!may_take(m, t) || (old & (MUTEX_WRITER | MUTEX_WAITERS)) ||
                 !mutex_word_cas(&m->state, &old, old + MUTEX_READER)))
        return lock_shared_slowly(m, WAIT_KILLABLE, (uint64_t)__builtin_return_address(0));
    note_held(m, t, (uint64_t)__builtin_return_address(0));
    if (measuring())
        return note_reader(m, false, 0, (uint64_t)__builtin_return_address(0));
    return 0;
}

/* Remove m from the record of what the current thread holds. */
static void forget_slowly(const struct mutex *m, uint64_t place)
{
    struct thread *t = thread_self();
    uint64_t i = t->held_mutexes;

    while (i > 0 && t->held[i - 1] != m)
        i--;
    if (i == 0)
        lockcheck_mutex_release(m, place);
    held_set(t, t->held_mutexes - 1);
    for (i--; i < t->held_mutexes; i++) {
        t->held[i] = t->held[i + 1];
        t->held_at[i] = t->held_at[i + 1];
    }
}

static inline bool is_last_held(const struct mutex *m, const struct thread *t)
{
    uint64_t n = t->held_mutexes;

    return n != 0 && t->held[n - 1] == m;
}

/* Once the word is released, m may be freed with its object: what is noted is copied before. */
static void __attribute__((noinline)) unlock_slowly(struct mutex *m, uint64_t place)
{
    struct lockstat_hold hold = {
        .kind = LOCKSTAT_MUTEX, .name = m->name, .rank = m->rank, .place = m->place};
    uint32_t round = m->measured;

    if (!mutex_held(m))
        lockcheck_mutex_release(m, place);
    if (round)
        hold.held_ns = clock_ns() - m->hold_start_ns;
    m->measured = 0;
    forget_slowly(m, place);
    __atomic_store_n(&m->owner, NULL, __ATOMIC_RELAXED);
    mutex_word_unlock(&m->state, &m->queue);
    if (round)
        lockstat_note(round, &hold, LOCKSTAT_RELEASED);
}

void mutex_unlock(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t only_writer = MUTEX_WRITER;

    if (unlikely(!is_last_held(m, t) || __atomic_load_n(&m->owner, __ATOMIC_RELAXED) != t ||
                 measuring())) {
        unlock_slowly(m, (uint64_t)__builtin_return_address(0));
        return;
    }
    /* Clear the owner first: once the word is released, the next writer sets its own. */
    __atomic_store_n(&m->owner, NULL, __ATOMIC_RELAXED);
    held_set(t, t->held_mutexes - 1);
    if (unlikely(!__atomic_compare_exchange_n(&m->state, &only_writer, 0, false, __ATOMIC_RELEASE,
                                              __ATOMIC_RELAXED)))
        mutex_word_unlock(&m->state, &m->queue);
}

/* A reader's release is counted in the current round: the round of the acquire is recorded in the
 * mutex for a writer only. */
static void __attribute__((noinline)) unlock_shared_slowly(struct mutex *m, uint64_t place)
{
    struct lockstat_hold hold = {
        .kind = LOCKSTAT_MUTEX, .name = m->name, .rank = m->rank, .shared = true};
    uint32_t round = lockstat_round_of(LOCKSTAT_MUTEX);

    if (mutex_held(m))
        lockcheck_mutex_release(m, place);
    forget_slowly(m, place);
    mutex_word_unlock_shared(&m->state, &m->queue);
    if (round)
        lockstat_note(round, &hold, LOCKSTAT_RELEASED);
}

void mutex_unlock_shared(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t old = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

    if (unlikely(!is_last_held(m, t) || (old & (MUTEX_WAITERS | MUTEX_WRITER)) || measuring() ||
                 !__atomic_compare_exchange_n(&m->state, &old, old - MUTEX_READER, false,
                                              __ATOMIC_RELEASE, __ATOMIC_RELAXED))) {
        unlock_shared_slowly(m, (uint64_t)__builtin_return_address(0));
        return;
    }
    held_set(t, t->held_mutexes - 1);
}

bool mutex_wanted(const struct mutex *m)
{
    return (__atomic_load_n(&m->state, __ATOMIC_RELAXED) & MUTEX_WAITERS) != 0;
}

void mutex_pause(struct mutex *m, uint64_t *since_ns)
{
    bool yield = mutex_wanted(m) || clock_ns() - *since_ns > TURN_NS;

    mutex_unlock(m);
    if (yield) { /* who holds a mutex has precedence over the others of its user: to all of these */
        thread_yield();
        *since_ns = clock_ns();
    }
    mutex_lock(m);
}

bool mutex_held(const struct mutex *m)
{
    return __atomic_load_n(&m->owner, __ATOMIC_RELAXED) == thread_self();
}
