/*
 * Sets of System V semaphores: operations, and those who wait.
 *
 * A call that cannot go on waits at the first semaphore in its way, in one queue of that one alone:
 * for the value to become 0, or to become larger. Whoever changes a semaphore has the queue
 * of that change looked at, the longest waiting first, and does the operations of those who can go
 * on for them; only those who are through, or fail, are woken. What they changed is looked at in
 * turn:
 *
 *     change(a)  ->  waiter at a goes on, changes b  ->  waiter at b ...
 *
 * until no change is left. A waiter that gets past its semaphore and finds another in its way moves
 * to that one's queue. An operation that takes from a semaphore does not let those be looked at
 * again who want more of it: so it takes a time that rises with the number of waiters, and not with
 * its square, unless what they do lets others go on each time.
 *
 * What is still to be looked at is kept in the set: a chain of queues, and in each the next waiter.
 * The thread that has made a change goes along it (sem_settle) in portions, between which the mutex
 * is free: others use the set meanwhile, and go along the chain too if they make changes. A thread
 * that is killed leaves the rest to the waiter who would be next:
 *
 *     A sets a, is killed: w->settle, wakes w  ->  w continues, or is killed itself: w2->settle ...
 *
 * That one does so whatever has ended its wait. So the chain is empty, or a thread is at it, or has
 * been woken for it. A call that ends meanwhile, because another did its operations or failed, does
 * not wait for the chain's end.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/ipc/sem_private.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"

/* What is done in one hold of the mutex, in units of an operation tried, some 40 instructions: with
 * the last call that it begins, of up to 500 operations, 40,000 instructions. */
#define PORTION 500u
#define WAKING  12u /* a thread */

/* ---- queues ---- */

static struct sem_queue *queue_of(struct sem_set *s, uint32_t number)
{
    return &s->sem[number / SEM_CHANGES].queue[number % SEM_CHANGES];
}

/* Look at all in this queue, from the first. */
static void look_later(struct sem_set *s, uint32_t number)
{
    struct sem_queue *q = queue_of(s, number);

    q->at = list_first(&q->waiters);
    if (!q->at || q->chained)
        return;
    q->chained = true;
    q->next = s->chain;
    s->chain = number;
}

static void note_change(struct sem_set *s, uint32_t sem, bool more)
{
    look_later(s, sem * SEM_CHANGES + (more ? SEM_MORE : SEM_LESS));
}

static void note_changes(struct sem_set *s, const struct sem_op *ops, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        if (ops[k].change)
            note_change(s, ops[k].number, ops[k].change > 0);
}

void sem_change(struct sem_set *s, uint32_t number, int32_t value, uint32_t pid)
{
    struct sem *m = &s->sem[number];
    int32_t before = m->value;

    m->value = value;
    m->pid = pid;
    if (value != before)
        note_change(s, number, value > before);
}

void sem_end_waits(struct sem_set *s)
{
    for (uint32_t k = 0; k < s->nsems * SEM_CHANGES; k++)
        look_later(s, k);
}

static void wait_at(struct sem_set *s, struct sem_wait *w, const struct sem_op *at)
{
    w->in = &s->sem[at->number].queue[at->change == 0 ? SEM_LESS : SEM_MORE];
    list_add_tail(&w->in->waiters, &w->link);
}

static void leave_queue(struct sem_wait *w)
{
    if (w->in->at == &w->link)
        w->in->at = list_next(&w->in->waiters, &w->link);
    list_remove(&w->link);
}

/* w's call is over. The thread may leave as soon as the mutex is free. */
static void finish(struct sem_wait *w, int result)
{
    leave_queue(w);
    w->result = result;
    __atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
    wake_all(&w->queue);
}

/* ---- operations ---- */

#define BLOCKED 1 /* as a result of attempt: *at is in the way */

/* One operation. 0, BLOCKED, -EAGAIN, -ERANGE; then nothing has changed. */
static int one_op(struct sem_set *s, const struct sem_op *op, struct sem_undo *u)
{
    int32_t to = s->sem[op->number].value + op->change;

    if (op->change == 0 ? to != 0 : to < 0)
        return op->flags & (int16_t)IPC_NOWAIT ? -EAGAIN : BLOCKED;
    if (to > SEM_VALUE_MAX)
        return -ERANGE;
    if (op->flags & SEM_UNDO) {
        int32_t adjust = u->adjust[op->number] - op->change;

        if (adjust < -SEM_VALUE_MAX - 1 || adjust > SEM_VALUE_MAX)
            return -ERANGE;
        u->adjust[op->number] = (int16_t)adjust;
    }
    s->sem[op->number].value = to;
    return 0;
}

