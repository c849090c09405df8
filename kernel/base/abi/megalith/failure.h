/*
 * Allocations that are made to fail: MEGA_CTL_FAIL_ARM and MEGA_CTL_FAIL_REPORT of
 * <megalith/info.h>. How it works: mm/phys/failure.h.
 */
#ifndef MEGALITH_FAILURE_H
#define MEGALITH_FAILURE_H

#include <stdint.h>

/* What was asked for. */
enum mega_alloc {
    MEGA_ALLOC_PAGE,    /* a page */
    MEGA_ALLOC_PAGES,   /* several at once */
    MEGA_ALLOC_STRETCH, /* contiguous pages */
    MEGA_ALLOC_NPP,     /* nonpaged pool */
    MEGA_ALLOC_PGD,     /* paged pool */
    MEGA_ALLOC_STACK,   /* a kernel stack */
    MEGA_ALLOC_WINDOW,  /* a stretch of system space */
    MEGA_ALLOC_PROMISE, /* a promise of fluid pages */
    MEGA_ALLOC_PLACE,   /* a free stretch of an address space */
    MEGA_ALLOC_PROCESS, /* a place in the process table */
    MEGA_ALLOC_FD,      /* a descriptor */
    MEGA_ALLOC_SECTION, /* a place in the table of global sections */
    MEGA_ALLOC_SHARE,   /* a share of a section */
    MEGA_ALLOC_QUOTA,   /* quota of a table of logical names */
    MEGA_ALLOC_KINDS,
};

#define MEGA_FAIL_SITES 8

struct mega_failure {
    uint64_t passed;   /* allocations that went ahead */
    uint64_t fired;    /* 1: the n-th came, and failed */
    uint32_t kind;     /* of that one: enum mega_alloc */
    uint32_t in_fault; /* 1: it was in a page fault of the kernel, reading or writing user memory */
    uint64_t call;     /* number of the call that it was in; in a fault of user mode the last one */
    uint64_t injected, counted;     /* since boot, by all threads */
    char site[MEGA_FAIL_SITES][48]; /* function+offset: the allocator's caller, its caller ... */
};

/* MEGA_INFO_CALL, index number: is there such a call? */
struct mega_call {
    char name[48];      /* of the kernel's function */
    uint32_t arguments; /* how many of a0 to a5 it looks at */
    uint32_t reserved;
};

#endif
