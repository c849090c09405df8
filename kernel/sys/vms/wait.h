/* Results of services that wait: their entries in the table have SYS_FULL_FRAME | SYS_RAW. */
#ifndef KERNEL_SYS_VMS_WAIT_H
#define KERNEL_SYS_VMS_WAIT_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"
#include "kernel/proc/signal.h"

/* Write the result of the current service to its frame; or, if it was interrupted, have it repeated
   after the signal or AST. Returns status. IPL 0. */
cond_t vms_wait_result(cond_t status, bool interrupted);

/* The current thread waits in this state (SCH$C_), or (0) no longer. Any IPL. */
static inline void vms_waits_as(uint8_t state)
{
    __atomic_store_n(&uthread_self()->vms_wait, state, __ATOMIC_RELAXED);
}

#endif
