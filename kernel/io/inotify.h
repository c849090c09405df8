/* Instances of inotify: open files that report what happens to watched inodes (kernel/fs/notify.h).
 * All functions: IPL 0, may wait; results are 0 or a negative errno unless they say otherwise. */
#ifndef KERNEL_IO_INOTIFY_H
#define KERNEL_IO_INOTIFY_H

#include "kernel/fs/notify.h"
#include "kernel/io/file.h"

/* Events that an instance holds; further ones are lost, and IN_Q_OVERFLOW tells of that. */
#define INOTIFY_QUEUE_MAX 16384u

/* Create an instance. *out: its file with one reference. -EMFILE: the user may have no more;
 * -ENFILE, -ENOMEM. */
int inotify_create_file(bool nonblock, struct file **out);
/* Have f report the events of `mask` (IN_*, without the bits that say how) that happen to i, to
 * which the caller has a reference. The number of the watch; -EEXIST: it has one, and how is
 * NOTIFY_NEW; -ENOSPC: the user may have no more; -ENOMEM, -EINTR; -EINVAL: f is no instance. */
int inotify_watch(struct file *f, struct inode *i, uint32_t mask, enum notify_how how);
/* End the watch of this number. -EINVAL: there is none, or f is no instance. */
int inotify_end(struct file *f, int number);
bool inotify_is(const struct file *f);

#endif
