/* Host stand-in: the unit tests have mutexes of their own, whose functions are called. */
#ifndef KERNEL_SCHED_MUTEX_INLINE_H
#define KERNEL_SCHED_MUTEX_INLINE_H

#include "kernel/sched/mutex.h"

#define mutex_lock_shared_killable_inline mutex_lock_shared_killable
#define mutex_unlock_shared_inline        mutex_unlock_shared

static inline bool mutex_quick_lock_shared(struct mutex *m)
{
    mutex_lock_shared(m);
    return true;
}

static inline bool mutex_quick_unlock_shared(struct mutex *m)
{
    mutex_unlock_shared(m);
    return true;
}

#endif
