/* What calls that wait for files have in common: masks for the duration of the call, time-outs. */
#ifndef KERNEL_SYS_POSIX_POLL_H
#define KERNEL_SYS_POSIX_POLL_H

#include "kernel/base/types.h"

#define NS_PER_SECOND UINT64_C(1000000000)

/* Set the signal mask for the duration of a call from user address mask (0: leave it); `size` must
 * be that of a sigset_t. 0, -EINVAL or -EFAULT. poll_mask_end must follow, with the call's result,
 * when 0 was returned. */
long poll_mask_begin(vaddr_t mask, uint64_t size);
void poll_mask_end(vaddr_t mask, long result);
/* Convert a timeout at user address `at` (0: none) to a deadline. unit_ns: nanoseconds in a unit of
 * its second field, 1 in a struct timespec, 1,000 in a struct timeval. 0, -EFAULT or -EINVAL. */
long poll_deadline(vaddr_t at, uint64_t unit_ns, uint64_t *deadline);
/* The same for calls that have a struct timespec and, at user address `mask`, the address and size
 * of a set of signals (0: none): *set is for poll_mask_end, which must follow when 0 was
 * returned. */
long poll_begin(vaddr_t timeout, vaddr_t mask, uint64_t *deadline, vaddr_t *set);
/* A timeout in ms, negative for none, as a deadline. */
uint64_t poll_deadline_ms(int32_t ms);

#endif
