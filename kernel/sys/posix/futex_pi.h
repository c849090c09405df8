/* Futexes with priority inheritance (futex_pi.c), and what they share with the others. IPL 0, no
 * locks held. */
#ifndef KERNEL_SYS_POSIX_FUTEX_PI_H
#define KERNEL_SYS_POSIX_FUTEX_PI_H

#include "mm/space/word.h"

#define FUTEX_WAITERS    0x80000000u
#define FUTEX_OWNER_DIED 0x40000000u
#define FUTEX_OWNER      0x3FFFFFFFu

struct uthread;

/* In futex.c: the name of the word at va, held. 0, -EINVAL, -EFAULT, -ENOMEM. */
long futex_name_get(vaddr_t va, bool shared, struct word_name *name);

/* FUTEX_LOCK_PI, and with `try` FUTEX_TRYLOCK_PI. 0; -EAGAIN: `try`, and another has it; -EDEADLK;
 * -ESRCH: its owner is no thread; -ETIMEDOUT; -EINVAL: the word does not agree with its waiters;
 * -ENOMEM, -EFAULT; -ERESTARTNOINTR. */
long futex_pi_lock(vaddr_t word, bool shared, bool try, uint64_t deadline);
/* FUTEX_UNLOCK_PI. 0; -EPERM: it is another's; -EINVAL, -EFAULT, -EINTR. */
long futex_pi_unlock(vaddr_t word, bool shared);
/* u, the current thread, ends or becomes another program: what it owns and others wait for is
 * given to them. Until exec clears u->pi_owned, it can own nothing more. */
void futex_pi_thread_ends(struct uthread *u);
void futex_pi_boot(void);

#endif
