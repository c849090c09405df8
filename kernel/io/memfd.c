/* Files without a name in memory (memfd_create), and their seals. */
#include "kernel/io/memfd.h"

#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "mm/object/object.h"

#define SEALS_KNOWN (SEAL_SEAL | SEAL_SHRINK | SEAL_GROW | SEAL_WRITE | SEAL_FUTURE_WRITE)

int memfd_create(const struct io_cred *cred, bool sealable, struct file **out)
{
    struct fs_new what = {.mode = S_IFREG | 0777, .uid = cred->uid, .gid = cred->gid};
    struct file *f = file_alloc(&regular_ops, O_RDWR);
    int err;

    if (!f)
        return file_why_not();
    err = inode_root->ops->create_unnamed(inode_root, &what, false, &f->inode);
    if (err) {
        file_free(f);
        return err;
    }
    f->inode->memfd = true;
    f->inode->seals = sealable ? 0 : SEAL_SEAL;
    *out = f;
    return 0;
}

/* A writable mapping could change what SEAL_WRITE promises not to change. Every mapping counts,
 * also a private one. The mutex keeps new ones away (sys_mmap). */
long memfd_seal(struct file *f, uint32_t seals)
{
    struct inode *i = f->inode;
    long err;

    if ((!memfd_is_huge(f) && (!i || !i->memfd)) || (seals & ~SEALS_KNOWN))
        return -EINVAL;
    if ((f->flags & O_ACCMODE) == O_RDONLY)
        return -EPERM;
    if (memfd_is_huge(f))
        return memfd_huge_seal(f, seals);
    err = mutex_lock_killable(&i->lock);
    if (err)
        return err;
    if (i->seals & SEAL_SEAL)
        err = -EPERM;
    else if ((seals & ~i->seals & SEAL_WRITE) && object_is_mapped(i->object))
        err = -EBUSY;
    else
        i->seals |= seals;
    mutex_unlock(&i->lock);
    return err;
}

long memfd_seals(struct file *f)
{
    long seals;

    if (memfd_is_huge(f))
        return memfd_huge_seals(f);
    if (!f->inode || !f->inode->memfd)
        return -EINVAL;
    seals = mutex_lock_shared_killable(&f->inode->lock);
    if (seals)
        return seals;
    seals = f->inode->seals;
    mutex_unlock_shared(&f->inode->lock);
    return seals;
}
