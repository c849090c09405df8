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

/* a[0] 1: measure locks anew; 0: stop. SS$_BADPARAM for another value. */
cond_t control_lock_stats(const uint64_t a[CONTROL_ARGS]);
/* MEGA_CTL_TRACE: facility, verb, number; values as info.h says. */
cond_t control_trace(const uint64_t a[CONTROL_ARGS]);
/* Boot: the memory of traces is accounted for (mm/pool/pool_census.h). */
void trace_boot(void);
/* MEGA_CTL_POOL_COST: a[0] bytes of a block, a[1] how many, a[2] where the figures go, a[3] the
 * pool (1 paged; 0 nonpaged, at IPL_CLOCK). Takes and gives back that much of it. SS$_NORMAL;
 * SS$_BADPARAM: too large or too many; SS$_INSFMEM; SS$_ACCVIO. IPL 0, no locks. */
cond_t control_pool_cost(const uint64_t a[CONTROL_ARGS]);
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
