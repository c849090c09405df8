/*
 * Pseudo-terminals: masters, and what lies between a master and its terminal.
 *
 * What is written to the master is input of the terminal's line discipline, processed by the writer
 * itself; what programs write to the terminal waits in a ring (pty.output) to be read from the
 * master. Neither side takes more than there is room for: a writer waits for the other side to
 * read. Echo that finds no room is lost, but ECHO_ROOM bytes are kept for it from other output.
 *
 * While no file of the terminal is open, after one was, the master reads EIO. When the master is
 * closed, the terminal is gone: it has no name any more, its files are dead as after the end of a
 * session, and the leader of its session gets SIGHUP. The session keeps the terminal until it ends
 * (kernel/proc/terminal.c), and so does the number.
 *
 * Locks: the terminal's (RANK_TTY, IPL_DEVICE) protects what both sides use. A hold of it moves at
 * most TTY_CHUNK characters. Writers to the master take turns (pty.feeding), so that what one call
 * writes stays together; a turn is no mutex, as it lasts until a program reads, which may be never.
 */
#include "kernel/io/pty.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/pty_private.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/thread.h"
#include "mm/pool/pool_charged.h"

#define ECHO_ROOM 64u

static const struct file_ops master_ops;

static uint32_t room_locked(const struct pty *p) { return PTY_OUTPUT - (p->end - p->head); }

static void put_locked(struct pty *p, char c) { p->output[p->end++ % PTY_OUTPUT] = c; }

static void tell_master(struct pty *p, uint32_t events)
{
    wake_all(&p->readers);
    poll_notify(&p->tty.feeders, events);
}

/* ---- the terminal's other end ---- */

static void pty_echo(struct tty *t, const char *text, size_t n)
{
    struct pty *p = pty_of_tty(t);

    for (size_t k = 0; k < n && room_locked(p); k++)
        put_locked(p, text[k]);
}

static void pty_echoed(struct tty *t) { tell_master(pty_of_tty(t), POLLIN | POLLRDNORM); }

static bool pty_has_room(const struct tty *t) { return room_locked(pty_of_tty(t)) > ECHO_ROOM + 1; }

static size_t pty_output(struct tty *t, const char *text, size_t n, bool newlines)
{
    struct pty *p = pty_of_tty(t);
    ipl_t ipl = spin_lock(&t->lock);
    size_t k = 0;

    while (k < n && !t->stopped && room_locked(p) > ECHO_ROOM + 1) {
        if (text[k] == '\n' && newlines)
            put_locked(p, '\r');
        put_locked(p, text[k++]);
    }
    spin_unlock(&t->lock, ipl);
    if (k)
        tell_master(p, POLLIN | POLLRDNORM);
    return k;
}

static void pty_event(struct tty *t, uint8_t events)
{
    struct pty *p = pty_of_tty(t);
    ipl_t ipl = spin_lock(&t->lock);
    bool packet = p->packet;

    if (packet)
        p->status |= events;
    spin_unlock(&t->lock, ipl);
    if (packet)
        tell_master(p, POLLIN | POLLRDNORM | POLLPRI);
}

static int pty_opened(struct tty *t)
{
    struct pty *p = pty_of_tty(t);
    ipl_t ipl = spin_lock(&t->lock);
    int err = p->locked || t->gone ? -EIO : 0;

    if (!err) {
        p->files++;
        p->opened = true;
    }
    spin_unlock(&t->lock, ipl);
    return err;
}

static void pty_closed(struct tty *t)
{
    struct pty *p = pty_of_tty(t);
    ipl_t ipl = spin_lock(&t->lock);
    bool last = --p->files == 0;

    spin_unlock(&t->lock, ipl);
    if (last)
        tell_master(p, POLLIN | POLLHUP);
}

static void pty_ref(struct tty *t) { inode_ref(&pty_of_tty(t)->inode); }
static void pty_unref(struct tty *t) { inode_unref(&pty_of_tty(t)->inode); }

static const struct tty_line pty_line = {.echo = pty_echo,
                                         .echoed = pty_echoed,
                                         .output = pty_output,
                                         .has_room = pty_has_room,
                                         .event = pty_event,
                                         .opened = pty_opened,
                                         .closed = pty_closed,
                                         .ref = pty_ref,
                                         .unref = pty_unref};

/* ---- the pair ---- */

