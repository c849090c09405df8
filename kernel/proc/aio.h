/*
 * Contexts of asynchronous I/O (kernel/io/aio.h) as part of a process. They belong to the program:
 * a child has none, and exec ends them.
 */
#ifndef KERNEL_PROC_AIO_H
#define KERNEL_PROC_AIO_H

#include "kernel/proc/process.h"

/* The contexts of the current process, NULL: it has none. Any IPL. */
struct aio_table *process_aio(void);
/* The same, made if it has none, with the page of its address space that their numbers point to. 0
 * or -ENOMEM. IPL 0; takes the mutex of the address space and the table lock. */
int process_aio_make(struct aio_table **out);
void process_aio_end_all(struct process *p);
/* exec, exit: the program ends; p is the current process, with one thread. IPL 0, no locks. */
static inline void process_aio_end(struct process *p)
{
    if (unlikely(p->aio != NULL))
        process_aio_end_all(p);
}

#endif
