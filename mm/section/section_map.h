/*
 * Mappings of sections: a map entry whose operations are here, with one share of its section.
 */
#ifndef MM_SECTION_SECTION_MAP_H
#define MM_SECTION_SECTION_MAP_H

#include "kernel/base/cond.h"
#include "kernel/sched/rad.h"
#include "mm/pt/gh.h"
#include "mm/section/section.h"
#include "mm/space/aspace.h"

struct section_map {         /* nonpaged pool; constant but for the links and the entry */
    struct list link;        /* in section.maps; section.lock */
    struct section *section; /* one share */
    struct aspace *aspace;
    vaddr_t start; /* section.lock */
    bool shared;   /* through shared page tables */
    pfn_t table;   /* between the preparation of a split and the split: a level-2 page for it */
};

extern const struct map_ops section_map_ops; /* memory-resident and page-frame sections */

struct section_map_request {
    uint64_t region_id;
    vaddr_t start;   /* without SEC$M_EXPREG */
    uint64_t offset; /* bytes into the section */
    uint64_t length; /* 0: to the section's end */
    uint32_t flags;  /* SEC$M_EXPREG */
    bool write;
};

/* Could a section of npages with these flags, and with shared page tables if it is memory
   resident, be mapped so? For a service that creates it only then. Condition values as
   section_map's. IPL 0. */
cond_t section_map_check(struct aspace *as, const struct section_map_request *r, uint64_t npages,
                         uint32_t section_flags);
/* Map it. SS$_NORMAL: the caller's share of s is the mapping's, *va and *length say what was
   mapped. Errors, with nothing changed and the share still the caller's: SS$_OFF_NOTPAGALGN,
   SS$_OFFSET_TOO_BIG, SS$_LEN_NOTPAGMULT, SS$_LENVIO, SS$_IVREGID, SS$_NOSHPTS, SS$_VA_NOTPAGALGN,
   SS$_PAGNOTINREG, SS$_VA_IN_USE, SS$_REGISFULL, SS$_VASFULL, SS$_INSFMEM. IPL 0. */
cond_t section_map(struct aspace *as, struct section *s, const struct section_map_request *r,
                   vaddr_t *va, uint64_t *length);

/* For the operations of mappings, mutex of the aspace exclusive. `other`, a fork's copy of e or the
   upper half of a split one, gets its own mapping from start on in as, with a share of e's section,
   not listed yet: 0 or -ENOMEM. Then that is listed, or undone. */
int section_map_copy(struct aspace *as, const struct map_entry *e, struct map_entry *other,
                     vaddr_t start);
void section_map_link(struct map_entry *other);
void section_map_uncopy(struct map_entry *other);
/* The entry's mapping is over, its PTEs are gone: share and memory back, counts of as. The section
   may go with it. */
void section_map_end(struct aspace *as, struct map_entry *e);

/* Valid pages of a memory-resident section by domain; 0 for other kinds. A share held. IPL 0. */
void section_count_rads(const struct section *s, uint64_t npages[RAD_MAX]);
/* PTEs of the section by granularity hint, counted in the real tables: level 3 in the section's own
   or, without any, the mapper's; level 2 in the tables of `prefer` if it maps the section, else of
   the first mapper, else the SHPT section's own. *l1: level-1 PTEs with which that mapper shares
   level-2 pages. *pt_pages: its page-table pages. The caller holds a share and no mutex. IPL 0. */
void section_walk(struct section *s, struct aspace *prefer, struct gh_count *l3,
                  struct gh_count *l2, uint64_t *l1, uint64_t *pt_pages);

#endif
