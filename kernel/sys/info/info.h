/*
 * MEGA_SYS_INFO: one function per item fills in its structure from its owner's own counters.
 * SS$_NORMAL, SS$_NONEXPR beyond the last, SS$_NOPRIV.
 */
#ifndef KERNEL_SYS_INFO_INFO_H
#define KERNEL_SYS_INFO_INFO_H

#include "kernel/base/abi/megalith/info.h"
#include "kernel/base/cond.h"
#include "kernel/base/types.h"

cond_t info_section(int64_t index, void *out);
cond_t info_global(int64_t index, void *out);
cond_t info_region(int64_t index, void *out);
cond_t info_process(int64_t index, void *out);
cond_t info_cpu(int64_t index, void *out);
cond_t info_spinlock(int64_t index, void *out);
cond_t info_mutex(int64_t index, void *out);
/* Traces: state, callers of locks, PC samples. */
cond_t info_trace(int64_t index, void *out);
cond_t info_caller(int64_t index, void *out);
cond_t info_pc_sample(int64_t index, void *out);
/* The function behind the number of a call or service. */
cond_t info_call(int64_t index, void *out);
/* Alignment faults. */
cond_t info_fault(int64_t index, void *out);
/* Processes by state. */
cond_t info_states(int64_t index, void *out);
/* Page-table pages that processes own. */
uint64_t info_process_pt_pages(void);
/* Deliberate ends of the system, for tests; returns only to who may not. */
cond_t info_crash(int64_t index, void *out);
/* Breaches of the rules of locks, for tests: their names, or (MEGA_BREACH_COMMIT) one of them.
 * SS$_NOPRIV, SS$_NONEXPR; SS$_ABORT: the checks let it pass, or it needs a second CPU. */
cond_t info_breach(int64_t index, void *out);
/* Leaks, for tests: what info_breach does with MEGA_BREACH_LEAK. */
cond_t info_leak(int64_t index, void *out);
/* The self-check of all memory. */
cond_t info_validate(int64_t index, void *out);
/* The kernel's own tests; each takes up to some seconds. */
cond_t info_selftest(int64_t index, void *out);

#endif
