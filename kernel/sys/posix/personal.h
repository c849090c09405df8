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
long sys_membarrier(uint64_t command, uint64_t flags, uint64_t cpu);           /* 517 */
long sys_capget(uint64_t header, uint64_t to);                                 /* 368 */
long sys_capset(uint64_t header, uint64_t from);                               /* 369 */
long sys_sched_rr_get_interval(uint64_t tid, uint64_t to);                     /* 337 */
long sys_sched_setattr(uint64_t tid, uint64_t from, uint64_t flags);           /* 508 */
long sys_sched_getattr(uint64_t tid, uint64_t to, uint64_t n, uint64_t flags); /* 509 */

#endif
