/*
 * Calls on processes: identities, groups and sessions, fork and exit, waiting, the alarm, and
 * OSF/1's getsysinfo and setsysinfo. A second result goes to a4 ($20) of the frame, as in OSF/1.
 * The process table's lock protects parents, groups and sessions; the caller's own fields are read
 * without it.
 */
#include "kernel/sys/posix/process.h"

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/trapframe.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/inode.h"
#include "kernel/io/open_flags.h"
#include "kernel/lnm/lnm.h"
#include "kernel/proc/fd_remote.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/groups.h"
#include "kernel/proc/ids.h"
#include "kernel/proc/pidfd.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_US     UINT64_C(1000)

static void second_result(uint64_t v) { user_frame_of(current_hw)->a4 = v; }

/* ---- the caller's numbers and identities ---- */

long sys_getxpid(void)
{
    const struct process *p = process_self();

    second_result(__atomic_load_n(&p->ppid, __ATOMIC_RELAXED));
    return p->pid;
}

long sys_getppid(void) { return (long)__atomic_load_n(&process_self()->ppid, __ATOMIC_RELAXED); }

long sys_gettid(void) { return uthread_self()->tid; }

long sys_set_tid_address(uint64_t address)
{
    uthread_self()->clear_tid = address;
    return uthread_self()->tid;
}

long sys_getxuid(void)
{
    second_result(process_euid(process_self()));
    return process_uid(process_self());
}

long sys_getxgid(void)
{
    second_result(process_egid(process_self()));
    return process_gid(process_self());
}

long sys_geteuid(void) { return process_euid(process_self()); }

long sys_getegid(void) { return process_egid(process_self()); }

long sys_setuid(uint64_t uid) { return ids_set(ID_USER, (uint32_t)uid); }
long sys_setgid(uint64_t gid) { return ids_set(ID_GROUP, (uint32_t)gid); }

long sys_setreuid(uint64_t r, uint64_t e) { return ids_set_two(ID_USER, (uint32_t)r, (uint32_t)e); }
long sys_setregid(uint64_t r, uint64_t e)
{
    return ids_set_two(ID_GROUP, (uint32_t)r, (uint32_t)e);
}

long sys_setresuid(uint64_t r, uint64_t e, uint64_t s)
{
    return ids_set_three(ID_USER, (uint32_t[3]){(uint32_t)r, (uint32_t)e, (uint32_t)s});
}

long sys_setresgid(uint64_t r, uint64_t e, uint64_t s)
{
    return ids_set_three(ID_GROUP, (uint32_t[3]){(uint32_t)r, (uint32_t)e, (uint32_t)s});
}

long sys_setfsuid(uint64_t uid) { return ids_set_fs(ID_USER, (uint32_t)uid); }
long sys_setfsgid(uint64_t gid) { return ids_set_fs(ID_GROUP, (uint32_t)gid); }

static long three_ids(vaddr_t r, vaddr_t e, vaddr_t s, uint32_t ids[3])
{
    return copyout_u32(r, ids[0]) || copyout_u32(e, ids[1]) || copyout_u32(s, ids[2]) ? -EFAULT : 0;
}

long sys_getresuid(uint64_t r, uint64_t e, uint64_t s)
{
    struct process *p = process_self();

    return three_ids(r, e, s,
                     (uint32_t[3]){process_uid(p), process_euid(p),
                                   __atomic_load_n(&p->suid, __ATOMIC_RELAXED)});
}

long sys_getresgid(uint64_t r, uint64_t e, uint64_t s)
{
    struct process *p = process_self();

    return three_ids(r, e, s,
                     (uint32_t[3]){process_gid(p), process_egid(p),
                                   __atomic_load_n(&p->sgid, __ATOMIC_RELAXED)});
}

long sys_getgroups(uint64_t n, uint64_t to)
{
    struct io_groups g;

    io_groups_get(&process_self()->groups, &g);
    if ((int32_t)n < 0 || ((int32_t)n > 0 && (uint32_t)n < g.n))
        return -EINVAL;
    return (int32_t)n && copyout(to, g.gid, g.n * sizeof(g.gid[0])) ? -EFAULT : (long)g.n;
}

long sys_setgroups(uint64_t n, uint64_t from)
{
    uint32_t gid[IO_GROUPS_MAX];

    if (process_euid(process_self()) != 0)
        return -EPERM;
    if ((uint32_t)n > IO_GROUPS_MAX)
        return -EINVAL;
    if (copyin(gid, from, (uint32_t)n * sizeof(gid[0])) != 0)
        return -EFAULT;
    return ids_set_groups(gid, (unsigned)n);
}

