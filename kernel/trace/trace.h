/*
 * Traces, as MEGA_SYS_CONTROL starts and stops them and MEGA_SYS_INFO shows them (kernel/sys/info
 * has both tables; values as <megalith/info.h> says): locks with their callers, PC samples,
 * alignment faults. The answers fill in the structure of their item and return a condition value;
 * but for lines of locks, which everybody may see, they take CMKRNL.
 */
#ifndef KERNEL_TRACE_TRACE_H
#define KERNEL_TRACE_TRACE_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"

/* Boot: the memory of traces is accounted for (mm/check/census.h). */
void trace_boot(void);

/* MEGA_CTL_TRACE: enum mega_facility, enum mega_trace_verb, and a number as that says. IPL 0, no
 * locks; waits for the other CPUs. */
cond_t trace_verb(uint64_t facility, uint64_t verb, uint64_t number);
/* MEGA_CTL_LOCK_STATS: 1 measures all locks anew, 0 stops that. SS$_BADPARAM for another value. */
cond_t trace_lock_stats(uint64_t on);

cond_t trace_spinlock(int64_t index, void *out);  /* struct mega_lock */
cond_t trace_mutex(int64_t index, void *out);     /* struct mega_lock */
cond_t trace_state(int64_t index, void *out);     /* struct mega_trace */
cond_t trace_caller(int64_t index, void *out);    /* struct mega_caller */
cond_t trace_pc_sample(int64_t index, void *out); /* struct mega_pc_sample */
cond_t trace_fault(int64_t index, void *out);     /* struct mega_fault */

#endif
