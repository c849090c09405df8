/* Private to kernel/fs/ext4: a mount, its inodes, and what its files share. */
#ifndef KERNEL_FS_EXT4_PRIVATE_H
#define KERNEL_FS_EXT4_PRIVATE_H

#include "kernel/fs/ext4/ext4.h"
#include "kernel/fs/ext4/lines.h"
#include "kernel/fs/ext4/volume.h"
#include "kernel/sched/wait.h"

#define EXT4_HEADS 256u  /* of the index of inodes, a power of two */
#define EXT4_KEPT  4096u /* inodes kept that nobody uses */
#define EXT4_TRIM  32u   /* inodes looked at with the index locked */
#define EXT4_PAGES 16u   /* pages of a job: 128 KiB, as much as a request to a disk */

#define EXT4_NOTED 32u /* pages of a file that are remembered to be written back */

#define EXT4_TOGETHER 4u /* jobs that are read at the same time */
#define EXT4_WINDOW   8u /* requests to the disk under way for a job */

struct account;
struct block_request;
struct ext4_job;   /* pages to be read (contents.c) */
struct ext4_grant; /* a page to be stored to (stores.c) */

/* A job that is being done, and the requests to the disk that are under way for it. */
struct ext4_reading {
    struct ext4_job *job;
    struct ext4_inode *i; /* whose it is; NULL: none is being read; mount.mutex */
    uint64_t start, end;  /* of its pages, in bytes of the file; changed with mount.mutex */
    bool outdated;        /* the file may have other blocks there since; mount.mutex */
    unsigned first, count;
    struct ext4_way {
        struct block_request *r;
        uint64_t at;      /* in the file */
        uint32_t skip, n; /* bytes of the request before those that are wanted, and of these */
    } way[EXT4_WINDOW];
};

/* Pages of a file that are being written, in memory. */
struct ext4_part {
    struct ext4_inode *i;
    uint64_t first; /* index of page[0] */
    uint64_t end;   /* of the file's bytes: zeroes are written behind them */
    uint32_t npages;
    uint32_t filled; /* bits of those that have what is written already */
    bool back;       /* written back: the time of the change is stored otherwise */
    bool drops;      /* nothing is written: what was stored to counts as written all the same */
    pfn_t page[EXT4_PAGES];
};

struct ext4 {
    struct fs fs;
    const struct block_volume *disk; /* constant */
    struct list mounted;             /* in the list of all; its lock (mount.c) */
    struct mutex mutex;              /* MUTEX_EXT4: lines, volume, ext4_inode.node */
    struct ext4_lines lines;
    struct ext4_volume *volume;
    struct ext4_about about; /* constant, but for what is free */
    unsigned age;            /* of the running transaction, in looks of the thread; the thread's */
    uint64_t reserve;        /* pages that the files kept here leave free; constant */
    uint16_t account;        /* charged for this structure; constant */
    struct mutex index_lock; /* MUTEX_SHARE: heads, order; count, also read as an atomic word */
    struct list heads[EXT4_HEADS]; /* of inodes */
    struct list order;             /* inodes of the index, those looked up last at its end */
    uint32_t count;                /* of them */
    struct mutex sweep;            /* MUTEX_EXT4_SWEEP: files leave `dirty` to be written back */
    uint64_t stores_most;          /* stored_to above which they are written at once; constant */
    struct spinlock lock;          /* RANK_SHARE: all that follows */
    struct list all;               /* every inode that exists */
    struct list dead;              /* those to be freed by the thread */
    struct list doomed;            /* those before, of which the disk has something to be freed */
    struct list uncut;             /* those that killed truncations have left to be cut */
    struct list jobs;              /* pages to be read, oldest first */
    struct list doing;             /* those that the thread is reading */
    struct list grants;            /* pages to be stored to, oldest first */
    struct list dirty;             /* files with pages that were stored to, oldest first */
    uint32_t ndirty;               /* of them */
    uint64_t dirty_since;          /* clock_ns() when the first one came; UINT64_MAX: none */
    uint64_t stored_to;            /* pages that were granted since the last sweep began */
    uint64_t writing;              /* those before, which that sweep has not written yet */
    bool hurry;                    /* memory is short: the next sweep begins at once */
    bool sweeping;                 /* files that have left `dirty` are being written */
    uint64_t progress;             /* another number when a part, or a sweep, is written */
    struct wait_queue advance;     /* who waits for that */
    bool writer_gone;              /* there is no thread that writes back (any more) */
    struct wait_queue back;        /* that thread, until there is something to write */
    uint32_t alive;                /* inodes of `all` */
    bool ending;                   /* the thread is to free everything and end */
    bool idle;                     /* the thread has nothing to do */
    struct wait_queue work;        /* the thread, for something to do */
    struct wait_queue quiet;       /* who waits until it has nothing to do */
    struct ext4_reading reading[EXT4_TOGETHER]; /* the thread's */
};

