/*
 * kernel/test: requests that only tests make. It is part of kernels built with TEST=1 and of the
 * other kernels for verification (Makefile), and of no other.
 */
#ifndef KERNEL_TEST_TEST_H
#define KERNEL_TEST_TEST_H

#ifdef MEGALITH_TEST
/* Boot: register the requests with MEGA_SYS_INFO and MEGA_SYS_CONTROL. */
void test_boot(void);
#else
static inline void test_boot(void) {}
#endif

#endif
