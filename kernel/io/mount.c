/*
 * Mounts: which file systems there are, and which directories they cover.
 *
 * A file system covers a directory of the first one. It holds a reference to that directory and,
 * for its root's "..", to the parent. Neither can be removed or moved meanwhile: a look-up of the
 * name finds the root instead, which is of another file system.
 *
 * inode.covered_by changes with the parent locked exclusively. Without that rule:
 *
 *     look-up of /mnt/x               unmount of /mnt
 *     finds covered_by
 *                                     nobody uses the root: it is freed
 *     takes a reference to it
 *
 * An unmount first lets go of what is kept and nobody uses, which waits for the disk, without any
 * lock; and then looks, with the locks held, whether something is in use. If others have looked
 * names up in between, it does this again, some times.
 *
 * The list of file systems has a lock. Who has all of them write back, or free memory, holds it
 * only to come from one to the next: an unmount waits until nobody visits the file system so.
 * Order: the lock, rename_mutex, directories.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/inode.h"
#include "kernel/io/tree.h"
#include "kernel/sched/thread.h"

/* A read ahead, or the end of a process, may hold an inode for a moment longer. */
#define UNMOUNT_TRIES    30u
#define UNMOUNT_PAUSE_NS 2000000u

/* One unmount at a time: each has a reference to the root, with which it is in use for the next. */
static struct mutex unmount_lock = MUTEX_INIT("unmount", MUTEX_UNMOUNT, unmount_lock);
static struct mutex mounts_lock = MUTEX_INIT("mounts", MUTEX_MOUNTS, mounts_lock);

/* Lock what a change of covered_by needs, for a directory with this parent. */
static int lock_for_change(struct inode *parent)
{
    int err = mutex_lock_killable(&mounts_lock);

    if (err)
        return err;
    err = mutex_lock_killable(&rename_mutex);
    if (!err && (err = mutex_lock_killable(&parent->lock)) != 0)
        mutex_unlock(&rename_mutex);
    if (err)
        mutex_unlock(&mounts_lock);
    return err;
}

static void unlock_after_change(struct inode *parent)
{
    mutex_unlock(&parent->lock);
    mutex_unlock(&rename_mutex);
    mutex_unlock(&mounts_lock);
}

/* The parent of a directory, with a reference; NULL: it was removed. */
static struct inode *parent_of(struct inode *dir)
{
    struct inode *parent;

    mutex_lock_shared(&dir->lock);
    parent = dir->parent;
    if (parent)
        inode_ref(parent);
    mutex_unlock_shared(&dir->lock);
    return parent;
}

/* Cover dir, if it is still in `parent`; takes over the references to both. */
static int cover_locked(struct inode *dir, struct inode *parent, struct fs *fs)
{
    struct fs *last = inode_root->fs;

    if (dir->parent != parent || dir->covered_by)
        return -EBUSY;
    fs->covered = dir;
    fs->root->parent = parent;
    while (last->next)
        last = last->next;
    last->next = fs;
    dir->covered_by = fs->root;
    return 0;
}

int tree_mount(const struct io_cred *cred, struct inode *from, const char *path, struct fs *fs)
{
    struct inode *dir, *parent = NULL;
    int err = tree_lookup(cred, from, path, true, &dir);

    if (err)
        return err;
    if (!inode_is_dir(dir))
        err = -ENOTDIR;
    else if (dir->fs != inode_root->fs || dir == inode_root || !(parent = parent_of(dir)))
        err = -EBUSY;
    if (!err)
        err = lock_for_change(parent);
    if (!err) {
        err = cover_locked(dir, parent, fs);
        unlock_after_change(parent);
    }
    if (err) {
        if (parent)
            inode_unref(parent);
        inode_unref(dir);
    }
    return err;
}

/* Uncover the directory, if nobody uses fs but the caller, with one reference to its root. */
static int uncover_locked(struct fs *fs)
{
    struct fs *before = inode_root->fs;

    if (__atomic_load_n(&fs->visits, __ATOMIC_ACQUIRE))
        return -EAGAIN;
    if (!fs->is_unused(fs))
        return -EBUSY;
    while (before->next != fs)
        before = before->next;
    before->next = fs->next;
    fs->next = NULL;
    fs->covered->covered_by = NULL;
    fs->root->parent = fs->root;
    return 0;
}

