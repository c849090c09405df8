/*
 * The line discipline of terminals: signals, echo, editing, lines. What is at the other end of the
 * line, COM1 or the master of a pseudo-terminal, brings received characters to tty_input(), and
 * gets output and echo by struct tty_line.
 *
 * When the queue is full because nobody reads, no character is taken. Then the sender is held back:
 * for the console the ring fills, then the UART, then QEMU stops reading; a writer to a master
 * waits. So pasted text is never lost.
 *
 * The queue holds 16-bit words, each a character or TTY_EOF. In canonical mode the words before
 * `ready` are complete lines, which can be read, and those from `ready` to `end` are the line being
 * edited. In raw mode all words can be read at once. The last word of a line has TTY_END: whether a
 * character ends a line is decided when it comes, so a newline after ^V does not, and a change of
 * the characters that do changes nothing for those in the queue. What is in the queue when
 * canonical mode begins is one line: the flags of those `merged` words do not count.
 *
 * Lock: that of the terminal (RANK_TTY, IPL_DEVICE), never held while user memory is touched.
 */
#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/io/tty_private.h"

#define TTY_EOF 0x100u /* ^D was typed: the read ends here */
#define TTY_END 0x200u /* the last word of a line */
#define SIGINT  2
#define SIGQUIT 3
#define SIGTSTP 18

#define AT_ONCE 8u /* characters in one hold of the lock, in up to 150 instructions each */

const struct tty_jobs *tty_jobs;

static const struct termios initial = {.c_iflag = ICRNL | IXON,
                                       .c_oflag = OPOST | ONLCR,
                                       .c_cflag = CS8 | CREAD | B38400,
                                       .c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL |
                                                  ECHOKE | IEXTEN,
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
                                       .c_ospeed = B38400};

void tty_init(struct tty *t, const struct tty_line *line, unsigned number)
{
    t->line = line;
    t->number = number;
    t->set = initial;
    spin_init(&t->lock, "tty", RANK_TTY, IPL_DEVICE);
    wait_queue_init(&t->readers, "tty readers");
    wait_queue_init(&t->writers, "tty writers");
    wait_queue_init(&t->room, "tty room");
    poll_source_init(&t->polled);
    poll_source_init(&t->feeders);
}

unsigned tty_number(const struct tty *t) { return t->number; }

bool tty_is_gone(const struct tty *t) { return __atomic_load_n(&t->gone, __ATOMIC_RELAXED); }

void tty_ref(struct tty *t)
{
    if (t->line->ref)
        t->line->ref(t);
}

void tty_unref(struct tty *t)
{
    if (t->line->unref)
        t->line->unref(t);
}

static uint16_t *slot(struct tty *t, uint32_t at) { return &t->queue[at % TTY_QUEUE]; }

static void echo(struct tty *t, const char *text, size_t n)
{
    if (t->set.c_lflag & ECHO)
        t->line->echo(t, text, n);
}

static void echo_char(struct tty *t, uint8_t c, bool literal)
{
    if (c == '\n' && !literal) {
        if (t->set.c_lflag & (ECHO | ECHONL))
            t->line->echo(t, "\r\n", 2);
    } else if (c < 32 && c != '\t' && (t->set.c_lflag & ECHOCTL)) {
        char text[2] = {'^', (char)(c + 64)};
        echo(t, text, 2);
    } else {
        echo(t, (const char *)&c, 1);
    }
}

/* Erase the last character of the line being edited. False: the line is empty. */
static bool erase_one(struct tty *t)
{
    uint8_t c;

    if (t->end == t->ready)
        return false;
    c = (uint8_t)*slot(t, --t->end);
    /* A character of UTF-8 has at most three continuation bytes. */
    for (unsigned n = 0; n < 3 && (c & 0xC0) == 0x80 && t->end != t->ready; n++)
        c = (uint8_t)*slot(t, --t->end);
    if (t->set.c_lflag & ECHOE)
        echo(t, "\b \b\b \b", c < 32 ? 6 : 3);
    return true;
}

static bool is_char(const struct tty *t, uint8_t c, unsigned which)
{
    return c && c == t->set.c_cc[which];
}

/* The line being edited, which has a word at least, is complete. */
static void line_complete(struct tty *t)
{
    *slot(t, t->end - 1) |= TTY_END;
    t->ready = t->end;
    t->lines++;
}

/* Go on with the erasure of a line or word: a few characters for each hold of the lock. True: there
 * is more to do. */
