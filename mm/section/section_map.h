/*
 * Mappings of sections. A mapping is a map entry with the operations of its section's kind and a
 * struct section_map, which has one share of the section.
 */
#ifndef MM_SECTION_SECTION_MAP_H
#define MM_SECTION_SECTION_MAP_H

#include "kernel/base/cond.h"
#include "kernel/sched/rad.h"
#include "mm/pt/gh.h"
#include "mm/section/section.h"
#include "mm/space/aspace.h"

struct section_map {         /* nonpaged pool; constant while it is linked, except as noted */
    struct list link;        /* in section.maps; section.lock */
    struct section *section; /* the mapping has one share */
    struct aspace *aspace;   /* no reference: unlinked before the address space is freed. NULL: the
                                place of a walk of the list */
    vaddr_t start;           /* of the map entry */
    bool shared;             /* through shared page tables; the aspace's mutex, exclusive, and
                                section.lock: once false it stays so */
    uint16_t account;        /* number of the account that is charged for it (kernel/quota) */
    pfn_t table, level3;     /* a level-2 and a level-3 page for a split that is prepared, else
                            PFN_NONE; the aspace's mutex, exclusive */
};

struct word_keeper;
extern const struct word_keeper section_word_keeper; /* of their words */
extern const struct map_ops section_map_ops;         /* memory-resident and page-frame sections */

struct section_map_request {
    uint64_t region_id;
    vaddr_t start;   /* used without SEC$M_EXPREG */
    uint64_t offset; /* bytes into the section */
    uint64_t length; /* 0: to the section's end */
    uint32_t flags;  /* SEC$M_EXPREG */
    bool write;
};

/* Could section_map() map a section of npages with these flags (SEC$M_*)? A memory-resident one is
   assumed to have shared page tables. For a service that creates a section only if it can also map
   it. Condition values as for section_map(), except SS$_INSFMEM and SS$_EXQUOTA. IPL 0; takes the
   mutex of as, exclusively. */
cond_t section_map_check(struct aspace *as, const struct section_map_request *r, uint64_t npages,
                         uint32_t section_flags);
/* Map a part of s. SS$_NORMAL: the caller's share of s passes to the mapping; *va and *length (in
   bytes) say what was mapped. After an error nothing has changed and the caller still has its
   share: SS$_OFF_NOTPAGALGN, SS$_OFFSET_TOO_BIG, SS$_LEN_NOTPAGMULT, SS$_LENVIO, SS$_IVREGID,
   SS$_NOSHPTS, SS$_VA_NOTPAGALGN, SS$_PAGNOTINREG, SS$_VA_IN_USE, SS$_REGISFULL, SS$_VASFULL,
   SS$_INSFMEM, SS$_EXQUOTA (USER_SECTION_MAPS), SS$_ABORT (the caller is to end). IPL 0; takes the
   mutex of as, exclusively. */
cond_t section_map(struct aspace *as, struct section *s, const struct section_map_request *r,
                   vaddr_t *va, uint64_t *length);

/* A mapping that is on no list yet, charged to the current thread's user. NULL: *why is SS$_EXQUOTA
   or SS$_INSFMEM. section_map_free() frees one that is on no list. */
struct section_map *section_map_new(struct aspace *as, struct section *s, vaddr_t start,
                                    bool shared, cond_t *why);
void section_map_free(struct section_map *m);

/* The next four are for the operations of mappings. The address space's mutex is held exclusively,
   or no other thread can reach the address space yet.

   Give `other`, which is a fork's copy of e or the upper half of a split e, a struct section_map
   for as and start, with a share of e's section. It is not on the section's list yet. 0 or
   -ENOMEM. */
int section_map_copy(struct aspace *as, const struct map_entry *e, struct map_entry *other,
                     vaddr_t start);
/* Put what section_map_copy() made on the section's list. Cannot fail. */
void section_map_link(struct map_entry *other);
/* Undo section_map_copy() instead. */
void section_map_uncopy(struct map_entry *other);
/* End the mapping of e, whose PTEs are cleared: update the counts of as, free e->smap and drop its
   share, which may be the section's last. */
void section_map_end(struct aspace *as, struct map_entry *e);

/* Count the valid pages of a memory-resident section by domain; 0 for other kinds. The caller holds
   a share. IPL 0. */
void section_count_rads(const struct section *s, uint64_t npages[RAD_MAX]);
/* Count PTEs by granularity hint, in the tables that the hardware walks. *l3 and *l2 are counted in
   a mapping in `prefer`, if that maps the section, else in the first mapping of any address space,
   else in the SHPT section's own tables. *l1: level-1 PTEs with which that mapping shares level-2
   pages. *pt_pages: page-table pages of the section itself. The caller holds a share and no mutex.
   IPL 0; takes an address space's mutex, shared. */
void section_walk(struct section *s, struct aspace *prefer, struct gh_count *l3,
                  struct gh_count *l2, uint64_t *l1, uint64_t *pt_pages);

#endif
