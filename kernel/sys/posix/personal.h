/* System calls by which a process sets or asks what it is. All return a result or a negative errno.
   IPL 0, no locks held. */
#ifndef KERNEL_SYS_POSIX_PERSONAL_H
#define KERNEL_SYS_POSIX_PERSONAL_H

#include "kernel/sys/posix/calls.h"

long sys_personality(uint64_t persona);                                        /* 324 */
long sys_sched_setparam(uint64_t tid, uint64_t from);                          /* 330 */
long sys_sched_getparam(uint64_t tid, uint64_t to);                            /* 331 */
long sys_sched_setscheduler(uint64_t tid, uint64_t policy, uint64_t from);     /* 332 */
long sys_sched_getscheduler(uint64_t tid);                                     /* 333 */
long sys_sched_get_priority_max(uint64_t policy);                              /* 335 */
long sys_sched_get_priority_min(uint64_t policy);                              /* 336 */
long sys_prctl(uint64_t what, uint64_t a, uint64_t b, uint64_t c, uint64_t d); /* 348 */
long sys_capget(uint64_t header, uint64_t to);                                 /* 368 */
long sys_capset(uint64_t header, uint64_t from);                               /* 369 */

#endif
