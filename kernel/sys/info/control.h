/*
 * MEGA_SYS_CONTROL: changes that a privileged program makes to the running system. control.c has a
 * table with one function for each operation.
 */
#ifndef KERNEL_SYS_INFO_CONTROL_H
#define KERNEL_SYS_INFO_CONTROL_H

#include "kernel/base/abi/megalith/info.h"
#include "kernel/base/cond.h"
#include "kernel/base/types.h"

#define CONTROL_ARGS 5

/* The function of an operation. a: the arguments a1 to a5, not checked yet. Returns a condition
   value. The privileges have been checked. IPL 0, no locks held; may wait. User memory is accessed
   through usercopy.h only. */
typedef cond_t (*control_fn)(const uint64_t a[CONTROL_ARGS]);

/* MEGA_SYS_CONTROL: op is an enum mega_control. Condition values of the operation, or SS$_BADPARAM:
   there is no such one; SS$_NOCMKRNL. IPL 0, no locks held; may wait. */
cond_t mega_sys_control(uint64_t op, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                        uint64_t a5);

/* Boot: set the function of op, which has none yet, for callers with CMKRNL. */
void control_register(enum mega_control op, control_fn fn);

/* MEGA_CTL_FAIL_ARM: a[0] is the number of the allocation that is to fail, a[1] is 1 if allocations
   in user-mode page faults count. MEGA_CTL_FAIL_REPORT: a[0] is the address for the report, or 0.
   Condition values: <megalith/info.h>. */
cond_t control_fail_arm(const uint64_t a[CONTROL_ARGS]);
cond_t control_fail_report(const uint64_t a[CONTROL_ARGS]);
/* MEGA_CTL_DRIVER: a[0] is an enum mega_driver, a[1] the address of a name, a[2] depends on a[0].
   SS$_ACCVIO, SS$_BADPARAM (no such operation), and those of kernel/drivers/resmem_driver.h. */
cond_t control_driver(const uint64_t a[CONTROL_ARGS]);

#endif