static bool erase_some_locked(struct tty *t)
{
    for (unsigned n = 0; n < AT_ONCE; n++) {
        bool blank = t->end != t->ready && *slot(t, t->end - 1) == ' ';

        if (t->erasing == ERASE_BLANKS && !blank)
            t->erasing = ERASE_WORD;
        if (t->erasing == ERASE_NOTHING || (t->erasing == ERASE_WORD && blank) || !erase_one(t)) {
            t->erasing = ERASE_NOTHING;
            return false;
        }
    }
    return true;
}

/* Editing in canonical mode. True: c was an editing character. */
static bool edit(struct tty *t, uint8_t c)
{
    if (is_char(t, c, VERASE) || c == '\b') {
        erase_one(t);
    } else if (is_char(t, c, VKILL)) {
        t->erasing = ERASE_LINE;
    } else if (is_char(t, c, VWERASE)) {
        t->erasing = ERASE_BLANKS;
    } else if (is_char(t, c, VEOF)) {
        *slot(t, t->end++) = TTY_EOF;
        line_complete(t);
    } else if (is_char(t, c, VLNEXT) && (t->set.c_lflag & IEXTEN)) {
        t->literal = true;
        if (t->set.c_lflag & ECHOCTL)
            echo(t, "^\b", 2); /* what comes next is shown in its place */
    } else {
        return false;
    }
    return true;
}

/* The signal that c stands for, 0: none. Input that was typed before it is discarded (unless
 * NOFLSH). */
static int signal_char(struct tty *t, uint8_t c)
{
    int sig = 0;

    if (!(t->set.c_lflag & ISIG) || t->literal)
        return 0;
    if (is_char(t, c, VINTR))
        sig = SIGINT;
    else if (is_char(t, c, VQUIT))
        sig = SIGQUIT;
    else if (is_char(t, c, VSUSP))
        sig = SIGTSTP;
    if (sig) {
        echo_char(t, c, false);
        if (!(t->set.c_lflag & NOFLSH))
            tty_discard_locked(t);
    }
    return sig;
}

/* ^S and ^Q. True: c was one of them. */
static bool flow_char(struct tty *t, uint8_t c)
{
    bool stop = is_char(t, c, VSTOP), start = is_char(t, c, VSTART), was = t->stopped;

    if (!(t->set.c_iflag & IXON) || t->literal)
        return false;
    if (stop && start) /* one character for both changes from one to the other */
        t->stopped = !was;
    else if (stop)
        t->stopped = true;
    else if (start || (t->set.c_iflag & IXANY))
        t->stopped = false;
    if (t->stopped != was)
        t->events = t->stopped ? TIOCPKT_STOP : TIOCPKT_START;
    return stop || start;
}

/* Process one received character; the caller has checked that there is room. Returns a signal to
 * send, or 0. */
static int input_locked(struct tty *t, uint8_t c)
{
    bool canonical = (t->set.c_lflag & ICANON) != 0, literal;
    int sig;

    if (t->set.c_iflag & ISTRIP)
        c &= 0x7F;
    if (c == '\r' && !t->literal) {
        if (t->set.c_iflag & IGNCR)
            return 0;
        if (t->set.c_iflag & ICRNL)
            c = '\n';
    } else if (c == '\n' && (t->set.c_iflag & INLCR) && !t->literal) {
        c = '\r';
    }
    if (flow_char(t, c))
        return 0;
    sig = signal_char(t, c);
    if (sig)
        return sig;
    if (canonical && !t->literal && edit(t, c))
        return 0;
    literal = t->literal;
    t->literal = false;
    /* If this fills the queue, has_room_locked ends an over-long line. */
    *slot(t, t->end++) = c;
    echo_char(t, c, literal);
    if (!canonical)
        t->ready = t->end;
    else if (!literal && (c == '\n' || is_char(t, c, VEOL) || is_char(t, c, VEOL2)))
        line_complete(t);
    return 0;
}

/* Is there room for another character? If one unfinished line fills the queue, it is completed as
 * it is, so that a reader can make room: then *completed is set, and the caller wakes readers. */
static bool has_room_locked(struct tty *t, bool *completed)
{
    if (t->end - t->head < TTY_QUEUE)
        return true;
    if (t->ready == t->head && (t->set.c_lflag & ICANON)) {
        line_complete(t); /* the line is as long as the queue */
        *completed = true;
    }
    return false;
}

bool tty_has_room(struct tty *t)
{
    ipl_t ipl = spin_lock(&t->lock);
    bool completed = false, room = has_room_locked(t, &completed);

    spin_unlock(&t->lock, ipl);
    if (completed)
        wake_all(&t->readers);
    return room;
}

