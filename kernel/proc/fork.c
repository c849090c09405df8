/*
 * fork, vfork, and clone as the C library uses them.
 *
 * Everything that can fail is done on a structure that is not in the process table yet, before it
 * has a thread. Once the thread exists nothing fails: the child enters the table and its thread is
 * started.
 */
#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/switch.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/lnm/lnm.h"
#include "kernel/proc/creds.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/ids.h"
#include "kernel/proc/pidfd.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/program_path.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"
#include "kernel/sched/group.h"
#include "mm/pool/pool.h"

/* The supported flags. Some change nothing here: there is nothing to trace, no I/O context, and no
 * undo list of System V semaphores; one has no meaning since long. */
#define CLONE_KNOWN                                                                        \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_VFORK | CLONE_PARENT |      \
     CLONE_THREAD | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID |            \
     CLONE_CHILD_SETTID | CLONE_SYSVSEM | CLONE_PTRACE | CLONE_DETACHED | CLONE_UNTRACED | \
     CLONE_IO | CLONE_PIDFD | 0xFFu)

/* The entry of a child's thread: do what needs the child's address space, and enter user mode. */
static void child_start(void *arg)
{
    struct process *p = process_self();

    if (arg) /* CLONE_CHILD_SETTID; as on Linux, a bad address is ignored */
        (void)copyout_u32((vaddr_t)arg, p->pid);
    user_enter();
}

void process_copy_identity(struct process *to, struct process *from)
{
    bool alone = process_alone(from);
    ipl_t ipl = 0;

    if (unlikely(!alone))
        ipl = spin_lock(&process_lock);
    to->uid = from->uid;
    to->gid = from->gid;
    to->euid = from->euid;
    to->egid = from->egid;
    to->suid = from->suid;
    to->sgid = from->sgid;
    ids_fork(to, from);
    to->uic_group = from->uic_group;
    to->uic_member = from->uic_member;
    to->privileges = from->privileges;
    to->permanent = from->permanent;
    to->authorised = from->authorised;
    to->rights = from->rights;
    memcpy(to->limits, from->limits, sizeof(to->limits));
    cpu_timers_limit_set(to);
    to->personal = from->personal;
    to->personal.death_signal = 0;
    to->ast_return = __atomic_load_n(&from->ast_return, __ATOMIC_RELAXED);
    to->ast_hold = __atomic_load_n(&from->ast_hold, __ATOMIC_RELAXED);
    to->exit_routine = from->exit_routine;
    to->kin.limits = from->kin.limits;
    to->kin.limits.subprocesses = kin_subprocess_limit(from);
    to->kin.base = __atomic_load_n(&from->kin.base, __ATOMIC_RELAXED);
    memcpy(to->name, from->name, sizeof(to->name));
    to->program = program_path_ref(from->program);
    to->arg_start = from->arg_start;
    to->arg_end = from->arg_end;
    to->env_end = from->env_end;
    if (unlikely(!alone)) {
        spin_unlock(&process_lock, ipl);
        mutex_lock(&from->settings_mutex);
    }
    to->brk_start = from->brk_start;
    to->brk = from->brk;
    if (unlikely(!alone))
        mutex_unlock(&from->settings_mutex);
}

void process_abandon(struct process *c)
{
    if (c->aspace)
        aspace_unref(c->aspace);
    if (c->files)
        fdtable_release(c->files);
    if (c->fs)
        process_fs_end(c, c->fs);
    if (c->sig)
        sighand_free(c->sig);
    if (c->names)
        lnm_space_free(c->names);
    kin_abandon(c);
    process_free(c);
}

static struct file_table *files_for(struct process *self, uint64_t flags)
{
    if (!(flags & CLONE_FILES))
        return fdtable_fork(self->files);
    fdtable_share(self->files);
    return self->files;
}

/* If p still uses its embedded own_fs, its only user is the calling thread. It moves to nonpaged
 * pool, where it stays until its last user has gone. Readers of /proc hold process_lock: none is
 * between p->fs and what it points to. */
bool process_fs_sharable(struct process *p)
{
    struct fs_context *shared;
    ipl_t ipl;

    if (p->fs != &p->own_fs)
        return true;
    shared = npp_alloc(sizeof(*shared));
    if (!shared)
        return false;
    fs_init(shared, fs_umask(&p->own_fs));
    ipl = spin_lock(&process_lock);
    shared->cwd = p->own_fs.cwd;
    shared->root = p->own_fs.root;
    p->fs = shared;
    spin_unlock(&process_lock, ipl);
    return true;
}

