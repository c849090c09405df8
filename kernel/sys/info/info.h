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
/* The function behind a number of either door. */
cond_t info_call(int64_t index, void *out);
/* Processes by state. */
cond_t info_states(int64_t index, void *out);
/* Page-table pages that processes own. */
uint64_t info_process_pt_pages(void);
/* A deliberate panic; returns only to who may not. */
cond_t info_crash(int64_t index, void *out);
/* The self-check of all memory. */
cond_t info_validate(int64_t index, void *out);
/* The same with some damage done for the time of the check (NULL: none), for tests; the caller has
 * looked at privileges. *out: struct mega_validate. SS$_ABORT: the damage could not be done;
 * SS$_INSFMEM. IPL 0, no locks; waits. */
struct validate_damage;
cond_t info_validate_damaged(const struct validate_damage *d, void *out);

/* Boot: from now on fn answers that item, with nbytes of a structure that is not larger than the
 * largest answer of this folder. No other function does so yet. */
void info_register(enum mega_item item, cond_t (*fn)(int64_t index, void *out), size_t nbytes);

#endif