/* ---- groups and sessions ---- */

long sys_setpgid(uint64_t pid, uint64_t pgid)
{
    struct process *self = process_self(), *p;
    long err = 0;
    ipl_t ipl;

    if ((int32_t)pid < 0 || (int32_t)pgid < 0)
        return -EINVAL;
    ipl = spin_lock(&process_lock);
    p = (int32_t)pid ? process_find_locked((uint32_t)pid) : self;
    if (!p || (p != self && p->parent != self)) {
        err = -ESRCH;
    } else {
        if (!pgid)
            pgid = p->pid;
        if (p->sid == p->pid || p->sid != self->sid ||
            ((uint32_t)pgid != p->pid && group_session((uint32_t)pgid) != p->sid))
            err = -EPERM;
        else
            process_set_group_locked(p, (uint32_t)pgid);
    }
    spin_unlock(&process_lock, ipl);
    return err;
}

static long id_of(uint64_t pid, bool session)
{
    ipl_t ipl = spin_lock(&process_lock);
    const struct process *p = (int32_t)pid ? process_find_locked((uint32_t)pid) : process_self();
    long id = !p ? -ESRCH : (long)(session ? p->sid : p->pgid);

    spin_unlock(&process_lock, ipl);
    return id;
}

long sys_getpgid(uint64_t pid) { return id_of(pid, false); }

long sys_getpgrp(void) { return id_of(0, false); }

long sys_getsid(uint64_t pid) { return id_of(pid, true); }

long sys_setsid(void)
{
    struct process *p = process_self();
    struct lnm_job *job = lnm_job_create(); /* a session is a job, with a table of logical names */
    long r = -EPERM;
    ipl_t ipl;

    if (!job)
        return -ENOMEM;
    ipl = spin_lock(&process_lock);
    if (p->pgid != p->pid) {
        process_set_session_locked(p);
        r = p->pid;
    }
    spin_unlock(&process_lock, ipl);
    if (r > 0)
        lnm_job_enter(p->names, job);
    else
        lnm_job_discard(job);
    return r;
}

/* ---- fork, exit, signals ---- */

long sys_exit(uint64_t status) { process_thread_exit(((uint32_t)status & 0xFF) << 8); }

long sys_exit_group(uint64_t status) { process_exit(((uint32_t)status & 0xFF) << 8); }

long sys_fork(void) { return process_clone(SIGCHLD, 0, 0, 0, 0); }

long sys_vfork(void) { return process_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0); }

long sys_clone(uint64_t flags, uint64_t usp, uint64_t parent_tid, uint64_t child_tid, uint64_t tls)
{
    return process_clone(flags, usp, parent_tid, child_tid, tls);
}

long sys_kill(uint64_t pid, uint64_t sig)
{
    return process_kill((int32_t)pid, (int32_t)sig, SI_USER);
}

long sys_tkill(uint64_t tid, uint64_t sig)
{
    return (int32_t)tid <= 0 ? -EINVAL : process_kill_thread(0, (uint32_t)tid, (int32_t)sig);
}

long sys_tgkill(uint64_t tgid, uint64_t tid, uint64_t sig)
{
    if ((int32_t)tgid <= 0 || (int32_t)tid <= 0)
        return -EINVAL;
    return process_kill_thread((uint32_t)tgid, (uint32_t)tid, (int32_t)sig);
}

/* To another process nobody can pretend that the kernel or kill had sent the signal. */
static long queue_signal(uint32_t pid, uint32_t tid, int sig, vaddr_t uinfo)
{
    struct signal_info info;
    int err = siginfo_copyin(uinfo, sig, &info);

    if (err)
        return err;
    if ((info.code >= 0 || info.code == SI_TKILL) && pid != process_self()->pid)
        return -EPERM;
    return process_queue_signal(pid, tid, &info);
}

long sys_rt_sigqueueinfo(uint64_t pid, uint64_t sig, uint64_t info)
{
    return queue_signal((uint32_t)pid, 0, (int32_t)sig, info);
}

long sys_rt_tgsigqueueinfo(uint64_t tgid, uint64_t tid, uint64_t sig, uint64_t info)
{
    if ((int32_t)tgid <= 0 || (int32_t)tid <= 0)
        return -EINVAL;
    return queue_signal((uint32_t)tgid, (uint32_t)tid, (int32_t)sig, info);
}

