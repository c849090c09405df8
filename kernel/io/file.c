/* Open files: reference counts and opening by path. */
#include "kernel/io/file.h"

#include "kernel/base/errno.h"
#include "kernel/fs/notify.h"
#include "kernel/io/epoll.h"
#include "kernel/io/io_private.h"
#include "kernel/io/lock.h"
#include "kernel/io/open_flags.h"
#include "kernel/quota/quota.h"
#include "mm/pool/pool.h"

struct file *file_alloc(const struct file_ops *ops, uint32_t flags)
{
    struct account *a = account_self();
    struct file *f;

    if (!account_charge(a, QUOTA_FILES, 1))
        return NULL;
    f = npp_alloc(sizeof(*f));
    if (!f) {
        account_release(a, QUOTA_FILES, 1);
        return NULL;
    }
    *f = (struct file){.refs = 1, .flags = flags, .ops = ops, .account = a};
    return f;
}

int file_why_not(void)
{
    return account_is_full(account_self(), QUOTA_FILES, 1) ? -ENFILE : -ENOMEM;
}

int64_t anon_lseek(struct file *f, int64_t off, int whence)
{
    (void)f, (void)off, (void)whence;
    return 0;
}

int anon_stat(struct file *f, struct file_stat *st)
{
    (void)f;
    *st = (struct file_stat){.ino = 1, .mode = 0600, .nlink = 1, .blksize = 4096};
    return 0;
}

void file_free(struct file *f)
{
    account_release(f->account, QUOTA_FILES, 1);
    npp_free(f, sizeof(*f));
}

static uint32_t closing(const struct file *f)
{
    return f->flags & O_PATH                    ? 0
           : (f->flags & O_ACCMODE) == O_RDONLY ? IN_CLOSE_NOWRITE
                                                : IN_CLOSE_WRITE;
}

/* What an inode is to know of the end of an open file. */
static inline void leave_inode(struct file *f)
{
    if (lock_any(f->inode))
        lock_release(f->inode, f);
    if (notify_wanted(f->inode))
        notify_event(f->inode, closing(f));
}

/* The last reference is gone. */
static __attribute__((noinline)) void file_end(struct file *f)
{
    (void)__atomic_load_n(&f->refs, __ATOMIC_ACQUIRE); /* after what others did with it */
    if (unlikely(__atomic_load_n(&f->watches, __ATOMIC_ACQUIRE) != NULL))
        epoll_file_ends(f);
    if (f->inode)
        leave_inode(f);
    if (f->ops->close)
        f->ops->close(f);
    if (f->inode)
        inode_unref(f->inode);
    file_free(f);
}

void file_unref(struct file *f)
{
    if (__atomic_fetch_sub(&f->refs, 1, __ATOMIC_RELEASE) == 1)
        file_end(f);
}

/* The access, read (4) and write (2), that the open flags ask for. */
static unsigned wanted(uint32_t flags)
{
    switch (flags & O_ACCMODE) {
    case O_RDONLY:
        return 4;
    case O_WRONLY:
        return 2;
    default:
        return 6;
    }
}

static int may_open(struct inode *i, const struct io_cred *cred, uint32_t flags, bool created)
{
    uint32_t type = i->mode & S_IFMT;

    if ((flags & O_DIRECTORY) && type != S_IFDIR)
        return -ENOTDIR;
    if (flags & O_PATH)
        return 0;
    if (type == S_IFLNK)
        return -ELOOP;
    if (type == S_IFDIR && ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC))))
        return -EISDIR;
    if ((flags & O_NOATIME) && cred->uid && cred->uid != __atomic_load_n(&i->uid, __ATOMIC_RELAXED))
        return -EPERM;
    return created ? 0 : inode_access(i, cred, wanted(flags));
}

/* Is i, which was found where cred would create a file, one of another user? Then the directory
 * decides whether it may be opened. */
static bool is_suspect(const struct inode *i, const struct io_cred *cred)
{
    uint32_t type = i->mode & S_IFMT;

    return cred->uid != __atomic_load_n(&i->uid, __ATOMIC_RELAXED) &&
           (type == S_IFREG || type == S_IFIFO);
}

