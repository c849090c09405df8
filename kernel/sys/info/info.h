/*
 * MEGA_SYS_INFO: one function for each item. It fills in the item's structure *out, which is zero,
 * from the counters of the subsystem that owns them. SS$_NORMAL; SS$_NONEXPR: there is nothing with
 * that index; SS$_NOPRIV. Called at IPL 0 without locks; may wait.
 */
#ifndef KERNEL_SYS_INFO_INFO_H
#define KERNEL_SYS_INFO_INFO_H

#include "kernel/base/abi/megalith/info.h"
#include "kernel/base/cond.h"
#include "kernel/base/types.h"

struct validate_damage;

cond_t info_section(int64_t index, void *out);
cond_t info_global(int64_t index, void *out);
cond_t info_region(int64_t index, void *out);
cond_t info_process(int64_t index, void *out);
cond_t info_cpu(int64_t index, void *out);
cond_t info_accounting(int64_t index, void *out);
/* Number of processes in each state. */
cond_t info_states(int64_t index, void *out);
/* Number of page-table pages that processes own, from each address space's count. */
uint64_t info_process_pt_pages(void);
/* A deliberate panic; returns only if the caller is not the superuser or index is not 0. */
cond_t info_crash(int64_t index, void *out);
/* The self-check of all memory. */
cond_t info_validate(int64_t index, void *out);
/* The same, with an error planted for the time of the check (NULL: none), for tests. The caller has
   checked privileges. *out: struct mega_validate. SS$_ABORT: the error could not be planted;
   SS$_INSFMEM. IPL 0, no locks; waits. */
cond_t info_validate_damaged(const struct validate_damage *d, void *out);

/* MEGA_SYS_INFO: item is an enum mega_item, buffer the address of `length` bytes for its structure.
   Also SS$_BADPARAM: there is no such item; SS$_ACCVIO. */
cond_t mega_sys_info(uint64_t item, uint64_t index, uint64_t buffer, uint64_t length);

/* Boot: set the function of an item, which has none yet, and the size of its structure, which is
   not larger than union answer of info.c. */
void info_register(enum mega_item item, cond_t (*fn)(int64_t index, void *out), size_t nbytes);

#endif
