/*
 * Calls on paths: open, exec, access, and calls that create, link, rename or remove names.
 *
 * A path is first copied, a long one into paged pool (upath.h), and resolved there by
 * kernel/io/tree.h, which takes the locks of directories. A directory descriptor gives the
 * directory at which a relative path starts. A call can fail with -ENOMEM for the copy.
 */
#include "kernel/sys/posix/path.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/sys/posix/upath.h"
#include "mm/pool/pool.h"

/* ---- open, exec ---- */

static long open_restricted(uint64_t dirfd, vaddr_t upath, uint64_t flags, uint64_t mode,
                            uint32_t resolve)
{
    struct process *p = process_self();
    struct upath u;
    struct file *f;
    bool created = false;
    int fd, err = path_begin_in(&u, dirfd, upath, (resolve & RESOLVE_IN_ROOT) != 0);

    if (err)
        return err;
    u.cred.resolve = resolve;
    fd = err = fd_find(p->files, 0); /* reserve it before a file is created or truncated */
    if (fd >= 0)
        err = file_open_at(&u.cred, u.dir, u.text, (uint32_t)flags & ~O_LARGEFILE,
                           (uint32_t)mode & ~fs_umask(p->fs), &f, &created);
    path_end(&u);
    if (err) {
        if (fd >= 0)
            fd_cancel(p->files, (unsigned)fd);
        if (unlikely(created && err == -ENOMEM))
            process_call_not_again();
        return err;
    }
    fd_fill(p->files, f, (unsigned)fd, (flags & O_CLOEXEC) != 0);
    return fd;
}

static long open_at(uint64_t dirfd, vaddr_t upath, uint64_t flags, uint64_t mode)
{
    return open_restricted(dirfd, upath, flags, mode, 0);
}

struct open_how {
    uint64_t flags, mode, resolve;
};

/* What openat2 takes, it takes exactly: open ignores what it does not know. */
#define OPEN_KNOWN                                                                               \
    (O_ACCMODE | O_NONBLOCK | O_APPEND | O_CREAT | O_TRUNC | O_EXCL | O_NOCTTY | O_DIRECTORY |   \
     O_NOFOLLOW | O_LARGEFILE | O_NOATIME | O_CLOEXEC | O_SYNC | O_PATH | O_TMPFILE | O_DIRECT | \
     O_ASYNC)

static int check_how(const struct open_how *h)
{
    uint64_t resolve = h->resolve;

    if ((h->flags & ~(uint64_t)OPEN_KNOWN) || (resolve & ~(uint64_t)RESOLVE_ALL))
        return -EINVAL;
    if ((resolve & RESOLVE_BENEATH) && (resolve & RESOLVE_IN_ROOT))
        return -EINVAL;
    if (h->flags & (O_CREAT | O_TMPFILE) ? (h->mode & ~(uint64_t)07777) != 0 : h->mode != 0)
        return -EINVAL;
    if ((h->flags & O_PATH) &&
        (h->flags & ~(uint64_t)(O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)))
        return -EINVAL;
    if ((resolve & RESOLVE_CACHED) && (h->flags & (O_TRUNC | O_CREAT | O_TMPFILE)))
        return -EAGAIN;
    return 0;
}

long sys_openat2(uint64_t dirfd, uint64_t path, uint64_t from, uint64_t nbytes)
{
    struct open_how h;
    uint8_t more[64];
    int err;

    if (nbytes < sizeof(h))
        return -EINVAL;
    if (nbytes > PAGE_SIZE)
        return -E2BIG;
    if (copyin(&h, from, sizeof(h)))
        return -EFAULT;
    for (uint64_t at = sizeof(h); at < nbytes; at += sizeof(more)) { /* of a later Linux */
        size_t n = MIN(nbytes - at, sizeof(more));

        if (copyin(more, from + at, n))
            return -EFAULT;
        for (size_t k = 0; k < n; k++)
            if (more[k])
                return -E2BIG;
    }
    err = check_how(&h);
    return err ? err : open_restricted(dirfd, path, h.flags, h.mode, (uint32_t)h.resolve);
}

long sys_open(uint64_t path, uint64_t flags, uint64_t mode)
{
    return open_at((uint64_t)AT_FDCWD, path, flags, mode);
}

