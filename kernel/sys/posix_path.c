/*
 * Calls on paths. A path is copied into paged pool first and walked there; a directory descriptor stands for the
 * directory where a relative path begins.
 */
#include "kernel/sys/posix_path.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/inode.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "mm/pool.h"

#define AT_FDCWD (-100)
#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_EACCESS 0x200u
#define AT_REMOVEDIR 0x200u
#define AT_SYMLINK_FOLLOW 0x400u
#define AT_NO_AUTOMOUNT 0x800u
#define AT_EMPTY_PATH 0x1000u
#define CHECKED_FLAGS(flags, known) ((flags) & ~(uint64_t)(known))

/* A path of user memory and where it begins. */
struct upath {
    struct inode *dir; /* no reference: the descriptor or working directory holds it for the call */
    char *text;        /* PATH_MAX bytes of paged pool */
    struct io_cred cred;
};

static void path_end(struct upath *u)
{
    if (u->text)
        pgd_free(u->text, PATH_MAX);
    u->text = NULL;
}

/* Where paths relative to dirfd begin. */
static int path_dir(uint64_t dirfd, struct inode **dir)
{
    struct process *p = process_self();
    struct file *f;

    if ((int32_t)dirfd == AT_FDCWD) {
        *dir = p->cwd;
        return 0;
    }
    f = fd_get(p->files, dirfd);
    if (!f)
        return -EBADF;
    *dir = f->inode;
    return f->ops == &directory_ops ? 0 : -ENOTDIR;
}

/* Copy it in. On success path_end is the caller's to call; on an error nothing is left. */
static int path_begin(struct upath *u, uint64_t dirfd, vaddr_t upath)
{
    long n;
    int err;

    u->cred = process_cred(process_self());
    u->dir = NULL;
    u->text = pgd_alloc(PATH_MAX);
    if (!u->text)
        return -ENOMEM;
    n = copyin_str(u->text, upath, PATH_MAX);
    err = n < 0 ? (int)n : 0;
    if (!err && u->text[0] != '/')
        err = path_dir(dirfd, &u->dir);
    if (err)
        path_end(u);
    return err;
}

static int path_lookup(uint64_t dirfd, vaddr_t upath, bool follow, struct inode **out)
{
    struct upath u;
    int err = path_begin(&u, dirfd, upath);

    if (!err) {
        err = tree_lookup(&u.cred, u.dir, u.text, follow, out);
        path_end(&u);
    }
    return err;
}

/* ---- open, exec ---- */

static long open_at(uint64_t dirfd, vaddr_t upath, uint64_t flags, uint64_t mode)
{
    struct process *p = process_self();
    struct upath u;
    struct file *f;
    int fd, err = path_begin(&u, dirfd, upath);

    if (err)
        return err;
    err = file_open_at(&u.cred, u.dir, u.text, (uint32_t)flags & ~O_LARGEFILE, (uint32_t)mode & ~p->umask, &f);
    path_end(&u);
    if (err)
        return err;
    fd = fd_add(p->files, f, 0, (flags & O_CLOEXEC) != 0);
    if (fd < 0)
        file_unref(f);
    return fd;
}

long sys_open(uint64_t path, uint64_t flags, uint64_t mode, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a3, (void)a4, (void)a5;
    return open_at((uint64_t)AT_FDCWD, path, flags, mode);
}

long sys_openat(uint64_t dirfd, uint64_t path, uint64_t flags, uint64_t mode, uint64_t a4, uint64_t a5)
{
    (void)a4, (void)a5;
    return open_at(dirfd, path, flags, mode);
}

long sys_execve(uint64_t path, uint64_t argv, uint64_t envp, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct upath u;
    int err = path_begin(&u, (uint64_t)AT_FDCWD, path);

    (void)a3, (void)a4, (void)a5;
    if (!err) {
        err = process_exec(u.text, argv, envp);
        path_end(&u);
    }
    return err; /* 0 goes into v0 of the new program's frame, which is 0 */
}

/* ---- stat ---- */

struct stat64 { /* as Linux/Alpha has it */
    uint64_t dev, ino, rdev;
    int64_t size;
    uint64_t blocks;
    uint32_t mode, uid, gid, blksize, nlink, pad;
    uint64_t atime, atime_nsec, mtime, mtime_nsec, ctime, ctime_nsec;
    int64_t unused[3];
};

