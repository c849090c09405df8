/*
 * Calls on message queues of POSIX: names, arguments, structures of Linux/Alpha, and the signal of
 * mq_notify. The queues are in kernel/ipc/mqueue.c. No lock here.
 *
 * SIGEV_THREAD is done by the C library, which lets the kernel send the notice to a netlink
 * socket. There are none, so it gets an error for the socket, and gives ENOSYS.
 */
#include "kernel/ipc/mqueue.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/ipc/ipc.h"
#include "kernel/net/socket.h"
#include "kernel/proc/process.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/posix/ipc.h"
#include "kernel/sys/posix/poll.h"
#include "kernel/sys/posix/upath.h"

#define SI_MESGQ (-3)

#define SIGEV_SIGNAL 0
#define SIGEV_NONE   1
#define SIGEV_THREAD 2
#define COOKIE_BYTES 32u /* what the library wants to get with a notice for a thread */

struct user_attr {
    int64_t flags, maxmsg, msgsize, curmsgs, rest[4];
};
_Static_assert(sizeof(struct user_attr) == 64, "the layout is Linux/Alpha's");

struct sigevent {
    uint64_t value;
    int32_t signo, notify;
    uint32_t rest[12];
};
_Static_assert(sizeof(struct sigevent) == 64, "the layout is Linux/Alpha's");

/* ---- names ---- */

/* Copy a name in: its length, or a negative errno. */
static long name_in(struct upath *u, vaddr_t name)
{
    size_t len;
    long err = path_begin(u, (uint64_t)AT_FDCWD, name);

    if (err)
        return err;
    len = strlen(u->text);
    if (len > NAME_MAX)
        err = -ENAMETOOLONG;
    else if (!len)
        err = -ENOENT;
    else if (strchr(u->text, '/') || !strcmp(u->text, ".") || !strcmp(u->text, ".."))
        err = -EACCES;
    if (err)
        path_end(u);
    return err ? err : (long)len;
}

static long open_named(struct upath *u, size_t len, uint32_t flags, uint32_t mode,
                       const struct mqueue_size *size)
{
    const struct process *p = process_self();
    uint64_t most = rlimit_soft(p, RLIMIT_MSGQUEUE);
    struct file *f;
    int err, fd = fd_find(p->files, 0); /* first: a queue that was made would stay */

    if (fd < 0)
        return fd;
    err = mqueue_open(u->text, len, &u->cred, process_euid(p) == 0, flags,
                      mode & 07777 & ~fs_umask(p->fs), size, most, &f);
    if (err) {
        fd_cancel(p->files, (unsigned)fd);
        return err;
    }
    fd_fill(p->files, f, (unsigned)fd, true); /* closed by exec, whatever the flags say */
    return fd;
}

long sys_mq_open(uint64_t name, uint64_t flags, uint64_t mode, uint64_t attr)
{
    struct mqueue_size size = {MQ_MSG_MAX, MQ_MSGSIZE_MAX};
    struct user_attr a;
    struct upath u;
    long n;

    if (attr && copyin(&a, attr, sizeof(a)))
        return -EFAULT;
    if (attr)
        size = (struct mqueue_size){(uint64_t)a.maxmsg, (uint64_t)a.msgsize};
    n = name_in(&u, name);
    if (n < 0)
        return n;
    n = open_named(&u, (size_t)n, (uint32_t)flags, (uint32_t)mode, &size);
    path_end(&u);
    return n;
}

long sys_mq_unlink(uint64_t name)
{
    struct upath u;
    long n = name_in(&u, name);

    if (n < 0)
        return n;
    n = mqueue_unlink(u.text, (size_t)n, &u.cred);
    path_end(&u);
    return n;
}

/* ---- messages ---- */

/* The queue of a descriptor that is open for reading (or writing): 0 or -EBADF. Then the caller
 * must call fd_put(). */
static int queue_get(uint64_t fd, bool write, struct fd_use *u)
{
    *u = fd_get(process_self()->files, (uint32_t)fd);
    if (u->file && mqueue_is(u->file) &&
        (u->file->flags & O_ACCMODE) != (write ? O_RDONLY : O_WRONLY))
        return 0;
    fd_put(*u);
    return -EBADF;
}

