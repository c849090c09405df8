/*
 * Walks of lists of processes that drop the table lock after each portion.
 *
 * A walk marks its position by a place of its own in the list, behind the process that it has
 * returned last. So processes may be added and removed meanwhile, by anybody, and the walk goes on
 * where it was; it meets each process that is in the list from its beginning to its end exactly
 * once. New processes are added at the end of a list: a walk meets those too.
 *
 * Other walks' places are skipped, and count as processes in a portion.
 */
#ifndef KERNEL_PROC_WALK_H
#define KERNEL_PROC_WALK_H

#include "kernel/base/list.h"
#include "kernel/sched/ipl.h"

struct process;

/* An element of a list of processes: a process's place, or that of a walk. */
struct process_place {
    struct list link;        /* first: debuggers follow it; table lock */
    struct process *process; /* constant; NULL: a walk is here */
};

/* Places looked at in one hold of the table lock, each in up to 100 instructions. */
#define WALK_AT_ONCE 12u

struct process_walk {
    struct process_place at;
    struct list *head;
    ipl_t ipl;
    unsigned seen; /* places since the lock was taken */
};

/* Begin a walk of the list `head`, with the table lock held; ipl: what spin_lock() returned. */
void process_walk_begin_locked(struct process_walk *w, struct list *head, ipl_t ipl);
/* The next process, NULL at the end, where the walk has ended. The table lock is held before and
 * after, and so the process is there until the next call; it may have been dropped in between, so
 * that all that was read under it before may have changed. */
struct process *process_walk_next(struct process_walk *w);
/* Have the next call drop the lock first: the caller has done much under it. */
static inline void process_walk_pause(struct process_walk *w) { w->seen = WALK_AT_ONCE; }
/* End a walk before its end. Table lock held. */
static inline void process_walk_end_locked(struct process_walk *w) { list_remove(&w->at.link); }

#endif