static long stat_out(vaddr_t to, const struct file_stat *st)
{
    uint64_t s = st->mtime_ns / 1000000000, ns = st->mtime_ns % 1000000000;
    struct stat64 u = {
        .dev = 1, .ino = st->ino, .rdev = st->rdev, .size = (int64_t)st->size, .blocks = st->blocks, .mode = st->mode,
        .uid = st->uid, .gid = st->gid, .blksize = st->blksize, .nlink = st->nlink, .atime = s, .atime_nsec = ns,
        .mtime = s, .mtime_nsec = ns, .ctime = s, .ctime_nsec = ns,
    };

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

long sys_fstat64(uint64_t fd, uint64_t to, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct file *f = fd_get(process_self()->files, fd);
    struct file_stat st;
    int err;

    (void)a2, (void)a3, (void)a4, (void)a5;
    if (!f)
        return -EBADF;
    err = f->ops->stat(f, &st);
    return err ? err : stat_out(to, &st);
}

long sys_stat64(uint64_t path, uint64_t to, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a2, (void)a3, (void)a4, (void)a5;
    return stat_path((uint64_t)AT_FDCWD, path, true, to);
}

long sys_lstat64(uint64_t path, uint64_t to, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a2, (void)a3, (void)a4, (void)a5;
    return stat_path((uint64_t)AT_FDCWD, path, false, to);
}

long sys_fstatat64(uint64_t dirfd, uint64_t path, uint64_t to, uint64_t flags, uint64_t a4, uint64_t a5)
{
    char first;

    (void)a4, (void)a5;
    if (CHECKED_FLAGS(flags, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH))
        return -EINVAL;
    if ((flags & AT_EMPTY_PATH) && (int32_t)dirfd != AT_FDCWD) {
        if (copyin(&first, path, 1) != 0)
            return -EFAULT;
        if (!first)
            return sys_fstat64(dirfd, to, 0, 0, 0, 0);
    }
    return stat_path(dirfd, path, !(flags & AT_SYMLINK_NOFOLLOW), to);
}

static long access_at(uint64_t dirfd, vaddr_t path, uint64_t mode, bool follow, bool effective)
{
    struct process *p = process_self();
    struct io_cred cred = effective ? process_cred(p) : (struct io_cred){p->uid, p->gid};
    struct inode *i;
    int err;

    if (mode & ~7ul)
        return -EINVAL;
    err = path_lookup(dirfd, path, follow, &i);
    if (!err) {
        err = mode ? inode_access(i, &cred, (unsigned)mode) : 0;
        inode_unref(i);
    }
    return err;
}

long sys_access(uint64_t path, uint64_t mode, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a2, (void)a3, (void)a4, (void)a5;
    return access_at((uint64_t)AT_FDCWD, path, mode, true, false);
}

long sys_faccessat(uint64_t dirfd, uint64_t path, uint64_t mode, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a3, (void)a4, (void)a5;
    return access_at(dirfd, path, mode, true, false);
}

long sys_faccessat2(uint64_t dirfd, uint64_t path, uint64_t mode, uint64_t flags, uint64_t a4, uint64_t a5)
{
    (void)a4, (void)a5;
    if (CHECKED_FLAGS(flags, AT_EACCESS | AT_SYMLINK_NOFOLLOW))
        return -EINVAL;
    return access_at(dirfd, path, mode, !(flags & AT_SYMLINK_NOFOLLOW), (flags & AT_EACCESS) != 0);
}

/* ---- names ---- */

static long unlink_at(uint64_t dirfd, vaddr_t path, bool directory)
{
    struct upath u;
    int err = path_begin(&u, dirfd, path);

    if (!err) {
        err = tree_unlink(&u.cred, u.dir, u.text, directory);
        path_end(&u);
    }
    return err;
}

long sys_unlink(uint64_t path, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5;
    return unlink_at((uint64_t)AT_FDCWD, path, false);
}

long sys_rmdir(uint64_t path, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5;
    return unlink_at((uint64_t)AT_FDCWD, path, true);
}

long sys_unlinkat(uint64_t dirfd, uint64_t path, uint64_t flags, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a3, (void)a4, (void)a5;
    if (CHECKED_FLAGS(flags, AT_REMOVEDIR))
        return -EINVAL;
    return unlink_at(dirfd, path, (flags & AT_REMOVEDIR) != 0);
}

long sys_mkdirat(uint64_t dirfd, uint64_t path, uint64_t mode, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct upath u;
    int err = path_begin(&u, dirfd, path);

    (void)a3, (void)a4, (void)a5;
    if (!err) {
        err = tree_create(&u.cred, u.dir, u.text, S_IFDIR | ((uint32_t)mode & 01777 & ~process_self()->umask), true,
                          NULL);
        path_end(&u);
    }
    return err;
}

long sys_mkdir(uint64_t path, uint64_t mode, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a2;
    return sys_mkdirat((uint64_t)AT_FDCWD, path, mode, a3, a4, a5);
}

/* Two paths, one call of the tree. */
static long two_paths(uint64_t olddir, vaddr_t old, uint64_t newdir, vaddr_t new,
                      int (*fn)(const struct io_cred *, struct inode *, const char *, struct inode *, const char *))
{
    struct upath from, to;
    int err = path_begin(&from, olddir, old);

    if (err)
        return err;
    err = path_begin(&to, newdir, new);
    if (!err) {
        err = fn(&from.cred, from.dir, from.text, to.dir, to.text);
        path_end(&to);
    }
    path_end(&from);
    return err;
}

long sys_rename(uint64_t old, uint64_t new, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a2, (void)a3, (void)a4, (void)a5;
    return two_paths((uint64_t)AT_FDCWD, old, (uint64_t)AT_FDCWD, new, tree_rename);
}

long sys_renameat(uint64_t olddir, uint64_t old, uint64_t newdir, uint64_t new, uint64_t a4, uint64_t a5)
{
    (void)a4, (void)a5;
    return two_paths(olddir, old, newdir, new, tree_rename);
}

long sys_renameat2(uint64_t olddir, uint64_t old, uint64_t newdir, uint64_t new, uint64_t flags, uint64_t a5)
{
    (void)a5;
    return flags ? -EINVAL : two_paths(olddir, old, newdir, new, tree_rename);
}

long sys_link(uint64_t old, uint64_t new, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a2, (void)a3, (void)a4, (void)a5;
    return two_paths((uint64_t)AT_FDCWD, old, (uint64_t)AT_FDCWD, new, tree_link);
}

long sys_linkat(uint64_t olddir, uint64_t old, uint64_t newdir, uint64_t new, uint64_t flags, uint64_t a5)
{
    (void)a5;
    return flags ? -EINVAL : two_paths(olddir, old, newdir, new, tree_link);
}

static int symlink_to(const struct io_cred *cred, struct inode *none, const char *target, struct inode *dir,
                      const char *path)
{
    (void)none;
    return tree_symlink(cred, dir, path, target);
}

long sys_symlinkat(uint64_t target, uint64_t dirfd, uint64_t path, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a3, (void)a4, (void)a5;
    return two_paths((uint64_t)AT_FDCWD, target, dirfd, path, symlink_to);
}

long sys_symlink(uint64_t target, uint64_t path, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a2, (void)a3, (void)a4, (void)a5;
    return two_paths((uint64_t)AT_FDCWD, target, (uint64_t)AT_FDCWD, path, symlink_to);
}

static bool is_self_exe(const char *path) { return !strcmp(path, "/proc/self/exe"); }

long sys_readlinkat(uint64_t dirfd, uint64_t path, uint64_t to, uint64_t n, uint64_t a4, uint64_t a5)
{
    struct process *p = process_self();
    struct inode *i = NULL;
    const char *target = p->exe;
    struct upath u;
    size_t bytes;
    long err = path_begin(&u, dirfd, path);

    (void)a4, (void)a5;
    if (err)
        return err;
    if ((int64_t)n <= 0) {
        err = -EINVAL;
    } else if (!is_self_exe(u.text)) {
        err = tree_lookup(&u.cred, u.dir, u.text, false, &i);
        if (!err) {
            target = i->target;
            err = target ? 0 : -EINVAL;
        }
    }
    if (!err) {
        bytes = MIN(n, strlen(target));
        err = copyout(to, target, bytes) ? -EFAULT : (long)bytes;
    }
    if (i)
        inode_unref(i);
    path_end(&u);
    return err;
}

long sys_readlink(uint64_t path, uint64_t to, uint64_t n, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a3;
    return sys_readlinkat((uint64_t)AT_FDCWD, path, to, n, a4, a5);
}

/* ---- what is changed about a file ---- */

static bool may_change(const struct inode *i)
{
    const struct process *p = process_self();

    return p->euid == 0 || p->euid == i->uid;
}

static long change_mode(struct inode *i, uint64_t mode)
{
    if (!may_change(i))
        return -EPERM;
    __atomic_store_n(&i->mode, (i->mode & S_IFMT) | ((uint32_t)mode & 07777), __ATOMIC_RELAXED);
    return 0;
}

long sys_fchmodat(uint64_t dirfd, uint64_t path, uint64_t mode, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct inode *i;
    long err = path_lookup(dirfd, path, true, &i);

    (void)a3, (void)a4, (void)a5;
    if (!err) {
        err = change_mode(i, mode);
        inode_unref(i);
    }
    return err;
}

long sys_chmod(uint64_t path, uint64_t mode, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a2, (void)a3;
    return sys_fchmodat((uint64_t)AT_FDCWD, path, mode, 0, a4, a5);
}

long sys_fchmod(uint64_t fd, uint64_t mode, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct file *f = fd_get(process_self()->files, fd);

    (void)a2, (void)a3, (void)a4, (void)a5;
    if (!f)
        return -EBADF;
    return f->inode ? change_mode(f->inode, mode) : 0;
}

/* uid and gid ~0: as it is. Only the superuser gives files away. */
static long change_owner(struct inode *i, uint32_t uid, uint32_t gid)
{
    if (process_self()->euid != 0)
        return -EPERM;
    if (uid != UINT32_MAX)
        __atomic_store_n(&i->uid, uid, __ATOMIC_RELAXED);
    if (gid != UINT32_MAX)
        __atomic_store_n(&i->gid, gid, __ATOMIC_RELAXED);
    return 0;
}

static long owner_of_path(vaddr_t path, bool follow, uint64_t uid, uint64_t gid)
{
    struct inode *i;
    long err = path_lookup((uint64_t)AT_FDCWD, path, follow, &i);

    if (!err) {
        err = change_owner(i, (uint32_t)uid, (uint32_t)gid);
        inode_unref(i);
    }
    return err;
}

long sys_chown(uint64_t path, uint64_t uid, uint64_t gid, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a3, (void)a4, (void)a5;
    return owner_of_path(path, true, uid, gid);
}

long sys_lchown(uint64_t path, uint64_t uid, uint64_t gid, uint64_t a3, uint64_t a4, uint64_t a5)
{
    (void)a3, (void)a4, (void)a5;
    return owner_of_path(path, false, uid, gid);
}

long sys_fchown(uint64_t fd, uint64_t uid, uint64_t gid, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct file *f = fd_get(process_self()->files, fd);

    (void)a3, (void)a4, (void)a5;
    if (!f)
        return -EBADF;
    return f->inode ? change_owner(f->inode, (uint32_t)uid, (uint32_t)gid) : 0;
}

long sys_truncate(uint64_t path, uint64_t size, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct process *p = process_self();
    struct io_cred cred = process_cred(p);
    struct inode *i;
    long err;

    (void)a2, (void)a3, (void)a4, (void)a5;
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
    if (p->cwd)
        inode_unref(p->cwd);
    p->cwd = i;
    return 0;
}

long sys_chdir(uint64_t path, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct inode *i;
    long err = path_lookup((uint64_t)AT_FDCWD, path, true, &i);

    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5;
    if (!err) {
        err = change_directory(i);
        inode_unref(i);
    }
    return err;
}

long sys_fchdir(uint64_t fd, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct file *f = fd_get(process_self()->files, fd);

    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5;
    if (!f)
        return -EBADF;
    return f->inode ? change_directory(f->inode) : -ENOTDIR;
}

long sys_getcwd(uint64_t to, uint64_t n, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct inode *dir = process_self()->cwd;
    char *buf = pgd_alloc(PATH_MAX);
    long r;

    (void)a2, (void)a3, (void)a4, (void)a5;
    if (!buf)
        return -ENOMEM;
    r = tree_path(dir ? dir : inode_root, buf, PATH_MAX);
    if (r > 0 && (uint64_t)r > n)
        r = -ERANGE;
    if (r > 0 && copyout(to, buf, (size_t)r) != 0)
        r = -EFAULT;
    pgd_free(buf, PATH_MAX);
    return r;
}

long sys_umask(uint64_t mask, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    struct process *p = process_self();
    uint32_t old = p->umask;

    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5;
    p->umask = (uint32_t)mask & 0777;
    return old;
}

/* Times: a file keeps one, that of its last change. */
long sys_utimensat(uint64_t dirfd, uint64_t path, uint64_t times, uint64_t flags, uint64_t a4, uint64_t a5)
{
    uint64_t t[4], ns = clock_wall_ns();
    struct inode *i;
    long err = 0;

    (void)a4, (void)a5;
    if (CHECKED_FLAGS(flags, AT_SYMLINK_NOFOLLOW))
        return -EINVAL;
    if (times && copyin(t, times, sizeof(t)) != 0)
        return -EFAULT;
    if (times && t[3] < 1000000000 && t[2] < INT64_MAX / 1000000000)
        ns = t[2] * 1000000000 + t[3];
    if (path) {
        err = path_lookup(dirfd, path, !(flags & AT_SYMLINK_NOFOLLOW), &i);
    } else { /* futimens */
        struct file *f = fd_get(process_self()->files, dirfd);

        if (!f || !f->inode)
            return f ? 0 : -EBADF;
        i = f->inode;
        inode_ref(i);
    }
    if (err)
        return err;
    if (!may_change(i))
        err = -EPERM;
    else
        __atomic_store_n(&i->mtime_ns, ns, __ATOMIC_RELAXED);
    inode_unref(i);
    return err;
}
