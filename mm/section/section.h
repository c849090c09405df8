/*
 * Global sections (mm/README.md): GSD (name, identity, owner), GSTE (struct section) and global
 * page table.
 *
 * Three kinds: demand-zero memory-resident sections (SEC$M_MRES, mm/section/section.c),
 * page-file-backed ones (SEC$M_PAGFIL, mm/section/section_pagfil.c) and page-frame ones
 * (SEC$M_PFNMAP, mm/section/section_pfn.c). What differs between them stands in a table, struct
 * section_kind. The global page table of a memory-resident section is the set of level-3 pages that
 * its mappers may share; those pages are a section themselves, the SHPT section, linked with the
 * one that they map (mm/section/shpt.h). Results are condition values unless said otherwise.
 */
#ifndef MM_SECTION_SECTION_H
#define MM_SECTION_SECTION_H

#include "arch/alpha/hw/pte.h"
#include "kernel/base/abi/secdef.h"
#include "kernel/base/cond.h"
#include "kernel/base/list.h"
#include "kernel/sched/spinlock.h"
#include "mm/pt/pte_forms.h"
#include "mm/section/reserved.h"

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

struct map_entry;
struct map_ops;
struct mm_object;
struct section;
struct section_request;

#define SECTION_KINDS      3
#define SECTION_KIND_FLAGS (SEC$M_MRES | SEC$M_PAGFIL | SEC$M_PFNMAP)

/* A kind of section. Functions that are NULL have nothing to do. */
struct section_kind {
    uint32_t implied;      /* SEC$M_* of each section of this kind; one of SECTION_KIND_FLAGS */
    bool has_gptes;        /* counts against GBLPAGES */
    bool has_pagfil_pages; /* and against GBLPAGFIL */
    const struct map_ops *map_ops; /* of its mappings */
    /* Frames, promises, tables: SS$_NORMAL, or an error with nothing left behind. GSD mutex. */
    cond_t (*furnish)(struct section *s, const struct section_request *r);
    /* The reverse, when nobody maps it and it is in no directory any more. No lock but section_end,
       shared with others that end. */
    void (*strip)(struct section *s);
    /* The entry, listed in its address space, maps s from now on. Aspace mutex exclusive. */
    void (*attach)(struct section *s, struct map_entry *e);
    uint64_t (*valid_pages)(const struct section *s); /* NULL: the section counts them */
};

struct gsd {          /* paged pool; protected by the GSD mutex, constant but for the link */
    struct list hash; /* name chain */
    struct section *section;
    struct section_creds creator;
    uint32_t group; /* scope of a group section */
    uint32_t ident; /* version; 0: none */
    uint32_t prot;  /* four fields SOGW of four bits RWED, a set bit denies */
    char name[SECTION_NAME_MAX + 1] __attribute__((aligned(8))); /* compared by quadwords */
    uint8_t name_length;
};

struct section {                     /* GSTE, nonpaged pool: faults read it */
    struct list link;                /* all sections in the order of creation; GSD mutex */
    struct gsd *gsd;                 /* constant; NULL for an SHPT section */
    const struct section_kind *kind; /* constant; NULL for an SHPT section */
    struct mm_object *object;        /* constant: page-file backed, what holds its pages */
    struct section
        *related;       /* constant: MRES <-> its SHPT section; NULL: ALLOC without shared tables */
    uint32_t flags;     /* SEC$M_*; constant but for PERM, GSD mutex */
    bool tables_shared; /* constant: mappers may share the level-3 pages */
    uint8_t rad;        /* constant: hint for its pages, RAD_ANY: none */
    uint64_t npages;    /* constant; of an SHPT section: level-3 pages */
    pfn_t first;        /* constant: ALLOC, page frames: the first one; else PFN_NONE */
    const struct rmd_extent *extents; /* constant: its frames' stretches (the reservation's); NULL:
                                         one from `first` */
    struct rmd *rmd;      /* constant: reservation that it draws on, or shows; or NULL */
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
/* Are all its frames known from the start? */
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
    uint32_t flags; /* SEC$M_SYSGBL, PERM, READ_ONLY_SHPT; of page frames also WRT */
    /* SECTION_KIND_FLAGS: to create, the one kind (0: memory resident); to find, those that will
       do (0: all). */
    uint32_t kinds;
    uint8_t rad;
    uint64_t npages;
    pfn_t first; /* page frames: the first one */
};

