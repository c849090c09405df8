/*
 * MEGA_SYS_CONTROL: what a privileged program changes in the running system. One function per
 * operation, in the table of control.c.
 */
#ifndef KERNEL_SYS_INFO_CONTROL_H
#define KERNEL_SYS_INFO_CONTROL_H

#include "kernel/base/abi/megalith/info.h"
#include "kernel/base/cond.h"
#include "kernel/base/types.h"

#define CONTROL_ARGS 5

/* An operation: its arguments a1-a5, result a condition value. The caller has the privileges that
 * the table asks for. IPL 0, no locks; user memory is reached through usercopy.h only. */
typedef cond_t (*control_fn)(const uint64_t a[CONTROL_ARGS]);

/* Boot: from now on fn does op, for callers with CMKRNL. No other function does it yet. */
void control_register(enum mega_control op, control_fn fn);

/* MEGA_CTL_FAIL_ARM: a[0] which allocation, a[1] whether user faults count. MEGA_CTL_FAIL_REPORT:
 * a[0] where the report goes, or 0. Values as info.h says. */
cond_t control_fail_arm(const uint64_t a[CONTROL_ARGS]);
cond_t control_fail_report(const uint64_t a[CONTROL_ARGS]);
/* MEGA_CTL_SET_CREDS: a1 struct mega_creds. SS$_NORMAL; SS$_ACCVIO; SS$_BADPARAM: a UIC, privilege
 * or right that there is not, or privileges beyond the authorised ones. */
cond_t control_set_creds(const uint64_t a[CONTROL_ARGS]);
/* MEGA_CTL_DRIVER: a1 enum mega_driver, a2 name, a3 as that says. SS$_ACCVIO, SS$_BADPARAM (no such
 * operation), and the values of kernel/drivers/resmem_driver.h. */
cond_t control_driver(const uint64_t a[CONTROL_ARGS]);

#endif
