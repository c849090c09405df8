/*
 * Global sections (mm/section/README.md). A section has a GSD (name, identity, owner), a GSTE
 * (struct section) and a global page table.
 *
 * There are three kinds with names: demand-zero memory-resident sections (SEC$M_MRES, section.c),
 * page-file-backed sections (SEC$M_PAGFIL, section_pagfil.c) and page-frame sections (SEC$M_PFNMAP,
 * section_pfn.c). Sections of huge pages have none (section_huge.h). What differs between kinds is
 * in a table, struct section_kind. The global page table of a memory-resident section is the set
 * of level-3 pages that its mappers may share. Those pages form a section of their own, the SHPT
 * section, linked with the section whose pages they map (shpt.h). Results are condition values
 * unless said otherwise.
 */
#ifndef MM_SECTION_SECTION_H
#define MM_SECTION_SECTION_H

#include "arch/alpha/hw/pte.h"
#include "kernel/base/abi/secdef.h"
#include "kernel/base/cond.h"
#include "kernel/base/list.h"
#include "kernel/base/treap.h"
#include "kernel/sched/spinlock.h"
#include "mm/pt/pte_forms.h"
#include "mm/section/huge_pool.h"
#include "mm/section/reserved.h"

#define SECTION_NAME_MAX 43 /* GSD$C_MAXNAMLEN */

/*
 * `life` holds in one word everything that keeps a section in existence: bit 63 is set while it is
 * permanent, the bits below count shares, one for each mapping and one for each service that uses
 * the section at the moment. It becomes zero once and is never raised again; the thread that makes
 * it zero hands the section over for deletion.
 */
#define SECTION_PERMANENT  (1UL << 63)
#define SECTION_SHARES_MAX 0xFFFFFFFFUL

struct section_counts { /* atomic, relaxed: faults by what they did */
    uint64_t made_valid, l3_pickup, raced, global_valid;
};

/* Identity of the requesting process. mm does not know processes, so its caller fills this in. */
struct section_creds {
    uint32_t uic_group, uic_member;
    bool system; /* system category of the protection mask */
    bool bypass; /* BYPASS: the protection mask is not checked */
};

struct map_entry;
struct map_ops;
struct mm_object;
struct section;
struct section_request;

#define SECTION_KINDS      3
#define SECTION_KIND_FLAGS (SEC$M_MRES | SEC$M_PAGFIL | SEC$M_PFNMAP)

/* A kind of section. A function is NULL if the kind has nothing to do there. */
struct section_kind {
    uint32_t implied;      /* SEC$M_* of each section of this kind; one of SECTION_KIND_FLAGS */
    bool has_gptes;        /* its sections count against GBLPAGES */
    bool has_pagfil_pages; /* its sections count against GBLPAGFIL */
    const struct map_ops *map_ops; /* operations of its mappings */
    /* Set up frames, promises and page tables of a new section. SS$_NORMAL, or an error after which
       nothing is left allocated. GSD mutex held. */
    cond_t (*allocate)(struct section *s, const struct section_request *r);
    /* Free them, when the section has no mapping and is not in the directory. Only section_end is
       held, shared or exclusively. */
    void (*release)(struct section *s);
    /* Attach the entry, already in its address space, to s. Aspace mutex held exclusively. */
    void (*attach)(struct section *s, struct map_entry *e);
    uint64_t (*valid_pages)(const struct section *s); /* NULL: the section counts them */
};

struct gsd { /* paged pool; read under the GSD mutex; constant except for the first two */
    struct treap_node node; /* in the directory, if it is `named`. GSD mutex */
    bool named;             /* else the name was deleted, or is not entered yet. GSD mutex */
    struct section *section;
    struct section_creds creator;
    uint32_t group; /* UIC group in which the name of a group section is known */
    uint32_t ident; /* version; 0: none */
    uint32_t prot;  /* four fields, SOGW, of four bits, RWED; a set bit denies */
    char name[SECTION_NAME_MAX + 1] __attribute__((aligned(8))); /* compared by quadwords */
    uint8_t name_length;
};

