/*
 * Signals: state, sending, choosing, default actions. The frame on the user stack is sigframe.c's.
 *
 * Sending sets the pending bit under the lock, then the bit in hw.syscall_exit and the mark that
 * interrupts the thread's wait, these two in one step (thread_interrupt). The target clears the bit
 * first and then looks at what is pending, so one of the two always sees the other:
 *
 *     sender: pending |= bit          target: syscall_exit &= ~EXIT_SIGNAL
 *             syscall_exit |= ...             (barrier)
 *                                             look at pending
 *
 * A call that a signal ends early returns one of the ERESTART numbers, which only the slow way out
 * turns into what programs know: so whoever finds itself interrupted has that bit set.
 *
 * A fatal signal, one that ends the process when it is delivered, also sets the thread's `killed`,
 * which ends waits that no other signal may end (WAIT_KILLABLE: a page fault's). What was fatal
 * when it was sent need not be so any more when the thread has since changed its mask or an action,
 * or taken the signal by sigtimedwait: each of these looks again under the lock, so that the mark
 * never outlives its reason. An alarm that expires sends nothing yet (kernel/proc/alarm.c) and so
 * ends no such wait.
 *
 * A signal that is ignored and not blocked is dropped when it is sent. SIGCONT takes back pending
 * stops and the other way round. A thread that runs in user mode on another CPU meets its signal at
 * its next entry, at the latest the next clock tick.
 */
#include "kernel/proc/signal.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/proc_private.h"
#include "mm/pool/pool.h"

#define SIG_DFL      0ul
#define SIG_IGN      1ul
#define SIG_BLOCK    1
#define SIG_UNBLOCK  2
#define SIG_SETMASK  3
#define SA_NOCLDSTOP 4ul
#define SA_NOCLDWAIT 0x20ul
#define SA_NODEFER   8ul
#define SA_RESTART   2ul
#define SA_RESETHAND 0x10ul
#define SS_DISABLE   2u
#define MINSIGSTKSZ  4096ul

#define UNBLOCKABLE        (SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))
#define STOPS              (SIGBIT(SIGSTOP) | SIGBIT(SIGTSTP) | SIGBIT(SIGTTIN) | SIGBIT(SIGTTOU))
#define IGNORED_BY_DEFAULT (SIGBIT(SIGCHLD) | SIGBIT(SIGURG) | SIGBIT(SIGWINCH) | SIGBIT(SIGCONT))
/* Caused by an instruction: chosen before the others, so that the handler sees the state of the
 * fault. */
#define SYNCHRONOUS                                                                         \
    (SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) | SIGBIT(SIGFPE) | \
     SIGBIT(SIGSYS))
#define RESTART_INSTRUCTION 4      /* bytes of CALL_PAL callsys */
#define NO_CALL             (~0ul) /* orig_v0 of a frame that is no system call's */

/* Everything but actions; info means nothing where nothing is pending, and is most of the
 * structure. */
static struct sighand *sighand_alloc(void)
{
    struct sighand *s = npp_alloc(sizeof(*s));

    if (!s)
        return NULL;
    memset(s, 0, offsetof(struct sighand, actions));
    spin_init(&s->lock, "signals", RANK_SIGNAL, IPL_ASTDEL);
    wait_queue_init(&s->cont, "stopped");
    s->alt_flags = SS_DISABLE;
    return s;
}

struct sighand *sighand_create(void)
{
    struct sighand *s = sighand_alloc();

    if (s)
        memset(s->actions, 0, sizeof(s->actions));
    return s;
}

struct sighand *sighand_fork(const struct sighand *from, bool share_vm)
{
    struct sighand *s = sighand_alloc();

    if (!s)
        return NULL;
    memcpy(s->actions, from->actions, sizeof(s->actions));
    s->blocked = from->blocked;
    if (!share_vm) {
        s->alt_sp = from->alt_sp;
        s->alt_size = from->alt_size;
        s->alt_flags = from->alt_flags;
    }
    return s;
}

