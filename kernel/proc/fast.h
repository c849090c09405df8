/*
 * Buffer objects and fandles (kernel/qio/fast.h) as part of a process. They belong to the program:
 * a child has none, and exec deletes them.
 */
#ifndef KERNEL_PROC_FAST_H
#define KERNEL_PROC_FAST_H

#include "kernel/proc/process.h"
#include "kernel/qio/fast.h"

/* Those of the current process, NULL: it has none. Any IPL. */
static inline struct qio_fast *process_fast(void)
{
    return __atomic_load_n(&process_self()->fast, __ATOMIC_ACQUIRE);
}
/* The same, made if it has none. NULL: no memory. IPL 0; takes the table lock. */
struct qio_fast *process_fast_make(void);
void process_fast_end_all(struct process *p);
/* exec, exit: the program ends; p is the current process, with one thread, without channels and
 * with its events run down. IPL 0, no locks. */
static inline void process_fast_end(struct process *p)
{
    if (unlikely(p->fast != NULL))
        process_fast_end_all(p);
}

#endif
