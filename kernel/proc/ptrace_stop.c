/*
 * Where a traced thread stops, and how it goes on (ptrace.h).
 *
 * Before it stops, the thread puts what of its registers is not in the frame into the stop:
 * floating-point registers and the unique value. The tracer changes them there, and the thread
 * loads them when it goes on. So the tracer need not know whether the thread has left its CPU yet.
 *
 * A tracer that resumes the thread sets `done` and wakes it under the table lock, which the thread
 * takes before it leaves the function where the stop lies. A thread that is killed takes the
 * stop away under the same lock. So a tracer never finds a stop that is gone.
 *
 * The instruction stream may have been changed while the thread was stopped, by the tracer or by
 * itself: it executes IMB when it goes on.
 */
#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/pal.h"
#include "kernel/base/errno.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/signal_actions.h"
#include "kernel/proc/threads.h"

#define CALL_BIT      0x80u /* of SIGTRAP, with PTRACE_O_TRACESYSGOOD */
#define MESSAGE_ENTRY 1u    /* PTRACE_EVENTMSG_SYSCALL_ENTRY */
#define MESSAGE_EXIT  2u

static void wait_resumed(struct trace_stop *s)
{
    struct waiter w;

    for (;;) {
        wait_enqueue(&s->queue, &w);
        if (__atomic_load_n(&s->done, __ATOMIC_ACQUIRE) ||
            wait_block(&w, WAIT_KILLABLE, WAIT_FOREVER))
            break;
    }
    wait_finish(&w);
}

/* Take the registers from the stop that the tracer has changed. */
static void take_registers(const struct trace_stop *s)
{
    if (s->fp_changed)
        fp_write(&s->fp);
    if (s->unique_changed)
        pal_wrunique(s->unique);
    user_frame_of(current_hw)->pc &= ~UINT64_C(3);
    pal_imb();
}

