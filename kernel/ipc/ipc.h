/*
 * What the objects of System V IPC have in common: a table for each kind, in which an object has an
 * identifier and perhaps a key; owners and permissions. Unless said otherwise, functions are called
 * at IPL 0 without a spinlock and return 0 or a negative errno; those in _locked are called with
 * the table's lock.
 */
#ifndef KERNEL_IPC_IPC_H
#define KERNEL_IPC_IPC_H

#include "kernel/base/treap.h"
#include "kernel/fs/stat.h"
#include "kernel/sched/spinlock.h"

#define IPC_PRIVATE 0
#define IPC_CREAT   01000u
#define IPC_EXCL    02000u
#define IPC_NOWAIT  04000u

#define IPC_MODE  0777u /* permissions of owner, group and others */
#define IPC_READ  0444u /* as `flags` of ipc_allows */
#define IPC_WRITE 0222u

/* Objects of a kind: 64 words of 64 bits say which slots are used, and one more which of these
 * words have any, or all. */
#define IPC_SLOTS 4096u
/* An identifier is the number of its slot and, in units of this, how often the slot was used
 * before: the value of Linux, which programs can compute from `seq`. */
#define IPC_SEQ_UNIT 32768

/* Who calls: effective ids, and the process. */
struct ipc_caller {
    struct io_cred cred;
    uint32_t pid;
};
/* Fill in *c for the current process; all 0 in a thread without one. kernel/sys sets it at boot. */
extern void (*ipc_who)(struct ipc_caller *c);

struct ipc_object { /* first in its kind's structure; protected by the table's lock */
    struct treap_node node;
    int32_t key;                   /* IPC_PRIVATE: it is not in the tree */
    uint32_t uid, gid, cuid, cgid; /* the last two: of its creator, constant */
    uint32_t mode;                 /* IPC_MODE, and bits of its kind */
    uint32_t refs;                 /* one of the table's, and those who work on it */
    uint16_t seq, index;           /* constant once it is in the table */
    bool removed;                  /* not in the table any more; atomic: also read without it */
    int64_t ctime_ns;              /* of creation or the last change by a call of ..ctl */
    struct account *account;       /* charged for it; constant */
};

static inline int ipc_id(const struct ipc_object *o) { return o->seq * IPC_SEQ_UNIT + o->index; }

struct ipc_slot {
    struct ipc_object *object; /* NULL: free */
    uint16_t seq;              /* of the object, or of the next one */
};

/* What a kind does when ipc_get makes an object or finds one. `arg` is the caller's. */
struct ipc_kind {
    /* A new object, zeroed but for the fields of the kind, charged to the current user. NULL with
     * the reason in *err. No lock held. */
    struct ipc_object *(*make)(void *arg, int *err);
    /* May the object that was found be used? Table's lock held. */
    int (*fits)(const struct ipc_object *o, void *arg);
    /* Fill in the structure that ipc_stat was given. Table's lock held. */
    void (*status)(const struct ipc_object *o, void *to);
    /* Free an object whose last reference is gone. No lock held; IPL 0, in an address space's
     * mutex perhaps. */
    void (*end)(struct ipc_object *o);
};

struct ipc_table {
    struct spinlock lock;        /* RANK_IPC, IPL_ASTDEL: held for some hundred instructions */
    const struct ipc_kind *kind; /* constant */
    struct treap keys;
    uint64_t used[IPC_SLOTS / 64], any, full; /* bit n: slot n, or word n of `used` */
    uint32_t count;
    struct ipc_slot slot[IPC_SLOTS];
};

/* The identifier of the object with the key, or of a new one (IPC_CREAT, IPC_EXCL and the
 * permissions in `flags`). -ENOENT, -EEXIST, -EACCES, -ENOSPC: the table or the user's quota is
 * full; or an error of the kind. */
int ipc_get(struct ipc_table *t, const struct ipc_caller *c, int32_t key, uint32_t flags,
            void *arg);
/* The object with the identifier; NULL: there is none. */
struct ipc_object *ipc_find_locked(struct ipc_table *t, int id);
/* The object in slot `index`, or NULL. */
struct ipc_object *ipc_slot_locked(struct ipc_table *t, uint64_t index);
/* The number of the first used slot from `from` on; IPC_SLOTS: there is none. Takes the lock. */
uint32_t ipc_next(struct ipc_table *t, uint32_t from);
/* The highest used slot, 0 if there is none. */
uint32_t ipc_highest_locked(const struct ipc_table *t);
/* May the caller do what `flags` asks for, in any of its three groups of permission bits? */
bool ipc_allows(const struct ipc_object *o, const struct ipc_caller *c, uint32_t flags);
/* Is the caller its owner, its creator or user 0? */
bool ipc_owns(const struct ipc_object *o, const struct ipc_caller *c);
/* IPC_SET: owner, group and permissions. 0 or -EPERM. */
int ipc_set_locked(struct ipc_object *o, const struct ipc_caller *c, uint32_t uid, uint32_t gid,
                   uint32_t mode);
/* The same for the object with the identifier; also -EINVAL. */
int ipc_set(struct ipc_table *t, const struct ipc_caller *c, int id, uint32_t uid, uint32_t gid,
            uint32_t mode);
/* IPC_STAT: has the kind fill in *to. -EINVAL, -EACCES. */
int ipc_stat(struct ipc_table *t, const struct ipc_caller *c, int id, void *to);
/* The same by the number of a slot, which needs no permission with `any`. */
int ipc_stat_slot(struct ipc_table *t, const struct ipc_caller *c, uint64_t slot, bool any,
                  void *to);
/* Begin a call on the object with the identifier: *out with a reference, if the caller has the
 * permissions that `want` asks for. -EINVAL, -EACCES. The object may be removed meanwhile. */
int ipc_open(struct ipc_table *t, const struct ipc_caller *c, int id, uint32_t want,
             struct ipc_object **out);
/* The same for IPC_RMID: out of the table, so that nobody else finds it. -EINVAL, -EPERM. */
int ipc_open_removed(struct ipc_table *t, const struct ipc_caller *c, int id,
                     struct ipc_object **out);
void ipc_close(struct ipc_table *t, struct ipc_object *o);
static inline bool ipc_is_removed(const struct ipc_object *o)
{
    return __atomic_load_n(&o->removed, __ATOMIC_RELAXED);
}
/* Its key leads nowhere any more. */
void ipc_forget_key_locked(struct ipc_table *t, struct ipc_object *o);
/* Take it out of the table, and drop the table's reference. The caller has one of its own. */
void ipc_remove_locked(struct ipc_table *t, struct ipc_object *o);
static inline void ipc_hold_locked(struct ipc_object *o) { o->refs++; }
/* Drop a reference, release the lock, and free the object if that was the last one. */
void ipc_drop_unlock(struct ipc_table *t, struct ipc_object *o, ipl_t ipl);
/* For `make` and `end`: charge the current user for the object, and release that. */
bool ipc_charge(struct ipc_object *o);
void ipc_release(const struct ipc_object *o);

#endif
