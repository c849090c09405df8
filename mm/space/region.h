/*
 * Regions (OpenVMS: region descriptor entry, RDE): reserved parts of an address space. The default
 * regions P0, P1 and P2 have the ids 0, 1 and 2; regions created by the user have ids from 16 on
 * (RDE$C_MIN_USER_ID). Everything is protected by the aspace mutex: functions in _locked expect it
 * held, exclusively if they change something; the services take it themselves, at IPL 0, and return
 * condition values. Addresses and lengths are in bytes.
 */
#ifndef MM_SPACE_REGION_H
#define MM_SPACE_REGION_H

#include "kernel/base/cond.h"
#include "mm/space/aspace.h"

#define REGION_MIN_USER_ID 16

struct region {       /* nonpaged pool; constant while it is in its address space */
    struct list link; /* in aspace.regions, by address */
    union {           /* in aspace.region_tree */
        struct span span;
        struct {
            SPAN_FIELDS;
        };
    };
    struct treap_node by_id; /* in aspace.region_by_id */
    uint64_t id;
    uint32_t flags;   /* VA$M_* */
    uint32_t prot;    /* create mode << 4 | owner mode */
    uint16_t account; /* number of the account that is charged for it (kernel/quota) */
};

/* A copy of what the services use of a region, created or default. */
struct region_view {
    uint64_t id;
    uint32_t flags, prot;
    vaddr_t start, end;
};

/* Take the mutex exclusively for a service. SS$_NORMAL; SS$_ABORT: the caller is to end, and would
   have had to wait. */
cond_t aspace_lock_service(struct aspace *as) __attribute__((warn_unused_result));

/* The created region with this id, or the one that contains va; NULL: there is none. */
struct region *region_find_locked(struct aspace *as, uint64_t id);
struct region *region_at_locked(struct aspace *as, vaddr_t va);
/* Does [va, va + len) overlap a created region? For mmap, brk, stack growth. */
bool region_overlaps_locked(struct aspace *as, vaddr_t va, uint64_t len);
/* Does a created region begin or end at va? Map entries must not extend across such an address. */
bool region_border_locked(struct aspace *as, vaddr_t va);
/* fork: copy the regions of src. 0; -ENOMEM, or -EINTR: the thread is to end; then some of them are
   copied. */
int region_fork_locked(struct aspace *src, struct aspace *dst);
/* exec, exit: delete all created regions; their mappings are gone already. */
void region_clear_locked(struct aspace *as);

/* Describe the region with this id, created or default, in *v. False: there is none. */
bool region_view_locked(struct aspace *as, uint64_t id, struct region_view *v);
/* First free address: the end of the highest mapping in the region, or with VA$M_DESCEND the start
   of the lowest. In a default region, created regions and their mappings are stepped over. Mutex
   exclusive. */
vaddr_t region_first_free_locked(struct aspace *as, const struct region_view *v);
/* Does a mapping overlap [start, end)? */
bool region_range_used_locked(struct aspace *as, vaddr_t start, vaddr_t end);

/* $CREATE_REGION_64. start 0: the system chooses the address. privileged: the caller may ask for
   VA$M_PERMANENT. SS$_NORMAL and *out, or SS$_IVREGFLG, SS$_IVREGPROT, SS$_LEN_NOTPAGMULT,
   SS$_VA_NOTPAGALGN, SS$_NOT_PROCESS_VA, SS$_VA_IN_USE, SS$_VASFULL, SS$_INSFMEM, SS$_NOPRIV,
   SS$_EXQUOTA (USER_REGIONS), SS$_ABORT (the caller is to end). */
cond_t region_create(struct aspace *as, uint64_t length, uint32_t prot, uint32_t flags,
                     vaddr_t start, bool privileged, struct region_view *out);
/* $DELETE_REGION_64: delete the region and everything mapped in it. SS$_NORMAL and *out (what it
   was), or SS$_IVREGID, SS$_NODELPERMANENT, SS$_INSFMEM, SS$_ABORT. */
cond_t region_delete(struct aspace *as, uint64_t id, bool privileged, struct region_view *out);
/* $DELTVA_64: unmap [start, start + length), which lies in the region. SS$_NORMAL, SS$_IVREGID,
   SS$_VA_NOTPAGALGN, SS$_LEN_NOTPAGMULT, SS$_PAGNOTINREG, SS$_INSFMEM, SS$_ABORT. */
cond_t region_delete_va(struct aspace *as, uint64_t id, vaddr_t start, uint64_t length);

/* $GET_REGION_INFO: find a region by id, by an address in it, or the one at or next above an
   address, as `function` (VA$_REGSUM_*) says. SS$_NORMAL with *v and *first_free, its first free
   address; or SS$_IVREGID, SS$_NOMOREREG, SS$_ABORT. */
cond_t region_query(struct aspace *as, uint32_t function, uint64_t id, vaddr_t va,
                    struct region_view *v, vaddr_t *first_free);

#endif
