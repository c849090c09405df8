/*
 * Pagers: the table of operations that a pageable object's owner provides, and the functions with
 * which the owner answers (docs/architecture.md, Memory objects). A request may complete later, on
 * any CPU and in any order: it is recorded in the object's page index, where its answer finds it.
 * No thread, lock or buffer is held in the meantime; a faulting thread waits for the page alone.
 * Offsets and counts are in pages.
 */
#ifndef MM_OBJECT_PAGER_H
#define MM_OBJECT_PAGER_H

#include "kernel/base/types.h"

struct mm_object;

/* Called without any lock. The operations that return a value return 0 when the request is
   accepted and will be answered, perhaps from inside the call; or a negative errno, after which no
   answer may come. */
struct pager_ops {
    const char *name;
    bool in_memory; /* it has no storage: what was supplied is the only copy, and goes to page files
                       as anonymous memory does */
    /* Supply pages that are not present, with at least `access` (MAP_R, MAP_W). Answered by
       mm_supply or mm_deny for each page. */
    int (*get)(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access);
    /* Grant more access to a page that is present. Answered by mm_supply, with PFN_NONE to grant it
       or with a page to replace the present one, or by mm_deny. NULL: more access is never granted.
     */
    int (*upgrade)(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access);
    /* Write a modified page back. Answered by mm_put_done. NULL: pages are never written back. */
    int (*put)(struct mm_object *o, uint64_t offset, uint64_t count);
    /* Write the modified pages of the range back and wait until the pager's storage has them. 0, or
       a negative errno: some of them it has not. NULL: there is no storage. The caller has a
       reference; IPL 0, no mutex held. */
    int (*sync)(struct mm_object *o, uint64_t offset, uint64_t count);
    /* A store through a shared mapping has faulted, and the contents change now. The mutex of an
       address space is held shared; must not wait. NULL: nothing to do. */
    void (*written)(struct mm_object *o);
    /* The object's last reference has gone and its pages are freed; the object itself is freed when
       this returns. NULL: nothing to do. */
    void (*end)(struct mm_object *o);
};

/* The functions below are called by pagers, at IPL up to IPL_ASTDEL and with no object lock held.
   None of them waits. */

/* Answer get or upgrade for one page: pfn becomes the object's, with `access` granted. 0; -ENOENT:
   no request for it is outstanding, or the object has shrunk or gone, and pfn was freed. */
int mm_supply(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access);
/* The same if *state, which its owner changes before it takes the object's lock, is still `was`.
   -EAGAIN: it is not, and pfn is still the caller's. */
int mm_supply_if(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access,
                 const uint64_t *state, uint64_t was);
/* Has the object, of the n pages (a power of two up to 64) around offset, none, and is none asked
   for but that at offset? From inside `get` for it. */
bool mm_asks_alone(struct mm_object *o, uint64_t offset, uint64_t n);
/* The same as mm_supply_if() for a page that nobody has asked for, read-write, from inside `get`
   for another page of the same 64, which is answered afterwards. False: the object has something
   there, is too short, or *state has changed, and pfn is still the caller's. */
bool mm_offer(struct mm_object *o, uint64_t offset, pfn_t pfn, const uint64_t *state, uint64_t was);
/* Refuse get or upgrade for `count` pages: the waiting threads get err, a negative errno. */
void mm_deny(struct mm_object *o, uint64_t offset, uint64_t count, int err);
/* Take access away from pages that are present: MAP_R leaves them readable, 0 removes them from the
   object, a modified one after `put`. All PTEs are changed and their translations invalidated on
   return. 0; -EBUSY: pages that are locked in memory were left as they are, all others changed. */
int mm_downgrade(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access);
/* Start writing back the modified pages of the range that have no request outstanding. 0; -EINVAL:
   the pager has no `put`. */
int mm_flush(struct mm_object *o, uint64_t offset, uint64_t count);
/* Answer put for `count` pages. err 0: they are clean; a negative errno: they stay and are still
   modified. */
void mm_put_done(struct mm_object *o, uint64_t offset, uint64_t count, int err);

/* Between these two the object is not freed, whatever answers are given: for a pager that looks at
   its data behind them. Begun while an answer is owed, which keeps the object until then. */
void mm_answers_begin(struct mm_object *o);
void mm_answers_end(struct mm_object *o);

/* At boot: initialise the queues on which threads wait for pages. */
void pager_boot(void);

#endif
