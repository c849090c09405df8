/*
 * Failure injection: MEGA_CTL_FAIL_ARM and MEGA_CTL_FAIL_REPORT of <megalith/info.h> make the n-th
 * allocation of a thread fail. mm/phys/failure.h describes how.
 */
#ifndef MEGALITH_FAILURE_H
#define MEGALITH_FAILURE_H

#include <stdint.h>

/* Kinds of allocations. */
enum mega_alloc {
    MEGA_ALLOC_PAGE,    /* a page */
    MEGA_ALLOC_PAGES,   /* several pages at once */
    MEGA_ALLOC_STRETCH, /* contiguous pages */
    MEGA_ALLOC_NPP,     /* nonpaged pool */
    MEGA_ALLOC_PGD,     /* paged pool */
    MEGA_ALLOC_STACK,   /* a kernel stack */
    MEGA_ALLOC_WINDOW,  /* a window: addresses in system space */
    MEGA_ALLOC_PROMISE, /* a promise of fluid pages */
    MEGA_ALLOC_PLACE,   /* a free range of an address space */
    MEGA_ALLOC_PROCESS, /* an entry of the process table */
    MEGA_ALLOC_FD,      /* a file descriptor */
    MEGA_ALLOC_SECTION, /* an entry of the table of global sections */
    MEGA_ALLOC_SHARE,   /* a share of a section */
    MEGA_ALLOC_QUOTA,   /* quota of a logical name table */
    MEGA_ALLOC_KINDS,
};

#define MEGA_FAIL_SITES 8

struct mega_failure {
    uint64_t passed;   /* allocations that were not made to fail */
    uint64_t fired;    /* 1: the n-th allocation was made to fail */
    uint32_t kind;     /* enum mega_alloc of that allocation */
    uint32_t in_fault; /* 1: it was in a page fault of the kernel on user memory */
    uint64_t call;     /* number of the system call; in a user page fault, of the last one */
    uint64_t injected, counted;     /* failures and allocations of all threads since boot */
    char site[MEGA_FAIL_SITES][48]; /* function+offset of the allocator's caller, its caller ... */
};

/* A system call or service: MEGA_INFO_CALL, whose index is the number. */
struct mega_call {
    char name[48];      /* name of the kernel's function */
    uint32_t arguments; /* how many of a0 to a5 the function reads */
    uint32_t reserved;
};

#endif
