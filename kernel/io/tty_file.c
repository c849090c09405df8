/*
 * Open files of the terminal: reading, writing, settings. The line discipline is tty.c.
 *
 * To which session and to which of its groups the terminal belongs is kernel/proc/terminal.c's
 * subject. A reader asks it first, without tty.lock, and takes input only if the foreground group
 * has not changed since (tty.changes); so no input goes to a process that has lost the terminal
 * while it waited.
 *
 * Lock: tty.lock (RANK_TTY, IPL_DEVICE), never held while user memory is touched.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/io/tty_private.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"

#define TTY_CHUNK 64u /* characters copied at a time, on the kernel stack */
#define SIGWINCH  28

const struct tty_jobs *tty_jobs;

void tty_foreground_changed(void)
{
    ipl_t ipl = spin_lock(&tty.lock);

    tty.changes++;
    spin_unlock(&tty.lock, ipl);
    wake_all(&tty.readers);
}

void tty_hang_up(void)
{
    __atomic_fetch_add(&tty.hangups, 1, __ATOMIC_RELAXED);
    tty_foreground_changed(); /* under the lock, which orders the count and the look for pollers */
    poll_notify(&tty.polled, POLLIN | POLLHUP);
}

/* Was the session that opened f ended? tty_open has noted the count of hang-ups in f->priv. */
static bool is_dead(const struct file *f)
{
    return (uintptr_t)f->priv != __atomic_load_n(&tty.hangups, __ATOMIC_RELAXED);
}

static int tty_open(struct file *f)
{
    f->priv = (void *)(uintptr_t)__atomic_load_n(&tty.hangups, __ATOMIC_RELAXED);
    return f->inode->rdev == RDEV_TTY && !tty_jobs->has() ? -ENXIO : 0;
}

static uint32_t changes_now(void)
{
    ipl_t ipl = spin_lock(&tty.lock);
    uint32_t changes = tty.changes;

    spin_unlock(&tty.lock, ipl);
    return changes;
}

/* Wait until a read can return, or the foreground group changes. 0 or a negative errno; -ETIMEDOUT:
 * VTIME has passed. */
