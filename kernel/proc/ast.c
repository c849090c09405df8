/*
 * ASTs of a process: its events, and the frame that an AST routine runs on.
 *
 * ASTs are delivered to the oldest thread of a process, where signals are, and on top of their
 * handlers. The frame is that of a signal handler without SA_SIGINFO, so it holds every register;
 * the routine gets the five arguments of OpenVMS: parameter, R0, R1, PC and PS of what it
 * interrupts. It returns to an address that the C library has named (`ast_return`), which calls a
 * service to come here. The signal mask is not changed by an AST: one that the routine has set
 * stays.
 *
 * A thread can put its ASTs off without a system call, around every few instructions that a routine
 * must not come between: as long as the first longword of its hold word, which the C library has
 * named, is not 0. The thread that then finds an AST to deliver writes 1 to the second longword
 * instead, and takes none until the library, which looks there when the first one is 0 again, calls
 * MEGA_SYS_AST_RETURN once more, which writes 0. Each thread has a word of its own, so what another
 * one does, and $SETAST, which is of the whole process, have nothing to do with it.
 */
#include "kernel/proc/ast.h"

#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/proc/signal.h"
#include "mm/pool/pool_charged.h"

/* The PS of OpenVMS in user mode: current and previous mode 3, IPL 0. */
#define PS_USER 0x1Bu

/* An owner for p, which nobody else knows. NULL: no memory. */
static struct event_owner *make(const struct process *p, struct thread *target, uint16_t account)
{
    struct event_owner *o = event_owner_create(target, account);

    if (o)
        event_set_limits(o, p->kin.limits.asts, p->kin.limits.timers);
    return o;
}

struct event_owner *process_events_of_locked(struct process *p)
{
    struct event_owner *o = p->events;

    if (!o) {
        o = make(p, process_first_thread_locked(p)->thread, (uint16_t)(p->account - accounts));
        /* Readers without the lock see it only when it is complete. */
        __atomic_store_n(&p->events, o, __ATOMIC_RELEASE);
    }
    if (o)
        event_owner_ref(o);
    return o;
}

struct event_owner *process_events(void)
{
    struct process *p = process_self();
    struct event_owner *o = process_events_now(p);
    struct event_owner *made;
    ipl_t ipl;

    if (likely(o != NULL))
        return o;
    made = make(p, NULL, pool_account()); /* not with the lock held */
    ipl = spin_lock(&process_lock);
    o = p->events;
    if (!o && made) {
        event_retarget(made, NULL, process_first_thread_locked(p)->thread);
        __atomic_store_n(&p->events, made, __ATOMIC_RELEASE);
        o = made;
    }
    spin_unlock(&process_lock, ipl);
    if (made && made != o)
        event_owner_unref(made); /* another thread was faster */
    return o;
}

void process_events_exec(struct process *p)
{
    __atomic_store_n(&p->ast_return, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&p->ast_hold, 0, __ATOMIC_RELAXED);
    if (process_events_now(p))
        event_rundown(p->events);
}

void process_events_end(struct process *p)
{
    struct event_owner *o;
    ipl_t ipl;

    if (likely(!p->events))
        return;
    ipl = spin_lock(&process_lock);
    o = p->events;
    p->events = NULL;
    spin_unlock(&process_lock, ipl);
    event_end(o);
}

bool process_ast_hold(struct event_owner *o)
{
    uint64_t distance = __atomic_load_n(&process_self()->ast_hold, __ATOMIC_RELAXED);
    vaddr_t word = pal_rdunique() + distance;
    uint32_t depth;

    /* A word that cannot be read and written holds nothing: nobody could release it. */
    if (!distance || copyin_u32(&depth, word) != 0 || !depth || copyout_u32(word + 4, 1) != 0)
        return false;
    event_hold_asts(o, true);
    return true;
}

int process_ast_push(struct trapframe *f, const struct event_ast *ast)
{
    const struct signal_info none = {.signo = 0};
    const struct signal_action to = {.handler = ast->routine,
                                     .restorer = process_self()->ast_return};
    uint64_t r0 = f->v0, r1 = f->t0, pc = f->pc;

    if (!to.restorer || sigframe_push(f, &to, &none, uthread_self()->blocked) != 0)
        return -EFAULT;
    f->a0 = ast->parameter;
    f->a1 = r0;
    f->a2 = r1;
    f->a3 = pc;
    f->a4 = PS_USER;
    return 0;
}

int process_ast_pop(struct trapframe *f)
{
    struct event_owner *o = process_events_now(process_self());
    sigset_t mask;

    if (sigframe_pop(f, f->usp, false, &mask) != 0)
        return -EFAULT;
    f->orig_v0 = NO_CALL;
    if (o) /* none in a child that was forked inside a routine */
        event_ast_over(o, false);
    return 0;
}
