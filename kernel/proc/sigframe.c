/*
 * The frame that a signal handler runs on, in the layout of Linux/Alpha: programs read it, and the
 * C library's restorer passes its address to sigreturn. With SA_SIGINFO it has siginfo, ucontext
 * and a return trampoline (rt_sigreturn); without it, the sigcontext and a return trampoline
 * (sigreturn).
 */
#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/signal.h"

#define SA_ONSTACK       1ul
#define SA_SIGINFO       0x40ul
#define SYS_SIGRETURN    103u
#define SYS_RT_SIGRETURN 351u
/* mov $30, $16; lda $0, number($31); callsys */
#define TRAMPOLINE_MOV         0x47FE0410u
#define TRAMPOLINE_LDA(number) (0x201F0000u | (number))
#define TRAMPOLINE_CALL        0x00000083u
#define FRAME_ALIGN            32ul

struct sigcontext {
    uint64_t onstack, mask, pc, ps;
    uint64_t regs[32];
    uint64_t ownedfp, fpregs[32];
    uint64_t fpcr, fp_control, reserved[2], ssize, sbase;
    uint64_t traparg[3], fp_trap_pc, fp_trigger_sum, fp_trigger_inst;
};

struct siginfo {
    int32_t signo, err, code, pad;
    union {
        struct {
            uint32_t pid, uid;
            union {
                int32_t status;
                uint64_t value;
            };
        } kill;
        uint64_t addr;
        uint8_t all[112];
    };
};

struct rt_sigframe {
    struct siginfo info;
    struct {
        uint64_t flags, link, osf_mask;
        struct {
            uint64_t sp;
            uint32_t flags, pad;
            uint64_t size;
        } stack;
        struct sigcontext mcontext;
        uint64_t mask;
    } uc;
    uint32_t trampoline[4];
};

_Static_assert(sizeof(struct siginfo) == 128, "siginfo_t has 128 bytes");
_Static_assert(sizeof(struct sigcontext) == 81 * 8, "sigcontext as Linux/Alpha has it");
_Static_assert(sizeof(struct rt_sigframe) % 16 == 0, "the stack stays aligned");

/* The integer registers of the trap frame in the order of their numbers; 29 is GP, 30 the user's
 * SP. */
static void registers_out(const struct trapframe *f, uint64_t r[32])
{
    memcpy(r, &f->v0, 16 * sizeof(*r)); /* $0-$15 are the first in the frame */
    r[16] = f->a0;
    r[17] = f->a1;
    r[18] = f->a2;
    memcpy(r + 19, &f->a3, 10 * sizeof(*r)); /* $19-$28 */
    r[29] = f->gp;
    r[30] = f->usp;
    r[31] = 0;
}

static void registers_in(struct trapframe *f, const uint64_t r[32])
{
    memcpy(&f->v0, r, 16 * sizeof(*r));
    f->a0 = r[16];
    f->a1 = r[17];
    f->a2 = r[18];
    memcpy(&f->a3, r + 19, 10 * sizeof(*r));
    f->gp = r[29];
    f->usp = r[30];
}

_Static_assert(offsetof(struct trapframe, s6) - offsetof(struct trapframe, v0) == 15 * 8,
               "$0-$15 lie together");
_Static_assert(offsetof(struct trapframe, at) - offsetof(struct trapframe, a3) == 9 * 8,
               "$19-$28 lie together");

static void info_out(struct siginfo *to, const struct signal_info *from)
{
    memset(to, 0, sizeof(*to));
    to->signo = from->signo;
    to->code = from->code;
    if (from->addr && from->code >= 0) {
        to->addr = from->addr;
        return;
    }
    to->kill.pid = from->pid;
    to->kill.uid = from->uid;
    if (from->code < 0)
        to->kill.value = from->value;
    else
        to->kill.status = from->status;
}

int siginfo_copyin(vaddr_t va, int signo, struct signal_info *info)
{
    struct siginfo user;

    if (copyin(&user, va, sizeof(user)) != 0)
        return -EFAULT;
    *info = (struct signal_info){
        .signo = signo, .code = user.code, .pid = user.kill.pid, .uid = user.kill.uid};
    if (user.code < 0)
        info->value = user.kill.value;
    else
        info->status = user.kill.status;
    return 0;
}

int siginfo_copyout(vaddr_t va, const struct signal_info *info)
{
    struct siginfo user;

    info_out(&user, info);
    return copyout(va, &user, sizeof(user));
}

struct sigframe {
    struct sigcontext context;
    uint32_t trampoline[4];
};

_Static_assert(sizeof(struct sigframe) % 8 == 0, "the context is aligned");

