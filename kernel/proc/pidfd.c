/*
 * Files that stand for processes (pidfd.h). Such a file holds no reference: it remembers the number
 * of its process (f->pos, which nobody can set) and when that started (f->priv), so that a later
 * process with the same number is another one.
 *
 * Who polls it is on one of POLL_SOURCES sources, which belong to no process and stay: a zombie has
 * no memory to keep one in. Each change of a source calls the entries of all processes there, a few
 * at once and the rest by the relay (kernel/io/poll.h), and each looks at its own process.
 */
#include "kernel/proc/pidfd.h"

#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/proc/process.h"
#include "kernel/proc/threads.h"

#define POLL_SOURCES 64u

static struct poll_source sources[POLL_SOURCES];

static struct poll_source *source_of(uint32_t pid) { return &sources[pid % POLL_SOURCES]; }

void pidfd_boot(void)
{
    for (unsigned k = 0; k < POLL_SOURCES; k++)
        poll_source_init(&sources[k]);
}

void pidfd_exited(uint32_t pid) { poll_notify(source_of(pid), POLLIN | POLLRDNORM); }

/* The process of f, live or zombie; NULL: it has been waited for. Table lock held. */
static const struct process *find_locked(const struct file *f)
{
    const struct process *p = process_find_locked((uint32_t)f->pos);

    return p && p->start_ns == (uint64_t)(uintptr_t)f->priv ? p : NULL;
}

static unsigned pidfd_poll(struct file *f, struct poll_entry *e)
{
    const struct process *p;
    bool live;
    ipl_t ipl;

    poll_register(source_of((uint32_t)f->pos), e);
    ipl = spin_lock(&process_lock);
    p = find_locked(f);
    live = p && p->state == PROCESS_LIVE;
    spin_unlock(&process_lock, ipl);
    return live ? 0 : POLLIN | POLLRDNORM;
}

static long pidfd_read(struct file *f, vaddr_t ubuf, size_t n)
{
    (void)f, (void)ubuf, (void)n;
    return -EINVAL;
}

static const struct file_ops pidfd_ops = {.name = "anon_inode:[pidfd]",
                                          .read = pidfd_read,
                                          .write = pidfd_read,
                                          .stat = anon_stat,
                                          .poll = pidfd_poll};

struct file *pidfd_alloc(bool nonblock)
{
    return file_alloc(&pidfd_ops, O_RDWR | (nonblock ? O_NONBLOCK : 0));
}

void pidfd_set(struct file *f, const struct process *p)
{
    f->pos = p->pid;
    f->priv = (void *)(uintptr_t)p->start_ns;
}

int pidfd_create(uint32_t pid, bool nonblock, struct file **out)
{
    struct file *f = pidfd_alloc(nonblock);
    const struct process *p;
    int err = 0;
    ipl_t ipl;

    if (!f)
        return file_why_not();
    ipl = spin_lock(&process_lock);
    p = process_find_locked(pid);
    if (p)
        pidfd_set(f, p);
    else
        err = thread_find_locked(pid) ? -EINVAL : -ESRCH;
    spin_unlock(&process_lock, ipl);
    if (err)
        file_free(f);
    else
        *out = f;
    return err;
}

int32_t pidfd_process(const struct file *f)
{
    bool there;
    ipl_t ipl;

    if (f->ops != &pidfd_ops)
        return -EBADF;
    ipl = spin_lock(&process_lock);
    there = find_locked(f) != NULL;
    spin_unlock(&process_lock, ipl);
    return there ? (int32_t)f->pos : 0;
}

int pidfd_target(const struct file *f, uint32_t *pid, uint64_t *start_ns)
{
    if (f->ops != &pidfd_ops)
        return -EBADF;
    *pid = (uint32_t)f->pos;
    *start_ns = (uint64_t)(uintptr_t)f->priv;
    return 0;
}

int pidfd_signal(const struct file *f, const struct signal_info *info)
{
    if (f->ops != &pidfd_ops)
        return -EBADF;
    return process_signal_started((uint32_t)f->pos, (uint64_t)(uintptr_t)f->priv, info);
}
