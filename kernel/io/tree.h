/*
 * The tree of names: path look-up, and the calls that change names. All functions are called at IPL
 * 0 with no spinlock and no mutex of rank MUTEX_RENAME or above held, and may wait for directories.
 * Results are 0 or a negative errno. A relative path starts at dir (NULL: the root of the machine),
 * an absolute one at cred->root (NULL: likewise), in which ".." ends, too; the caller holds a
 * reference to both.
 */
#ifndef KERNEL_IO_TREE_H
#define KERNEL_IO_TREE_H

#include "kernel/fs/inode.h"
#include "kernel/io/file.h"

struct block_volume;

/* The room for most paths that are not short: a block of paged pool of this size is from a
 * lookaside list, while PATH_MAX bytes take the mutex of the variable list. */
#define PATH_LONG 512u

extern struct inode *inode_root; /* constant after boot */

extern const struct file_ops regular_ops, directory_ops;
/* Have all that was written to f's inode survive the machine's end (inode_sync); an error of an
 * earlier write-back that this open file was not told of yet is told. Waits, killable. */
int regular_sync(struct file *f, bool only_data);
/* The result r of a write to a regular file, and, if the file was opened for that, what was written
 * survives the machine's end: r, or an error. No lock is held; waits, killable. */
long regular_written(struct file *f, long r);

/* Look up path: the inode with a reference in *out. follow: follow a symbolic link in the last
 * component, too. */
int tree_lookup(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
                struct inode **out);
/* The same with symbolic links followed. *text is the absolute path under which the inode was
 * found, with a NUL: `path`, where that is it already, else in buf, of n bytes. -ENAMETOOLONG: it
 * does not fit. */
int tree_lookup_path(const struct io_cred *cred, struct inode *dir, const char *path,
                     struct inode **out, const char **text, char *buf, size_t n);
/* Create an inode of type and permissions `mode` under a new name; unless out is NULL, *out gets it
 * with a reference. If the name exists: -EEXIST with excl; otherwise *out is the existing inode,
 * with symbolic links followed. */
int tree_create(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t mode,
                bool excl, struct inode **out);
/* The same for open(): *found tells whether the inode existed; without `follow` it may be a
 * symbolic link. -EACCES: it does, but as a file of
 * another user that may have been put there for the caller (fs.protected_regular of Linux). */
int tree_find_or_create(const struct io_cred *cred, struct inode *dir, const char *path,
                        uint32_t mode, bool follow, bool *found, struct inode **out);
/* Create a device, FIFO or socket. */
int tree_node(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t mode,
              uint32_t rdev, struct inode **out);
/* Create a regular file without a name in the file system of the directory at path. */
int tree_unnamed(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t mode,
                 bool linkable, struct inode **out);
/* As the POSIX calls of these names. olddir, newdir: as dir. directory: rmdir instead of unlink. */
int tree_symlink(const struct io_cred *cred, struct inode *dir, const char *path,
                 const char *target);
int tree_link(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
              struct inode *newdir, const char *newpath);
/* The same for an inode. */
int tree_link_inode(const struct io_cred *cred, struct inode *i, struct inode *newdir,
                    const char *newpath);
int tree_unlink(const struct io_cred *cred, struct inode *dir, const char *path, bool directory);
int tree_rename(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
                struct inode *newdir, const char *newpath);
enum tree_rename_how { TREE_REPLACE, TREE_NEW, TREE_EXCHANGE };
/* The same; TREE_NEW: -EEXIST if the new name exists; TREE_EXCHANGE: each name then stands for
 * what the other stood for. */
int tree_rename_how(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
                    struct inode *newdir, const char *newpath, enum tree_rename_how how);
/* Write the absolute path of a directory to buf, of n bytes. Its length with the NUL; -ERANGE;
 * -ENOENT: the directory was removed. */
long tree_path(struct inode *dir, char *buf, size_t n);
/* The same seen from a process whose root is `root`. If the directory is not in it, the path is
 * that from the root of the machine, with "(unreachable)" before it. */
long tree_path_in(struct inode *root, struct inode *dir, char *buf, size_t n);
/* tree_path() of any inode. -ENOENT: it was removed, or none of its names is known. */
long tree_path_of(struct inode *i, char *buf, size_t n);
/* Mounts (mount.c). Mount fs, whose root has no user yet: it covers the directory at path, and what
 * calls come there by that path find it. 0; -ENOTDIR; -EBUSY: a file system is mounted there, or
 * the directory is not one of the first file system, or has no name. */
int tree_mount(const struct io_cred *cred, struct inode *dir, const char *path, struct fs *fs);
/* Unmount the file system whose root is at path, and free it. -EINVAL: there is none; -EBUSY:
 * somebody uses something in it, or it can never be unmounted. follow: as tree_lookup(). */
int tree_unmount(const struct io_cred *cred, struct inode *dir, const char *path, bool follow);
/* The volume of the device file i. -ENOTBLK: it is none of a disk; -EACCES: nor may it be; -ENXIO:
 * there is no such disk. (disk_file.c) */
int tree_volume(const struct inode *i, struct block_volume **v);
/* Mount the host's folder that the device with this tag offers (kernel/fs/ninep) at an absolute
 * path, whose directories are made if they are missing; slashes at its end are removed. 0, -ENODEV,
 * -EINVAL, or another negative errno. Boot. */
int tree_mount_share(const char *tag, char *path);
/* What the mounted file system of a number tells of itself. -EINVAL: there is none. */
int tree_usage(uint32_t dev, struct fs_usage *u);
/* The index-th mounted file system, for /proc/mounts. -ENOENT: there are no more. */
struct tree_mount_text {
    const char *type;
    char source[24];
    bool read_only;
    char path[1024]; /* "" if it is longer */
};
int tree_mount_describe(unsigned index, struct tree_mount_text *t);
/* Have what was written survive the machine's end: on all file systems, as far as their servers
 * answer. IPL 0. */
void tree_sync(void);
/* The machine is about to end: have the mounted file system of a number change no more, and what
 * was changed survive (fs.finish). It stays mounted. None if it is not mounted. IPL 0; waits for
 * what is under way until deadline_ns by clock_ns(), and for the disk, which answers or fails. */
void tree_finish(uint32_t dev, uint64_t deadline_ns);
/* Memory is short: free some pages of files that can be had again. IPL 0. */
enum fs_reclaimed tree_reclaim(void);
/* Create a device node; mode includes its type. Boot. */
int tree_device(const char *path, uint32_t mode, uint32_t rdev);
void tree_boot(void);

#endif
