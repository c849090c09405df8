/*
 * Host stand-in for the mutex: a POSIX read-write lock with the kernel's checks (IPL 0, no
 * spinlock, rank rises; equal ranks only where the kernel allows them).
 */
#ifndef KERNEL_SCHED_MUTEX_H
#define KERNEL_SCHED_MUTEX_H

#include "kernel/sched/wait.h"

#define MUTEXES_HELD_MAX 8

struct mutex {
    pthread_rwlock_t rw;
    const void *holder; /* atomic: the writer */
    const char *name;
    uint8_t rank;
    uint64_t locks;
};

#define MUTEX_INIT(name_, rank_, m_) \
    {.rw = PTHREAD_RWLOCK_INITIALIZER, .name = (name_), .rank = (rank_)}

#define MUTEXES_HELD_MAX 8 /* as in the kernel; thread.h needs it */

void mutex_init(struct mutex *m, const char *name, enum mutex_rank rank);
void mutex_lock(struct mutex *m);
bool mutex_try_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);
void mutex_lock_shared(struct mutex *m);
void mutex_unlock_shared(struct mutex *m);
int mutex_lock_killable(struct mutex *m);
int mutex_lock_shared_killable(struct mutex *m);
bool mutex_wanted(const struct mutex *m);
bool mutex_held(const struct mutex *m);

#endif