void pty_end(struct inode *i)
{
    struct pty *p = container_of(i, struct pty, inode);

    poll_source_end(&p->tty.polled);
    poll_source_end(&p->tty.feeders);
    pty_number_free(p);
    npp_free_counted(p, sizeof(*p), QUOTA_PTYS, p->account);
}

static int pty_create(struct pty **out)
{
    uint16_t account = pool_account();
    struct io_cred cred = tty_jobs->cred();
    struct pty *p;
    bool full;
    int err;

    p = npp_alloc_counted(sizeof(*p), QUOTA_PTYS, account, &full);
    if (!p)
        return full ? -ENOSPC : -ENOMEM;
    memset(p, 0, sizeof(*p));
    tty_init(&p->tty, &pty_line, 0);
    wait_queue_init(&p->readers, "pty master");
    wait_queue_init(&p->turn, "pty turn");
    p->account = account;
    p->locked = true;
    err = pty_name_enter(p, &cred);
    if (err) {
        npp_free_counted(p, sizeof(*p), QUOTA_PTYS, account);
        return err;
    }
    *out = p;
    return 0;
}

static int ptmx_open(struct file *f)
{
    struct pty *p;
    int err = pty_create(&p);

    if (err)
        return err;
    f->priv = p;
    f->ops = &master_ops;
    return 0;
}

static void master_close(struct file *f)
{
    struct pty *p = f->priv;
    struct tty *t = &p->tty;
    ipl_t ipl = spin_lock(&t->lock);

    __atomic_store_n(&t->gone, true, __ATOMIC_RELAXED); /* from now on it cannot be opened */
    spin_unlock(&t->lock, ipl);
    pty_name_remove(p);
    tty_hang_up(t);
    tty_wake(t);
    tty_jobs->hang_up(t);
    inode_unref(&p->inode);
}

/* ---- reading and writing the master ---- */

/* Is there something to be read, or will there never be? Lock held. */
static bool master_readable_locked(const struct pty *p)
{
    return p->head != p->end || p->status || (p->opened && !p->files);
}

/* Take up to n bytes for one read; in packet mode the first one tells what they are. Their number;
 * 0: there are none; -EIO: and the terminal is closed. Lock held. */
static long take_locked(struct pty *p, char *buf, size_t n)
{
    size_t k = 0;

    if (p->packet && p->status) {
        buf[0] = (char)p->status;
        p->status = 0;
        return 1;
    }
    if (p->head == p->end)
        return p->opened && !p->files ? -EIO : 0;
    if (p->packet)
        buf[k++] = 0;
    while (k < n && p->head != p->end)
        buf[k++] = p->output[p->head++ % PTY_OUTPUT];
    return (long)k;
}

/* One portion of a read: as take_locked, and tells writers of the room. */
static long take(struct pty *p, char *buf, size_t n)
{
    ipl_t ipl = spin_lock(&p->tty.lock);
    long k = take_locked(p, buf, n);

    spin_unlock(&p->tty.lock, ipl);
    if (k > 0)
        tty_output_resumes(&p->tty);
    return k;
}

