/* Private to kernel/fs/ninep: the structures of a shared folder and what its files share. */
#ifndef KERNEL_FS_NINEP_PRIVATE_H
#define KERNEL_FS_NINEP_PRIVATE_H

#include "kernel/fs/ninep/calls.h"
#include "kernel/fs/ninep/ninep.h"

#define SHARE_HEADS 1024u  /* of the index of inodes, a power of two */
#define SHARE_KEPT  16384u /* inodes kept that nobody uses */
/* Attributes are believed for that long by who looks a name up; who opens a file asks anew. */
#define SHARE_BELIEF_NS UINT64_C(1000000000)

struct account;
struct listing;

struct share {
    struct ninep_client client;
    struct fs fs;
    struct mutex lock; /* MUTEX_SHARE: index, order; count, also read as an atomic word */
    struct list heads[SHARE_HEADS];
    struct list order;         /* inodes of the index, those looked up last at its end */
    uint32_t count;            /* of them */
    struct list all;           /* every inode that exists; client.lock */
    struct list dead;          /* those to be freed by the client's thread; client.lock */
    struct list dirty;         /* files with pages that programs may have written to; client.lock */
    uint32_t puts;             /* pages being written back; atomic */
    struct wait_queue written; /* who waits for `puts` of an inode */
    uint64_t serial;           /* of the newest inode; atomic */
    uint64_t reserve;          /* pages that the files kept here leave free; constant */
    struct share *next;        /* constant after boot */
};

/*
 * An inode of a shared folder. While it is in the index the index holds a reference, so the pages
 * of a file stay when nobody has it open.
 */
struct share_inode {
    struct inode inode;
    struct share *share;    /* constant */
    struct ninep_qid qid;   /* type and path are constant; version: share.lock */
    uint64_t serial;        /* constant: no other inode of the share ever had it */
    struct list head_link;  /* share.heads; share.lock */
    struct list order_link; /* share.order; share.lock */
    struct list all_link;   /* share.all; client.lock */
    struct list dead_link;  /* share.dead; client.lock */
    struct list dirty_link; /* share.dirty; client.lock */
    bool indexed;           /* share.lock */
    bool ended;             /* no reference is left; its object, if any, is not its own */
    uint16_t account;       /* number of the account that is charged for it; constant */
    uint32_t fid;           /* stands for it on the server; atomic: share_found() changes it */
    uint64_t place;         /* of the name that fid was found by; share.lock */
    bool lost;              /* that name was removed here: fid may stand for another file; atomic */
    uint32_t read_fid;      /* open for reading; NINEP_NO_FID: not open; atomic, set once */
    uint32_t write_fid;     /* open for writing; likewise */
    uint64_t asked_ns;      /* when the server was last asked for the attributes; atomic */
    /* Regular files. What the server last said, or was told: bytes behind the server's length are
     * zero. Written with inode.lock held exclusively; atomic. */
    uint64_t server_size;
    int64_t server_mtime_ns;
    bool wrote;         /* we have written since: the server's time has changed; atomic */
    uint32_t changes;   /* counts our changes of the contents; atomic */
    uint32_t doubts;    /* counts our changes of anything else; atomic */
    uint64_t evict_at;  /* where pages of it are freed next; a hint, atomic */
    uint64_t next_page; /* that a sequential reader asks for next; atomic */
    uint32_t puts;      /* pages on their way to the server; atomic */
    uint32_t dropped;   /* answers to reads that were asked for at a lower count are; atomic */
    uint64_t put_end;   /* bytes from there on are not written back now; atomic; UINT64_MAX */
    uint32_t refused;   /* counts pages that were not written back because of that; atomic */
    int put_error;      /* of a page that could not be written, for the next fsync; atomic */
    /* In nonpaged pool. A directory's: rename_mutex. Another inode's: share.lock; the name and the
     * directory by which it was found last, if that directory was watched; else NULL. */
    char *name;
    uint32_t name_len;
    struct inode *home;        /* holds a reference; share.lock */
    struct listing *listing;   /* names read last; listing_lock */
    struct mutex listing_lock; /* MUTEX_INODE: a directory has no contents to lock */
};

