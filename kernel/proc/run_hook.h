/*
 * Hooks that run before the first process starts and after it has ended, that is, around the run as
 * a whole. The self-check and the check for leaks register here (kernel/proc/validate.c, leaks.c),
 * so that exit.c does not depend on them.
 */
#ifndef KERNEL_PROC_RUN_HOOK_H
#define KERNEL_PROC_RUN_HOOK_H

#include "kernel/base/list.h"

/* All functions are called in thread context at IPL 0 with no locks held; each may be NULL. */
struct run_hook {
    void (*begins)(void); /* before the first process is created */
    void (*ends)(void);   /* by the first process in its exit, before anything of it is released */
    /* By the first process, when every other process has ended and it has released everything but
     * its own structure. If no hook has this function, the machine is powered off while the other
     * processes still run. */
    void (*ended)(void);
    struct list link; /* constant after boot */
};

/* Register h, which must stay. Hooks are called in the order of their registration. Boot only. */
void run_hook_register(struct run_hook *h);

/* Private to kernel/proc. */
void run_begins(void);
void run_ends(void);
/* If a hook has `ended`: kill all other processes, wait until they have ended and their structures
 * are freed, and return true; panic when one does not end in time. Otherwise return false. */
bool run_end_others(void);
/* Kill all other processes and wait until they have ended and their structures are freed; panic
 * when one does not end in time. By the first process, in its exit. */
void run_kill_others(void);
void run_ended(void);

#endif