/* Directory and memory-resident sections; the other kinds come with their own calls. Boot. */
void section_boot(void);
void section_pagfil_boot(void);
void section_pfn_boot(void);
void section_kind_register(const struct section_kind *kind);

/* Create it. SS$_CREATED, or SS$_CREATED_SHPT when it has shared page tables: *out holds one share
   for the caller. SS$_NORMAL when it was there and may be mapped as asked (one share likewise), if
   map_existing; else SS$_DUPLNAM, or section_find's errors. Errors: SS$_GBLSEC_MISMATCH (the name
   is another kind's), SS$_GSDFULL (GBLSECTIONS), SS$_GPTFULL (GBLPAGES), SS$_EXGBLPAGFIL
   (GBLPAGFIL), SS$_INSFMEM; memory resident: SS$_INSFLPGS, SS$_RESERVEDMEMUSED, SS$_MRES_PFNSMALL,
   SS$_MRES_INCON; page frames: SS$_INVPFN. Nothing is left behind by an error. IPL 0. */
cond_t section_create(const struct section_request *r, bool map_existing, bool write,
                      struct section **out);
/* Find one by name, identity, kind and protection: SS$_NORMAL with one share, SS$_NOSUCHSEC,
 * SS$_GBLSEC_MISMATCH, SS$_NOPRIV, SS$_NOWRT (it is read-only for all), SS$_EXQUOTA (shares
 * overflow). IPL 0. */
cond_t section_find(const struct section_request *r, bool write, struct section **out);
/* Undo a creation, of which the caller has the share: the name is free again, and the section goes
 * with its last share. Who has found it meanwhile keeps it. IPL 0. */
void section_uncreate(struct section *s);
/* The section is to go with its last share (now, when there is none). Its name is free at once:
 * nobody can map it any more, but those who do keep it. SS$_NORMAL, SS$_NOSUCHSEC, SS$_NOTCREATOR.
 * IPL 0. */
cond_t section_mark_delete(const struct section_request *r);

/* One more share: false when the section is going or the count is full. Any IPL. */
bool section_try_share(struct section *s);
/* One share less. The last one of a section that is not permanent hands it to section_reap. Any
 * IPL. */
void section_drop(struct section *s);
/* Delete what section_drop handed over. IPL 0, no mutex of rank MUTEX_SECTION_END or above held.
 * Cheap when there is nothing. */
void section_reap(void);

/* Give the page a zeroed frame, if it has none: true when this call did. *pte (in the global page
 * table) is valid after it. */
bool section_make_valid(struct section *s, uint64_t page, pte_t *pte);

/* index-th section (in the order of creation) with a share for the caller, NULL at the end. IPL 0.
 */
struct section *section_nth(uint64_t index);
uint64_t section_valid_pages(const struct section *s);

/* What the tables' sizes count: limit now in force, use, and the most there ever was. */
struct section_use {
    uint64_t limit, use, peak;
};
/* GBLSECTIONS, GBLPAGES and GBLPAGFIL, of one moment. IPL 0. */
void section_uses(struct section_use *sections, struct section_use *gptes,
                  struct section_use *pagfil);
/* What a section costs beside its pages and page-table pages; the caller holds a share. */
struct section_cost {
    uint64_t gptes;                /* entries that it counts for against GBLPAGES */
    uint64_t npp_bytes, pgd_bytes; /* nonpaged pool, its mappings included, and paged pool */
};
void section_cost(struct section *s, struct section_cost *c);
/* Each section, in the order of creation, with the directory locked: for the self-check. IPL 0. */
void section_for_each(void (*fn)(struct section *s, void *arg), void *arg);
/* The self-check: sections, global page table entries and page-file pages, as they are counted and
   as the list of sections has them. IPL 0; takes the GSD mutex. */
#define SECTION_USES 3u
void section_recount(uint64_t counted[SECTION_USES], uint64_t found[SECTION_USES]);
/* Pages of its reservation in bytes: what reserved_length_64 returns; 0 without one. */
uint64_t section_reserved_bytes(const struct section *s);

#endif
