/* What only a kernel built with TEST=1 does (kernel/test): is this one? */
#ifndef TEST_KERNEL_H
#define TEST_KERNEL_H

#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>

#define NEEDS_TEST_KERNEL                                    \
    "needs a kernel built with TEST=1: make TEST=1 kernel, " \
    "scripts/run --kernel build/test/megalith.elf"

/* Any other one knows no such item. */
static inline int is_test_kernel(void)
{
    return mega$info(MEGA_INFO_SELFTEST, -1, 0, 0) != SS$_BADPARAM;
}

#endif
