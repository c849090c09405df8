/*
 * Traces of locks with their callers, PC samples, alignment faults and translation-buffer events:
 * started and stopped by MEGA_SYS_CONTROL, shown by MEGA_SYS_INFO (both tables are in
 * kernel/sys/info; values as in <megalith/info.h>). The functions that answer fill in the
 * structure of their item and return a condition value. They require CMKRNL (SS$_NOCMKRNL), except
 * those for the statistics of a lock, which are for everybody; SS$_NONEXPR: there is no such
 * index. IPL 0, no locks.
 */
#ifndef KERNEL_TRACE_TRACE_H
#define KERNEL_TRACE_TRACE_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"

/* Boot: register the memory of traces with the census (mm/check/census.h). */
void trace_boot(void);

/* MEGA_CTL_TRACE: enum mega_facility, enum mega_trace_verb, and the number that the verb takes.
 * SS$_BADPARAM, SS$_INSFMEM, SS$_NONEXPR (start: not loaded), SS$_NOTMODIFIED (already so),
 * SS$_UNSUPPORTED (load: no model counts events). IPL 0,
 * no locks; waits for the other CPUs. */
cond_t trace_verb(uint64_t facility, uint64_t verb, uint64_t number);
/* MEGA_CTL_LOCK_STATS: 1 starts measuring all locks anew, 0 stops it; else SS$_BADPARAM. */
cond_t trace_lock_stats(uint64_t on);

cond_t trace_spinlock(int64_t index, void *out); /* struct mega_lock */
cond_t trace_mutex(int64_t index, void *out);
cond_t trace_ipl(int64_t index, void *out);       /* struct mega_ipl */
cond_t trace_hold(int64_t index, void *out);      /* struct mega_held */
cond_t trace_state(int64_t index, void *out);     /* struct mega_trace */
cond_t trace_caller(int64_t index, void *out);    /* struct mega_caller */
cond_t trace_pc_sample(int64_t index, void *out); /* struct mega_pc_sample */
cond_t trace_fault(int64_t index, void *out);     /* struct mega_fault */
cond_t trace_events(int64_t index, void *out);    /* struct mega_events */

#endif
