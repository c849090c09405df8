/*
 * Mutexes. The algorithm is in mutex_word.h; here are the checks and the bookkeeping.
 *
 * Each thread keeps the mutexes that it holds, exclusively or shared, in the order in which it took
 * them: their ranks rise, so the last one is all that a new one is compared with. Two kinds may be
 * nested in themselves, and their owners state the order: address spaces (fork: parent, then child)
 * and files (a directory, then what is in it).
 */
#include "kernel/sched/mutex.h"

#include "kernel/base/panic.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/mutex_word.h"
#include "kernel/sched/thread.h"

void mutex_init(struct mutex *m, const char *name, enum mutex_rank rank)
{
    m->state = 0;
    m->owner = NULL;
    m->name = name;
    m->rank = (uint8_t)rank;
    m->locks = 0;
    m->waits = 0;
    wait_queue_init(&m->queue, name);
}

static bool rank_may_nest(unsigned rank) { return rank == MUTEX_ASPACE || rank == MUTEX_INODE; }

static void __attribute__((cold, noinline)) check_failed(const struct mutex *m,
                                                         const struct thread *t)
{
    if (t->spin_top)
        panic("mutex %s taken with spinlock %s held, which was taken at %pS", m->name,
              t->spin_top->name, (void *)t->spin_top->taken_at);
    if (t->held_mutexes == MUTEXES_HELD_MAX)
        panic("thread %s holds %u mutexes (MUTEXES_HELD_MAX)", t->name, t->held_mutexes);
    if (t->held_mutexes && t->held[t->held_mutexes - 1]->rank >= m->rank)
        panic("mutex %s (rank %u) taken with %s (rank %u) held", m->name, m->rank,
              t->held[t->held_mutexes - 1]->name, t->held[t->held_mutexes - 1]->rank);
    /* A CPU that is not yet in the scheduler's hands boots at raised IPL. */
    if (ipl_get() != IPL_NONE &&
        (__atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) >> cpu_id()) & 1)
        panic("mutex %s taken at IPL %u", m->name, ipl_get());
}

static inline void check(const struct mutex *m, const struct thread *t, bool rank)
{
    uint32_t n = t->held_mutexes;

    if (unlikely(t->spin_top != NULL || n == MUTEXES_HELD_MAX || ipl_get() != IPL_NONE))
        check_failed(m, t);
    if (rank && n && unlikely(t->held[n - 1]->rank >= m->rank) &&
        (t->held[n - 1]->rank > m->rank || !rank_may_nest(m->rank)))
        check_failed(m, t);
}

static inline void note_held(struct mutex *m, struct thread *t)
{
    t->held[t->held_mutexes++] = m;
    __atomic_store_n(&m->locks, m->locks + 1,
                     __ATOMIC_RELAXED); /* may lose one between readers: a statistic */
}

static void __attribute__((noinline)) forget_inner(const struct mutex *m, struct thread *t)
{
    uint32_t i = t->held_mutexes;

    while (i > 0 && t->held[i - 1] != m)
        i--;
    if (i == 0)
        panic("mutex %s released by thread %s, which does not hold it", m->name, t->name);
    t->held_mutexes--;
    for (i--; i < t->held_mutexes; i++)
        t->held[i] = t->held[i + 1];
}

static inline void forget(const struct mutex *m, struct thread *t)
{
    uint32_t n = t->held_mutexes;

    if (likely(n && t->held[n - 1] == m))
        t->held_mutexes = n - 1;
    else
        forget_inner(m, t);
}

void mutex_lock(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t open = 0;

    check(m, t, true);
    if (unlikely(!mutex_word_cas(&m->state, &open, MUTEX_WRITER))) {
        if (__atomic_load_n(&m->owner, __ATOMIC_RELAXED) == t)
            panic("mutex %s taken twice by thread %s", m->name, t->name);
        __atomic_fetch_add(&m->waits, 1, __ATOMIC_RELAXED);
        mutex_word_lock_slow(&m->state, &m->queue);
    }
    __atomic_store_n(&m->owner, t, __ATOMIC_RELAXED);
    note_held(m, t);
}

bool mutex_try_lock(struct mutex *m)
{
    struct thread *t = thread_self();

    check(m, t, false);
    if (!mutex_word_try_lock(&m->state))
        return false;
    __atomic_store_n(&m->owner, t, __ATOMIC_RELAXED);
    note_held(m, t);
    return true;
}

void mutex_unlock(struct mutex *m)
{
    struct thread *t = thread_self();
    uint64_t only_writer = MUTEX_WRITER;

    if (unlikely(!mutex_held(m)))
        panic("mutex %s released by thread %s, which does not hold it", m->name, t->name);
    forget(m, t);
    __atomic_store_n(&m->owner, NULL, __ATOMIC_RELAXED);
    if (unlikely(!__atomic_compare_exchange_n(&m->state, &only_writer, 0, false, __ATOMIC_RELEASE,
                                              __ATOMIC_RELAXED)))
        mutex_word_unlock(&m->state, &m->queue);
}

void mutex_lock_shared(struct mutex *m)
{
    struct thread *t = thread_self();

    check(m, t, true);
    if (unlikely(!mutex_word_try_lock_shared(&m->state))) {
        __atomic_fetch_add(&m->waits, 1, __ATOMIC_RELAXED);
        mutex_word_lock_shared_slow(&m->state, &m->queue);
    }
    note_held(m, t);
}

void mutex_unlock_shared(struct mutex *m)
{
    forget(m, thread_self());
    mutex_word_unlock_shared(&m->state, &m->queue);
}

bool mutex_held(const struct mutex *m)
{
    return __atomic_load_n(&m->owner, __ATOMIC_RELAXED) == thread_self();
}
