/* Private to the files of terminals: their state; what the line discipline (tty.c) does for open
 * files (tty_file.c) and for what is at the other end of the line: COM1 (console.c), or the master
 * of a pseudo-terminal (pty.c). */
#ifndef KERNEL_IO_TTY_PRIVATE_H
#define KERNEL_IO_TTY_PRIVATE_H

#include "kernel/io/poll.h"
#include "kernel/io/termios.h"
#include "kernel/io/tty.h"
#include "kernel/sched/spinlock.h"
#include "kernel/sched/wait.h"

#define TTY_QUEUE 4096u /* characters; also the longest line, as on Linux */
#define TTY_CHUNK 64u   /* characters of output or input at a time, on the kernel stack */

/* The other end of the line. Constant. */
struct tty_line {
    /* Send up to 8 bytes of echo; called with t->lock held, up to 16 times before `echoed`. */
    void (*echo)(struct tty *t, const char *text, size_t n);
    /* Echo may have been produced. No lock. */
    void (*echoed)(struct tty *t);
    /* Send the first of n characters, at most TTY_CHUNK, as many as there is room for; newlines:
     * each '\n' after a '\r'. Their number. No lock. */
    size_t (*output)(struct tty *t, const char *text, size_t n, bool newlines);
    /* Is there room for output? t->lock held. NULL: always. */
    bool (*has_room)(const struct tty *t);
    /* Packet mode: what happened, TIOCPKT_*. No lock. NULL: nobody asks. */
    void (*event)(struct tty *t, uint8_t events);
    /* A file of the terminal, f, is being opened, was closed. NULL: nothing is to be done. */
    int (*opened)(struct tty *t);
    void (*closed)(struct tty *t);
    /* A reference more, less; NULL: it is never freed. */
    void (*ref)(struct tty *t);
    void (*unref)(struct tty *t);
};

enum erasing { ERASE_NOTHING, ERASE_LINE, ERASE_BLANKS, ERASE_WORD };

/* All fields are protected by lock, but those that are constant, and those with a lock of their
 * own. */
struct tty {
    struct spinlock lock;        /* RANK_TTY, IPL_DEVICE */
    const struct tty_line *line; /* constant */
    unsigned number;             /* constant */
    struct termios set;
    struct winsize size;
    uint32_t changes;          /* of the foreground group, a free-running count */
    uint32_t hangups;          /* ends of sessions; also read as an atomic word */
    uint32_t head, ready, end; /* free-running counts into queue */
    uint32_t lines;            /* line ends between head and ready; 0 in raw mode */
    uint32_t merged;           /* words from head on that were there when canonical mode began */
    enum erasing erasing;      /* what tty_input has still to erase of the line */
    bool literal;              /* ^V was typed: the next character is taken literally */
    bool stopped;              /* ^S was typed: no output until ^Q */
    bool gone;                 /* the other end is closed for good; also read as an atomic byte */
    uint8_t events;            /* of `stopped`, to be reported: TIOCPKT_STOP, TIOCPKT_START */
    uint16_t queue[TTY_QUEUE];
    struct wait_queue readers;  /* readers wait for lines or characters */
    struct wait_queue writers;  /* writers wait for room, or for ^Q */
    struct wait_queue room;     /* who feeds the line waits for room in the queue */
    struct poll_source polled;  /* those who poll files of the terminal */
    struct poll_source feeders; /* those who poll its other end */
};

/* Initialise t, which is all zeroes, with the settings that a terminal has at first. */
void tty_init(struct tty *t, const struct tty_line *line, unsigned number);

/* Process the first of n received characters, a few of those that there is room for; echo them,
 * wake readers, send signals. Returns how many. One caller at a time. IPL 0, no spinlock. */
size_t tty_input(struct tty *t, const uint8_t *in, size_t n);
/* Is there room for a character? If one unfinished line fills the queue, it is completed as it is,
 * so that a reader can make room. Takes t->lock; may wake readers. */
bool tty_has_room(struct tty *t);
/* Input was taken or discarded: tell who feeds the line. IPL 0, no spinlock. */
void tty_made_room(struct tty *t);
/* Output can go on, or there is room for it again: tell writers. IPL 0, no spinlock. */
void tty_output_resumes(struct tty *t);
/* Stop or restart output. IPL 0, no spinlock. */
void tty_stop(struct tty *t, bool stopped);

/* t->lock held. Can a read return without waiting? Can output be written? */
bool tty_readable_locked(const struct tty *t);
bool tty_writable_locked(const struct tty *t);
/* Take up to n bytes for one read. *stop: a line end or EOF ended the read. */
size_t tty_take_locked(struct tty *t, uint8_t *buf, size_t n, bool *stop);
/* Change the settings; flush: discard the input. */
void tty_set_locked(struct tty *t, const struct termios *set, bool flush);
void tty_discard_locked(struct tty *t);

/* Settings and sizes, for open files of the terminal and of a master (tty_file.c): those requests
 * of ioctl that are the same for both. -ENOTTY: another one. The caller has checked that it may. */
long tty_settings(struct tty *t, unsigned long req, vaddr_t arg);
/* Let f, which was just allocated with tty_ops and has no inode, be a file of t, to which it then
 * holds a reference. 0, or the error of line->opened. */
int tty_attach(struct file *f, struct tty *t);

#endif