struct section {                     /* GSTE, nonpaged pool: faults read it */
    struct list link;                /* all sections in the order of creation; GSD mutex */
    struct treap_node place;         /* the same, to find the n-th; GSD mutex */
    struct gsd *gsd;                 /* constant up to its end; NULL for an SHPT section */
    const struct section_kind *kind; /* constant; NULL for an SHPT section */
    struct mm_object *object;        /* constant: holds the pages of a page-file-backed one */
    struct section *related;         /* constant: MRES <-> its SHPT section; NULL: it has none */
    struct account *account;         /* constant: charged for it; NULL for an SHPT section */
    uint32_t flags;                  /* SEC$M_*; constant except for PERM: GSD mutex */
    bool tables_shared;              /* constant: mappers may share the level-3 pages */
    uint8_t rad;                     /* constant: preferred domain of its pages, or RAD_ANY */
    uint64_t npages;                 /* constant; for an SHPT section: level-3 pages */
    pfn_t first; /* constant: the first frame if ALLOC or page frames; else PFN_NONE */
    const struct rmd_extent *extents; /* constant: the reservation's stretches; NULL: all
                                         frames are contiguous from `first` */
    struct rmd *rmd;      /* constant: reservation that it uses or, page frames, shows; or NULL */
    uint64_t promised;    /* constant: fluid pages that it promised itself, page tables included */
    pte_t pte_bits;       /* constant: bits of valid level-3 PTEs in the global page table */
    uint64_t life;        /* atomic, see above */
    uint64_t valid_pages; /* atomic: pages that have a frame */
    struct section_counts counts;
    uint32_t holds;            /* atomic: shares without a mapping, of futexes by the names of its
                                  words, and of what has huge pages without mapping them */
    struct spinlock lock;      /* RANK_SECTION: the list of mappings */
    struct list maps;          /* of struct section_map; lock */
    uint64_t nmaps;            /* lock */
    struct section *dead_next; /* next on dead_sections or gone_sections (section.c) */
    /* Sections of huge pages only: */
    const pfn_t *blocks; /* constant: the first frame of each; else NULL */
    void *owner;         /* constant: of the huge pages, as section_huge_create() was told */
    /* SHPT section only: */
    pfn_t *upper;       /* constant: level-2 pages, one for each 1,024 level-3 pages */
    uint64_t nupper;    /* constant: level-2 pages */
    uint64_t own_pages; /* atomic: table pages allocated one by one, out of the promise */
};

/* May mappers share its page tables? */
static inline bool section_shares_tables(const struct section *s) { return s->tables_shared; }
/* Are all its frames known from its creation on? True for ALLOC and page-frame sections. */
static inline bool section_is_alloc(const struct section *s) { return s->first.n != 0; }

/* The frame of a page of a section for which section_is_alloc() is true. */
static inline pfn_t section_frame(const struct section *s, uint64_t page)
{
    uint64_t run;

    if (s->blocks)
        return pfn_add(s->blocks[page / HUGE_PAGES], page % HUGE_PAGES);
    return s->extents ? rmd_extent_frame(s->extents, page, &run) : pfn_add(s->first, page);
}

/* How many pages, from `page` on, lie in contiguous frames. section_is_alloc() is true. */
static inline uint64_t section_run(const struct section *s, uint64_t page)
{
    uint64_t run = s->npages - page;

    if (s->blocks)
        return HUGE_PAGES - page % HUGE_PAGES;
    if (s->extents)
        rmd_extent_frame(s->extents, page, &run);
    return run < s->npages - page ? run : s->npages - page;
}

struct section_name {
    const char *name;
    uint32_t length;
    bool sysgbl;
    uint32_t group; /* UIC group of the name, if not sysgbl */
};

struct section_request {
    struct section_name name;
    struct section_creds creds;
    uint32_t ident_match, ident_version;
    uint32_t prot;
    uint32_t flags; /* SEC$M_SYSGBL, PERM, READ_ONLY_SHPT; for page frames also WRT */
    /* Of SECTION_KIND_FLAGS. For a creation: the kind (0: memory resident). For a lookup: the kinds
       that the caller accepts (0: all). */
    uint32_t kinds;
    uint8_t rad;
    uint64_t npages;
    pfn_t first; /* page frames: the first frame */
};

/* Boot, in this order: the directory and the memory-resident kind; the other two kinds, each of
   which calls section_kind_register(). */
void section_boot(void);
void section_pagfil_boot(void);
void section_pfn_boot(void);
void section_kind_register(const struct section_kind *kind);

/* Create a section. SS$_CREATED, or SS$_CREATED_SHPT if it has shared page tables: the caller has
   one share of *out. If the name exists: with map_existing SS$_NORMAL and one share, or the errors
   of section_find; otherwise SS$_DUPLNAM; SS$_GBLSEC_MISMATCH if that section is of another kind.
   Other errors, after which nothing is left allocated: SS$_GSDFULL (GBLSECTIONS), SS$_GPTFULL
   (GBLPAGES), SS$_EXGBLPAGFIL (GBLPAGFIL), SS$_INSFMEM; memory resident: SS$_INSFLPGS,
   SS$_RESERVEDMEMUSED, SS$_MRES_PFNSMALL, SS$_MRES_INCON; page frames: SS$_INVPFN. IPL 0, no mutex
   of rank MUTEX_SECTION_END or above; waits. */
