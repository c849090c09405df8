/* The account of the current thread. Host tests replace this header: they have no threads. */
#ifndef KERNEL_QUOTA_CURRENT_H
#define KERNEL_QUOTA_CURRENT_H

#include "kernel/sched/thread.h"

/* The account that is charged for what the current thread allocates; never NULL, as the first
 * thread has account_system from the start of kernel_main() on. The thread's process holds a
 * reference to it. Any IPL; in an interrupt it is the account of the thread that was interrupted.
 */
static inline struct account *account_self(void) { return thread_self()->account; }

#endif
