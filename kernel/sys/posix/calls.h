/* How every function behind the POSIX door looks (kernel/sys/syscall.h), and what they share. */
#ifndef KERNEL_SYS_POSIX_CALLS_H
#define KERNEL_SYS_POSIX_CALLS_H

#include "kernel/base/types.h"

/* Declare one, and define one: six arguments, a0 to a5, of which it uses what it needs. */
#define POSIX_CALL(name) \
    long name(uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
#define POSIX_DEFINE(name)                                                              \
    long name(uint64_t a0 __attribute__((unused)), uint64_t a1 __attribute__((unused)), \
              uint64_t a2 __attribute__((unused)), uint64_t a3 __attribute__((unused)), \
              uint64_t a4 __attribute__((unused)), uint64_t a5 __attribute__((unused)))

#define AT_FDCWD            (-100)
#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_REMOVEDIR        0x200u
#define AT_SYMLINK_FOLLOW   0x400u
#define AT_NO_AUTOMOUNT     0x800u
#define AT_EMPTY_PATH       0x1000u

#endif
