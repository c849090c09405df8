/*
 * The two system call interfaces (docs/architecture.md, System calls). Entry code takes the number
 * in v0 and calls the table's function with a0-a5. POSIX functions return a result or a negative
 * errno (entry code makes v0/a3 of it; a function that must return a negative value that is no
 * error sets its frame and uses SYS_RAW). VMS functions return a condition value in v0, a3
 * untouched.
 */
#ifndef KERNEL_SYS_SYSCALL_H
#define KERNEL_SYS_SYSCALL_H

#include "kernel/base/types.h"

typedef long (*syscall_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

#define SYS_FULL_FRAME \
    1ul /* s0-s6 and usp are in the frame before, and taken from it after, the call (fork, clone, \
           execve, sigreturn) */
#define SYS_RAW 2ul /* the function wrote v0 and a3 of the frame itself */

struct syscall_entry {
    syscall_fn fn;       /* NULL: not there */
    unsigned long flags; /* SYS_* */
};

#define POSIX_CALLS 600
#define VMS_FIRST   0x1000
#define VMS_CALLS   0x900

extern const struct syscall_entry posix_calls[POSIX_CALLS]; /* kernel/sys/posix/table.c */
extern const struct syscall_entry
    vms_calls[VMS_CALLS]; /* kernel/sys/vms/table.c, index number - VMS_FIRST */
/* A number without a function: named once on the console; -ENOSYS. */
long syscall_missing(uint64_t number);

#endif
