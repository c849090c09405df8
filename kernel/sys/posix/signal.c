/* Calls on signals. kernel/proc sends and delivers them. */
#include "kernel/sys/posix/signal.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal_actions.h"
#include "kernel/sched/timer.h"

#define SIG_BLOCK   1
#define SIG_UNBLOCK 2
#define SIG_SETMASK 3
#define MINSIGSTKSZ 4096ul

long sys_rt_sigaction(uint64_t sig, uint64_t act, uint64_t oact, uint64_t size, uint64_t restorer)
{
    struct process *p = process_self();
    struct sighand *s = p->sig;
    struct signal_action new = {0}, old;
    struct { /* layout in user memory */
        uint64_t handler;
        uint32_t flags, pad;
        uint64_t mask;
    } user = {0};
    ipl_t ipl;

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
    if (process_alone(p)) {
        old = *signal_action(s, (int)sig);
    } else {
        ipl = spin_lock(&s->lock);
        old = *signal_action(s, (int)sig);
        spin_unlock(&s->lock, ipl);
    }
    user.handler = old.handler;
    user.flags = (uint32_t)old.flags;
    user.pad = 0;
    user.mask = old.mask;
    if (oact && copyout(oact, &user, sizeof(user)) != 0)
        return -EFAULT;
    if (act)
        signal_action_change((int)sig, &new);
    return 0;
}

/* `how` is one of the three. */
static inline void change_mask(uint64_t how, sigset_t mask)
{
    sigset_t old = uthread_self()->blocked;

    if (how == SIG_BLOCK)
        signal_mask_set(old | mask);
    else if (how == SIG_UNBLOCK)
        signal_mask_set(old & ~mask);
    else
        signal_mask_set(mask);
}

long sys_rt_sigprocmask(uint64_t how, uint64_t set, uint64_t oset, uint64_t size)
{
    sigset_t mask;

    if (size != sizeof(sigset_t))
        return -EINVAL;
    if (set && copyin_u64(&mask, set) != 0)
        return -EFAULT;
    if (set && (how < SIG_BLOCK || how > SIG_SETMASK))
        return -EINVAL;
    if (oset && copyout_u64(oset, uthread_self()->blocked) != 0)
        return -EFAULT;
    if (set)
        change_mask(how, mask);
    return 0;
}

long sys_rt_sigpending(uint64_t set, uint64_t size)
{
    if (size != sizeof(sigset_t))
        return -EINVAL;
    return copyout_u64(set, signal_pending() & uthread_self()->blocked);
}

long sys_rt_sigsuspend(uint64_t set, uint64_t size)
{
    sigset_t mask;

    if (size != sizeof(sigset_t))
        return -EINVAL;
    if (copyin_u64(&mask, set) != 0)
        return -EFAULT;
    signal_suspend(mask);
    return -ERESTARTNOHAND;
}

long sys_rt_sigtimedwait(uint64_t uset, uint64_t uinfo, uint64_t timeout, uint64_t size)
{
    uint64_t t[2], deadline = WAIT_FOREVER;
    struct signal_info info;
    sigset_t set;
    int sig;

    if (size != sizeof(sigset_t))
        return -EINVAL;
    if (copyin_u64(&set, uset) != 0 || (timeout && copyin(t, timeout, sizeof(t)) != 0) ||
        (uinfo && probe_write(uinfo, 128) != 0))
        return -EFAULT;
    if (timeout && ((int64_t)t[0] < 0 || t[1] >= 1000000000))
        return -EINVAL;
    if (timeout && t[0] < INT64_MAX / 2000000000)
        deadline = clock_ns() + t[0] * 1000000000 + t[1];
    sig = signal_wait(set & ~UNBLOCKABLE, deadline, &info);
    if (sig > 0 && uinfo && siginfo_copyout(uinfo, &info) != 0)
        return -EFAULT;
    return sig;
}

long sys_sigaltstack(uint64_t ss, uint64_t oss)
{
    struct uthread *u = uthread_self();
    vaddr_t sp = user_frame_of(current_hw)->usp;
    struct {
        uint64_t sp;
        uint32_t flags, pad;
        uint64_t size;
    } new = {0}, old = {u->alt_sp, u->alt_flags, 0, u->alt_size};
    bool on = !(u->alt_flags & SS_DISABLE) && sp - u->alt_sp < u->alt_size;

    if (on)
        old.flags |= 1; /* SS_ONSTACK */
    if (ss && copyin(&new, ss, sizeof(new)) != 0)
        return -EFAULT;
    if (ss && on)
        return -EPERM;
    if (ss && (new.flags & ~SS_DISABLE) && new.flags != 1) /* one of them, not both */
        return -EINVAL;
    if (ss && !(new.flags &SS_DISABLE) && new.size < MINSIGSTKSZ)
        return -ENOMEM;
    if (oss && copyout(oss, &old, sizeof(old)) != 0)
        return -EFAULT;
    if (!ss)
        return 0;
    u->alt_sp = new.flags &SS_DISABLE ? 0 : new.sp;
    u->alt_size = new.flags &SS_DISABLE ? 0 : new.size;
    u->alt_flags = new.flags & SS_DISABLE;
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
    signal_mask_set(mask);
    return 0;
}

long sys_sigreturn(uint64_t context) { return signal_return(context, false); }

long sys_rt_sigreturn(uint64_t frame) { return signal_return(frame, true); }
