/* Host stand-in: the functions of the stand-in for the mutex. */
#ifndef KERNEL_SCHED_MUTEX_QUICK_H
#define KERNEL_SCHED_MUTEX_QUICK_H

#include "kernel/sched/mutex.h"

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
