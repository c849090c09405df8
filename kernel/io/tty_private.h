/* Private to the two files of the terminal: its state, and what the line discipline (tty.c) does
 * for open files (tty_file.c). */
#ifndef KERNEL_IO_TTY_PRIVATE_H
#define KERNEL_IO_TTY_PRIVATE_H

#include "kernel/io/poll.h"
#include "kernel/io/termios.h"
#include "kernel/io/tty.h"
#include "kernel/sched/spinlock.h"
#include "kernel/sched/wait.h"

#define TTY_QUEUE 4096u /* characters; also the longest line, as on Linux */

enum erasing { ERASE_NOTHING, ERASE_LINE, ERASE_BLANKS, ERASE_WORD };

/* All fields but `polled`, which has a lock of its own, are protected by lock. */
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
    struct poll_source polled;
};

extern struct tty tty;

/* All: tty.lock held. Can a read return without waiting? */
bool tty_readable_locked(void);
/* Take up to n bytes for one read. *stop: a line end or EOF ended the read. */
size_t tty_take_locked(uint8_t *buf, size_t n, bool *stop);
/* Change the settings; flush: discard the input. */
void tty_set_locked(const struct termios *t, bool flush);

#endif