/* Give c a file-system context. False: memory is short. */
static bool fs_for(struct process *c, struct process *self, uint64_t flags)
{
    c->fs = &c->own_fs;
    if (!(flags & CLONE_FS)) {
        fs_fork(c->fs, self->fs);
        return true;
    }
    if (!process_fs_sharable(self)) {
        c->fs = NULL;
        return false;
    }
    fs_share(self->fs);
    c->fs = self->fs;
    return true;
}

void process_fs_end(struct process *p, struct fs_context *fs)
{
    if (fs_release(fs) && fs != &p->own_fs)
        npp_free(fs, sizeof(*fs));
}

/* A copy of the caller's address space. The child writes to its stack at usp, or where the caller's
 * is if that is 0, and its number to child_tid if it has been asked for that. */
static struct aspace *aspace_for(struct process *self, uint64_t flags, vaddr_t usp,
                                 vaddr_t child_tid)
{
    vaddr_t soon[] = {usp ? usp : user_frame_of(current_hw)->usp, child_tid};
    unsigned n = flags & CLONE_CHILD_SETTID ? 2 : 1;

    return aspace_fork_writing(self->aspace, soon, n);
}

/* A child with everything except a thread. NULL with *err: memory is short, or too many
 * processes. */
static struct process *child_build(struct process *self, uint64_t flags, vaddr_t usp,
                                   vaddr_t child_tid, int *err)
{
    struct process *c = process_alloc(err);

    if (!c)
        return NULL;
    process_copy_identity(c, self);
    c->files = files_for(self, flags);
    c->sig = sighand_fork((flags & CLONE_VM) != 0);
    c->names = lnm_space_fork(self->names);
    if (c->files && c->sig && c->names && fs_for(c, self, flags)) {
        if (flags & CLONE_VM) {
            aspace_ref(self->aspace);
            c->aspace = self->aspace;
            c->borrows_space = true;
        } else {
            c->aspace = aspace_for(self, flags, usp, child_tid);
        }
    }
    if (!c->aspace) {
        *err = -ENOMEM;
        process_abandon(c);
        return NULL;
    }
    return c;
}

void fork_registers(struct thread *t, vaddr_t usp, uint64_t flags, uint64_t tls)
{
    struct trapframe *from = user_frame_of(current_hw), *to = user_frame_of(&t->hw);

    *to = *from;
    to->v0 = 0;
    to->a3 = 0;
    to->a4 = 1; /* OSF/1's fork convention: 1 in the child */
    to->orig_v0 = ~UINT64_C(0);
    if (usp)
        to->usp = usp;
    t->hw.pcb.usp = to->usp;
    t->hw.pcb.unique = flags & CLONE_SETTLS ? tls : pal_rdunique();
    fp_inherit(&t->hw);
}

/* Wait until the child has stopped using the caller's address space. A signal that ends the process
 * ends the wait. */
static void vfork_wait(struct uthread *self, struct process *child)
{
    struct waiter w;
    ipl_t ipl;

    for (;;) {
        wait_enqueue(&self->vfork_queue, &w);
        if (__atomic_load_n(&self->vfork_done, __ATOMIC_ACQUIRE))
            break;
        if (wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER)) {
            /* Clear the mark first and test afterwards, so that a SIGKILL sent in between
             * interrupts the next wait. Any other signal is delivered on the return to user mode,
             * and the wait continues. */
            __atomic_store_n(&thread_self()->interrupted, 0, __ATOMIC_SEQ_CST);
            threads_seek_if_asked(process_self());
            if (thread_killed())
                break;
            wait_finish(&w); /* the waiter is still on the queue */
        }
    }
    wait_finish(&w);
    /* If it is done, the child may still be about to wake this thread, with the table lock held,
     * which this thread takes before it goes. */
    if (likely(__atomic_load_n(&self->vfork_done, __ATOMIC_ACQUIRE)))
        return;
    ipl = spin_lock(&process_lock);
    /* If it is not done, the child has not ended, so its structure still exists. */
    if (!self->vfork_done)
        child->vfork_parent = NULL;
    spin_unlock(&process_lock, ipl);
}

void process_vfork_release(struct process *p)
{
    ipl_t ipl;

    if (!__atomic_load_n(&p->vfork_parent, __ATOMIC_RELAXED))
        return;
    ipl = spin_lock(&process_lock);
    if (p->vfork_parent) {
        __atomic_store_n(&p->vfork_parent->vfork_done, true, __ATOMIC_RELEASE);
        wake_all(&p->vfork_parent->vfork_queue);
        p->vfork_parent = NULL;
    }
    spin_unlock(&process_lock, ipl);
}

void process_join_user_group(const struct process *c, struct thread *t)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct sched_group *g = creds_group_locked(c->account);

    spin_unlock(&process_lock, ipl);
    thread_set_group(t, g);
}

