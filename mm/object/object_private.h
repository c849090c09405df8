/* Private to mm/object: the index's inner functions, freeing, entries, the reverse walk. */
#ifndef MM_OBJECT_OBJECT_PRIVATE_H
#define MM_OBJECT_OBJECT_PRIVATE_H

#include "mm/object/mapping.h"
#include "mm/object/object_pages.h"

/* ---- index (mm/object/object_index.c); lock held ---- */
/* The last leaf that has slots in [from, below), with the offset of its first slot in *base; NULL:
   there is none. */
struct index_node *index_last_leaf(struct mm_object *o, uint64_t from, uint64_t below,
                                   uint64_t *base);

/* The first such leaf. */
struct index_node *index_next_leaf(struct mm_object *o, uint64_t from, uint64_t below,
                                   uint64_t *base);

/* ---- objects (mm/object/object.c, pager.c) ---- */
/* Drop a reference and the lock, held on entry; free the object if it was the last one. */
void object_unref_unlock(struct mm_object *o, ipl_t ipl);
/* Free an object that nothing refers to, with its pages, and call its pager's `end`. No lock held.
 */
void object_free_memory(struct mm_object *o);
/* Remove the pages of [from, to), which no PTE maps and none can map any more, and free them; one
   with a put or a walk outstanding is freed at its end. Begins at the end of the range. Takes the
   lock for one leaf of the index at a time; killable: a thread that is to end stops between two
   leaves. Returns the page from which on all are freed, `from` at the end. IPL up to IPL_ASTDEL, no
   lock held; the caller has a reference. */
uint64_t object_free_range(struct mm_object *o, uint64_t from, uint64_t to, bool killable);
/* Remove the page at a present slot, which no PTE maps, from the object, unless a put or a walk is
   outstanding, whose end then removes it. Returns the page, for the caller to drop its reference,
   or PFN_NONE. Lock held. */
pfn_t object_release_page_locked(struct mm_object *o, slot_t *s);

/* ---- page files (mm/object/object_paging.c); lock held ---- */
/* Forget the contents of a page that is in a page file. One that is being read is forgotten when
   that is over. True: the slot is empty now. */
bool object_forget_filed_locked(struct mm_object *o, slot_t *s);
/* The pages of [from, to), a few, count as used: the pager has not taken them from all who map
   them. */
void object_unmark_locked(struct mm_object *o, uint64_t from, uint64_t to);
/* Wake those who wait for the page. Lock not held. */
void pager_wake(struct mm_object *o, uint64_t offset);

/* ---- entries (mm/object/mappings.c); lock held ---- */
/* The first entry behind (first, age) in the order that maps a page of [from, to); NULL: there is
   none. A walk of all begins with (0, 0) of entries whose age is above 0. */
struct map_entry *object_entry_after(const struct mm_object *o, uint64_t first, uint64_t age,
                                     uint64_t from, uint64_t to);
/* The same behind e, which is attached. Lock held. */
struct map_entry *object_entry_behind(const struct map_entry *e, uint64_t from, uint64_t to);

/* ---- reverse walk (mm/object/rmap.c) ---- */
/* Change every PTE that maps a page of [from, to) of o: clear it (access 0) or make it read-only
   (MAP_R). All CPUs have invalidated their translations on return. Called without the lock, which
   is taken for a bounded number of PTEs at a time; the caller has marked the pages so that no PTE
   gives more access any more. locked: what to do about an entry that is locked in memory and maps
   such a page. False: stopped. IPL up to IPL_ASTDEL; the caller has a reference or a request. */
enum rmap_locked {
    RMAP_CHANGE, /* the same as about others */
    RMAP_STOP,   /* stop there */
    RMAP_UNMARK, /* leave its PTEs, and tell: object_unmark_locked() for pages that it maps, and
                    perhaps for some next to them */
};
bool rmap_restrict(struct mm_object *o, uint64_t from, uint64_t to, unsigned access,
                   enum rmap_locked locked);
/* Clear all PTEs that map a page of [from, to), which a fault must find truncated. killable: a
   thread that is to end stops between two steps. False: it has stopped. IPL 0, no lock held. */
bool rmap_unmap(struct mm_object *o, uint64_t from, uint64_t to, bool killable);

#endif
