/* Private to mm/check: the state of a check, and the functions of its parts. */
#ifndef MM_CHECK_VALIDATE_PRIVATE_H
#define MM_CHECK_VALIDATE_PRIVATE_H

#include "mm/check/checked.h"
#include "mm/check/validate.h"

struct validate_stretch { /* in PFNs */
    uint64_t first, npages;
};

struct validate {
    struct validate_result r;
    size_t text_used;
    uint64_t **groups; /* bitmaps of counted pages; NULL: no entry of the group is initialised */
    uint64_t ngroups;
    struct validate_stretch *stretches; /* counted without entries; ascending */
    uint64_t nstretches, stretches_max;
    uint64_t huge;             /* uses of huge pages: by sections and private mappings */
    uint64_t promised;         /* pages promised to reservations and sections, not allocated */
    uint64_t reserved;         /* pages of reservations that are allocated */
    uint64_t partly;           /* private pages with fewer PTEs than references so far */
    uint64_t pins, pins_found; /* of private pages: as these count, as who has them says */
    uint64_t mapped, listed;   /* map entries with objects: in spaces, on objects' lists */
    int64_t fluid_at_begin;    /* fluid_available */
    uint64_t npool_at_begin;   /* npp_total_pages() */
    uint16_t epoch;            /* number of this check, never 0 */
};

/* Count page n, whose entry must have this state. */
void validate_count(struct validate *v, uint64_t n, enum validate_kind kind, enum page_state state);
/* Count a stretch of unused or reserved pages, whose entries need not be initialised. */
void validate_stretch(struct validate *v, uint64_t first, uint64_t npages, enum validate_kind kind);
/* Count an active page, whose entry must have one reference and this type, owner and offset. */
void validate_active(struct validate *v, pfn_t pfn, enum validate_kind kind, enum page_type type,
                     uint64_t owner, uint64_t offset);
/* Count one of the PTEs, at physical address pte, that map a private page. It has as many as it has
   references; its entry names the PTE if there is one, and none if there are several. */
void validate_private(struct validate *v, pfn_t pfn, uint64_t pte);
/* The database entry of page n as text, for messages. Static: valid until the next call. */
const char *validate_entry(uint64_t n);

/* Check an object, and those of which it is a copy (mm/check/validate_object.c). holders:
   references to it other than those of map entries and copies. */
void validate_object(struct validate *v, struct mm_object *o, uint32_t holders);

/* Sections and reservations (mm/check/validate_section.c). */
void validate_reservations(struct validate *v);
void validate_sections(struct validate *v);
/* Check the objects that only a thread has in hand: the pager, or a reader of a page that was
   unmapped meanwhile. After all others, as their holders are known then
   (mm/check/validate_object.c). */
void validate_held_objects(struct validate *v);
/* Check the objects that sections hold; called before any other object is checked. */
void validate_section_objects(struct validate *v);
/* The PTE that maps level-3 span `span` of the section in the level-2 table of an address space,
   without its hint; 0: there is none yet. */
pte_t validate_shared_pte(const struct section *s, uint64_t span);

/* System space and pools (mm/check/validate_system.c). */
void validate_system(struct validate *v);
void validate_pool(struct validate *v);

/* Count a table page, which the PTE at `upper` maps and which has `ptes` nonzero PTEs. */
void validate_table(struct validate *v, pfn_t pfn, const pte_t *upper, uint64_t ptes);

#endif