/* An absolute time of the wall clock, as a time of clock_ns(). 0, -EFAULT, -EINVAL. */
static long deadline_in(vaddr_t from, uint64_t *deadline)
{
    uint64_t t[2], ns, now = clock_wall_ns();

    *deadline = WAIT_FOREVER;
    if (!from)
        return 0;
    if (copyin(t, from, sizeof(t)))
        return -EFAULT;
    if ((int64_t)t[0] < 0 || t[1] >= NS_PER_SECOND)
        return -EINVAL;
    if (t[0] >= INT64_MAX / NS_PER_SECOND / 2)
        return 0;
    ns = t[0] * NS_PER_SECOND + t[1];
    *deadline = clock_ns() + (ns > now ? ns - now : 0);
    return 0;
}

/* The beginning of both calls: what can be wrong, in Linux's order. Then the caller must call
 * fd_put(). */
static long queue_begin(uint64_t fd, bool write, vaddr_t timeout, uint32_t priority,
                        struct fd_use *u, uint64_t *deadline)
{
    long err = deadline_in(timeout, deadline);

    if (!err && priority >= MQ_PRIO_MAX)
        err = -EINVAL;
    return err ? err : queue_get(fd, write, u);
}

static long send(struct file *f, vaddr_t text, uint64_t nbytes, uint32_t priority,
                 uint64_t deadline)
{
    struct mqueue_size size;
    struct mqueue_message *m;
    uint64_t count;
    long err;

    mqueue_status(f, &size, &count);
    if (nbytes > size.nbytes)
        return -EMSGSIZE;
    m = mqueue_message_new(nbytes, priority);
    if (!m)
        return -ENOMEM;
    err = copyin(mqueue_message_text(m), text, nbytes) ? -EFAULT : mqueue_send(f, m, deadline);
    if (err)
        mqueue_message_free(m);
    return err;
}

long sys_mq_timedsend(uint64_t fd, uint64_t text, uint64_t nbytes, uint64_t priority,
                      uint64_t timeout)
{
    uint64_t deadline;
    struct fd_use u;
    long err = queue_begin(fd, true, timeout, (uint32_t)priority, &u, &deadline);

    if (err)
        return err;
    err = send(u.file, text, nbytes, (uint32_t)priority, deadline);
    fd_put(u);
    return err;
}

static long receive(struct file *f, vaddr_t text, uint64_t nbytes, vaddr_t priority,
                    uint64_t deadline)
{
    struct mqueue_size size;
    struct mqueue_message *m;
    uint64_t count;
    long r;

    mqueue_status(f, &size, &count);
    if (nbytes < size.nbytes)
        return -EMSGSIZE;
    r = mqueue_receive(f, deadline, &m);
    if (r)
        return r;
    r = (long)mqueue_message_bytes(m);
    if ((priority && copyout_u32(priority, mqueue_message_priority(m))) ||
        copyout(text, mqueue_message_text(m), (size_t)r))
        r = -EFAULT; /* the message is lost, as on Linux */
    mqueue_message_free(m);
    return r;
}

long sys_mq_timedreceive(uint64_t fd, uint64_t text, uint64_t nbytes, uint64_t priority,
                         uint64_t timeout)
{
    uint64_t deadline;
    struct fd_use u;
    long r = queue_begin(fd, false, timeout, 0, &u, &deadline);

    if (r)
        return r;
    r = receive(u.file, text, nbytes, priority, deadline);
    fd_put(u);
    return r;
}

/* ---- attributes ---- */

