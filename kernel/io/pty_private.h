/* Private to the two files of pseudo-terminals: the pair (pty.c), and its name (pty_names.c). */
#ifndef KERNEL_IO_PTY_PRIVATE_H
#define KERNEL_IO_PTY_PRIVATE_H

#include "kernel/io/pty.h"
#include "kernel/io/tty_private.h"

#define PTY_OUTPUT 4096u /* bytes that wait to be read from the master */

/*
 * In nonpaged pool, counted as one of QUOTA_PTYS. References are those of the inode: of the master,
 * of open files of the terminal, of the session that has it, and of look-ups. The number is used
 * again when the last one is gone.
 */
struct pty {
    struct inode inode; /* what /dev/pts/N stands for */
    struct tty tty;     /* its lock protects the fields from here to `output` */
    bool locked;        /* TIOCSPTLCK: the terminal cannot be opened */
    bool opened;        /* the terminal has been open since the master was opened */
    bool packet;        /* TIOCPKT */
    uint8_t status;     /* packet mode: TIOCPKT_* that the master has not read yet */
    uint32_t files;     /* open files of the terminal */
    uint32_t head, end; /* free-running counts into output */
    char output[PTY_OUTPUT];
    uint16_t account;          /* pool_account(); constant */
    bool feeding;              /* somebody writes to the master; atomic */
    struct wait_queue readers; /* of the master */
    struct wait_queue turn;    /* who waits to write to the master */
};

static inline struct pty *pty_of_tty(const struct tty *t)
{
    return container_of(t, struct pty, tty);
}
static inline unsigned pty_index(const struct pty *p) { return p->tty.number - 1; }

/* Take a free number and give p its name, with p->inode initialised. -ENOSPC: all are in use. */
int pty_name_enter(struct pty *p, const struct io_cred *cred);
/* The master is closed: no look-up finds p any more. */
void pty_name_remove(struct pty *p);
/* The last reference is gone: its number is free. */
void pty_number_free(const struct pty *p);
/* pty.c: the last reference to i was dropped. */
void pty_end(struct inode *i);

#endif
