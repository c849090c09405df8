/* Some tests need a kernel built with TEST=1, which contains kernel/test. */
#ifndef TEST_KERNEL_H
#define TEST_KERNEL_H

#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>

#define NEEDS_TEST_KERNEL                                    \
    "needs a kernel built with TEST=1: make TEST=1 kernel, " \
    "scripts/run --kernel build/test/megalith.elf"

/* Other kernels return SS$_BADPARAM, because they do not have this item. */
static inline int is_test_kernel(void)
{
    return mega$info(MEGA_INFO_SELFTEST, -1, 0, 0) != SS$_BADPARAM;
}

#endif
