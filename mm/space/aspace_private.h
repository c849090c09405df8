/* Private to mm/space: the map of an address space. */
#ifndef MM_SPACE_ASPACE_PRIVATE_H
#define MM_SPACE_ASPACE_PRIVATE_H

#include "arch/alpha/hw/layout.h"
#include "mm/phys/page.h"
#include "mm/pt/pte_forms.h"
#include "mm/space/aspace.h"

/* Allocate an entry like `from`, without its object, its section and its lock in memory, for
   aspace_append_locked(). NULL: out of memory. */
struct map_entry *map_entry_copy(const struct map_entry *from);
/* Insert an entry behind all others. The caller counts it (struct aspace_counts). Mutex exclusive,
   or nobody else knows the space. */
void aspace_append_locked(struct aspace *as, struct map_entry *e);
/* Take the entry out of the list and the tree; the caller frees it. Mutex exclusive. */
void aspace_remove_locked(struct aspace *as, struct map_entry *e);
/* The entry that was looked up last, if it holds va. Relaxed order: entries are changed, and the
   hint is cleared, with the mutex held exclusively. Mutex at least shared. */
static inline struct map_entry *aspace_hinted(const struct aspace *as, vaddr_t va)
{
    struct map_entry *e = __atomic_load_n(&as->hint, __ATOMIC_RELAXED);

    return likely(e && va >= e->start && va < e->end) ? e : NULL;
}

/* As aspace_lookup_locked(), for callers that ask for the same entry again and again. */
static inline struct map_entry *aspace_entry_locked(struct aspace *as, vaddr_t va)
{
    struct map_entry *e = aspace_hinted(as, va);

    if (e)
        return e;
    e = aspace_lookup_locked(as, va);
    if (e)
        __atomic_store_n(&as->hint, e, __ATOMIC_RELAXED);
    return e;
}

/* Record in e->low that the stack e has been used down to va. False: va is in the guard page, which
   is the lowest page of the entry, or beyond the process's limit. Mutex at least shared. */
bool anon_stack_touch(struct aspace *as, struct map_entry *e, vaddr_t va);
/* Move the end of e, within what is free behind it, or down. Mutex exclusive. */
void aspace_set_end_locked(struct aspace *as, struct map_entry *e, vaddr_t end);
/* A created region that began at `start` is gone, and so are the entries in it. Mutex exclusive. */
void aspace_region_gone_locked(struct aspace *as, vaddr_t start);
/* Split the entries that extend across either address (0: no split there). 0, -ENOMEM, or the error
   of map_ops.split_prepare; nothing has changed after an error. Mutex exclusive. */
int aspace_split_locked(struct aspace *as, vaddr_t low, vaddr_t high);
/* Merge e with its neighbours where possible. Returns the entry that covers e's range then; e may
   have been freed. Mutex exclusive. */
struct map_entry *aspace_merge_locked(struct aspace *as, struct map_entry *e);
/* Map private memory at [va, va + len), which is free, by e, an unused entry from map_entry_alloc;
   it is then merged with its neighbours and may be freed. Mutex exclusive. */
void aspace_add_anon_locked(struct aspace *as, struct map_entry *e, vaddr_t va, uint64_t len,
                            unsigned prot);
/* Free the private tables of [va, end) that are empty, such as those created by a fault that then
   ran out of memory. Takes the mutex exclusively. */
void aspace_prune(struct aspace *as, vaddr_t va, vaddr_t end);
/* Is this a nonempty range of whole pages of user space? */
bool aspace_user_range(vaddr_t va, uint64_t len);
/* Set map_entry.locked, and count the entry's bytes as locked or not. Mutex exclusive. */
void aspace_mark_entry(struct aspace *as, struct map_entry *e, uint8_t mark);
/* Count n bytes of e in, or out if negative: virtual size and locked pages. Mutex exclusive. */
void aspace_count_extent(struct aspace *as, const struct map_entry *e, int64_t n);
/* Is e private memory that may be written, and no stack: does RLIMIT_DATA count it? */
static inline bool aspace_is_data(const struct map_entry *e)
{
    return (e->prot & MAP_W) && e->ops == &anon_ops && !(e->flags & (MAPF_SHARED | MAPF_GROWSDOWN));
}
/* May the current process map n bytes more, which are data or not? Mutex exclusive. */
bool aspace_may_grow_locked(struct aspace *as, uint64_t n, bool data);
/* Free an entry that has no PTEs and is off the map, and drop its reference to an object. */
void map_entry_destroy(struct map_entry *e);
/* Create an address space without entries, with one reference. NULL: out of memory. */
struct aspace *aspace_new(unsigned rad);

/* Pages that a fork copies because the last child wrote to them soon: those that were among its
   first FORK_SOON copies. */
