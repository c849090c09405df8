/*
 * Host stand-in for the ranked spinlock: a POSIX mutex with the kernel's checks (rank rises, IPL
 * not above the lock's, released by its holder); a violation aborts the test and names the locks.
 */
#ifndef KERNEL_SCHED_SPINLOCK_H
#define KERNEL_SCHED_SPINLOCK_H

#include <pthread.h>

#include "kernel/sched/ipl.h"
#include "kernel/sched/rank.h"

#define SPIN_NESTS 1u

struct spinlock {
    pthread_mutex_t mutex;
    struct spinlock *below;
    const char *name;
    const void *holder; /* atomic: address of a thread-local of the holding thread */
    uint8_t rank, ipl;
    uint16_t flags;
};

#define SPINLOCK_INIT(name_, rank_, ipl_) \
    {.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (rank_), .ipl = (ipl_), .name = (name_)}

void spin_init(struct spinlock *l, const char *name, enum spin_rank rank, ipl_t ipl);
ipl_t spin_lock(struct spinlock *l);
void spin_unlock(struct spinlock *l, ipl_t ipl);
void spin_lock_at_ipl(struct spinlock *l);
void spin_unlock_at_ipl(struct spinlock *l);
/* If set, called after each spin_unlock: a test can wait there. */
extern void (*host_unlocked)(const struct spinlock *l);
bool spin_held(const struct spinlock *l);
unsigned spin_depth(void);

#endif
