/*
 * eventfd: an open file that is a counter. Reads take the count, or 1 of it (EFD_SEMAPHORE), and
 * wait while it is 0; writes add to it, and wait while it would exceed EVENT_MAX.
 *
 * The counter is protected by a spinlock (RANK_EVENT). A thread that waits is on the queue before
 * it looks at the counter again.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/sched/wait.h"
#include "mm/pool/pool.h"

#define EVENT_MAX (UINT64_MAX - 1)

struct event {            /* nonpaged pool */
    struct spinlock lock; /* RANK_EVENT, IPL_DEVICE: interrupts add to it (kernel/io/aio.c) */
    uint64_t count;       /* lock */
    bool semaphore;       /* constant */
    struct wait_queue readers, writers;
    struct poll_source polled;
};

static const struct file_ops event_ops;

/* Take what a read gets; false: there is nothing. */
static bool take(struct event *v, uint64_t *value)
{
    ipl_t ipl = spin_lock(&v->lock);

    *value = v->semaphore ? v->count != 0 : v->count;
    v->count -= *value;
    spin_unlock(&v->lock, ipl);
    return *value != 0;
}

/* Add value; false: there is no room. */
static bool add(struct event *v, uint64_t *value)
{
    ipl_t ipl = spin_lock(&v->lock);
    bool fits = *value <= EVENT_MAX - v->count;

    if (fits)
        v->count += *value;
    spin_unlock(&v->lock, ipl);
    return fits;
}

/* Do `step`, waiting on q until it can be done. 0, -EAGAIN or -ERESTARTSYS. */
static int do_or_wait(struct file *f, struct wait_queue *q,
                      bool (*step)(struct event *v, uint64_t *value), uint64_t *value)
{
    struct event *v = f->priv;
    struct waiter w;
    int err = 0;

    if (step(v, value))
        return 0;
    if (f->flags & O_NONBLOCK)
        return -EAGAIN;
    for (;;) {
        wait_enqueue(q, &w);
        if (step(v, value))
            break;
        err = wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return err ? -ERESTARTSYS : 0;
}

static long event_read(struct file *f, vaddr_t ubuf, size_t n)
{
    struct event *v = f->priv;
    uint64_t value;
    int err;

    if (n < sizeof(value))
        return -EINVAL;
    err = do_or_wait(f, &v->readers, take, &value);
    if (err)
        return err;
    wake_all(&v->writers);
    poll_notify(&v->polled, POLLOUT | POLLWRNORM);
    return copyout_u64(ubuf, value) ? -EFAULT : (long)sizeof(value);
}

static long event_write(struct file *f, vaddr_t ubuf, size_t n)
{
    struct event *v = f->priv;
    uint64_t value;
    int err;

    if (n < sizeof(value))
        return -EINVAL;
    if (copyin_u64(&value, ubuf))
        return -EFAULT;
    if (value > EVENT_MAX)
        return -EINVAL;
    err = do_or_wait(f, &v->writers, add, &value);
    if (err)
        return err;
    wake_all(&v->readers);
    poll_notify(&v->polled, POLLIN | POLLRDNORM);
    return (long)sizeof(value);
}

bool eventfd_is(const struct file *f) { return f->ops == &event_ops; }

void eventfd_add(struct file *f)
{
    struct event *v = f->priv;
    uint64_t one = 1;

    if (!add(v, &one))
        return; /* it is as full as can be: its readers have been told */
    (void)wake_one(&v->readers);
    poll_notify(&v->polled, POLLIN | POLLRDNORM);
}

static unsigned event_poll(struct file *f, struct poll_entry *e)
{
    struct event *v = f->priv;
    uint64_t count;
    ipl_t ipl;

    poll_register(&v->polled, e);
    ipl = spin_lock(&v->lock);
    count = v->count;
    spin_unlock(&v->lock, ipl);
    return (count ? POLLIN | POLLRDNORM : 0) | (count < EVENT_MAX ? POLLOUT | POLLWRNORM : 0);
}

static void event_close(struct file *f)
{
    struct event *v = f->priv;

    poll_source_end(&v->polled);
    npp_free(v, sizeof(*v));
}

static const struct file_ops event_ops = {.name = "anon_inode:[eventfd]",
                                          .read = event_read,
                                          .write = event_write,
                                          .lseek = anon_lseek,
                                          .stat = anon_stat,
                                          .poll = event_poll,
                                          .close = event_close};

int eventfd_create_file(uint32_t initial, bool semaphore, bool nonblock, struct file **out)
{
    struct event *v = npp_alloc_zeroed(sizeof(*v));
    struct file *f = v ? file_alloc(&event_ops, O_RDWR | (nonblock ? O_NONBLOCK : 0)) : NULL;

    if (!f) {
        if (v)
            npp_free(v, sizeof(*v));
        return file_why_not();
    }
    spin_init(&v->lock, "eventfd", RANK_EVENT, IPL_DEVICE);
    wait_queue_init(&v->readers, "eventfd read");
    wait_queue_init(&v->writers, "eventfd write");
    poll_source_init(&v->polled);
    v->count = initial;
    v->semaphore = semaphore;
    f->priv = v;
    *out = f;
    return 0;
}
