/* Private to mm/object: creating, merging and freeing objects, and the reverse walk. */
#ifndef MM_OBJECT_OBJECT_PRIVATE_H
#define MM_OBJECT_OBJECT_PRIVATE_H

#include "mm/object/mapping.h"
#include "mm/object/object_pages.h"

/* ---- index (mm/object/object_index.c); lock held ---- */
/* Free the nodes that were created for the empty slot at offset and hold no other slot, and make
   the tree as low as its contents allow. */
void index_trim(struct mm_object *o, uint64_t offset);
/* Free all nodes. The object is unreachable; no lock needed. */
void index_free(struct mm_object *o);

/* ---- objects (mm/object/object.c, object_copy.c, pager.c) ---- */
/* Create an object of the family that this lock protects, with no reference yet. NULL: out of
   memory. */
struct mm_object *object_create_in(struct spinlock *family, uint64_t npages);
/* Drop a reference and the family's lock, held on entry; free what is then unreachable. */
void object_unref_unlock(struct mm_object *o, ipl_t ipl);
/* Merge o, whose only reference is that of a copy and which has no pager, with this copy. Family's
   lock held. Returns the object that is left over, for the caller to free (object_free_memory)
   without the lock; NULL: not merged. */
struct mm_object *object_collapse_locked(struct mm_object *o);
/* Free an object that nothing refers to, with its pages, and call its pager's `end`. No lock held.
 */
void object_free_memory(struct mm_object *o);
/* Remove the page at a present slot from the object, for its pager or for truncation: unmap it
   everywhere, then free it, now or, while a put is outstanding, with its answer. Lock held. */
void object_take_page_locked(struct mm_object *o, uint64_t offset, slot_t *s);

/* ---- reverse walk (mm/object/rmap.c); lock held ---- */
/* Change every PTE that maps page pfn at offset of o: clear it (access 0) or make it read-only
   (MAP_R). All CPUs have invalidated their translations on return. */
void rmap_restrict_locked(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access);
/* Does an address space map page pfn at offset of o through an entry that is locked in memory? */
bool rmap_is_locked(struct mm_object *o, uint64_t offset, pfn_t pfn);

#endif