/* Do the flags of a clone fit together? */
static bool flags_fit(const struct process *self, uint64_t flags)
{
    if (flags & ~(uint64_t)CLONE_KNOWN)
        return false;
    if ((flags & CLONE_THREAD) && (!(flags & CLONE_SIGHAND) || (flags & CLONE_VFORK)))
        return false;
    if ((flags & CLONE_SIGHAND) && (!(flags & CLONE_VM) || !(flags & CLONE_THREAD)))
        return false; /* actions are shared by threads only */
    if ((flags & CLONE_PIDFD) && (flags & (CLONE_THREAD | CLONE_PARENT_SETTID | CLONE_DETACHED)))
        return false;
    return !(flags & CLONE_PARENT) || self->pid != 1;
}

/* CLONE_PIDFD: a file and a number for the descriptor, which the child, already built, does not
 * get. 0 or a negative errno. */
static int reserve_pidfd(struct process *self, struct file **out)
{
    struct file *f = pidfd_alloc(false);
    int fd;

    if (!f)
        return file_why_not();
    fd = fd_find(self->files, 0);
    if (fd < 0)
        file_free(f);
    else
        *out = f;
    return fd;
}

/* A child and its thread, and if asked for, a reserved descriptor for it. */
static struct process *child_with_thread(struct process *self, uint64_t flags, vaddr_t usp,
                                         vaddr_t child_tid, struct thread **t, struct file **f,
                                         int *fd)
{
    int err;
    struct process *c = child_build(self, flags, usp, child_tid, &err);

    if (!c) {
        *fd = err;
        return NULL;
    }
    if (flags & CLONE_PIDFD) {
        *fd = reserve_pidfd(self, f);
        if (*fd < 0) {
            process_abandon(c);
            return NULL;
        }
    }
    *t = thread_create(self->name, child_start,
                       flags & CLONE_CHILD_SETTID ? (void *)child_tid : NULL, PRIO_NORMAL);
    if (*t)
        return c;
    if (flags & CLONE_PIDFD) {
        fd_cancel(self->files, (unsigned)*fd);
        file_free(*f);
    }
    process_abandon(c);
    *fd = -ENOMEM;
    return NULL;
}

long process_clone(uint64_t flags, vaddr_t usp, vaddr_t parent_tid, vaddr_t child_tid, uint64_t tls)
{
    struct process *self = process_self(), *c;
    struct tracee *trace = NULL;
    unsigned event = 0;
    struct file *f = NULL;
    struct thread *t;
    uint32_t pid;
    int fd = -1;

    if (!flags_fit(self, flags))
        return -EINVAL;
    if ((flags & (CLONE_PARENT_SETTID | CLONE_PIDFD)) && probe_write(parent_tid, 4))
        return -EFAULT;
    if (flags & CLONE_THREAD)
        return process_thread_create(flags, usp, parent_tid, child_tid, tls);
    if (unlikely(ptrace_self() != NULL) && !ptrace_fork_begin(flags, &trace, &event))
        return -ENOMEM;
    c = child_with_thread(self, flags, usp, child_tid, &t, &f, &fd);
    if (!c) {
        ptrace_fork_cancel(trace);
        return fd;
    }
    fork_registers(t, usp, flags, tls);
    t->affinity = thread_self()->affinity;
    thread_set_root(t, c->aspace->pt.root.n, &c->aspace->pt.loaded);
    process_add_first(c, t);
    if (unlikely(self->group != NULL))
        process_join_user_group(c, t);
    if (flags & CLONE_CHILD_CLEARTID)
        c->sig->first.clear_tid = child_tid;
    if (flags & CLONE_VFORK) {
        uthread_self()->vfork_done = false;
        c->vfork_parent = uthread_self();
    }
    process_enter(c, self, (flags & CLONE_PARENT) != 0);
    pid = c->pid;
    if (flags & CLONE_PARENT_SETTID)
        (void)copyout_u32(parent_tid, pid); /* probed above */
    if (f) {
        pidfd_set(f, c);
        fd_fill(self->files, f, (unsigned)fd, true);
        (void)copyout_u32(parent_tid, (uint32_t)fd);
    }
    if (unlikely(trace != NULL))
        ptrace_fork_end(trace, &c->sig->first);
    thread_start(t);
    if (unlikely(event))
        ptrace_event(event, pid);
    if (flags & CLONE_VFORK) {
        vfork_wait(uthread_self(), c);
        if (unlikely(ptrace_self() != NULL))
            ptrace_event(PTRACE_EVENT_VFORK_DONE, pid);
    }
    return pid;
}
