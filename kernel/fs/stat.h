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

/* The ids that permissions are checked for; user id 0 has all of them. */
struct io_cred {
    uint32_t uid, gid;
};

struct file_stat {
    uint64_t ino, size, blocks, mtime_ns;
    uint32_t mode, nlink, uid, gid, rdev, blksize;
};

#endif
