/* Attributes of files, with the modes numbered as on Linux/Alpha. */
#ifndef KERNEL_FS_STAT_H
#define KERNEL_FS_STAT_H

#include "kernel/base/types.h"

#define S_IFMT   0170000u
#define S_IFSOCK 0140000u
#define S_IFLNK  0120000u
#define S_IFREG  0100000u
#define S_IFBLK  0060000u
#define S_IFDIR  0040000u
#define S_IFCHR  0020000u
#define S_IFIFO  0010000u
#define S_ISUID  04000u
#define S_ISGID  02000u
#define S_ISVTX  01000u

#define IO_GROUPS_MAX 32u /* supplementary groups of a process */

/* Supplementary groups, in ascending order. One thread of a process may change them while others
 * read them, each of whom sees the old set or the new one: io_groups_set(). Atomic words. */
struct io_groups {
    uint32_t version; /* odd while they are changed */
    uint32_t n;       /* at most IO_GROUPS_MAX */
    uint32_t gid[IO_GROUPS_MAX];
};

/* The ids that permissions are checked for; user id 0 has all of them. */
struct io_cred {
    uint32_t uid, gid;
    const struct io_groups *groups; /* those of the current process; NULL: none */
    /* For walks along a path (kernel/io/tree.h): the directory that "/" is, which the caller keeps,
     * NULL: the root; and restrictions, RESOLVE_*. */
    struct inode *root;
    uint32_t resolve;
};

struct inode;

struct file_stat {
    uint64_t ino, size, blocks;           /* blocks: of 512 bytes */
    int64_t atime_ns, mtime_ns, ctime_ns; /* since 1970 */
    uint32_t mode, nlink, uid, gid, rdev, blksize;
    uint32_t dev; /* number of its file system; 0: it has none */
};

/* What statfs tells of a file system. */
struct fs_usage {
    uint64_t blocks, free, available; /* of PAGE_SIZE bytes; available: to the current user */
    uint64_t inodes, inodes_free;
    uint32_t magic; /* the type, as Linux numbers it */
    bool read_only; /* set by who asks */
};

#define TMPFS_MAGIC 0x01021994u
#define PROC_MAGIC  0x9FA0u
#define PTS_MAGIC   0x1CD1u

#endif
