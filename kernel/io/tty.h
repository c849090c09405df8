/*
 * Terminals and job control: the console, and pseudo-terminals (pty.h). The line discipline (tty.c)
 * does not know processes; kernel/proc/terminal.c does, and serves it through struct tty_jobs.
 */
#ifndef KERNEL_IO_TTY_H
#define KERNEL_IO_TTY_H

#include "kernel/fs/stat.h"

struct file;
struct tty;

/* Numbers of terminals (tty_number): 0 is the console, n + 1 is /dev/pts/n. */
#define PTY_MAX     256u
#define TTY_CONSOLE 0u
#define TTY_NUMBERS (PTY_MAX + 1)

enum tty_use {
    TTY_READ,
    TTY_WRITE, /* with TOSTOP set; otherwise every process that has the file open may write */
    TTY_CHANGE /* settings, discarding input */
};

/* All are called for the current process, at IPL 0 with no spinlock held. */
struct tty_jobs {
    /* May it use t in this way? 0, -EIO, or -ERESTARTSYS after a signal was sent. */
    int (*check)(struct tty *t, enum tty_use use);
    /* Its controlling terminal, with a reference; NULL: it has none. */
    struct tty *(*own)(void);
    /* It has opened t for reading, without O_NOCTTY: if it leads a session without a terminal, and
     * t belongs to nobody, the session acquires it. */
    void (*opened)(struct tty *t);
    /* Send sig, such as SIGINT for ^C, to the foreground group. Also called by threads of the
     * kernel. */
    void (*signal)(struct tty *t, int sig);
    /* The other side of t is closed for good: tell the session's leader. */
    void (*hang_up)(struct tty *t);
    /* Those requests of ioctl that concern sessions and groups; -ENOTTY: another one. master: f is
     * the other side of t, which may ask without belonging to the session. */
    long (*request)(struct tty *t, struct file *f, bool master, unsigned long req, vaddr_t arg);
    /* The ids that a new pseudo-terminal belongs to. */
    struct io_cred (*cred)(void);
};

/* Set by kernel/proc before the first process runs. */
extern const struct tty_jobs *tty_jobs;

extern struct tty tty_console;

/* The terminal of an open file, which stays as long as that; NULL: it is none. */
struct tty *tty_of_file(const struct file *f);
/* Constant. */
unsigned tty_number(const struct tty *t);
/* Is it, once hung up, never to be used again? May change at any time. */
bool tty_is_gone(const struct tty *t);
void tty_ref(struct tty *t);
/* IPL 0, no locks: the last reference frees it. */
void tty_unref(struct tty *t);
/* The foreground group has changed: readers ask again. The caller then calls tty_wake(), when it
 * has released its locks. IPL up to IPL_DEVICE; takes the lock of t. */
void tty_foreground_changed(struct tty *t);
/* The session has ended: files opened until now read as ended and cannot be written. IPL, lock and
 * tty_wake() as before. */
void tty_hang_up(struct tty *t);
/* Wake who waits to read or to write. IPL 0, no locks. */
void tty_wake(struct tty *t);

#endif
