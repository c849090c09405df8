/*
 * Inodes: what names refer to, whatever file system keeps them. struct inode holds what all file
 * systems have; a file system embeds it in a structure of its own and implements the table
 * inode_ops. Names, their order and where bytes come from are the file system's alone.
 *
 * The bytes of a regular file are the pages of its memory object: read, write and mappings see the
 * same pages, and the file system stands behind the object as its pager. The functions for contents
 * below do the rest for every file system.
 *
 * References: every directory entry in memory, open file, working directory and child directory
 * (for its parent) holds one. The last one that goes calls inode_ops.end.
 *
 * Locks. An inode's mutex protects a regular file's size and contents (MUTEX_INODE) or a
 * directory's entries (MUTEX_DIRECTORY): shared to look up and to read, exclusive to change. A
 * thread holds the mutex of one directory at a time, but for removing and moving. The order:
 *
 *   rename_mutex, directories, one file, (by a fault while user memory is copied) an address space
 *
 * 1. Whoever holds two directories' mutexes holds rename_mutex exclusively
 * (kernel/sched/lockcheck.c checks it). So at most one thread waits for a directory while it holds
 * another, and no circle of waiting can close, in whatever order it takes them. Without that, one
 * thread that moves /a/x to /b holds a and waits for b, while another that moves /b/y to /a holds b
 * and waits for a.
 * 2. A directory's parent and its name change, and a directory is removed, only with rename_mutex
 *    held exclusively. So who holds it (also shared) may go from parent to parent. Without that, of
 *    two moves, of /a below /b/c and of /b below /a/d, each finds that its target is not below its
 *    source, and together they cut off a circle of directories from the root.
 * 3. parent changes with the directory's own mutex held exclusively besides, and a directory
 * without a parent (removed) takes no new name. So a lookup of ".." takes that mutex alone, and
 * what rmdir found empty stays so: without that, a file is made in the directory between the look
 * and the removal, and can never be reached or removed again.
 * 4. A lookup takes its reference before it drops the mutex: afterwards the name may go, and with
 * it the inode's last other reference.
 */
#ifndef KERNEL_FS_INODE_H
#define KERNEL_FS_INODE_H

#include "kernel/fs/stat.h"
#include "kernel/sched/mutex.h"

struct mm_object;
struct validate;

/* Longest file: 2^24 pages, 128 GiB. */
#define INODE_MAX_PAGES (UINT64_C(1) << 24)
#define INODE_MAX_BYTES (INODE_MAX_PAGES * PAGE_SIZE)

#define PATH_MAX 4096u /* bytes of a path with its NUL */
#define NAME_MAX 255u  /* bytes of one name */

struct inode_ops;

/* One file system, as far as others see it: names never lead from one into another. */
struct fs {
    const char *name;   /* constant */
    struct inode *root; /* constant: its own parent; the file system holds a reference */
};

struct inode {                   /* nonpaged pool: pagers read it inside faults */
    uint32_t refs;               /* atomic */
    uint32_t mode, uid, gid;     /* atomic: single words, changed by inode_set_mode and _owner */
    uint32_t nlink;              /* atomic; 0: no name is left, and none can be added */
    uint32_t rdev;               /* constant; of a device */
    uint64_t ino;                /* constant */
    uint64_t size;               /* atomic; changed with lock held exclusively */
    uint64_t mtime_ns;           /* atomic */
    struct mutex lock;           /* see above */
    const struct inode_ops *ops; /* constant */
    struct fs *fs;               /* constant */
    struct mm_object *object;    /* regular file: constant, one reference; else NULL */
    struct inode
        *parent; /* directory: a reference, rules 2 and 3; NULL: removed, or no directory */
};

/* A name to be looked up or entered: 1 to NAME_MAX bytes, no slash, neither "." nor "..". */
struct fs_name {
    const char *text; /* no NUL behind it */
    uint32_t len;
    uint32_t hash; /* fs_name_hash of it */
};

/* What is to be made. */
struct fs_new {
    uint32_t mode, uid, gid; /* with the type */
    uint32_t rdev;           /* of a device */
    const char *target;      /* of a symbolic link, shorter than PATH_MAX */
};

/* What readdir and name_of find. */
struct fs_entry {
    uint64_t ino, cookie;
    uint32_t mode, len;
    char text[NAME_MAX + 1]; /* with a NUL */
};

/*
 * What a file system does. All at IPL 0; may wait, and fail with -EIO and what else its medium
 * gives, besides what is said here: -ENOMEM or -ENOSPC where something is added. Permissions and
 * types are the caller's to check. A call that fails has changed nothing.
 */