/*
 * An inode. While it is in the index, the index holds a reference, so the pages of a file stay when
 * nobody has it open. While there is no name left, it is not in the index, and its blocks are freed
 * with it.
 */
struct ext4_inode {
    struct inode inode;
    struct ext4 *mount;     /* constant */
    struct list head_link;  /* mount.heads; index_lock */
    struct list order_link; /* mount.order; index_lock */
    struct list all_link;   /* mount.all; lock */
    struct list dead_link;  /* mount.dead; lock */
    struct list cut_link;   /* mount.uncut, which has a reference; lock */
    struct list dirty_link; /* mount.dirty; lock */
    uint64_t next_store;    /* the page in a hole that who stores in sequence stores to next */
    uint32_t stores_ahead;  /* how many got blocks last; mount.mutex, as the one before */
    struct mutex back_lock; /* MUTEX_EXT4_BACK: its pages are written back; back */
    bool stored;          /* pages may have been stored to since; atomic, cleared with back_lock */
    uint32_t told;        /* the failed write-back that msync has told last; atomic */
    struct thread *backs; /* who writes back; atomic */
    uint32_t nnoted;      /* of noted; more than EXT4_NOTED: there were more pages; mount.lock */
    uint32_t granting;    /* pages that the mount's thread is to give access; mount.lock */
    uint32_t noted[EXT4_NOTED]; /* pages that got access since they were written back; likewise */
    struct thread *grants;      /* who writes to pages with blocks, with the file locked; atomic */
    struct ext4_part *back;     /* what; of that thread */
    bool ended;                 /* no reference is left; its object, if any, is not its own; lock */
    uint16_t account;           /* number of the account that is charged for it; constant */
    uint64_t evict_at;          /* where pages of it are freed next; a hint, atomic */
    uint64_t next_page;         /* that a sequential reader asks for next; atomic */
    uint32_t ahead;             /* pages that were asked for ahead of one; atomic */
    struct ext4_node node;      /* what the disk says: mount.mutex; number and type are constant */
    struct thread *offers;      /* who has made a page that it overwrites whole; atomic */
    uint64_t offered;           /* its index, and the page; of that thread */
    pfn_t offer;
    bool linkable; /* made without a name, and may get one; constant */
    char *name;    /* of a directory, in nonpaged pool; rename_mutex held exclusively, and mutex */
    uint32_t name_len;
};

static inline struct ext4_inode *ext4_inode_of(const struct inode *i)
{
    return container_of(i, struct ext4_inode, inode);
}
static inline struct ext4 *ext4_of(const struct fs *fs) { return fs->private; }

extern const struct inode_ops ext4_ops;

/* ---- inodes.c ---- */

/* The inode of a number, which was found as `name` in dir (NULL: the root), with a reference in
 * *out. m->mutex is held, and dir->lock, or dir is NULL. -EUCLEAN also: a directory that has
 * another name. */
int ext4_found(struct ext4 *m, struct inode *dir, const struct fs_name *name, uint32_t number,
               struct inode **out);
/* A new inode of a node, in no index yet, with one reference; as ext4_found(). */
int ext4_inode_new(struct ext4 *m, struct inode *dir, const struct fs_name *name,
                   const struct ext4_node *n, struct ext4_inode **out);
/* Enter it, or take it out because it has no name any more; the caller has a reference of its own.
 * m->mutex is held. */
