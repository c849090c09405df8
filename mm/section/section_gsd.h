/*
 * Global section directory: names to sections. Everything here is called with the GSD mutex held
 * (gsd_lock).
 */
#ifndef MM_SECTION_SECTION_GSD_H
#define MM_SECTION_SECTION_GSD_H

#include "mm/section/section.h"

void gsd_boot(void);
void gsd_lock(void);
void gsd_unlock(void);

/* The entry of that name and scope, or NULL. */
struct gsd *gsd_lookup_locked(const struct section_name *n);
/* A new entry, not yet listed; NULL when paged pool is short. */
struct gsd *gsd_alloc_locked(const struct section_request *r);
/* List it with its section, or take it off and free it. */
void gsd_insert_locked(struct gsd *g, struct section *s);
/* Nobody finds it by name any more; it stays its section's. */
void gsd_unname_locked(struct gsd *g);
void gsd_remove_locked(struct gsd *g);
void gsd_free_locked(struct gsd *g);

/* Does the section's identity satisfy what the mapper asks for? Pure. */
bool gsd_ident_matches(uint32_t section_version, uint32_t match, uint32_t version);
/* Does the protection mask let him read (and write)? Pure. */
bool gsd_access_allowed(const struct gsd *g, const struct section_creds *who, bool write);

#endif
