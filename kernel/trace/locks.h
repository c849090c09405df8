/*
 * Traces of spinlocks and mutexes: the callers of each lock, counted beside the lines of
 * kernel/sched/lockstat.h while tables for them are loaded, in a table for each CPU. What finds no
 * place there is counted as dropped.
 */
#ifndef KERNEL_TRACE_LOCKS_H
#define KERNEL_TRACE_LOCKS_H

#include "kernel/sched/lockstat.h"

/* A CPU's callers, found by a hash: twice as many as a kernel of this size has places. */
#define LOCK_CALLERS 1024u

/* One place that takes one lock. Written by own CPU at IPL_HIGH, read by others as statistics. */
struct lock_caller {
    const char *name; /* NULL: free; set last, by release order */
    uint64_t place;
    uint8_t rank, shared;
    uint64_t count, waits, wait_ns, held_ns;
};

/* As pcs_load() and its like (kernel/trace/pcsample.h): -EALREADY, -ENOENT, -ENOMEM. The four, and
 * what follows them, exclude each other (kernel/trace/trace.c). IPL 0. */
int locks_load(enum lockstat_kind kind);
int locks_start(enum lockstat_kind kind);
int locks_stop(enum lockstat_kind kind);
int locks_unload(enum lockstat_kind kind);

uint64_t locks_bytes(enum lockstat_kind kind); /* of all tables; 0: not loaded */
uint64_t locks_dropped(enum lockstat_kind kind);
/* A copy of that slot, its name NULL when it is empty. False: there are no tables, or no such slot.
 */
bool locks_get(enum lockstat_kind kind, uint64_t cpu, uint64_t slot, struct lock_caller *out);

#endif
