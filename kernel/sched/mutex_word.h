/*
 * The mutex algorithm, on a state word and a wait queue. It knows no threads and is also built for
 * the host, where it is tested with POSIX threads.
 *
 *     63                                  2       1        0
 *     +-----------------------------------+---------+--------+
 *     | readers                           | WAITERS | WRITER |
 *     +-----------------------------------+---------+--------+
 *
 * WAITERS: there may be a thread on the queue. The bit is never set in a word without a holder: the
 * last holder's release clears it in the same atomic step, and then wakes the first waiter. The
 * lock is not handed over: a woken waiter competes for it, and if it loses it returns to the head
 * of the queue.
 *
 * No wake-up is lost. A waiter first enters the queue, and sleeps only after it has seen, in one
 * atomic step, a word that it cannot take and that has WAITERS set. So there is a holder whose
 * release comes later, sees WAITERS, and wakes the first of the queue. A thread that takes the word
 * after it entered the queue may have consumed a wake-up meant for another; it therefore sets
 * WAITERS as it takes the word, so that its own release wakes the next waiter. If there is none,
 * one wake_one() finds the queue empty.
 *
 * A new reader does not take a word with WAITERS set, or writers would starve; a reader that was
 * woken may. When a reader has got the lock from the queue it wakes the next waiter, so that
 * consecutive readers enter together; a writer among them returns to the head of the queue.
 *
 * A killable waiter may leave without the lock. It may have been woken at the same moment, and the
 * release that woke it has cleared WAITERS: so it passes a wake-up on, after it has left the queue,
 * to the next waiter, who looks at the word again. If it had not been woken, that waiter finds the
 * word held, sets WAITERS again and returns to the head of the queue.
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

/* Add `reader` and set `bits` unless one of the bits `closed` is set; false: one of them is. */
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

/* Set WAITERS in a word that has one of the bits `closed`. False: it has none, try to take it. */
static inline bool mutex_word_announce(uint64_t *word, uint64_t closed)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

    while ((old & closed) != 0)
        if (mutex_word_cas(word, &old, old | MUTEX_WAITERS))
            return true;
    return false;
}

/* flags: WAIT_UNINTERRUPTIBLE or WAIT_KILLABLE. 0, or -EINTR: the word is not taken. */
static inline int mutex_word_wait(uint64_t *word, struct wait_queue *q, unsigned flags,
                                  uint64_t closed, uint64_t closed_to_woken, uint64_t reader,
                                  uint64_t bits)
{
    struct waiter w;

    wait_enqueue(q, &w);
    while (!mutex_word_take(word, closed, reader, bits)) {
        int err;

        if (!mutex_word_announce(word, closed))
            continue;
        err = wait_block(&w, flags, WAIT_FOREVER);
        wait_finish(&w);
        if (unlikely(err)) {
            wake_one(q);
            return err;
        }
        wait_enqueue_first(q, &w);
        closed = closed_to_woken;
    }
    wait_finish(&w);
    return 0;
}

/* The slow paths: wait for a word that could not be taken at once. flags and result as above. */
static inline int mutex_word_lock_slow(uint64_t *word, struct wait_queue *q, unsigned flags)
{
    return mutex_word_wait(word, q, flags, ~MUTEX_WAITERS, ~MUTEX_WAITERS, 0,
                           MUTEX_WRITER | MUTEX_WAITERS);
}

static inline int mutex_word_lock_shared_slow(uint64_t *word, struct wait_queue *q, unsigned flags)
{
    int err = mutex_word_wait(word, q, flags, MUTEX_WRITER | MUTEX_WAITERS, MUTEX_WRITER,
                              MUTEX_READER, MUTEX_WAITERS);

    if (!err)
        wake_one(q);
    return err;
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
