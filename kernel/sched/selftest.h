/*
 * The scheduler's tests that need the kernel itself: threads, interrupts, several CPUs. Run from
 * MEGA_INFO_SELFTEST, so that a user program reports them.
 */
#ifndef KERNEL_SCHED_SELFTEST_H
#define KERNEL_SCHED_SELFTEST_H

#include "kernel/base/types.h"

struct sched_selftest {
    char name[64];
    char failure[128]; /* empty: passed */
    uint64_t value;    /* what was measured: the name says what */
};

/* Run test number n, which takes at most some seconds. False: there is no such test. IPL 0, no lock
 * held. */
bool sched_selftest(unsigned n, struct sched_selftest *result);

#endif
