/* Random bytes, for getrandom, /dev/urandom and the first stack of programs. */
#ifndef KERNEL_IO_RANDOM_H
#define KERNEL_IO_RANDOM_H

#include "kernel/base/types.h"

struct poll_entry;

#define RANDOM_BOOT_S 1u
#define RANDOM_BITS   256u

/* Find the source of entropy, and wait up to RANDOM_BOOT_S seconds for its first bytes. The
 * scheduler and PCI are there. Boot. */
void random_boot(void);
/* Wait until the source of entropy has sent its first bytes, from when on random bytes are fit for
 * keys. 0, at once also where there is no source: none will ever come, and the bytes are made from
 * the clock alone. -EAGAIN: it has not, and nonblock is set; -ERESTARTSYS. IPL 0, no locks. */
int random_wait(bool nonblock);
/* The state of /dev/random for poll (file.h, poll): it can be read once there is nothing to wait
 * for, and wants to be written before. */
unsigned random_poll(struct poll_entry *e);
/* Bits of entropy in the key: RANDOM_BITS, or 0 before the source of entropy has sent any. */
unsigned random_entropy(void);
/* Mix n bytes of user memory in, without believing that they are random. As many as were mixed in,
 * -EFAULT, -EINTR. IPL 0. */
long random_from_user(vaddr_t from, size_t n);
/* 64 bits. IPL up to IPL_DEVICE, spinlocks below RANK_DEVICE. */
uint64_t random_next(void);
/* The same n times, to[0] to to[n - 1]: mostly with the lock taken once. */
void random_words(uint64_t *to, unsigned n);
/* Fill n bytes of user memory, at most RANDOM_MAX. The number of bytes, fewer if the thread is to
 * end; -EFAULT, -EINTR. IPL 0. */
#define RANDOM_MAX 33554431u /* the limit of Linux */
long random_to_user(vaddr_t to, size_t n);

#endif
