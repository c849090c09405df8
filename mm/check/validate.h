/*
 * The self-check: every page of RAM is counted exactly once, in the structures that have it, and
 * these agree with each other and with their counters. mm/check/validate.c says how.
 *
 * All of it runs while nothing else does (kernel/sched/freeze.h): no lock is needed, and what is
 * written is the check's own. The order of calls: validate_begin, validate_object for the objects
 * that files hold, validate_aspace for each process, validate_space_refs likewise, validate_page
 * for what the floors above have in pages of their own, validate_end. IPL below IPL_CLOCK;
 * begin and end: IPL 0.
 */
#ifndef MM_CHECK_VALIDATE_H
#define MM_CHECK_VALIDATE_H

#include "kernel/base/types.h"

struct aspace;
struct mm_object;
struct validate;

/* Where a page was found. */
enum validate_kind {
    VALIDATE_FREE, /* lists of the RADs by state ... */
    VALIDATE_ZEROED,
    VALIDATE_MODIFIED,
    VALIDATE_BAD,
    VALIDATE_CACHED,     /* CPU caches */
    VALIDATE_NEVER_USED, /* ranges */
    VALIDATE_RESERVED,   /* reservations */
    VALIDATE_PRIVATE,    /* behind PTEs */
    VALIDATE_OBJECT,
    VALIDATE_SECTION,
    VALIDATE_TABLE,        /* private page tables, roots and the system's included */
    VALIDATE_SHARED_TABLE, /* of sections */
    VALIDATE_SYSTEM,       /* behind PTEs of system space: paged pool */
    VALIDATE_KSTACK,
    VALIDATE_POOL,  /* nonpaged pool */
    VALIDATE_CHECK, /* the check's own marks */
    VALIDATE_PIPE,
    VALIDATE_LINKS, /* links of kernel stacks */
    VALIDATE_KINDS,
};

#define VALIDATE_TEXT 448

struct validate_result {
    uint64_t pages[VALIDATE_KINDS];
    uint64_t total; /* managed pages */
    uint64_t spaces, entries, objects, sections, mappings, reservations;
    uint64_t ptes;            /* nonzero, of all levels */
    uint64_t errors;          /* 0: consistent */
    bool moved;               /* an interrupt took memory meanwhile: to be run again */
    char text[VALIDATE_TEXT]; /* the first errors, a line each */
};

/* NULL: no memory for the marks. */
struct validate *validate_begin(void);
void validate_end(struct validate *v, struct validate_result *r);

/* An active page of type SYSTEM that is somebody's own. */
void validate_page(struct validate *v, pfn_t pfn, enum validate_kind kind);
/* The object of a file, which holds one reference. Again for the same one: nothing happens. */
void validate_file_object(struct validate *v, struct mm_object *o);
/* A process's address space. Several calls for one that several processes have. */
void validate_aspace(struct validate *v, struct aspace *as);
/* After all of these, for each process again: references. */
void validate_space_refs(struct validate *v, struct aspace *as);
/* Has this structure been here before, in this check? Notes that it has. mark: a field for this,
   0 in a new structure. */
bool validate_seen(const struct validate *v, uint16_t *mark);
/* One inconsistency, one line. */
void validate_error(struct validate *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
