/*
 * Inodes and the tree of names. One tree: the initrd's files at the root, /tmp and /dev made at
 * boot, all in memory. A regular file's bytes are the pages of its mm object: read, write and
 * mappings see the same pages. Behind the object stands a pager that fills a page, when it is first
 * wanted, from the initrd's bytes (backing) or with zeroes.
 *
 * References: every directory entry, open file, working directory, child directory (for its parent)
 * and live object holds one. An inode with a parent pointer is a directory.
 */
#ifndef KERNEL_IO_INODE_H
#define KERNEL_IO_INODE_H

#include "kernel/base/list.h"
#include "kernel/io/file.h"
#include "kernel/sched/mutex.h"
#include "mm/object/object.h"

/* Longest file: 2^24 pages, 128 GiB. */
#define INODE_MAX_PAGES (UINT64_C(1) << 24)
#define INODE_MAX_BYTES (INODE_MAX_PAGES * PAGE_SIZE)

struct inode {                   /* nonpaged pool: the pager reads it inside faults */
    uint32_t refs;               /* atomic */
    uint32_t mode, uid, gid;     /* atomic: single words, changed by chmod and chown */
    uint32_t nlink;              /* protected by the tree lock */
    uint32_t rdev;               /* constant */
    uint64_t ino;                /* constant */
    uint64_t size;               /* atomic; changed with lock held exclusively */
    uint64_t mtime_ns;           /* atomic */
    struct mutex lock;           /* contents and size of a regular file */
    const struct file_ops *fops; /* constant */
    struct mm_object *object;    /* regular file: constant */
    const uint8_t *backing;      /* constant: the initrd's bytes, or NULL */
    uint64_t backing_bytes;      /* atomic; only shrinks, with lock held exclusively */
    struct inode *parent;        /* directory: protected by the tree lock; the root is its own */
    struct list names;           /* directory: struct dir_name; protected by the tree lock */
    char *target;                /* symbolic link: constant, paged pool */
    uint32_t target_bytes;
    void *dev;      /* device: constant */
    uint32_t found; /* own to the census: names that were found, not counting the first */
};

struct dir_name { /* paged pool; protected by the tree lock */
    struct list link;
    struct inode *inode;
    uint64_t cookie; /* getdents position: rises in every directory */
    uint8_t len;
    char text[];
};

extern struct inode *inode_root;
extern struct mutex tree_lock;
extern const struct file_ops regular_ops, directory_ops;

/* A new inode with one reference and no name; NULL when memory is short. */
struct inode *inode_create(uint32_t mode, const struct io_cred *cred);
static inline void inode_ref(struct inode *i) { __atomic_fetch_add(&i->refs, 1, __ATOMIC_RELAXED); }
void inode_unref(struct inode *i);
/* May cred do mask (4 read, 2 write, 1 execute)? 0 or -EACCES. */
int inode_access(struct inode *i, const struct io_cred *cred, unsigned mask);
void inode_stat(struct inode *i, struct file_stat *st);

/* Read into kernel memory through the pages; bytes, short at the end of the file, or negative
 * errno. */
long inode_read(struct inode *i, uint64_t offset, void *buf, size_t n);
/* Read or write user memory at an offset; no file position. */
long inode_read_user(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n);
long inode_write_user(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n);
int inode_truncate(struct inode *i, uint64_t size);
/* Change the size and the object's length with it. lock held exclusively, or nobody knows i yet. */
void inode_set_size_locked(struct inode *i, uint64_t size);

/* Names. A path that is not absolute starts at dir (NULL: the root). Results carry a reference. */
int tree_lookup(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
                struct inode **out);
/* Make a name for a new inode of mode; exclusive, unless excl is false and it exists already: then
 *out is that one (symbolic links followed). */
int tree_create(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t mode,
                bool excl, struct inode **out);
int tree_symlink(const struct io_cred *cred, struct inode *dir, const char *path,
                 const char *target);
int tree_link(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
              struct inode *newdir, const char *newpath);
int tree_unlink(const struct io_cred *cred, struct inode *dir, const char *path, bool directory);
int tree_rename(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
                struct inode *newdir, const char *newpath);
/* Absolute path of a directory into buf; length with the NUL, or -ERANGE, -ENOENT when it was
 * removed. */
long tree_path(struct inode *dir, char *buf, size_t n);
void tree_boot(void);
/* A device node. */
int tree_device(const char *path, uint32_t mode, uint32_t rdev, const struct file_ops *ops,
                void *dev);

#endif
