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
 * Lock: tty.lock (RANK_TTY, IPL_DEVICE), never held while user memory is touched.
 */
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/drivers/serial.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/io/tty_private.h"
#include "kernel/sched/thread.h"

#define TTY_EOF 0x100u /* ^D was typed: the read ends here */
#define SIGINT  2
#define SIGQUIT 3
#define SIGTSTP 18

#define ERASE_AT_ONCE 8u /* characters, in up to 150 instructions each */

static struct serial com1;
struct tty tty = {
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
            poll_notify(&tty.polled, POLLIN | POLLRDNORM);
        }
        if (sig && tty_jobs)
            tty_jobs->signal(sig);
    }
}

bool tty_readable_locked(void)
{
    if (tty.set.c_lflag & ICANON)
        return tty.lines != 0;
    return tty.ready - tty.head >= MAX(tty.set.c_cc[VMIN], 1);
}

size_t tty_take_locked(uint8_t *buf, size_t n, bool *stop)
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

void tty_set_locked(const struct termios *t, bool flush)
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

void tty_boot(void)
{
    struct thread *t;

    poll_source_init(&tty.polled);
    serial_boot(&com1, &uart_com1, "com1", NULL);
    t = thread_create("tty", tty_thread, NULL, PRIO_NORMAL + 4);
    if (!t)
        panic("no memory for the terminal's thread");
    thread_start(t);
}
