/* System calls about time: clocks, sleeping, the alarm timer. Linux/Alpha numbers in the comments.
 */
#ifndef KERNEL_SYS_POSIX_TIME_H
#define KERNEL_SYS_POSIX_TIME_H

#include "kernel/sys/posix/calls.h"

POSIX_CALL(sys_clock_gettime);   /* 420 */
POSIX_CALL(sys_clock_getres);    /* 421 */
POSIX_CALL(sys_clock_nanosleep); /* 422 */
POSIX_CALL(sys_nanosleep);       /* 340 */
POSIX_CALL(sys_gettimeofday);    /* 359 */

#endif
