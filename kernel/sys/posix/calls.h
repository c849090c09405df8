/* Constants common to POSIX system calls. */
#ifndef KERNEL_SYS_POSIX_CALLS_H
#define KERNEL_SYS_POSIX_CALLS_H

#include "kernel/base/types.h"

#define AT_FDCWD            (-100)
#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_REMOVEDIR        0x200u
#define AT_SYMLINK_FOLLOW   0x400u
#define AT_NO_AUTOMOUNT     0x800u
#define AT_EMPTY_PATH       0x1000u

#endif