void sighand_exec(struct sighand *s)
{
    ipl_t ipl = spin_lock(&s->lock);

    for (unsigned i = 0; i < NSIG; i++) {
        vaddr_t handler = s->actions[i].handler;

        s->actions[i] = (struct signal_action){.handler = handler == SIG_IGN ? SIG_IGN : SIG_DFL};
    }
    s->alt_sp = s->alt_size = 0;
    s->alt_flags = SS_DISABLE;
    spin_unlock(&s->lock, ipl);
}

void sighand_free(struct sighand *s) { npp_free(s, sizeof(*s)); }

static bool ignored(const struct sighand *s, int sig)
{
    vaddr_t handler = s->actions[sig - 1].handler;

    return handler == SIG_IGN || (handler == SIG_DFL && (SIGBIT(sig) & IGNORED_BY_DEFAULT));
}

bool signal_is_ignored(const struct sighand *s, int sig)
{
    const struct signal_action *act = &s->actions[sig - 1];

    return act->handler == SIG_IGN || (sig == SIGCHLD && (act->flags & SA_NOCLDWAIT));
}

bool signal_wants_stops(const struct sighand *s)
{
    return !(s->actions[SIGCHLD - 1].flags & SA_NOCLDSTOP);
}

/* Would the signal end the process if it were pending? s's lock held. */
static bool is_fatal_locked(const struct sighand *s, int sig)
{
    if (sig == SIGKILL)
        return true;
    return s->actions[sig - 1].handler == SIG_DFL &&
           !(SIGBIT(sig) & (s->blocked | s->waiting | STOPS | IGNORED_BY_DEFAULT));
}

/* What is pending, blocked, waited for or done on a signal has changed: is the current process,
   whose s it is, still to end? s's lock held. */
static void killed_update_locked(struct sighand *s)
{
    sigset_t ready = s->pending & ~s->blocked;
    bool killed = false;

    for (; ready && !killed; ready &= ready - 1)
        killed = is_fatal_locked(s, __builtin_ctzl(ready) + 1);
    __atomic_store_n(&thread_self()->killed, killed, __ATOMIC_RELAXED);
}

void signal_send(struct process *p, const struct signal_info *info)
{
    struct sighand *s = p->sig;
    sigset_t bit = SIGBIT(info->signo);
    bool wake, go_on = false;
    ipl_t ipl = spin_lock(&s->lock);

    if (info->signo == SIGCONT || info->signo == SIGKILL) {
        s->pending &= ~STOPS;
        go_on = s->stopped;
        s->stopped = false;
    } else if (bit & STOPS) {
        s->pending &= ~SIGBIT(SIGCONT);
    }
    wake = (s->waiting & bit) || (!(s->blocked & bit) && !ignored(s, info->signo));
    if (wake || (s->blocked & bit)) {
        if (!(s->pending & bit))
            s->info[info->signo - 1] = *info;
        __atomic_store_n(&s->pending, s->pending | bit, __ATOMIC_SEQ_CST);
    }
    if (wake && is_fatal_locked(s, info->signo)) /* under the lock: see killed_update_locked() */
        __atomic_store_n(&p->thread->killed, 1, __ATOMIC_RELAXED);
    spin_unlock(&s->lock, ipl);
    if (wake)
        thread_interrupt(p->thread);
    if (go_on)
        wake_all(&s->cont);
}

bool signal_is_wanted(const struct sighand *s, int sig)
{
    return ((__atomic_load_n(&s->waiting, __ATOMIC_SEQ_CST) |
             ~__atomic_load_n(&s->blocked, __ATOMIC_SEQ_CST)) &
            SIGBIT(sig)) != 0;
}

bool signal_is_pending(void)
{
    struct sighand *s = process_self()->sig;

    if (!(__atomic_load_n(&s->pending, __ATOMIC_SEQ_CST) & ~s->blocked))
        return false;
    /* The sender may not have come to this yet, and whoever asks ends its call because of it. */
    __atomic_fetch_or(&current_hw->syscall_exit, EXIT_SIGNAL, __ATOMIC_RELAXED);
    return true;
}

