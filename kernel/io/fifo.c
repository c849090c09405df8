/*
 * Pipes with a name: FIFOs, and pipes without one that are opened again by /proc/self/fd. The first
 * open of a FIFO makes its pipe, and the last close frees it.
 */
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/pipe_private.h"
#include "kernel/io/splice.h"

/* Count one more end of a pipe. Of one without a name the last end may be gone already, and its
 * closer then waits for fifo_mutex, which is held, before it frees the pipe. */
static bool add_end(struct pipe *p)
{
    uint32_t ends = __atomic_load_n(&p->ends, __ATOMIC_RELAXED);

    if (p->fifo) {
        p->ends++;
        return true;
    }
    while (ends && !__atomic_compare_exchange_n(&p->ends, &ends, ends + 1, true, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED))
        ;
    return ends != 0;
}

/* The pipe of a FIFO, with one more end; NULL: no memory, or the pipe has gone, which had no name.
 */
static struct pipe *fifo_get(struct inode *i)
{
    struct pipe *p;

    mutex_lock(&fifo_mutex);
    p = i->fifo;
    if (!p && (p = pipe_new()) != NULL) {
        p->fifo = i;
        i->fifo = p;
    }
    if (p && !add_end(p))
        p = NULL;
    mutex_unlock(&fifo_mutex);
    return p;
}

/* Wait on q until the other side was opened, even if it is closed again by then; `mine` counts the
 * own end. p->lock is held, but not during the wait. Errors as of pipe_wait. */
static int wait_opened(struct pipe *p, struct wait_queue *q, const uint32_t *mine,
                       const uint32_t *opened)
{
    uint32_t was = *opened;
    int err = 0;

    while (!err && *opened == was)
        err = pipe_wait(p, q, mine);
    return err;
}

/* The mutex is held. */
static void note_opened_for_writing(struct pipe *p)
{
    __atomic_store_n(&p->opened_write, p->opened_write + 1, __ATOMIC_RELEASE);
}
static void enter(uint32_t *mine) { __atomic_fetch_add(mine, 1, __ATOMIC_RELAXED); }

/* p->lock is held; if the result is -EINTR, it is not held any more. So for the next. A pipe
 * without a name is opened without waiting. */
static int enter_reader_locked(struct pipe *p, struct file *f)
{
    bool nonblock = (f->flags & O_NONBLOCK) != 0;
    int err = 0;

    /* Until a writer comes, poll of a reader that did not wait for one reports no hang-up. */
    f->pos = pipe_ends(&p->writers) || !nonblock || !p->fifo ? -1 : (int64_t)p->opened_write;
    enter(&p->readers);
    p->opened_read++;
    wake_all(&p->write_queue);
    if (!pipe_ends(&p->writers) && !nonblock && p->fifo)
        err = wait_opened(p, &p->read_queue, &p->readers, &p->opened_write);
    if (err)
        pipe_leave(&p->readers, &p->write_queue);
    return err;
}

static int enter_writer_locked(struct pipe *p, struct file *f)
{
    int err = 0;

    if (!pipe_ends(&p->readers) && (f->flags & O_NONBLOCK) && p->fifo)
        return -ENXIO;
    enter(&p->writers);
    note_opened_for_writing(p);
    wake_all(&p->read_queue);
    if (!pipe_ends(&p->readers) && p->fifo)
        err = wait_opened(p, &p->write_queue, &p->writers, &p->opened_read);
    if (err)
        pipe_leave(&p->writers, &p->read_queue);
    return err;
}

/* Opening for both never waits: each side finds the other in itself. */
static void enter_both_locked(struct pipe *p, struct file *f)
{
    f->pos = -1;
    enter(&p->readers);
    enter(&p->writers);
    p->opened_read++;
    note_opened_for_writing(p);
    wake_all(&p->read_queue);
    wake_all(&p->write_queue);
}

static int fifo_open(struct file *f)
{
    struct pipe *p = fifo_get(f->inode);
    int err;

    if (!p)
        return -ENOMEM;
    f->priv = p;
    err = mutex_lock_killable(&p->lock);
    if (err) {
        pipe_drop_end(p);
        return err;
    }
    switch (f->flags & O_ACCMODE) {
    case O_RDONLY:
        err = enter_reader_locked(p, f);
        break;
    case O_WRONLY:
        err = enter_writer_locked(p, f);
        break;
    default:
        enter_both_locked(p, f);
    }
    if (err != -EINTR)
        mutex_unlock(&p->lock);
    if (err)
        pipe_drop_end(p);
    return err;
}

static void fifo_close(struct file *f)
{
    struct pipe *p = f->priv;

    if ((f->flags & O_ACCMODE) != O_WRONLY)
        pipe_leave(&p->readers, &p->write_queue);
    if ((f->flags & O_ACCMODE) != O_RDONLY)
        pipe_leave(&p->writers, &p->read_queue);
    poll_notify(&p->polled, POLLHUP | POLLERR);
    pipe_drop_end(p);
}

static unsigned fifo_poll(struct file *f, struct poll_entry *e)
{
    switch (f->flags & O_ACCMODE) {
    case O_RDONLY:
        return pipe_read_poll(f, e);
    case O_WRONLY:
        return pipe_write_poll(f, e);
    default:
        return pipe_read_poll(f, e) | pipe_write_poll(f, NULL);
    }
}

static int fifo_stat(struct file *f, struct file_stat *st)
{
    inode_stat(f->inode, st);
    return 0;
}

const struct file_ops fifo_ops = {.name = "fifo",
                                  .open = fifo_open,
                                  .read = pipe_read,
                                  .write = pipe_write,
                                  .write_kernel = pipe_write_kernel,
                                  .stat = fifo_stat,
                                  .ioctl = pipe_ioctl,
                                  .poll = fifo_poll,
                                  .close = fifo_close};

bool file_is_pipe(const struct file *f)
{
    return f->ops == &pipe_read_ops || f->ops == &pipe_write_ops || f->ops == &fifo_ops;
}

struct pipe *pipe_of(const struct file *f) { return file_is_pipe(f) ? f->priv : NULL; }

int pipe_inode(struct file *f, struct inode **out)
{
    struct pipe *p = f->priv;
    struct fs_new what = {.mode = S_IFIFO | 0600};
    struct inode *i;
    int err;

    if (f->ops != &pipe_read_ops && f->ops != &pipe_write_ops)
        return -ENXIO;
    what.uid = p->uid;
    what.gid = p->gid;
    err = inode_root->ops->create_unnamed(inode_root, &what, false, &i);
    if (err)
        return err;
    mutex_lock(&fifo_mutex);
    if (!p->unnamed) {
        i->fifo = p;
        inode_ref(i);
        p->unnamed = i;
        mutex_unlock(&fifo_mutex);
        *out = i;
        return 0;
    }
    inode_ref(p->unnamed); /* another thread was faster, or it is not the first time */
    *out = p->unnamed;
    mutex_unlock(&fifo_mutex);
    inode_unref(i);
    return 0;
}