long sys_openat(uint64_t dirfd, uint64_t path, uint64_t flags, uint64_t mode)
{
    return open_at(dirfd, path, flags, mode);
}

long sys_execve(uint64_t path, uint64_t argv, uint64_t envp)
{
    struct upath u;
    int err = path_begin(&u, (uint64_t)AT_FDCWD, path);

    if (!err) {
        err = process_exec(u.text, argv, envp);
        path_end(&u);
    }
    return err; /* after success 0 goes to v0 of the new program's frame, where it belongs */
}

/* Write to text, of PATH_MAX bytes, a path for `rest` in the directory dirfd, or for dirfd itself
 * if it is empty: one that leads to what was opened, whatever its name is now. */
static int descriptor_path(uint64_t dirfd, const char *rest, char *text)
{
    struct fd_use use = fd_get(process_self()->files, (uint32_t)dirfd);
    bool directory = use.file && use.file->inode && inode_is_dir(use.file->inode);

    if (!use.file)
        return -EBADF;
    fd_put(use);
    if (*rest && !directory)
        return -ENOTDIR;
    if (format(text, PATH_MAX, "/proc/self/fd/%u%s%s", (unsigned)dirfd, *rest ? "/" : "", rest) >=
        PATH_MAX)
        return -ENAMETOOLONG;
    return 0;
}

static int exec_unless_link(const struct upath *u, const char *path, vaddr_t argv, vaddr_t envp)
{
    struct inode *i;
    int err = tree_lookup(&u->cred, u->dir, path, false, &i);

    if (err)
        return err;
    err = (__atomic_load_n(&i->mode, __ATOMIC_RELAXED) & S_IFMT) == S_IFLNK ? -ELOOP : 0;
    inode_unref(i);
    return err ? err : process_exec(path, argv, envp);
}

/* u begins at the root or the working directory. */
static int exec_at(uint64_t dirfd, const struct upath *u, uint64_t flags, vaddr_t argv,
                   vaddr_t envp)
{
    bool here = u->text[0] == '/' || ((int32_t)dirfd == AT_FDCWD && u->text[0]);
    char *text = here ? NULL : pgd_alloc(PATH_MAX);
    const char *path = here ? u->text : text;
    int err = 0;

    if (!path)
        return -ENOMEM;
    if (!here)
        err = descriptor_path(dirfd, u->text, text);
    if (!err)
        err = (flags & AT_SYMLINK_NOFOLLOW) && u->text[0] ? exec_unless_link(u, path, argv, envp)
                                                          : process_exec(path, argv, envp);
    if (text)
        pgd_free(text, PATH_MAX);
    return err;
}