struct inode_ops {
    /* dir->lock is held, at least shared. *out: with a reference. -ENOENT. */
    int (*lookup)(struct inode *dir, const struct fs_name *name, struct inode **out);
    /* dir->lock is held exclusively, dir is not removed and does not have the name. *out (unless
     * out is NULL): with a reference. */
    int (*create)(struct inode *dir, const struct fs_name *name, const struct fs_new *what,
                  struct inode **out);
    /* The same for a further name of i, which is of the same file system and no directory. -ENOENT:
     * its last name has gone meanwhile. */
    int (*link)(struct inode *dir, const struct fs_name *name, struct inode *i);
    /* Take out the name, which is that of i. dir->lock, and for a directory rename_mutex and
     * i->lock, are held exclusively; the caller has a reference to i. -ENOTEMPTY. */
    int (*unlink)(struct inode *dir, const struct fs_name *name, struct inode *i);
    /* The name old of i in from becomes the name to_name in to, in place of that of `replaced`
     * (NULL: there is none), which is of i's type. from->lock and to->lock, and for directories
     * rename_mutex and the locks of i and replaced, are held exclusively; the caller has references
     * to i and replaced. i is no ancestor of to. -ENOTEMPTY: replaced is a directory with names. */
    int (*rename)(struct inode *from, const struct fs_name *old, struct inode *i, struct inode *to,
                  const struct fs_name *to_name, struct inode *replaced);
    /* The first name whose cookie is above pos, at least 2 (1 and 2 are "." and ".."). A name keeps
     * its cookie, and no later name gets it. dir->lock is held, at least shared. -ENOENT: no more.
     */
    int (*readdir)(struct inode *dir, uint64_t pos, struct fs_entry *e);
    /* The name of dir, which has a parent. rename_mutex is held, at least shared. */
    int (*name_of)(struct inode *dir, struct fs_entry *e);
    /* Up to n bytes of a symbolic link's target, no NUL: how many. The target is constant. */
    long (*readlink)(struct inode *i, char *buf, size_t n);
    /* A regular file becomes size bytes long, and its object with it: bytes that are added read as
     * zeroes. i->lock is held exclusively. */
    int (*resize)(struct inode *i, uint64_t size);
    /* The last reference has gone. */
    void (*end)(struct inode *i);
};

/* Protects who is whose parent among directories: rules 1 and 2. MUTEX_RENAME. */
extern struct mutex rename_mutex;

#define FS_HASH_SEED 2166136261u /* FNV-1a; the low 32 bits of the hash are what counts */
static inline uint64_t fs_name_hash(uint64_t hash, uint8_t c) { return (hash ^ c) * 16777619u; }
/* A name of len bytes. */
struct fs_name fs_name(const char *text, size_t len);

static inline bool inode_is_dir(const struct inode *i)
{
    return (__atomic_load_n(&i->mode, __ATOMIC_RELAXED) & S_IFMT) == S_IFDIR;
}

/* Fill in a new inode, which is all zeroes, with one reference and no name. */
void inode_init(struct inode *i, struct fs *fs, const struct inode_ops *ops,
                const struct fs_new *what);
static inline void inode_ref(struct inode *i) { __atomic_fetch_add(&i->refs, 1, __ATOMIC_RELAXED); }
/* Give a reference back. IPL 0, no directory's lock held if it may be the last: its end may wait.
 */
static inline void inode_unref(struct inode *i)
{
    if (__atomic_fetch_sub(&i->refs, 1, __ATOMIC_ACQ_REL) == 1)
        i->ops->end(i);
}
/* May cred do mask (4 read, 2 write, 1 execute)? 0 or -EACCES. */
int inode_access(const struct inode *i, const struct io_cred *cred, unsigned mask);
void inode_stat(const struct inode *i, struct file_stat *st);
/* The permission bits; the owner (UINT32_MAX: as it is); the time of the last change. Who may is
 * the caller's question. */
void inode_set_mode(struct inode *i, uint32_t mode);
void inode_set_owner(struct inode *i, uint32_t uid, uint32_t gid);
void inode_set_mtime(struct inode *i, uint64_t ns);
/* Now is the time of its last change. */
void inode_touch(struct inode *i);

/* Contents of regular files. Read into kernel memory through the pages; bytes, short at the end of
 * the file, or negative errno. */
long inode_read(struct inode *i, uint64_t offset, void *buf, size_t n);
/* Read or write user memory at an offset; no file position. */
long inode_read_user(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n);
long inode_write_user(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n);
/* The same with i->lock held: to read at least shared, to write exclusively. */
long inode_read_user_locked(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n);
long inode_write_user_locked(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n);
/* -EINVAL: no regular file. -EFBIG: above INODE_MAX_BYTES. Waits. */
int inode_truncate(struct inode *i, uint64_t size);

/* The self-check (mm/check/validate.h): count i's pages. */
void inode_validate(struct validate *v, struct inode *i);

#endif
