/*
 * signalfd: whoever reads or polls such a file asks for signals of its own process and thread that
 * are pending, which it has blocked.
 *
 * Who polls or waits has an entry on the source of its process's signals (sighand.polled), which is
 * told of each signal that becomes pending. An epoll instance may keep the entry when the process
 * has ended, so each entry keeps the sighand.
 */
#include "kernel/proc/signalfd.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/proc/posix_timer.h"
#include "kernel/proc/process.h"
#include "kernel/sched/wait.h"
#include "mm/pool/pool.h"

struct signalfd {  /* nonpaged pool */
    sigset_t mask; /* atomic */
};

/* As programs read it. */
struct signalfd_siginfo {
    uint32_t signo;
    int32_t err, code;
    uint32_t pid, uid;
    int32_t fd;
    uint32_t tid, band, overrun, trapno;
    int32_t status, value;
    uint64_t pointer, utime, stime, addr;
    uint8_t rest[48];
};
_Static_assert(sizeof(struct signalfd_siginfo) == 128, "the layout is Linux's");

static sigset_t mask_of(const struct file *f)
{
    const struct signalfd *d = f->priv;

    return __atomic_load_n(&d->mask, __ATOMIC_RELAXED);
}

static void watch(struct sighand *s, struct poll_entry *e)
{
    sighand_get(s);
    poll_register(&s->polled, e);
}

static unsigned signalfd_poll(struct file *f, struct poll_entry *e)
{
    if (e)
        watch(process_self()->sig, e);
    return signal_pending() & mask_of(f) ? POLLIN | POLLRDNORM : 0;
}

/* A thread that waits in read. */
struct reader {
    struct poll_entry entry;
    struct wait_queue queue;
};

static bool reader_wake(struct poll_entry *e, uint32_t events)
{
    (void)events;
    wake_one(&container_of(e, struct reader, entry)->queue);
    return true;
}

static int wait_signal(const struct file *f, struct signal_info *info)
{
    struct reader r = {.entry = {.wake = reader_wake, .events = POLLIN}};
    struct waiter w;
    int err = 0;

    wait_queue_init(&r.queue, "signalfd");
    watch(process_self()->sig, &r.entry);
    for (;;) {
        wait_enqueue(&r.queue, &w);
        if (signal_take(mask_of(f), info))
            break;
        err = wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    poll_unregister(&r.entry);
    return err ? -ERESTARTSYS : 0;
}

static int copy_info(vaddr_t to, const struct signal_info *i)
{
    struct signalfd_siginfo s = {.signo = (uint32_t)i->signo,
                                 .code = i->code,
                                 .pid = i->pid,
                                 .uid = i->uid,
                                 .status = i->status};

    if (i->code == SI_TIMER) { /* what stands in their places: posix_timer.h */
        s.tid = i->pid;
        s.overrun = i->uid;
        s.pid = s.uid = 0;
    }
    if (i->code < 0) {
        s.value = (int32_t)i->value;
        s.pointer = i->value;
    } else {
        s.addr = i->addr;
    }

    return copyout(to, &s, sizeof(s));
}

static long signalfd_read(struct file *f, vaddr_t ubuf, size_t n)
{
    struct signal_info info;
    size_t done = 0;
    int err;

    n -= n % sizeof(struct signalfd_siginfo);
    if (!n)
        return -EINVAL;
    while (done < n && !thread_killed()) {
        /* A signal that is taken cannot be put back: first see that there is room for it. */
        if (probe_write(ubuf + done, sizeof(struct signalfd_siginfo)))
            return done ? (long)done : -EFAULT;
        if (!signal_take(mask_of(f), &info)) {
            if (done)
                break;
            err = f->flags & O_NONBLOCK ? -EAGAIN : wait_signal(f, &info);
            if (err)
                return err;
        }
        if (copy_info(ubuf + done, &info))
            return done ? (long)done : -EFAULT;
        done += sizeof(struct signalfd_siginfo);
    }
    return done ? (long)done : -EINTR;
}

static void signalfd_close(struct file *f) { npp_free(f->priv, sizeof(struct signalfd)); }

static const struct file_ops signalfd_ops = {.name = "anon_inode:[signalfd]",
                                             .read = signalfd_read,
                                             .lseek = anon_lseek,
                                             .stat = anon_stat,
                                             .poll = signalfd_poll,
                                             .close = signalfd_close};

int signalfd_create(sigset_t mask, bool nonblock, struct file **out)
{
    struct signalfd *d = npp_alloc(sizeof(*d));
    struct file *f = d ? file_alloc(&signalfd_ops, O_RDWR | (nonblock ? O_NONBLOCK : 0)) : NULL;

    if (!f) {
        if (d)
            npp_free(d, sizeof(*d));
        return file_why_not();
    }
    d->mask = mask;
    f->priv = d;
    *out = f;
    return 0;
}

int signalfd_set(struct file *f, sigset_t mask)
{
    struct signalfd *d = f->priv;

    if (f->ops != &signalfd_ops)
        return -EINVAL;
    __atomic_store_n(&d->mask, mask, __ATOMIC_RELAXED);
    poll_notify(&process_self()->sig->polled, POLLIN | POLLRDNORM);
    return 0;
}
