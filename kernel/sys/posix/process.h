/* System calls on processes, identities and memory, and futex; the comments give the Linux/Alpha
   numbers. All return a result or a negative errno. IPL 0, no locks held; several may wait. Those
   marked "full frame" read or write all registers of the caller. */
#ifndef KERNEL_SYS_POSIX_PROCESS_H
#define KERNEL_SYS_POSIX_PROCESS_H

#include "kernel/sys/posix/time.h"

long sys_exit(uint64_t status);
long sys_exit_group(uint64_t status);
long sys_fork(void); /* 2: full frame */
long sys_osf_wait4(uint64_t pid, uint64_t status, uint64_t options, uint64_t rusage); /* 7 */
long sys_getxpid(void);                        /* 20: parent in a4 */
long sys_setuid(uint64_t uid);                 /* 23 */
long sys_getxuid(void);                        /* 24: effective in a4 */
long sys_kill(uint64_t pid, uint64_t sig);     /* 37 */
long sys_setpgid(uint64_t pid, uint64_t pgid); /* 39 */
long sys_getxgid(void);                        /* 47: effective in a4 */
long sys_getpgrp(void);                        /* 63 */
long sys_vfork(void);                          /* 66: full frame */
long sys_getgroups(uint64_t n, uint64_t to);   /* 79 */
long sys_setgroups(uint64_t n, uint64_t from);
long sys_setreuid(uint64_t r, uint64_t e);
long sys_setregid(uint64_t r, uint64_t e);
long sys_setfsuid(uint64_t uid);
long sys_setfsgid(uint64_t gid);                                   /* 80 */
long sys_setpriority(uint64_t which, uint64_t who, uint64_t nice); /* 96 */
long sys_getpriority(uint64_t which, uint64_t who);                /* 100: writes the result */
long sys_setgid(uint64_t gid);                                     /* 132 */
long sys_setsid(void);                                             /* 147 */
long sys_getpgid(uint64_t pid);                                    /* 233 */
long sys_getsid(uint64_t pid);                                     /* 234 */
long sys_osf_getsysinfo(uint64_t op, uint64_t buf, uint64_t n);    /* 256 */
long sys_osf_setsysinfo(uint64_t op, uint64_t buf);                /* 257 */
long sys_clone(uint64_t flags, uint64_t usp, uint64_t parent_tid, uint64_t child_tid,
               uint64_t tls);                                   /* 312: full frame */
long sys_times(uint64_t to);                                    /* 323 */
long sys_setresuid(uint64_t r, uint64_t e, uint64_t s);         /* 343 */
long sys_getresuid(uint64_t r, uint64_t e, uint64_t s);         /* 344 */
long sys_getitimer(uint64_t which, uint64_t to);                /* 361 */
long sys_setitimer(uint64_t which, uint64_t from, uint64_t to); /* 362 */
long sys_getrusage(uint64_t who, uint64_t to);                  /* 364 */
long sys_wait4(uint64_t pid, uint64_t status, uint64_t options, uint64_t rusage); /* 365 */
long sys_setresgid(uint64_t r, uint64_t e, uint64_t s);                           /* 371 */
long sys_getresgid(uint64_t r, uint64_t e, uint64_t s);                           /* 372 */
long sys_gettid(void);                                                            /* 378 */
long sys_tkill(uint64_t tid, uint64_t sig);                                       /* 381 */
long sys_futex(uint64_t word, uint64_t op, uint64_t v, uint64_t timeout, uint64_t word2,
               uint64_t v3);
long sys_set_robust_list(uint64_t head, uint64_t length);
long sys_get_robust_list(uint64_t tid, uint64_t head, uint64_t length);
long sys_set_tid_address(uint64_t address);                                           /* 411 */
long sys_rt_sigqueueinfo(uint64_t pid, uint64_t sig, uint64_t info);                  /* 356 */
long sys_rt_tgsigqueueinfo(uint64_t tgid, uint64_t tid, uint64_t sig, uint64_t info); /* 492 */
long sys_tgkill(uint64_t tgid, uint64_t tid, uint64_t sig);                           /* 424 */
long sys_pidfd_send_signal(uint64_t fd, uint64_t sig, uint64_t info, uint64_t flags); /* 534 */
long sys_pidfd_open(uint64_t pid, uint64_t flags);                                    /* 544 */
long sys_pidfd_getfd(uint64_t fd, uint64_t target, uint64_t flags);                   /* 548 */
long sys_waitid(uint64_t type, uint64_t id, uint64_t to, uint64_t options,
                uint64_t rusage); /* 438 */
long sys_getegid(void);           /* 530 */
long sys_geteuid(void);           /* 531 */
long sys_getppid(void);           /* 532 */

/* Boot: set futex_end_hook. */
void futex_boot(void);

long sys_brk(uint64_t want); /* 17 */
long sys_getpagesize(void);  /* 64 */
long sys_mmap(uint64_t hint, uint64_t n, uint64_t prot, uint64_t flags, uint64_t fd,
              uint64_t offset);                             /* 71 */
long sys_munmap(uint64_t va, uint64_t n);                   /* 73 */
long sys_mprotect(uint64_t va, uint64_t n, uint64_t prot);  /* 74 */
long sys_madvise(uint64_t va, uint64_t n, uint64_t advice); /* 75 */
long sys_msync(uint64_t va, uint64_t n, uint64_t flags);    /* 217 */
long sys_mremap(uint64_t old, uint64_t old_len, uint64_t new_len, uint64_t flags, uint64_t fixed);
long sys_mincore(uint64_t va, uint64_t n, uint64_t vec);
long sys_mlock2(uint64_t va, uint64_t n, uint64_t flags);
long sys_mlockall(uint64_t flags);
long sys_munlockall(void);
long sys_mlock(uint64_t va, uint64_t n);   /* 314 */
long sys_munlock(uint64_t va, uint64_t n); /* 315 */

#endif