static long wait_readable(struct file *f, uint32_t changes)
{
    struct waiter w;
    long err = 0;

    for (;;) {
        uint64_t deadline = WAIT_FOREVER;
        bool ready;
        ipl_t ipl;

        wait_enqueue(&tty.readers, &w);
        ipl = spin_lock(&tty.lock);
        ready = tty_readable_locked() || tty.changes != changes;
        if (!(tty.set.c_lflag & ICANON) && tty.set.c_cc[VMIN] == 0)
            deadline = clock_ns() + tty.set.c_cc[VTIME] * UINT64_C(100000000);
        spin_unlock(&tty.lock, ipl);
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
static long take(vaddr_t ubuf, size_t n, uint32_t changes)
{
    uint8_t buf[TTY_CHUNK];
    bool stop = false;
    size_t done = 0;

    while (done < n && !stop) {
        size_t part = 0;
        ipl_t ipl = spin_lock(&tty.lock);

        if (tty.changes == changes)
            part = tty_take_locked(buf, MIN(n - done, sizeof(buf)), &stop);
        spin_unlock(&tty.lock, ipl);
        if (!part)
            break;
        if (copyout(ubuf + done, buf, part))
            return done ? (long)done : -EFAULT;
        done += part;
    }
    return done || stop ? (long)done : -EAGAIN;
}

static long tty_read(struct file *f, vaddr_t ubuf, size_t n)
{
    long r = -EAGAIN;

    if (!n)
        return 0;
    while (r == -EAGAIN) {
        uint32_t changes = changes_now();

        if (is_dead(f))
            return 0;
        r = tty_jobs->check(TTY_READ);
        if (!r)
            r = wait_readable(f, changes);
        if (r)
            return r == -ETIMEDOUT ? 0 : r;
        r = take(ubuf, n, changes);
    }
    wake_all(&tty.room);
    return r;
}

static long tty_write(struct file *f, vaddr_t ubuf, size_t n)
{
    char in[TTY_CHUNK], out[2 * TTY_CHUNK];
    ipl_t ipl = spin_lock(&tty.lock);
    bool newlines = (tty.set.c_oflag & (OPOST | ONLCR)) == (OPOST | ONLCR);
    bool checked = (tty.set.c_lflag & TOSTOP) != 0;
    size_t done = 0;
    int err = 0;

    spin_unlock(&tty.lock, ipl);
    if (checked)
        err = tty_jobs->check(TTY_WRITE);
    if (is_dead(f))
        err = -EIO;
    if (err)
        return err;
    while (done < n) {
        size_t part = MIN(n - done, sizeof(in)), k = 0;

        if (copyin(in, ubuf + done, part))
            return done ? (long)done : -EFAULT;
        if (sched_loop_point())
            return done ? (long)done : -EINTR;
        for (size_t j = 0; j < part; j++) {
            if (in[j] == '\n' && newlines)
                out[k++] = '\r';
            out[k++] = in[j];
        }
        printk_bytes(out, k);
        done += part;
    }
    return (long)done;
}

static unsigned tty_poll(struct file *f, struct poll_entry *e)
{
    unsigned r;
    ipl_t ipl;

    poll_register(&tty.polled, e);
    ipl = spin_lock(&tty.lock);
    r = POLLOUT | POLLWRNORM | (tty_readable_locked() ? POLLIN | POLLRDNORM : 0);

    spin_unlock(&tty.lock, ipl);
    return is_dead(f) ? POLLIN | POLLRDNORM | POLLHUP : r;
}

static long change_settings(vaddr_t arg, bool flush)
{
    struct termios t;
    ipl_t ipl;

    if (copyin(&t, arg, sizeof(t)))
        return -EFAULT;
    ipl = spin_lock(&tty.lock);
    tty_set_locked(&t, flush);
    spin_unlock(&tty.lock, ipl);
    wake_all(&tty.readers);
    wake_all(&tty.room);
    poll_notify(&tty.polled, POLLIN | POLLRDNORM);
    return 0;
}

static long change_size(vaddr_t arg)
{
    struct winsize size;
    bool changed;
    ipl_t ipl;

    if (copyin(&size, arg, sizeof(size)))
        return -EFAULT;
    ipl = spin_lock(&tty.lock);
    changed = memcmp(&size, &tty.size, sizeof(size)) != 0;
    tty.size = size;
    spin_unlock(&tty.lock, ipl);
    if (changed)
        tty_jobs->signal(SIGWINCH);
    return 0;
}

static void discard_input(void)
{
    ipl_t ipl = spin_lock(&tty.lock);

    tty.head = tty.ready = tty.end;
    tty.lines = 0;
    spin_unlock(&tty.lock, ipl);
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
    case TCXONC:
    case TIOCSWINSZ:
        return true;
    default:
        return false;
    }
}

static long tty_ioctl(struct file *f, unsigned long req, vaddr_t arg)
{
    struct winsize size;
    enum tty_use use;
    struct termios t;
    uint32_t word;
    ipl_t ipl;
    int err = is_dead(f) ? -EIO : is_checked(req, &use) ? tty_jobs->check(use) : 0;

    if (err)
        return err;
    switch (req) {
    case TCGETS:
        ipl = spin_lock(&tty.lock);
        t = tty.set;
        spin_unlock(&tty.lock, ipl);
        return copyout(arg, &t, sizeof(t));
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
        return change_settings(arg, req == TCSETSF);
    case TCFLSH:
        discard_input();
        return 0;
    case TCSBRK:
    case TCXONC:
        return 0;
    case FIONREAD:
        ipl = spin_lock(&tty.lock);
        word = tty.ready - tty.head;
        spin_unlock(&tty.lock, ipl);
        return copyout_u32(arg, word);
    case TIOCGWINSZ:
        ipl = spin_lock(&tty.lock);
        size = tty.size;
        spin_unlock(&tty.lock, ipl);
        return copyout(arg, &size, sizeof(size));
    case TIOCSWINSZ:
        return change_size(arg);
    default:
        return tty_jobs->request(f, req, arg);
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
                                 .stat = tty_stat,
                                 .ioctl = tty_ioctl,
                                 .poll = tty_poll};