long sys_pidfd_open(uint64_t pid, uint64_t flags)
{
    struct file *f;
    int err, fd;

    if ((uint32_t)flags & ~O_NONBLOCK || (int32_t)pid <= 0)
        return -EINVAL;
    err = pidfd_create((uint32_t)pid, (flags & O_NONBLOCK) != 0, &f);
    if (err)
        return err;
    fd = fd_add(process_self()->files, f, 0, true);
    if (fd < 0)
        file_unref(f);
    return fd;
}

long sys_pidfd_getfd(uint64_t fd, uint64_t target, uint64_t flags)
{
    struct file_table *t = process_self()->files;
    uint64_t start_ns;
    struct file *f;
    struct fd_use u;
    uint32_t pid;
    bool cloexec;
    int r;

    if ((uint32_t)flags)
        return -EINVAL;
    u = fd_get(t, fd);
    r = u.file ? pidfd_target(u.file, &pid, &start_ns) : -EBADF;
    fd_put(u);
    if (!r)
        r = fd_remote_get(pid, start_ns, (uint32_t)target, &f, &cloexec);
    if (r)
        return r;
    r = fd_add(t, f, 0, true);
    if (r < 0)
        file_unref(f);
    return r;
}

/* The signal is as kill or, with uinfo, as rt_sigqueueinfo would send it. */
static long pidfd_send(const struct file *f, int sig, vaddr_t uinfo)
{
    const struct process *self = process_self();
    struct signal_info info = {
        .signo = sig, .code = SI_USER, .pid = self->pid, .uid = process_uid(self)};
    int32_t pid = pidfd_process(f), given;

    if (pid < 0)
        return pid;
    if (uinfo) {
        if (copyin_u32((uint32_t *)&given, uinfo) || siginfo_copyin(uinfo, sig, &info))
            return -EFAULT;
        if (given != sig)
            return -EINVAL;
        if ((info.code >= 0 || info.code == SI_TKILL) && (uint32_t)pid != self->pid)
            return -EPERM;
    }
    return pidfd_signal(f, &info);
}

long sys_pidfd_send_signal(uint64_t fd, uint64_t sig, uint64_t info, uint64_t flags)
{
    struct fd_use u;
    long r;

    if ((uint32_t)flags)
        return -EINVAL;
    u = fd_get(process_self()->files, (uint32_t)fd);
    if (!u.file)
        return -EBADF;
    r = pidfd_send(u.file, (int32_t)sig, info);
    fd_put(u);
    return r;
}

/* ---- waiting and accounting ---- */

struct rusage { /* the layout of Linux/Alpha */
    uint64_t user_s, user_us, system_s, system_us, other[14];
};

static void rusage_of(struct rusage *r, struct cpu_time used)
{
    memset(r, 0, sizeof(*r));
    r->user_s = used.user_ns / NS_PER_SECOND;
    r->user_us = used.user_ns % NS_PER_SECOND / NS_PER_US;
    r->system_s = used.system_ns / NS_PER_SECOND;
    r->system_us = used.system_ns % NS_PER_SECOND / NS_PER_US;
}

long sys_wait4(uint64_t pid, uint64_t status, uint64_t options, uint64_t rusage)
{
    struct wait_result r;
    struct rusage u;
    int found;

    if (options & ~(uint64_t)(WNOHANG | WUNTRACED | WCONTINUED | 0xE0000000u))
        return -EINVAL;
    if ((int32_t)pid == INT32_MIN)
        return -ESRCH; /* its negative is no number of a group */
    if ((status && probe_write(status, 4)) || (rusage && probe_write(rusage, sizeof(u))))
        return -EFAULT; /* before a child is reaped */
    found = process_wait((int32_t)pid,
                         (unsigned)(options & (WNOHANG | WUNTRACED | WCONTINUED)) | WEXITED, &r);
    if (found <= 0)
        return found;
    if (status && copyout_u32(status, r.status) != 0)
        return -EFAULT;
    if (rusage) {
        rusage_of(&u, r.used);
        if (copyout(rusage, &u, sizeof(u)) != 0)
            return -EFAULT;
    }
    return r.pid;
}

long sys_osf_wait4(uint64_t pid, uint64_t status, uint64_t options, uint64_t rusage)
{
    return rusage ? -EINVAL : sys_wait4(pid, status, options, 0); /* its rusage has 32-bit times */
}

static void siginfo_of(int32_t info[32], const struct wait_result *r)
{
    uint32_t s = r->status;

    memset(info, 0, 128);
    info[0] = SIGCHLD;
    if (r->trapped)
        info[2] = CLD_TRAPPED, info[6] = (int32_t)(s >> 8);
    else if (s == 0xFFFF)
        info[2] = CLD_CONTINUED, info[6] = SIGCONT;
    else if ((s & 0xFF) == 0x7F)
        info[2] = CLD_STOPPED, info[6] = (int32_t)(s >> 8);
    else if (s & 0x7F)
        info[2] = CLD_KILLED, info[6] = (int32_t)(s & 0x7F);
    else
        info[2] = CLD_EXITED, info[6] = (int32_t)(s >> 8 & 0xFF);
    info[4] = (int32_t)r->pid;
    info[5] = (int32_t)r->uid;
}

