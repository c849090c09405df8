/*
 * Reserved memory descriptors (RMD), one for each registry entry, made at boot. Where the names
 * come from: docs/openvms.md, Numbers. All functions but reserved_boot() may be called by any
 * thread at IPL 0; they take the RMD mutex.
 */
#ifndef MM_SECTION_RESERVED_H
#define MM_SECTION_RESERVED_H

#include "kernel/base/abi/megalith/registry.h"
#include "kernel/base/cond.h"
#include "kernel/base/list.h"
#include "kernel/base/treap.h"
#include "kernel/base/types.h"

#define RMD_NAME_MAX 43
/* Fluid pages that reservations leave above the minimum at boot. Kernel threads, the first process
   and the programs that it starts need about 250; without them nothing could run. */
#define RMD_START_PAGES 512u
#define RMD_NO_GROUP    UINT32_MAX /* as group, with sysgbl false: an RMD_NOGLOBAL entry */

/* A stretch of contiguous frames. If a reservation has several, each but the last is a multiple of
   1,024 pages and all are aligned to 512, so that no level-3 span of a section lies in two. */
struct rmd_extent {
    pfn_t first;
    uint64_t npages;
};

/* The frame of a page of a reservation; *run: the number of pages that are contiguous from there
   on. page is less than the size of the reservation at boot. */
static inline pfn_t rmd_extent_frame(const struct rmd_extent *e, uint64_t page, uint64_t *run)
{
    for (; page >= e->npages; e++)
        page -= e->npages;
    *run = e->npages - page;
    return pfn_add(e->first, page);
}

/* Size of the array of stretches, if there are several. */
#define RMD_EXTENTS_MAX   128u
#define RMD_EXTENTS_BYTES (RMD_EXTENTS_MAX * sizeof(struct rmd_extent))

struct rmd {                /* nonpaged pool; protected by the RMD mutex, except as noted */
    struct list link;       /* by size at boot, largest first */
    struct treap_node node; /* by name and scope */
    struct treap_node nth;  /* as the list, to count them */
    char name[RMD_NAME_MAX + 1];
    uint32_t flags, group, rad; /* RMD_*; UIC group; domain, or RAD_ANY */
    uint64_t npages;            /* data pages; what is not in use can be freed */
    uint64_t npt_pages;         /* page-table pages in addition: level 3, then level 2 */
    pfn_t first, pt_first;      /* ALLOC: first frame of the data pages, of the page-table pages */
    /* ALLOC: the stretches as they were reserved at boot, even if some were freed since. Constant
       while the RMD is in use, so that its user reads them without the mutex. */
    struct rmd_extent *extents; /* &one if there is only one */
    struct rmd_extent one;
    uint32_t nextents;
    uint64_t used, pt_used; /* pages in use by a section or a driver */
    bool open;              /* NOGLOBAL, in use: page-frame sections may borrow its frames */
    uint64_t borrowers;     /* page-frame sections that have borrowed some */
};

struct registry; /* sysman/config.h: the registry as the parser returns it */

/* Boot, after the parameters are set (MIN_FLUID_PAGES and STARTUP_P1 are used here): make the
   reservations of the registry, largest first. One that cannot be made is reported on the console;
   the boot continues. */
void reserved_boot(const struct registry *r);
/* Find a reservation by exact name and scope and take npages of it, with their page-table pages,
   for a section or (group RMD_NO_GROUP) for a driver. On success *out is the caller's until
   mmg_return_res_mem(). Condition value:
   SS$_NORMAL
   SS$_NORESERVEDMEM    there is no entry, or it was freed: a section becomes FLUID
   SS$_RES_MEM_INCON    a driver named an entry that is for sections
   SS$_RESERVEDMEMUSED  the reservation is in use
   SS$_MRES_PFNSMALL    fewer than npages were allocated for it at boot
   SS$_MRES_INCON       fewer than npages were promised to it, or npages is 0
   SS$_ABORT            the caller is to end, and sees no status any more */
cond_t mmg_use_res_mem(const char *name, bool sysgbl, uint32_t group, uint64_t npages,
                       struct rmd **out);
/* Return a reservation. Its user has freed or given back to the promise all pages that it
   allocated. Frees r if the unused part was freed meanwhile. */
void mmg_return_res_mem(struct rmd *r);
/* By the driver that has the reservation. Open: page-frame sections may borrow its frames from now
   on. Close: no longer; false, and it stays open, if sections have borrowed some. The driver closes
   a reservation before it returns it. */
void mmg_open_res_mem(struct rmd *r);
bool mmg_close_res_mem(struct rmd *r);
/* The open reservation that contains these contiguous frames in its used part, or NULL, also if the
   caller is to end. It counts the caller as a borrower until mmg_give_back_res_mem(). */
struct rmd *mmg_borrow_res_mem(pfn_t first, uint64_t npages);
void mmg_give_back_res_mem(struct rmd *r);
/* Free the unused part of a reservation, data and page-table pages: to the free list or, if it was
   only promised, to the fluid count. New sections cannot use the reservation from then on.
   SS$_NORMAL with the number of pages freed, SS$_NORESERVEDMEM, SS$_RESERVEDMEMUSED (all of it is
   in use), SS$_ABORT (the caller is to end). */
cond_t mmg_free_res_mem(const char *name, bool sysgbl, uint32_t group, uint64_t *freed_pages);
/* Call fn for the index-th RMD, from 0 on, with the RMD mutex held. SS$_NORMAL; SS$_NONEXPR: there
   are no more than index; SS$_ABORT: the caller is to end. */
cond_t rmd_nth(uint64_t index, void (*fn)(const struct rmd *, void *), void *arg);
/* Call fn for each RMD with the RMD mutex held. For checks: as many calls as reservations. */
void rmd_for_each(void (*fn)(const struct rmd *, void *), void *arg);

#endif