/* Wait until the master can be read. 0 or a negative errno. */
static int master_wait(struct file *f)
{
    struct pty *p = f->priv;
    struct waiter w;
    int err = 0;

    for (;;) {
        bool ready;
        ipl_t ipl;

        wait_enqueue(&p->readers, &w);
        ipl = spin_lock(&p->tty.lock);
        ready = master_readable_locked(p);
        spin_unlock(&p->tty.lock, ipl);
        if (ready)
            break;
        err = f->flags & O_NONBLOCK ? -EAGAIN : wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return err == -EINTR ? -ERESTARTSYS : err;
}

static bool in_packets(struct pty *p)
{
    ipl_t ipl = spin_lock(&p->tty.lock);
    bool packet = p->packet;

    spin_unlock(&p->tty.lock, ipl);
    return packet;
}

static long master_read(struct file *f, vaddr_t ubuf, size_t n)
{
    struct pty *p = f->priv;
    char buf[TTY_CHUNK];
    size_t done = 0;
    long k = 0;

    if (!n)
        return 0;
    while (done < n) {
        k = take(p, buf, MIN(n - done, sizeof(buf)));
        if (k > 0) {
            if (copyout(ubuf + done, buf, (size_t)k)) {
                k = -EFAULT;
                break;
            }
            done += (size_t)k;
        }
        if (k < 0 || (done && (!k || in_packets(p))))
            break;
        k = sched_loop_point() ? -EINTR : k ? 0 : master_wait(f);
        if (k)
            break;
    }
    return done ? (long)done : k;
}

static long master_read_kernel(struct file *f, const struct file_part *part, unsigned n,
                               void **rest)
{
    struct pty *p = f->priv;
    long done = 0, k = 0;

    (void)rest;
    for (; n; part++, n--)
        for (size_t at = 0; at < part->nbytes; at += (size_t)k) {
            k = take(p, (char *)part->base + at, MIN(part->nbytes - at, TTY_CHUNK));
            done += MAX(k, 0l);
            if (k <= 0 || in_packets(p))
                return done ? done : k ? k : -EAGAIN;
        }
    return done;
}

static long master_read_wait(struct file *f, bool nonblock)
{
    (void)nonblock;
    return master_wait(f);
}

/* Wait until the terminal takes input. 0 or a negative errno. */
static int master_wait_room(struct file *f)
{
    struct pty *p = f->priv;
    struct waiter w;
    int err = 0;

    for (;;) {
        wait_enqueue(&p->tty.room, &w);
        if (tty_has_room(&p->tty))
            break;
        err = f->flags & O_NONBLOCK ? -EAGAIN : wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return err == -EINTR ? -ERESTARTSYS : err;
}

/* Let the terminal process n bytes. *done: how many it has taken, also on an error. */
static int feed(struct file *f, const uint8_t *in, size_t n, size_t *done)
{
    struct pty *p = f->priv;
    int err = 0;

    for (*done = 0; *done < n && !err;) {
        size_t k = tty_input(&p->tty, in + *done, n - *done);

        *done += k;
        if (!k)
            err = master_wait_room(f);
    }
    return err;
}

static bool try_turn(struct pty *p)
{
    return !__atomic_exchange_n(&p->feeding, true, __ATOMIC_ACQUIRE);
}

/* Wait for the caller's turn to write; a nonblocking file's does not wait. 0 or a negative errno.
 * After 0, end_turn(). */
static int begin_turn(struct file *f)
{
    struct pty *p = f->priv;
    struct waiter w;
    int err = 0;

    if (try_turn(p))
        return 0;
    if (f->flags & O_NONBLOCK)
        return -EAGAIN;
    for (;;) {
        wait_enqueue(&p->turn, &w);
        if (try_turn(p))
            break;
        err = wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return err == -EINTR ? -ERESTARTSYS : err;
}

/* All are woken: one that was woken and interrupted at the same time passes nothing on. */
static void end_turn(struct pty *p)
{
    __atomic_store_n(&p->feeding, false, __ATOMIC_RELEASE);
    wake_all(&p->turn);
}

/* Write n bytes of the kernel's (text) or, if that is NULL, of user memory. */
static long write_from(struct file *f, vaddr_t ubuf, const uint8_t *text, size_t n)
{
    struct pty *p = f->priv;
    uint8_t in[TTY_CHUNK];
    size_t done = 0, k = 0;
    int err = n ? begin_turn(f) : 0;

    if (!n || err)
        return err;
    for (; !err && done < n; done += k) {
        size_t part = MIN(n - done, sizeof(in));

        k = 0;
        if (!text && copyin(in, ubuf + done, part))
            err = -EFAULT;
        else if (sched_loop_point())
            err = -EINTR;
        else
            err = feed(f, text ? text + done : in, part, &k);
    }
    end_turn(p);
    return done ? (long)done : err;
}

static long master_write(struct file *f, vaddr_t ubuf, size_t n)
{
    return write_from(f, ubuf, NULL, n);
}

static long master_write_kernel(struct file *f, const void *buf, size_t n)
{
    return write_from(f, 0, buf, n);
}

static unsigned master_poll(struct file *f, struct poll_entry *e)
{
    struct pty *p = f->priv;
    unsigned r = 0;
    ipl_t ipl;

    poll_register(&p->tty.feeders, e);
    if (tty_has_room(&p->tty))
        r |= POLLOUT | POLLWRNORM;
    ipl = spin_lock(&p->tty.lock);
    if (p->head != p->end || p->status)
        r |= POLLIN | POLLRDNORM;
    if (p->status)
        r |= POLLPRI;
    if (p->opened && !p->files)
        r |= POLLHUP;
    spin_unlock(&p->tty.lock, ipl);
    return r;
}

/* ---- requests ---- */

static long set_flag(struct pty *p, bool *flag, vaddr_t arg)
{
    uint32_t word;
    ipl_t ipl;

    if (copyin_u32(&word, arg))
        return -EFAULT;
    ipl = spin_lock(&p->tty.lock);
    *flag = word != 0;
    if (!p->packet)
        p->status = 0;
    spin_unlock(&p->tty.lock, ipl);
    return 0;
}

static long get_flag(struct pty *p, const bool *flag, vaddr_t arg)
{
    ipl_t ipl = spin_lock(&p->tty.lock);
    bool set = *flag;

    spin_unlock(&p->tty.lock, ipl);
    return copyout_u32(arg, set);
}

/* How many bytes wait to be read. */
static uint32_t waiting(struct pty *p)
{
    ipl_t ipl = spin_lock(&p->tty.lock);
    uint32_t n = p->end - p->head;

    spin_unlock(&p->tty.lock, ipl);
    return n;
}

/* TCFLSH: from the master's side, what was written to the terminal is input. */
static long master_flush(struct pty *p, vaddr_t which)
{
    ipl_t ipl;

    if (which > TCIOFLUSH)
        return -EINVAL;
    ipl = spin_lock(&p->tty.lock);
    if (which != TCOFLUSH)
        p->head = p->end;
    if (which != TCIFLUSH)
        tty_discard_locked(&p->tty);
    spin_unlock(&p->tty.lock, ipl);
    tty_output_resumes(&p->tty);
    tty_made_room(&p->tty);
    return 0;
}

/* TIOCSIG: the signals that keys could cause. */
static long master_signal(struct pty *p, vaddr_t sig)
{
    if (sig != 2 && sig != 3 && sig != 18) /* SIGINT, SIGQUIT, SIGTSTP */
        return -EINVAL;
    tty_jobs->signal(&p->tty, (int)sig);
    return 0;
}

static long master_ioctl(struct file *f, unsigned long req, vaddr_t arg)
{
    struct pty *p = f->priv;
    long r;

    switch (req) {
    case TIOCGPTN:
        return copyout_u32(arg, pty_index(p));
    case TIOCSPTLCK:
        return set_flag(p, &p->locked, arg);
    case TIOCGPTLCK:
        return get_flag(p, &p->locked, arg);
    case TIOCPKT:
        return set_flag(p, &p->packet, arg);
    case TIOCGPKT:
        return get_flag(p, &p->packet, arg);
    case TIOCSIG:
        return master_signal(p, arg);
    case FIONREAD:
        return copyout_u32(arg, waiting(p));
    case TIOCOUTQ:
        return copyout_u32(arg, 0);
    case TCFLSH:
        return master_flush(p, arg);
    default:
        r = tty_settings(&p->tty, req, arg);
        return r == -ENOTTY ? tty_jobs->request(&p->tty, f, true, req, arg) : r;
    }
}

static int master_stat(struct file *f, struct file_stat *st)
{
    inode_stat(f->inode, st);
    return 0;
}

const struct file_ops ptmx_ops = {.name = "ptmx", .open = ptmx_open};
static const struct file_ops master_ops = {.name = "ptmx",
                                           .read = master_read,
                                           .write = master_write,
                                           .write_kernel = master_write_kernel,
                                           .read_kernel = master_read_kernel,
                                           .read_wait = master_read_wait,
                                           .stat = master_stat,
                                           .ioctl = master_ioctl,
                                           .poll = master_poll,
                                           .close = master_close};

int pty_open_peer(const struct file *f, uint32_t flags, struct file **out)
{
    struct pty *p = f->priv;
    struct file *peer;
    int err;

    if (f->ops != &master_ops)
        return f->ops == &tty_ops ? -EIO : -ENOTTY;
    if ((flags & O_ACCMODE) == O_ACCMODE)
        return -EINVAL;
    peer = file_alloc(&tty_ops, flags & (O_ACCMODE | O_NONBLOCK | O_NOCTTY));
    if (!peer)
        return file_why_not();
    inode_ref(&p->inode);
    peer->inode = &p->inode;
    err = tty_ops.open(peer);
    peer->flags &= ~O_NOCTTY;
    if (err) {
        inode_unref(&p->inode);
        file_free(peer);
        return err;
    }
    *out = peer;
    return 0;
}
