/*
 * ptrace, process_vm_readv and process_vm_writev. A peek returns what it reads as the result of the
 * call, as on Linux/Alpha, so the function writes the frame itself. Linux/Alpha knows neither
 * register sets (PTRACE_GETREGSET) nor PTRACE_GET_SYSCALL_INFO: -EIO.
 */
#include "kernel/sys/posix/ptrace.h"

#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/proc/process.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/signal_actions.h"
#include "kernel/proc/threads.h"
#include "mm/pool/pool.h"
#include "mm/space/aspace_read.h"

enum {
    PTRACE_TRACEME,
    PTRACE_PEEKTEXT,
    PTRACE_PEEKDATA,
    PTRACE_PEEKUSR,
    PTRACE_POKETEXT,
    PTRACE_POKEDATA,
    PTRACE_POKEUSR,
    PTRACE_CONT,
    PTRACE_KILL,
    PTRACE_SINGLESTEP,
    PTRACE_ATTACH = 16,
    PTRACE_DETACH,
    PTRACE_SYSCALL = 24,
    PTRACE_SETOPTIONS = 0x4200,
    PTRACE_GETEVENTMSG,
    PTRACE_GETSIGINFO,
    PTRACE_SETSIGINFO,
    PTRACE_SEIZE = 0x4206,
    PTRACE_INTERRUPT,
    PTRACE_LISTEN,
    PTRACE_GETSIGMASK = 0x420A,
    PTRACE_SETSIGMASK
};

/* ---- memory ---- */

/* The address space of the stopped tracee tid. NULL: it is none, or (*err -EIO) has no memory that
 * the caller may see. */
static struct aspace *space_of_tracee(uint32_t tid, int *err)
{
    ipl_t ipl = spin_lock(&process_lock);
    const struct tracee *t = ptrace_stopped_locked(tid);
    const struct process *p = t ? t->thread->process : NULL;
    struct aspace *as = NULL;

    *err = t ? -EIO : -ESRCH;
    if (p && (process_euid(process_self()) == 0 ||
              !__atomic_load_n(&p->personal.undumpable, __ATOMIC_RELAXED)))
        as = ptrace_space_locked(p);
    spin_unlock(&process_lock, ipl);
    return as;
}

/* A word may lie in two pages. */
static int peek(uint32_t tid, vaddr_t at, uint64_t *value)
{
    int err;
    struct aspace *as = space_of_tracee(tid, &err);
    size_t some = MIN(sizeof(*value), PAGE_SIZE - (at & PAGE_MASK));

    if (!as)
        return err;
    err = at >= LAYOUT_USER_TOP - sizeof(*value) ? -EIO : aspace_read(as, at, value, some);
    if (!err && some < sizeof(*value))
        err = aspace_read(as, at + some, (uint8_t *)value + some, sizeof(*value) - some);
    aspace_unref(as);
    return err == -EINTR ? err : err ? -EIO : 0;
}

static int poke(uint32_t tid, vaddr_t at, uint64_t value)
{
    int err;
    struct aspace *as = space_of_tracee(tid, &err);
    size_t some = MIN(sizeof(value), PAGE_SIZE - (at & PAGE_MASK));

    if (!as)
        return err;
    err = at >= LAYOUT_USER_TOP - sizeof(value) ? -EIO : aspace_write(as, at, &value, some, true);
    if (!err && some < sizeof(value))
        err = aspace_write(as, at + some, (uint8_t *)&value + some, sizeof(value) - some, true);
    aspace_unref(as);
    return err == -EINTR ? err : err ? -EIO : 0;
}

/* ---- requests about a thread that has stopped ---- */

static int get_siginfo(uint32_t tid, vaddr_t to)
{
    struct signal_info info = {0};
    ipl_t ipl = spin_lock(&process_lock);
    const struct tracee *t = ptrace_stopped_locked(tid);
    int err = !t ? -ESRCH : t->stop->has_info ? 0 : -EINVAL;

    if (!err)
        info = t->stop->info;
    spin_unlock(&process_lock, ipl);
    return err ? err : siginfo_copyout(to, &info);
}

