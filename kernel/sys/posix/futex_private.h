/*
 * What the files of futexes share: buckets of waiters, and a call's way through them. futex.c says
 * how they work. Process context; IPL 0 and no locks held, unless a function says otherwise.
 */
#ifndef KERNEL_SYS_POSIX_FUTEX_PRIVATE_H
#define KERNEL_SYS_POSIX_FUTEX_PRIVATE_H

#include "kernel/sched/wait.h"
#include "kernel/sys/posix/futex_pi.h"
#include "kernel/sys/posix/futexq.h"
#include "mm/space/word.h"

#define FUTEX_ANY_BIT (~0u)

struct process;

struct futex_bucket {
    struct spinlock lock; /* RANK_FUTEX, IPL_ASTDEL */
    struct futexq q;      /* lock */
    bool incoming;        /* a call moves waiters here; lock */
};

/* Where waiters are that are in no bucket (futex_requeue.c). Only the addresses are used. */
extern struct futex_bucket futex_moving, futex_away;
#define FUTEX_MOVING (&futex_moving)
#define FUTEX_AWAY   (&futex_away)

struct futex_waiter {
    struct futex_node node;  /* lock of the bucket `at` */
    struct futex_bucket *at; /* atomic; NULL: woken */
    struct wait_queue queue; /* of this waiter */
    struct waiter waiter;
    struct word_name name; /* held; changed as node.key is */
    /* The rest is constant while it waits. */
    struct pi_waiter *pi; /* NULL; or it waits on the queue of this, for the lock `lock` */
    const struct word_name *lock;
};

/* A call's way through the waiters of one word, from the oldest to the youngest that was there at
 * its beginning. */
struct futex_round {
    struct futex_key key;
    struct futex_bucket *b;
    uint64_t turn, last; /* turns to go on from and to end at */
};

static inline bool futex_same_name(const struct word_name *a, const struct word_name *b)
{
    return a->base == b->base && a->offset == b->offset;
}

static inline struct futex_key futex_key_of(const struct word_name *name)
{
    return (struct futex_key){(uint64_t)name->base, name->offset};
}

/* ---- futex.c ---- */

struct futex_bucket *futex_bucket_of(const struct futex_key *k);
/* Lock b, when no waiters are on their way to it. Returns the IPL before. */
ipl_t futex_bucket_lock(struct futex_bucket *b);
/* Begin a round, whose bucket is locked then. Returns the IPL before. */
ipl_t futex_round_begin(struct futex_round *r, const struct word_name *name);
/* The next waiter of the round, whose bucket is locked; NULL: there is none. */
struct futex_waiter *futex_round_next_locked(struct futex_round *r);

/* The two words of a call, named; both names are held then. 0 or an error of futex_name_get(). */
long futex_names_get(vaddr_t a, vaddr_t b, bool shared, struct word_name *name_a,
                     struct word_name *name_b);
/* Wake up to `most` waiters (as on Linux, at least one) that wait for one of the bits. Returns how
 * many; -EINVAL: it has met one that is to be requeued to a lock with inheritance. */
long futex_wake_named(const struct word_name *name, int32_t most, uint32_t bits);
/* The same for an address; an error of futex_name_get() too. */
long futex_wake(vaddr_t word, bool shared, int32_t most, uint32_t bits);

/* The time, by clock_ns(), at which a wait ends: `timeout` is a user's address of a timespec or 0.
 * 0, -EFAULT or -EINVAL. */
long futex_deadline(vaddr_t timeout, bool absolute, bool wall, uint64_t *deadline);
/* 0: the word has that value; -EAGAIN: it has another one; -EFAULT. */
long futex_expect(vaddr_t word, uint32_t expected);
/* Begin to wait by w, whose name is held and whose `pi` is set. */
void futex_enter(struct futex_waiter *w, uint32_t bits);
/* FUTEX_WAIT. 0; -EAGAIN, -EINTR, -ETIMEDOUT, -EINVAL, or an error of futex_name_get(). */
long futex_wait(vaddr_t word, bool shared, uint32_t expected, uint32_t bits, uint64_t deadline);

/* ---- futex_requeue.c ---- */

/* FUTEX_REQUEUE; with `expected` FUTEX_CMP_REQUEUE. How many were woken and moved; or -EINVAL,
 * -EAGAIN, -EFAULT, -ENOMEM. */
long futex_requeue(vaddr_t from, vaddr_t to, bool shared, int32_t wake, int32_t most,
                   const uint32_t *expected);
/* FUTEX_WAIT_REQUEUE_PI. 0: the thread has the lock; or an error of futex_wait() or
 * futex_pi_wait_moved(), or -ERESTARTNOINTR. */
long futex_wait_requeue(vaddr_t word, vaddr_t lock, bool shared, uint32_t expected,
                        uint64_t deadline);
/* FUTEX_CMP_REQUEUE_PI. As futex_requeue(); an error of futex_pi_move() too. */
long futex_requeue_pi(vaddr_t from, vaddr_t to, bool shared, int32_t wake, int32_t most,
                      uint32_t expected);

/* ---- futex_wake_op.c ---- */

/* FUTEX_WAKE_OP. How many were woken; or -ENOSYS, -EFAULT, -EINVAL, -EINTR, -ENOMEM. */
long futex_wake_op(vaddr_t a, vaddr_t b, bool shared, int32_t wake_a, int32_t wake_b,
                   uint32_t code);

/* ---- futex_robust.c ---- */

/* The current thread u of p ends or becomes another program: locks that it holds by its robust list
 * or with inheritance are given up, and its clear_tid word is cleared. May wait. */
void futex_thread_ends(struct process *p, struct uthread *u);

#endif
