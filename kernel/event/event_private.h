/* The structures of kernel/event, for its own files. */
#ifndef KERNEL_EVENT_EVENT_PRIVATE_H
#define KERNEL_EVENT_EVENT_PRIVATE_H

#include "kernel/base/order.h"
#include "kernel/event/event.h"
#include "kernel/sched/spinlock.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"

/* 32 flags and who waits for them. */
struct event_cluster {
    uint32_t flags;          /* atomic */
    uint32_t changes;        /* atomic: counts what waiters may want to see */
    struct wait_queue queue; /* of threads that wait; they wake each other (flag.c) */
};

/* A common cluster (common.c), in nonpaged pool. */
struct event_common {
    struct event_cluster cluster;
    struct treap_node node;         /* in the directory; directory mutex */
    struct event_cluster_name name; /* constant */
    uint32_t uic_group, uic_member; /* of who has made it; constant */
    bool owner_only;                /* constant */
    bool permanent;                 /* directory mutex */
    uint32_t associations;          /* of processes; directory mutex */
    uint32_t refs;                  /* atomic: the directory's, associations, waiters */
    uint16_t account;               /* charged for it; constant */
    struct event_owner *charged;    /* a timer request, for a temporary one; NULL; with a reference;
                                       directory mutex */
};

#define CLUSTERS_LOCAL  2u
#define CLUSTERS_COMMON 2u

/* In nonpaged pool. `lock` is RANK_EVENTS, IPL_CLOCK. */
struct event_owner {
    struct spinlock lock;
    uint32_t refs;         /* atomic */
    uint16_t account;      /* charged for this structure; constant */
    bool closed;           /* the process has ended; lock */
    bool disabled;         /* $SETAST(0); atomic: written under lock */
    bool active;           /* an AST routine runs; likewise */
    bool held;             /* the target has put its ASTs off (event_hold_asts); lock */
    bool absorbing;        /* a thread completes a posted request; atomic: written under lock */
    bool asked;            /* atomic: `target` has something to do; written under lock */
    uint32_t image;        /* number of programs so far; lock */
    struct thread *target; /* who takes ASTs; NULL: nobody any more; lock */
    struct list posted;    /* requests to be completed; lock */
    struct list asts;      /* requests whose AST is to be delivered; lock */
    struct event_request forced;     /* of event_force_ast; charges nothing, and has no reference */
    bool forcing;                    /* `forced` is on `asts`; lock */
    uint32_t ast_limit, timer_limit; /* 0: the system parameters'; constant */
    uint32_t nasts;                  /* atomic: ASTs outstanding, at most the limit */
    uint32_t ntimers;                /* atomic: timer requests, temporary clusters */
    struct order timers;             /* of struct event_tqe (tqe.c); lock */
    uint64_t cpu_next;               /* atomic, written under lock: no timer of CPU time is due
                                        before; 0: there is none */
    struct order wakes;              /* likewise: scheduled wake-ups, of any number; lock */
    struct event_cluster local[CLUSTERS_LOCAL];
    struct event_cluster none; /* for those who wait for a request without a flag */
    struct event_common *common[CLUSTERS_COMMON]; /* each with a reference, or NULL; lock */
    uint32_t wake_pending;                        /* atomic: $WAKE was called */
    struct wait_queue hibernating;
};

/* ---- flag.c ---- */

void event_cluster_init(struct event_cluster *c);
/* Set a flag, or (mask 0) only tell the waiters. Any IPL up to IPL_CLOCK, locks below RANK_WAIT.
 * Returns the flags before. */
uint32_t event_cluster_set(struct event_cluster *c, uint32_t mask);
/* The cluster that a flag is in; EVENT_NONE has one too. SS$_NORMAL, SS$_ILLEFC, SS$_UNASEFC. The
 * owner's lock is held. */
cond_t event_cluster_locked(struct event_owner *o, uint32_t efn, struct event_cluster **c);
static inline uint32_t event_bit(uint32_t efn)
{
    return efn < EVENT_FLAGS ? UINT32_C(1) << efn % 32 : 0;
}

/* ---- common.c ---- */

void event_common_unref(struct event_common *c);

/* ---- request.c ---- */

/* Charge one AST or one timer request, at most so many as the process may have. */
bool event_ast_charge(struct event_owner *o);
bool event_timer_charge(struct event_owner *o);
/* The owner's lock is held: r is complete but for its flag and AST. True: the caller releases r,
 * after the lock. */
bool event_settle_locked(struct event_owner *o, struct event_request *r);
/* Is a request posted that nobody completes yet? A hint without the lock. */
static inline bool event_is_posted(const struct event_owner *o)
{
    return __atomic_load_n(&o->posted.next, __ATOMIC_SEQ_CST) != &o->posted &&
           !__atomic_load_n(&o->absorbing, __ATOMIC_RELAXED);
}
/* Take the first AST off the list; NULL: there is none. The owner's lock is held. */
struct event_request *event_next_ast_locked(struct event_owner *o);
/* Has the target thread something to do? Tells it. The owner's lock is held. */
void event_ask_locked(struct event_owner *o);
/* Give r back, of which nothing is left to be done. No lock of the owner is held. */
void event_request_release(struct event_request *r);

#endif
