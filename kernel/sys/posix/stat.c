/* stat and its relatives, in the layouts of Linux/Alpha. Times are kept in nanoseconds and divided
 * here. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/process.h"
#include "kernel/sys/posix/path.h"
#include "kernel/sys/posix/upath.h"

#define NS 1000000000l

struct stat64 {
    uint64_t dev, ino, rdev;
    int64_t size;
    uint64_t blocks;
    uint32_t mode, uid, gid, blksize, nlink, pad;
    int64_t atime, atime_nsec, mtime, mtime_nsec, ctime, ctime_nsec;
    int64_t unused[3];
};
_Static_assert(sizeof(struct stat64) == 17 * sizeof(uint64_t), "no padding");

struct statx_time {
    int64_t sec;
    uint32_t nsec;
    int32_t pad;
};

struct statx {
    uint32_t mask, blksize;
    uint64_t attributes;
    uint32_t nlink, uid, gid;
    uint16_t mode, pad;
    uint64_t ino, size, blocks, attributes_mask;
    struct statx_time atime, btime, ctime, mtime;
    uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
    uint64_t spare[14];
};

#define STATX_BASIC_STATS 0x7FFu
#define STATX_RESERVED    0x80000000u
#define STATX_SYNC        0x6000u /* AT_STATX_FORCE_SYNC and AT_STATX_DONT_SYNC */
#define MODE_KNOWN        (S_IFMT | 07777)

/* Seconds since 1970, rounded down, and in *nsec the rest. */
static int64_t split(int64_t ns, int64_t *nsec)
{
    int64_t sec = ns / NS, rest = ns - sec * NS;

    if (unlikely(rest < 0)) {
        rest += NS;
        sec--;
    }
    *nsec = rest;
    return sec;
}

/* Every field is set, and there is no padding, so nothing need be cleared before. Most files have
 * equal times, which are divided once. */
static long stat_out(vaddr_t to, const struct file_stat *st)
{
    int64_t nsec, sec = split(st->mtime_ns, &nsec);
    struct stat64 u = {
        .dev = st->dev,
        .ino = st->ino,
        .rdev = st->rdev,
        .size = (int64_t)st->size,
        .blocks = st->blocks,
        .mode = st->mode,
        .uid = st->uid,
        .gid = st->gid,
        .blksize = st->blksize,
        .nlink = st->nlink,
        .pad = 0,
        .atime = sec,
        .atime_nsec = nsec,
        .mtime = sec,
        .mtime_nsec = nsec,
        .ctime = sec,
        .ctime_nsec = nsec,
        .unused = {0, 0, 0},
    };

    if (st->atime_ns != st->mtime_ns)
        u.atime = split(st->atime_ns, &u.atime_nsec);
    if (st->ctime_ns != st->mtime_ns)
        u.ctime = split(st->ctime_ns, &u.ctime_nsec);
    return copyout(to, &u, sizeof(u));
}

static long stat_path(uint64_t dirfd, vaddr_t upath, bool follow, vaddr_t to)
{
    struct file_stat st;
    struct inode *i;
    int err = path_lookup(dirfd, upath, follow, &i);

    if (err)
        return err;
    inode_stat(i, &st);
    inode_unref(i);
    return stat_out(to, &st);
}

/* The attributes of what `flags` (AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH) make of a path. */
static int attributes_at(uint64_t dirfd, vaddr_t upath, uint64_t flags, struct file_stat *st)
{
    struct fd_use file;
    struct inode *i;
    int err = path_lookup_at(dirfd, upath, flags, &i, &file);

    if (!err && i) {
        inode_stat(i, st);
        inode_unref(i);
    } else if (!err) {
        err = file.file->ops->stat(file.file, st);
    }
    fd_put(file);
    return err;
}

long sys_fstat64(uint64_t fd, uint64_t to)
{
    struct fd_use u = fd_get(process_self()->files, fd);
    struct file_stat st;
    int err = u.file ? u.file->ops->stat(u.file, &st) : -EBADF;

    fd_put(u);
    return err ? err : stat_out(to, &st);
}

long sys_stat64(uint64_t path, uint64_t to)
{
    return stat_path((uint64_t)AT_FDCWD, path, true, to);
}

long sys_lstat64(uint64_t path, uint64_t to)
{
    return stat_path((uint64_t)AT_FDCWD, path, false, to);
}

long sys_fstatat64(uint64_t dirfd, uint64_t path, uint64_t to, uint64_t flags)
{
    struct file_stat st;
    int err;

    if (CHECKED_FLAGS(flags, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH))
        return -EINVAL;
    if (likely(!(flags & AT_EMPTY_PATH)))
        return stat_path(dirfd, path, !(flags & AT_SYMLINK_NOFOLLOW), to);
    err = attributes_at(dirfd, path, flags, &st);
    return err ? err : stat_out(to, &st);
}

static struct statx_time time_of(int64_t ns)
{
    int64_t nsec, sec = split(ns, &nsec);

    return (struct statx_time){.sec = sec, .nsec = (uint32_t)nsec};
}

/* Everything known is told, whatever is asked for: it costs nothing. */
long sys_statx(uint64_t dirfd, uint64_t path, uint64_t flags, uint64_t mask, uint64_t to)
{
    struct file_stat st;
    int err;

    if (CHECKED_FLAGS(flags, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | STATX_SYNC) ||
        (flags & STATX_SYNC) == STATX_SYNC || (mask & STATX_RESERVED))
        return -EINVAL;
    err = attributes_at(dirfd, path, flags, &st);
    if (err)
        return err;
    return copyout(to,
                   &(struct statx){
                       .mask = STATX_BASIC_STATS,
                       .blksize = st.blksize,
                       .nlink = st.nlink,
                       .uid = st.uid,
                       .gid = st.gid,
                       .mode = (uint16_t)(st.mode & MODE_KNOWN),
                       .ino = st.ino,
                       .size = st.size,
                       .blocks = st.blocks,
                       .atime = time_of(st.atime_ns),
                       .ctime = time_of(st.ctime_ns),
                       .mtime = time_of(st.mtime_ns),
                       .rdev_major = st.rdev >> 8 & 0xFFF,
                       .rdev_minor = (st.rdev & 0xFF) | (st.rdev >> 12 & ~0xFFu),
                       .dev_minor = st.dev,
                   },
                   sizeof(struct statx));
}
