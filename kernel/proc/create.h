/*
 * Processes that are made from nothing, by $CREPRC: with a program of their own from the first
 * instruction on, and without a copy of the caller's memory.
 */
#ifndef KERNEL_PROC_CREATE_H
#define KERNEL_PROC_CREATE_H

#include "kernel/base/cond.h"
#include "kernel/proc/process.h"

struct process_plan {
    /* The entry of the process's thread, which loads a program (exec_program) and enters user mode
     * (process_begin_user), or ends. */
    void (*start)(void *arg);
    void *arg;
    bool detached;   /* else a subprocess of the current process, which has called kin_charge */
    bool keep_files; /* it gets the current process's descriptors, else none */
    uint32_t subprocesses;       /* PRCLM + 1 of a detached process, 0: the parameter's */
    uint64_t privileges;         /* PRV_*: all that it has */
    uint32_t home_rad;           /* domain + 1; 0: that of the current thread */
    uint64_t files, cpu_seconds; /* at most so many; 0: as the current process */
    /* Of struct kin: */
    uint32_t flags;
    struct mailbox_number told;
    uint8_t base;
    struct kin_limits limits;
    char name[sizeof(((struct process *)NULL)->name)]; /* "": its program gives it one */
    struct event_request *completion;
};

/* Make a process, with the identity, limits, directories and logical names of the current one, and
 * enter it into the table. It does not run before the caller calls thread_start(*t), so that it
 * exists until then. SS$_NORMAL, SS$_INSFMEM, SS$_NOSLOT: there are as many processes as there can
 * be, or as the user may have. IPL 0; waits. */
cond_t process_create(const struct process_plan *n, struct process **p, struct thread **t);
/* The thread of a new process, whose program is loaded: enter user mode, after a hibernation if
 * that is asked for. */
void process_begin_user(bool hibernate) __attribute__((noreturn));

#endif