void ext4_enter_index(struct ext4_inode *i);
void ext4_take_out(struct ext4_inode *i);
/* Do some of what is left to be done on the disk for one inode that has ended, and for one that is
 * to be cut: a step each. False: there is none. The thread, no lock held. */
bool ext4_finish_doomed(struct ext4 *m);
bool ext4_finish_cut(struct ext4 *m);
/* Have the thread cut i, of which the caller has a reference. The inode stays known until then: a
 * second one for the same number would not know about it. */
void ext4_cut_later(struct ext4_inode *i);
/* Its last reference was dropped; the same of its object: the pager's `end`. */
void ext4_end(struct inode *i);
void ext4_object_ended(struct mm_object *o);
/* Free what has ended. IPL 0, index_lock not held. */
void ext4_free_dead(struct ext4 *m);
/* Let go of some inodes that nobody uses, and of their pages, while there are more than `keep`: of
 * those charged to `of` (NULL: of all), among the `look` that were looked up longest ago. Returns
 * how many, EXT4_TRIM at most. May be called inside faults. */
unsigned ext4_trim(struct ext4 *m, uint32_t keep, const struct account *of, uint32_t look);
/* Take all inodes out of the index: the mount is about to end. */
void ext4_drop_index(struct ext4 *m);
/* The regular file that was looked up longest ago, with a reference; it becomes the last one. NULL:
 * there is none among the first EXT4_TRIM. Adds to *looked how many it looked at, or 1. */
struct ext4_inode *ext4_next_file(struct ext4 *m, uint32_t *looked);

/* ---- contents.c ---- */

extern const struct pager_ops ext4_pager;
void ext4_will_read(struct inode *i, uint64_t index, uint64_t n);
/* A page for the contents of i, which are undefined. 0 or -ENOMEM. */
int ext4_page_new(struct ext4_inode *i, pfn_t *pfn);
/* Page `index` of i, with a reference in *out: `page`, which is the object's then, or one that came
 * there first, and `page` is freed. As object_page_get(). i->lock is held exclusively. */
int ext4_offer_page(struct ext4_inode *i, uint64_t index, pfn_t page, pfn_t *out);
/* Do some of the jobs that are there. The mount's thread. */
void ext4_do_jobs(struct ext4 *m);
/* Bytes [from, end) of i may have other blocks than before, or none: what is just being read of
 * them is read again. The mutex of the mount is held. */
void ext4_outdate(struct ext4_inode *i, uint64_t from, uint64_t end);
/* Free pages of files that nobody maps while less memory is free than m->reserve. The thread. */
void ext4_shrink(struct ext4 *m);
/* The same at once, whatever is free, and also of files that are mapped. */
enum fs_reclaimed ext4_reclaim(const struct fs *fs);
struct census;
struct validate;
void ext4_jobs_validate(struct validate *v, const struct ext4 *m);
void ext4_jobs_census(struct census *c, const struct ext4 *m);

/* ---- changes.c: operations of inodes ---- */

int ext4_op_create(struct inode *dir, const struct fs_name *name, const struct fs_new *what,
                   struct inode **out);
int ext4_op_create_unnamed(struct inode *dir, const struct fs_new *what, bool linkable,
                           struct inode **out);
int ext4_op_link(struct inode *dir, const struct fs_name *name, struct inode *i);
int ext4_op_unlink(struct inode *dir, const struct fs_name *name, struct inode *i);
int ext4_op_rename(struct inode *from, const struct fs_name *old, struct inode *i, struct inode *to,
                   const struct fs_name *name, struct inode *replaced);
int ext4_op_exchange(struct inode *dir, const struct fs_name *name, struct inode *i,
                     struct inode *to, const struct fs_name *other, struct inode *j);
int ext4_op_change(struct inode *i, const struct fs_change *to);
/* The node gets the times of the last changes that the inode has. m->mutex is held. */
void ext4_take_times(struct ext4_inode *i);

/* ---- writing.c: operations of inodes ---- */

