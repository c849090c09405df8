/*
 * The console terminal: a line discipline on top of COM1.
 *
 * The interrupt only puts received bytes into a ring (kernel/drivers/serial.c). A kernel thread
 * takes them out and performs the line discipline: signals, echo, editing, lines. When the queue is
 * full because nobody reads, the thread stops taking bytes; then the ring fills, then the UART,
 * then QEMU stops reading from the sender. So pasted text is never lost.
 *
 * The queue holds 16-bit words, each a character or TTY_EOF. In canonical mode the words before
 * `ready` are complete lines, which can be read, and those from `ready` to `end` are the line being
 * edited. In raw mode all words can be read at once.
 *
 * To which session and to which of its groups the terminal belongs is kernel/proc/terminal.c's
 * subject. A reader asks it first, without tty.lock, and takes input only if the foreground group
 * has not changed since (tty.changes); so no input goes to a process that has lost the terminal
 * while it waited.
 *
 * Lock: tty.lock (RANK_TTY, IPL_DEVICE), never held while user memory is touched.
 */
#include "kernel/io/tty.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/drivers/serial.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/io/termios.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"

#define TTY_QUEUE 4096u  /* characters; also the longest line, as on Linux */
#define TTY_EOF   0x100u /* ^D was typed: the read ends here */
#define TTY_CHUNK 64u    /* characters copied at a time, on the kernel stack */
#define SIGINT    2
#define SIGQUIT   3
#define SIGTSTP   18
#define SIGWINCH  28

#define ERASE_AT_ONCE 8u /* characters, in up to 150 instructions each */

enum erasing { ERASE_NOTHING, ERASE_LINE, ERASE_BLANKS, ERASE_WORD };

/* All fields are protected by lock. */
struct tty {
    struct spinlock lock;
    struct termios set;
    struct winsize size;
    uint32_t changes;          /* of the foreground group, a free-running count */
    uint32_t hangups;          /* ends of sessions; also read as an atomic word */
    uint32_t head, ready, end; /* free-running counts into queue */
    uint32_t lines;            /* line ends and EOFs between head and ready */
    enum erasing erasing;      /* what the tty thread has still to erase of the line */
    bool literal;              /* ^V was typed: the next character is taken literally */
    uint16_t queue[TTY_QUEUE];
    struct wait_queue readers; /* readers wait for lines or characters */
    struct wait_queue room;    /* the tty thread waits for room in the queue */
};

static struct serial com1;
static struct tty tty = {
    .lock = SPINLOCK_INIT("tty", RANK_TTY, IPL_DEVICE),
    .set = {.c_iflag = ICRNL | IXON,
            .c_oflag = OPOST | ONLCR,
            .c_cflag = CS8 | CREAD | CLOCAL | B38400,
            .c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
            .c_cc = {[VEOF] = 4,
                     [VERASE] = 127,
                     [VWERASE] = 23,
                     [VKILL] = 21,
                     [VREPRINT] = 18,
                     [VINTR] = 3,
                     [VQUIT] = 28,
                     [VSUSP] = 26,
                     [VSTART] = 17,
                     [VSTOP] = 19,
                     [VLNEXT] = 22,
                     [VDISCARD] = 15,
                     [VMIN] = 1},
            .c_ispeed = B38400,
            .c_ospeed = B38400},
    .size = {.ws_row = 24, .ws_col = 80},
    .readers = WAIT_QUEUE_INIT("tty readers", tty.readers),
    .room = WAIT_QUEUE_INIT("tty room", tty.room),
};

const struct tty_jobs *tty_jobs;

static uint16_t *slot(uint32_t at) { return &tty.queue[at % TTY_QUEUE]; }

static void echo(const char *text, size_t n)
{
    if (tty.set.c_lflag & ECHO)
        printk_queue(text, n);
}

static void echo_char(uint8_t c)
{
    if (c == '\n') {
        if (tty.set.c_lflag & (ECHO | ECHONL))
            printk_queue("\r\n", 2);
    } else if (c < 32 && c != '\t' && (tty.set.c_lflag & ECHOCTL)) {
        char text[2] = {'^', (char)(c + 64)};
        echo(text, 2);
    } else {
        echo((const char *)&c, 1);
    }
}

