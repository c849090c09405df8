/*
 * The algorithm of the mutex on its state word and wait queue; it knows no threads and builds for
 * the host, where it is run against itself.
 *
 *     63                                  2       1        0
 *     +-----------------------------------+---------+--------+
 *     | readers                           | WAITERS | WRITER |
 *     +-----------------------------------+---------+--------+
 *
 * WAITERS: somebody may be on the queue. It is never set without a holder: the last holder's
 * release takes it away in the same step, and then wakes the waiter in front. A woken waiter is
 * handed nothing: it competes, and when it comes too late it goes back to the front of the queue.
 *
 * No wake-up is lost. A waiter enters the queue first, and sleeps only after it has seen, in one
 * atomic step, a word that it cannot take with WAITERS set. So there is a holder whose release
 * comes later, sees WAITERS, and wakes the first of the queue. Whoever may have used up a wake-up,
 * that is everybody who takes the word after entering the queue, sets WAITERS as it takes it, and
 * so owes one to the others; the last one wakes nobody, once.
 *
 * A new reader does not pass WAITERS, or writers would starve; one that was woken may. When it gets
 * in it wakes the next in front, so that a row of readers gets in together; a writer among them
 * goes back to the front.
 */
#ifndef KERNEL_SCHED_MUTEX_WORD_H
#define KERNEL_SCHED_MUTEX_WORD_H

#include "kernel/sched/wait.h"

#define MUTEX_WRITER  1ul
#define MUTEX_WAITERS 2ul
#define MUTEX_READER  4ul

static inline bool mutex_word_cas(uint64_t *word, uint64_t *old, uint64_t new)
{
    return __atomic_compare_exchange_n(word, old, new, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Set `take` (a reader more, or bits) unless one of the bits `closed` is set. */
static inline bool mutex_word_take(uint64_t *word, uint64_t closed, uint64_t reader, uint64_t bits)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

    while ((old & closed) == 0)
        if (mutex_word_cas(word, &old, (old + reader) | bits))
            return true;
    return false;
}

static inline bool mutex_word_try_lock(uint64_t *word)
{
    return mutex_word_take(word, ~0ul, 0, MUTEX_WRITER);
}

static inline bool mutex_word_try_lock_shared(uint64_t *word)
{
    return mutex_word_take(word, MUTEX_WRITER | MUTEX_WAITERS, MUTEX_READER, 0);
}

/* Set WAITERS in a word that is closed to us. False: it is open, try again. */
static inline bool mutex_word_announce(uint64_t *word, uint64_t closed)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

    while ((old & closed) != 0)
        if (mutex_word_cas(word, &old, old | MUTEX_WAITERS))
            return true;
    return false;
}

static inline void mutex_word_wait(uint64_t *word, struct wait_queue *q, uint64_t closed,
                                   uint64_t closed_to_woken, uint64_t reader, uint64_t bits)
{
    struct waiter w;

    wait_enqueue(q, &w);
    while (!mutex_word_take(word, closed, reader, bits)) {
        if (!mutex_word_announce(word, closed))
            continue;
        wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
        wait_finish(&w);
        wait_enqueue_first(q, &w);
        closed = closed_to_woken;
    }
    wait_finish(&w);
}

/* The word was not to be had: wait for it. */
static inline void mutex_word_lock_slow(uint64_t *word, struct wait_queue *q)
{
    mutex_word_wait(word, q, ~MUTEX_WAITERS, ~MUTEX_WAITERS, 0, MUTEX_WRITER | MUTEX_WAITERS);
}

static inline void mutex_word_lock_shared_slow(uint64_t *word, struct wait_queue *q)
{
    mutex_word_wait(word, q, MUTEX_WRITER | MUTEX_WAITERS, MUTEX_WRITER, MUTEX_READER,
                    MUTEX_WAITERS);
    wake_one(q);
}

static inline void mutex_word_unlock(uint64_t *word, struct wait_queue *q)
{
    if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) & MUTEX_WAITERS)
        wake_one(q);
}

static inline void mutex_word_unlock_shared(uint64_t *word, struct wait_queue *q)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), new;

    do {
        new = old - MUTEX_READER;
        if (new == MUTEX_WAITERS)
            new = 0;
    } while (
        !__atomic_compare_exchange_n(word, &old, new, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    if (new == 0 && (old & MUTEX_WAITERS))
        wake_one(q);
}

#endif
