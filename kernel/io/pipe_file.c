/*
 * Pipes as files: their ends, from pipe(2) to the last close, and what can be asked of them. The
 * bytes are the subject of pipe.c, which also states the rules of the fields.
 */
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/pipe_private.h"
#include "kernel/sched/timer.h"
#include "mm/check/validate.h"
#include "mm/pool/pool.h"

static uint64_t next_pipe_ino = 1; /* atomic */
/* All pipes, for the self-check. */
static struct spinlock pipes_lock = SPINLOCK_INIT("pipes", RANK_HOMES, IPL_ASTDEL);
static struct list pipes = LIST_INIT(pipes); /* protected by pipes_lock */
struct mutex fifo_mutex = MUTEX_INIT("fifos", MUTEX_INODE, fifo_mutex);

/* Put e on p's source, before a look at p. The mutex is not taken: whoever asks may hold one that
 * others need (an epoll instance's), and must not wait for somebody's memory. */
static void look_unlocked(struct pipe *p, struct poll_entry *e)
{
    poll_register(&p->polled, e);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The order of the looks: who opens the FIFO is counted as a writer first, and then in
 * opened_write; what the last writer wrote was shown before it closed. */
unsigned pipe_read_poll(struct file *f, struct poll_entry *e)
{
    struct pipe *p = f->priv;
    unsigned r = 0;
    bool since;

    look_unlocked(p, e);
    since = !p->fifo || __atomic_load_n(&p->opened_write, __ATOMIC_ACQUIRE) != f->pos;
    if (since && !__atomic_load_n(&p->writers, __ATOMIC_ACQUIRE))
        r |= POLLHUP;
    if (__atomic_load_n(&p->count, __ATOMIC_RELAXED))
        r |= POLLIN | POLLRDNORM;
    return r;
}

unsigned pipe_write_poll(struct file *f, struct poll_entry *e)
{
    struct pipe *p = f->priv;
    unsigned r = 0;

    look_unlocked(p, e);
    if (PIPE_BYTES - __atomic_load_n(&p->count, __ATOMIC_RELAXED) >= PIPE_BUF)
        r |= POLLOUT | POLLWRNORM;
    if (!pipe_ends(&p->readers))
        r |= POLLERR;
    return r;
}

static int pipe_stat(struct file *f, struct file_stat *st)
{
    struct pipe *p = f->priv;
    int64_t now = (int64_t)clock_wall_ns();

    *st = (struct file_stat){.ino = p->ino,
                             .mode = S_IFIFO | 0600,
                             .nlink = 1,
                             .blksize = PIPE_BUF,
                             .atime_ns = now,
                             .mtime_ns = now,
                             .ctime_ns = now};
    return 0;
}

long pipe_ioctl(struct file *f, unsigned long req, vaddr_t arg)
{
    struct pipe *p = f->priv;
    uint64_t count;
    int err;

    if (req != 0x4004667F) /* FIONREAD */
        return -ENOTTY;
    err = mutex_lock_killable(&p->lock);
    if (err)
        return err;
    count = p->count;
    mutex_unlock(&p->lock);
    return copyout_u32(arg, (uint32_t)count);
}

static void pipe_free(struct pipe *p)
{
    ipl_t ipl;

    if (unlikely(p->unnamed != NULL)) {
        mutex_lock(&fifo_mutex);
        p->unnamed->fifo = NULL;
        mutex_unlock(&fifo_mutex);
        inode_unref(p->unnamed);
    }
    poll_source_end(&p->polled);
    for (unsigned k = 0; k < PIPE_PAGES; k++) {
        if (p->page[k])
            page_free(paddr_to_pfn(kseg_paddr(p->page[k])));
    }
    ipl = spin_lock(&pipes_lock);
    list_remove(&p->link);
    spin_unlock(&pipes_lock, ipl);
    npp_free(p, sizeof(*p));
}

void pipe_drop_end(struct pipe *p)
{
    bool last;

    if (!p->fifo) {
        last = __atomic_fetch_sub(&p->ends, 1, __ATOMIC_ACQ_REL) == 1;
    } else {
        mutex_lock(&fifo_mutex);
        last = --p->ends == 0;
        if (last)
            p->fifo->fifo = NULL;
        mutex_unlock(&fifo_mutex);
    }
    if (last)
        pipe_free(p);
}

void pipe_leave(uint32_t *mine, struct wait_queue *others)
{
    if (__atomic_sub_fetch(mine, 1, __ATOMIC_SEQ_CST) == 0)
        wake_all(others);
}

/* Close one end. The pipe stays until pipe_drop_end(). */
static void pipe_close(struct pipe *p, uint32_t *mine, struct wait_queue *others)
{
    pipe_leave(mine, others);
    poll_notify(&p->polled, POLLHUP | POLLERR);
    pipe_drop_end(p);
}

static void pipe_read_close(struct file *f)
{
    struct pipe *p = f->priv;
    pipe_close(p, &p->readers, &p->write_queue);
}

static void pipe_write_close(struct file *f)
{
    struct pipe *p = f->priv;
    pipe_close(p, &p->writers, &p->read_queue);
}

const struct file_ops pipe_read_ops = {.name = "pipe",
                                       .read = pipe_read,
                                       .stat = pipe_stat,
                                       .ioctl = pipe_ioctl,
                                       .poll = pipe_read_poll,
                                       .close = pipe_read_close};
const struct file_ops pipe_write_ops = {.name = "pipe",
                                        .write = pipe_write,
                                        .write_kernel = pipe_write_kernel,
                                        .stat = pipe_stat,
                                        .ioctl = pipe_ioctl,
                                        .poll = pipe_write_poll,
                                        .close = pipe_write_close};

struct pipe *pipe_new(void)
{
    struct pipe *p = npp_alloc_zeroed(sizeof(*p));
    ipl_t ipl;

    if (p) {
        mutex_init(&p->lock, "pipe", MUTEX_INODE);
        wait_queue_init(&p->read_queue, "pipe read");
        wait_queue_init(&p->write_queue, "pipe write");
        poll_source_init(&p->polled);
        p->ino = __atomic_fetch_add(&next_pipe_ino, 1, __ATOMIC_RELAXED);
        ipl = spin_lock(&pipes_lock);
        list_add_tail(&pipes, &p->link);
        spin_unlock(&pipes_lock, ipl);
    }
    return p;
}

int pipe_create(const struct io_cred *cred, struct file **rd, struct file **wr, uint32_t flags)
{
    struct pipe *p = pipe_new();
    struct file *r = file_alloc(&pipe_read_ops, O_RDONLY | (flags & O_NONBLOCK));
    struct file *w = file_alloc(&pipe_write_ops, O_WRONLY | (flags & O_NONBLOCK));

    if (!p || !r || !w) {
        if (p)
            pipe_free(p);
        if (r)
            file_free(r);
        if (w)
            file_free(w);
        return file_why_not();
    }
    p->ends = 2;
    p->readers = p->writers = 1;
    p->uid = cred->uid;
    p->gid = cred->gid;
    r->priv = w->priv = p;
    *rd = r;
    *wr = w;
    return 0;
}

void pipes_validate(struct validate *v)
{
    const struct pipe *p;

    list_for_each_entry(p, &pipes, link) {
        for (unsigned k = 0; k < PIPE_PAGES; k++)
            if (p->page[k])
                validate_page(v, paddr_to_pfn(kseg_paddr(p->page[k])), VALIDATE_PIPE);
    }
}