/* Send the echo, and erase what is to be erased. */
static void finish_input(struct tty *t)
{
    bool more;

    do {
        ipl_t ipl;

        t->line->echoed(t);
        ipl = spin_lock(&t->lock);
        more = erase_some_locked(t);
        spin_unlock(&t->lock, ipl);
    } while (more);
    t->line->echoed(t);
}

/* Tell of what ^S and ^Q did. */
static void report_flow(struct tty *t, uint8_t events)
{
    if (events & TIOCPKT_START)
        tty_output_resumes(t);
    if (t->line->event)
        t->line->event(t, events);
}

size_t tty_input(struct tty *t, const uint8_t *in, size_t n)
{
    bool completed = false, readable;
    ipl_t ipl = spin_lock(&t->lock);
    uint8_t events;
    size_t k = 0;
    int sig = 0;

    while (k < MIN(n, AT_ONCE) && !sig && !t->erasing && has_room_locked(t, &completed))
        sig = input_locked(t, in[k++]);
    readable = t->ready != t->head;
    events = t->events;
    t->events = 0;
    spin_unlock(&t->lock, ipl);
    finish_input(t);
    if (events)
        report_flow(t, events);
    if (readable) {
        wake_all(&t->readers);
        poll_notify(&t->polled, POLLIN | POLLRDNORM);
    }
    if (sig && tty_jobs) {
        tty_made_room(t);
        tty_jobs->signal(t, sig);
    }
    return k;
}

void tty_made_room(struct tty *t)
{
    wake_all(&t->room);
    poll_notify(&t->feeders, POLLOUT | POLLWRNORM);
}

void tty_output_resumes(struct tty *t)
{
    wake_all(&t->writers);
    poll_notify(&t->polled, POLLOUT | POLLWRNORM);
}

void tty_stop(struct tty *t, bool stopped)
{
    ipl_t ipl = spin_lock(&t->lock);
    bool changed = t->stopped != stopped;

    t->stopped = stopped;
    spin_unlock(&t->lock, ipl);
    if (changed)
        report_flow(t, stopped ? TIOCPKT_STOP : TIOCPKT_START);
}

void tty_foreground_changed(struct tty *t)
{
    ipl_t ipl = spin_lock(&t->lock);

    t->changes++;
    spin_unlock(&t->lock, ipl);
}

void tty_hang_up(struct tty *t)
{
    __atomic_fetch_add(&t->hangups, 1, __ATOMIC_RELAXED);
    tty_foreground_changed(t); /* under the lock, which orders the count and the look for pollers */
    poll_notify(&t->polled, POLLIN | POLLHUP);
}

void tty_wake(struct tty *t)
{
    wake_all(&t->readers);
    wake_all(&t->writers);
}

bool tty_writable_locked(const struct tty *t)
{
    return !t->stopped && (!t->line->has_room || t->line->has_room(t));
}

bool tty_readable_locked(const struct tty *t)
{
    if (t->set.c_lflag & ICANON)
        return t->lines != 0;
    return t->ready - t->head >= MAX(t->set.c_cc[VMIN], 1);
}

/* Take the word at the head, of which there is one; *end: it ends a line. */
static uint16_t take_word(struct tty *t, bool *end)
{
    uint16_t c = *slot(t, t->head++);

    *end = t->merged ? --t->merged == 0 : (c & TTY_END) != 0;
    if (*end && t->lines)
        t->lines--;
    return c;
}

size_t tty_take_locked(struct tty *t, uint8_t *buf, size_t n, bool *stop)
{
    bool canonical = (t->set.c_lflag & ICANON) != 0, end = false;
    size_t k = 0;

    while (k < n && t->head != t->ready && !(end && canonical)) {
        uint16_t c = take_word(t, &end);

        if (!(c & TTY_EOF))
            buf[k++] = (uint8_t)c;
    }
    /* ^D behind the last character that is wanted ends this read, and not the next one. */
    if (canonical && !end && k && t->head != t->ready && (*slot(t, t->head) & TTY_EOF))
        (void)take_word(t, &end);
    *stop = end && canonical;
    return k;
}

void tty_discard_locked(struct tty *t)
{
    t->head = t->ready = t->end;
    t->lines = t->merged = 0;
}

void tty_set_locked(struct tty *t, const struct termios *set, bool flush)
{
    bool was = (t->set.c_lflag & ICANON) != 0, is = (set->c_lflag & ICANON) != 0;

    t->set = *set;
    if (!(set->c_iflag & IXON))
        t->stopped = false;
    if (flush) {
        tty_discard_locked(t);
    } else if (was && !is) {
        t->ready = t->end;
        t->lines = t->merged = 0;
    } else if (!was && is) {
        t->merged = t->ready - t->head;
        t->lines = t->merged != 0;
    }
}
