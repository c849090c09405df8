/*
 * The requests that kernel/test registers at boot: answers of MEGA_SYS_INFO and operations of
 * MEGA_SYS_CONTROL (values as in <megalith/info.h>). Answers are for the superuser only
 * (SS$_NOPRIV), operations require CMKRNL. IPL 0, no locks held.
 */
#ifndef KERNEL_TEST_TEST_PRIVATE_H
#define KERNEL_TEST_TEST_PRIVATE_H

#include "kernel/base/abi/megalith/info.h"
#include "kernel/sys/info/control.h"

/* End the system on purpose, in the way with that index. Returns only SS$_NONEXPR (no such way), or
 * SS$_ABORT if nothing noticed the error. */
cond_t test_crash(int64_t index, void *out);
/* A breach of the locking rules: returns its name, or (with MEGA_TEST_COMMIT in index) commits it.
 * SS$_NONEXPR: there is no such breach. */
cond_t test_breach(int64_t index, void *out);
/* A leak, in the same way. SS$_NONEXPR; SS$_ABORT: there is nothing to leak. */
cond_t test_leak(int64_t index, void *out);
/* Run the self-check with an error planted. SS$_NONEXPR; SS$_ABORT: no place for it. */
cond_t test_plant(int64_t index, void *out);
/* Run a test of the scheduler, which takes up to some seconds. SS$_NONEXPR. */
cond_t test_selftest(int64_t index, void *out);
/* Measure a pool. a[0]: bytes of a block; a[1]: number of blocks; a[2]: user address for the
 * figures; a[3]: the pool (0: nonpaged, at IPL_CLOCK; 1: paged). All blocks are allocated and
 * freed. SS$_NORMAL; SS$_BADPARAM: too large or too many; SS$_INSFMEM; SS$_ACCVIO. */
cond_t test_pool_cost(const uint64_t a[CONTROL_ARGS]);
/* Hold a spinlock, or keep the IPL raised. a[0]: enum mega_hold; a[1]: how often to do what it
 * says; a[2]: user address for the time in ns. SS$_NORMAL; SS$_BADPARAM; SS$_ACCVIO. */
cond_t test_hold(const uint64_t a[CONTROL_ARGS]);
/* Fill free memory of the kernel with the byte a[0]. SS$_NORMAL. */
cond_t test_stain(const uint64_t a[CONTROL_ARGS]);
/* A planted leak of the kind a[0] (enum mega_disclose) to user address a[1]. SS$_NORMAL,
 * SS$_BADPARAM, SS$_INSFMEM, SS$_ACCVIO. */
cond_t test_disclose(const uint64_t a[CONTROL_ARGS]);

#endif
