/*
 * What kernel/test registers at boot: answers of MEGA_SYS_INFO and operations of MEGA_SYS_CONTROL
 * (values as <megalith/info.h> says). Answers are for the superuser only (SS$_NOPRIV), operations
 * take CMKRNL. IPL 0, no locks.
 */
#ifndef KERNEL_TEST_TEST_PRIVATE_H
#define KERNEL_TEST_TEST_PRIVATE_H

#include "kernel/base/abi/megalith/info.h"
#include "kernel/sys/info/control.h"

/* Deliberate ends of the system; does not come back, but for SS$_NONEXPR, or SS$_ABORT when nothing
 * noticed. */
cond_t test_crash(int64_t index, void *out);
/* A breach of the rules of locks: its name, or (MEGA_TEST_COMMIT) the deed. SS$_NONEXPR. */
cond_t test_breach(int64_t index, void *out);
/* A leak, likewise. SS$_NONEXPR; SS$_ABORT: there is nothing to leak. */
cond_t test_leak(int64_t index, void *out);
/* The self-check with an error planted. SS$_NONEXPR; SS$_ABORT: there is nothing to plant it in. */
cond_t test_plant(int64_t index, void *out);
/* A test of the scheduler, which takes up to some seconds. SS$_NONEXPR. */
cond_t test_selftest(int64_t index, void *out);
/* a[0] bytes of a block, a[1] how many, a[2] where the figures go, a[3] the pool (1 paged; 0
 * nonpaged, at IPL_CLOCK). Takes and gives back that much of it. SS$_NORMAL; SS$_BADPARAM: too
 * large or too many; SS$_INSFMEM; SS$_ACCVIO. */
cond_t test_pool_cost(const uint64_t a[CONTROL_ARGS]);

#endif
