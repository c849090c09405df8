/*
 * Real-time signals that are sent again while they are pending. A pending set has one record for
 * each signal; further ones wait in a queue for each real-time signal, and take its place in turn.
 *
 * Memory of a queue can neither be allocated nor freed under the signal lock (RANK_POOL): the
 * sender brings room, and what is taken out or discarded is freed after the lock was released.
 * Each record is charged to its sender.
 */
#ifndef KERNEL_PROC_SIGNAL_QUEUE_H
#define KERNEL_PROC_SIGNAL_QUEUE_H

#include "kernel/proc/signal.h"

#define REALTIME_FIRST   32 /* number of the first real-time signal */
#define REALTIME_SIGNALS (NSIG - REALTIME_FIRST + 1)
#define REALTIME         (~UINT64_C(0) << (REALTIME_FIRST - 1)) /* as a set */

struct queued_signal { /* nonpaged pool */
    struct queued_signal *next;
    struct signal_info info;
    uint16_t account; /* number of the account that is charged; constant */
};

struct signal_queue { /* nonpaged pool; signal lock */
    struct queued_signal *first[REALTIME_SIGNALS], **end[REALTIME_SIGNALS];
    uint32_t count[REALTIME_SIGNALS], total;
    uint16_t account; /* as above */
};

/* What a sender brings. */
struct signal_room {
    struct queued_signal *record;
    struct signal_queue *queue;
};

/* Get room for one more record of a real-time signal, both NULL if there is no memory or the user
 * is at its limit; and give back what was not used. Locks of ranks below RANK_POOL may be held. */
void signal_room_get(struct signal_room *r);
void signal_room_put(struct signal_room *r);

/* The following hold the signal lock. */

/* Queue a record behind those of `q`, in which the signal is pending already, unless q would have
 * more than `limit`. True: it uses room. */
bool signal_queue_add_locked(struct sigpending *q, const struct signal_info *info,
                             struct signal_room *r, uint64_t limit);
/* Replace the record of a pending real-time signal, which was taken, by the next one. That is the
 * caller's to free; NULL: there is none, and the signal is not pending any more. */
struct queued_signal *signal_queue_next_locked(struct sigpending *q, int sig);
/* Put all that is queued for these signals in front of *to. */
void signal_queue_discard_locked(struct sigpending *q, sigset_t bits, struct queued_signal **to);

/* Free a list. No lock of RANK_POOL or above is held. */
void queued_signals_free(struct queued_signal *list);
/* The end of a pending set, which nobody else can reach. */
void signal_queue_end(struct sigpending *q);

#endif
