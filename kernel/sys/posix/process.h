/* System calls on processes, identities and memory. Linux/Alpha numbers in the comments. */
#ifndef KERNEL_SYS_POSIX_PROCESS_H
#define KERNEL_SYS_POSIX_PROCESS_H

#include "kernel/sys/posix/time.h"

POSIX_CALL(sys_exit);            /* 1, 405 */
POSIX_CALL(sys_fork);            /* 2: full frame */
POSIX_CALL(sys_osf_wait4);       /* 7 */
POSIX_CALL(sys_getxpid);         /* 20: parent in a4 */
POSIX_CALL(sys_setuid);          /* 23 */
POSIX_CALL(sys_getxuid);         /* 24: effective in a4 */
POSIX_CALL(sys_kill);            /* 37 */
POSIX_CALL(sys_setpgid);         /* 39 */
POSIX_CALL(sys_getxgid);         /* 47: effective in a4 */
POSIX_CALL(sys_getpgrp);         /* 63 */
POSIX_CALL(sys_vfork);           /* 66: full frame */
POSIX_CALL(sys_getgroups);       /* 79 */
POSIX_CALL(sys_setgroups);       /* 80 */
POSIX_CALL(sys_setpriority);     /* 96 */
POSIX_CALL(sys_getpriority);     /* 100: result + 20 */
POSIX_CALL(sys_setgid);          /* 132 */
POSIX_CALL(sys_setsid);          /* 147 */
POSIX_CALL(sys_getpgid);         /* 233 */
POSIX_CALL(sys_getsid);          /* 234 */
POSIX_CALL(sys_osf_getsysinfo);  /* 256 */
POSIX_CALL(sys_osf_setsysinfo);  /* 257 */
POSIX_CALL(sys_clone);           /* 312: full frame */
POSIX_CALL(sys_times);           /* 323 */
POSIX_CALL(sys_setresuid);       /* 343 */
POSIX_CALL(sys_getresuid);       /* 344 */
POSIX_CALL(sys_getitimer);       /* 361 */
POSIX_CALL(sys_setitimer);       /* 362 */
POSIX_CALL(sys_getrusage);       /* 364 */
POSIX_CALL(sys_wait4);           /* 365 */
POSIX_CALL(sys_setresgid);       /* 371 */
POSIX_CALL(sys_getresgid);       /* 372 */
POSIX_CALL(sys_gettid);          /* 378 */
POSIX_CALL(sys_tkill);           /* 381 */
POSIX_CALL(sys_futex);           /* 394 */
POSIX_CALL(sys_set_tid_address); /* 411 */
POSIX_CALL(sys_tgkill);          /* 424 */
POSIX_CALL(sys_waitid);          /* 438 */
POSIX_CALL(sys_getegid);         /* 530 */
POSIX_CALL(sys_geteuid);         /* 531 */
POSIX_CALL(sys_getppid);         /* 532 */

/* Boot: the end of a process wakes futex waiters. */
void futex_boot(void);

POSIX_CALL(sys_brk);         /* 17 */
POSIX_CALL(sys_getpagesize); /* 64 */
POSIX_CALL(sys_mmap);        /* 71 */
POSIX_CALL(sys_munmap);      /* 73 */
POSIX_CALL(sys_mprotect);    /* 74 */
POSIX_CALL(sys_madvise);     /* 75 */
POSIX_CALL(sys_msync);       /* 217 */
POSIX_CALL(sys_mlock);       /* 314 */
POSIX_CALL(sys_munlock);     /* 315 */

#endif
