/* Private to mm/aspace*.c, fault.c, fork.c and anon.c: the map of an address space. */
#ifndef MM_ASPACE_PRIVATE_H
#define MM_ASPACE_PRIVATE_H

#include "mm/aspace.h"

/* First entry that touches [start,end), or NULL. Mutex held. */
struct map_entry *aspace_first_in_locked(struct aspace *as, vaddr_t start, vaddr_t end);
/* Take the entry off list and tree. Mutex exclusive. The entry is the caller's. */
void aspace_remove_locked(struct aspace *as, struct map_entry *e);
/* Entry without PTEs and off the map: drop its reference to an object and free it. */
void map_entry_destroy(struct map_entry *e);
/* An address space without entries; NULL: no memory. */
struct aspace *aspace_new(unsigned rad);

/* Anonymous memory and objects (mm/anon.c). */
extern const struct map_ops anon_ops;
int anon_fork(struct aspace *src, struct map_entry *e, struct aspace *dst, struct map_entry *child);

static inline void count_add(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

#endif
