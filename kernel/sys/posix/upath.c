#include "kernel/sys/posix/upath.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "mm/pool/pool.h"

void path_end(struct upath *u)
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
int path_begin(struct upath *u, uint64_t dirfd, vaddr_t upath)
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