/* Have the thread do what t asks for at the next instruction or system call. */
static void take_orders(struct tracee *t, const struct trace_stop *s)
{
    uint64_t *bits = &current_hw->syscall_exit;

    t->calls = s->how == TRACE_CALLS;
    t->steps = s->how == TRACE_STEP;
    if (t->calls || t->steps)
        __atomic_fetch_or(bits, EXIT_TRACED, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(bits, ~EXIT_TRACED, __ATOMIC_RELAXED);
}

/*
 * If a tracer of the current thread has let go of it since the last look, forget what that asked
 * for, although another tracer may have come. True: one has.
 *
 *     tracer 1 ends; tracer 2 attaches
 *                                          thread: still to stop at calls, or listening, or to
 *                                                  report a step, for tracer 1
 */
static bool forget_orders(struct tracee *t)
{
    if (likely(!__atomic_exchange_n(&t->let_go, false, __ATOMIC_SEQ_CST)))
        return false;
    t->calls = t->steps = t->listens = false;
    signal_forget_step();
    return true;
}

/* Stop with this status, as wait4 returns it but for the lowest byte. s->signal is what is
 * delivered if the tracer ends. False: the thread has no tracer, or is to end. */
static bool stay(struct trace_stop *s, uint32_t status)
{
    struct tracee *t = ptrace_self();
    bool stopped;
    ipl_t ipl;

    if (t->planted)
        ptrace_unplant(t);
    fp_sync();
    s->fp = current_hw->fp;
    s->unique = pal_rdunique();
    wait_queue_init(&s->queue, "traced");
    ipl = spin_lock(&process_lock);
    stopped = t->tracer && !thread_fatal_pending(thread_self());
    if (stopped) {
        t->stop = s;
        __atomic_store_n(&t->trap, false, __ATOMIC_RELAXED); /* this is a stop, too */
        t->uid = process_uid(process_self());
        ptrace_report_locked(t, status << 8 | 0x7F, CLD_TRAPPED);
    }
    spin_unlock(&process_lock, ipl);
    if (!stopped)
        return false;
    wait_resumed(s);
    ipl = spin_lock(&process_lock);
    if (t->stop == s) { /* killed: it was not resumed */
        t->stop = NULL;
        if (t->report)
            ptrace_told_locked(t);
    }
    take_orders(t, s);
    spin_unlock(&process_lock, ipl);
    take_registers(s);
    return true;
}

/* A stop that delivers no signal of its own: one that the tracer gives is sent to the thread. How
 * it goes on. */
static enum trace_how stop_plain(uint32_t status, uint64_t message)
{
    struct trace_stop s = {.has_info = true, .info = {.signo = SIGTRAP, .code = (int32_t)status}};
    struct process *p = process_self();

    s.info.pid = uthread_self()->tid;
    s.info.uid = process_uid(p);
    ptrace_self()->message = message;
    if (stay(&s, status) && s.signal) {
        const struct signal_info info = {.signo = s.signal, .code = SI_USER};

        signal_send_thread(p, uthread_self(), &info);
    }
    return s.how;
}

/* ---- system calls ---- */

static void stop_at_call(const struct tracee *t, uint64_t message)
{
    stop_plain(SIGTRAP | (t->options & PTRACE_O_TRACESYSGOOD ? CALL_BIT : 0), message);
}

void ptrace_call(void)
{
    struct trapframe *f = user_frame_of(current_hw);
    struct tracee *t = ptrace_self();

    if (t) {
        (void)forget_orders(t);
        t->in_call = true;
        __atomic_fetch_or(&current_hw->syscall_exit, EXIT_TRACE, __ATOMIC_RELAXED);
        if (t->calls)
            stop_at_call(t, MESSAGE_ENTRY);
    }
    if (thread_killed())
        f->v0 = NO_CALL; /* the call is not made */
    f->orig_v0 = f->v0;
    f->orig_a3 = f->a3;
}

void ptrace_return(struct trapframe *f)
{
    struct tracee *t = ptrace_self();
    bool call;

    __atomic_fetch_and(&current_hw->syscall_exit, ~EXIT_TRACE, __ATOMIC_SEQ_CST);
    if (!t)
        return;
    (void)forget_orders(t);
    call = t->in_call;
    t->in_call = false;
    if (call && t->calls)
        stop_at_call(t, MESSAGE_EXIT);
    else if (call && t->steps)
        signal_step(f->pc);
    if (!ptrace_has_tracer(t)) {
        (void)forget_orders(t);
        if (t->planted)
            ptrace_unplant(t);
        __atomic_fetch_and(&current_hw->syscall_exit, ~EXIT_TRACED, __ATOMIC_RELAXED);
        ptrace_release();
    }
}

/* ---- signals ---- */

int ptrace_signal(int sig, struct signal_info *info)
{
    struct trace_stop s = {.has_info = true, .signal = sig, .info = *info};
    struct uthread *u = uthread_self();
    bool step = ptrace_is_step(sig, info);

    if (sig == SIGKILL)
        return sig;
    if (forget_orders(ptrace_self()) && step)
        return 0;
    if (!stay(&s, (uint32_t)sig))
        return step ? 0 : sig;
    *info = s.info;
    if (s.signal != s.info.signo)
        *info = (struct signal_info){.signo = s.signal, .code = SI_USER};
    if (!s.signal || !(u->blocked & SIGBIT(s.signal)) || s.signal == SIGKILL)
        return s.signal;
    signal_send_thread(process_self(), u, info); /* the tracer has chosen one that is blocked */
    return 0;
}

/* The wake-up may have been that of a SIGCONT, meant for the threads that are stopped, of which
 * each wakes others. Once for each stop, or those that listen would wake each other for ever. */
static void pass_on(struct sighand *s, uint64_t *passed)
{
    uint64_t stops = __atomic_load_n(&s->stops, __ATOMIC_RELAXED);

    if (__atomic_load_n(&s->stopped, __ATOMIC_ACQUIRE) || *passed == stops)
        return;
    *passed = stops;
    wake_one(&s->cont);
    wake_one(&s->cont);
}

/* PTRACE_LISTEN at a stop that is no group stop: wait until the tracer or SIGCONT interrupts. */
static void wait_listening(const struct tracee *t, struct sighand *s)
{
    uint64_t passed = ~UINT64_C(0);
    struct waiter w;

    for (;;) {
        wait_enqueue(&s->cont, &w);
        if (__atomic_load_n(&t->trap, __ATOMIC_SEQ_CST) ||
            __atomic_load_n(&t->let_go, __ATOMIC_SEQ_CST) || !ptrace_has_tracer(t) ||
            thread_fatal_pending(thread_self()) ||
            (__atomic_load_n(&s->pending.set, __ATOMIC_RELAXED) & SIGBIT(SIGCONT)))
            break;
        if (wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER) != 0)
            __atomic_store_n(&thread_self()->interrupted, 0, __ATOMIC_SEQ_CST);
        wait_finish(&w);
        pass_on(s, &passed);
    }
    wait_finish(&w);
    pass_on(s, &passed);
}

