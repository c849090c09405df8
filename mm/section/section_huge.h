/*
 * Sections of huge pages: what SHM_HUGETLB and shared MAP_HUGETLB give to programs. They are
 * memory-resident sections without a name, whose frames come from the pool of huge pages
 * (huge_pool.h). mm/section/README.md describes the design. IPL 0; results are 0 or a negative
 * errno.
 */
#ifndef MM_SECTION_SECTION_HUGE_H
#define MM_SECTION_SECTION_HUGE_H

#include "mm/section/section.h"
#include "mm/space/aspace.h"

/* Create a section of npages huge pages, all zero, with one share for the caller. `owner`: for the
   caller's own use, not NULL if the section may outlive all mappings. `name` is for display, up to
   SECTION_NAME_MAX characters. -ENOMEM: the pool, the user's quota (USER_HUGE_PAGES, USER_SECTIONS)
   or other memory is short; -EINTR: the caller is to end. No mutex of rank MUTEX_SECTION_END or
   above. */
int section_huge_create(const char *name, uint64_t npages, void *owner, struct section **out);
/* The same, with the contents of `old` (NULL: all zero), whose huge pages it shares as far as it is
   long; the caller has a share of old. */
int section_huge_resize(const char *name, uint64_t npages, void *owner, const struct section *old,
                        struct section **out);
/* Does any address space show pages of s, also as private memory? */
bool section_is_mapped(struct section *s);
/* Count the caller's share as one that is kept without a mapping; the second drops it again, and
   the section may end with it. The caller of the second calls section_reap() when it holds no
   mutex. */
void section_huge_keep(struct section *s);
void section_huge_leave(struct section *s);
/* Map len bytes of s from `offset` on, multiples of HUGE_BYTES: as aspace_map_object() does an
   object. `ops` build on section_map_ops. The mapping takes a share of its own. -EINVAL: a fixed
   address that is no multiple of HUGE_BYTES; -ENOMEM, also at the limits of the user or the
   process; -EEXIST; -EINTR. Takes the mutex of as. */
int section_huge_map(struct aspace *as, struct section *s, vaddr_t *va, uint64_t len,
                     uint64_t offset, unsigned prot, unsigned flags, const struct map_ops *ops);
/* Map new shared memory of huge pages, which ends with its last mapping. Errors of both. */
int section_huge_map_new(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot,
                         unsigned flags);

/* A place for a mapping of len bytes from `offset` on, first with the alignment that lets it share
   most tables; as aspace_place_locked(). */
int section_huge_place_locked(struct aspace *as, vaddr_t *va, uint64_t len, uint64_t offset,
                              unsigned prot, unsigned flags);
/* Is va, if the flags say that it is fixed, an address of a huge page? */
bool section_huge_fixed_ok(vaddr_t va, unsigned flags);

#endif