/* Do all operations of w or none. *at: the first that could not be done. Results as for one_op. */
static int attempt(struct sem_set *s, const struct sem_wait *w, const struct sem_op **at)
{
    const struct sem_op *ops = w->ops;
    unsigned k = 0;
    int r = 0;

    if (w->undo)
        sem_undo_refresh(s, w->undo);
    while (k < w->n && (r = one_op(s, &ops[k], w->undo)) == 0)
        k++;
    if (r == 0) {
        for (k = 0; k < w->n; k++)
            s->sem[ops[k].number].pid = w->pid;
        return 0;
    }
    *at = &ops[k];
    while (k--) {
        s->sem[ops[k].number].value -= ops[k].change;
        if (ops[k].flags & SEM_UNDO)
            w->undo->adjust[ops[k].number] = (int16_t)(w->undo->adjust[ops[k].number] +
                                                       ops[k].change);
    }
    return r;
}

/* Try again for w. Returns the cost in the units of PORTION. */
static unsigned try_again(struct sem_set *s, struct sem_wait *w)
{
    const struct sem_op *at;
    int r = ipc_is_removed(&s->ipc) ? -EIDRM : attempt(s, w, &at);

    if (r == BLOCKED) {
        if (w->in != &s->sem[at->number].queue[at->change == 0 ? SEM_LESS : SEM_MORE]) {
            leave_queue(w);
            wait_at(s, w, at);
        }
        return 1 + w->n;
    }
    finish(w, r);
    if (r == 0)
        note_changes(s, w->ops, w->n);
    return WAKING + (r == -EIDRM ? 0 : w->n);
}

/* ---- settling ---- */

/* The next waiter to be looked at; NULL: there is none, and the chain is empty. */
static struct sem_wait *next_to_try(struct sem_set *s)
{
    while (s->chain != SEM_NOBODY) {
        struct sem_queue *q = queue_of(s, s->chain);

        if (q->at)
            return list_entry(q->at, struct sem_wait, link);
        q->chained = false;
        s->chain = q->next;
    }
    return NULL;
}

/* Leave the rest to a waiter. */
static void hand_over(struct sem_set *s)
{
    struct sem_wait *w = next_to_try(s);

    if (!w)
        return;
    __atomic_store_n(&w->settle, true, __ATOMIC_RELEASE);
    wake_all(&w->queue);
}

void sem_settle(struct sem_set *s)
{
    uint64_t since_ns = clock_ns();
    struct sem_wait *w;
    unsigned cost = 0;

    while ((w = next_to_try(s)) != NULL) {
        if (cost >= PORTION) {
            if (thread_killed()) {
                hand_over(s);
                return;
            }
            mutex_pause(&s->lock, &since_ns);
            cost = 0;
            continue; /* w may have gone */
        }
        w->in->at = list_next(&w->in->waiters, &w->link);
        cost += try_again(s, w);
    }
}

/* ---- waiting ---- */

/* Wait until w is done. Set's mutex not held. 0 or -EINTR, -ETIMEDOUT. */
static int await(struct sem_set *s, struct sem_wait *w, struct waiter *t, uint64_t deadline_ns)
{
    int err = 0;

    while (!err && !__atomic_load_n(&w->done, __ATOMIC_ACQUIRE)) {
        if (__atomic_load_n(&w->settle, __ATOMIC_ACQUIRE)) {
            wait_finish(t);
            mutex_lock(&s->lock);
            w->settle = false;
            sem_settle(s);
            wait_enqueue(&w->queue, t);
            mutex_unlock(&s->lock);
            continue;
        }
        err = wait_block(t, WAIT_INTERRUPTIBLE, deadline_ns);
        if (!err)
            wait_enqueue(&w->queue, t);
    }
    wait_finish(t);
    return err;
}

int sem_do(struct sem_set *s, struct sem_wait *w, uint64_t deadline_ns)
{
    const struct sem_op *at;
    struct waiter t;
    int err = attempt(s, w, &at);

    if (err == 0) {
        note_changes(s, w->ops, w->n);
        sem_settle(s);
    }
    if (err != BLOCKED)
        return err;
    wait_queue_init(&w->queue, "semaphores");
    wait_at(s, w, at);
    wait_enqueue(&w->queue, &t);
    mutex_unlock(&s->lock);
    err = await(s, w, &t, deadline_ns);
    mutex_lock(&s->lock); /* whoever was finishing w is through with it */
    if (!w->done) {
        leave_queue(w);
        w->result = err == -ETIMEDOUT ? -EAGAIN : -EINTR;
    }
    if (w->settle)
        sem_settle(s);
    return w->result;
}
