/* System calls on the system, resource limits and affinity; the comments give the Linux/Alpha
   numbers. All return a result or a negative errno. IPL 0, no locks held. */
#ifndef KERNEL_SYS_POSIX_MISC_H
#define KERNEL_SYS_POSIX_MISC_H

#include "kernel/sys/posix/calls.h"

/* What uname(2) tells, in the order of struct utsname. */
enum { UTS_SYSNAME, UTS_NODENAME, UTS_RELEASE, UTS_VERSION, UTS_MACHINE, UTS_DOMAIN, UTS_NAMES };
#define UTS_LENGTH 65
/* Written under the process table lock; each ends with a NUL at any moment. */
extern char system_names[UTS_NAMES][UTS_LENGTH];

long sys_uname(uint64_t to);                                                     /* 339 */
long sys_gethostname(uint64_t to, uint64_t n);                                   /* 87 */
long sys_sethostname(uint64_t from, uint64_t n);                                 /* 88 */
long sys_getdomainname(uint64_t to, uint64_t n);                                 /* 165 */
long sys_setdomainname(uint64_t from, uint64_t n);                               /* 166 */
long sys_sysinfo(uint64_t to);                                                   /* 318 */
long sys_getrlimit(uint64_t resource, uint64_t to);                              /* 144 */
long sys_setrlimit(uint64_t resource, uint64_t from);                            /* 145 */
long sys_prlimit64(uint64_t pid, uint64_t resource, uint64_t from, uint64_t to); /* 496 */
long sys_getrandom(uint64_t to, uint64_t n, uint64_t flags);                     /* 511 */
long sys_sched_yield(void);                                                      /* 334 */
long sys_sched_getaffinity(uint64_t pid, uint64_t n, uint64_t to);               /* 396 */
long sys_sched_setaffinity(uint64_t pid, uint64_t n, uint64_t from);             /* 395 */
long sys_getcpu(uint64_t cpu, uint64_t node);                                    /* 473 */
/* syslog.c */
long sys_syslog(uint64_t action, uint64_t to, uint64_t n); /* 310 */

#endif
