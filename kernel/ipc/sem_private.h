/*
 * Sets of semaphores: what sem.c (sets, what is to be undone, semctl) and sem_wait.c (operations,
 * those who wait) share. Unless said otherwise, the set's mutex is held.
 */
#ifndef KERNEL_IPC_SEM_PRIVATE_H
#define KERNEL_IPC_SEM_PRIVATE_H

#include "kernel/ipc/sem.h"
#include "kernel/sched/mutex.h"

#define SEM_NOBODY UINT32_MAX

/* What the value of a semaphore has to do so that a waiter can go on. */
enum sem_change { SEM_LESS, SEM_MORE, SEM_CHANGES }; /* become 0; become larger */

struct sem_queue {       /* those who wait for one change of a semaphore */
    struct list waiters; /* of struct sem_wait, the longest first */
    struct list *at;     /* the next one to be tried again; NULL: none is left */
    uint32_t next;       /* in the chain of queues that are looked at: its number, or SEM_NOBODY */
    bool chained;
};

struct sem {
    int32_t value;
    uint32_t pid; /* whose operation was the last */
    struct sem_queue queue[SEM_CHANGES];
};

struct sem_set { /* nonpaged pool, charged */
    struct ipc_object ipc;
    struct mutex lock;
    uint32_t nsems;   /* constant */
    uint16_t account; /* number of the one charged for the memory; constant */
    int64_t otime_ns; /* table's lock */
    /* The rest: mutex. */
    struct treap undos; /* of struct sem_undo, by the address of the process's struct sem_undos */
    uint64_t round;     /* rises with each SETALL, after which nothing is to be undone */
    uint32_t chain;     /* first of the queues that are looked at, or SEM_NOBODY */
    struct sem sem[];
};

struct sem_undo {           /* nonpaged pool, charged */
    struct treap_node node; /* in the set's tree; set's mutex */
    struct list link;       /* in the process's list; table's lock */
    struct sem_undos *owner;
    struct sem_set *set; /* constant, like owner and account */
    uint64_t round;      /* the set's when `adjust` was valid; set's mutex */
    uint16_t account;
    int16_t adjust[]; /* set's mutex */
};

struct sem_wait {         /* on the stack of its thread; set's mutex */
    struct list link;     /* in a queue */
    struct sem_queue *in; /* that queue */
    const struct sem_op *ops;
    unsigned n;
    uint32_t pid;
    struct sem_undo *undo; /* NULL: nothing is to be undone */
    int result;
    bool done;   /* atomic: read by the thread without the mutex */
    bool settle; /* likewise: its thread is to continue for another one that was killed */
    struct wait_queue queue;
};

static inline size_t sem_undo_bytes(const struct sem_set *s)
{
    return sizeof(struct sem_undo) + s->nsems * sizeof(int16_t);
}

/* ---- sem.c ---- */

/* What u says may be from before a SETALL, which has made all of it 0. */
void sem_undo_refresh(struct sem_set *s, struct sem_undo *u);

/* ---- sem_wait.c ---- */

/* Set a semaphore; sem_settle() is to follow. */
void sem_change(struct sem_set *s, uint32_t number, int32_t value, uint32_t pid);
/* The set was removed: all who wait fail. sem_settle() is to follow. */
void sem_end_waits(struct sem_set *s);
/* Do the operations of w, whose ops, n, pid and undo are filled in; may wait, with the mutex
 * dropped. 0, -EAGAIN, -ERANGE, -EINTR, -EIDRM. */
int sem_do(struct sem_set *s, struct sem_wait *w, uint64_t deadline_ns);
/* Let those go on who waited for what has changed. The mutex is dropped now and then meanwhile. */
void sem_settle(struct sem_set *s);

#endif
