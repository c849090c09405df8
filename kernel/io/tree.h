/*
 * The tree of names: paths, walked from directory to directory, and the calls that change names.
 * All at IPL 0 with no spinlock and no mutex from MUTEX_RENAME upwards held; they wait for
 * directories. Results are 0 or a negative errno. A path that is not absolute starts at dir (NULL:
 * the root); the caller holds a reference to dir.
 */
#ifndef KERNEL_IO_TREE_H
#define KERNEL_IO_TREE_H

#include "kernel/fs/inode.h"
#include "kernel/io/file.h"

extern struct inode *inode_root; /* constant after boot */

extern const struct file_ops regular_ops, directory_ops;

/* What path names, with a reference. follow: a symbolic link at the end, too. */
int tree_lookup(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
                struct inode **out);
/* Make a name for a new inode of mode (out, unless NULL: with a reference); exclusive, unless excl
 * is false and it exists already: then *out is that one (symbolic links followed). */
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
/* A device node. */
int tree_device(const char *path, uint32_t mode, uint32_t rdev);
void tree_boot(void);

#endif