static inline struct share_inode *share_inode_of(const struct inode *i)
{
    return container_of(i, struct share_inode, inode);
}
static inline struct share *share_of(const struct fs *fs) { return fs->private; }
static inline struct ninep_client *client_of(const struct share_inode *i)
{
    return &i->share->client;
}
/* The fid that stands for i, for a request; the caller releases it when that has been answered. */
static inline uint32_t fid_hold(const struct share_inode *i)
{
    return ninep_fid_hold(client_of(i), &i->fid);
}
static inline void fid_release(const struct share_inode *i, uint32_t fid)
{
    ninep_fid_release(client_of(i), fid);
}
static inline uint64_t share_server_size(const struct share_inode *i)
{
    return __atomic_load_n(&i->server_size, __ATOMIC_ACQUIRE);
}
/* Has its last name been removed here? A server that looks for it by its name finds nothing then,
 * or another file with that name: it is reached by its open fids only. */
static inline bool share_is_removed(const struct share_inode *i)
{
    return __atomic_load_n(&i->inode.nlink, __ATOMIC_RELAXED) == 0;
}
/* Pages of data in one request. */
static inline uint32_t share_pages_a_call(const struct share_inode *i)
{
    return MIN(NINEP_CALL_PAGES, (uint32_t)((client_of(i)->most - 4096) / PAGE_SIZE));
}

extern const struct inode_ops share_ops;

/* ---- inodes.c ---- */

/* The inode of what was just looked up as `name` in dir (NULL: the root): `fid`, which is taken
 * over in any case, with this qid. 0 with a reference in *out. dir->lock is held, or dir is NULL.
 */
int share_found(struct share *s, struct inode *dir, const struct fs_name *name, uint32_t fid,
                const struct ninep_qid *q, struct inode **out);
/* Take i out of the index, so that it is not found any more. IPL 0, share.lock not held. */
void share_forget(struct share_inode *i);
/* Ask the server for the attributes of i, through fid, and take them over. A file that has changed
 * on the server loses its pages here. -ESTALE: fid stands for another file now. IPL 0; inode.lock
 * not held. */
int share_refresh(struct share_inode *i, uint32_t fid);
/* The same through its own fid. */
int share_refresh_own(struct share_inode *i);
/* The attributes of i are not to be believed any more, nor those that others are asking for. */
static inline void share_doubt(struct inode *i)
{
    __atomic_fetch_add(&share_inode_of(i)->doubts, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&share_inode_of(i)->asked_ns, 0, __ATOMIC_RELAXED);
}
/* Remember under which name a directory, or any other inode, now is; for a rename. */
int share_rename_directory(struct share_inode *i, const struct fs_name *name);
uint64_t share_place(const struct inode *dir, const struct fs_name *name);
/* i, which is no directory, has this name in dir, which is watched, so that it can report to it;
 * without memory it will not. dir->lock is held. */
void share_remember(struct share_inode *i, struct inode *dir, const struct fs_name *name);
/* The name is gone. */
void share_unremember(struct share_inode *i);
int share_place_of(struct inode *in, struct inode **dir, struct fs_entry *to);
/* Its last reference was dropped. */
void share_end(struct inode *i);
/* The same of its object: the pager's `end`. */
void share_object_ended(struct mm_object *o);
/* Free what has ended. The client's thread does; others may. IPL 0, share.lock not held. */
void share_free_dead(struct share *s);
/* Let go of some inodes that nobody uses, and of their pages, while there are more than `keep`: of
 * those charged to `of` (NULL: of all), among the `look` that were looked up longest ago, TRIM_STEP
 * of them with the lock held. Returns how many. May be called inside faults. */