bool signal_kill_pending(void)
{
    const struct sighand *s = process_self()->sig;

    return (__atomic_load_n(&s->pending, __ATOMIC_SEQ_CST) & SIGBIT(SIGKILL)) != 0;
}

void signal_force(int sig, int code, vaddr_t addr)
{
    struct sighand *s = process_self()->sig;
    ipl_t ipl = spin_lock(&s->lock);

    /* The instruction would only fault again: what cannot be handled ends the process. */
    if ((s->blocked & SIGBIT(sig)) || s->actions[sig - 1].handler == SIG_IGN)
        s->actions[sig - 1].handler = SIG_DFL;
    s->blocked &= ~SIGBIT(sig);
    s->info[sig - 1] = (struct signal_info){.signo = sig, .code = code, .addr = addr};
    s->pending |= SIGBIT(sig);
    spin_unlock(&s->lock, ipl);
    __atomic_fetch_or(&current_hw->syscall_exit, EXIT_SIGNAL, __ATOMIC_SEQ_CST);
}

/* Change the mask of the current process; what has become deliverable is seen on the way out. */
static void set_blocked(struct sighand *s, sigset_t mask)
{
    sigset_t ready;
    ipl_t ipl = spin_lock(&s->lock);

    s->blocked = mask & ~UNBLOCKABLE;
    ready = s->pending;
    if (__atomic_load_n(&process_self()->alarm_fired, __ATOMIC_ACQUIRE))
        ready |= SIGBIT(SIGALRM);
    if (ready & ~s->blocked) { /* sent while it was blocked, so it has interrupted nothing */
        __atomic_fetch_or(&current_hw->syscall_exit, EXIT_SIGNAL, __ATOMIC_RELAXED);
        __atomic_store_n(&thread_self()->interrupted, 1, __ATOMIC_RELAXED);
    }
    killed_update_locked(s);
    spin_unlock(&s->lock, ipl);
}

void signal_mask_begin(sigset_t mask)
{
    struct sighand *s = process_self()->sig;

    s->saved = s->blocked;
    s->restore_saved = true;
    set_blocked(s, mask);
}

void signal_mask_end(bool interrupted)
{
    struct sighand *s = process_self()->sig;

    if (interrupted)
        return; /* there is a signal, so the way out is the slow one */
    s->restore_saved = false;
    set_blocked(s, s->saved);
}

/* Take one deliverable signal with its action; 0 when there is none. A one-shot handler is used up
 * here. */
static int dequeue(struct sighand *s, struct signal_info *info, struct signal_action *act)
{
    ipl_t ipl = spin_lock(&s->lock);
    sigset_t ready = s->pending & ~s->blocked;
    int sig = 0;

    if (ready) {
        if (ready & SIGBIT(SIGKILL))
            ready = SIGBIT(SIGKILL);
        else if (ready & SYNCHRONOUS)
            ready &= SYNCHRONOUS;
        sig = __builtin_ctzl(ready) + 1;
        s->pending &= ~SIGBIT(sig);
        *info = s->info[sig - 1];
        *act = s->actions[sig - 1];
        if (!is_fatal_locked(s, sig)) /* else the mark stays for what the thread's end waits for */
            killed_update_locked(s);
        if ((act->flags & SA_RESETHAND) && act->handler > SIG_IGN)
            s->actions[sig - 1].handler = SIG_DFL;
        if ((SIGBIT(sig) & STOPS) && act->handler == SIG_DFL)
            s->stopped = true; /* here, so that a SIGCONT sent from now on takes it back */
    }
    spin_unlock(&s->lock, ipl);
    return sig;
}

