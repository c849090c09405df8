/* Constants of open, fcntl and poll, with the values of Linux/Alpha. */
#ifndef KERNEL_IO_OPEN_FLAGS_H
#define KERNEL_IO_OPEN_FLAGS_H

#include "kernel/fs/stat.h"

#define O_ACCMODE   03u
#define O_RDONLY    00u
#define O_WRONLY    01u
#define O_RDWR      02u
#define O_NONBLOCK  04u
#define O_APPEND    010u
#define O_CREAT     01000u
#define O_TRUNC     02000u
#define O_EXCL      04000u
#define O_NOCTTY    010000u
#define O_DSYNC     040000u
#define O_DIRECTORY 0100000u
#define O_NOFOLLOW  0200000u
#define O_LARGEFILE 0400000u
#define O_ASYNC     020000u /* without effect; likewise the next */
#define O_DIRECT    02000000u
#define O_NOATIME   04000000u
#define O_CLOEXEC   010000000u
#define O_SYNC      (020000000u | O_DSYNC)
#define O_PATH      040000000u
#define O_TMPFILE   0100000000u

/* Restrictions of a look-up by openat2. */
#define RESOLVE_NO_XDEV       0x01u /* stay in one file system */
#define RESOLVE_NO_MAGICLINKS 0x02u /* no links without a path, as /proc/self/fd has */
#define RESOLVE_NO_SYMLINKS   0x04u
#define RESOLVE_BENEATH       0x08u /* stay below the directory where it starts */
#define RESOLVE_IN_ROOT       0x10u /* that directory is the root */
#define RESOLVE_CACHED        0x20u /* wait for no server */
#define RESOLVE_ALL           0x3Fu

#define SEEK_SET  0
#define SEEK_CUR  1
#define SEEK_END  2
#define SEEK_DATA 3
#define SEEK_HOLE 4

#define POLLIN     0x001u
#define POLLPRI    0x002u
#define POLLOUT    0x004u
#define POLLERR    0x008u
#define POLLHUP    0x010u
#define POLLNVAL   0x020u
#define POLLRDNORM 0x040u
#define POLLWRNORM 0x100u
#define POLLRDHUP  0x2000u

/* Results of a call that was interrupted before it did anything. kernel/proc restarts the call or
 * returns -EINTR; programs never see these values. */
#define ERESTARTSYS    512 /* restart if the handler has SA_RESTART, or if there is no handler */
#define ERESTARTNOINTR 513 /* restart in any case */
#define ERESTARTNOHAND 514 /* restart only if there is no handler */

#endif
