/* Private to mm/space: the map of an address space. */
#ifndef MM_SPACE_ASPACE_PRIVATE_H
#define MM_SPACE_ASPACE_PRIVATE_H

#include "mm/space/aspace.h"

/* First entry that touches [start,end), or NULL. Mutex held. */
struct map_entry *aspace_first_in_locked(struct aspace *as, vaddr_t start, vaddr_t end);
/* Take the entry off list and tree. Mutex exclusive. The entry is the caller's. */
void aspace_remove_locked(struct aspace *as, struct map_entry *e);
/* Let no entry reach over either address (0: none). 0, -ENOMEM, or what the kind of mapping says;
   nothing has changed after an error. Mutex exclusive. */
int aspace_split_locked(struct aspace *as, vaddr_t low, vaddr_t high);
/* Join e with its neighbours where they continue each other; the entry that holds e's range then.
 * Mutex exclusive. */
struct map_entry *aspace_merge_locked(struct aspace *as, struct map_entry *e);
/* Private memory at [va, va+len), which is free: e, new from map_entry_alloc, or what it became
 * part of. Mutex exclusive. */
void aspace_add_anon_locked(struct aspace *as, struct map_entry *e, vaddr_t va, uint64_t len,
                            unsigned prot);
/* Free the private tables below [va, end) that are empty: what ran out of memory has made some.
   Takes the mutex exclusively. */
void aspace_prune(struct aspace *as, vaddr_t va, vaddr_t end);
/* A range of whole pages of user space? */
bool aspace_user_range(vaddr_t va, uint64_t len);
/* n bytes of an entry come or go (negative): sizes and locked pages. Mutex exclusive. */
void aspace_count_extent(struct aspace *as, const struct map_entry *e, int64_t n);
/* Entry without PTEs and off the map: drop its reference to an object and free it. */
void map_entry_destroy(struct map_entry *e);
/* An address space without entries; NULL: no memory. */
struct aspace *aspace_new(unsigned rad);

/* Faults on entries that have an object (mm/space/object_fault.c); results as of map_ops. */
int object_fault(struct aspace *as, struct map_entry *e, vaddr_t va, bool write);
int object_populate(struct aspace *as, struct map_entry *e, vaddr_t va, vaddr_t end);

static inline void count_add(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* value is one that was reached: the peak is at least that. */
static inline void count_peak(uint64_t *peak, uint64_t value)
{
    uint64_t old = __atomic_load_n(peak, __ATOMIC_RELAXED);

    while (value > old && !__atomic_compare_exchange_n(peak, &old, value, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED))
        ;
}

/* n more private pages are mapped. */
static inline void count_rss(struct aspace *as, uint64_t n)
{
    count_peak(&as->counts.rss_peak, __atomic_add_fetch(&as->pt.rss, n, __ATOMIC_RELAXED));
}

#endif
