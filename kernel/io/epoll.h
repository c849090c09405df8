/*
 * epoll: instances that watch files. An instance is an open file; what it watches are items, each
 * for one open file under one descriptor number. Bits and layouts are those of Linux/Alpha. Results
 * are 0, a number, or a negative errno. All functions: IPL 0, may wait.
 */
#ifndef KERNEL_IO_EPOLL_H
#define KERNEL_IO_EPOLL_H

#include "kernel/io/file.h"

#define EPOLL_CLOEXEC 010000000u /* O_CLOEXEC */

#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3

#define EPOLLEXCLUSIVE (1u << 28)
#define EPOLLWAKEUP    (1u << 29)
#define EPOLLONESHOT   (1u << 30)
#define EPOLLET        (1u << 31)

struct epoll_event {
    uint32_t events; /* POLL* and EPOLL* */
    uint64_t data;   /* at offset 8 */
};

/* Create an instance. *out: its file with one reference. 0; -ENFILE, -ENOMEM. */
int epoll_create_file(struct file **out);
/* EPOLL_CTL_*: watch f under the number fd, change that, or end it. The caller has references to
 * both files. -EINVAL: ep is not an instance, or watches itself, or the events contradict each
 * other; -EPERM: f cannot be polled; -EEXIST, -ENOENT; -ELOOP: instances would watch each other in
 * a circle, or more than EPOLL_NESTS in a row; -ENOSPC: the user's limit of watches; -ENOMEM. */
int epoll_control(struct file *ep, unsigned op, struct file *f, int fd,
                  const struct epoll_event *e);
/* Store up to `most` events that hold at user address `to`, waiting for the first until
 * deadline_ns. Their number; 0: the time is over; -EINVAL: ep is not an instance; -EFAULT;
 * -EINTR. */
long epoll_wait(struct file *ep, vaddr_t to, unsigned most, uint64_t deadline_ns);
/* f, which is watched, is about to end: nobody watches it any more. Called by file_unref(). */
void epoll_file_ends(struct file *f);

#endif