static int unmount_locked(const struct io_cred *cred, struct inode *from, const char *path,
                          bool follow)
{
    struct inode *root, *parent;
    struct fs *fs;
    int err = tree_lookup(cred, from, path, follow, &root);

    if (err)
        return err;
    fs = root->fs;
    if (fs->root != root)
        err = -EINVAL;
    else if (!fs->end)
        err = -EBUSY;
    parent = root->parent;
    for (unsigned k = 0; !err; k++) {
        err = fs->settle(fs);
        if (!err)
            err = lock_for_change(parent);
        if (err)
            break;
        err = uncover_locked(fs);
        unlock_after_change(parent);
        k -= err == -EAGAIN; /* who goes through all file systems does not use it */
        if ((err != -EBUSY && err != -EAGAIN) || k == UNMOUNT_TRIES)
            break;
        thread_sleep_ns(UNMOUNT_PAUSE_NS);
        err = err == -EAGAIN && thread_killed() ? -EINTR : 0;
    }
    if (err) {
        inode_unref(root);
        return err;
    }
    inode_unref(root); /* the file system has its own reference, and nobody another one */
    inode_unref(fs->covered);
    inode_unref(parent);
    fs->end(fs);
    return 0;
}

int tree_unmount(const struct io_cred *cred, struct inode *from, const char *path, bool follow)
{
    int err = mutex_lock_killable(&unmount_lock);

    if (err)
        return err;
    err = unmount_locked(cred, from, path, follow);
    mutex_unlock(&unmount_lock);
    return err;
}

int tree_usage(uint32_t dev, struct fs_usage *u)
{
    const struct fs *fs = inode_root->fs;
    int err = mutex_lock_shared_killable(&mounts_lock);

    if (err)
        return err;
    while (fs && fs->dev != dev)
        fs = fs->next;
    if (fs)
        fs->usage(fs, u);
    mutex_unlock_shared(&mounts_lock);
    return fs ? 0 : -EINVAL;
}

int tree_mount_describe(unsigned index, struct tree_mount_text *t)
{
    const struct fs *fs = inode_root->fs;
    int err = mutex_lock_shared_killable(&mounts_lock);
    long n;

    if (err)
        return err;
    while (fs && index--)
        fs = fs->next;
    if (fs) {
        t->type = fs->name;
        t->read_only = fs->read_only;
        str_copy(t->source, fs->source, sizeof(t->source));
        n = tree_path(fs->root, t->path, sizeof(t->path));
        if (n < 0)
            t->path[0] = '\0';
    }
    mutex_unlock_shared(&mounts_lock);
    return fs ? 0 : -ENOENT;
}

/* The file system after `last`, which is left (NULL: the first one). It stays mounted until it is
 * left, with no lock held. NULL: there is none, or the thread is to end. */
static struct fs *visit_next(struct fs *last)
{
    struct fs *fs = NULL;

    if (mutex_lock_shared_killable(&mounts_lock) == 0) {
        fs = last ? last->next : inode_root->fs;
        if (fs)
            __atomic_fetch_add(&fs->visits, 1, __ATOMIC_RELAXED);
        mutex_unlock_shared(&mounts_lock);
    }
    if (last)
        __atomic_fetch_sub(&last->visits, 1, __ATOMIC_RELEASE);
    return fs;
}

void tree_sync(void)
{
    for (struct fs *fs = NULL; (fs = visit_next(fs)) != NULL;)
        if (fs->sync)
            fs->sync(fs);
}

void tree_finish(uint32_t dev, uint64_t deadline_ns)
{
    struct fs *fs = inode_root->fs;

    if (mutex_lock_shared_killable(&mounts_lock))
        return;
    while (fs && fs->dev != dev)
        fs = fs->next;
    if (fs && fs->finish)
        fs->finish(fs, deadline_ns);
    mutex_unlock_shared(&mounts_lock);
}

enum fs_reclaimed tree_reclaim(void)
{
    enum fs_reclaimed most = FS_RECLAIMED_NONE;

    for (struct fs *fs = NULL; (fs = visit_next(fs)) != NULL;)
        if (fs->reclaim)
            most = MAX(most, fs->reclaim(fs));
    return most;
}
