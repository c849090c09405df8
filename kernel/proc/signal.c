/*
 * Signals: sending, selection and default actions. sighand.c keeps the state, sigframe.c builds the
 * frame on the user stack.
 *
 * A signal is sent to a process (kill, the terminal, the kernel) or to one thread (tkill, a fault,
 * SIGPIPE). A signal to the process is entered in the process's own pending set, and the first
 * thread in the list that does not block it is interrupted to take it. If that thread blocks the
 * signal before it has looked at the set, it interrupts another thread instead
 * (signal_mask_change).
 * Actions, stop and end are state of the process; masks are state of the threads.
 *
 * The sender sets the pending bit under the lock; then, in one step (thread_interrupt), the bit in
 * hw.syscall_exit and the mark that interrupts the thread's wait. The target clears the bit first
 * and then looks at the pending sets, so one of the two always sees the other's store:
 *
 *   sender: pending |= bit          target: syscall_exit &= ~EXIT_SIGNAL
 *           syscall_exit |= ...             (barrier)
 *                                           look at pending
 *
 * A system call that a signal ends early returns one of the ERESTART numbers. Only the slow path of
 * the return to user mode turns them into results that programs know, so a thread that finds itself
 * interrupted must have that bit set.
 *
 * If some thread takes a signal whose action is the default one and ends the process, the end is
 * decided when the signal is sent: `ending` is set, threads are marked (thread_interrupt_fatal),
 * and nothing revokes that. So a killable wait ends without a thread first having to take the
 * signal. The sender marks the first few; one of these, on its way out, marks the rest (threads.c).
 * If every thread blocks the signal, or the process is stopped, the end is decided by the thread
 * that takes the signal later.
 *
 * A signal that is ignored and that no thread blocks is discarded when it is sent. SIGCONT removes
 * pending stop signals, and a stop signal removes a pending SIGCONT. A thread that runs in user
 * mode on another CPU sees its signal at its next entry into the kernel, the next clock tick at the
 * latest.
 *
 * A process may have thousands of threads, so no more than a portion of them is looked at in one
 * hold of the signal lock. If none of the first SEEK_AT_ONCE threads takes a signal, `seeking` is
 * set and the oldest thread is interrupted to look at all of them, in portions (threads_seek). For
 * the same reason a discard of pending signals does not go through the threads: it is noted with a
 * number, and each thread drops what was discarded before it looks at its own pending set (clean).
 */
#include "kernel/proc/signal.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/crash_report.h"
#include "kernel/proc/posix_timer.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal_actions.h"
#include "kernel/proc/signal_queue.h"
#include "kernel/proc/terminal.h"
#include "kernel/proc/threads.h"
#include "mm/pool/pool.h"

#define SEEK_AT_ONCE 32u /* threads looked at in one hold, in up to 25 instructions each */
#define MARK_AT_ONCE 2u  /* threads interrupted in one hold, in up to 450 instructions each */
#define ENDS         (-1)

/* Caused by an instruction: selected before the others, so that the handler sees the state at the
 * fault. */
#define SYNCHRONOUS                                                                         \
    (SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) | SIGBIT(SIGFPE) | \
     SIGBIT(SIGSYS))
#define RESTART_INSTRUCTION 4 /* bytes of CALL_PAL callsys */

/* ---- pending sets ---- */

/* Enter a signal in a pending set. One that is pending already keeps its first info; a real-time
 * signal is queued if the sender has room for that (NULL: it has not). False: it is not. */
static bool pend_locked(struct process *p, struct sigpending *q, const struct signal_info *info,
                        struct signal_room *room)
{
    sigset_t bit = SIGBIT(info->signo);

    if (q->set & bit & REALTIME)
        return room && signal_queue_add_locked(q, info, room, rlimit_soft(p, RLIMIT_SIGPENDING));
    if (!(q->set & bit))
        q->info[info->signo - 1] = *info;
    __atomic_store_n(&q->set, q->set | bit, __ATOMIC_SEQ_CST);
    return true;
}

static void forget_locked(struct sighand *s, struct sigpending *q, sigset_t bits)
{
    if (unlikely(q->queue != NULL))
        signal_queue_discard_locked(q, bits, &s->gone);
    __atomic_store_n(&q->set, q->set & ~bits, __ATOMIC_RELAXED);
}

/* Free the records that were discarded. The signal lock is not held. */
static void free_gone(struct sighand *s)
{
    struct queued_signal *gone;
    ipl_t ipl;

    if (likely(!__atomic_load_n(&s->gone, __ATOMIC_RELAXED)))
        return;
    ipl = spin_lock(&s->lock);
    gone = s->gone;
    s->gone = NULL;
    spin_unlock(&s->lock, ipl);
    queued_signals_free(gone);
}

