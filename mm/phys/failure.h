/*
 * Failure injection: make the n-th allocation of the current thread fail.
 *
 * Every function that can fail for lack of a resource calls failure_inject() first: allocation of
 * pages, pool blocks, kernel stacks, descriptors, address ranges, slots of the process table,
 * entries and shares of sections, promises of fluid pages, quota of logical names. It is called
 * before any lookaside list or cache is searched, so a request that these could satisfy counts as
 * an allocation too. An allocation inside another one (the page by which a pool grows) counts as
 * one more. Promised pages (PA_PROMISED) cannot fail and are not counted.
 *
 * MEGA_CTL_FAIL_ARM begins the counting for the calling thread, MEGA_CTL_FAIL_REPORT ends it. While
 * nothing is armed, the check is one load and one branch. Page faults of user mode in between are
 * not counted unless the arming asks for them. Nothing is shared between threads, so there is no
 * lock.
 */
#ifndef MM_PHYS_FAILURE_H
#define MM_PHYS_FAILURE_H

#include "kernel/base/abi/megalith/failure.h"
#include "kernel/base/backtrace.h"
#include "kernel/sched/thread.h"

struct failure {                    /* own thread only; memory of the caller of failure_arm() */
    uint64_t left;                  /* allocations up to the one that fails; 0: it has failed */
    bool faults;                    /* page faults of user mode count too */
    bool in_fault;                  /* in a fault of the kernel on user memory */
    struct mega_failure report;     /* all fields except the names */
    uint64_t site[MEGA_FAIL_SITES]; /* return PCs, beginning with the caller of the allocator */
    struct backtrace_room room;     /* working memory of backtrace_callers() */
};

/* Count one allocation of this kind. True: it must fail. Called only while failure_counting() is
   true. Any IPL. */
bool failure_count(enum mega_alloc kind);

/* Are allocations of this thread counted? A fast path that must stay a leaf function makes only
   this check, and calls failure_count() out of line. Any IPL. */
static inline bool failure_counting(void) { return unlikely(thread_self()->failing != NULL); }

/* The check at the entry of an allocator. True: this allocation must fail. Any IPL. */
static inline bool failure_inject(enum mega_alloc kind)
{
    return failure_counting() && failure_count(kind);
}

/* Resolve a page fault by resolve(va, cause), whose result is returned, while allocations are
   counted. The allocations of a fault of user mode count only if the arming says so; those of a
   fault of the kernel on user memory count and are reported as such. */
int failure_in_fault(int (*resolve)(uint64_t va, int64_t cause), uint64_t va, int64_t cause,
                     bool from_user);

/* Make the n-th allocation (from 1) of the current thread fail; nothing is armed yet. The thread
   uses *f for the record until failure_disarm() returns it. faults: count allocations in page
   faults of user mode too, not only in system calls. IPL 0. */
void failure_arm(struct failure *f, uint64_t n, bool faults);
/* Stop counting, because the thread begins another program (exec). The record stays until
   failure_disarm(). */
static inline void failure_stop(void) { thread_self()->failing = NULL; }
/* Stop counting and return the record; the caller reads `report` and `site` and frees it. NULL:
   nothing was armed. IPL 0. */
struct failure *failure_disarm(void);
/* Number of failures injected and of allocations counted since boot, in all threads. */
void failure_totals(uint64_t *injected, uint64_t *counted);

#endif
