/*
 * The ready threads of one CPU: a list for each of the 32 priorities, and a bitmap of the lists
 * that are not empty. Independent of the machine: also built for the host. Protected by the lock of
 * the run queue that contains it.
 */
#ifndef KERNEL_SCHED_PRIOQ_H
#define KERNEL_SCHED_PRIOQ_H

#include "kernel/base/bitops.h"
#include "kernel/base/list.h"

#define PRIOQ_LEVELS 32

struct prioq {
    uint32_t bitmap; /* bit n: level n is not empty */
    uint32_t count;
    struct list level[PRIOQ_LEVELS];
};

static inline void prioq_note_(struct prioq *q, uint32_t bitmap, uint32_t count)
{
    __atomic_store_n(&q->bitmap, bitmap, __ATOMIC_RELAXED);
    __atomic_store_n(&q->count, count, __ATOMIC_RELAXED);
}

/* Hints, without the lock: how many threads are ready; is there one of priority prio or above?
 * (prio may be PRIOQ_LEVELS, for which the answer is no; a 32-bit value cannot be shifted by that,
 * hence the cast.) */
static inline uint32_t prioq_count(const struct prioq *q)
{
    return __atomic_load_n(&q->count, __ATOMIC_RELAXED);
}
static inline bool prioq_has(const struct prioq *q, unsigned prio)
{
    return (uint64_t)__atomic_load_n(&q->bitmap, __ATOMIC_ACQUIRE) >> prio != 0;
}

static inline void prioq_init(struct prioq *q)
{
    q->bitmap = 0;
    q->count = 0;
    for (unsigned i = 0; i < PRIOQ_LEVELS; i++)
        list_init(&q->level[i]);
}

/* Add item as the last of its priority, or as the first (a thread that was preempted within its
 * time slice). */
static inline void prioq_add_tail(struct prioq *q, struct list *item, unsigned prio)
{
    list_add_tail(&q->level[prio], item);
    prioq_note_(q, q->bitmap | 1u << prio, q->count + 1);
}
static inline void prioq_add_head(struct prioq *q, struct list *item, unsigned prio)
{
    list_add_head(&q->level[prio], item);
    prioq_note_(q, q->bitmap | 1u << prio, q->count + 1);
}

/* Remove item, which is on q with that priority. */
static inline void prioq_remove(struct prioq *q, struct list *item, unsigned prio)
{
    uint32_t gone;

    list_remove(item);
    gone = list_empty(&q->level[prio]) ? 1u << prio : 0;
    prioq_note_(q, q->bitmap & ~gone, q->count - 1);
}

/* The highest priority that is ready; q is not empty. */
static inline unsigned prioq_top(const struct prioq *q) { return bit_highest(q->bitmap); }

/* Remove and return the oldest item of the highest priority; NULL when q is empty. */
static inline struct list *prioq_pop(struct prioq *q)
{
    if (q->bitmap == 0)
        return NULL;

    unsigned prio = prioq_top(q);
    struct list *item = q->level[prio].next;

    prioq_remove(q, item, prio);
    return item;
}

/* The first item for which fits(item, arg) holds, from the highest priority down and within a level
   from the newest: that thread has waited least, and its data is least likely to be in the cache of
   the CPU it comes from. NULL when there is none. */
static inline struct list *prioq_find(const struct prioq *q,
                                      bool (*fits)(const struct list *, uint64_t), uint64_t arg)
{
    for (uint32_t levels = q->bitmap; levels; levels &= ~(1u << bit_highest(levels))) {
        const struct list *head = &q->level[bit_highest(levels)];

        for (struct list *l = head->prev; l != head; l = l->prev)
            if (fits(l, arg))
                return l;
    }
    return NULL;
}

#endif
