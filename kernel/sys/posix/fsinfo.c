/*
 * What a file system tells of itself (statfs and its relatives), and calls that write
 * back: they check their arguments as on Linux, and have something to do for shared folders and
 * disks only.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/proc/process.h"
#include "kernel/sys/posix/file.h"
#include "kernel/sys/posix/path.h"
#include "kernel/sys/posix/upath.h"

#define PIPEFS_MAGIC     0x50495045u
#define SOCKFS_MAGIC     0x534F434Bu
#define ANON_INODE_MAGIC 0x09041934u
#define ST_RDONLY        0x1u
#define ST_VALID         0x20u

struct statfs { /* Alpha is the one 64-bit machine with 32-bit words here */
    uint32_t type, bsize, blocks, bfree, bavail, files, ffree, fsid[2], namelen, frsize, flags;
    uint32_t spare[4];
};

struct statfs64 {
    uint32_t type, bsize;
    uint64_t blocks, bfree, bavail, files, ffree;
    uint32_t fsid[2], namelen, frsize, flags, spare[4], pad;
};

static uint32_t word(uint64_t v, bool *fits)
{
    *fits &= v <= UINT32_MAX;
    return (uint32_t)v;
}

static int out_32(vaddr_t to, const struct fs_usage *u, uint32_t dev)
{
    bool fits = true;
    struct statfs s = {
        .type = u->magic,
        .bsize = PAGE_SIZE,
        .blocks = word(u->blocks, &fits),
        .bfree = word(u->free, &fits),
        .bavail = word(u->available, &fits),
        .files = word(u->inodes, &fits),
        .ffree = word(u->inodes_free, &fits),
        .fsid = {dev},
        .namelen = NAME_MAX,
        .frsize = PAGE_SIZE,
        .flags = ST_VALID | (u->read_only ? ST_RDONLY : 0),
    };

    return fits ? copyout(to, &s, sizeof(s)) : -EOVERFLOW;
}

static int out_64(vaddr_t to, const struct fs_usage *u, uint32_t dev)
{
    struct statfs64 s = {
        .type = u->magic,
        .bsize = PAGE_SIZE,
        .blocks = u->blocks,
        .bfree = u->free,
        .bavail = u->available,
        .files = u->inodes,
        .ffree = u->inodes_free,
        .fsid = {dev},
        .namelen = NAME_MAX,
        .frsize = PAGE_SIZE,
        .flags = ST_VALID | (u->read_only ? ST_RDONLY : 0),
    };

    return copyout(to, &s, sizeof(s));
}

typedef int (*out_fn)(vaddr_t to, const struct fs_usage *u, uint32_t dev);

static int usage_of_inode(const struct inode *i, vaddr_t to, out_fn out)
{
    struct fs_usage u = {0};

    i->fs->usage(i->fs, &u);
    u.read_only = i->fs->read_only;
    return out(to, &u, i->fs->dev);
}

static long of_path(vaddr_t path, vaddr_t to, out_fn out)
{
    struct inode *i;
    long err = path_lookup((uint64_t)AT_FDCWD, path, true, &i);

    if (!err) {
        err = usage_of_inode(i, to, out);
        inode_unref(i);
    }
    return err;
}

/* Files without an inode belong to no file system that has a size. */
static uint32_t magic_without_inode(struct file *f)
{
    struct file_stat st = {0};

    if (f->ops->stat(f, &st))
        return ANON_INODE_MAGIC;
    switch (st.mode & S_IFMT) {
    case S_IFIFO:
        return PIPEFS_MAGIC;
    case S_IFSOCK:
        return SOCKFS_MAGIC;
    default:
        return ANON_INODE_MAGIC;
    }
}

static long of_file(uint64_t fd, vaddr_t to, out_fn out)
{
    struct fd_use use = fd_get(process_self()->files, fd);
    struct fs_usage u = {0};
    long err = -EBADF;

    if (use.file && use.file->inode) {
        err = usage_of_inode(use.file->inode, to, out);
    } else if (use.file) {
        u.magic = magic_without_inode(use.file);
        err = out(to, &u, 0);
    }
    fd_put(use);
    return err;
}

long sys_statfs(uint64_t path, uint64_t to) { return of_path(path, to, out_32); }

long sys_fstatfs(uint64_t fd, uint64_t to) { return of_file(fd, to, out_32); }

