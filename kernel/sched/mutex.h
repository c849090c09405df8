/*
 * Mutexes: one writer or many readers, for data that is accessed only at IPL 0 and may be paged. An
 * uncontended lock or unlock is one compare-and-swap. Holders may wait and take page faults.
 *
 * All functions but mutex_init() and mutex_held(): IPL 0, no spinlock held. Locking functions check
 * that ranks rise, except mutex_try_lock(), which cannot deadlock. A thread holds at most
 * MUTEXES_HELD_MAX mutexes; unlocking functions check that the caller holds m in the given mode.
 */
#ifndef KERNEL_SCHED_MUTEX_H
#define KERNEL_SCHED_MUTEX_H

#include "kernel/sched/wait.h"

struct mutex {
    uint64_t state;       /* atomic: kernel/sched/mutex_word.h */
    struct thread *owner; /* the writer, or NULL; atomic; for checks and dumps */
    struct wait_queue queue;
    const char *name;
    uint8_t rank;
    /* Statistics (kernel/sched/lockstat.h); written by the writer. */
    uint32_t measured;             /* measuring round of this acquisition; 0: none */
    uint64_t hold_start_ns, place; /* time and PC of the acquire, if measured */
};

#define MUTEX_INIT(name_, rank_, m_) \
    {.queue = WAIT_QUEUE_INIT(name_, (m_).queue), .name = (name_), .rank = (rank_)}

#define MUTEXES_HELD_MAX 8 /* by one thread at a time */

void mutex_init(struct mutex *m, const char *name, enum mutex_rank rank);
void mutex_lock(struct mutex *m);
bool mutex_try_lock(struct mutex *m); /* false: it is held; does not wait */
void mutex_unlock(struct mutex *m);
void mutex_lock_shared(struct mutex *m);
bool mutex_try_lock_shared(struct mutex *m); /* false: somebody has it otherwise, or waits for it */
void mutex_unlock_shared(struct mutex *m);
/* The same, except that a thread that is to end does not wait: 0, or -EINTR and the mutex is not
   taken. For calls that can give up there, where a holder may need as long as a user likes. One
   that finds the mutex free takes it in any case. */
int mutex_lock_killable(struct mutex *m) __attribute__((warn_unused_result));
int mutex_lock_shared_killable(struct mutex *m) __attribute__((warn_unused_result));
/* May others be waiting for m, which the caller holds? A long hold can be divided for them. */
bool mutex_wanted(const struct mutex *m);
/* Divide a long hold of m: release it for a moment, and let others run if one wants m or the caller
 * has not done so for a millisecond since *since_ns, which began as clock_ns(). IPL 0. */
void mutex_pause(struct mutex *m, uint64_t *since_ns);
bool mutex_held(const struct mutex *m); /* exclusively, by this thread */

#endif