static long exchange_attr(struct file *f, vaddr_t new, vaddr_t old)
{
    struct user_attr a = {0}, was = {0};
    struct mqueue_size size;
    uint64_t count;

    if (new && copyin(&a, new, sizeof(a)))
        return -EFAULT;
    if (a.flags & ~(int64_t)O_NONBLOCK)
        return -EINVAL;
    mqueue_status(f, &size, &count);
    was.flags = f->flags & O_NONBLOCK;
    was.maxmsg = (int64_t)size.messages;
    was.msgsize = (int64_t)size.nbytes;
    was.curmsgs = (int64_t)count;
    if (new && a.flags)
        __atomic_fetch_or(&f->flags, O_NONBLOCK, __ATOMIC_RELAXED);
    else if (new)
        __atomic_fetch_and(&f->flags, ~O_NONBLOCK, __ATOMIC_RELAXED);
    return old && copyout(old, &was, sizeof(was)) ? -EFAULT : 0;
}

long sys_mq_getsetattr(uint64_t fd, uint64_t new, uint64_t old)
{
    struct fd_use u = fd_get(process_self()->files, (uint32_t)fd);
    long err = -EBADF;

    if (u.file && mqueue_is(u.file))
        err = exchange_attr(u.file, new, old);
    fd_put(u);
    return err;
}

/* ---- notices ---- */

/* The process that a notice is for; NULL: it has ended. Table lock held. */
static struct process *asker_locked(const struct mqueue_notice *n)
{
    struct process *p = process_find_locked(n->pid);

    return p && p->start_ns == n->start_ns && p->state == PROCESS_LIVE ? p : NULL;
}

static bool lives(const struct mqueue_notice *n)
{
    ipl_t ipl = spin_lock(&process_lock);
    bool found = asker_locked(n) != NULL;

    spin_unlock(&process_lock, ipl);
    return found;
}

/* Send the signal, whatever the permissions of who has sent the message: it was asked for. */
static void tell(const struct mqueue_notice *n)
{
    const struct process *self = process_self();
    struct signal_info info = {.signo = n->signo,
                               .code = SI_MESGQ,
                               .pid = self->pid,
                               .uid = process_uid(self),
                               .value = n->value};
    struct process *p;
    ipl_t ipl;

    if (!n->signo)
        return;
    ipl = spin_lock(&process_lock);
    p = asker_locked(n);
    if (p)
        (void)signal_send_user(p, NULL, &info); /* not queued: as much as it may have is pending */
    spin_unlock(&process_lock, ipl);
}

/* SIGEV_THREAD: `signo` is the descriptor of a netlink socket. */
static long thread_notice(const struct sigevent *e)
{
    uint8_t cookie[COOKIE_BYTES];
    struct fd_use u;
    long err;

    if (copyin(cookie, e->value, sizeof(cookie)))
        return -EFAULT;
    u = fd_get(process_self()->files, (uint32_t)e->signo);
    err = !u.file ? -EBADF : socket_of(u.file) ? -EINVAL : -ENOTSOCK;
    fd_put(u);
    return err;
}

/* What the caller asks for. 0 or a negative errno. */
static long notice_in(vaddr_t event, struct mqueue_notice *n)
{
    const struct process *p = process_self();
    struct sigevent e;

    *n = (struct mqueue_notice){0};
    if (!event)
        return 0;
    if (copyin(&e, event, sizeof(e)))
        return -EFAULT;
    if (e.notify == SIGEV_THREAD)
        return thread_notice(&e);
    if ((e.notify != SIGEV_NONE && e.notify != SIGEV_SIGNAL) ||
        (e.notify == SIGEV_SIGNAL && (uint32_t)e.signo > NSIG))
        return -EINVAL;
    n->pid = p->pid;
    n->start_ns = p->start_ns;
    n->signo = e.notify == SIGEV_SIGNAL ? e.signo : 0;
    n->value = e.value;
    return 0;
}

long sys_mq_notify(uint64_t fd, uint64_t event)
{
    struct mqueue_notice n;
    struct fd_use u;
    long err = notice_in(event, &n);

    if (err)
        return err;
    u = fd_get(process_self()->files, (uint32_t)fd);
    err = u.file && mqueue_is(u.file) ? mqueue_ask(u.file, &n, process_self()->pid) : -EBADF;
    fd_put(u);
    return err;
}

void posix_mqueue_boot(void)
{
    mqueue_boot();
    mqueue_tell = tell;
    mqueue_lives = lives;
}
