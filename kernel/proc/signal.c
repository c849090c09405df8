/*
 * Signals: sending, selection of the thread that takes one, masks. signal_deliver.c has what a
 * thread does with the signals that it takes, sighand.c keeps the state, sigframe.c builds the
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
 * number, and each thread drops what was discarded before it looks at its own pending set
 * (signal_clean_locked).
 */
#include "kernel/proc/signal.h"

#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal_actions.h"
#include "kernel/proc/signal_private.h"
#include "kernel/proc/signal_queue.h"
#include "kernel/proc/threads.h"

#define SEEK_AT_ONCE 32u /* threads looked at in one hold, in up to 25 instructions each */
#define MARK_AT_ONCE 2u  /* threads interrupted in one hold, in up to 450 instructions each */

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

void signal_free_gone_slowly(struct sighand *s)
{
    ipl_t ipl = spin_lock(&s->lock);
    struct queued_signal *gone = s->gone;

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

/* What was entered later than a discard was entered in a set cleaned before. */
void signal_clean_rest_locked(struct sighand *s, struct uthread *u)
{
    sigset_t gone = 0;

    for (sigset_t left = u->pending.set & s->discarded; left; left &= left - 1)
        if (s->discarded_at[__builtin_ctzl(left)] > u->discards_seen)
            gone |= left & -left;
    forget_locked(s, &u->pending, gone);
    u->discards_seen = s->discards;
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
        signal_clean_locked(s, only);
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

bool signal_is_stopping(struct process *p)
{
    ipl_t ipl = spin_lock(&p->sig->lock);
    bool stopping = p->sig->stopped || (p->sig->pending.set & SIGBIT(SIGSTOP));

    spin_unlock(&p->sig->lock, ipl);
    return stopping;
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

bool signal_is_pending(void)
{
    const struct tracee *t = ptrace_self();

    if (!signals_ready(process_self()->sig, uthread_self()) &&
        !thread_fatal_pending(thread_self()) &&
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
    signal_clean_locked(s, u);
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
        signal_alarm_wanted_locked(p);
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

void signal_action_change(int sig, const struct signal_action *act)
{
    struct process *p = process_self();
    struct sighand *s = p->sig;
    ipl_t ipl = spin_lock(&s->lock);

    signal_action_set_locked(s, sig, act);
    if (signal_ignored_locked(s, sig))
        forget_all_locked(p, SIGBIT(sig));
    else if (sig == SIGALRM)
        signal_alarm_wanted_locked(p);
    spin_unlock(&s->lock, ipl);
    signal_free_gone(s);
}

sigset_t signal_pending(void)
{
    struct uthread *u = uthread_self();
    struct sighand *s = process_self()->sig;
    ipl_t ipl = spin_lock(&s->lock);
    sigset_t all;

    signal_clean_locked(s, u);
    all = s->pending.set | u->pending.set;
    spin_unlock(&s->lock, ipl);
    return all;
}
