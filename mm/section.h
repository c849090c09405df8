/*
 * Global sections (mm/README.md): GSD (name, identity, owner), GSTE (struct section) and global
 * page table.
 *
 * The kind there is now: demand-zero memory-resident sections (MRES). A section's global page table
 * is the set of level-3 pages that its mappers may share; those pages are a section themselves, the
 * SHPT section, linked with the one that they map (mm/shpt.h). Results are condition values unless
 * said otherwise.
 */
#ifndef MM_SECTION_H
#define MM_SECTION_H

#include "arch/alpha/hw/pte.h"
#include "kernel/base/abi/secdef.h"
#include "kernel/base/list.h"
#include "kernel/sched/spinlock.h"
#include "mm/pte_forms.h"
#include "mm/reserved.h"

#define SECTION_NAME_MAX 43 /* GSD$C_MAXNAMLEN */

/*
 * `life` decides between existence and deletion in one word: bit 63 says permanent, the bits below
 * count shares, one for each mapping (and one in the hands of a service under way). The step to
 * zero happens once; whoever makes it hands the section over for deletion, and nobody can raise it
 * again.
 */
#define SECTION_PERMANENT  (1UL << 63)
#define SECTION_SHARES_MAX 0xFFFFFFFFUL

struct section_counts { /* atomics, relaxed: faults by what they did */
    uint64_t made_valid, l3_pickup, raced, global_valid;
};

/* Who asks, as far as sections care. mm knows no processes. */
struct section_creds {
    uint32_t uic_group, uic_member;
    bool system; /* system category of the protection mask */
    bool bypass; /* no protection counts */
};

struct gsd {          /* paged pool; protected by the GSD mutex, constant but for the link */
    struct list hash; /* name chain */
    struct section *section;
    struct section_creds creator;
    uint32_t group; /* scope of a group section */
    uint32_t ident; /* version; 0: none */
    uint32_t prot;  /* four fields SOGW of four bits RWED, a set bit denies */
    uint8_t name_length;
    char name[SECTION_NAME_MAX + 1];
};

struct section {      /* GSTE, nonpaged pool: faults read it */
    struct list link; /* all sections in the order of creation; GSD mutex */
    struct gsd *gsd;  /* constant; NULL for an SHPT section */
    struct section
        *related;       /* constant: MRES <-> its SHPT section; NULL: ALLOC without shared tables */
    uint32_t flags;     /* SEC$M_*; constant but for PERM, GSD mutex */
    bool tables_shared; /* constant: mappers may share the level-3 pages */
    uint8_t rad;        /* constant: hint for its pages */
    uint64_t npages;    /* constant; of an SHPT section: level-3 pages */
    pfn_t first;        /* constant: ALLOC, its first frame; else PFN_NONE */
    const struct rmd_extent *extents; /* constant: its frames' stretches (the reservation's); NULL:
                                         one from `first` */
    struct rmd *rmd;                  /* constant: reservation that it draws on, or NULL */
    uint64_t promised;    /* constant: fluid pages promised by itself, page tables included */
    pte_t pte_bits;       /* constant: of its valid level-3 PTEs in the global page table */
    uint64_t life;        /* atomic, see above */
    uint64_t valid_pages; /* atomic: pages that have a frame */
    struct section_counts counts;
    struct spinlock lock;      /* RANK_SECTION: the list of mappings */
    struct list maps;          /* of struct section_map; lock */
    uint64_t nmaps;            /* lock */
    struct section *dead_next; /* chain of sections to delete; owner: who took it off */
    /* SHPT section only: */
    pfn_t *upper; /* constant: level-2 pages, one for each 1,024 level-3 pages */
    uint64_t nupper;
    uint64_t own_pages; /* atomic: table pages allocated singly, against the promise */
};

/* Do mappers share its page tables? */
static inline bool section_shares_tables(const struct section *s) { return s->tables_shared; }
static inline bool section_is_alloc(const struct section *s) { return s->first.n != 0; }

/* The frame of a page of a section that has all its frames from the beginning (ALLOC). */
static inline pfn_t section_frame(const struct section *s, uint64_t page)
{
    uint64_t run;

    return s->extents ? rmd_extent_frame(s->extents, page, &run) : pfn_add(s->first, page);
}

/* How many of its pages, from `page` on, lie in contiguous frames. */
static inline uint64_t section_run(const struct section *s, uint64_t page)
{
    uint64_t run = s->npages - page;

    if (s->extents)
        rmd_extent_frame(s->extents, page, &run);
    return run < s->npages - page ? run : s->npages - page;
}

struct section_name {
    const char *name;
    uint32_t length;
    bool sysgbl;
    uint32_t group; /* scope when not sysgbl */
};

struct section_request {
    struct section_name name;
    struct section_creds creds;
    uint32_t ident_match, ident_version;
    uint32_t prot;
    uint32_t flags; /* SEC$M_SYSGBL, PERM, READ_ONLY_SHPT */
    uint8_t rad;
    uint64_t npages;
};

void section_boot(void);

/* Create it. SS$_CREATED, or SS$_CREATED_SHPT when it has shared page tables: *out holds one share
   for the caller. SS$_NORMAL when it was there and may be mapped as asked (one share likewise), if
   map_existing; else SS$_DUPLNAM. Errors: SS$_GBLSEC_MISMATCH, SS$_NOPRIV (protection),
   SS$_INSFMEM, SS$_INSFLPGS, SS$_RESERVEDMEMUSED, SS$_MRES_PFNSMALL, SS$_MRES_INCON, SS$_GSDFULL
   (GBLSECTIONS), SS$_GPTFULL (GBLPAGES). Nothing is left behind by an error. IPL 0. */
int section_create(const struct section_request *r, bool map_existing, bool write,
                   struct section **out);
/* Find one by name, identity and protection: SS$_NORMAL with one share, SS$_NOSUCHSEC, SS$_NOPRIV,
 * SS$_EXQUOTA (shares overflow). IPL 0. */
int section_find(const struct section_request *r, bool write, struct section **out);
/* A permanent section is to go with its last share (now, when there is none). SS$_NORMAL,
 * SS$_NOSUCHSEC, SS$_NOTCREATOR. IPL 0. */
int section_mark_delete(const struct section_request *r);

/* One more share: false when the section is going or the count is full. Any IPL. */
bool section_try_share(struct section *s);
/* One share less. The last one of a section that is not permanent hands it to section_reap. Any
 * IPL. */
void section_drop(struct section *s);
/* Delete what section_drop handed over. IPL 0, no mutex of rank MUTEX_GSD or above held. Cheap when
 * there is nothing. */
void section_reap(void);

/* Give the page a zeroed frame, if it has none: true when this call did. *pte (in the global page
 * table) is valid after it. */
bool section_make_valid(struct section *s, uint64_t page, pte_t *pte);

/* index-th section (in the order of creation) with a share for the caller, NULL at the end. IPL 0.
 */
struct section *section_nth(uint64_t index);
/* Pages of its reservation in bytes: what reserved_length_64 returns; 0 without one. */
uint64_t section_reserved_bytes(const struct section *s);

#endif
