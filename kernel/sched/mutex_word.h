/*
 * The mutex algorithm, on a state word and a queue of turns. It knows no threads and is also built
 * for the host, where it is tested with POSIX threads.
 *
 *     63                        3          2         1        0
 *     +-------------------------+----------+---------+--------+
 *     | readers                 | RESERVED | WAITERS | WRITER |
 *     +-------------------------+----------+---------+--------+
 *
 * WAITERS: there may be a thread on the queue. The bit is never set in a word without a holder,
 * unless RESERVED is: the last holder's release clears it in the same atomic step, and then wakes
 * the waiter whose turn it is (turn.h). The lock is not handed over: a woken waiter competes for
 * it, and if it loses it returns to the head of the queue. So a mutex is not idle while who was
 * woken is on its way to a CPU.
 *
 * RESERVED: a waiter has lost MUTEX_LOSSES times, and is on the queue. Then the last release leaves
 * RESERVED and WAITERS set, and such a word is closed to all who were not woken. Without this,
 * nothing says how often a waiter loses:
 *
 *   A waits    B releases and wakes A    B takes it again    A runs, and has lost    B releases ...
 *
 * The bit is set in a word with a holder only, by a waiter on the queue, so that a release follows
 * that wakes the first of the queue, or finds that who set it is awake. Whoever takes a reserved
 * word clears it; another waiter that had lost as often sets it again when it loses once more. So
 * who waits is overtaken MUTEX_LOSSES times by threads that came later, and then by others that
 * were woken; each of these may clear its bit before it has its turn, and so may a waiter that is
 * killed, which lets one more of those that came later in for each of them.
 *
 * No wake-up is lost. A waiter first enters the queue, and sleeps only after it has seen, in one
 * atomic step, a word that it cannot take and that has WAITERS set. So there is a holder whose
 * release comes later, sees WAITERS, and wakes the first of the queue; or, for one that was not
 * woken, the word is reserved for one that was or will be, and whose release comes later. A thread
 * that takes the word after it entered the queue may have consumed a wake-up meant for another; it
 * therefore sets WAITERS as it takes the word, so that its own release wakes the next waiter. If
 * there is none, one turn_wake() finds the queue empty.
 *
 * A new reader does not take a word with WAITERS set, or writers would starve; a reader that was
 * woken may. When a reader has got the lock from the queue it wakes the next waiter, so that
 * consecutive readers enter together; a writer among them returns to the head of the queue.
 *
 * A killable waiter may leave without the lock. It may have been woken at the same moment, and the
 * release that woke it has cleared WAITERS, or it was the one for whom the word is reserved: so it
 * clears RESERVED, and passes a wake-up on, after it has left the queue, to the next waiter, who
 * looks at the word again. If it had not been woken, that waiter finds the word held, sets WAITERS
 * again and returns to the head of the queue.
 */
#ifndef KERNEL_SCHED_MUTEX_WORD_H
#define KERNEL_SCHED_MUTEX_WORD_H

#include "kernel/sched/turn.h"

#define MUTEX_WRITER   1ul
#define MUTEX_WAITERS  2ul
#define MUTEX_RESERVED 4ul
#define MUTEX_READER   8ul

/* How often a woken waiter finds that another one was faster, before it has the word reserved. Each
 * reservation leaves the mutex idle until that waiter runs. */
#define MUTEX_LOSSES 2u

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

/* Take the word as one that is on the queue, or was: without a holder it is reserved no more. */
static inline bool mutex_word_take_turn(uint64_t *word, uint64_t closed, uint64_t reader,
                                        uint64_t bits)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

    while ((old & closed) == 0) {
        bool held = (old & ~(MUTEX_WAITERS | MUTEX_RESERVED)) != 0;

        if (mutex_word_cas(word, &old, ((old & ~(held ? 0 : MUTEX_RESERVED)) + reader) | bits))
            return true;
    }
    return false;
}

/* Set `bits` in a word that has one of the bits `closed`. False: it has none, try to take it. */
static inline bool mutex_word_announce(uint64_t *word, uint64_t closed, uint64_t bits)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

    while ((old & closed) != 0)
        if (mutex_word_cas(word, &old, old | bits))
            return true;
    return false;
}

/* What a release leaves of a word that has no holder any more. */
static inline uint64_t mutex_word_left(uint64_t word)
{
    return word & MUTEX_RESERVED ? MUTEX_RESERVED | MUTEX_WAITERS : 0;
}

/* Clear RESERVED, for a waiter that leaves. */
static inline void mutex_word_forgo(uint64_t *word)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), new;

    do {
        new = old & ~MUTEX_RESERVED;
        if (new == MUTEX_WAITERS)
            new = 0;
    } while (new != old && !__atomic_compare_exchange_n(word, &old, new, true, __ATOMIC_RELAXED,
                                                        __ATOMIC_RELAXED));
}

/* flags: WAIT_UNINTERRUPTIBLE or WAIT_KILLABLE. 0, or -EINTR: the word is not taken. */
static inline int mutex_word_wait(uint64_t *word, struct wait_queue *q, unsigned flags,
                                  uint64_t closed, uint64_t closed_to_woken, uint64_t reader,
                                  uint64_t bits)
{
    uint64_t want = MUTEX_WAITERS;
    unsigned woken = 0;
    struct turn t;

    turn_enqueue(q, &t);
    while (!mutex_word_take_turn(word, closed, reader, bits)) {
        int err;

        if (!mutex_word_announce(word, closed, want))
            continue;
        err = wait_block(&t.waiter, flags, WAIT_FOREVER);
        turn_finish(&t);
        if (unlikely(err)) {
            mutex_word_forgo(word);
            turn_wake(q);
            return err;
        }
        turn_enqueue_first(q, &t);
        closed = closed_to_woken;
        if (++woken >= MUTEX_LOSSES)
            want = MUTEX_WAITERS | MUTEX_RESERVED;
    }
    turn_finish(&t);
    return 0;
}

/* The slow paths: wait for a word that could not be taken at once. flags and result as above. */
static inline int mutex_word_lock_slow(uint64_t *word, struct wait_queue *q, unsigned flags)
{
    return mutex_word_wait(word, q, flags, ~MUTEX_WAITERS, ~(MUTEX_WAITERS | MUTEX_RESERVED), 0,
                           MUTEX_WRITER | MUTEX_WAITERS);
}

static inline int mutex_word_lock_shared_slow(uint64_t *word, struct wait_queue *q, unsigned flags)
{
    int err = mutex_word_wait(word, q, flags, MUTEX_WRITER | MUTEX_WAITERS, MUTEX_WRITER,
                              MUTEX_READER, MUTEX_WAITERS);

    if (!err)
        turn_wake(q);
    return err;
}

static inline void mutex_word_unlock(uint64_t *word, struct wait_queue *q)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

    while (!__atomic_compare_exchange_n(word, &old, mutex_word_left(old), true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    if (old & MUTEX_WAITERS)
        turn_wake(q);
}

static inline void mutex_word_unlock_shared(uint64_t *word, struct wait_queue *q)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), new;

    do {
        new = old - MUTEX_READER;
        if (new < MUTEX_READER)
            new = mutex_word_left(new);
    } while (
        !__atomic_compare_exchange_n(word, &old, new, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    if (new < MUTEX_READER && (old & MUTEX_WAITERS))
        turn_wake(q);
}

#endif
