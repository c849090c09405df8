/*
 * The tables of system calls. The entry code takes the number from v0 and calls the function in the
 * table with a0 to a5 unchanged; a function declares only the parameters that it uses. POSIX
 * functions return a result or a negative errno, from which the entry code sets v0 and a3. A
 * function whose result may be negative without being an error writes the frame itself and has
 * SYS_RAW. VMS functions return a condition value, which goes to v0; a3 is not changed.
 */
#ifndef KERNEL_SYS_SYSCALL_H
#define KERNEL_SYS_SYSCALL_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"

/* Registers s0 to s6 and usp are saved in the frame before the call and loaded from it after it
   (fork, clone, execve, sigreturn). */
#define SYS_FULL_FRAME 1u
/* With SYS_FULL_FRAME: the function writes v0 and a3 of the frame itself. */
#define SYS_RAW 2u

/* Members of a union: a pointer to a function with 0, 1, ... 6 parameters. */
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
        void *fn; /* NULL: there is no such call */
        SYS_FUNCTIONS(long, call);
        SYS_FUNCTIONS(cond_t, service);
    };
    uint32_t flags;     /* SYS_* */
    uint16_t arguments; /* number of parameters of the function */
    bool again;         /* if it returns -ENOMEM it has done nothing, and can be made once more */
};

/* Initialisers of an entry: the number of parameters and the function. A function with another
   prototype does not compile. {CALL(3, sys_read)}, {CALL(0, sys_fork), .flags = SYS_FULL_FRAME} */
#define CALL(n, function)    .call##n = (function), .arguments = (n)
#define SERVICE(n, function) .service##n = (function), .arguments = (n)

#define POSIX_CALLS 600
/* Length of the table that entry code indexes with a POSIX number, a power of two. */
#define POSIX_DISPATCH 1024
#define VMS_FIRST      0x1000
#define VMS_CALLS      0x900

extern const struct syscall_entry posix_calls[POSIX_CALLS]; /* kernel/sys/posix/table.c */
/* kernel/sys/vms/table.c; the index is number - VMS_FIRST. */
extern const struct syscall_entry vms_calls[VMS_CALLS];
/* Called for a number without a function, in either table; the number is in the frame. Reports it
   once on the console; returns -ENOSYS. IPL 0. */
long syscall_missing(void);

#endif
