/*
 * Calls that change the attributes of a file (mode, owner, length), and calls on the working
 * directory and umask. The inode stays by the reference of path_lookup() or fd_get(); its fields
 * are protected in kernel/fs, the working directory in kernel/proc/fs_context.c.
 */
#include "kernel/sys/posix/path.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/sys/posix/upath.h"
#include "mm/pool/pool.h"

/* ---- attributes of a file ---- */

static bool may_change(const struct inode *i)
{
    const struct process *p = process_self();

    return process_euid(p) == 0 || process_euid(p) == i->uid;
}

static long change_mode(struct inode *i, uint64_t mode)
{
    struct io_cred cred = process_cred(process_self());

    if (!may_change(i))
        return -EPERM;
    if (cred.uid && !io_in_group(&cred, __atomic_load_n(&i->gid, __ATOMIC_RELAXED)))
        mode &= ~(uint64_t)S_ISGID; /* a group to which the caller does not belong */
    return inode_set_mode(i, (uint32_t)mode);
}

long sys_fchmodat2(uint64_t dirfd, uint64_t path, uint64_t mode, uint64_t flags)
{
    struct fd_use file;
    struct inode *i;
    long err;

    if (CHECKED_FLAGS(flags, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    err = path_lookup_at(dirfd, path, flags, &i, &file);
    fd_put(file);
    if (!err && i) {
        /* The mode of a link means nothing. */
        err = (i->mode & S_IFMT) == S_IFLNK ? -EOPNOTSUPP : change_mode(i, mode);
        inode_unref(i);
    }
    return err;
}

long sys_fchmodat(uint64_t dirfd, uint64_t path, uint64_t mode)
{
    return sys_fchmodat2(dirfd, path, mode, 0);
}

long sys_chmod(uint64_t path, uint64_t mode)
{
    return sys_fchmodat((uint64_t)AT_FDCWD, path, mode);
}

long sys_fchmod(uint64_t fd, uint64_t mode)
{
    struct fd_use u = fd_get(process_self()->files, fd);
    long r = -EBADF;

    if (u.file && !(u.file->flags & O_PATH))
        r = u.file->inode ? change_mode(u.file->inode, mode) : 0;
    fd_put(u);
    return r;
}

/* uid or gid ~0: unchanged. Only the superuser gives a file away; its owner may give it another of
 * the owner's groups. */
static long change_owner(struct inode *i, uint32_t uid, uint32_t gid)
{
    struct io_cred cred = process_cred(process_self());
    uint32_t owner = __atomic_load_n(&i->uid, __ATOMIC_RELAXED);
    uint32_t group = __atomic_load_n(&i->gid, __ATOMIC_RELAXED);

    if (cred.uid != 0) {
        if (uid != UINT32_MAX && (owner != cred.uid || uid != owner))
            return -EPERM;
        if (gid != UINT32_MAX && (owner != cred.uid || (!io_in_group(&cred, gid) && gid != group)))
            return -EPERM;
    }
    return inode_set_owner(i, uid, gid);
}

static long owner_at(uint64_t dirfd, vaddr_t path, uint64_t flags, uint64_t uid, uint64_t gid)
{
    struct fd_use file;
    struct inode *i;
    long err = path_lookup_at(dirfd, path, flags, &i, &file);

    fd_put(file);
    if (!err && i) {
        err = change_owner(i, (uint32_t)uid, (uint32_t)gid);
        inode_unref(i);
    }
    return err;
}

long sys_fchownat(uint64_t dirfd, uint64_t path, uint64_t uid, uint64_t gid, uint64_t flags)
{
    if (CHECKED_FLAGS(flags, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    return owner_at(dirfd, path, flags, uid, gid);
}

long sys_chown(uint64_t path, uint64_t uid, uint64_t gid)
{
    return owner_at((uint64_t)AT_FDCWD, path, 0, uid, gid);
}

long sys_lchown(uint64_t path, uint64_t uid, uint64_t gid)
{
    return owner_at((uint64_t)AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, uid, gid);
}

long sys_fchown(uint64_t fd, uint64_t uid, uint64_t gid)
{
    struct fd_use u = fd_get(process_self()->files, fd);
    long r = -EBADF;

    if (u.file && !(u.file->flags & O_PATH))
        r = u.file->inode ? change_owner(u.file->inode, (uint32_t)uid, (uint32_t)gid) : 0;
    fd_put(u);
    return r;
}

long sys_truncate(uint64_t path, uint64_t size)
{
    struct process *p = process_self();
    struct io_cred cred = process_cred(p);
    struct inode *i;
    long err;

    if ((int64_t)size < 0)
        return -EINVAL;
    err = path_lookup((uint64_t)AT_FDCWD, path, true, &i);
    if (err)
        return err;
    if ((i->mode & S_IFMT) == S_IFDIR)
        err = -EISDIR;
    if (!err)
        err = inode_access(i, &cred, 2);
    if (!err)
        err = inode_truncate(i, size);
    inode_unref(i);
    return err;
}

/* ---- working directory ---- */

static long change_directory(struct inode *i)
{
    struct process *p = process_self();
    struct io_cred cred = process_cred(p);
    int err = (i->mode & S_IFMT) == S_IFDIR ? inode_access(i, &cred, 1) : -ENOTDIR;

    if (err)
        return err;
    inode_ref(i);
    fs_cwd_set(p->fs, i);
    return 0;
}

long sys_chdir(uint64_t path)
{
    struct inode *i;
    long err = path_lookup((uint64_t)AT_FDCWD, path, true, &i);

    if (!err) {
        err = change_directory(i);
        inode_unref(i);
    }
    return err;
}

long sys_fchdir(uint64_t fd)
{
    struct fd_use u = fd_get(process_self()->files, fd);
    long r = -EBADF;

    if (u.file)
        r = u.file->inode ? change_directory(u.file->inode) : -ENOTDIR;
    fd_put(u);
    return r;
}

long sys_chroot(uint64_t path)
{
    struct process *p = process_self();
    struct io_cred cred = process_cred(p);
    struct inode *i;
    long err = path_lookup((uint64_t)AT_FDCWD, path, true, &i);

    if (err)
        return err;
    err = inode_is_dir(i) ? inode_access(i, &cred, 1) : -ENOTDIR;
    if (!err && process_euid(p) != 0)
        err = -EPERM;
    if (err)
        inode_unref(i);
    else
        fs_root_set(p->fs, i);
    return err;
}

/* sys_getcwd() by way of a block of so many bytes. -ENAMETOOLONG: the path does not fit. */
static long getcwd_in(uint64_t to, uint64_t n, size_t bytes)
{
    char *buf = pgd_alloc(bytes);
    struct cwd_use cwd, root;
    long r;

    if (!buf)
        return -ENOMEM;
    cwd = fs_cwd_get(process_self()->fs);
    root = fs_root_get(process_self()->fs);
    r = tree_path_in(root.dir ? root.dir : inode_root, cwd.dir ? cwd.dir : inode_root, buf, bytes);
    fs_cwd_put(root);
    fs_cwd_put(cwd);
    if (r == -ERANGE)
        r = -ENAMETOOLONG;
    else if (r > 0 && (uint64_t)r > n)
        r = -ERANGE;
    if (r > 0 && copyout(to, buf, (size_t)r) != 0)
        r = -EFAULT;
    pgd_free(buf, bytes);
    return r;
}

long sys_getcwd(uint64_t to, uint64_t n)
{
    long r = getcwd_in(to, n, PATH_LONG);

    if (r == -ENAMETOOLONG)
        r = getcwd_in(to, n, PATH_MAX);
    return r == -ENAMETOOLONG ? -ERANGE : r;
}

long sys_umask(uint64_t mask) { return fs_umask_set(process_self()->fs, (uint32_t)mask & 0777); }
