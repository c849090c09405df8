/*
 * kernel/test: what only tests ask of the kernel. It is part of kernels built with TEST=1 and of
 * the other kernels for verification (Makefile), and of no other.
 */
#ifndef KERNEL_TEST_TEST_H
#define KERNEL_TEST_TEST_H

#ifdef MEGALITH_TEST
/* Boot: from now on MEGA_SYS_INFO and MEGA_SYS_CONTROL do what tests ask. */
void test_boot(void);
#else
static inline void test_boot(void) {}
#endif

#endif
