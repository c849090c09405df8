/* Private to mm/check. */
#ifndef MM_CHECK_VALIDATE_PRIVATE_H
#define MM_CHECK_VALIDATE_PRIVATE_H

#include "mm/check/checked.h"
#include "mm/check/validate.h"

struct validate_stretch { /* PFNs */
    uint64_t first, npages;
};

struct validate {
    struct validate_result r;
    size_t text_used;
    uint64_t **groups; /* bitmaps of pages that were counted; NULL: no entry is initialised there */
    uint64_t ngroups;
    struct validate_stretch *stretches; /* counted as a whole, entries not initialised; ascending */
    uint64_t nstretches, stretches_max;
    uint64_t promised;       /* what reservations and sections still owe */
    uint64_t reserved;       /* pages of reservations that are allocated */
    uint64_t mapped, listed; /* entries with objects: found in spaces, on objects' lists */
    int64_t fluid_at_begin;  /* fluid_available */
    uint64_t npool_at_begin;
    uint16_t epoch; /* of this check, never 0 */
};

/* Count a page. Its entry, if it has one, must say `state`. */
void validate_count(struct validate *v, uint64_t n, enum validate_kind kind, enum page_state state);
/* Count a stretch; its pages may have no entries yet. */
void validate_stretch(struct validate *v, uint64_t first, uint64_t npages, enum validate_kind kind);
/* Count an active page with one reference, that its entry says to be of this type and owner. */
void validate_active(struct validate *v, pfn_t pfn, enum validate_kind kind, enum page_type type,
                     uint64_t owner, uint64_t offset);
/* What does the database say about it? For messages; static text, one at a time. */
const char *validate_entry(uint64_t n);

/* Objects (mm/check/validate_object.c). holders: references that are no entry's and no copy's. */
void validate_object(struct validate *v, struct mm_object *o, uint32_t holders);

/* Sections and reservations (mm/check/validate_section.c). */
void validate_reservations(struct validate *v);
void validate_sections(struct validate *v);
/* First: the objects that sections hold. */
void validate_section_objects(struct validate *v);
/* The PTE that maps span `span` of the section in a mapper's level-2 table, without hints; 0:
   there is none yet. */
pte_t validate_shared_pte(const struct section *s, uint64_t span);

/* System space and pools (mm/check/validate_system.c). */
void validate_system(struct validate *v);
void validate_pool(struct validate *v);

/* A table page that the PTE at `upper` maps: count it, with this many nonzero PTEs. */
void validate_table(struct validate *v, pfn_t pfn, const pte_t *upper, uint64_t ptes);

#endif