/* Stay here until SIGCONT or SIGKILL is sent; the parent learns of both changes. */
static void stop(struct sighand *s, int sig)
{
    struct waiter w;

    process_report_stop((uint32_t)sig << 8 | 0x7F);
    for (;;) {
        wait_enqueue(&s->cont, &w);
        if (!__atomic_load_n(&s->stopped, __ATOMIC_ACQUIRE))
            break;
        wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
    }
    wait_finish(&w);
    if (!signal_kill_pending())
        process_report_stop(0xFFFF);
}

/* The call that was interrupted (if this is one): again, from the instruction on, or EINTR. */
static void finish_call(struct trapframe *f, bool handler, bool restart_with_handler)
{
    if (f->orig_v0 == NO_CALL || !f->a3 || (f->v0 != ERESTARTSYS && f->v0 != ERESTARTNOHAND))
        return;
    if (handler && !(f->v0 == ERESTARTSYS && restart_with_handler)) {
        f->v0 = EINTR;
    } else {
        f->v0 = f->orig_v0;
        f->a3 = f->orig_a3;
        f->pc -= RESTART_INSTRUCTION;
    }
    f->orig_v0 = NO_CALL;
}

/* Run the handler: false when its frame does not fit on the stack. */
static bool handle(struct trapframe *f, struct sighand *s, const struct signal_info *info,
                   const struct signal_action *act)
{
    sigset_t old = s->restore_saved ? s->saved : s->blocked;
    sigset_t during = s->blocked | act->mask;

    if (!(act->flags & SA_NODEFER))
        during |= SIGBIT(info->signo);
    finish_call(f, true, (act->flags & SA_RESTART) != 0);
    if (sigframe_push(f, act, info, old) != 0)
        return false;
    s->restore_saved = false;
    set_blocked(s, during);
    return true;
}

void signal_deliver(struct trapframe *f)
{
    struct sighand *s = process_self()->sig;
    struct signal_info info;
    struct signal_action act;
    int sig;

    __atomic_fetch_and(&current_hw->syscall_exit, ~EXIT_SIGNAL, __ATOMIC_SEQ_CST);
    __atomic_store_n(&thread_self()->interrupted, 0, __ATOMIC_SEQ_CST);
    process_alarm_deliver(process_self());
    while ((sig = dequeue(s, &info, &act)) != 0) {
        if (act.handler > SIG_IGN) {
            if (!handle(f, s, &info, &act))
                process_exit_signal(SIGSEGV);
            continue; /* further ones are pushed on top and run first, as on Linux */
        }
        if (act.handler == SIG_IGN || (SIGBIT(sig) & IGNORED_BY_DEFAULT))
            continue;
        if (SIGBIT(sig) & STOPS)
            stop(s, sig);
        else
            process_exit_signal(sig);
    }
    finish_call(f, false, false);
    if (s->restore_saved) { /* sigsuspend, and nothing had a handler */
        s->restore_saved = false;
        set_blocked(s, s->saved);
    }
}

long sys_rt_sigaction(uint64_t sig, uint64_t act, uint64_t oact, uint64_t size, uint64_t restorer,
                      uint64_t unused)
{
    struct sighand *s = process_self()->sig;
    struct signal_action new = {0}, old;
    struct { /* as in user memory */
        uint64_t handler;
        uint32_t flags, pad;
        uint64_t mask;
    } user = {0};
    ipl_t ipl;

    (void)unused;
    if (size != sizeof(sigset_t) || sig < 1 || sig > NSIG || (act && (SIGBIT(sig) & UNBLOCKABLE)))
        return -EINVAL;
    if (act) {
        if (copyin(&user, act, sizeof(user)) != 0)
            return -EFAULT;
        new.handler = user.handler;
        new.flags = user.flags;
        new.mask = user.mask & ~UNBLOCKABLE;
        new.restorer = restorer;
    }
    old = s->actions[sig - 1];
    user.handler = old.handler;
    user.flags = (uint32_t)old.flags;
    user.pad = 0;
    user.mask = old.mask;
    if (oact && copyout(oact, &user, sizeof(user)) != 0)
        return -EFAULT;
    if (!act)
        return 0;
    ipl = spin_lock(&s->lock);
    s->actions[sig - 1] = new;
    if (ignored(s, (int)sig))
        s->pending &= ~SIGBIT(sig);
    killed_update_locked(s);
    spin_unlock(&s->lock, ipl);
    return 0;
}

