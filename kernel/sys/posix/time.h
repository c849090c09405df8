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
long sys_clock_settime(uint64_t clock, uint64_t from); /* 419 */
long sys_settimeofday(uint64_t tv, uint64_t tz);       /* 360 */
long sys_adjtimex(uint64_t to);                        /* 366 */
long sys_clock_adjtime(uint64_t clock, uint64_t to);   /* 499 */

/* timers.c */
long sys_timer_create(uint64_t clock, uint64_t event, uint64_t to);                  /* 414 */
long sys_timer_settime(uint64_t number, uint64_t flags, uint64_t from, uint64_t to); /* 415 */
long sys_timer_gettime(uint64_t number, uint64_t to);                                /* 416 */
long sys_timer_getoverrun(uint64_t number);                                          /* 417 */
long sys_timer_delete(uint64_t number);                                              /* 418 */

#endif
