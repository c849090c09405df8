/*
 * Accounting: what processes that have ended had used. Each leaves a record of fixed size, unless
 * $CREPRC was told PRC$M_NOACNT. Records are kept in memory in rings of fixed length, so nobody can
 * make them grow: the oldest one of the ring gives way. Root has a ring of its own and the other
 * users share the rest, so that a user whose processes end in a loop pushes out the records of few
 * others, and none of root's.
 *
 * Who may see a record is decided where it is shown (kernel/sys/info/accounting.c).
 */
#ifndef KERNEL_PROC_ACCOUNTING_H
#define KERNEL_PROC_ACCOUNTING_H

#include "kernel/base/types.h"
#include "kernel/sched/thread.h"

struct aspace;
struct process;

/* What a process used in address spaces that it has left, by exec or by its end. Written by its own
 * only thread; atomic: read by others. */
struct accounting_spaces {
    uint64_t faults, peak_bytes, peak_pages;
};

struct accounting_record {
    uint64_t number; /* 1 for the first process that ended, and so on */
    uint32_t pid, owner, job;
    uint32_t status;      /* condition value */
    uint32_t exit_status; /* as wait4 returns it */
    uint32_t uid, uic_group, uic_member;
    char name[16];
    uint64_t start_ns, end_ns; /* clock_ns() */
    struct cpu_time used;
    struct accounting_spaces spaces;
    uint64_t buffered_io, direct_io; /* reads and writes; requests to disks */
};

/* p leaves the address space `as`, which it had alone unless it was made with CLONE_VM. By its only
 * thread. Any IPL below IPL_CLOCK. */
void accounting_leave_space(struct process *p, const struct aspace *as);

/* Fill in *r but for its number, owner and job: p ends now, with this condition value and wait4
 * status, and has used so much. Table lock held. */
void accounting_note_locked(const struct process *p, uint32_t status, uint32_t exit_status,
                            struct cpu_time used, struct accounting_record *r);

/* Add what p has used to the sums of all that have ended; once, when nobody finds it alive any
 * more. Table lock held. */
void accounting_end_locked(const struct process *p);

/* These sums, at one moment. IPL 0; takes the table lock. */
struct accounting_sums {
    uint64_t processes, faults, io;
};
struct accounting_sums accounting_ended(void);

/* The owner of p, or else its parent, 0: neither; the master of its job, or p itself. Table lock
 * held. */
uint32_t accounting_owner_locked(const struct process *p);
uint32_t accounting_job_locked(const struct process *p);

/* A new record for p, which has its number, in place of the oldest one of its ring; the caller
 * fills in the rest. Table lock held. */
struct accounting_record *accounting_add_locked(const struct process *p);

/* Copy the record with the least number that is `number` or above. False: there is none. IPL 0;
 * takes the table lock, for a constant time. */
bool accounting_find(uint64_t number, struct accounting_record *r);

#endif