/* Erase the last character of the line being edited. False: the line is empty. */
static bool erase_one(void)
{
    uint8_t c;

    if (tty.end == tty.ready)
        return false;
    c = (uint8_t)*slot(--tty.end);
    while ((c & 0xC0) == 0x80 && tty.end != tty.ready) /* continuation bytes of a UTF-8 character */
        c = (uint8_t)*slot(--tty.end);
    if (tty.set.c_lflag & ECHOE)
        echo("\b \b\b \b", c < 32 ? 6 : 3);
    return true;
}

static bool is_char(uint8_t c, unsigned which) { return c && c == tty.set.c_cc[which]; }

static void line_complete(void)
{
    tty.ready = tty.end;
    tty.lines++;
}

/* Go on with the erasure of a line or word: a few characters for each hold of the lock. True: there
 * is more to do. */
static bool erase_some_locked(void)
{
    for (unsigned n = 0; n < ERASE_AT_ONCE; n++) {
        bool blank = tty.end != tty.ready && *slot(tty.end - 1) == ' ';

        if (tty.erasing == ERASE_BLANKS && !blank)
            tty.erasing = ERASE_WORD;
        if (tty.erasing == ERASE_NOTHING || (tty.erasing == ERASE_WORD && blank) || !erase_one()) {
            tty.erasing = ERASE_NOTHING;
            return false;
        }
    }
    return true;
}

/* Editing in canonical mode. True: c was an editing character. */
static bool edit(uint8_t c)
{
    if (is_char(c, VERASE) || c == '\b') {
        erase_one();
    } else if (is_char(c, VKILL)) {
        tty.erasing = ERASE_LINE;
    } else if (is_char(c, VWERASE)) {
        tty.erasing = ERASE_BLANKS;
    } else if (is_char(c, VEOF)) {
        *slot(tty.end++) = TTY_EOF;
        line_complete();
    } else if (is_char(c, VLNEXT) && (tty.set.c_lflag & IEXTEN)) {
        tty.literal = true;
    } else {
        return false;
    }
    return true;
}

/* The signal that c stands for, 0: none. Input that was typed before it is discarded (unless
 * NOFLSH). */
static int signal_char(uint8_t c)
{
    int sig = 0;

    if (!(tty.set.c_lflag & ISIG) || tty.literal)
        return 0;
    if (is_char(c, VINTR))
        sig = SIGINT;
    else if (is_char(c, VQUIT))
        sig = SIGQUIT;
    else if (is_char(c, VSUSP))
        sig = SIGTSTP;
    if (sig) {
        echo_char(c);
        if (!(tty.set.c_lflag & NOFLSH)) {
            tty.head = tty.ready = tty.end;
            tty.lines = 0;
        }
    }
    return sig;
}

/* Process one received character; the caller has checked that there is room. Returns a signal to
 * send, or 0. */
static int input_locked(uint8_t c)
{
    bool canonical = (tty.set.c_lflag & ICANON) != 0, literal;
    int sig;

    if (tty.set.c_iflag & ISTRIP)
        c &= 0x7F;
    if (c == '\r' && !tty.literal) {
        if (tty.set.c_iflag & IGNCR)
            return 0;
        if (tty.set.c_iflag & ICRNL)
            c = '\n';
    } else if (c == '\n' && (tty.set.c_iflag & INLCR) && !tty.literal) {
        c = '\r';
    }
    sig = signal_char(c);
    if (sig)
        return sig;
    if (canonical && !tty.literal && edit(c))
        return 0;
    literal = tty.literal;
    tty.literal = false;
    /* If this fills the queue, has_room_locked ends an over-long line. */
    *slot(tty.end++) = c;
    echo_char(c);
    if (!canonical)
        tty.ready = tty.end;
    else if (!literal && (c == '\n' || is_char(c, VEOL) || is_char(c, VEOL2)))
        line_complete();
    return 0;
}

/* Is there room for another character? If one unfinished line fills the queue, it is completed as
 * it is, so that a reader can make room: then *completed is set, and the caller wakes readers. */
static bool has_room_locked(bool *completed)
{
    if (tty.end - tty.head < TTY_QUEUE)
        return true;
    if (tty.ready == tty.head && (tty.set.c_lflag & ICANON)) {
        line_complete(); /* the line is as long as the queue */
        *completed = true;
    }
    return false;
}

static void wait_for(struct wait_queue *q, bool (*condition)(void))
{
    struct waiter w;

    for (;;) {
        wait_enqueue(q, &w);
        if (condition())
            break;
        wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
    }
    wait_finish(&w);
}