/* Remove these signals from the pending sets of the process and of all its threads. */
static void forget_all_locked(struct process *p, sigset_t bits)
{
    struct sighand *s = p->sig;

    forget_locked(s, &s->pending, bits);
    s->discards++;
    s->discarded |= bits;
    for (; bits; bits &= bits - 1)
        s->discarded_at[__builtin_ctzl(bits)] = s->discards;
}

/* Remove from the pending set of a thread what was discarded since it was last done. What was
 * entered later than a discard was entered in a set cleaned before. */
static __attribute__((noinline)) void clean_rest_locked(struct sighand *s, struct uthread *u)
{
    sigset_t gone = 0;

    for (sigset_t left = u->pending.set & s->discarded; left; left &= left - 1)
        if (s->discarded_at[__builtin_ctzl(left)] > u->discards_seen)
            gone |= left & -left;
    forget_locked(s, &u->pending, gone);
    u->discards_seen = s->discards;
}

static inline void clean_locked(struct sighand *s, struct uthread *u)
{
    if (unlikely(u->discards_seen != s->discards))
        clean_rest_locked(s, u);
}

/* SIGALRM may be taken again: let a resting alarm go on, unless a signal of it is pending still. */
static inline void alarm_wanted_locked(struct process *p)
{
    if (unlikely(p->alarm_rests) && !(p->sig->pending.set & SIGBIT(SIGALRM)))
        alarm_taken_locked(p);
}

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
        alarm_wanted_locked(process_self());
    return sig;
}

/* ---- sending ---- */

void signal_end_locked(struct process *p, uint32_t status)
{
    struct sighand *s = p->sig;
    const struct list *l = &p->threads;

    if (!s->ending) {
        s->ending = true;
        s->end_status = status;
    }
    for (unsigned n = 0; n < MARK_AT_ONCE && (l = list_next(&p->threads, l)) != NULL; n++) {
        struct uthread *u = list_entry(l, struct uthread_place, link)->user;

        if (u)
            thread_interrupt_fatal(u->thread);
    }
    if (s->exec_by)
        thread_interrupt_fatal(s->exec_by->thread);
}

void signal_continue_locked(struct sighand *s)
{
    if (!s->stopped)
        return;
    __atomic_store_n(&s->stopped, false, __ATOMIC_RELEASE);
    wake_one(&s->cont); /* it wakes others: stay_stopped() */
}

/* Who is to take a signal. */
struct search {
    struct uthread *taker;
    bool noted; /* somebody blocks it, so it is kept although it may be ignored */
    bool more;  /* not all threads were looked at */
};

/* Is u to take the signal? */
static inline bool ask(struct search *q, struct uthread *u, sigset_t bit, bool dropped)
{
    if ((u->waiting & bit) || (!(u->blocked & bit) && !dropped)) {
        q->taker = u;
        return true;
    }
    q->noted |= (u->blocked & bit) != 0;
    return false;
}

static void search_locked(const struct process *p, struct search *q, sigset_t bit, bool dropped)
{
    const struct list *l = &p->threads;

    for (unsigned n = 0; (l = list_next(&p->threads, l)) != NULL; n++) {
        struct uthread *u = list_entry(l, struct uthread_place, link)->user;

        if (n == SEEK_AT_ONCE) {
            q->more = true;
            return;
        }
        if (u && ask(q, u, bit, dropped)) {
            if (n)
                p->sig->taker = u;
            return;
        }
        if (n == 0 && p->sig->taker && ask(q, p->sig->taker, bit, dropped))
            return;
    }
}

/* Send to the thread `only`, or to the process if it is NULL. room: for a real-time signal, or
 * NULL. False: it is pending already, and could not be queued. */
static bool send_locked(struct process *p, struct uthread *only, const struct signal_info *info,
                        struct signal_room *room)
{
    struct sighand *s = p->sig;
    sigset_t bit = SIGBIT(info->signo);
    bool dropped = signal_ignored_locked(s, info->signo) && !s->ntraced; /* a tracer sees all */
    struct search q = {.noted = !dropped};
    bool entered;

