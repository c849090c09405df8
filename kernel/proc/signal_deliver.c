/*
 * What a thread does with the signals that it takes: delivery on its way to user mode, with default
 * actions and stops, ASTs, and the waits for signals (sigsuspend, sigtimedwait). signal.c has how
 * signals are sent, and the rules between the sender and the thread.
 */
#include "kernel/proc/signal.h"

#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/crash_report.h"
#include "kernel/proc/posix_timer.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/signal_actions.h"
#include "kernel/proc/signal_private.h"
#include "kernel/proc/signal_queue.h"
#include "kernel/proc/terminal.h"
#include "kernel/proc/threads.h"

#define ENDS (-1)

/* Caused by an instruction: selected before the others, so that the handler sees the state at the
 * fault. */
#define SYNCHRONOUS                                                                         \
    (SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) | SIGBIT(SIGFPE) | \
     SIGBIT(SIGSYS))

#define RESTART_INSTRUCTION 4 /* bytes of CALL_PAL callsys */

/* Remove one signal of `ready` from the pending set of the current thread, or else from the
 * process's. Its number. */
static int take_locked(struct sighand *s, struct uthread *u, sigset_t ready,
                       struct signal_info *info)
{
    struct sigpending *q = u->pending.set & ready ? &u->pending : &s->pending;
    int sig = __builtin_ctzl(q->set & ready) + 1;

    *info = q->info[sig - 1];
    if (unlikely(info->code == SI_TIMER))
        posix_timer_taken_locked(process_self(), info);
    if (unlikely(q->queue != NULL) && sig >= REALTIME_FIRST) {
        struct queued_signal *next = signal_queue_next_locked(q, sig);

        if (next) {
            next->next = s->gone;
            s->gone = next;
            return sig;
        }
    }
    __atomic_store_n(&q->set, q->set & ~SIGBIT(sig), __ATOMIC_RELAXED);
    if (sig == SIGALRM)
        signal_alarm_wanted_locked(process_self());
    return sig;
}

/* ---- delivery ---- */

/* A signal that the current thread has taken. */
struct taken {
    struct signal_info info;
    struct signal_action act; /* left out if the thread is traced, until the tracer has answered */
    sigset_t old;             /* a handler's return restores this mask */
    bool more;                /* more signals are deliverable, behind the handler's mask */
    bool seek;                /* the handler's mask blocks signals for which others are to look */
};

/* Block what the action asks for while its handler runs. The handler's frame is pushed without the
 * lock: if it does not fit, the process ends, and its mask does not matter. */
static inline void block_for_handler_locked(struct process *p, struct uthread *u, int sig,
                                            struct taken *t)
{
    struct sighand *s = p->sig;
    sigset_t during = t->act.mask | (t->act.flags & SA_NODEFER ? 0 : SIGBIT(sig));

    t->old = u->restore_saved ? u->saved : u->blocked;
    t->seek = (s->pending.set & during & ~u->blocked) != 0;
    u->blocked |= during & ~UNBLOCKABLE;
    if (during & SIGBIT(SIGALRM))
        signal_alarm_wanted_locked(p);
    t->more = ((s->pending.set | u->pending.set) & ~u->blocked) != 0;
}

/* The action on a signal that was taken. A one-shot handler is reset, and a stop begins here. */
static inline void act_locked(struct process *p, struct uthread *u, int sig, struct taken *t)
{
    struct sighand *s = p->sig;
    struct signal_action *act = &t->act;

    *act = *signal_action(s, sig);
    if (act->handler > SIG_IGN) {
        if (act->flags & SA_RESETHAND)
            signal_handler_drop_locked(s, sig);
        block_for_handler_locked(p, u, sig, t);
    }
    if ((SIGBIT(sig) & STOPS) && act->handler == SIG_DFL) {
        /* Set here, so that a SIGCONT sent from now on ends the stop. */
        __atomic_store_n(&s->stop_signal, (uint32_t)sig, __ATOMIC_RELAXED);
        __atomic_store_n(&s->stops, s->stops + 1, __ATOMIC_RELAXED);
        __atomic_store_n(&s->stopped, true, __ATOMIC_RELEASE);
    }
}

/* Take one deliverable signal. Its number; 0: there is none; ENDS: the thread is to end. */
static int dequeue(struct process *p, struct uthread *u, struct taken *t)
{
    struct sighand *s = p->sig;
    ipl_t ipl = spin_lock(&s->lock);
    sigset_t ready;
    int sig = 0;

    signal_clean_locked(s, u);
    ready = (s->pending.set | u->pending.set) & ~u->blocked;
    if (unlikely(!p->alone && p->nthreads == 1 && !p->walkers))
        p->alone = true;
    if (unlikely(s->ending || thread_fatal_pending(thread_self()))) {
        sig = ENDS;
    } else if (ready) {
        if (ready & SYNCHRONOUS)
            ready &= SYNCHRONOUS;
        sig = take_locked(s, u, ready, &t->info);
        if (likely(!ptrace_self()))
            act_locked(p, u, sig, t);
    }
    spin_unlock(&s->lock, ipl);
    return sig;
}

