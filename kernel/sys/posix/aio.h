/* Linux's asynchronous I/O; the comments give the Linux/Alpha numbers. All return a result or a
   negative errno. IPL 0, no locks held; most may wait. */
#ifndef KERNEL_SYS_POSIX_AIO_H
#define KERNEL_SYS_POSIX_AIO_H

#include "kernel/base/types.h"

long sys_io_setup(uint64_t most, uint64_t to); /* 398 */
long sys_io_destroy(uint64_t number);          /* 399 */
long sys_io_getevents(uint64_t number, uint64_t least, uint64_t most, uint64_t to,
                      uint64_t timeout);                            /* 400 */
long sys_io_submit(uint64_t number, uint64_t count, uint64_t list); /* 401 */
long sys_io_cancel(uint64_t number, uint64_t iocb, uint64_t to);    /* 402 */
long sys_io_pgetevents(uint64_t number, uint64_t least, uint64_t most, uint64_t to,
                       uint64_t timeout, uint64_t mask); /* 523 */

#endif
