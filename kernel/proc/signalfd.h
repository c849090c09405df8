/* signalfd: an open file from which a process reads its own pending signals. */
#ifndef KERNEL_PROC_SIGNALFD_H
#define KERNEL_PROC_SIGNALFD_H

#include "kernel/io/file.h"
#include "kernel/proc/signal.h"

/* Create a file for the signals of mask, with one reference. 0, -ENFILE, -ENOMEM. IPL 0. */
int signalfd_create(sigset_t mask, bool nonblock, struct file **out);
/* Change the signals of f. 0; -EINVAL: it is no signalfd. */
int signalfd_set(struct file *f, sigset_t mask);

#endif
