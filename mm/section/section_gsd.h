/*
 * Global section directory: names to sections. Functions named _locked are called with the GSD
 * mutex held. IPL 0.
 */
#ifndef MM_SECTION_SECTION_GSD_H
#define MM_SECTION_SECTION_GSD_H

#include "mm/section/section.h"

void gsd_boot(void);
/* The GSD mutex. */
void gsd_lock(void);
/* The same for a service, as the mutex is held while a section is created, with all its pages.
   SS$_ABORT: the caller is to end, and would have had to wait. */
cond_t gsd_lock_service(void) __attribute__((warn_unused_result));
void gsd_unlock(void);

/* The entry with this name and scope, or NULL. */
struct gsd *gsd_lookup_locked(const struct section_name *n);
/* A new entry, not yet in the directory; NULL if paged pool is short. */
struct gsd *gsd_alloc_locked(const struct section_request *r);
/* Put it into the directory and link it with its section. */
void gsd_insert_locked(struct gsd *g, struct section *s);
/* Remove it from the directory: it is not found by name any more, but its section keeps it. */
void gsd_unname_locked(struct gsd *g);
/* Remove it from the directory, if it is there, and free it. */
void gsd_remove_locked(struct gsd *g);
/* Free an entry that was never put into the directory. */
void gsd_free_locked(struct gsd *g);

/* Does the section's version satisfy the match control (SEC$K_MAT*) and version that the mapper
   gives? Pure. */
bool gsd_ident_matches(uint32_t section_version, uint32_t match, uint32_t version);
/* Does the protection mask allow `who` to read (and write)? Pure. */
bool gsd_access_allowed(const struct gsd *g, const struct section_creds *who, bool write);

#endif
