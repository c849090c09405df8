/*
 * Turns: a wait queue in which users take turns. One user can have thousands of threads wait for a
 * mutex that all share, such as that of /tmp; in the order of their coming each single thread of
 * another user would wait for all of them, at each of its calls.
 *
 * So the queue's own list holds one turn of each user that waits, its leader, and each leader keeps
 * a list of the other turns of its user, its crowd, in the order in which they came. A wake-up
 * takes the first leader; the first of its crowd becomes the leader of the rest, at the end of the
 * queue. Nobody starves: between two wake-ups for a user there is at most one for each other that
 * waits, and within a user the first to come is the first to go.
 *
 *     queue --- leader of A --- leader of B --- leader of C
 *                   |               |
 *                another A       another B
 *                   |
 *                another A
 *
 * Who was woken, but was too late, comes back to the head of the queue; it leads nobody.
 *
 * The first TURN_USERS of the queue are compared with who comes, under the queue's spinlock; those
 * that came back count, too. Beyond them a user is not found, and has another leader: then it gets
 * more turns than its due, but none waits for ever.
 *
 * The functions on lists know no threads, are also used on the host, and are called with the queue
 * locked. Nothing here allocates or fails.
 */
#ifndef KERNEL_SCHED_TURN_H
#define KERNEL_SCHED_TURN_H

#include "kernel/sched/wait.h"

#define TURN_USERS 8u

struct turn {
    struct waiter waiter; /* first; its link is in the queue's list, or in a crowd */
    const void *user;     /* NULL: it came back, and leads nobody */
    struct list crowd;    /* a leader's: of struct turn, waiter.link */
    bool leads;
};

static inline struct turn *turn_of(struct list *link)
{
    return container_of(link, struct turn, waiter.link);
}

/* Put t behind the others of its user, or at the end if there are none. */
static inline void turn_join(struct list *leaders, struct turn *t, const void *user)
{
    struct list *at = leaders->next;

    list_init(&t->crowd);
    t->user = user;
    t->leads = false;
    for (unsigned n = 0; n < TURN_USERS && at != leaders; n++, at = at->next)
        if (turn_of(at)->user == user) {
            list_add_tail(&turn_of(at)->crowd, &t->waiter.link);
            return;
        }
    t->leads = true;
    list_add_tail(leaders, &t->waiter.link);
}

/* Put t, which was woken, before all others. */
static inline void turn_join_first(struct list *leaders, struct turn *t)
{
    list_init(&t->crowd);
    t->user = NULL;
    t->leads = true;
    list_add_head(leaders, &t->waiter.link);
}

/* Let the first of t's crowd, if it has one, lead the rest, as the neighbour before `next`. */
static inline void turn_pass_lead(struct turn *t, struct list *next)
{
    struct list *l = list_pop_head(&t->crowd);

    if (!l)
        return;
    list_splice_tail(&turn_of(l)->crowd, &t->crowd);
    turn_of(l)->leads = true;
    list_add_before(next, l);
}

/* Take t off; who was behind it keeps that place. */
static inline void turn_leave(struct turn *t)
{
    if (t->leads)
        turn_pass_lead(t, &t->waiter.link);
    list_remove(&t->waiter.link);
}

/* Take the first one off, whose user then has its next turn after all others. NULL: there is
   none. */
static inline struct turn *turn_take(struct list *leaders)
{
    struct list *l = list_pop_head(leaders);

    if (!l)
        return NULL;
    turn_pass_lead(turn_of(l), leaders);
    return turn_of(l);
}

/* ---- the same with a wait queue on which there is nothing else ---- */

/* Put the current thread on q, as wait_enqueue(), or at its head, after it was woken; wait_block()
   waits for &t->waiter. IPL 0, no spinlock, as the others. */
void turn_enqueue(struct wait_queue *q, struct turn *t);
void turn_enqueue_first(struct wait_queue *q, struct turn *t);
/* As wait_finish(). */
void turn_finish(struct turn *t);
/* Wake the thread whose turn it is, if any waits. The caller keeps the queue in existence. */
void turn_wake(struct wait_queue *q);

#endif