long sys_statfs64(uint64_t path, uint64_t n, uint64_t to)
{
    return n == sizeof(struct statfs64) ? of_path(path, to, out_64) : -EINVAL;
}

long sys_fstatfs64(uint64_t fd, uint64_t n, uint64_t to)
{
    return n == sizeof(struct statfs64) ? of_file(fd, to, out_64) : -EINVAL;
}

long sys_ustat(uint64_t dev, uint64_t to)
{
    struct {
        uint32_t free, inodes_free;
        char name[6], pack[6];
    } out = {0};
    struct fs_usage u = {0};
    int err = tree_usage((uint32_t)dev, &u);

    if (err)
        return err;
    out.free = (uint32_t)MIN(u.free, (uint64_t)INT32_MAX);
    out.inodes_free = (uint32_t)MIN(u.inodes_free, (uint64_t)UINT32_MAX);
    return copyout(to, &out, sizeof(out));
}

/* ---- writing back ---- */

static bool has_storage(const struct file *f)
{
    return f->ops == &regular_ops || f->ops == &directory_ops;
}

static long file_sync(struct file *f, uint64_t only_data, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    if (f->flags & O_PATH)
        return -EBADF;
    if (f->ops->sync)
        return f->ops->sync(f);
    return has_storage(f) ? regular_sync(f, only_data != 0) : -EINVAL;
}

static long use_file(uint64_t fd, fd_fn fn, uint64_t a, uint64_t b, uint64_t c)
{
    return fd_call(process_self()->files, fd, fn, a, b, c);
}

long sys_fsync(uint64_t fd) { return use_file(fd, file_sync, 0, 0, 0); }

long sys_fdatasync(uint64_t fd) { return use_file(fd, file_sync, 1, 0, 0); }

long sys_sync(void)
{
    tree_sync();
    block_flush_all();
    return 0;
}

static long file_sync_fs(struct file *f, uint64_t a, uint64_t b, uint64_t c)
{
    (void)a, (void)b, (void)c;
    if (f->flags & O_PATH)
        return -EBADF;
    if (f->inode && f->inode->fs->sync)
        f->inode->fs->sync(f->inode->fs);
    return 0;
}

long sys_syncfs(uint64_t fd) { return use_file(fd, file_sync_fs, 0, 0, 0); }

static long file_sync_range(struct file *f, uint64_t offset, uint64_t n, uint64_t flags)
{
    int64_t end;

    if (f->flags & O_PATH)
        return -EBADF;
    if ((flags & ~7ul) || (int64_t)offset < 0 || (int64_t)n < 0 ||
        __builtin_add_overflow((int64_t)offset, (int64_t)n, &end))
        return -EINVAL;
    if (f->ops->sync)
        return f->ops->sync(f);
    return has_storage(f) ? regular_sync(f, true) : -ESPIPE;
}

long sys_sync_file_range(uint64_t fd, uint64_t offset, uint64_t n, uint64_t flags)
{
    return use_file(fd, file_sync_range, offset, n, flags);
}

#define ADVICES 6u /* POSIX_FADV_NORMAL to POSIX_FADV_NOREUSE */

static long file_advise(struct file *f, uint64_t n, uint64_t advice, uint64_t c)
{
    struct file_stat st = {0};

    (void)c;
    if (f->flags & O_PATH)
        return -EBADF;
    if (!f->ops->stat(f, &st) && (st.mode & S_IFMT) == S_IFIFO)
        return -ESPIPE;
    return (int64_t)n < 0 || advice >= ADVICES ? -EINVAL : 0;
}

/* Pages of files are always in memory or made of the initrd at once, so advice changes nothing. */
long sys_fadvise64(uint64_t fd, uint64_t offset, uint64_t n, uint64_t advice)
{
    (void)offset;
    return use_file(fd, file_advise, n, advice, 0);
}

static long file_readahead(struct file *f, uint64_t a, uint64_t b, uint64_t c)
{
    (void)a, (void)b, (void)c;
    if ((f->flags & O_PATH) || (f->flags & O_ACCMODE) == O_WRONLY)
        return -EBADF;
    return f->ops == &regular_ops ? 0 : -EINVAL;
}

long sys_readahead(uint64_t fd) { return use_file(fd, file_readahead, 0, 0, 0); }