long sys_rt_sigprocmask(uint64_t how, uint64_t set, uint64_t oset, uint64_t size, uint64_t u1,
                        uint64_t u2)
{
    struct sighand *s = process_self()->sig;
    sigset_t old = s->blocked, mask = 0;

    (void)u1, (void)u2;
    if (size != sizeof(sigset_t))
        return -EINVAL;
    if (set && copyin_u64(&mask, set) != 0)
        return -EFAULT;
    if (set && (how < SIG_BLOCK || how > SIG_SETMASK))
        return -EINVAL;
    if (oset && copyout_u64(oset, old) != 0)
        return -EFAULT;
    if (set)
        set_blocked(s, how == SIG_BLOCK ? old | mask : how == SIG_UNBLOCK ? old & ~mask : mask);
    return 0;
}

long sys_rt_sigpending(uint64_t set, uint64_t size, uint64_t u2, uint64_t u3, uint64_t u4,
                       uint64_t u5)
{
    struct sighand *s = process_self()->sig;

    (void)u2, (void)u3, (void)u4, (void)u5;
    if (size != sizeof(sigset_t))
        return -EINVAL;
    process_alarm_deliver(process_self());
    return copyout_u64(set, __atomic_load_n(&s->pending, __ATOMIC_RELAXED) & s->blocked);
}

/*
 * Sleep until a signal interrupts. The interruption is forgotten before the caller looks at what is
 * pending: one that comes after that interrupts anew.
 */
static int sleep_interruptible(struct sighand *s, uint64_t deadline)
{
    struct waiter w;
    int err;

    wait_enqueue(&s->cont, &w);
    err = __atomic_load_n(&s->pending, __ATOMIC_SEQ_CST) & (~s->blocked | s->waiting)
              ? -EINTR
              : wait_block(&w, WAIT_INTERRUPTIBLE, deadline);
    wait_finish(&w);
    if (err == -EINTR)
        __atomic_store_n(&thread_self()->interrupted, 0, __ATOMIC_SEQ_CST);
    process_alarm_deliver(process_self()); /* what the timer noted becomes pending */
    return err;
}

long sys_rt_sigsuspend(uint64_t set, uint64_t size, uint64_t u2, uint64_t u3, uint64_t u4,
                       uint64_t u5)
{
    struct sighand *s = process_self()->sig;
    sigset_t mask;

    (void)u2, (void)u3, (void)u4, (void)u5;
    if (size != sizeof(sigset_t))
        return -EINVAL;
    if (copyin_u64(&mask, set) != 0)
        return -EFAULT;
    signal_mask_begin(mask);
    while (!signal_is_pending())
        (void)sleep_interruptible(s, WAIT_FOREVER);
    return -ERESTARTNOHAND;
}

/* Take one pending signal of a set, blocked or not. 0: none. */
static int take_one(struct sighand *s, sigset_t set, struct signal_info *info)
{
    ipl_t ipl = spin_lock(&s->lock);
    sigset_t ready = s->pending & set;
    int sig = ready ? __builtin_ctzl(ready) + 1 : 0;

    if (sig) {
        s->pending &= ~SIGBIT(sig);
        *info = s->info[sig - 1];
        killed_update_locked(s);
    }
    spin_unlock(&s->lock, ipl);
    return sig;
}

/* What sigtimedwait waits for: sent signals of the set are noted and wake, whether blocked or
 * ignored or not. */
static void set_waiting(struct sighand *s, sigset_t set)
{
    ipl_t ipl = spin_lock(&s->lock);

    __atomic_store_n(&s->waiting, set, __ATOMIC_SEQ_CST);
    killed_update_locked(s);
    spin_unlock(&s->lock, ipl);
}

