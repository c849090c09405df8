/*
 * What is to happen around the life of the first process, which is the run as a whole: checks of
 * memory and for leaks register here (kernel/proc/validate.c, leaks.c), so that exit need not know
 * them.
 */
#ifndef KERNEL_PROC_RUN_HOOK_H
#define KERNEL_PROC_RUN_HOOK_H

#include "kernel/base/list.h"

struct run_hook {         /* all of them in thread context, IPL 0, no locks; each may be NULL */
    void (*begins)(void); /* before the first process is made */
    void (*ends)(void);   /* by the first process, which has exited and has all that it had */
    /* By it, when every other process has ended and it has given back all but its structure.
       Without any such hook the machine is switched off with the others still there. */
    void (*ended)(void);
    struct list link; /* constant after boot */
};

/* Boot. Hooks are called in the order of their registration. */
void run_hook_register(struct run_hook *h);

/* Private to kernel/proc. */
void run_begins(void);
void run_ends(void);
/* Is anything to happen when all others have ended? Then they have, and their structures are freed;
 * panics when one does not end. */
bool run_end_others(void);
void run_ended(void);

#endif
