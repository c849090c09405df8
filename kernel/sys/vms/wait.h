/* Results of services that wait: their entries in the table have SYS_FULL_FRAME | SYS_RAW. */
#ifndef KERNEL_SYS_VMS_WAIT_H
#define KERNEL_SYS_VMS_WAIT_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"

/* Write the result of the current service to its frame; or, if it was interrupted, have it repeated
   after the signal or AST. Returns status. IPL 0. */
cond_t vms_wait_result(cond_t status, bool interrupted);

#endif
