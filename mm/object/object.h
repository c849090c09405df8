/*
 * Objects: what address spaces map. An object has pages, perhaps a pager, a shadow (what it was
 * copied from) and copies. fork's copy of private memory is symmetric (Mach's): source and copy
 * both get a new object in front when they write; a middle object with one user is collapsed.
 */
#ifndef MM_OBJECT_OBJECT_H
#define MM_OBJECT_OBJECT_H

#include "kernel/base/types.h"
#include "mm/object/pager.h"

struct mm_object;

/* An object behind a pager, npages long; reference 1 to the caller. NULL when memory is short. ops
 * NULL: anonymous, zero filled. */
struct mm_object *object_create(uint64_t npages, const struct pager_ops *ops, void *pager_data);
void object_ref(struct mm_object *o);
void object_unref(struct mm_object *o);
void *object_pager_data(struct mm_object *o);
/* How many pages it has in memory, and what it takes of nonpaged pool. Any IPL up to IPL_ASTDEL. */
void object_measure(struct mm_object *o, uint64_t *resident, uint64_t *pool_bytes);
/* For file read/write through the same pages: find a page (referenced), or PFN_NONE. */
pfn_t object_page_try_get(struct mm_object *o, uint64_t offset);
/* Find it, asking the pager and waiting when needed; 0 with a reference in *out, -EINTR when a
   fatal signal ended the wait, or another negative errno. */
int object_page_get(struct mm_object *o, uint64_t offset, unsigned access, pfn_t *out);
/* Drop pages from offset on (truncate): unmapped everywhere, freed. */
void object_truncate(struct mm_object *o, uint64_t npages);

/* The census (mm/pool/pool_census.h): account for it and its index. */
struct census;
void object_census(struct census *c, const struct mm_object *o);

#endif
