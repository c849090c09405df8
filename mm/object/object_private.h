/* Private to mm/object: making, merging and freeing objects, and the reverse walk. */
#ifndef MM_OBJECT_OBJECT_PRIVATE_H
#define MM_OBJECT_OBJECT_PRIVATE_H

#include "mm/object/mapping.h"
#include "mm/object/object_pages.h"

/* ---- index (mm/object/object_index.c); lock held ---- */
/* Free the nodes that were made for the empty slot at offset and serve nothing else. */
void index_trim(struct mm_object *o, uint64_t offset);
void index_free(struct mm_object *o);

/* ---- objects (mm/object/object.c, object_copy.c, pager.c) ---- */
/* A new object of the family whose lock that is, without a reference. NULL: no memory. */
struct mm_object *object_create_in(struct spinlock *family, uint64_t npages);
/* Drop a reference; the lock, held on entry, is dropped. */
void object_unref_unlock(struct mm_object *o, ipl_t ipl);
/* The object has one user left, a copy: merge the two. Lock held; returns an object to be freed, or
 * NULL. */
struct mm_object *object_collapse_locked(struct mm_object *o);
/* Free an object that nobody can reach, with its pages, and tell its pager. No lock held. */
void object_free_memory(struct mm_object *o);
/* The pager, or truncation, takes the page at a present slot away: unmapped everywhere, then
   dropped, or dropped by the answer to the request that is under way. Lock held. */
void object_take_page_locked(struct mm_object *o, uint64_t offset, slot_t *s);

/* ---- reverse walk (mm/object/rmap.c); lock held ---- */
/* Change every PTE that maps page pfn at offset of o: clear it (access 0) or make it read-only
 * (MAP_R). Flushed on return. */
void rmap_restrict_locked(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access);
/* Has an address space that maps the page locked it in memory? */
bool rmap_is_locked(struct mm_object *o, uint64_t offset, pfn_t pfn);

#endif
