/*
 * Private to kernel/fs: the structures of the memory file system and the functions that its files
 * share. Unless a comment says otherwise, functions are called with the directory's mutex held,
 * exclusively if they change it, and at IPL 0.
 */
#ifndef KERNEL_FS_MEMFS_PRIVATE_H
#define KERNEL_FS_MEMFS_PRIVATE_H

#include "kernel/base/list.h"
#include "kernel/base/treap.h"
#include "kernel/fs/memfs.h"

#define MEMFS_HEADS 8u /* heads of a small directory */

/* In paged pool. All fields are protected by the directory's mutex. */
struct memfs_name {
    struct inode *inode;                  /* holds a reference */
    struct treap_node node;               /* in the tree of its head; with the hash */
    struct memfs_name *left, *right, *up; /* treap: cookies ascend from left to right */
    uint64_t cookie;
    uint32_t weight;  /* not above the weight of `up` */
    uint16_t account; /* number of the account that is charged for it; constant */
    uint8_t len;
    char text[];
};

/* One of a file's names, for those who ask for a path: its directory (NULL: none is known) and its
 * cookie there. It is forgotten before the name is removed, so while homes_lock is held the
 * directory exists. */
struct memfs_place {
    struct memfs_dir *dir;
    uint64_t cookie;
};

struct memfs_file { /* regular files, symbolic links, devices */
    struct inode inode;
    uint16_t account;                /* number of the account that is charged for it; constant */
    const uint8_t *backing;          /* constant: the initrd's bytes, or NULL */
    uint64_t backing_bytes;          /* atomic; only shrinks, with inode.lock held exclusively */
    char *target;                    /* symbolic link: constant; in paged pool, inode.size bytes */
    bool linkable;                   /* made without a name, and may get one; constant */
    bool nameless;                   /* in memfs_nameless; set under homes_lock by its holders */
    uint32_t found;                  /* used by the census: names found so far, 0 after the last */
    struct memfs_place home, former; /* where it is; of several names, two are known; homes_lock */
    struct list nameless_link;       /* in memfs_nameless; homes_lock */
};

/* All fields but `self` are protected by inode.lock. */
struct memfs_dir {
    struct inode inode;
    uint16_t account; /* as above */
    /* Its name in its parent directory. Protected by rename_mutex, as is the name itself. */
    struct memfs_name *self;
    struct memfs_name *tree, *last; /* root of the treap, and its last name */
    /* The name that readdir returned last, from which the next one is near; NULL: it is gone. A
     * hint, atomic: several readers may hold the lock shared. */
    struct memfs_name *read;
    struct treap *heads; /* nheads: `small`, or in paged pool */
    uint32_t nheads, count;
    uint64_t next_cookie;
    uint32_t seed; /* state of the generator of weights; never 0 */
    struct treap small[MEMFS_HEADS];
};

extern const struct inode_ops memfs_ops;
/* Files that have lost their names or never had one, until their last reference is dropped. The
 * self-check finds them here, whoever holds them: a process, a message on its way, a call. A few
 * may have a name that is not known. Protected by homes_lock. */
extern struct list memfs_nameless;

static inline struct memfs_dir *dir_of(struct inode *i)
{
    return container_of(i, struct memfs_dir, inode);
}
static inline struct memfs_file *file_of(struct inode *i)
{
    return container_of(i, struct memfs_file, inode);
}
static inline size_t entry_bytes(size_t len) { return offsetof(struct memfs_name, text) + len; }

/* memfs_file.c: inodes. No directory's mutex need be held. */

/* The memory of an inode, zeroed, which counts for the current thread's account; NULL: its limit,
 * or no memory. */
void *memfs_node_alloc(size_t nbytes);
void memfs_node_free(void *p, size_t nbytes, uint16_t account);
/* A regular file, symbolic link, device, FIFO or socket; NULL: as above. */
struct inode *memfs_file_new(struct fs *fs, const struct fs_new *what);
/* Its last reference was dropped. */
void memfs_file_end(struct inode *i);
/* Operations of inodes (inode.h). */
int memfs_resize(struct inode *i, uint64_t size, bool killable);
int memfs_discard(struct inode *i, uint64_t first, uint64_t n);
long memfs_readlink(struct inode *i, char *buf, size_t n);

/* memfs_dir.c: directories and their names. */

/* Boot: the weights of the trees depend on this. */
void memfs_dir_seed(uint64_t seed);
/* An empty directory, with no lock held; NULL: as above. */
struct inode *memfs_dir_new(struct fs *fs, const struct fs_new *what);
/* The last reference to a directory, which is empty, was dropped. */
void memfs_dir_end(struct inode *i);
/* Allocate a name for i, in no directory yet. NULL: no memory. */
struct memfs_name *memfs_entry_new(const struct fs_name *name, struct inode *i);
void memfs_entry_free(struct memfs_name *e);
/* The name in d; NULL: there is none. */
struct memfs_name *memfs_find(const struct memfs_dir *d, const struct fs_name *name);
/* The first name whose cookie is above pos; NULL: none. */
struct memfs_name *memfs_after(const struct memfs_dir *d, uint64_t pos);
/* Enter e in d, with a new cookie. */
void memfs_insert(struct memfs_dir *d, struct memfs_name *e);
/* Remove e from d and free it. */
void memfs_take_out(struct memfs_dir *d, struct memfs_name *e);
/* Put e in the place of old, with old's cookie, and free old. */
void memfs_replace(struct memfs_dir *d, struct memfs_name *old, struct memfs_name *e);
/* What readdir returns of e. */
void memfs_describe(const struct memfs_name *e, struct fs_entry *to);
/* Operations of inodes (inode.h). */
int memfs_lookup(struct inode *dir, const struct fs_name *name, struct inode **out);
int memfs_readdir(struct inode *dir, uint64_t pos, struct fs_entry *to);

#endif
