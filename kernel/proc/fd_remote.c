/*
 * Descriptors of other processes (fd_remote.h).
 *
 * A table with several users is looked at under its lock, as they do. The only user of a table
 * takes no lock (fdtable.h). It could close a file between two instructions of who looks:
 *
 *     another process                      the only user
 *     reads the slot: f
 *                                          clears the slot; drops the last reference: f is freed
 *     adds a reference to f
 *
 * So it does not run while its table is looked at. If it runs on no CPU, the lock of its run queue
 * keeps it there, and the table's lock keeps others from becoming users. Otherwise the look is made
 * by an interrupt on its CPU, without a lock: what that finds as the current thread is stopped by
 * it. If the thread has left that CPU meanwhile, all is begun anew.
 *
 * Wherever the thread stands still: a slot that has a file holds a reference to it, as one that is
 * closed is cleared before the reference is dropped; and what a table points to is complete before
 * (fdtable.c) and is freed after. A process takes its table out of `files` before it gives it back,
 * under the table lock of processes, so a look under that finds a table that stays.
 *
 * A look is bounded: one slot, or the steps of fdtable_look().
 */
#include "kernel/proc/fd_remote.h"

#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/proc/ptrace.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/thread.h"

struct look {
    uint32_t pid;
    uint64_t start_ns;
    const struct process *caller;
    const struct file_table *table;
    bool next;         /* look for the next number with a file */
    uint64_t fd;       /* result, too, if `next` */
    struct file *file; /* the results */
    bool cloexec, found;
    int result;
    bool done;
};

static void look(struct look *l, const struct file_table *t)
{
    l->done = true;
    if (l->next)
        l->found = fdtable_look(t, &l->fd);
    else
        l->file = fdtable_peek(t, l->fd, &l->cloexec);
}

static void off_cpu(void *arg)
{
    struct look *l = arg;

    look(l, l->table);
}

/* On the CPU of the thread, IPL_IPI. */
static void on_cpu(void *arg)
{
    struct look *l = arg;
    const struct process *p = process_self();
    const struct file_table *t = p ? __atomic_load_n(&p->files, __ATOMIC_RELAXED) : NULL;

    /* Acquire: `owner` is not that of a time when there were others (lock_shared in fdtable.c). */
    if (!t || p->pid != l->pid || p->start_ns != l->start_ns ||
        __atomic_load_n(&t->others, __ATOMIC_ACQUIRE) != 0 ||
        __atomic_load_n(&t->owner, __ATOMIC_RELAXED) != thread_self())
        return;
    l->result = ptrace_access_of(l->caller, p);
    if (l->result)
        l->done = true;
    else
        look(l, t);
}

/* Look under locks. -1: it is done, or there is nothing to be done (l->result); otherwise the CPU
 * where the only user of the table runs. */
static int look_locked(struct look *l)
{
    struct process *p = process_find_locked(l->pid);
    struct file_table *t = p && p->start_ns == l->start_ns ? p->files : NULL;
    int cpu = -1;

    l->result = t ? ptrace_access_of(l->caller, p) : -ESRCH;
    if (l->result)
        return -1;
    spin_lock_at_ipl(&t->lock);
    l->table = t;
    if (fdtable_shared(t))
        look(l, t);
    else
        cpu = thread_while_off_cpu(t->owner, off_cpu, l);
    spin_unlock_at_ipl(&t->lock);
    return cpu;
}

/* One look, of which l->result says how it went. */
static int look_once(struct look *l)
{
    l->caller = process_self();
    for (l->done = false; !l->done;) {
        ipl_t ipl = spin_lock(&process_lock);
        int cpu = look_locked(l);

        spin_unlock(&process_lock, ipl);
        if (cpu < 0)
            break;
        ipi_call(1ul << cpu, on_cpu, l);
        if (!l->done && thread_killed())
            return -EINTR;
    }
    return l->result;
}

int fd_remote_get(uint32_t pid, uint64_t start_ns, uint64_t fd, struct file **out, bool *cloexec)
{
    struct look l = {.pid = pid, .start_ns = start_ns, .fd = fd};
    int err = look_once(&l);

    if (err)
        return err;
    *out = l.file;
    *cloexec = l.cloexec;
    return l.file ? 0 : -EBADF;
}

int fd_remote_has(uint32_t pid, uint64_t start_ns, uint64_t fd)
{
    struct look l = {.pid = pid, .start_ns = start_ns, .next = true, .fd = fd};
    int err = look_once(&l);

    return err ? err : l.found && l.fd == fd ? 0 : -EBADF;
}

int fd_remote_next(uint32_t pid, uint64_t start_ns, uint64_t *fd)
{
    struct look l = {.pid = pid, .start_ns = start_ns, .next = true, .fd = *fd};
    int err = 0;

    while (!err && !l.found && l.fd < FD_MAX)
        err = thread_killed() ? -EINTR : look_once(&l);
    *fd = l.fd;
    return err ? err : l.found ? 0 : -EBADF;
}
