/*
 * Traces of spinlocks and mutexes: the callers of each lock, counted in a table for each CPU while
 * tables are loaded, in addition to the entries of kernel/sched/lockstat.h. A caller that finds no
 * slot is counted as dropped.
 */
#ifndef KERNEL_TRACE_LOCKS_H
#define KERNEL_TRACE_LOCKS_H

#include "kernel/sched/lockstat.h"

/* Callers of one CPU, in a hash table: twice as many as a kernel of this size has. */
#define LOCK_CALLERS 1024u

/* One PC that acquires locks of one name. Written by the own CPU at IPL_HIGH, read by others as
   statistics. */
struct lock_caller {
    const char *name; /* NULL: free; stored last, with release order */
    uint64_t place;
    uint8_t rank, shared;
    uint64_t count, waits, wait_ns, held_ns;
};

/* Allocate the tables, start, stop, free the tables. As pcs_load() and the functions after it
 * (kernel/trace/pcsample.h): 0, -EALREADY, -ENOENT, -ENOMEM. The callers of these and of all
 * functions below exclude each other (kernel/trace/trace.c). IPL 0. */
int locks_load(enum lockstat_kind kind);
int locks_start(enum lockstat_kind kind);
int locks_stop(enum lockstat_kind kind);
int locks_unload(enum lockstat_kind kind);

uint64_t locks_bytes(enum lockstat_kind kind); /* of all tables; 0: not loaded */
uint64_t locks_dropped(enum lockstat_kind kind);
/* Copy that slot to *out, with the name NULL when it is empty. False: there are no tables, or no
   such slot. */
bool locks_get(enum lockstat_kind kind, uint64_t cpu, uint64_t slot, struct lock_caller *out);

#endif
