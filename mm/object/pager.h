/*
 * Pagers: the table of operations behind every pageable object, and what they call back
 * (docs/architecture.md, Memory objects). Every request may complete later, in any order, on any
 * CPU: it is a mark in the object's page index that its completion finds again; no thread, lock or
 * buffer is held meanwhile, and a faulting thread waits on the page alone. Offsets and counts in
 * pages.
 */
#ifndef MM_OBJECT_PAGER_H
#define MM_OBJECT_PAGER_H

#include "kernel/base/types.h"

struct mm_object;

struct pager_ops {
    const char *name;
    /* Bring pages in with at least `access` (MAP_R, MAP_W). Answered by mm_supply or mm_deny for
     * each page. 0: accepted. */
    int (*get)(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access);
    /* A page that is present is wanted with more access. Answered by mm_supply with PFN_NONE
     * (grant) or mm_deny. */
    int (*upgrade)(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access);
    /* A modified page goes back. Answered by mm_put_done. NULL: never written back. */
    int (*put)(struct mm_object *o, uint64_t offset, uint64_t count);
    /* The object's last reference has gone; pages are already freed. */
    void (*end)(struct mm_object *o);
};

/* Toward mm; IPL up to IPL_ASTDEL, no object lock held by the caller. */
/* The page at offset is pfn (ownership passes to the object) with access granted. -ENOENT: nobody
 * waits for it any more (mm frees pfn). */
int mm_supply(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access);
/* It cannot be had: waiters get err (negative errno). */
void mm_deny(struct mm_object *o, uint64_t offset, uint64_t count, int err);
/* Take access away: MAP_R leaves it readable, 0 takes it out; all mappings are changed and
   invalidated before it returns. 0, or -EBUSY: pages that are locked in memory were not taken out,
   and keep their access; all others were. */
int mm_downgrade(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access);
/* Put back what is modified. */
int mm_flush(struct mm_object *o, uint64_t offset, uint64_t count);
void mm_put_done(struct mm_object *o, uint64_t offset, uint64_t count, int err);

/* Boot: the queues of those who wait for pages. */
void pager_boot(void);

#endif
