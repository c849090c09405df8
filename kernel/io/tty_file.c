/*
 * Open files of terminals: reading, writing, settings. The line discipline is tty.c.
 *
 * To which session and to which of its groups a terminal belongs is kernel/proc/terminal.c's
 * subject. A reader asks it first, without the terminal's lock, and takes input only if the
 * foreground group has not changed since (tty.changes); so no input goes to a process that has lost
 * the terminal while it waited.
 *
 * f->priv is the terminal, to which the file holds a reference; f->pos, which nobody can set, is
 * the count of its hang-ups when the file was opened.
 *
 * Lock: that of the terminal (RANK_TTY, IPL_DEVICE), never held while user memory is touched.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/io/pty.h"
#include "kernel/io/tty_private.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"

#define SIGWINCH 28

static struct tty *tty_of(const struct file *f) { return f->priv; }

/* Was the session ended that opened f, or the other end closed? */
static bool is_dead(const struct file *f)
{
    return (uint32_t)f->pos != __atomic_load_n(&tty_of(f)->hangups, __ATOMIC_RELAXED);
}

int tty_attach(struct file *f, struct tty *t)
{
    int err;

    f->pos = __atomic_load_n(&t->hangups, __ATOMIC_RELAXED);
    err = t->line->opened ? t->line->opened(t) : 0;
    if (err)
        return err;
    tty_ref(t);
    f->priv = t;
    return 0;
}

/* /dev/tty is the caller's controlling terminal. */
static int open_own(struct file *f)
{
    struct tty *t = tty_jobs->own();
    int err;

    if (!t)
        return -ENXIO;
    err = tty_is_gone(t) ? -ENXIO : tty_attach(f, t);
    tty_unref(t);
    return err;
}

static int tty_open(struct file *f)
{
    struct tty *t = f->inode->rdev == RDEV_CONSOLE ? &tty_console : pty_of(f->inode);
    int err;

    if (f->inode->rdev == RDEV_TTY)
        return open_own(f);
    err = t ? tty_attach(f, t) : -ENXIO;
    if (!err && t != &tty_console && !(f->flags & O_NOCTTY) && (f->flags & O_ACCMODE) != O_WRONLY)
        tty_jobs->opened(t);
    return err;
}

static void tty_close(struct file *f)
{
    struct tty *t = tty_of(f);

    if (t->line->closed)
        t->line->closed(t);
    tty_unref(t);
}

static uint32_t changes_now(struct tty *t)
{
    ipl_t ipl = spin_lock(&t->lock);
    uint32_t changes = t->changes;

    spin_unlock(&t->lock, ipl);
    return changes;
}

/* Wait until a read can return, or the foreground group changes. 0 or a negative errno; -ETIMEDOUT:
 * VTIME has passed. */
static long wait_readable(struct file *f, uint32_t changes)
{
    struct tty *t = tty_of(f);
    struct waiter w;
    long err = 0;

    for (;;) {
        uint64_t deadline = WAIT_FOREVER;
        bool ready;
        ipl_t ipl;

        wait_enqueue(&t->readers, &w);
        ipl = spin_lock(&t->lock);
        ready = tty_readable_locked(t) || t->changes != changes;
        if (!(t->set.c_lflag & ICANON) && t->set.c_cc[VMIN] == 0)
            deadline = clock_ns() + t->set.c_cc[VTIME] * UINT64_C(100000000);
        spin_unlock(&t->lock, ipl);
        if (ready)
            break;
        if (f->flags & O_NONBLOCK) {
            err = -EAGAIN;
            break;
        }
        err = wait_block(&w, WAIT_INTERRUPTIBLE, deadline);
        if (err)
            break;
    }
    wait_finish(&w);
    return err == -EINTR ? -ERESTARTSYS : err;
}

/* Copy out what one read gets, up to n bytes. `changes`: the count when the caller was allowed to
 * read. Returns the number of bytes or -EFAULT; -EAGAIN: the caller is to ask again. */
static long take(struct tty *t, vaddr_t ubuf, size_t n, uint32_t changes)
{
    uint8_t buf[TTY_CHUNK];
    bool stop = false;
    size_t done = 0;

    while (done < n && !stop) {
        size_t part = 0;
        ipl_t ipl = spin_lock(&t->lock);

        if (t->changes == changes)
            part = tty_take_locked(t, buf, MIN(n - done, sizeof(buf)), &stop);
        spin_unlock(&t->lock, ipl);
        if (!part)
            break;
        if (copyout(ubuf + done, buf, part))
            return done ? (long)done : -EFAULT;
        done += part;
        if (sched_loop_point()) /* others may type as fast as this reads */
            break;
    }
    return done || stop ? (long)done : -EAGAIN;
}

static long tty_read(struct file *f, vaddr_t ubuf, size_t n)
{
    struct tty *t = tty_of(f);
    long r = -EAGAIN;

    if (!n)
        return 0;
    while (r == -EAGAIN) {
        uint32_t changes = changes_now(t);

        if (is_dead(f))
            return 0;
        r = sched_loop_point() ? -EINTR : tty_jobs->check(t, TTY_READ);
        if (!r)
            r = wait_readable(f, changes);
        if (r)
            return r == -ETIMEDOUT ? 0 : r;
        r = take(t, ubuf, n, changes);
    }
    tty_made_room(t);
    return r;
}

