/* System calls on paths. Linux/Alpha numbers in the comments. */
#ifndef KERNEL_SYS_POSIX_PATH_H
#define KERNEL_SYS_POSIX_PATH_H

#include "kernel/sys/posix/time.h"

POSIX_CALL(sys_link);       /* 9 */
POSIX_CALL(sys_unlink);     /* 10 */
POSIX_CALL(sys_execve);     /* 59 */
POSIX_CALL(sys_chdir);      /* 12 */
POSIX_CALL(sys_fchdir);     /* 13 */
POSIX_CALL(sys_chmod);      /* 15 */
POSIX_CALL(sys_chown);      /* 16 */
POSIX_CALL(sys_lchown);     /* 208 */
POSIX_CALL(sys_access);     /* 33 */
POSIX_CALL(sys_open);       /* 45 */
POSIX_CALL(sys_symlink);    /* 57 */
POSIX_CALL(sys_readlink);   /* 58 */
POSIX_CALL(sys_umask);      /* 60 */
POSIX_CALL(sys_fchown);     /* 123 */
POSIX_CALL(sys_fchmod);     /* 124 */
POSIX_CALL(sys_rename);     /* 128 */
POSIX_CALL(sys_truncate);   /* 129 */
POSIX_CALL(sys_mkdir);      /* 136 */
POSIX_CALL(sys_rmdir);      /* 137 */
POSIX_CALL(sys_getcwd);     /* 367 */
POSIX_CALL(sys_stat64);     /* 425 */
POSIX_CALL(sys_lstat64);    /* 426 */
POSIX_CALL(sys_fstat64);    /* 427 */
POSIX_CALL(sys_openat);     /* 450 */
POSIX_CALL(sys_mkdirat);    /* 451 */
POSIX_CALL(sys_fstatat64);  /* 455 */
POSIX_CALL(sys_unlinkat);   /* 456 */
POSIX_CALL(sys_renameat);   /* 457 */
POSIX_CALL(sys_renameat2);  /* 510 */
POSIX_CALL(sys_linkat);     /* 458 */
POSIX_CALL(sys_symlinkat);  /* 459 */
POSIX_CALL(sys_readlinkat); /* 460 */
POSIX_CALL(sys_fchmodat);   /* 461 */
POSIX_CALL(sys_faccessat);  /* 462 */
POSIX_CALL(sys_faccessat2); /* 549 */
POSIX_CALL(sys_utimensat);  /* 475 */

#endif
