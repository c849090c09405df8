/*
 * The tables of system calls. Entry code takes the number in v0 and calls the table's function with
 * a0 to a5 as they are; a function has as many parameters as it uses, and ignores the registers
 * after them. POSIX functions return a result or a negative errno (entry code makes v0/a3 of it; a
 * function that must return a negative value that is no error sets its frame and uses SYS_RAW). VMS
 * functions return a condition value in v0, a3 untouched.
 */
#ifndef KERNEL_SYS_SYSCALL_H
#define KERNEL_SYS_SYSCALL_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"

#define SYS_FULL_FRAME \
    1u /* s0-s6 and usp are in the frame before, and taken from it after, the call (fork, clone, \
          execve, sigreturn) */
#define SYS_RAW 2u /* the function wrote v0 and a3 of the frame itself */

/* A pointer to a function of so many arguments, for each number of them. */
#define SYS_FUNCTIONS(type, name)                                      \
    type (*name##0)(void);                                             \
    type (*name##1)(uint64_t);                                         \
    type (*name##2)(uint64_t, uint64_t);                               \
    type (*name##3)(uint64_t, uint64_t, uint64_t);                     \
    type (*name##4)(uint64_t, uint64_t, uint64_t, uint64_t);           \
    type (*name##5)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t); \
    type (*name##6)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t)

struct syscall_entry {
    union {
        void *fn; /* NULL: not there */
        SYS_FUNCTIONS(long, call);
        SYS_FUNCTIONS(cond_t, service);
    };
    uint32_t flags;     /* SYS_* */
    uint32_t arguments; /* how many of a0 to a5 the function takes */
};

/* How an entry names its function, with the number of arguments: what has another prototype does
 * not compile. Usage: {CALL(3, sys_read)}, {CALL(0, sys_fork), .flags = SYS_FULL_FRAME}. */
#define CALL(n, function)    .call##n = (function), .arguments = (n)
#define SERVICE(n, function) .service##n = (function), .arguments = (n)

#define POSIX_CALLS 600
#define VMS_FIRST   0x1000
#define VMS_CALLS   0x900

extern const struct syscall_entry posix_calls[POSIX_CALLS]; /* kernel/sys/posix/table.c */
extern const struct syscall_entry
    vms_calls[VMS_CALLS]; /* kernel/sys/vms/table.c, index number - VMS_FIRST */
/* A number without a function: named once on the console; -ENOSYS. */
long syscall_missing(uint64_t number);

#endif
