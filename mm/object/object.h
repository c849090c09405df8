/*
 * Memory objects, for their owners: file systems and sections. An object is a set of pages that
 * address spaces map. It may have a pager, which supplies and takes back its pages. What private
 * memory writes are pages of its own (mm/space/anon.c): an object is never copied. Offsets and
 * sizes are in pages; IPL up to IPL_ASTDEL and no object lock held, unless said otherwise.
 */
#ifndef MM_OBJECT_OBJECT_H
#define MM_OBJECT_OBJECT_H

#include "kernel/base/types.h"
#include "mm/object/pager.h"

struct census;
struct mm_object;

/* Create an object of npages (at most OBJECT_MAX_PAGES) with one reference, the caller's. ops and
   pager_data name its pager; ops NULL: anonymous memory, filled with zeros. NULL: out of memory. */
struct mm_object *object_create(uint64_t npages, const struct pager_ops *ops, void *pager_data);
/* Add a reference; the caller has one already. */
void object_ref(struct mm_object *o);
/* Drop a reference. The last one frees the object and calls the pager's `end`, at once or, while
   the pager still owes answers, with the last of them. */
void object_unref(struct mm_object *o);
/* The same for a reference that a thread may have while it waits at a safe point
   (kernel/sched/freeze.h), recorded nowhere else: the self-check counts these. */
void object_hold(struct mm_object *o);
void object_drop(struct mm_object *o);
void *object_pager_data(struct mm_object *o);
const struct pager_ops *object_pager(const struct mm_object *o);
/* How many pages it has in memory, and how many bytes of nonpaged pool it and its index take. */
void object_measure(struct mm_object *o, uint64_t *resident, uint64_t *pool_bytes);
/* Find the page at offset, for a file's read and write through the pages that are mapped. Returns
   it with a reference for the caller; PFN_NONE: it is not in memory. */
pfn_t object_page_try_get(struct mm_object *o, uint64_t offset);
/* Is the page at offset in memory? To ask does not count as a use. */
bool object_page_is_there(struct mm_object *o, uint64_t offset);
/* As object_page_try_get(), but a page that is in a page file is brought back; *out is PFN_NONE if
   the object has no such page. 0, -EIO, -ENOMEM, -EINTR. IPL 0, no spinlock held. */
int object_page_find(struct mm_object *o, uint64_t offset, pfn_t *out);
/* The same, but ask the pager (or allocate a zero page) and wait if it is not there with the given
   access (MAP_R, MAP_W). 0 with a reference in *out; -EFAULT: offset is beyond the end; -EINTR: a
   fatal signal ended the wait; -ENOMEM; or the pager's error. IPL 0, no spinlock held. */
int object_page_get(struct mm_object *o, uint64_t offset, unsigned access, pfn_t *out);
/* Make the object npages long. Pages from there on are unmapped everywhere and freed; one that is
   being written back is freed by that answer. */
void object_truncate(struct mm_object *o, uint64_t npages);
/* The same, but a thread that is to end stops on the way. Returns the length reached: npages, or
   more (then thread_killed() is true), with all pages below it as they were. */
uint64_t object_truncate_killable(struct mm_object *o, uint64_t npages);

/* How many map entries map the object? It may have changed by the return. */
uint32_t object_mappers(struct mm_object *o);

/* The first page of [from, end) that is in memory; written: that a mapping may have been written
   through, too, since the pager had its contents. UINT64_MAX: there is none, or the thread is to
   end. */
uint64_t object_next_page(struct mm_object *o, uint64_t from, uint64_t end, bool written);
/* Free pages of an object that is mapped nowhere, if nobody refers to them and the pager has their
   contents: among those from *at on, at most `most`, of which no more than 64 are looked at with
   the lock held. Returns how many; *at is where to go on, 0 after the last one. A thread that is to
   end stops early. */
uint64_t object_evict(struct mm_object *o, uint64_t *at, uint64_t most);
/* Ask the pager for those of `count` pages from offset on that are neither in memory nor asked for,
   as many at once as follow each other, and do not wait. Its `get` is called with access 0. Pages
   for which memory is short are left out. The caller has a reference. IPL 0, no spinlock. */
void object_read_ahead(struct mm_object *o, uint64_t offset, uint64_t count);

/* ---- page files (mm/object/object_paging.c) ---- */

/* How many pages it has in page files. */
uint64_t object_filed(struct mm_object *o);
/* The next object whose pages may go to page files, of those that were not visited in this round,
   with a reference for object_drop(); NULL: all were. Pager's thread. */
struct mm_object *object_next_to_page(uint32_t round);
/* One step over pages of o, from where the last one has stopped: those that nobody uses go to page
   files, and access to others is taken away. *more: the step has not reached the object's end.
   only: pages that are charged to this counter, NULL: all. Returns how many pages were freed.
   Pager's thread; waits for the disk. */
struct quota_count;
unsigned object_page_out(struct mm_object *o, const struct quota_count *only, bool *more);
/* Bring back what o has in this page file. 0, -EIO, -ENOMEM, -EINTR. Pager's thread. */
int object_page_in(struct mm_object *o, unsigned file);
/* Called, if set, with no lock of mm held, after there was no memory for a page of an object that a
   call asks for: wait until pages have gone to page files. False: none have. */
extern bool (*object_wait_for_memory)(void);

/* Does any address space map the object? It may have changed by the return. */
bool object_is_mapped(struct mm_object *o);

/* Account for the object and its index in the census (mm/pool/pool_census.h). */
void object_census(struct census *c, const struct mm_object *o);

#endif
