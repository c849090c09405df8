/*
 * Reserved memory descriptors (RMD): one per registry entry, honoured largest first at boot.
 * Lists and counts protected by the RMD mutex. Names: docs/openvms.md, Numbers.
 */
#ifndef MM_SECTION_RESERVED_H
#define MM_SECTION_RESERVED_H

#include "kernel/base/abi/megalith/registry.h"
#include "kernel/base/cond.h"
#include "kernel/base/list.h"
#include "kernel/base/types.h"

#define RMD_NAME_MAX 43
/* Pages that reservations leave above the minimum at boot: kernel threads, the first process and
   what it starts take some 250 of them, and without these nothing could ever run. */
#define RMD_START_PAGES 512u
#define RMD_NO_GROUP    UINT32_MAX /* group, with sysgbl false: an RMD_NOGLOBAL entry is meant */

/* A stretch of contiguous frames. Each of a reservation but the last is a multiple of 1,024 pages,
   all are aligned to 512: so no span of a section lies in two. */
struct rmd_extent {
    pfn_t first;
    uint64_t npages;
};

/* The frame of a page of a reservation, and in *run how many pages lie contiguously from there.
   page is below the reservation's size as it was made at boot. */
static inline pfn_t rmd_extent_frame(const struct rmd_extent *e, uint64_t page, uint64_t *run)
{
    for (; page >= e->npages; e++)
        page -= e->npages;
    *run = e->npages - page;
    return pfn_add(e->first, page);
}

/* Room for so many stretches, where there are several. */
#define RMD_EXTENTS_MAX   128u
#define RMD_EXTENTS_BYTES (RMD_EXTENTS_MAX * sizeof(struct rmd_extent))

struct rmd {
    struct list link; /* descending size */
    char name[RMD_NAME_MAX + 1];
    uint32_t flags, group, rad;
    uint64_t npages;       /* data pages */
    uint64_t npt_pages;    /* page-table pages beside them: level 3, then 2 */
    pfn_t first, pt_first; /* ALLOC: of the first stretch of data, of the one of page tables */
    /* ALLOC: the stretches as they were taken at boot, largest first, whatever was freed since.
       Constant, so that who uses the pages below `used` reads them without the mutex. */
    struct rmd_extent *extents; /* &one where there is one only */
    struct rmd_extent one;
    uint32_t nextents;
    uint64_t used, pt_used; /* pages in use by a section or a driver */
    bool open;              /* NOGLOBAL, in use: page-frame sections may show its frames */
    uint64_t borrowers;     /* page-frame sections that do */
};

struct registry; /* sysman/config.h: what the blob parser gives */

/* Boot, after the parameters are set (MIN_FLUID_PAGES, STARTUP_P1 count here):
   make every reservation of the parsed registry, largest first; what cannot be honoured is named
   on the console, boot goes on. */
void reserved_boot(const struct registry *r);
/* Find by exact name and scope and take it for a section, data pages and page tables, or (group
   RMD_NO_GROUP) for a driver. IPL 0; takes the RMD mutex. Condition value:
   SS$_NORMAL
   SS$_NORESERVEDMEM    no entry, or it was freed: a section goes FLUID
   SS$_RES_MEM_INCON    a driver named an entry that is for sections
   SS$_RESERVEDMEMUSED  somebody has it
   SS$_MRES_PFNSMALL    fewer pages were allocated for it at boot
   SS$_MRES_INCON       fewer pages were promised to it, or none are asked for */
cond_t mmg_use_res_mem(const char *name, bool sysgbl, uint32_t group, uint64_t npages,
                       struct rmd **out);
void mmg_return_res_mem(struct rmd *r);
/* A driver's frames, for page-frame sections. Open: from now on they may be shown. Close: no more;
   false, and open still, while sections show them. The driver closes before it returns them. IPL 0;
   all four take the RMD mutex. */
void mmg_open_res_mem(struct rmd *r);
bool mmg_close_res_mem(struct rmd *r);
/* The open reservation of which these contiguous frames are a part in use, NULL when there is none.
   One borrower more, until it gives them back. */
struct rmd *mmg_borrow_res_mem(pfn_t first, uint64_t npages);
void mmg_give_back_res_mem(struct rmd *r);
/* Give the unused part (data and page-table pages) back: to the free list, or only to the fluid
   count where nothing was allocated. From then on the name has no reservation for new sections.
   SS$_NORMAL with the pages given back, SS$_NORESERVEDMEM, SS$_RESERVEDMEMUSED (nothing unused).
   IPL 0; takes the RMD mutex. */
cond_t mmg_free_res_mem(const char *name, bool sysgbl, uint32_t group, uint64_t *freed_pages);
void rmd_for_each(void (*fn)(const struct rmd *, void *), void *arg); /* takes the RMD mutex */

#endif
