/*
 * The rule by which threads share a CPU: earliest eligible virtual deadline first (README.md states
 * and argues it). Independent of the machine: also built for the host.
 *
 * A queue holds nodes that compete. A node is a thread, or a group with a queue of its own, in
 * which its members compete for what the group gets: so queues form a tree whose root is a CPU's
 * and whose leaves are threads. In each queue at most one node is `current`, chosen and using the
 * CPU; the other ready ones are in a balanced tree by deadline. A group takes part while any of its
 * members is ready or runs.
 *
 * All times are cycles of the CPU's counter (4 ns). The virtual time v of a node advances by what
 * it uses, scaled by FAIR_WEIGHT/weight; its deadline is v + request, also scaled. A node is
 * eligible if its v is not above the mean of all v in its queue, weighted: that is, if it has not
 * had more than its share.
 *
 * Urgent nodes, those of threads for which others may be waiting, are chosen before all others of
 * their queue, in the order in which they came. They are charged like any other, and so have their
 * turn later than the others once they are not urgent any more.
 *
 * Everything is protected by the lock of the CPU's run queue. Adding, choosing and removing take
 * O(log n) steps; a queue with one node has a short path in line.
 */
#ifndef KERNEL_SCHED_FAIR_H
#define KERNEL_SCHED_FAIR_H

#include "kernel/base/list.h"

#define FAIR_WEIGHT     1024u /* of nice 0, and of each user */
#define FAIR_WEIGHT_MIN 32u   /* of a user on a CPU where few of its threads are */
#define FAIR_GAP_MIN    64u   /* between the loads of two CPUs: what is less is left */
#define FAIR_RATE_SHIFT 20u

struct fair_queue;

enum fair_urgent {
    FAIR_CALM,
    FAIR_HURRIES, /* in the tree, to be chosen before those that are not urgent */
    FAIR_HURRIED, /* was chosen for that; stays until somebody asks and it has no reason any more */
};

struct fair_node {
    /* The tree; all NULL and `red` 0 while the node is in none. least: least v of the subtree. */
    struct fair_node *up, *child[2];
    uint64_t least;
    uint64_t v, deadline;
    struct fair_queue *queue; /* in which it competes */
    struct fair_queue *inner; /* in which its members compete; NULL: it is a thread */
    uint64_t rate;    /* of v, per cycle used: FAIR_WEIGHT / weight, shifted by FAIR_RATE_SHIFT */
    uint64_t request; /* virtual length of a request */
    uint64_t grain; /* virtual: how much earlier than another deadline its own must be to preempt */
    uint64_t credit; /* virtual: how far below the others v may be after a sleep */
    uint32_t weight; /* atomic: others read that of a user as a hint */
    uint32_t start;  /* of a group that is current: it is charged up to this cycle */
    uint8_t red;
    uint8_t urgent;          /* enum fair_urgent */
    struct list urgent_link; /* in queue->urgent while `urgent` is FAIR_HURRIES */
};

struct fair_queue {
    struct fair_node *root;    /* of the tree */
    struct fair_node *current; /* not in the tree */
    struct fair_node *owner;   /* the group's node in the queue above; NULL: the CPU's queue */
    uint64_t floor;            /* least v of the ready nodes when last looked at; never falls */
    /* Sums over the tree of weight, and of weight * (v - floor). Valid while it has two nodes or
       more: that is, while the root has a child. */
    uint64_t weights;
    int64_t moment;
    struct list urgent; /* those of the tree that hurry, the first first */
    uint32_t depth;     /* of the CPU's queue 0 */
};

/* In cycles used: the length of a request, and by how much earlier than another the deadline of a
   woken node must be for it to preempt. */
#define FAIR_REQUEST 488281u /* 2 ticks of 1/1,024 s */
#define FAIR_GRAIN   244141u /* 1 tick: what is less waits for a tick */
/* The most that is charged at once. Each tick charges who runs, and the kernel never keeps it off
   for long: if more time has passed, the host has not run this CPU, and nobody has made progress
   for which others would be owed any. */
#define FAIR_CHARGE_MAX (2 * FAIR_GRAIN)

