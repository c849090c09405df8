/*
 * Pseudo-terminals: a terminal (tty.h) whose other end is an open file, its master. Opening
 * /dev/ptmx makes a pair; the terminal's name is /dev/pts/N (pty_names.c) until the master is
 * closed.
 */
#ifndef KERNEL_IO_PTY_H
#define KERNEL_IO_PTY_H

#include "kernel/fs/inode.h"

struct file;
struct tty;

/* The terminal of i, a name in /dev/pts; NULL: i is of something else. */
struct tty *pty_of(struct inode *i);
/* TIOCGPTPEER: open the terminal of a master, whatever its name now stands for. flags: O_*. 0 with
 * one reference in *out; -EIO, -ENOTTY: f is no master, but
 * a terminal, or neither; or a negative errno as of open. IPL 0, no locks. */
int pty_open_peer(const struct file *f, uint32_t flags, struct file **out);
/* The number of a device of a terminal, as stat gives it, by tty_number(). */
uint32_t tty_device(unsigned number);

#endif
