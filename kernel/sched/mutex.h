/*
 * Mutexes: one writer or many readers, for data that is touched only at IPL 0 and may be paged.
 * Taken at IPL 0 with no spinlock held, in rising rank (checked). An uncontended lock or unlock is
 * one compare-and-swap. Owners may wait and fault.
 */
#ifndef KERNEL_SCHED_MUTEX_H
#define KERNEL_SCHED_MUTEX_H

#include "kernel/sched/wait.h"

struct mutex {
    uint64_t state;       /* atomic: kernel/sched/mutex_word.h */
    struct thread *owner; /* the writer; for the checker and dumps */
    struct wait_queue queue;
    const char *name;
    uint8_t rank;
    /* For statistics (kernel/sched/lockstat.h); written by the writer. */
    uint32_t measured; /* round of measuring that this acquisition belongs to; 0: none */
    uint64_t hold_start_ns, place;
};

#define MUTEX_INIT(name_, rank_, m_) \
    {.queue = WAIT_QUEUE_INIT(name_, (m_).queue), .name = (name_), .rank = (rank_)}

#define MUTEXES_HELD_MAX 8 /* by one thread at a time */

void mutex_init(struct mutex *m, const char *name, enum mutex_rank rank);
void mutex_lock(struct mutex *m);
bool mutex_try_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);
void mutex_lock_shared(struct mutex *m);
void mutex_unlock_shared(struct mutex *m);
bool mutex_held(const struct mutex *m); /* exclusively, by this thread */

#endif
