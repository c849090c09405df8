/* Segments of System V shared memory. IPL 0, no spinlock held; results are 0 or a negative errno
 * unless said otherwise. kernel/ipc/README.md describes the design. */
#ifndef KERNEL_IPC_SHM_H
#define KERNEL_IPC_SHM_H

#include "arch/alpha/hw/layout.h"
#include "kernel/ipc/ipc.h"

struct aspace;
struct validate;

#define SHM_MAX LAYOUT_USER_TOP /* bytes of a segment */

#define SHM_HUGETLB    04000u /* of shm_get: of huge pages */
#define SHM_HUGE_SHIFT 26u    /* above: the logarithm of their size, 0: of the default */
#define SHM_HUGE_MASK  63u
#define SHM_HUGE_GROUP 0u /* the group that may make such segments without privilege */

#define SHM_RDONLY 010000u
#define SHM_RND    020000u
#define SHM_REMAP  040000u
#define SHM_EXEC   0100000u

/* Bits of a segment's mode beside its permissions. */
#define SHM_DEST   01000u /* it goes with its last attachment */
#define SHM_LOCKED 02000u

struct shm_status {
    struct ipc_object ipc;
    uint64_t nbytes, nattch;
    int64_t atime_ns, dtime_ns;
    uint32_t cpid, lpid; /* of the creator, and of whoever attached or detached last */
    uint64_t resident;   /* pages */
};

/* What all segments have together. */
struct shm_totals {
    uint32_t count, highest; /* segments; the highest slot in use */
    uint64_t pages, resident;
};

/* shmget: flags as for ipc_get, which says more errors. may_lock: the caller may lock memory, so it
 * may make a segment of huge pages. -EINVAL: bad size, also of huge pages, or more than the segment
 * has; -ENOSPC, -ENOMEM; -EPERM: no huge pages for this caller. Returns the identifier. */
int shm_get(const struct ipc_caller *c, int32_t key, uint64_t nbytes, uint32_t flags,
            bool may_lock);
/* shmat: map the segment at `va` (0: anywhere) in `as`. *at: its place. -EINVAL, -EACCES,
 * -ENOMEM. */
int shm_attach(const struct ipc_caller *c, struct aspace *as, int id, vaddr_t va, uint32_t flags,
               vaddr_t *at);
/* shmdt: -EINVAL: no segment was attached at va; -EINTR: the caller is to end. */
int shm_detach(struct aspace *as, vaddr_t va);
/* IPC_STAT; or by the number of a slot, which needs no permission with `any`. -EINVAL, -EACCES. */
int shm_stat(const struct ipc_caller *c, int id, struct shm_status *s);
int shm_stat_slot(const struct ipc_caller *c, uint64_t slot, bool any, struct shm_status *s);
/* The first used slot from `from` on; IPC_SLOTS: there is none. */
uint32_t shm_next(uint32_t from);
/* IPC_SET, IPC_RMID, SHM_LOCK and SHM_UNLOCK. -EINVAL, -EPERM. */
int shm_set(const struct ipc_caller *c, int id, uint32_t uid, uint32_t gid, uint32_t mode);
int shm_remove(const struct ipc_caller *c, int id);
int shm_lock(const struct ipc_caller *c, int id, bool lock);
void shm_totals(struct shm_totals *t);

/* Check the objects of all segments (mm/check/validate.h). */
void shm_validate(struct validate *v);
/* Boot: register the segments in the census of pool. */
void shm_boot(void);

#endif