cond_t section_create(const struct section_request *r, bool map_existing, bool write,
                      struct section **out);
/* Find a section by name, identity, kind and protection. SS$_NORMAL: the caller has one share of
   *out. SS$_NOSUCHSEC, SS$_GBLSEC_MISMATCH, SS$_NOPRIV, SS$_NOWRT (nobody may write to it),
   SS$_EXQUOTA (too many shares). IPL 0; takes the GSD mutex. */
cond_t section_find(const struct section_request *r, bool write, struct section **out);
/* Undo a creation from which the caller still has the share: the name is free again, and the
   section is deleted with its last share. Processes that mapped it meanwhile keep it. IPL 0; takes
   the GSD mutex. */
void section_uncreate(struct section *s);
/* Mark a section for deletion with its last share, or delete it now if it has none. Its name is
   free at once: it can no longer be mapped, but existing mappings stay. SS$_NORMAL, SS$_NOSUCHSEC,
   SS$_NOTCREATOR. IPL 0, no mutex of rank MUTEX_SECTION_END or above. */
cond_t section_mark_delete(const struct section_request *r);

/* A section without a name, not in the list of sections yet, with one share for the caller, charged
   to the current user. NULL with the reason in *why: SS$_EXQUOTA, SS$_INSFMEM. Any IPL 0 context.
   */
struct section *section_new(const struct section_kind *kind, uint64_t npages, uint32_t flags,
                            cond_t *why);
/* Enter a section of section_new(), which has all its memory, in the list; `name` is for display.
   SS$_NORMAL; SS$_GSDFULL, SS$_GPTFULL, SS$_INSFMEM: it is not entered. IPL 0; takes the GSD
   mutex. */
cond_t section_enter(struct section *s, const char *name);
/* Free a section that is not in the list and has given its memory back. */
void section_free(struct section *s);
/* Wait until all that deleted sections held has been freed. IPL 0, no mutex of rank
   MUTEX_SECTION_END or above. */
void section_settle(void);

/* Take a share. False: the section is being deleted, or has SECTION_SHARES_MAX shares. Any IPL. */
bool section_try_share(struct section *s);
/* Drop a share. The last one of a section that is not permanent hands the section over to
   section_reap(). Any IPL; takes no lock. */
void section_drop(struct section *s);
/* Delete the sections that section_drop() handed over. IPL 0, no mutex of rank MUTEX_SECTION_END or
   above held. Two loads when there are none. */
void section_reap(void);

/* Give a page of a FLUID section a zeroed frame, out of the section's promise, unless it has one;
   pte is its PTE in the global page table and is valid afterwards. True: this call made it valid.
   Cannot fail. Takes no lock; any number of callers at once. */
bool section_make_valid(struct section *s, uint64_t page, pte_t *pte);

/* The index-th section in order of creation, or the next that is not being deleted, with a share
   for the caller; NULL: there is none. IPL 0; takes the GSD mutex, for a time that is logarithmic
   in the number of sections. */
struct section *section_nth(uint64_t index);
/* Pages that have a frame. The caller holds a share. */
uint64_t section_valid_pages(const struct section *s);

/* A limited quantity: the limit now in force, the current use, and the highest use since boot. */
struct section_use {
    uint64_t limit, use, peak;
};
/* GBLSECTIONS, GBLPAGES and GBLPAGFIL, all read at one time. IPL 0; takes the GSD mutex. */
void section_uses(struct section_use *sections, struct section_use *gptes,
                  struct section_use *pagfil);
/* What a section costs besides its pages and page-table pages. The caller holds a share. */
struct section_cost {
    uint64_t gptes;                /* entries counted against GBLPAGES */
    uint64_t npp_bytes, pgd_bytes; /* bytes of nonpaged pool, mappings included; of paged pool */
};
void section_cost(struct section *s, struct section_cost *c);
/* Call fn for each section in order of creation, GSD mutex held. IPL 0. */
void section_for_each(void (*fn)(struct section *s, void *arg), void *arg);
/* For the self-check: the numbers of sections, global page table entries and page-file pages, as
   kept in the counts and as recomputed from the list of sections. IPL 0; takes the GSD mutex. */
#define SECTION_USES 3u
void section_recount(uint64_t counted[SECTION_USES], uint64_t found[SECTION_USES]);
/* Size of its reservation in bytes, which services return as reserved_length_64; 0 without one. */
uint64_t section_reserved_bytes(const struct section *s);

#endif