/* waitid with P_PIDFD: the process of a descriptor. *nonblock: that does not wait. The pid, or a
 * negative errno. */
static int32_t wait_pidfd(uint64_t fd, bool *nonblock)
{
    struct fd_use u = fd_get(process_self()->files, (uint32_t)fd);
    int32_t pid;

    if (!u.file)
        return -EBADF;
    pid = pidfd_process(u.file);
    *nonblock = (u.file->flags & O_NONBLOCK) != 0;
    fd_put(u);
    return pid ? pid : -ECHILD;
}

long sys_waitid(uint64_t type, uint64_t id, uint64_t to, uint64_t options, uint64_t rusage)
{
    bool nonblock = false;
    struct wait_result r;
    int32_t info[32] = {0}, pid;
    struct rusage u;
    int found;

    if (options & ~(uint64_t)(WNOHANG | WUNTRACED | WEXITED | WCONTINUED | WNOWAIT | 0xE0000000u) ||
        !(options & (WUNTRACED | WEXITED | WCONTINUED)))
        return -EINVAL;
    switch (type) {
    case 0: /* P_ALL */
        pid = -1;
        break;
    case 1: /* P_PID */
        pid = (int32_t)id;
        break;
    case 2: /* P_PGID */
        pid = (int32_t)id ? -(int32_t)id : 0;
        break;
    case 3: /* P_PIDFD */
        pid = (int32_t)id < 0 ? -EINVAL : wait_pidfd(id, &nonblock);
        if (pid < 0)
            return pid;
        break;
    default:
        return -EINVAL;
    }
    if (type && (int32_t)id < (type == 1 ? 1 : 0))
        return -EINVAL;
    if ((to && probe_write(to, sizeof(info))) || (rusage && probe_write(rusage, sizeof(u))))
        return -EFAULT;
    found = process_wait(pid, ((unsigned)options & 0x1FFFFFFu) | (nonblock ? WNOHANG : 0), &r);
    if (found < 0)
        return found;
    if (!found && nonblock && !(options & WNOHANG))
        return -EAGAIN;
    if (found)
        siginfo_of(info, &r);
    rusage_of(&u, found ? r.used : (struct cpu_time){0});
    if ((to && copyout(to, info, sizeof(info))) ||
        (rusage && found && copyout(rusage, &u, sizeof(u))))
        return -EFAULT;
    return 0;
}

long sys_getrusage(uint64_t who, uint64_t to)
{
    const struct process *p = process_self();
    struct rusage u;

    if ((int32_t)who != 0 && (int32_t)who != -1 && (int32_t)who != 1)
        return -EINVAL;
    if ((int32_t)who == -1)
        rusage_of(&u, process_children_time(p));
    else
        rusage_of(&u, (int32_t)who == 1 ? thread_cpu_time(thread_self()) : process_cpu_time(p));
    return copyout(to, &u, sizeof(u));
}

long sys_times(uint64_t to)
{
    const uint64_t tick = NS_PER_SECOND / 1024;
    const struct process *p = process_self();
    struct cpu_time own = process_cpu_time(p), children = process_children_time(p);
    uint64_t t[4] = {own.user_ns / tick, own.system_ns / tick, children.user_ns / tick,
                     children.system_ns / tick};

    if (to && copyout(to, t, sizeof(t)) != 0)
        return -EFAULT;
    return (long)(clock_ns() / tick);
}

/* ---- the alarm ---- */

struct itimer {
    int64_t interval_s, interval_us, value_s, value_us;
};

static bool timeval_ns(int64_t s, int64_t us, uint64_t *ns)
{
    if (s < 0 || s > INT64_MAX / (int64_t)NS_PER_SECOND / 2 || us < 0 || us >= 1000000)
        return false;
    *ns = (uint64_t)s * NS_PER_SECOND + (uint64_t)us * NS_PER_US;
    return true;
}

static struct itimer itimer_of(uint64_t left, uint64_t interval)
{
    return (struct itimer){
        (int64_t)(interval / NS_PER_SECOND), (int64_t)(interval % NS_PER_SECOND / NS_PER_US),
        (int64_t)(left / NS_PER_SECOND), (int64_t)(left % NS_PER_SECOND / NS_PER_US)};
}