long sys_rt_sigtimedwait(uint64_t uset, uint64_t uinfo, uint64_t timeout, uint64_t size,
                         uint64_t u4, uint64_t u5)
{
    struct sighand *s = process_self()->sig;
    uint64_t t[2], deadline = WAIT_FOREVER;
    struct signal_info info;
    sigset_t set;
    bool over = false;
    int sig;

    (void)u4, (void)u5;
    if (size != sizeof(sigset_t))
        return -EINVAL;
    if (copyin_u64(&set, uset) != 0 || (timeout && copyin(t, timeout, sizeof(t)) != 0) ||
        (uinfo && probe_write(uinfo, 128) != 0))
        return -EFAULT;
    if (timeout && ((int64_t)t[0] < 0 || t[1] >= 1000000000))
        return -EINVAL;
    if (timeout && t[0] < INT64_MAX / 2000000000)
        deadline = clock_ns() + t[0] * 1000000000 + t[1];
    set &= ~UNBLOCKABLE;
    set_waiting(s, set);
    process_alarm_deliver(process_self());
    while (!(sig = take_one(s, set, &info)) && !signal_is_pending() && !over)
        over = sleep_interruptible(s, deadline) == -ETIMEDOUT;
    set_waiting(s, 0);
    if (!sig)
        return over ? -EAGAIN : -EINTR;
    if (uinfo && siginfo_copyout(uinfo, &info) != 0)
        return -EFAULT;
    return sig;
}

long sys_sigaltstack(uint64_t ss, uint64_t oss, uint64_t u2, uint64_t u3, uint64_t u4, uint64_t u5)
{
    struct sighand *s = process_self()->sig;
    vaddr_t sp = user_frame_of(current_hw)->usp;
    struct {
        uint64_t sp;
        uint32_t flags, pad;
        uint64_t size;
    } new = {0}, old = {s->alt_sp, s->alt_flags, 0, s->alt_size};
    bool on = !(s->alt_flags & SS_DISABLE) && sp - s->alt_sp < s->alt_size;

    (void)u2, (void)u3, (void)u4, (void)u5;
    if (on)
        old.flags |= 1; /* SS_ONSTACK */
    if (ss && copyin(&new, ss, sizeof(new)) != 0)
        return -EFAULT;
    if (oss && copyout(oss, &old, sizeof(old)) != 0)
        return -EFAULT;
    if (!ss)
        return 0;
    if (on)
        return -EPERM;
    if (new.flags & ~SS_DISABLE & ~1u)
        return -EINVAL;
    if (!(new.flags &SS_DISABLE) && new.size < MINSIGSTKSZ)
        return -ENOMEM;
    s->alt_sp = new.flags &SS_DISABLE ? 0 : new.sp;
    s->alt_size = new.flags &SS_DISABLE ? 0 : new.size;
    s->alt_flags = new.flags & SS_DISABLE;
    return 0;
}

static long signal_return(vaddr_t frame, bool rt)
{
    struct trapframe *f = user_frame_of(current_hw);
    sigset_t mask;

    if (sigframe_pop(f, frame, rt, &mask) != 0) {
        signal_force(SIGSEGV, SI_KERNEL, frame);
        return 0;
    }
    f->orig_v0 = NO_CALL;
    set_blocked(process_self()->sig, mask);
    return 0;
}

long sys_sigreturn(uint64_t context, uint64_t u1, uint64_t u2, uint64_t u3, uint64_t u4,
                   uint64_t u5)
{
    (void)u1, (void)u2, (void)u3, (void)u4, (void)u5;
    return signal_return(context, false);
}

long sys_rt_sigreturn(uint64_t frame, uint64_t u1, uint64_t u2, uint64_t u3, uint64_t u4,
                      uint64_t u5)
{
    (void)u1, (void)u2, (void)u3, (void)u4, (void)u5;
    return signal_return(frame, true);
}
