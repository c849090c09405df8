/*
 * Regions (RDE): a user-created reserved part of an address space. Protected by the aspace mutex.
 * Default regions P0, P1, P2 have the ids 0, 1, 2; created ones count from 16 (RDE$C_MIN_USER_ID).
 * Results of the services are condition values.
 */
#ifndef MM_SPACE_REGION_H
#define MM_SPACE_REGION_H

#include "kernel/base/cond.h"
#include "mm/space/aspace.h"

#define REGION_MIN_USER_ID 16

struct region {       /* nonpaged pool */
    struct list link; /* in aspace.regions, by address */
    uint64_t id;
    uint32_t flags; /* VA$M_* */
    uint32_t prot;  /* create mode << 4 | owner mode */
    vaddr_t start;
    uint64_t length;
};

/* A region, created or default, as the services need it. */
struct region_view {
    uint64_t id;
    uint32_t flags, prot;
    vaddr_t start, end;
};

struct region *region_find_locked(struct aspace *as, uint64_t id);
struct region *region_at_locked(struct aspace *as, vaddr_t va);
/* Does [va, va+len) touch a created region? For mmap, brk, stack growth. */
bool region_overlaps_locked(struct aspace *as, vaddr_t va, uint64_t len);
/* Does a created region begin or end at va? No entry of the map reaches over such a border. */
bool region_border_locked(struct aspace *as, vaddr_t va);
/* fork: the child gets the same regions. 0 or -ENOMEM (the child is then cleared by its owner). */
int region_fork_locked(struct aspace *src, struct aspace *dst);
void region_clear_locked(struct aspace *as); /* exec, exit */

/* By id, default regions included; false: there is none. */
bool region_view_locked(struct aspace *as, uint64_t id, struct region_view *v);
/* First free address: end of the highest mapping in it, or with VA$M_DESCEND start of the lowest.
   In a default region neither a created region's mappings nor its addresses count. */
vaddr_t region_first_free_locked(struct aspace *as, const struct region_view *v);
/* Does a mapping touch [start, end)? */
bool region_range_used_locked(struct aspace *as, vaddr_t start, vaddr_t end);

/* $CREATE_REGION_64 with start 0: the system chooses. privileged: may ask for VA$M_PERMANENT.
   SS$_NORMAL and *out, or SS$_IVREGFLG, SS$_IVREGPROT, SS$_LEN_NOTPAGMULT, SS$_VA_NOTPAGALGN,
   SS$_NOT_PROCESS_VA, SS$_VA_IN_USE, SS$_VASFULL, SS$_INSFMEM, SS$_NOPRIV. */
cond_t region_create(struct aspace *as, uint64_t length, uint32_t prot, uint32_t flags,
                     vaddr_t start, bool privileged, struct region_view *out);
/* $DELETE_REGION_64: with all that is mapped in it. SS$_NORMAL, SS$_IVREGID, SS$_NODELPERMANENT. */
cond_t region_delete(struct aspace *as, uint64_t id, bool privileged, struct region_view *out);
/* $DELTVA_64: SS$_NORMAL, SS$_IVREGID, SS$_VA_NOTPAGALGN, SS$_LEN_NOTPAGMULT, SS$_PAGNOTINREG,
 * SS$_INSFMEM. */
cond_t region_delete_va(struct aspace *as, uint64_t id, vaddr_t start, uint64_t length);

/* $GET_REGION_INFO: by id, by an address in it, or the next one at or above an address. SS$_NORMAL,
 * SS$_IVREGID, SS$_NOMOREREG. */
cond_t region_query(struct aspace *as, uint32_t function, uint64_t id, vaddr_t va,
                    struct region_view *v, vaddr_t *first_free);

#endif