#define ITIMER_REAL    0
#define ITIMER_VIRTUAL 1
#define ITIMER_PROF    2

static enum cpu_timer cpu_timer_of(uint64_t which)
{
    return which == ITIMER_VIRTUAL ? CPU_TIMER_VIRTUAL : CPU_TIMER_PROF;
}

long sys_getitimer(uint64_t which, uint64_t to)
{
    uint64_t left, interval;
    struct itimer t;

    if (which > ITIMER_PROF)
        return -EINVAL;
    if (which == ITIMER_REAL)
        process_alarm_get(&left, &interval);
    else
        cpu_timer_get(cpu_timer_of(which), &left, &interval);
    t = itimer_of(left, interval);
    return copyout(to, &t, sizeof(t));
}

long sys_setitimer(uint64_t which, uint64_t from, uint64_t to)
{
    uint64_t value, interval, left, old_interval;
    struct itimer t = {0};
    int err = 0;

    if (which > ITIMER_PROF)
        return -EINVAL;
    if ((from && copyin(&t, from, sizeof(t))) || (to && probe_write(to, sizeof(t))))
        return -EFAULT;
    if (!timeval_ns(t.value_s, t.value_us, &value) ||
        !timeval_ns(t.interval_s, t.interval_us, &interval))
        return -EINVAL;
    if (which != ITIMER_REAL)
        cpu_timer_set(cpu_timer_of(which), value, interval, &left, &old_interval);
    else
        err = process_alarm_set(value, interval, &left, &old_interval);
    if (err)
        return err;
    t = itimer_of(left, old_interval);
    return to ? copyout(to, &t, sizeof(t)) : 0;
}

/* ---- OSF/1's getsysinfo and setsysinfo, as the C library uses them ---- */

#define GSI_UACPROC              8
#define GSI_IEEE_FP_CONTROL      45
#define GSI_PROC_TYPE            60
#define SSI_NVPAIRS              1
#define SSI_IEEE_FP_CONTROL      14
#define SSI_IEEE_RAISE_EXCEPTION 1001
#define PROC_TYPE_EV67           11
#define IEEE_CONTROL_MASK        0x7E007EUL /* trap enables 1-5, denormal bits, status bits 17-22 */
#define IEEE_STATUS_MASK         0x7E0000UL
#define IEEE_TO_FPCR             35 /* status bits 17-22 are FPCR 52-57 */

long sys_osf_getsysinfo(uint64_t op, uint64_t buf, uint64_t n)
{
    uint64_t control;

    switch (op) {
    case GSI_IEEE_FP_CONTROL:
        fp_sync();
        control = uthread_self()->ieee_control |
                  (current_hw->fp.f[FP_FPCR] >> IEEE_TO_FPCR & IEEE_STATUS_MASK);
        return copyout_u64(buf, control);
    case GSI_UACPROC:
        if (n < 4)
            return -EINVAL;
        return copyout_u32(buf, 0) ? -EFAULT : 1; /* they are fixed up and counted, not printed */
    case GSI_PROC_TYPE:
        if (n < 8)
            return -EINVAL;
        return copyout_u64(buf, PROC_TYPE_EV67) ? -EFAULT : 1;
    default:
        return -EOPNOTSUPP;
    }
}

/* Clear and set exceptions, given as status bits, in FPCR. */
static void set_exceptions(uint64_t clear, uint64_t set)
{
    struct fp_state fp;

    fp_sync();
    fp = current_hw->fp;
    fp.f[FP_FPCR] = (fp.f[FP_FPCR] & ~(clear << IEEE_TO_FPCR)) | set << IEEE_TO_FPCR;
    fp_write(&fp);
}

long sys_osf_setsysinfo(uint64_t op, uint64_t buf)
{
    uint64_t v;

    switch (op) {
    case SSI_IEEE_FP_CONTROL:
        if (copyin_u64(&v, buf) != 0)
            return -EFAULT;
        uthread_self()->ieee_control = v & IEEE_CONTROL_MASK & ~IEEE_STATUS_MASK;
        set_exceptions(IEEE_STATUS_MASK, v & IEEE_STATUS_MASK);
        return 0;
    case SSI_IEEE_RAISE_EXCEPTION:
        if (copyin_u64(&v, buf) != 0)
            return -EFAULT;
        set_exceptions(0, v & IEEE_STATUS_MASK);
        return 0;
    case SSI_NVPAIRS:
        return 0; /* control of unaligned accesses: they are always fixed up */
    default:
        return -EOPNOTSUPP;
    }
}