/* Let the tracer choose the signal; then as dequeue. 0: none. */
static int ask_tracer(struct process *p, struct uthread *u, int sig, struct taken *t)
{
    struct sighand *s = p->sig;
    ipl_t ipl;

    if (sig == ENDS)
        return ENDS;
    sig = ptrace_signal(sig, &t->info);
    if (thread_fatal_pending(thread_self()))
        return ENDS;
    ipl = spin_lock(&s->lock);
    if (sig)
        act_locked(p, u, sig, t);
    spin_unlock(&s->lock, ipl);
    return sig;
}

/* Wait while the process is stopped, unless a tracer lets the thread run. Who is woken wakes two
 * more, so that the sender of the signal wakes one, whatever the number of threads. An interruption
 * is no reason to go on, but perhaps a tracer has come. */
static void stay_stopped(struct sighand *s)
{
    struct waiter w;

    for (;;) {
        if (unlikely(ptrace_self() != NULL) && ptrace_group_stop(s))
            return;
        wait_enqueue(&s->cont, &w);
        if (!__atomic_load_n(&s->stopped, __ATOMIC_ACQUIRE) || thread_fatal_pending(thread_self()))
            break;
        if (wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER) != 0)
            __atomic_store_n(&thread_self()->interrupted, 0, __ATOMIC_SEQ_CST);
        wait_finish(&w);
    }
    wait_finish(&w);
    if (unlikely(ptrace_self() != NULL))
        (void)ptrace_group_stop(s); /* one that listens says that it is over */
    if (!process_alone(process_self())) {
        wake_one(&s->cont);
        wake_one(&s->cont);
    }
}

/* Wait until SIGCONT or SIGKILL is sent. The thread that has taken the stop signal reports both
 * changes to the parent; a thread that runs in user mode on another CPU stops some microseconds
 * later. */
static void stop(struct sighand *s, int sig)
{
    if (!process_alone(process_self()))
        threads_interrupt_others(process_self());
    process_report_stop((uint32_t)sig << 8 | 0x7F);
    stay_stopped(s);
    if (!thread_fatal_pending(thread_self()))
        process_report_stop(0xFFFF);
}

/* Forget a stop that dequeue has begun: a group that no shell would continue does not stop from the
 * terminal, as POSIX has it. */
static void unstop(struct sighand *s)
{
    ipl_t ipl = spin_lock(&s->lock);

    signal_continue_locked(s);
    spin_unlock(&s->lock, ipl);
}

/* Finish the interrupted system call, if the frame is of one: repeat its instruction, or return
 * EINTR. */
static void finish_call(struct trapframe *f, bool handler, bool restart_with_handler)
{
    bool always = f->v0 == ERESTARTNOINTR;

    if (f->orig_v0 == NO_CALL || !f->a3 ||
        (f->v0 != ERESTARTSYS && f->v0 != ERESTARTNOHAND && !always))
        return;
    if (handler && !always && !(f->v0 == ERESTARTSYS && restart_with_handler)) {
        f->v0 = EINTR;
    } else {
        f->v0 = f->orig_v0;
        f->a3 = f->orig_a3;
        f->pc -= RESTART_INSTRUCTION;
    }
    f->orig_v0 = NO_CALL;
}

/* Set f up to run the handler. False: its frame does not fit on the stack. */
static inline bool handle(struct trapframe *f, struct process *p, struct uthread *u,
                          const struct taken *t)
{
    finish_call(f, true, (t->act.flags & SA_RESTART) != 0);
    if (sigframe_push(f, &t->act, &t->info, t->old) != 0)
        return false;
    u->restore_saved = false;
    if (unlikely(t->seek) && !process_alone(p))
        threads_seek(p);
    return true;
}

/* Deliver an AST, if there is one to be delivered to this thread: on top of the handlers, so that
 * its routine runs before them. For the call that it interrupts it is a handler with SA_RESTART. */
static void __attribute__((noinline)) deliver_ast(struct trapframe *f, struct event_owner *o)
{
    struct event_ast ast;

    event_absorb(o);
    if (!event_is_asked(o) || process_ast_hold(o) || !event_take_ast(o, &ast))
        return;
    finish_call(f, true, true);
    if (process_ast_push(f, &ast) != 0)
        process_exit(SIGSEGV);
}

/* Does the current process end because of a trap of the current thread u? Then with its info. */
static bool crashed(struct uthread *u, struct signal_info *info)
{
    struct sighand *s = u->process->sig;
    ipl_t ipl = spin_lock(&s->lock);
    uint32_t sig = s->end_status;
    bool did = s->ending && sig && sig <= NSIG && (u->pending.set & SIGBIT(sig) & SYNCHRONOUS);

    if (did) {
        *info = u->pending.info[sig - 1];
        did = info->code > 0 && info->code < SI_KERNEL;
    }
    spin_unlock(&s->lock, ipl);
    return did;
}

