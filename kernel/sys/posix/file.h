/* System calls on descriptors. Linux/Alpha numbers in the comments. */
#ifndef KERNEL_SYS_POSIX_FILE_H
#define KERNEL_SYS_POSIX_FILE_H

#include "kernel/sys/posix/time.h"

POSIX_CALL(sys_read);          /* 3 */
POSIX_CALL(sys_write);         /* 4 */
POSIX_CALL(sys_close);         /* 6 */
POSIX_CALL(sys_lseek);         /* 19 */
POSIX_CALL(sys_dup);           /* 41 */
POSIX_CALL(sys_ioctl);         /* 54 */
POSIX_CALL(sys_getdtablesize); /* 89 */
POSIX_CALL(sys_dup2);          /* 90 */
POSIX_CALL(sys_fcntl);         /* 92 */
POSIX_CALL(sys_fsync);         /* 95, 447 */
POSIX_CALL(sys_readv);         /* 120 */
POSIX_CALL(sys_writev);        /* 121 */
POSIX_CALL(sys_ftruncate);     /* 130 */
POSIX_CALL(sys_pread64);       /* 349 */
POSIX_CALL(sys_pwrite64);      /* 350 */
POSIX_CALL(sys_getdents64);    /* 377 */
POSIX_CALL(sys_dup3);          /* 487 */
POSIX_CALL(sys_pipe);          /* 42: second number in a4 */
POSIX_CALL(sys_pipe2);         /* 488 */
POSIX_CALL(sys_close_range);   /* 546 */
POSIX_CALL(sys_poll);          /* 94 */
POSIX_CALL(sys_ppoll);         /* 463 */
POSIX_CALL(sys_select);        /* 358 */
POSIX_CALL(sys_pselect6);      /* 462 */

#endif