static int set_siginfo(uint32_t tid, vaddr_t from)
{
    struct signal_info info;
    const struct tracee *t;
    uint32_t signo;
    ipl_t ipl;
    int err;

    if (copyin_u32(&signo, from) || siginfo_copyin(from, (int)signo, &info))
        return -EFAULT;
    if (signo > NSIG)
        return -EINVAL;
    ipl = spin_lock(&process_lock);
    t = ptrace_stopped_locked(tid);
    err = !t ? -ESRCH : t->stop->has_info ? 0 : -EINVAL;
    if (!err)
        t->stop->info = info;
    spin_unlock(&process_lock, ipl);
    return err;
}

static int signal_mask(uint32_t tid, uint64_t size, vaddr_t at, bool set)
{
    struct sighand *s;
    uint64_t mask = 0;
    struct tracee *t;
    ipl_t ipl;

    if (size != sizeof(mask))
        return -EINVAL;
    if (set && copyin_u64(&mask, at))
        return -EFAULT;
    ipl = spin_lock(&process_lock);
    t = ptrace_stopped_locked(tid);
    if (t && set) {
        s = t->thread->process->sig;
        spin_lock(&s->lock);
        t->thread->blocked = mask & ~UNBLOCKABLE;
        __atomic_store_n(&s->seeking, true, __ATOMIC_RELAXED); /* others take what it blocks now */
        spin_unlock(&s->lock, IPL_ASTDEL);
        thread_interrupt(t->thread->thread); /* and it what it blocks no more */
    } else if (t) {
        mask = t->thread->blocked;
    }
    spin_unlock(&process_lock, ipl);
    return !t ? -ESRCH : set ? 0 : copyout_u64(at, mask);
}

/* Requests that need the lock only. *value: the result. */
static int simple(uint64_t request, uint32_t tid, uint64_t addr, uint64_t data, uint64_t *value)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct tracee *t = ptrace_stopped_locked(tid);
    int err = t ? 0 : -ESRCH;

    if (!t) {
    } else if (request == PTRACE_PEEKUSR) {
        *value = ptrace_register_locked(t, addr);
    } else if (request == PTRACE_POKEUSR) {
        ptrace_set_register_locked(t, addr, data);
    } else if (request == PTRACE_GETEVENTMSG) {
        *value = t->message;
    } else if (request != PTRACE_SETOPTIONS) {
        err = -EIO; /* there is no such request */
    } else if (data & ~(uint64_t)PTRACE_O_KNOWN) {
        err = -EINVAL;
    } else {
        __atomic_store_n(&t->options, (uint32_t)data, __ATOMIC_RELAXED);
    }
    spin_unlock(&process_lock, ipl);
    return err;
}

static int get_message(uint32_t tid, vaddr_t to)
{
    uint64_t message = 0;
    int err = simple(PTRACE_GETEVENTMSG, tid, 0, 0, &message);

    return err ? err : copyout_u64(to, message);
}

static int request_of(uint64_t request, uint32_t tid, uint64_t addr, uint64_t data, uint64_t *value)
{
    switch (request) {
    case PTRACE_TRACEME:
        return ptrace_traceme();
    case PTRACE_ATTACH:
        return ptrace_attach(tid, false, 0);
    case PTRACE_SEIZE:
        return addr ? -EIO : ptrace_attach(tid, true, data);
    case PTRACE_PEEKTEXT:
    case PTRACE_PEEKDATA:
        return peek(tid, addr, value);
    case PTRACE_POKETEXT:
    case PTRACE_POKEDATA:
        return poke(tid, addr, data);
    case PTRACE_CONT:
        return ptrace_resume(tid, TRACE_CONT, data);
    case PTRACE_SYSCALL:
        return ptrace_resume(tid, TRACE_CALLS, data);
    case PTRACE_SINGLESTEP:
        return ptrace_resume(tid, TRACE_STEP, data);
    case PTRACE_LISTEN:
        return ptrace_resume(tid, TRACE_LISTEN, 0);
    case PTRACE_KILL:
        return ptrace_kill(tid);
    case PTRACE_INTERRUPT:
        return ptrace_interrupt(tid);
    case PTRACE_DETACH:
        return ptrace_detach(tid, data);
    case PTRACE_GETEVENTMSG:
        return get_message(tid, data);
    case PTRACE_GETSIGINFO:
        return get_siginfo(tid, data);
    case PTRACE_SETSIGINFO:
        return set_siginfo(tid, data);
    case PTRACE_GETSIGMASK:
    case PTRACE_SETSIGMASK:
        return signal_mask(tid, addr, data, request == PTRACE_SETSIGMASK);
    default:
        return simple(request, tid, addr, data, value);
    }
}

