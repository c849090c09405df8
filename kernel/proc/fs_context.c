/* Root, working directory and umask: fs_context.h describes the sharing. */
#include "kernel/proc/fs_context.h"

#include "kernel/fs/inode.h"

void fs_init(struct fs_context *fs, uint32_t umask)
{
    fs->lock = (struct spinlock)SPINLOCK_INIT("working directory", RANK_FILE, IPL_ASTDEL);
    fs->cwd = fs->root = NULL;
    fs->umask = umask;
    fs->others = 0;
}

void fs_fork(struct fs_context *to, struct fs_context *from)
{
    struct cwd_use cwd = fs_cwd_get(from), root = fs_root_get(from);

    fs_init(to, fs_umask(from));
    to->cwd = cwd.dir;
    to->root = root.dir;
    if (cwd.dir && !cwd.counted) /* a counted reference passes to the copy */
        inode_ref(cwd.dir);
    if (root.dir && !root.counted)
        inode_ref(root.dir);
}

void fs_share(struct fs_context *fs) { __atomic_fetch_add(&fs->others, 1, __ATOMIC_RELAXED); }

bool fs_release(struct fs_context *fs)
{
    if (fs_shared(fs) && __atomic_fetch_sub(&fs->others, 1, __ATOMIC_ACQ_REL) != 0)
        return false;
    if (fs->cwd)
        inode_unref(fs->cwd);
    if (fs->root)
        inode_unref(fs->root);
    return true;
}

static struct inode *counted(struct fs_context *fs, struct inode *const *at)
{
    ipl_t ipl = spin_lock(&fs->lock);
    struct inode *dir = *at;

    if (dir)
        inode_ref(dir);
    spin_unlock(&fs->lock, ipl);
    return dir;
}

struct inode *fs_cwd_counted(struct fs_context *fs) { return counted(fs, &fs->cwd); }
struct inode *fs_root_counted(struct fs_context *fs) { return counted(fs, &fs->root); }

void fs_cwd_put(struct cwd_use u)
{
    if (u.counted)
        inode_unref(u.dir);
}

/* The lock is for /proc, too, whose readers are no users of fs: the reference that they take must
 * come before the one that is dropped here. */
static void set(struct fs_context *fs, struct inode **at, struct inode *dir)
{
    ipl_t ipl = spin_lock(&fs->lock);
    struct inode *old = *at;

    __atomic_store_n(at, dir, __ATOMIC_RELAXED);
    spin_unlock(&fs->lock, ipl);
    if (old)
        inode_unref(old);
}

void fs_cwd_set(struct fs_context *fs, struct inode *dir) { set(fs, &fs->cwd, dir); }
void fs_root_set(struct fs_context *fs, struct inode *dir) { set(fs, &fs->root, dir); }
