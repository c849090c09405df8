/* System calls on clocks and sleeping; the comments give the Linux/Alpha numbers. All return a
   result or a negative errno. IPL 0, no locks held. */
#ifndef KERNEL_SYS_POSIX_TIME_H
#define KERNEL_SYS_POSIX_TIME_H

#include "kernel/sys/posix/calls.h"

long sys_clock_gettime(uint64_t clock, uint64_t to); /* 420 */
long sys_clock_getres(uint64_t clock, uint64_t to);  /* 421 */
long sys_clock_nanosleep(uint64_t clock, uint64_t flags, uint64_t request,
                         uint64_t remain);             /* 422 */
long sys_nanosleep(uint64_t request, uint64_t remain); /* 340 */
long sys_gettimeofday(uint64_t tv, uint64_t tz);       /* 359 */

#endif
