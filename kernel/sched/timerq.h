/*
 * Timers in the order of their deadlines; equal deadlines in the order in which the timers were
 * started. Independent of the machine: also built for the host.
 *
 * Users can start as many timers as they can start processes, and the queue is changed at IPL_CLOCK
 * with its lock held. So it is a search tree, balanced by weights that a user cannot predict (a
 * treap: no weight is above that of the parent): adding and removing take some ten instructions for
 * each doubling of the number of timers. The first timer is known without a search.
 */
#ifndef KERNEL_SCHED_TIMERQ_H
#define KERNEL_SCHED_TIMERQ_H

#include "kernel/sched/timer.h"

#define TIMERQ_NEVER UINT64_MAX

struct timerq {
    struct timer *root, *first; /* NULL: the queue is empty */
    uint32_t seed;              /* state of the generator of weights; never 0 */
};

static inline void timerq_init(struct timerq *q, uint32_t seed)
{
    q->root = q->first = NULL;
    q->seed = seed | 1;
}

/* Make `by` (or NULL) the child of t's parent in t's place. */
static inline void timerq_replace(struct timerq *q, const struct timer *t, struct timer *by)
{
    if (!t->up)
        q->root = by;
    else if (t->up->left == t)
        t->up->left = by;
    else
        t->up->right = by;
    if (by)
        by->up = t->up;
}

/* Rotate c above its parent. */
static inline void timerq_rotate_up(struct timerq *q, struct timer *c)
{
    struct timer *p = c->up;

    timerq_replace(q, p, c);
    if (p->left == c) {
        p->left = c->right;
        if (p->left)
            p->left->up = p;
        c->right = p;
    } else {
        p->right = c->left;
        if (p->right)
            p->right->up = p;
        c->left = p;
    }
    p->up = c;
}

/* Insert t; true when it became the first. */
static inline bool timerq_add(struct timerq *q, struct timer *t)
{
    struct timer **at = &q->root, *up = NULL;
    bool first = true;

    q->seed ^= q->seed << 13; /* xorshift */
    q->seed ^= q->seed >> 17;
    q->seed ^= q->seed << 5;
    t->weight = q->seed;
    t->left = t->right = NULL;
    while (*at) {
        up = *at;
        if (t->deadline_ns < up->deadline_ns) {
            at = &up->left;
        } else {
            at = &up->right;
            first = false;
        }
    }
    *at = t;
    t->up = up;
    t->pending = true;
    if (first)
        q->first = t;
    while (t->up && t->up->weight < t->weight)
        timerq_rotate_up(q, t);
    return first;
}

static inline void timerq_remove(struct timerq *q, struct timer *t)
{
    if (q->first == t) { /* it has no left subtree: the next is the leftmost of the right one */
        q->first = t->right ? t->right : t->up;
        while (t->right && q->first->left)
            q->first = q->first->left;
    }
    while (t->left && t->right)
        timerq_rotate_up(q, t->left->weight > t->right->weight ? t->left : t->right);
    timerq_replace(q, t, t->left ? t->left : t->right);
    t->pending = false;
}

/* Deadline of the first timer, TIMERQ_NEVER when there is none. */
static inline uint64_t timerq_first(const struct timerq *q)
{
    return q->first ? q->first->deadline_ns : TIMERQ_NEVER;
}

/* Remove and return the first timer whose deadline is not after now_ns; NULL when there is none. */
static inline struct timer *timerq_pop_due(struct timerq *q, uint64_t now_ns)
{
    struct timer *t = q->first;

    if (!t || t->deadline_ns > now_ns)
        return NULL;
    timerq_remove(q, t);
    return t;
}

#endif