long sys_execveat(uint64_t dirfd, uint64_t path, uint64_t argv, uint64_t envp, uint64_t flags)
{
    struct upath u;
    int err;

    if (CHECKED_FLAGS((uint32_t)flags, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
        return -EINVAL;
    err = path_begin(&u, (uint64_t)AT_FDCWD, path);
    if (err)
        return err;
    if (u.text[0])
        err = exec_at(dirfd, &u, flags, argv, envp);
    else if (!(flags & AT_EMPTY_PATH))
        err = -ENOENT;
    else /* the working directory is no program */
        err = (int32_t)dirfd == AT_FDCWD ? -EACCES : exec_at(dirfd, &u, flags, argv, envp);
    path_end(&u);
    return err;
}

/* ---- access ---- */

static long access_at(uint64_t dirfd, vaddr_t path, uint64_t mode, uint64_t flags)
{
    struct process *p = process_self();
    struct io_cred cred = flags & AT_EACCESS ? process_cred(p)
                                             : (struct io_cred){.uid = process_uid(p),
                                                                .gid = process_gid(p),
                                                                .groups = &p->groups};
    struct fd_use file;
    struct inode *i;
    int err;

    if (mode & ~7ul)
        return -EINVAL;
    err = path_lookup_at(dirfd, path, flags, &i, &file);
    fd_put(file); /* a pipe may be read and written by whoever has a descriptor */
    if (!err && i) {
        err = mode ? inode_access(i, &cred, (unsigned)mode) : 0;
        if (!err && (mode & 2) && i->fs->read_only && (i->object || inode_is_dir(i)))
            err = -EROFS;
        inode_unref(i);
    }
    return err;
}

long sys_access(uint64_t path, uint64_t mode)
{
    return access_at((uint64_t)AT_FDCWD, path, mode, 0);
}

long sys_faccessat(uint64_t dirfd, uint64_t path, uint64_t mode)
{
    return access_at(dirfd, path, mode, 0);
}

long sys_faccessat2(uint64_t dirfd, uint64_t path, uint64_t mode, uint64_t flags)
{
    if (CHECKED_FLAGS(flags, AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    return access_at(dirfd, path, mode, flags);
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

long sys_unlink(uint64_t path) { return unlink_at((uint64_t)AT_FDCWD, path, false); }

long sys_rmdir(uint64_t path) { return unlink_at((uint64_t)AT_FDCWD, path, true); }

long sys_unlinkat(uint64_t dirfd, uint64_t path, uint64_t flags)
{
    if (CHECKED_FLAGS(flags, AT_REMOVEDIR))
        return -EINVAL;
    return unlink_at(dirfd, path, (flags & AT_REMOVEDIR) != 0);
}

long sys_mkdirat(uint64_t dirfd, uint64_t path, uint64_t mode)
{
    struct upath u;
    int err = path_begin(&u, dirfd, path);

    if (!err) {
        err = tree_create(&u.cred, u.dir, u.text,
                          S_IFDIR | ((uint32_t)mode & 01777 & ~fs_umask(process_self()->fs)), true,
                          NULL);
        path_end(&u);
    }
    return err;
}

/* Only the superuser makes devices. */
long sys_mknodat(uint64_t dirfd, uint64_t path, uint64_t mode, uint64_t dev)
{
    uint32_t type = (uint32_t)mode & S_IFMT, bits;
    struct upath u;
    int err;

    if (type == 0)
        type = S_IFREG;
    if (type == S_IFDIR)
        return -EPERM;
    if (type != S_IFREG && type != S_IFIFO && type != S_IFSOCK && type != S_IFCHR &&
        type != S_IFBLK)
        return -EINVAL;
    if ((type == S_IFCHR || type == S_IFBLK) && process_euid(process_self()) != 0)
        return -EPERM;
    err = path_begin(&u, dirfd, path);
    if (!err) {
        bits = (uint32_t)mode & 07777 & ~fs_umask(process_self()->fs);
        err = tree_node(&u.cred, u.dir, u.text, type | bits,
                        type == S_IFCHR || type == S_IFBLK ? (uint32_t)dev : 0, NULL);
        path_end(&u);
    }
    return err;
}

long sys_mknod(uint64_t path, uint64_t mode, uint64_t dev)
{
    return sys_mknodat((uint64_t)AT_FDCWD, path, mode, dev);
}

long sys_mkdir(uint64_t path, uint64_t mode) { return sys_mkdirat((uint64_t)AT_FDCWD, path, mode); }

/* Copy in two paths and call one function of kernel/io/tree.h with both. */
static long two_paths(uint64_t olddir, vaddr_t old, uint64_t newdir, vaddr_t new,
                      int (*fn)(const struct io_cred *, struct inode *, const char *,
                                struct inode *, const char *))
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

long sys_rename(uint64_t old, uint64_t new)
{
    return two_paths((uint64_t)AT_FDCWD, old, (uint64_t)AT_FDCWD, new, tree_rename);
}

long sys_renameat(uint64_t olddir, uint64_t old, uint64_t newdir, uint64_t new)
{
    return two_paths(olddir, old, newdir, new, tree_rename);
}

#define RENAME_FLAG_NOREPLACE 1u
#define RENAME_FLAG_EXCHANGE  2u

static int rename_new(const struct io_cred *cred, struct inode *olddir, const char *old,
                      struct inode *newdir, const char *new)
{
    return tree_rename_how(cred, olddir, old, newdir, new, TREE_NEW);
}

static int rename_exchange(const struct io_cred *cred, struct inode *olddir, const char *old,
                           struct inode *newdir, const char *new)
{
    return tree_rename_how(cred, olddir, old, newdir, new, TREE_EXCHANGE);
}

long sys_renameat2(uint64_t olddir, uint64_t old, uint64_t newdir, uint64_t new, uint64_t flags)
{
    switch (flags) {
    case 0:
        return two_paths(olddir, old, newdir, new, tree_rename);
    case RENAME_FLAG_NOREPLACE:
        return two_paths(olddir, old, newdir, new, rename_new);
    case RENAME_FLAG_EXCHANGE:
        return two_paths(olddir, old, newdir, new, rename_exchange);
    default:
        return -EINVAL;
    }
}

long sys_link(uint64_t old, uint64_t new)
{
    return two_paths((uint64_t)AT_FDCWD, old, (uint64_t)AT_FDCWD, new, tree_link);
}

long sys_linkat(uint64_t olddir, uint64_t old, uint64_t newdir, uint64_t new, uint64_t flags)
{
    struct fd_use file;
    struct inode *i;
    struct upath to;
    int err;

    if (CHECKED_FLAGS(flags, AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    if (!flags)
        return two_paths(olddir, old, newdir, new, tree_link);
    if ((flags & AT_EMPTY_PATH) && process_euid(process_self()) != 0)
        return -ENOENT; /* whoever got the descriptor from others could otherwise keep their file */
    err = path_lookup_at(
        olddir, old, flags & AT_SYMLINK_FOLLOW ? flags : flags | AT_SYMLINK_NOFOLLOW, &i, &file);
    if (err)
        return err;
    fd_put(file);
    if (!i)
        return -EXDEV;
    err = path_begin(&to, newdir, new);
    if (!err) {
        err = tree_link_inode(&to.cred, i, to.dir, to.text);
        path_end(&to);
    }
    inode_unref(i);
    return err;
}

static int symlink_to(const struct io_cred *cred, struct inode *none, const char *target,
                      struct inode *dir, const char *path)
{
    (void)none;
    return tree_symlink(cred, dir, path, target);
}

long sys_symlinkat(uint64_t target, uint64_t dirfd, uint64_t path)
{
    return two_paths((uint64_t)AT_FDCWD, target, dirfd, path, symlink_to);
}

long sys_symlink(uint64_t target, uint64_t path)
{
    return two_paths((uint64_t)AT_FDCWD, target, (uint64_t)AT_FDCWD, path, symlink_to);
}

/* Copy up to n bytes of the text of link i to user memory. text: room for `bytes` bytes. -ERANGE:
   the text may be longer than that, if it is less than PATH_MAX; else the number of bytes copied,
   or another negative errno. */
static long read_link(struct inode *i, char *text, size_t bytes, vaddr_t to, uint64_t n)
{
    long got = i->ops->readlink(i, text, bytes);

    if (got <= 0)
        return got;
    if ((size_t)got + 1 >= bytes && bytes < PATH_MAX)
        return -ERANGE;
    inode_accessed(i);
    return copyout(to, text, MIN(n, (uint64_t)got)) ? -EFAULT : (long)MIN(n, (uint64_t)got);
}

/* The text of a link is shorter than PATH_MAX; most are so short that they take no paged pool. An
   empty path stands for a symbolic link that dirfd was opened on, with O_PATH. */
long sys_readlinkat(uint64_t dirfd, uint64_t path, uint64_t to, uint64_t n)
{
    char few[96], *text;
    struct fd_use file;
    struct inode *i;
    long err = (int64_t)n <= 0
                   ? -EINVAL
                   : path_lookup_at(dirfd, path, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, &i, &file);

    if (err)
        return err;
    fd_put(file);
    if (!i)
        return -EINVAL;
    err = (i->mode & S_IFMT) == S_IFLNK ? read_link(i, few, sizeof(few), to, n) : -EINVAL;
    if (unlikely(err == -ERANGE)) {
        text = pgd_alloc(PATH_MAX);
        err = text ? read_link(i, text, PATH_MAX, to, n) : -ENOMEM;
        if (text)
            pgd_free(text, PATH_MAX);
    }
    inode_unref(i);
    return err;
}

long sys_readlink(uint64_t path, uint64_t to, uint64_t n)
{
    return sys_readlinkat((uint64_t)AT_FDCWD, path, to, n);
}
