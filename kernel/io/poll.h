/*
 * The wait queue of poll and select. Few programs poll, so there is one queue for all of them: when
 * any file becomes readable or writable, every poller is woken and looks at its files again.
 *
 * The notifier changes the file's state and then looks for pollers; a poller increments
 * poll_waiters and then looks at the files' states. Each has a full barrier between the two steps,
 * so one of them sees the other's store.
 */
#ifndef KERNEL_IO_POLL_H
#define KERNEL_IO_POLL_H

#include "kernel/sched/wait.h"

extern struct wait_queue poll_queue;
extern uint32_t poll_waiters; /* atomic */

/* Report that a file's state changed. Any IPL up to IPL_DEVICE; locks held are of ranks below
 * RANK_WAIT. */
static inline void poll_notify(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&poll_waiters, __ATOMIC_RELAXED))
        wake_all(&poll_queue);
}

#endif