/* The address for a frame of n bytes: on the alternate stack if the handler asks for it and the
 * thread does not run on it already. */
static vaddr_t place(const struct trapframe *f, const struct uthread *u, uint64_t flags, size_t n)
{
    vaddr_t sp = f->usp;
    bool on = sp - u->alt_sp < u->alt_size;

    if ((flags & SA_ONSTACK) && !(u->alt_flags & SS_DISABLE) && !on)
        sp = u->alt_sp + u->alt_size;
    return (sp - n) & ~(FRAME_ALIGN - 1);
}

static void context_of(struct sigcontext *c, const struct trapframe *f, sigset_t old)
{
    memset(c, 0, sizeof(*c));
    c->mask = old;
    c->pc = f->pc;
    c->ps = 8;
    registers_out(f, c->regs);
    fp_sync();
    memcpy(c->fpregs, current_hw->fp.f, 31 * sizeof(c->fpregs[0]));
    c->fpcr = current_hw->fp.f[FP_FPCR];
    c->ownedfp = 1;
    c->traparg[0] = f->a0;
    c->traparg[1] = f->a1;
    c->traparg[2] = f->a2;
}

static void trampoline_of(uint32_t trampoline[4], unsigned number)
{
    trampoline[0] = TRAMPOLINE_MOV;
    trampoline[1] = TRAMPOLINE_LDA(number);
    trampoline[2] = TRAMPOLINE_CALL;
    trampoline[3] = 0;
}

/* Make f enter the handler, with its arguments and its return address. */
static void enter(struct trapframe *f, const struct signal_action *act, vaddr_t va,
                  vaddr_t trampoline, uint64_t a1, uint64_t a2, int sig)
{
    if (!act->restorer)
        pal_imb(); /* the trampoline is code */
    f->usp = va;
    f->ra = act->restorer ? act->restorer : trampoline;
    f->t12 = act->handler; /* the callee computes its GP from it */
    f->pc = act->handler;
    f->a0 = (uint64_t)sig;
    f->a1 = a1;
    f->a2 = a2;
}

static int push_rt(struct trapframe *f, const struct signal_action *act,
                   const struct signal_info *info, sigset_t old)
{
    const struct uthread *u = uthread_self();
    struct rt_sigframe frame;
    vaddr_t va = place(f, u, act->flags, sizeof(frame));

    memset(&frame.uc, 0, sizeof(frame.uc));
    info_out(&frame.info, info);
    frame.uc.osf_mask = frame.uc.mask = old;
    frame.uc.stack.sp = u->alt_sp;
    frame.uc.stack.flags = u->alt_flags;
    frame.uc.stack.size = u->alt_size;
    context_of(&frame.uc.mcontext, f, old);
    trampoline_of(frame.trampoline, SYS_RT_SIGRETURN);
    if (copyout(va, &frame, sizeof(frame)) != 0)
        return -EFAULT;
    enter(f, act, va, va + offsetof(struct rt_sigframe, trampoline),
          va + offsetof(struct rt_sigframe, info), va + offsetof(struct rt_sigframe, uc),
          info->signo);
    return 0;
}

static int push_plain(struct trapframe *f, const struct signal_action *act,
                      const struct signal_info *info, sigset_t old)
{
    struct sigframe frame;
    vaddr_t va = place(f, uthread_self(), act->flags, sizeof(frame));

    context_of(&frame.context, f, old);
    trampoline_of(frame.trampoline, SYS_SIGRETURN);
    if (copyout(va, &frame, sizeof(frame)) != 0)
        return -EFAULT;
    enter(f, act, va, va + offsetof(struct sigframe, trampoline), 0, va, info->signo);
    return 0;
}

int sigframe_push(struct trapframe *f, const struct signal_action *act,
                  const struct signal_info *info, sigset_t old)
{
    return act->flags & SA_SIGINFO ? push_rt(f, act, info, old) : push_plain(f, act, info, old);
}

int sigframe_pop(struct trapframe *f, vaddr_t va, bool rt, sigset_t *mask)
{
    struct sigcontext c;
    struct fp_state fp;

    if ((va & 7) ||
        copyin(&c, va + (rt ? offsetof(struct rt_sigframe, uc.mcontext) : 0), sizeof(c)) != 0)
        return -EFAULT;
    *mask = c.mask;
    if (rt && copyin_u64(mask, va + offsetof(struct rt_sigframe, uc.mask)) != 0)
        return -EFAULT;
    registers_in(f, c.regs);
    f->pc = c.pc & ~3ul;
    memcpy(fp.f, c.fpregs, 31 * sizeof(c.fpregs[0]));
    fp.f[FP_FPCR] = c.fpcr;
    fp_write(&fp);
    return 0;
}
