/*
 * The frame that a signal handler runs on, in the layout of Linux/Alpha: programs read it, and the
 * C library's restorer passes its address to sigreturn. With SA_SIGINFO it has siginfo, ucontext
 * and a return trampoline (rt_sigreturn); without it, the sigcontext and a return trampoline
 * (sigreturn).
 */
#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/sigcontext.h"
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

struct rt_head {
    uint64_t flags, link, osf_mask;
    struct {
        uint64_t sp;
        uint32_t flags, pad;
        uint64_t size;
    } stack;
};

struct rt_sigframe {
    struct siginfo info;
    struct {
        struct rt_head head;
        struct sigcontext mcontext;
        uint64_t mask;
    } uc;
    uint32_t trampoline[4];
};

#define RT_CONTEXT offsetof(struct rt_sigframe, uc.mcontext)
#define RT_MASK    offsetof(struct rt_sigframe, uc.mask)

_Static_assert(sizeof(struct siginfo) == 128, "siginfo_t has 128 bytes");
_Static_assert(sizeof(struct rt_sigframe) % 16 == 0, "the stack stays aligned");

static void info_out(struct siginfo *to, const struct signal_info *from)
{
    memset(to, 0, sizeof(*to));
    to->signo = from->signo;
    to->code = from->code;
    if (from->addr && from->code >= 0) {
        to->addr = from->addr;
        to->err = from->status;
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

/* The fields of floating point in a context. */
struct fp_fields {
    uint64_t regs[32], fpcr;
};

#define FP_FIELDS offsetof(struct sigcontext, fpregs)
_Static_assert(offsetof(struct sigcontext, fpcr) == FP_FIELDS + offsetof(struct fp_fields, fpcr),
               "FPCR is behind the registers");

static long put_fp(vaddr_t context)
{
    struct fp_fields to;

    if (fp_used())
        return user_put_fp(context);
    memcpy(to.regs, current_hw->fp.f, sizeof(to.regs));
    to.regs[31] = 0;
    to.fpcr = current_hw->fp.f[FP_FPCR];
    return copyout(context + FP_FIELDS, &to, sizeof(to));
}

/* A thread that does not use floating point begins to only if its registers have changed. */
static long get_fp(vaddr_t context)
{
    struct fp_fields from;
    struct fp_state fp;

    if (fp_used())
        return user_get_fp(context);
    if (copyin(&from, context + FP_FIELDS, sizeof(from)) != 0)
        return -EFAULT;
    memcpy(fp.f, from.regs, sizeof(fp.f));
    fp.f[FP_FPCR] = from.fpcr;
    fp_write(&fp);
    return 0;
}

static int put_context(vaddr_t va, const struct trapframe *f, sigset_t old)
{
    return user_put_context(va, f, old) != 0 || put_fp(va) != 0 ? -EFAULT : 0;
}

/* The code that calls sigreturn, for a handler without a restorer. */
static int put_trampoline(vaddr_t va, const struct signal_action *act, unsigned number)
{
    uint32_t code[4] = {TRAMPOLINE_MOV, TRAMPOLINE_LDA(number), TRAMPOLINE_CALL, 0};

    if (act->restorer)
        return 0;
    if (copyout(va, code, sizeof(code)) != 0)
        return -EFAULT;
    pal_imb();
    return 0;
}

/* Make f enter the handler, with its arguments and its return address. */
static void enter(struct trapframe *f, const struct signal_action *act, vaddr_t va,
                  vaddr_t trampoline, uint64_t a1, uint64_t a2, int sig)
{
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
    vaddr_t va = place(f, u, act->flags, sizeof(struct rt_sigframe));
    vaddr_t trampoline = va + offsetof(struct rt_sigframe, trampoline);
    struct {
        struct siginfo info;
        struct rt_head uc;
    } head;

    info_out(&head.info, info);
    head.uc = (struct rt_head){.osf_mask = old,
                               .stack.sp = u->alt_sp,
                               .stack.flags = u->alt_flags,
                               .stack.size = u->alt_size};
    if (!user_range_ok(va, sizeof(struct rt_sigframe)) || copyout(va, &head, sizeof(head)) != 0 ||
        put_context(va + RT_CONTEXT, f, old) != 0 || copyout_u64(va + RT_MASK, old) != 0 ||
        put_trampoline(trampoline, act, SYS_RT_SIGRETURN) != 0)
        return -EFAULT;
    enter(f, act, va, trampoline, va + offsetof(struct rt_sigframe, info),
          va + offsetof(struct rt_sigframe, uc), info->signo);
    return 0;
}

static int push_plain(struct trapframe *f, const struct signal_action *act,
                      const struct signal_info *info, sigset_t old)
{
    vaddr_t va = place(f, uthread_self(), act->flags, sizeof(struct sigframe));
    vaddr_t trampoline = va + offsetof(struct sigframe, trampoline);

    if (!user_range_ok(va, sizeof(struct sigframe)) || put_context(va, f, old) != 0 ||
        put_trampoline(trampoline, act, SYS_SIGRETURN) != 0)
        return -EFAULT;
    enter(f, act, va, trampoline, 0, va, info->signo);
    return 0;
}

int sigframe_push(struct trapframe *f, const struct signal_action *act,
                  const struct signal_info *info, sigset_t old)
{
    return act->flags & SA_SIGINFO ? push_rt(f, act, info, old) : push_plain(f, act, info, old);
}

int sigframe_pop(struct trapframe *f, vaddr_t va, bool rt, sigset_t *mask)
{
    vaddr_t context = va + (rt ? RT_CONTEXT : 0);
    vaddr_t at = rt ? va + RT_MASK : context + offsetof(struct sigcontext, mask);

    if ((va & 7) || !user_range_ok(va, rt ? sizeof(struct rt_sigframe) : sizeof(struct sigcontext)))
        return -EFAULT;
    return copyin_u64(mask, at) != 0 || user_get_context(f, context) != 0 || get_fp(context) != 0
               ? -EFAULT
               : 0;
}