static inline bool fair_before(uint64_t a, uint64_t b) { return (int64_t)(a - b) < 0; }

static inline bool fair_in_tree(const struct fair_node *n)
{
    return n->up != NULL || n->queue->root == n;
}

static inline bool fair_has_children(const struct fair_node *n)
{
    return n->child[0] != NULL || n->child[1] != NULL;
}

void fair_queue_init(struct fair_queue *q, struct fair_node *owner);
/* Initialise a node of queue q with v at q's floor; inner: NULL for a thread, else the queue of the
   group's members, which q's level owns from now on. */
void fair_node_init(struct fair_node *n, struct fair_queue *q, struct fair_queue *inner,
                    uint32_t weight);
/* Change the weight of n, which is in no tree. */
void fair_set_weight(struct fair_node *n, uint32_t weight);
/* All users weigh the same over all CPUs together. `all`: the sum of the weights of a user's
   threads that are ready or run, above 0; `here`: of those on one CPU, or of one of them, at most
   `all`. fair_share(): what the user's group weighs on that CPU; fair_part(): what that thread adds
   to it. */
static inline uint32_t fair_part(uint64_t here, uint64_t all)
{
    return (uint32_t)(FAIR_WEIGHT * here / all);
}
static inline uint32_t fair_share(uint64_t here, uint64_t all)
{
    return MAX(fair_part(here, all), FAIR_WEIGHT_MIN);
}
/* Give n, the node of a user, which is current and charged, its share, if that has changed by more
   than a sixteenth. */
void fair_set_share(struct fair_node *n, uint64_t here, uint64_t all);
/* The weight of all ready nodes of a CPU's queue: its load. */
uint32_t fair_load(const struct fair_queue *q);
/* Does it make the loads of two CPUs, `gap` apart, more equal to move a thread of the weight `one`,
   whose user has `all`, so that it is not moved back afterwards? It does if gap exceeds what it
   adds, its part; the margin keeps loads that are measured a little wrong from moving it to and
   fro. That is a quarter of its part if it is one of few: two such threads must not share a CPU for
   the sake of a margin. Where there are many it is half of the part, as others do as well. */
static inline bool fair_moves(uint32_t gap, uint64_t one, uint64_t all)
{
    return gap >= FAIR_GAP_MIN && 4 * gap * all >= (all < 8 * one ? 5 : 6) * FAIR_WEIGHT * one;
}
/* The weight of a nice value, -20 to 19: each step is a factor of about 1.25. */
uint32_t fair_weight_of_nice(int nice);

/* The general cases of the functions below. */
void fair_tree_add(struct fair_queue *q, struct fair_node *n);
void fair_tree_remove(struct fair_queue *q, struct fair_node *n);
struct fair_node *fair_tree_pop(struct fair_queue *q);
void fair_raise_floor(struct fair_queue *q, uint64_t floor);

/* n has been current for so many cycles. */
static inline void fair_charge(struct fair_node *n, uint32_t cycles)
{
    n->v += MIN(cycles, FAIR_CHARGE_MAX) * n->rate >> FAIR_RATE_SHIFT;
}

/* n, current, yields: it forgoes the rest of its request, as if it had used it. Otherwise hundreds
   of threads that poll and yield would each get as much CPU time as the one for which they wait. */
static inline void fair_forgo(struct fair_node *n)
{
    if (fair_before(n->v, n->deadline))
        n->v = n->deadline;
}

/* n's virtual time, as if it had slept until now: not further below the others than its credit. It
   begins a request. */
static inline void fair_place(struct fair_node *n)
{
    uint64_t low = n->queue->floor - n->credit;

    if (fair_before(n->v, low))
        n->v = low;
    n->deadline = n->v + n->request;
}

/* n becomes the only node of its queue's tree, which is empty. */
static inline void fair_insert_only(struct fair_node *n)
{
    n->queue->root = n;
    n->least = n->v;
}

static inline void fair_insert(struct fair_queue *q, struct fair_node *n)
{
    if (unlikely(q->root != NULL)) {
        fair_tree_add(q, n);
        return;
    }
    fair_insert_only(n);
}

