/* Futexes with priority inheritance (futex_pi.c), and what they share with the others. IPL 0, no
 * locks held. */
#ifndef KERNEL_SYS_POSIX_FUTEX_PI_H
#define KERNEL_SYS_POSIX_FUTEX_PI_H

#include "kernel/sched/wait.h"
#include "mm/space/word.h"

#define FUTEX_WAITERS    0x80000000u
#define FUTEX_OWNER_DIED 0x40000000u
#define FUTEX_OWNER      0x3FFFFFFFu

struct uthread;

/* A thread that waits for a lock. It lies on that thread's stack. */
struct pi_waiter {
    struct list link;     /* in the lock's list */
    struct uthread *user; /* constant */
    struct wait_queue queue;
    struct waiter waiter;
    int nice;
    bool granted; /* atomic: set under the mutex of the lock's bucket */
    bool died;    /* by the end of the owner; before `granted` */
};

/* In futex.c: the name of the word at va, held. 0, -EINVAL, -EFAULT, -ENOMEM. */
long futex_name_get(vaddr_t va, bool shared, struct word_name *name);

/* FUTEX_LOCK_PI, and with `try` FUTEX_TRYLOCK_PI. 0; -EAGAIN: `try`, and another has it; -EDEADLK;
 * -ESRCH: its owner is no thread; -ETIMEDOUT; -EINVAL: the word does not agree with its waiters;
 * -ENOMEM, -EFAULT; -ERESTARTNOINTR. */
long futex_pi_lock(vaddr_t word, bool shared, bool try, uint64_t deadline);
/* FUTEX_UNLOCK_PI. 0; -EPERM: it is another's; -EINVAL, -EFAULT, -EINTR. */
long futex_pi_unlock(vaddr_t word, bool shared);

/*
 * Waiters that begin to wait for a lock when another thread says so (FUTEX_CMP_REQUEUE_PI). Until
 * then they are the caller's, who keeps them where he likes, and his functions are called under the
 * mutex of the lock's bucket: so he who has it knows where a waiter is.
 */

/* Begin to wait by w, on the current thread; wait_finish(&w->waiter) or futex_pi_wait_moved() must
 * follow. */
void futex_pi_prepare(struct pi_waiter *w);
/* Call withdraw(w), which takes w back from where the caller keeps it. Its result; false: w waits
 * for the lock of this name, or has it. */
bool futex_pi_withdraw(const struct word_name *name, struct pi_waiter *w,
                       bool (*withdraw)(struct pi_waiter *w));
/* Wait until w has been moved and given the lock. 0; -EINTR or -ETIMEDOUT: it has not, and waits no
 * more; -EFAULT, -EINVAL as futex_pi_lock(). withdraw as above: called when the wait ends without
 * the lock. */
long futex_pi_wait_moved(const struct word_name *name, vaddr_t word, struct pi_waiter *w,
                         uint64_t deadline, bool (*withdraw)(struct pi_waiter *w));
/* Make a waiter that `take` gives wait for the lock, or give it the lock if that is free. 1; 0:
 * `take` gave none; the error that `take` stored, or one of futex_pi_lock(), but -EINTR only if the
 * thread is to end. After each attempt, of which there may be several, `settle` is told whether the
 * waiter that was taken has been moved; if not, it is to be where it was. */
long futex_pi_move(const struct word_name *name, vaddr_t word,
                   struct pi_waiter *(*take)(void *arg, long *err),
                   void (*settle)(void *arg, bool moved), void *arg);
/* u, the current thread, ends or becomes another program: what it owns and others wait for is
 * given to them. Until exec clears u->pi_owned, it can own nothing more. */
void futex_pi_thread_ends(struct uthread *u);
void futex_pi_boot(void);

#endif