    if (bit & (SIGBIT(SIGCONT) | SIGBIT(SIGKILL))) {
        forget_all_locked(p, STOPS);
        signal_continue_locked(s);
    } else if (bit & STOPS) {
        forget_all_locked(p, SIGBIT(SIGCONT));
    }
    if (!only)
        search_locked(p, &q, bit, dropped);
    else
        (void)ask(&q, only, bit, dropped);
    if (!q.taker && !q.noted && !q.more)
        return true;
    if (only)
        clean_locked(s, only);
    entered = pend_locked(p, only ? &only->pending : &s->pending, info, room);
    poll_notify(&s->polled, POLLIN | POLLRDNORM);
    if (!q.taker && q.more) {
        __atomic_store_n(&s->seeking, true, __ATOMIC_RELAXED);
        thread_interrupt(process_first_thread_locked(p)->thread);
    }
    if (bit & SIGBIT(SIGKILL))
        signal_end_locked(p, SIGKILL);
    if (!q.taker)
        return entered;
    if (!(q.taker->waiting & bit) && signal_ends_locked(s, info->signo) && !s->stopped &&
        !s->ntraced)
        signal_end_locked(p, (uint32_t)info->signo);
    else
        thread_interrupt(q.taker->thread);
    return entered;
}

void signal_send_locked(struct process *p, const struct signal_info *info)
{
    (void)send_locked(p, NULL, info, NULL);
}

void signal_send_timer_locked(struct process *p, struct uthread *u, const struct signal_info *info)
{
    (void)send_locked(p, u, info, NULL);
}

bool signal_send(struct process *p, const struct signal_info *info)
{
    ipl_t ipl = spin_lock(&p->sig->lock);
    bool open = !p->sig->closed;

    (void)send_locked(p, NULL, info, NULL);
    spin_unlock(&p->sig->lock, ipl);
    return open;
}

uint32_t signal_close(struct sighand *s, uint32_t status)
{
    ipl_t ipl = spin_lock(&s->lock);

    if (s->ending)
        status = s->end_status;
    s->closed = true;
    spin_unlock(&s->lock, ipl);
    return status;
}

void signal_send_thread(struct process *p, struct uthread *u, const struct signal_info *info)
{
    ipl_t ipl = spin_lock(&p->sig->lock);

    (void)send_locked(p, u, info, NULL);
    spin_unlock(&p->sig->lock, ipl);
}

/* A real-time signal, which may need room. */
static int __attribute__((noinline)) send_realtime(struct process *p, struct uthread *u,
                                                   const struct signal_info *info)
{
    struct signal_room room;
    bool entered;
    ipl_t ipl;

    signal_room_get(&room);
    ipl = spin_lock(&p->sig->lock);
    entered = send_locked(p, u, info, &room);
    spin_unlock(&p->sig->lock, ipl);
    signal_room_put(&room);
    return entered ? 0 : -EAGAIN;
}

int signal_send_user(struct process *p, struct uthread *u, const struct signal_info *info)
{
    if (unlikely(info->signo >= REALTIME_FIRST))
        return send_realtime(p, u, info);
    signal_send_thread(p, u, info);
    return 0;
}

/* The signals that the current thread could take now. The first load is a barrier before the
 * look. */
static inline sigset_t ready_now(const struct sighand *s, const struct uthread *u)
{
    return (__atomic_load_n(&s->pending.set, __ATOMIC_SEQ_CST) |
            __atomic_load_n(&u->pending.set, __ATOMIC_RELAXED)) &
           ~u->blocked;
}

bool signal_is_pending(void)
{
    const struct tracee *t = ptrace_self();

    if (!ready_now(process_self()->sig, uthread_self()) && !thread_fatal_pending(thread_self()) &&
        !(unlikely(t != NULL) && __atomic_load_n(&t->trap, __ATOMIC_SEQ_CST)) &&
        !process_ast_pending(process_self()))
        return false;
    /* The sender may not have set this bit yet, and the caller ends its system call because of the
     * signal. */
    __atomic_fetch_or(&current_hw->syscall_exit, EXIT_SIGNAL, __ATOMIC_RELAXED);
    return true;
}

/* Send a signal to the current thread, u of p. The instruction that has caused it would only cause
 * it again, so a signal that cannot be handled ends the process. */
static void force_locked(struct process *p, struct uthread *u, const struct signal_info *info)
{
    struct sighand *s = p->sig;
    int sig = info->signo;

    if ((u->blocked & SIGBIT(sig)) || signal_action(s, sig)->handler == SIG_IGN)
        signal_handler_drop_locked(s, sig);
    u->blocked &= ~SIGBIT(sig);
    clean_locked(s, u);
    forget_locked(s, &u->pending, SIGBIT(sig));
    (void)pend_locked(p, &u->pending, info, NULL);
    if (signal_ends_locked(s, sig) && (!s->ntraced || sig == SIGKILL))
        signal_end_locked(p, (uint32_t)sig);
    __atomic_fetch_or(&current_hw->syscall_exit, EXIT_SIGNAL, __ATOMIC_SEQ_CST);
}