/* n, which hurries, leaves the tree; `now` is what becomes of its urgency. */
static inline void fair_unhurry(struct fair_node *n, enum fair_urgent now)
{
    list_remove(&n->urgent_link);
    n->urgent = now;
}

/* Remove and return the node of q's tree, which is not empty, that is to run next. */
static inline struct fair_node *fair_pop(struct fair_queue *q)
{
    struct fair_node *n = q->root;

    if (unlikely(fair_has_children(n)))
        return fair_tree_pop(q);
    q->root = NULL;
    if (unlikely(n->urgent == FAIR_HURRIES))
        fair_unhurry(n, FAIR_HURRIED);
    if (fair_before(q->floor, n->v))
        q->floor = n->v;
    return n;
}

/* Thread n becomes ready: it was waiting, or comes from another queue. */
void fair_add_level(struct fair_node *n);
static inline void fair_add(struct fair_node *n)
{
    struct fair_queue *q = n->queue;

    if (unlikely(q->root != NULL || q->current == NULL)) {
        fair_add_level(n);
        return;
    }
    fair_place(n);
    fair_insert_only(n);
}

/* Thread n, which is ready and in its queue's tree, is no longer. */
void fair_remove(struct fair_node *n);

/* The thread that is to run next. root is a CPU's queue; some thread is ready; no thread is
   current, but groups may be, which are then kept. now: the cycle counter. The thread becomes
   current. */
static inline struct fair_node *fair_pick(struct fair_queue *root, uint32_t now)
{
    struct fair_queue *q = root;

    for (;;) {
        struct fair_node *n = q->current;

        if (n == NULL) {
            n = fair_pop(q);
            q->current = n;
            n->start = now;
        }
        if (n->inner == NULL)
            return n;
        q = n->inner;
    }
}

/* Thread n, current, stops being ready. keep: groups that still have ready members remain current,
   so that the CPU stays with them; else each level is to be decided anew. */
void fair_stop(struct fair_node *n, uint32_t now, bool keep);
/* Thread n, current and charged, remains ready, and each level is to be decided anew. */
void fair_put_back(struct fair_node *n, uint32_t now);
/* The same, but another thread runs next, if there is one: the nearest by groups. Returns the
   thread that does; it is current. */
struct fair_node *fair_pass(struct fair_node *n, uint32_t now);
/* Thread n, on no queue, becomes current, as no thread is; its groups become current with it. */
void fair_resume(struct fair_node *n, uint32_t now);
/* A clock tick met thread n, current and charged. Should another one run? keep: not another of its
   own queue. */
bool fair_tick(struct fair_node *n, uint32_t now, bool keep);
/* Thread n, which has just become ready or was put back, is urgent: it, and the groups that it is
   in below its user's, are chosen before all others of their queues. */
void fair_hurry(struct fair_node *n);
/* Should thread n, which has just become ready, preempt thread current of the same CPU? The first
   is for the case that both are in one queue. */
static inline bool fair_precedes(const struct fair_node *n, const struct fair_node *current)
{
    return fair_before(n->deadline + n->grain, current->deadline) && !fair_before(current->v, n->v);
}
bool fair_preempts(const struct fair_node *n, const struct fair_node *current);

/* Virtual time relative to the queue, to be carried from one queue to another: fair_detach() turns
   n->v, and n is on no queue; fair_attach() turns it back and is bounded. */
static inline void fair_detach(struct fair_node *n) { n->v -= n->queue->floor; }
void fair_attach(struct fair_node *n, struct fair_queue *q);
/* n, which is new and is going to be attached, gets the weight of `from`, which is in no tree, and
   stands where that stands. If that is below the floor, the two share the credit. */
static inline void fair_inherit(struct fair_node *n, struct fair_node *from)
{
    int64_t ahead = from->queue ? (int64_t)(from->v - from->queue->floor) : 0;

    n->weight = from->weight;
    n->rate = from->rate;
    n->request = from->request;
    n->grain = from->grain;
    n->credit = from->credit;
    if (ahead < 0) {
        ahead /= 2;
        from->v -= (uint64_t)ahead;
    }
    n->v = (uint64_t)ahead;
}

#endif