/* Look the inode up, and create or truncate it as the flags say. */
static int open_inode(const struct io_cred *cred, struct inode *dir, const char *path,
                      uint32_t flags, uint32_t mode, struct inode **out, bool *created)
{
    bool excl = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL), found = true;
    int err;

    if (unlikely(flags & O_TMPFILE))
        return wanted(flags) & 2
                   ? tree_unnamed(cred, dir, path, mode & 07777, !(flags & O_EXCL), out)
                   : -EINVAL;
    err = tree_lookup(cred, dir, path, !(flags & O_NOFOLLOW) && !excl, out);
    if (!err && excl) {
        inode_unref(*out);
        return -EEXIST;
    }
    if (!err && (flags & O_CREAT) && is_suspect(*out, cred)) {
        inode_unref(*out);
        err = -ENOENT; /* to be looked up again with its directory */
    }
    if (err == -ENOENT && excl) {
        found = false;
        err = tree_create(cred, dir, path, S_IFREG | (mode & 07777), true, out);
    } else if (err == -ENOENT && (flags & O_CREAT)) {
        /* Another process may create the file meanwhile, with permissions of its own choice. */
        err = tree_find_or_create(cred, dir, path, S_IFREG | (mode & 07777), !(flags & O_NOFOLLOW),
                                  &found, out);
    }
    if (err)
        return err;
    *created = !found;
    err = may_open(*out, cred, flags, !found);
    if (!err && (flags & O_TRUNC) && (wanted(flags) & 2) && ((*out)->mode & S_IFMT) == S_IFREG)
        err = inode_truncate(*out, 0);
    if (err)
        inode_unref(*out);
    return err;
}

static int64_t path_lseek(struct file *f, int64_t off, int whence)
{
    (void)f, (void)off, (void)whence;
    return -EBADF;
}

static int path_stat(struct file *f, struct file_stat *st)
{
    inode_stat(f->inode, st);
    return 0;
}

static long path_ioctl(struct file *f, unsigned long req, vaddr_t arg)
{
    (void)f, (void)req, (void)arg;
    return -EBADF;
}

static unsigned path_poll(struct file *f, struct poll_entry *e)
{
    (void)f, (void)e;
    return POLLNVAL;
}

static long path_getdents(struct file *f, vaddr_t ubuf, size_t n, bool old)
{
    (void)f, (void)ubuf, (void)n, (void)old;
    return -EBADF;
}

static int path_truncate(struct file *f, uint64_t size)
{
    (void)f, (void)size;
    return -EBADF;
}

/* A file opened with O_PATH stands for a place in the tree: it was not opened itself. */
static const struct file_ops path_ops = {.name = "path",
                                         .lseek = path_lseek,
                                         .stat = path_stat,
                                         .ioctl = path_ioctl,
                                         .poll = path_poll,
                                         .getdents = path_getdents,
                                         .truncate = path_truncate};

/* The operations of an open file of i's type; NULL: it cannot be opened. */
static const struct file_ops *ops_of(const struct inode *i)
{
    switch (i->mode & S_IFMT) {
    case S_IFREG:
        return i->ops->file_ops ? i->ops->file_ops : &regular_ops;
    case S_IFDIR:
        return &directory_ops;
    case S_IFIFO:
        return &fifo_ops;
    case S_IFCHR:
        return device_ops(i->rdev);
    case S_IFBLK: /* whoever serves another file system does not give access to disks */
        return i->fs == inode_root->fs ? &disk_ops : NULL;
    default:
        return NULL;
    }
}

/* Open a file that has something to do for it: a terminal wants to know whether it may become the
 * controlling one, which is no property of the open file. */
static int open_by_type(struct file *f, uint32_t flags)
{
    int err;

    f->flags |= flags & O_NOCTTY;
    err = f->ops->open(f);
    f->flags &= ~O_NOCTTY;
    return err;
}

int file_open_at(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t flags,
                 uint32_t mode, struct file **out, bool *created)
{
    struct file *f;
    int err;

    *created = false;
    if (unlikely(flags & O_PATH))
        flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW;
    if ((flags & O_ACCMODE) == O_ACCMODE ||
        ((flags & O_TMPFILE) && (flags & (O_DIRECTORY | O_CREAT)) != O_DIRECTORY))
        return -EINVAL;
    /* Allocate first: creating or truncating the file cannot be undone. */
    f = file_alloc(NULL, flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOCTTY | O_CLOEXEC));
    if (!f)
        return file_why_not();
    err = open_inode(cred, dir, path, flags, mode, &f->inode, created);
    if (err) {
        file_free(f);
        return err;
    }
    f->ops = flags & O_PATH ? &path_ops : ops_of(f->inode);
    if (!f->ops)
        err = -ENXIO;
    else if (!(flags & O_PATH))
        err = inode_open(f->inode, (wanted(flags) & 2) != 0);
    if (!err && f->ops->open)
        err = open_by_type(f, flags);
    if (err) {
        inode_unref(f->inode);
        file_free(f);
        return err;
    }
    f->failed = inode_failures_seen(f->inode);
    if (!(flags & O_PATH))
        notify(f->inode, IN_OPEN);
    *out = f;
    return 0;
}

int file_open(const char *path, uint32_t flags, uint32_t mode, struct file **out)
{
    bool created;

    return file_open_at(&(struct io_cred){0}, NULL, path, flags, mode, out, &created);
}