#define FORK_SOON 4u

#define AROUND_PAGES 16u

/* The pages around va that a fault handles with it: [*from, *to), within va's table. p: PTE of va.
   Returns the PTE of *from. */
static inline pte_t *entry_around(const struct map_entry *e, pte_t *p, vaddr_t va, vaddr_t *from,
                                  vaddr_t *to)
{
    *from = MAX(va & ~(vaddr_t)(AROUND_PAGES * PAGE_SIZE - 1), e->start);
    if (e->flags & MAPF_GROWSDOWN)
        *from = MAX(*from, e->start + PAGE_SIZE);
    *to = MIN((va & ~(vaddr_t)(AROUND_PAGES * PAGE_SIZE - 1)) + AROUND_PAGES * PAGE_SIZE, e->end);
    return p - ((va - *from) >> PAGE_SHIFT);
}

/* Pages of an entry with an object whose PTEs are read or written under one hold of its lock. */
#define ENTRY_STEP 32u

/* Faults on a page that the PTE at p maps as private, `old` being its value (mm/space/anon.c): a
   write copies it if others map it too. Mutex shared. 0 or -ENOMEM. */
int anon_fault_present(struct aspace *as, struct map_entry *e, vaddr_t va, pte_t *p, pte_t old,
                       bool write);
/* Faults on a page that is in a page file: p is the PTE of va, and has this value. The mutex is
   held shared, and dropped in between, so that p may be no PTE any more. 0: it was brought back, by
   this thread or another; -EAGAIN: look again; -ENOMEM, -EIO; -EINTR: the caller is to end
   (mm/space/page_in.c). */
int anon_page_in(struct aspace *as, struct map_entry *e, vaddr_t va, pte_t *p, pte_t pte);
/* Faults on a page whose PTE at p has PTE_SW_AGED: it is used still. Mutex shared. Returns 0. */
int anon_fault_aged(struct aspace *as, struct map_entry *e, vaddr_t va, pte_t *p, pte_t old);
/* The slot in which the contents of a page are that several PTEs map; false: none is known. And
   remember one, which some PTE has (mm/space/page_written.c). Pager's thread. */
bool written_find(pfn_t pfn, uint32_t *slot);
void written_add(pfn_t pfn, uint32_t slot);
/* Can the pages of e be put into a page file? Mutex held. */
static inline bool anon_is_pageable(const struct map_entry *e)
{
    return e->ops == &anon_ops && !e->object && !e->locked &&
           !(e->flags & (MAPF_SHARED | MAPF_HUGE));
}
/* Resolve a fault in the general way (mm/space/fault.c). The mutex is held shared, and released on
   return. Result as aspace_fault(). */
int aspace_fault_unlock(struct aspace *as, vaddr_t va, enum fault_access access);
/* The end of a fault that has been resolved: release the mutex. Returns 0. */
int aspace_fault_release(struct aspace *as);
/* A set of level-1 PTEs of user space. */
struct l1_set {
    uint64_t bits[LAYOUT_USER_TOP / PTE_L1_SPAN / 64];
};
/* The end of a dying space, when its entries have gone and all that they gathered: free the private
   pages and the tables that are left below the level-1 PTEs `used`, and the root. */
void anon_end(struct aspace *as, const struct l1_set *used);
/* Does the PTE, which maps a page, map one of the entry's own, not one of its object? */
static inline bool pte_is_private(pte_t pte) { return !(pte & PTE_SW_SHARED); }
/* Count one more PTE that maps a private page: it has no single owner any more. */
static inline void anon_page_share(pfn_t pfn)
{
    struct page *p = page_of(pfn);

    __atomic_fetch_add(&p->refcnt, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&p->owner, 0, __ATOMIC_RELAXED); /* by several spaces at once, all with 0 */
}

/* Faults on entries that have an object (mm/space/object_fault.c). Mutex and results as for
   map_ops.fault and map_ops.populate. */
int object_fault(struct aspace *as, struct map_entry *e, vaddr_t va, bool write);
/* Resolve a fault on an entry whose `fresh` is set. The mutex is held shared, and released on
   return. 0, or as aspace_fault(). */
int object_first_unlock(struct aspace *as, struct map_entry *e, vaddr_t va,
                        enum fault_access access);
int object_populate(struct aspace *as, struct map_entry *e, vaddr_t va, vaddr_t end);

static inline void count_add(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Raise *peak to value if it is lower. */
static inline void count_peak(uint64_t *peak, uint64_t value)
{
    uint64_t old = __atomic_load_n(peak, __ATOMIC_RELAXED);

    while (value > old && !__atomic_compare_exchange_n(peak, &old, value, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED))
        ;
}

#endif
