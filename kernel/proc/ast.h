/*
 * Events of OpenVMS (kernel/event) as part of a process: the owner that it gets with the first
 * service that needs one, and the delivery of its ASTs.
 */
#ifndef KERNEL_PROC_AST_H
#define KERNEL_PROC_AST_H

#include "arch/alpha/hw/trapframe.h"
#include "kernel/event/event.h"
#include "kernel/proc/process.h"

/* The owner of the current process, made if it has none; NULL: no memory. IPL 0; takes the table
 * lock. */
struct event_owner *process_events(void);
/* The owner of p, which is live, with a reference, made if it has none; NULL: no memory. Table
 * lock held. It is charged to the user of p. */
struct event_owner *process_events_of_locked(struct process *p);
/* exec, exit: the program, or the process, ends. exec has cleared p->exit_routine before. */
void process_events_exec(struct process *p);
void process_events_end(struct process *p);

/* The owner of p, if it has one, with what its maker stored before; it stays until p ends. */
static inline struct event_owner *process_events_now(const struct process *p)
{
    struct event_owner *o = __atomic_load_n(&p->events, __ATOMIC_RELAXED);

    if (unlikely(o != NULL))
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* pairs with process_events_of_locked() */
    return o;
}

/* Has the current thread of p an AST to take, or requests to complete? */
static inline bool process_ast_pending(const struct process *p)
{
    struct event_owner *o = process_events_now(p);

    return unlikely(o != NULL) && event_is_asked(o);
}
/* Has the current thread put its ASTs off, by its hold word? Then the word says from now on that
 * there are some, and o has none for the thread until event_hold_asts. IPL 0, no locks. */
bool process_ast_hold(struct event_owner *o);
/* Push a frame on the user stack and make f enter the AST's routine. 0, or -EFAULT when the stack
 * cannot take it. */
int process_ast_push(struct trapframe *f, const struct event_ast *ast);
/* The routine has returned: load f, the current thread's frame, from the frame at its user stack
 * pointer. -EFAULT: it is not there. Another AST may be delivered now. */
int process_ast_pop(struct trapframe *f);

#endif
