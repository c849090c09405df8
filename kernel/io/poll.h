/*
 * What poll and select wait on. Few programs poll, so there is one queue for all of them: whatever
 * makes some file readable or writable says so here, and every poller looks at its files again.
 *
 * The notifier changes the state, then looks for pollers; the poller announces itself, then looks
 * at the state. Each has a full barrier in between, so one of the two sees the other.
 */
#ifndef KERNEL_IO_POLL_H
#define KERNEL_IO_POLL_H

#include "kernel/sched/wait.h"

extern struct wait_queue poll_queue;
extern uint32_t poll_waiters; /* atomic */

/* A file's state changed. Any IPL up to IPL_DEVICE, locks below RANK_WAIT. */
static inline void poll_notify(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&poll_waiters, __ATOMIC_RELAXED))
        wake_all(&poll_queue);
}

#endif