static bool bytes_came(void) { return serial_ready(&com1); }

static bool room_came(void)
{
    ipl_t ipl = spin_lock(&tty.lock);
    bool completed = false, room = has_room_locked(&completed);

    spin_unlock(&tty.lock, ipl);
    if (completed)
        wake_all(&tty.readers);
    return room;
}

/* Send the echo, and erase what is to be erased. */
static void finish_input(void)
{
    bool more;

    do {
        ipl_t ipl;

        printk_send();
        ipl = spin_lock(&tty.lock);
        more = erase_some_locked();
        spin_unlock(&tty.lock, ipl);
    } while (more);
    printk_send();
}

static void tty_thread(void *arg)
{
    (void)arg;
    for (;;) {
        uint8_t c;
        bool wake;
        ipl_t ipl;
        int sig;

        wait_for(&tty.room, room_came);
        wait_for(&com1.queue, bytes_came);
        if (!serial_take(&com1, &c, 1))
            continue;
        ipl = spin_lock(&tty.lock);
        sig = input_locked(c);
        wake = tty.ready != tty.head;
        spin_unlock(&tty.lock, ipl);
        finish_input();
        if (wake) {
            wake_all(&tty.readers);
            poll_notify();
        }
        if (sig && tty_jobs)
            tty_jobs->signal(sig);
    }
}

/* Can a read return without waiting? */
static bool readable_locked(void)
{
    if (tty.set.c_lflag & ICANON)
        return tty.lines != 0;
    return tty.ready - tty.head >= MAX(tty.set.c_cc[VMIN], 1);
}

/* Take up to n bytes for one read. *stop: a line end or EOF ended the read. */
static size_t take_locked(uint8_t *buf, size_t n, bool *stop)
{
    bool canonical = (tty.set.c_lflag & ICANON) != 0;
    size_t k = 0;

    *stop = false;
    while (k < n && tty.head != tty.ready && !*stop) {
        uint16_t c = *slot(tty.head++);

        if (c == TTY_EOF) {
            if (tty.lines)
                tty.lines--;
            if (canonical)
                *stop = true;
            continue;
        }
        buf[k++] = (uint8_t)c;
        if (canonical && (c == '\n' || is_char((uint8_t)c, VEOL) || is_char((uint8_t)c, VEOL2) ||
                          tty.head == tty.ready)) {
            if (tty.lines)
                tty.lines--;
            *stop = true;
        }
    }
    return k;
}

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
    tty_foreground_changed();
    poll_notify();
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
        ready = readable_locked() || tty.changes != changes;
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
            part = take_locked(buf, MIN(n - done, sizeof(buf)), &stop);
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

static unsigned tty_poll(struct file *f)
{
    ipl_t ipl = spin_lock(&tty.lock);
    unsigned r = POLLOUT | POLLWRNORM | (readable_locked() ? POLLIN | POLLRDNORM : 0);

    spin_unlock(&tty.lock, ipl);
    return is_dead(f) ? POLLIN | POLLRDNORM | POLLHUP : r;
}

static void set_locked(const struct termios *t, bool flush)
{
    bool was = (tty.set.c_lflag & ICANON) != 0;

    tty.set = *t;
    if (flush) {
        tty.head = tty.ready = tty.end;
        tty.lines = 0;
    } else if (was && !(t->c_lflag & ICANON)) {
        tty.ready = tty.end;
        tty.lines = 0;
    } else if (!was && (t->c_lflag & ICANON)) {
        tty.lines = tty.ready != tty.head; /* the words that are ready count as one line */
    }
}

static long change_settings(vaddr_t arg, bool flush)
{
    struct termios t;
    ipl_t ipl;

    if (copyin(&t, arg, sizeof(t)))
        return -EFAULT;
    ipl = spin_lock(&tty.lock);
    set_locked(&t, flush);
    spin_unlock(&tty.lock, ipl);
    wake_all(&tty.readers);
    wake_all(&tty.room);
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

void tty_boot(void)
{
    struct thread *t;

    serial_boot(&com1, &uart_com1, "com1", poll_notify);
    t = thread_create("tty", tty_thread, NULL, PRIO_NORMAL + 4);
    if (!t)
        panic("no memory for the terminal's thread");
    thread_start(t);
}
