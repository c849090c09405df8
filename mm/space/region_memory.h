/*
 * Private memory in regions: $CRETVA_64, $EXPREG_64, and regions that grow by faults
 * (VA$M_EXPAND_ON_ACCVIO). It is ordinary anonymous memory (mm/space/anon.c), readable and
 * writable, and executable as all readable memory is on OpenVMS Alpha. A region with shared page
 * tables cannot have any. The functions are called at IPL 0, take the aspace mutex exclusively, and
 * return condition values unless said otherwise. Addresses and lengths are in bytes.
 */
#ifndef MM_SPACE_REGION_MEMORY_H
#define MM_SPACE_REGION_MEMORY_H

#include "kernel/base/cond.h"
#include "mm/space/region.h"

/* $CRETVA_64: map zero pages at [start, start + length), in place of the private pages or mapped
   files there; with VA$M_NO_OVERMAP in flags nothing may be mapped there. SS$_NORMAL; or, with
   nothing changed, SS$_IVVAFLG, SS$_IVREGID, SS$_NOSHPTS (the region has shared page tables),
   SS$_VA_NOTPAGALGN, SS$_LEN_NOTPAGMULT, SS$_PAGNOTINREG (outside the region, or in a created
   region inside it), SS$_VA_IN_USE (VA$M_NO_OVERMAP, or a section is there), SS$_INSFMEM. */
cond_t region_create_va(struct aspace *as, uint64_t id, vaddr_t start, uint64_t length,
                        uint32_t flags);
/* $EXPREG_64: map zero pages at the region's first free address. SS$_NORMAL with the lowest address
   in *start; or SS$_IVVAFLG, SS$_IVREGID, SS$_NOSHPTS, SS$_LEN_NOTPAGMULT, SS$_REGISFULL (created
   regions), SS$_VASFULL (default regions), SS$_INSFMEM. */
cond_t region_expand(struct aspace *as, uint64_t id, uint64_t length, uint32_t flags,
                     vaddr_t *start);

/* Handle an access to page va, where nothing is mapped. 0: a region with VA$M_EXPAND_ON_ACCVIO has
   grown to it, or another thread has mapped it: look again. -EFAULT: no region grows there.
   -ENOMEM. */
int region_grow_to(struct aspace *as, vaddr_t va);

/* Where length bytes go at the growing end of [start, end), given its first free address and
   whether it grows down; 0: there is no room. Pure. */
vaddr_t region_expand_place(vaddr_t start, vaddr_t end, vaddr_t first_free, bool down,
                            uint64_t length);

#endif
