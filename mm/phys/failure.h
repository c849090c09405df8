/*
 * Allocation failure on purpose: "the n-th allocation from now in what this thread calls fails".
 *
 * Everything that can answer "there is none" asks at its front door first: pages, pools, kernel
 * stacks, promises of fluid pages, places in address spaces, descriptors, places in the process
 * table, shares and entries of sections, quota of logical names. Asking in front of lookaside lists
 * and caches makes a hit there count as an allocation too. An allocation inside another one (the
 * page that a pool grows by) is one more. What was promised before (PA_PROMISED) cannot fail and is
 * not asked for.
 *
 * Armed by MEGA_CTL_FAIL_ARM for the calling thread, up to MEGA_CTL_FAIL_REPORT. While nothing is
 * armed a door is one load and one branch. Page faults of user mode between the two are left out
 * unless they are what is tried. Nothing is shared: each thread has its own.
 */
#ifndef MM_PHYS_FAILURE_H
#define MM_PHYS_FAILURE_H

#include "kernel/base/abi/megalith/failure.h"
#include "kernel/base/backtrace.h"
#include "kernel/sched/thread.h"

struct failure {                    /* own thread's; memory of whoever armed it */
    uint64_t left;                  /* allocations up to the one that fails; 0: it has */
    bool faults;                    /* page faults of user mode count too */
    bool in_fault;                  /* one that the kernel's access to user memory made */
    struct mega_failure report;     /* but for its names */
    uint64_t site[MEGA_FAIL_SITES]; /* return PCs, from the caller of the allocator on */
    struct backtrace_room room;
};

/* The slow side of failure_door: count one, true: it is to fail. Any IPL. */
bool failure_here(enum mega_alloc kind);

/* Are allocations counted? Where a door must be no more than this, failure_here is called behind
   it. Any IPL. */
static inline bool failure_counting(void) { return unlikely(thread_self()->failing != NULL); }

/* Is the allocation that begins here to fail? Any IPL. */
static inline bool failure_door(enum mega_alloc kind)
{
    return failure_counting() && failure_here(kind);
}

/* What a page fault does, as the arming says: a fault of user mode is left out (or counts), one of
   the kernel is marked as such. resolve(va, cause) is called in between. */
int failure_in_fault(int (*resolve)(uint64_t va, int64_t cause), uint64_t va, int64_t cause,
                     bool from_user);

/* Begin: the n-th allocation of the current thread (from 1) fails. f: room for the record, which is
   the thread's until failure_disarm() returns it; nothing is armed. faults: so in page faults of
   user mode, and in system calls; else only in these. IPL 0. */
void failure_arm(struct failure *f, uint64_t n, bool faults);
/* Another program begins in this thread: count no more. The report stays to be asked for. */
static inline void failure_stop(void) { thread_self()->failing = NULL; }
/* End: the record goes back to the caller, who reads `report` (but for its names) and `site` and
   frees it. NULL: nothing was armed. IPL 0. */
struct failure *failure_disarm(void);
/* All failures injected since boot, and allocations that were counted. */
void failure_totals(uint64_t *injected, uint64_t *counted);

#endif
