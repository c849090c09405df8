/*
 * The console terminal and job control. The line discipline (tty.c) does not know processes;
 * kernel/proc/terminal.c does, and serves it through struct tty_jobs.
 */
#ifndef KERNEL_IO_TTY_H
#define KERNEL_IO_TTY_H

#include "kernel/base/types.h"

struct file;

enum tty_use {
    TTY_READ,
    TTY_WRITE, /* with TOSTOP set; otherwise every process that has the file open may write */
    TTY_CHANGE /* settings, discarding input */
};

/* All are called for the current process, at IPL 0 with no spinlock held. */
struct tty_jobs {
    /* May it use the terminal in this way? 0, -EIO, or -ERESTARTSYS after a signal was sent. */
    int (*check)(enum tty_use use);
    /* Is this its controlling terminal? */
    bool (*has)(void);
    /* Send sig, such as SIGINT for ^C, to the foreground group. Called by the terminal's thread. */
    void (*signal)(int sig);
    /* Those requests of ioctl that concern sessions and groups; -ENOTTY: another one. */
    long (*request)(struct file *f, unsigned long req, vaddr_t arg);
};

/* Set by kernel/proc before the first process runs. */
extern const struct tty_jobs *tty_jobs;

/* The foreground group has changed: readers ask again. IPL up to IPL_DEVICE; takes tty.lock. */
void tty_foreground_changed(void);
/* The session has ended: files opened until now read as ended and cannot be written. IPL and lock
 * as before. */
void tty_hang_up(void);

#endif
