/* Moving bytes between pipes and other files inside the kernel. IPL 0, no locks; may wait. */
#ifndef KERNEL_IO_SPLICE_H
#define KERNEL_IO_SPLICE_H

#include "kernel/base/types.h"

struct file;
struct pipe;

/* The pipe of an open end or FIFO, as long as the file is open; NULL: f is none. */
struct pipe *pipe_of(const struct file *f);

/* Move up to n bytes of p, as many as are there, to where `sink` puts them; it is called for a part
 * at a time, waits only for what it writes to, and returns how many it took, or an error. The
 * number of bytes; 0: p is empty and has no writer; -EAGAIN: it is empty and nonblock is set;
 * -ERESTARTSYS, -EINTR, or what sink returned. Others who would read p wait meanwhile. */
long splice_out(struct pipe *p, size_t n, bool nonblock,
                long (*sink)(void *arg, const void *buf, size_t n), void *arg);
/* Move, or (keep) copy, up to n bytes from p to q, another one, as many as are there and fit. Waits
 * until that is one at least. As above, and -EPIPE: q has no reader; -ENOMEM. */
long splice_across(struct pipe *p, struct pipe *q, size_t n, bool nonblock, bool keep);
/* Move up to n bytes into q that a read of f would get, f having read_kernel: a portion that is
 * there and fits; a packet that does not fit loses its end, as by read. Waits until there are some
 * and q has room. No byte is taken out of f that is not in q afterwards. The number; 0: f has
 * ended; -EAGAIN, -EPIPE, -ENOMEM, -ERESTARTSYS, -EINTR, or an error of reading f. */
long splice_from(struct pipe *q, struct file *f, size_t n, bool nonblock);
/* Wait until q has room. 0; -EAGAIN, -EPIPE, -ERESTARTSYS, -EINTR. */
int splice_wait_room(struct pipe *q, bool nonblock);
/* Put into q what fits of n bytes, of kernel memory or user memory. The number; 0: it is full;
 * -EPIPE, -ENOMEM, -EFAULT, -EINTR. */
long splice_in(struct pipe *q, const void *buf, size_t n);
long splice_in_user(struct pipe *q, vaddr_t ubuf, size_t n);
/* Read up to n bytes of p, as read(2) does. nonblock: do not wait for bytes (-EAGAIN). */
long splice_out_user(struct pipe *p, vaddr_t ubuf, size_t n, bool nonblock);

#endif