/* As take(), into kernel memory. */
static long take_parts(struct tty *t, const struct file_part *part, unsigned n, uint32_t changes)
{
    bool stop = false;
    long done = 0;

    for (; n && !stop; part++, n--)
        for (size_t at = 0, k; at < part->nbytes && !stop; at += k) {
            ipl_t ipl = spin_lock(&t->lock);

            /* It begins when read() would: a line or VMIN characters are there. */
            k = t->changes != changes || (!done && !tty_readable_locked(t))
                    ? 0
                    : tty_take_locked(t, (uint8_t *)part->base + at,
                                      MIN(part->nbytes - at, TTY_CHUNK), &stop);
            spin_unlock(&t->lock, ipl);
            done += (long)k;
            if (!k)
                return done || stop ? done : -EAGAIN;
        }
    return done;
}

static long tty_read_kernel(struct file *f, const struct file_part *part, unsigned n, void **rest)
{
    struct tty *t = tty_of(f);
    uint32_t changes = changes_now(t);
    long r;

    (void)rest;
    if (is_dead(f))
        return 0;
    r = tty_jobs->check(t, TTY_READ);
    if (!r)
        r = take_parts(t, part, n, changes);
    if (r >= 0)
        tty_made_room(t);
    return r;
}

static long tty_read_wait(struct file *f, bool nonblock)
{
    (void)nonblock;
    return is_dead(f) ? 0 : wait_readable(f, changes_now(tty_of(f)));
}