#define TRIM_STEP 32u
unsigned share_trim(struct share *s, uint32_t keep, const struct account *of, uint32_t look);
/* The regular file that was looked up longest ago, with a reference; it becomes the last one. NULL:
 * there is none among the first TRIM_STEP. Adds to *looked how many it looked at, or 1. */
struct share_inode *share_next(struct share *s, uint32_t *looked);

/* ---- names.c ---- */
/* A new fid for `name` in i, or (NULL) for i itself: ninep_walk(). */
int share_walk(const struct share_inode *i, const struct fs_name *name, uint32_t *fid,
               struct ninep_qid *q);
/* ninep_set_attributes(). */
int share_set_attributes(const struct share_inode *i, uint32_t which,
                         const struct ninep_attributes *a);
/* The contents or the owner of i change: it loses the bits of inode_set_id_bits(), on the server
 * too. 0, or -EINTR: the thread is to end. */
int share_drop_set_ids(struct share_inode *i);
/* inode_ops: */
int share_lookup(struct inode *dir, const struct fs_name *name, struct inode **out);
int share_create(struct inode *dir, const struct fs_name *name, const struct fs_new *what,
                 struct inode **out);
int share_link(struct inode *dir, const struct fs_name *name, struct inode *i);
int share_unlink(struct inode *dir, const struct fs_name *name, struct inode *i);
int share_rename(struct inode *from, const struct fs_name *old, struct inode *i, struct inode *to,
                 const struct fs_name *name, struct inode *replaced);
int share_name_of(struct inode *dir, struct fs_entry *to);
long share_readlink(struct inode *i, char *buf, size_t n);
int share_change(struct inode *i, const struct fs_change *to);

/* ---- listing.c ---- */
int share_readdir(struct inode *dir, uint64_t pos, struct fs_entry *to);
void share_listing_free(struct share_inode *i);
void share_listing_census(struct census *c, const struct share_inode *i);

/* ---- contents.c ---- */
extern const struct pager_ops share_pager;
int share_open(struct inode *i, bool write);
/* fid is open for reading and writing: i uses it from now on. False: it has one already. */
bool share_opened(struct share_inode *i, uint32_t fid);
void share_will_read(struct inode *i, uint64_t index, uint64_t n);
/* Answers to reads that are on their way are of no use any more: the file has changed. Called
 * before its pages are looked for (read_done in contents.c). */
static inline void share_drop_answers(struct share_inode *i)
{
    __atomic_fetch_add(&i->dropped, 1, __ATOMIC_ACQ_REL);
}
/* Drop the pages of a file, which are to be asked for again. i->lock is held exclusively. False:
 * the thread is to end, and some may be left. */
bool share_drop_pages(struct inode *i);
/* Free pages of files that nobody maps, while less memory is free than s->reserve. Called by
 * the client's thread. */
void share_shrink(struct share *s);
/* The same at once, whatever is free, and also of files that are mapped. */
enum fs_reclaimed share_reclaim(const struct fs *fs);

/* ---- writing.c ---- */
/* Of the pager: mm/object/pager.h. */
int share_upgrade(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access);
int share_put(struct mm_object *o, uint64_t offset, uint64_t count);
int share_sync_range(struct mm_object *o, uint64_t offset, uint64_t count);
long share_write(struct inode *i, uint64_t offset, vaddr_t ubuf, const void *kbuf, size_t n);
int share_resize(struct inode *i, uint64_t size, bool killable);
/* Take over a new length. i->lock is held exclusively, or nobody knows i yet. */
void share_set_size(struct inode *i, uint64_t size);
int share_sync(struct inode *i, bool only_data);
/* Does it have pages that programs may have written to? */
bool share_is_dirty(struct share_inode *i);
/* Wait until all such pages are written back, or cannot be. */
void share_sync_all(const struct fs *fs);
/* Begin to write such pages back, some at a time. True: there are more. */
bool share_write_back(struct share *s);

#endif