long ext4_op_write(struct inode *i, uint64_t offset, vaddr_t ubuf, const void *kbuf, size_t n);
int ext4_op_resize(struct inode *i, uint64_t size, bool killable);
int ext4_op_allocate(struct inode *i, uint64_t offset, uint64_t n, bool grow);
int ext4_op_sync(struct inode *i, bool only_data);
/* Have what the disk was given of i survive the machine's end; the times too, unless only_data. */
int ext4_flush(struct ext4_inode *i, bool only_data);
/* Commit, and flush. m->mutex is held. */
int ext4_sync_volume(struct ext4 *m);

/* Can the contents of i be changed? Blocks that a killed truncation has left are freed first.
 * i->lock is held exclusively. */
int ext4_may_change(struct ext4_inode *i);
/* Bits of the mode that go when the contents change, go. 0, or an error. i->lock is held
 * exclusively. */
int ext4_drop_set_ids(struct inode *i);
/* Write some of the blocks [block, block + count), which the part has in memory; the file is
 * `size` bytes long afterwards if it has come so far. *done: how many. The file is locked. */
int ext4_write_blocks(const struct ext4_part *p, uint64_t block, uint64_t count, uint64_t size,
                      uint64_t *done);
/* Has the file blocks for the part, as far as it has bytes there? Otherwise as the next one. */
int ext4_has_part(const struct ext4_part *p, bool *there);
/* Have blocks for the part, as far as the file has bytes there; new ones get what the part has. The
 * mutex of the mount is held. */
int ext4_have_part(const struct ext4_part *p);
/* Store the times of the file, if they are not what the disk has. The mutex of the mount is
 * held. */
int ext4_store_times(struct ext4_inode *i);

/* ---- holes.c: operation of inodes ---- */

int ext4_op_discard(struct inode *i, uint64_t first, uint64_t n);

/* ---- stores.c ---- */

/* Operations of the pager. */
int ext4_upgrade(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access);
int ext4_put(struct mm_object *o, uint64_t offset, uint64_t count);
int ext4_sync_pages(struct mm_object *o, uint64_t offset, uint64_t count);
void ext4_written(struct mm_object *o);
/* Write the pages [first, end) that were stored to through mappings. Waits for the device, whose
 * errors are told by inode_failure(). 0; -EINTR or -ENOMEM: some are left; -EAGAIN: without `wait`,
 * that the file is locked. No lock is held. */
int ext4_write_back(struct ext4_inode *i, uint64_t first, uint64_t end, bool wait);
/* Have pages of i, which are in memory and have blocks, written back later. i->lock is held
 * exclusively. 0, or -EINTR: some are. */
int ext4_store_later(struct ext4_inode *i, uint64_t first, uint32_t npages);
/* Do so many pages wait for that, that who writes shall wait for the device? */
bool ext4_many_stored(struct ext4 *m);
/* Pages that were stored to count as written, and have no write access. i->lock is held
 * exclusively, and the mutex of the mount. */
void ext4_forget_stores(struct ext4_inode *i, uint64_t first, uint64_t n);
/* Pages of i may have been stored to, or its times have changed in memory. */
void ext4_mark(struct ext4_inode *i);
/* May i have such pages? */
bool ext4_is_dirty(struct ext4_inode *i);
/* Nobody has a reference to i any more. mount.lock is held. */
void ext4_ended_locked(struct ext4_inode *i);
/* Let some pages be stored to. The mount's thread. */
void ext4_do_grants(struct ext4 *m);
void ext4_grants_census(struct census *c, const struct ext4 *m);

/* ---- sweep.c ---- */

/* Write all files in which pages were stored to before. No lock held; waits. */
void ext4_sweep(struct ext4 *m);
/* Have that done soon: memory is short. IPL up to IPL_ASTDEL. */
void ext4_sweep_soon(struct ext4 *m);
/* The same, and wait until a part of it is written, or some seconds: killable. No lock held. */
void ext4_wait_written(struct ext4 *m);
/* The thread that does it in time. */
void ext4_writer(void *mount);

/* ---- mount.c ---- */

/* There is something for the thread. IPL up to IPL_ASTDEL; m->lock may be held. */
void ext4_wake(struct ext4 *m);

#endif