long sys_ptrace(uint64_t request, uint64_t tid, uint64_t addr, uint64_t data)
{
    struct trapframe *f = user_frame_of(current_hw);
    uint64_t value = 0;
    int err = request_of(request, (uint32_t)tid, addr, data, &value);

    f->v0 = err ? (uint64_t)-err : value;
    f->a3 = err != 0;
    return 0;
}

/* ---- process_vm_readv, process_vm_writev ---- */

#define IOV_MAX 1024u

struct iovec {
    uint64_t base, nbytes;
};

/* Where a transfer is in its vector, which stays in user memory. */
struct cursor {
    vaddr_t vector;
    uint64_t left;    /* elements that were not read yet */
    struct iovec now; /* what is left of the present one */
};

/* Go on to the next element with bytes. 1; 0: the end; -EFAULT. */
static int next_element(struct cursor *c)
{
    while (!c->now.nbytes) {
        if (!c->left)
            return 0;
        if (thread_killed())
            return -EINTR;
        if (copyin(&c->now, c->vector, sizeof(c->now)))
            return -EFAULT;
        if (c->now.nbytes > INT64_MAX)
            return -EINVAL;
        c->vector += sizeof(c->now);
        c->left--;
    }
    return 1;
}

static long transfer(struct aspace *as, struct cursor *local, struct cursor *remote, bool write)
{
    long done = 0, r = 0;

    while ((r = next_element(local)) > 0 && (r = next_element(remote)) > 0) {
        uint64_t n = MIN(MIN(local->now.nbytes, remote->now.nbytes), PAGE_SIZE);

        r = ptrace_copy(as, remote->now.base, local->now.base, n, write ? PTRACE_COPY_WRITE : 0);
        if (r <= 0)
            break;
        done += r;
        local->now.base += (uint64_t)r;
        local->now.nbytes -= (uint64_t)r;
        remote->now.base += (uint64_t)r;
        remote->now.nbytes -= (uint64_t)r;
    }
    if (done || r >= 0)
        return done;
    return r == -EINVAL || r == -ENOMEM || r == -EINTR ? r : -EFAULT;
}

static long process_vm(uint64_t pid, struct cursor *local, struct cursor *remote, uint64_t flags,
                       bool write)
{
    struct aspace *as = NULL;
    const struct process *p;
    const struct uthread *u;
    long r = -ESRCH;
    ipl_t ipl;

    if (flags || local->left > IOV_MAX || remote->left > IOV_MAX)
        return -EINVAL;
    ipl = spin_lock(&process_lock);
    u = thread_find_locked((uint32_t)pid);
    p = u ? u->process : process_find_locked((uint32_t)pid);
    if (p)
        r = ptrace_access_locked(p);
    if (!r)
        as = ptrace_space_locked(p);
    spin_unlock(&process_lock, ipl);
    if (!as)
        return r ? r : -ESRCH;
    r = transfer(as, local, remote, write);
    aspace_unref(as);
    return r;
}

long sys_process_vm_readv(uint64_t pid, uint64_t local, uint64_t nlocal, uint64_t remote,
                          uint64_t nremote, uint64_t flags)
{
    return process_vm(pid, &(struct cursor){local, nlocal, {0}},
                      &(struct cursor){remote, nremote, {0}}, flags, false);
}

long sys_process_vm_writev(uint64_t pid, uint64_t local, uint64_t nlocal, uint64_t remote,
                           uint64_t nremote, uint64_t flags)
{
    return process_vm(pid, &(struct cursor){local, nlocal, {0}},
                      &(struct cursor){remote, nremote, {0}}, flags, true);
}
