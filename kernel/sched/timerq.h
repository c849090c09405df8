/*
 * Timers in the order of their deadlines; equal deadlines in the order in which the timers were
 * started. Independent of the machine: also built for the host. Insertion searches from the end,
 * since most new deadlines are later than the pending ones.
 */
#ifndef KERNEL_SCHED_TIMERQ_H
#define KERNEL_SCHED_TIMERQ_H

#include "kernel/sched/timer.h"

#define TIMERQ_NEVER UINT64_MAX

/* Insert t; true when it became the first. */
static inline bool timerq_add(struct list *q, struct timer *t)
{
    struct list *l = q->prev;

    while (l != q && list_entry(l, struct timer, link)->deadline_ns > t->deadline_ns)
        l = l->prev;
    list_add_after(l, &t->link);
    t->pending = true;
    return l == q;
}

static inline void timerq_remove(struct timer *t)
{
    list_remove(&t->link);
    t->pending = false;
}

/* Deadline of the first timer, TIMERQ_NEVER when there is none. */
static inline uint64_t timerq_first(const struct list *q)
{
    return list_empty(q) ? TIMERQ_NEVER : list_first_entry(q, struct timer, link)->deadline_ns;
}

/* Remove and return the first timer whose deadline is not after now_ns; NULL when there is none. */
static inline struct timer *timerq_pop_due(struct list *q, uint64_t now_ns)
{
    if (timerq_first(q) > now_ns || list_empty(q))
        return NULL;

    struct timer *t = list_first_entry(q, struct timer, link);

    timerq_remove(t);
    return t;
}

#endif