/* Wait until output can be written, or the file is dead. 0 or a negative errno. */
static long wait_writable(struct file *f)
{
    struct tty *t = tty_of(f);
    struct waiter w;
    long err = 0;

    for (;;) {
        bool ready;
        ipl_t ipl;

        wait_enqueue(&t->writers, &w);
        ipl = spin_lock(&t->lock);
        ready = tty_writable_locked(t) || is_dead(f);
        spin_unlock(&t->lock, ipl);
        if (ready)
            break;
        err = f->flags & O_NONBLOCK ? -EAGAIN : wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return err == -EINTR ? -ERESTARTSYS : err;
}

/* Write n characters, at most TTY_CHUNK. *done: how many were written, also on an error. */
static long write_chunk(struct file *f, const char *text, size_t n, bool newlines, size_t *done)
{
    struct tty *t = tty_of(f);
    long err = 0;

    for (*done = 0; *done < n && !err;) {
        size_t k = is_dead(f) ? 0 : t->line->output(t, text + *done, n - *done, newlines);

        *done += k;
        if (!k)
            err = is_dead(f) ? -EIO : wait_writable(f);
    }
    return err;
}

/* Write n bytes of the kernel's (text) or, if that is NULL, of user memory. */
static long write_from(struct file *f, vaddr_t ubuf, const char *text, size_t n)
{
    struct tty *t = tty_of(f);
    char copy[TTY_CHUNK];
    ipl_t ipl = spin_lock(&t->lock);
    bool newlines = (t->set.c_oflag & (OPOST | ONLCR)) == (OPOST | ONLCR);
    bool checked = (t->set.c_lflag & TOSTOP) != 0;
    size_t done = 0, k = 0;
    long err = 0;

    spin_unlock(&t->lock, ipl);
    if (checked)
        err = tty_jobs->check(t, TTY_WRITE);
    if (is_dead(f))
        err = -EIO;
    for (; !err && done < n; done += k) {
        size_t part = MIN(n - done, sizeof(copy));

        k = 0;
        if (!text && copyin(copy, ubuf + done, part))
            err = -EFAULT;
        else if (sched_loop_point())
            err = -EINTR;
        else
            err = write_chunk(f, text ? text + done : copy, part, newlines, &k);
    }
    return done ? (long)done : err;
}

static long tty_write(struct file *f, vaddr_t ubuf, size_t n)
{
    return write_from(f, ubuf, NULL, n);
}

static long tty_write_kernel(struct file *f, const void *buf, size_t n)
{
    return write_from(f, 0, buf, n);
}

struct tty *tty_of_file(const struct file *f) { return f->ops == &tty_ops ? tty_of(f) : NULL; }

static unsigned tty_poll(struct file *f, struct poll_entry *e)
{
    struct tty *t = tty_of(f);
    unsigned r;
    ipl_t ipl;

    poll_register(&t->polled, e);
    ipl = spin_lock(&t->lock);
    r = (tty_writable_locked(t) ? POLLOUT | POLLWRNORM : 0) |
        (tty_readable_locked(t) ? POLLIN | POLLRDNORM : 0);
    if (is_dead(f))
        r = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLERR | POLLHUP;
    spin_unlock(&t->lock, ipl);
    return r;
}

static void report(struct tty *t, uint8_t events)
{
    if (t->line->event)
        t->line->event(t, events);
}

/* Does ^S stop output, as a program that shows it could do by itself? */
static bool stops_by_keys(const struct termios *set)
{
    return (set->c_iflag & IXON) && set->c_cc[VSTOP] == 19 && set->c_cc[VSTART] == 17;
}

static long change_settings(struct tty *t, vaddr_t arg, bool flush)
{
    struct termios set;
    bool was;
    ipl_t ipl;

    if (copyin(&set, arg, sizeof(set)))
        return -EFAULT;
    ipl = spin_lock(&t->lock);
    was = stops_by_keys(&t->set);
    tty_set_locked(t, &set, flush);
    spin_unlock(&t->lock, ipl);
    if (was != stops_by_keys(&set))
        report(t, was ? TIOCPKT_NOSTOP : TIOCPKT_DOSTOP);
    wake_all(&t->readers);
    tty_made_room(t);
    tty_output_resumes(t);
    poll_notify(&t->polled, POLLIN | POLLRDNORM);
    return 0;
}

static long change_size(struct tty *t, vaddr_t arg)
{
    struct winsize size;
    bool changed;
    ipl_t ipl;

    if (copyin(&size, arg, sizeof(size)))
        return -EFAULT;
    ipl = spin_lock(&t->lock);
    changed = memcmp(&size, &t->size, sizeof(size)) != 0;
    t->size = size;
    spin_unlock(&t->lock, ipl);
    if (changed)
        tty_jobs->signal(t, SIGWINCH);
    return 0;
}

/* TCFLSH; what was written has left already. */
static long flush(struct tty *t, vaddr_t which)
{
    ipl_t ipl;

    if (which > TCIOFLUSH)
        return -EINVAL;
    if (which == TCOFLUSH)
        return 0;
    ipl = spin_lock(&t->lock);
    tty_discard_locked(t);
    spin_unlock(&t->lock, ipl);
    tty_made_room(t);
    report(t, TIOCPKT_FLUSHREAD);
    return 0;
}

/* TCXONC; there is nobody whom TCIOFF could tell to send no more. */
static long flow(struct tty *t, vaddr_t what)
{
    if (what > TCION)
        return -EINVAL;
    if (what == TCOOFF || what == TCOON)
        tty_stop(t, what == TCOOFF);
    return 0;
}

long tty_settings(struct tty *t, unsigned long req, vaddr_t arg)
{
    struct winsize size;
    struct termios set;
    ipl_t ipl;

    switch (req) {
    case TCGETS:
        ipl = spin_lock(&t->lock);
        set = t->set;
        spin_unlock(&t->lock, ipl);
        return copyout(arg, &set, sizeof(set));
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
        return change_settings(t, arg, req == TCSETSF);
    case TIOCGWINSZ:
        ipl = spin_lock(&t->lock);
        size = t->size;
        spin_unlock(&t->lock, ipl);
        return copyout(arg, &size, sizeof(size));
    case TIOCSWINSZ:
        return change_size(t, arg);
    case TCSBRK: /* output does not wait anywhere where it could be waited for */
    case TCSBRKP:
        return 0;
    default:
        return -ENOTTY;
    }
}

/* What the request does with the terminal, besides what every process may do that has it open. */
static bool is_checked(unsigned long req, enum tty_use *use)
{
    *use = TTY_CHANGE;
    switch (req) {
    case FIONREAD: /* tells how much was typed */
        *use = TTY_READ;
        return true;
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
    case TCFLSH:
    case TCSBRK:
    case TCSBRKP:
    case TCXONC:
    case TIOCSWINSZ:
        return true;
    default:
        return false;
    }
}

static long tty_ioctl(struct file *f, unsigned long req, vaddr_t arg)
{
    struct tty *t = tty_of(f);
    enum tty_use use;
    uint32_t word;
    ipl_t ipl;
    long r = is_dead(f) ? -EIO : is_checked(req, &use) ? tty_jobs->check(t, use) : 0;

    if (r)
        return r;
    switch (req) {
    case TCFLSH:
        return flush(t, arg);
    case TCXONC:
        return flow(t, arg);
    case FIONREAD:
        ipl = spin_lock(&t->lock);
        word = t->ready - t->head;
        spin_unlock(&t->lock, ipl);
        return copyout_u32(arg, word);
    case TIOCOUTQ:
        return copyout_u32(arg, 0);
    default:
        r = tty_settings(t, req, arg);
        return r == -ENOTTY ? tty_jobs->request(t, f, false, req, arg) : r;
    }
}

static int tty_stat(struct file *f, struct file_stat *st)
{
    if (f->inode)
        inode_stat(f->inode, st);
    else
        *st = (struct file_stat){
            .ino = 1, .mode = S_IFCHR | 0600, .nlink = 1, .rdev = RDEV_CONSOLE, .blksize = 1024};
    return 0;
}

const struct file_ops tty_ops = {.name = "tty",
                                 .open = tty_open,
                                 .read = tty_read,
                                 .write = tty_write,
                                 .write_kernel = tty_write_kernel,
                                 .read_kernel = tty_read_kernel,
                                 .read_wait = tty_read_wait,
                                 .stat = tty_stat,
                                 .ioctl = tty_ioctl,
                                 .poll = tty_poll,
                                 .close = tty_close};
