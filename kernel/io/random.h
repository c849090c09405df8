/* Random bytes, for getrandom, /dev/urandom and the first stack of programs. */
#ifndef KERNEL_IO_RANDOM_H
#define KERNEL_IO_RANDOM_H

#include "kernel/base/types.h"

/* 64 bits. IPL up to IPL_DEVICE, spinlocks below RANK_DEVICE. */
uint64_t random_next(void);
/* Fill n bytes of user memory, at most RANDOM_MAX. The number of bytes, fewer if the thread is to
 * end; -EFAULT, -EINTR. IPL 0. */
#define RANDOM_MAX 33554431u /* the limit of Linux */
long random_to_user(vaddr_t to, size_t n);

#endif
