/*
 * Private memory in regions: $CRETVA_64, $EXPREG_64, and regions that grow by themselves
 * (VA$M_EXPAND_ON_ACCVIO). It is ordinary anonymous memory (mm/space/anon.c), readable, writable
 * and executable as all readable memory is on OpenVMS Alpha. No shared-page-table region takes any.
 * IPL 0; the calls take the aspace mutex. Results are condition values.
 */
#ifndef MM_SPACE_REGION_MEMORY_H
#define MM_SPACE_REGION_MEMORY_H

#include "kernel/base/cond.h"
#include "mm/space/region.h"

/* $CRETVA_64: zero pages at [start, start + length), instead of the private pages or mapped files
   that are there. flags: VA$M_NO_OVERMAP, then nothing may be there. SS$_NORMAL; with nothing
   changed SS$_IVVAFLG, SS$_IVREGID, SS$_NOSHPTS (the region has shared page tables),
   SS$_VA_NOTPAGALGN, SS$_LEN_NOTPAGMULT, SS$_PAGNOTINREG (outside the region, or in a created one
   without its name), SS$_VA_IN_USE (with VA$M_NO_OVERMAP, or over a section), SS$_INSFMEM. */
cond_t region_create_va(struct aspace *as, uint64_t id, vaddr_t start, uint64_t length,
                        uint32_t flags);
/* $EXPREG_64: zero pages at the region's first free address, *start. SS$_NORMAL, SS$_IVVAFLG,
   SS$_IVREGID, SS$_NOSHPTS, SS$_LEN_NOTPAGMULT, SS$_REGISFULL (created regions), SS$_VASFULL
   (default ones), SS$_INSFMEM. */
cond_t region_expand(struct aspace *as, uint64_t id, uint64_t length, uint32_t flags,
                     vaddr_t *start);

/* An access at va, where nothing is mapped. 0: a region with VA$M_EXPAND_ON_ACCVIO has grown over
   it, look again; -EFAULT: none is to; -ENOMEM. */
int region_grow_to(struct aspace *as, vaddr_t va);

/* Place of length bytes at the growing end of [start, end), whose first free address is given; 0:
 * there is no room. Pure. */
vaddr_t region_expand_place(vaddr_t start, vaddr_t end, vaddr_t first_free, bool down,
                            uint64_t length);

#endif
