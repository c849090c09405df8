/*
 * Paths from user memory. Each path is copied once, so that another thread cannot change it while
 * it is resolved.
 */
#include "kernel/sys/posix/upath.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "mm/pool/pool.h"

#define COUNTED_DIR  1u
#define COUNTED_ROOT 2u

void path_free(struct upath *u)
{
    if (u->large)
        pgd_free(u->large, u->nbytes);
    if (u->counted & COUNTED_DIR)
        inode_unref(u->dir);
    if (u->counted & COUNTED_ROOT)
        inode_unref(u->cred.root);
}

/* Set the directory at which a path relative to dirfd starts. */
static int path_dir(uint64_t dirfd, struct upath *u)
{
    struct process *p = process_self();
    struct fd_use use;
    int err = -EBADF;

    if ((int32_t)dirfd == AT_FDCWD) {
        struct cwd_use cwd = fs_cwd_get(p->fs);

        u->dir = cwd.dir;
        u->counted |= cwd.counted ? COUNTED_DIR : 0;
        return 0;
    }
    use = fd_get(p->files, dirfd);
    if (use.file)
        err = use.file->inode && inode_is_dir(use.file->inode) ? 0 : -ENOTDIR;
    if (!err) {
        u->dir = use.file->inode;
        if (use.counted) {
            u->counted |= COUNTED_DIR;
            inode_ref(u->dir);
        }
    }
    fd_put(use);
    return err;
}

/* Copy in a path that did not fit into u->few. As copyin_str, or -ENOMEM. */
static long __attribute__((noinline)) copy_long(struct upath *u, vaddr_t upath)
{
    static const unsigned sizes[] = {PATH_LONG, PATH_MAX};
    long n = -ENAMETOOLONG;

    for (unsigned k = 0; n == -ENAMETOOLONG && k < ARRAY_SIZE(sizes); k++) {
        if (k)
            pgd_free(u->large, u->nbytes);
        u->nbytes = sizes[k];
        u->large = pgd_alloc(u->nbytes);
        if (!u->large)
            return -ENOMEM;
        u->text = u->large;
        n = copyin_str(u->text, upath, u->nbytes);
    }
    return n;
}

static inline __attribute__((always_inline)) int begin(struct upath *u, uint64_t dirfd,
                                                       vaddr_t upath, bool in_dir)
{
    struct cwd_use root = fs_root_get(process_self()->fs);
    long n;
    int err;

    u->cred = process_cred(process_self());
    u->cred.root = root.dir;
    u->dir = NULL;
    u->counted = root.counted ? COUNTED_ROOT : 0;
    u->text = u->few + upath % 8;
    u->large = NULL;
    n = copyin_str_in_step(u->text, upath, PATH_FEW);
    if (n == -ENAMETOOLONG)
        n = copy_long(u, upath);
    err = n < 0 ? (int)n : 0;
    if (!err && (u->text[0] != '/' || in_dir))
        err = path_dir(dirfd, u);
    if (err)
        path_end(u);
    return err;
}

int path_begin(struct upath *u, uint64_t dirfd, vaddr_t upath)
{
    return begin(u, dirfd, upath, false);
}

int path_begin_in(struct upath *u, uint64_t dirfd, vaddr_t upath, bool in_dir)
{
    return begin(u, dirfd, upath, in_dir);
}

int path_lookup(uint64_t dirfd, vaddr_t upath, bool follow, struct inode **out)
{
    struct upath u;
    int err = path_begin(&u, dirfd, upath);

    if (!err) {
        err = tree_lookup(&u.cred, u.dir, u.text, follow, out);
        path_end(&u);
    }
    return err;
}

/* What dirfd itself is, AT_FDCWD the working directory. */
static int own_inode(uint64_t dirfd, struct inode **out, struct fd_use *file)
{
    struct cwd_use cwd;

    if ((int32_t)dirfd != AT_FDCWD) {
        *file = fd_get(process_self()->files, dirfd);
        if (!file->file)
            return -EBADF;
        if (!file->file->inode)
            return 0;
        *out = file->file->inode;
        inode_ref(*out);
        fd_put(*file);
        *file = (struct fd_use){NULL, false};
        return 0;
    }
    cwd = fs_cwd_get(process_self()->fs);
    *out = cwd.dir ? cwd.dir : inode_root;
    inode_ref(*out);
    fs_cwd_put(cwd);
    return 0;
}

int path_lookup_at(uint64_t dirfd, vaddr_t upath, uint64_t flags, struct inode **out,
                   struct fd_use *file)
{
    char first;

    *file = (struct fd_use){NULL, false};
    *out = NULL;
    if (flags & AT_EMPTY_PATH) {
        if (copyin(&first, upath, 1) != 0)
            return -EFAULT;
        if (!first)
            return own_inode(dirfd, out, file);
    }
    return path_lookup(dirfd, upath, !(flags & AT_SYMLINK_NOFOLLOW), out);
}