void ptrace_trap(void)
{
    struct tracee *t = ptrace_self();
    struct sighand *s = process_self()->sig;

    while (__atomic_exchange_n(&t->trap, false, __ATOMIC_SEQ_CST)) {
        bool stopped = __atomic_load_n(&s->stopped, __ATOMIC_RELAXED);
        uint32_t sig = stopped ? __atomic_load_n(&s->stop_signal, __ATOMIC_RELAXED) : SIGTRAP;

        if (stop_plain(sig | PTRACE_EVENT_STOP << 8, 0) != TRACE_LISTEN)
            break;
        wait_listening(t, s);
        if (forget_orders(t))
            break;
        __atomic_store_n(&t->trap, ptrace_has_tracer(t), __ATOMIC_SEQ_CST);
    }
}

/*
 * A group stop is reported once to the tracer of each thread. When the tracer resumes the thread it
 * runs, although its process is stopped; only PTRACE_LISTEN leaves it waiting for SIGCONT, as it
 * would wait without a tracer, and then it reports that the stop is over.
 */
bool ptrace_group_stop(struct sighand *s)
{
    struct tracee *t = ptrace_self();
    struct trace_stop stop = {0};
    uint32_t status = __atomic_load_n(&s->stop_signal, __ATOMIC_RELAXED);
    uint64_t stops = __atomic_load_n(&s->stops, __ATOMIC_RELAXED);

    (void)forget_orders(t);
    if (!ptrace_has_tracer(t))
        return false;
    if (t->listens) {
        bool on = __atomic_load_n(&s->stopped, __ATOMIC_RELAXED);

        if (on && !__atomic_load_n(&t->trap, __ATOMIC_RELAXED))
            return false;
        t->listens = false;
        if (!on) { /* over: that is reported as a trap */
            stop_plain(SIGTRAP | PTRACE_EVENT_STOP << 8, 0);
            return true;
        }
    } else if (__atomic_load_n(&t->stop_seen, __ATOMIC_RELAXED) == stops) {
        return true;
    }
    __atomic_store_n(&t->trap, false, __ATOMIC_RELAXED);
    __atomic_store_n(&t->stop_seen, stops, __ATOMIC_RELAXED);
    if (t->seized) {
        status |= PTRACE_EVENT_STOP << 8;
        stop.has_info = true;
        stop.info = (struct signal_info){.signo = SIGTRAP, .code = (int32_t)status};
    }
    if (!stay(&stop, status))
        return false;
    t->listens = stop.how == TRACE_LISTEN;
    return !t->listens && ptrace_has_tracer(t);
}

/* ---- events ---- */

void ptrace_event(unsigned event, uint64_t message)
{
    if (ptrace_self()->options & PTRACE_O_EVENT(event))
        stop_plain(SIGTRAP | event << 8, message);
}

void ptrace_exec(uint32_t was)
{
    const struct tracee *t = ptrace_self();
    struct signal_info info = {.signo = SIGTRAP, .code = SI_USER};

    if (!ptrace_has_tracer(t))
        return;
    if (t->options & PTRACE_O_EVENT(PTRACE_EVENT_EXEC)) {
        ptrace_event(PTRACE_EVENT_EXEC, was);
    } else if (!t->seized) {
        info.pid = uthread_self()->tid;
        info.uid = process_uid(process_self());
        signal_send_thread(process_self(), uthread_self(), &info);
    }
}

void ptrace_exit(uint32_t status) { ptrace_event(PTRACE_EVENT_EXIT, status); }