void signal_deliver(struct trapframe *f)
{
    struct process *p = process_self();
    struct uthread *u = uthread_self();
    struct sighand *s = p->sig;
    struct event_owner *events;
    struct taken t;
    int sig;

    __atomic_fetch_and(&current_hw->syscall_exit, ~EXIT_SIGNAL, __ATOMIC_SEQ_CST);
    __atomic_store_n(&thread_self()->interrupted, 0, __ATOMIC_SEQ_CST);
    if (unlikely(__atomic_load_n(&s->stopped, __ATOMIC_RELAXED)))
        stay_stopped(s); /* another thread has taken the stop */
    if (unlikely(ptrace_self() != NULL))
        ptrace_trap();
    threads_seek_if_asked(p);
    if (unlikely(u->held != NULL))
        threads_follow_account();
    while ((sig = dequeue(p, u, &t)) != 0) {
        if (unlikely(ptrace_self() != NULL) && !(sig = ask_tracer(p, u, sig, &t)))
            continue;
        if (unlikely(sig == ENDS)) {
            if (crashed(u, &t.info))
                crash_report(f, &t.info);
            threads_end_self();
        }
        if (t.act.handler > SIG_IGN) {
            if (!handle(f, p, u, &t))
                process_exit(SIGSEGV);
            if (t.more)
                continue; /* further handlers are pushed on top and run first, as on Linux */
            break;        /* what is sent from now on sets the bit of syscall_exit again */
        }
        if (t.act.handler == SIG_IGN || (SIGBIT(sig) & IGNORED_BY_DEFAULT))
            continue;
        if (!(SIGBIT(sig) & STOPS))
            process_exit((uint32_t)sig);
        if (sig != SIGSTOP && terminal_is_orphaned())
            unstop(s);
        else
            stop(s, sig);
    }
    signal_free_gone(s);
    events = process_events_now(p);
    if (unlikely(events != NULL))
        deliver_ast(f, events);
    finish_call(f, false, false);
    if (u->restore_saved) { /* sigsuspend, and no signal had a handler */
        u->restore_saved = false;
        signal_mask_set(u->saved);
    }
}

/* ---- waits ---- */

/*
 * Sleep until a signal interrupts or the deadline passes: -EINTR or -ETIMEDOUT. The mark of the
 * interruption is cleared before the caller looks at the pending sets, so a signal that is sent
 * after that look interrupts again.
 */
static int sleep_interruptible(uint64_t deadline)
{
    const struct uthread *u = uthread_self();
    struct sighand *s = process_self()->sig;
    struct waiter w;
    int err;

    wait_enqueue(&s->cont, &w);
    err = signals_ready(s, u) || (u->waiting & (s->pending.set | u->pending.set))
              ? -EINTR
              : wait_block(&w, WAIT_INTERRUPTIBLE, deadline);
    wait_finish(&w);
    if (err == -EINTR) {
        __atomic_store_n(&thread_self()->interrupted, 0, __ATOMIC_SEQ_CST);
        threads_seek_if_asked(process_self());
    }
    return err;
}

void signal_suspend(sigset_t mask)
{
    signal_mask_begin(mask);
    while (!signal_is_pending())
        (void)sleep_interruptible(WAIT_FOREVER);
}

int signal_take(sigset_t set, struct signal_info *info)
{
    struct sighand *s = process_self()->sig;
    struct uthread *u = uthread_self();
    ipl_t ipl = spin_lock(&s->lock);
    sigset_t ready;
    int sig;

    signal_clean_locked(s, u);
    ready = (s->pending.set | u->pending.set) & set;
    sig = ready ? take_locked(s, u, ready, info) : 0;
    spin_unlock(&s->lock, ipl);
    signal_free_gone(s);
    return sig;
}

/* Set the signals that sigtimedwait waits for. They are entered in the pending set and wake the
 * thread even if they are blocked or ignored. */
static void set_waiting(sigset_t set)
{
    struct sighand *s = process_self()->sig;
    ipl_t ipl = spin_lock(&s->lock);

    uthread_self()->waiting = set;
    if (set & SIGBIT(SIGALRM))
        signal_alarm_wanted_locked(process_self());
    spin_unlock(&s->lock, ipl);
}

int signal_wait(sigset_t set, uint64_t deadline, struct signal_info *info)
{
    bool over = false;
    int sig;

    set_waiting(set);
    while (!(sig = signal_take(set, info)) && !signal_is_pending() && !over)
        over = sleep_interruptible(deadline) == -ETIMEDOUT;
    set_waiting(0);
    return sig ? sig : over ? -EAGAIN : -EINTR;
}
