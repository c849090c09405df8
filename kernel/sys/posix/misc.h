/* System calls that tell about the system and its limits. Linux/Alpha numbers in the comments. */
#ifndef KERNEL_SYS_POSIX_MISC_H
#define KERNEL_SYS_POSIX_MISC_H

#include "kernel/sys/posix/calls.h"

POSIX_CALL(sys_uname);             /* 339 */
POSIX_CALL(sys_sysinfo);           /* 318 */
POSIX_CALL(sys_getrlimit);         /* 144 */
POSIX_CALL(sys_setrlimit);         /* 145 */
POSIX_CALL(sys_prlimit64);         /* 496 */
POSIX_CALL(sys_getrandom);         /* 511 */
POSIX_CALL(sys_sched_yield);       /* 334 */
POSIX_CALL(sys_sched_getaffinity); /* 396 */
POSIX_CALL(sys_sched_setaffinity); /* 395 */
POSIX_CALL(sys_getcpu);            /* 473 */

#endif
