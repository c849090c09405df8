/*
 * The self-check: every page of RAM is counted exactly once, in the structures that hold it, and
 * these structures agree with each other and with their counters (mm/check/validate.c).
 *
 * All functions are called while no other thread runs (kernel/sched/freeze.h), so they take no
 * lock, and write only the memory of the check itself. They are called in this order (as
 * kernel/proc/validate.c does):
 *
 *   validate_begin()        at IPL 0
 *   validate_file_object()  for each object that a file holds
 *   validate_aspace()       for the address space of each process
 *   validate_space_refs()   for the address space of each process
 *   validate_end()          at IPL 0
 *
 * In between, validate_page() is called for each page that a layer above mm holds outside of an
 * object or address space. IPL below IPL_CLOCK where no other is given.
 */
#ifndef MM_CHECK_VALIDATE_H
#define MM_CHECK_VALIDATE_H

#include "kernel/base/types.h"

struct aspace;
struct mm_object;
struct validate;

/* Where a page was found. */
enum validate_kind {
    VALIDATE_FREE, /* the first four: lists of the domains, by state */
    VALIDATE_ZEROED,
    VALIDATE_MODIFIED,
    VALIDATE_BAD,
    VALIDATE_CACHED,     /* in CPU caches */
    VALIDATE_NEVER_USED, /* in ranges */
    VALIDATE_RESERVED,   /* in reservations */
    VALIDATE_PRIVATE,    /* mapped by PTEs, without an object or section */
    VALIDATE_OBJECT,
    VALIDATE_SECTION,
    VALIDATE_TABLE,        /* private page tables, roots, and tables of system space */
    VALIDATE_SHARED_TABLE, /* page tables of sections */
    VALIDATE_SYSTEM,       /* mapped by PTEs of system space: paged pool, windows */
    VALIDATE_KSTACK,
    VALIDATE_POOL,  /* of nonpaged pool */
    VALIDATE_CHECK, /* marks of the check itself */
    VALIDATE_PIPE,  /* of pipes, arguments of an exec that waits, requests to devices */
    VALIDATE_LINKS, /* links of kernel stacks, the page of zeroes, tables of page files */
    VALIDATE_KINDS,
};

#define VALIDATE_TEXT 448

struct validate_result {
    uint64_t pages[VALIDATE_KINDS];
    uint64_t total; /* managed pages */
    uint64_t spaces, entries, objects, sections, mappings, reservations;
    uint64_t ptes;            /* nonzero, of all levels */
    uint64_t errors;          /* 0: consistent */
    bool moved;               /* an interrupt took memory meanwhile: run the check again */
    char text[VALIDATE_TEXT]; /* the first errors, one line for each */
};

/* Begin a check. NULL: there is no memory for its marks. */
struct validate *validate_begin(void);
/* Finish the check, store the result in *r, and free v. */
void validate_end(struct validate *v, struct validate_result *r);

/* Count an active page of type PAGE_T_SYSTEM with one reference and owner 0. */
void validate_page(struct validate *v, pfn_t pfn, enum validate_kind kind);
/* Count a pin of a private page (mm/space/pin.h), and the page if no PTE maps it any more. Called
   for each pin before the address spaces are checked. */
void validate_pin(struct validate *v, pfn_t pfn);
/* Count a page that has left its object while a request to a device still refers to it. */
void validate_left_page(struct validate *v, pfn_t pfn);
/* Check the object of a file, which holds one reference to it. A second call for the same object
   does nothing. */
void validate_file_object(struct validate *v, struct mm_object *o);
/* Check the address space of a process. Called once for each process that uses it. */
void validate_aspace(struct validate *v, struct aspace *as);
/* Check one to which a thread refers that looks into it, or that thread's own. Called for each such
   thread, after all processes. */
void validate_visited_space(struct validate *v, struct aspace *as);
/* Compare its references with the number of processes that use it. Called for each process, after
   validate_aspace() was called for all. */
void validate_space_refs(struct validate *v, struct aspace *as);
/* Has this check seen the structure before? Marks it as seen. mark: a field of the structure for
   this purpose, 0 in a new one. */
bool validate_seen(const struct validate *v, uint16_t *mark);
/* Report an inconsistency as one line, on the console and in the result. */
void validate_error(struct validate *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