void signal_force(int sig, int code, vaddr_t addr) { signal_force_error(sig, code, addr, 0); }

void signal_force_error(int sig, int code, vaddr_t addr, int error)
{
    struct signal_info info = {.signo = sig, .code = code, .status = error, .addr = addr};
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&p->sig->lock);

    force_locked(p, uthread_self(), &info);
    spin_unlock(&p->sig->lock, ipl);
}

void signal_step(vaddr_t addr)
{
    struct signal_info info = {.signo = SIGTRAP, .code = TRAP_TRACE, .addr = addr};
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&p->sig->lock);

    if (ptrace_has_tracer(ptrace_self()))
        force_locked(p, uthread_self(), &info);
    spin_unlock(&p->sig->lock, ipl);
}

void signal_forget_step(void)
{
    struct uthread *u = uthread_self();
    struct sighand *s = process_self()->sig;
    ipl_t ipl = spin_lock(&s->lock);

    if ((u->pending.set & SIGBIT(SIGTRAP)) && u->pending.info[SIGTRAP - 1].code == TRAP_TRACE)
        forget_locked(s, &u->pending, SIGBIT(SIGTRAP));
    spin_unlock(&s->lock, ipl);
}

void signal_mask_change(sigset_t mask)
{
    struct process *p = process_self();
    struct uthread *u = uthread_self();
    struct sighand *s = p->sig;
    ipl_t ipl = spin_lock(&s->lock);
    sigset_t left = s->pending.set & mask & ~u->blocked;

    u->blocked = mask;
    if ((s->pending.set | u->pending.set) & ~u->blocked) {
        /* the signal was sent while blocked, so it has interrupted nothing */
        __atomic_fetch_or(&current_hw->syscall_exit, EXIT_SIGNAL, __ATOMIC_RELAXED);
        __atomic_store_n(&thread_self()->interrupted, 1, __ATOMIC_RELAXED);
    }
    if (mask & SIGBIT(SIGALRM))
        alarm_wanted_locked(p);
    spin_unlock(&s->lock, ipl);
    /* This thread may be the one that was interrupted for signals to the process that it has
     * blocked now. */
    if (unlikely(left && !process_alone(p)))
        threads_seek(p);
}

void signal_mask_begin(sigset_t mask)
{
    struct uthread *u = uthread_self();

    u->saved = u->blocked;
    u->restore_saved = true;
    signal_mask_set(mask);
}

void signal_mask_end(bool interrupted)
{
    struct uthread *u = uthread_self();

    if (interrupted)
        return; /* a signal is pending, so the return takes the slow path */
    u->restore_saved = false;
    signal_mask_set(u->saved);
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
        alarm_wanted_locked(p);
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

    clean_locked(s, u);
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
    if (!event_take_ast(o, &ast))
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
    free_gone(s);
    events = process_events_now(p);
    if (unlikely(events != NULL))
        deliver_ast(f, events);
    finish_call(f, false, false);
    if (u->restore_saved) { /* sigsuspend, and no signal had a handler */
        u->restore_saved = false;
        signal_mask_set(u->saved);
    }
}

void signal_action_change(int sig, const struct signal_action *act)
{
    struct process *p = process_self();
    struct sighand *s = p->sig;
    ipl_t ipl = spin_lock(&s->lock);

    signal_action_set_locked(s, sig, act);
    if (signal_ignored_locked(s, sig))
        forget_all_locked(p, SIGBIT(sig));
    else if (sig == SIGALRM)
        alarm_wanted_locked(p);
    spin_unlock(&s->lock, ipl);
    free_gone(s);
}

sigset_t signal_pending(void)
{
    struct uthread *u = uthread_self();
    struct sighand *s = process_self()->sig;
    ipl_t ipl = spin_lock(&s->lock);
    sigset_t all;

    clean_locked(s, u);
    all = s->pending.set | u->pending.set;
    spin_unlock(&s->lock, ipl);
    return all;
}

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
    err = ready_now(s, u) || (u->waiting & (s->pending.set | u->pending.set))
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

    clean_locked(s, u);
    ready = (s->pending.set | u->pending.set) & set;
    sig = ready ? take_locked(s, u, ready, info) : 0;
    spin_unlock(&s->lock, ipl);
    free_gone(s);
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
        alarm_wanted_locked(process_self());
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
