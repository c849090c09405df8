/*
 * Names that are entered in a directory and removed from it. The name where a walk ended may have
 * changed since. So a call looks it up under the mutexes that it changes it with, and the result of
 * that look-up counts.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/notify.h"
#include "kernel/io/tree_private.h"

int tree_may_change(const struct io_cred *cred, const struct walk *w)
{
    if (!w->last.len)
        return w->inode == inode_root ? -EBUSY : -EINVAL;
    if (!w->dir->parent)
        return -ENOENT;
    return inode_access(w->dir, cred, 2);
}

int tree_may_remove(const struct io_cred *cred, const struct walk *w)
{
    int err = tree_may_change(cred, w);

    if (err)
        return err;
    if (!w->inode)
        return -ENOENT;
    if (w->inode->fs != w->dir->fs)
        return -EBUSY; /* a file system is mounted there */
    if ((w->dir->mode & S_ISVTX) && cred->uid && cred->uid != w->inode->uid &&
        cred->uid != w->dir->uid)
        return -EPERM;
    return 0;
}

/* Can a new name for a file of this type be entered where w ended? w->dir is locked. slash: the
 * error if the path ends in a slash, which only a directory may have. */
static int may_enter(const struct io_cred *cred, const struct walk *w, uint32_t type, int slash)
{
    if (w->inode)
        return -EEXIST;
    return w->slash && type != S_IFDIR ? slash : tree_may_change(cred, w);
}

/* May cred, who would create a file, open the one that is there? Not that of another user in a
 * sticky directory in which everybody may create names, unless it belongs to the directory's owner:
 * somebody may have put it there to read what the caller is about to write. As protected_regular
 * and protected_fifos of Linux, both 1; this holds for root too. w->dir is locked. */
static int may_open_made(const struct io_cred *cred, const struct walk *w)
{
    uint32_t mode = __atomic_load_n(&w->dir->mode, __ATOMIC_RELAXED);
    uint32_t type = __atomic_load_n(&w->inode->mode, __ATOMIC_RELAXED) & S_IFMT;
    uint32_t owner = __atomic_load_n(&w->inode->uid, __ATOMIC_RELAXED);

    if ((mode & (S_ISVTX | 02)) != (S_ISVTX | 02) || (type != S_IFREG && type != S_IFIFO))
        return 0;
    if (owner == cred->uid || owner == __atomic_load_n(&w->dir->uid, __ATOMIC_RELAXED))
        return 0;
    return -EACCES;
}

/* Create an inode in a directory that is watched. w->dir is locked. */
static int make_watched(struct walk *w, const struct fs_new *what, struct inode **out)
{
    struct inode *i;
    int err = w->dir->ops->create(w->dir, &w->last, what, &i);

    if (err)
        return err;
    notify_entered(w->dir, i);
    notify_name(w->dir, &w->last, i, IN_CREATE, 0);
    if (out)
        *out = i;
    else
        inode_unref(i); /* never the last: its name keeps it, or its file system */
    return 0;
}

/* Create an inode as `what` describes, under path. found: if not NULL, one that is there is as
 * good, and *found tells; follow: through symbolic links, or the last one is what is found. */
static int make(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
                const struct fs_new *what, bool *found, int slash, struct inode **out)
{
    struct walk w;
    int err = tree_walk(cred, dir, path, follow, LAST_HOLD, &w);

    if (!err && w.inode && found) {
        *found = true;
        err = may_open_made(cred, &w);
        if (!err) {
            *out = w.inode;
            w.inode = NULL;
        }
    } else if (!err) {
        err = may_enter(cred, &w, what->mode & S_IFMT, slash);
        if (!err && notify_wanted(w.dir))
            err = make_watched(&w, what, out);
        else if (!err)
            err = w.dir->ops->create(w.dir, &w.last, what, out);
    }
    tree_walk_end(&w);
    return err;
}

int tree_create(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t mode,
                bool excl, struct inode **out)
{
    struct fs_new what = {.mode = mode, .uid = cred->uid, .gid = cred->gid};
    bool found = false;

    return make(cred, dir, path, !excl, &what, excl ? NULL : &found, -EISDIR, out);
}

int tree_find_or_create(const struct io_cred *cred, struct inode *dir, const char *path,
                        uint32_t mode, bool follow, bool *found, struct inode **out)
{
    struct fs_new what = {.mode = mode, .uid = cred->uid, .gid = cred->gid};

    *found = false;
    return make(cred, dir, path, follow, &what, found, -EISDIR, out);
}

int tree_node(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t mode,
              uint32_t rdev, struct inode **out)
{
    struct fs_new what = {.mode = mode, .uid = cred->uid, .gid = cred->gid, .rdev = rdev};

    return make(cred, dir, path, false, &what, NULL, -ENOENT, out);
}

int tree_device(const char *path, uint32_t mode, uint32_t rdev)
{
    return tree_node(&(struct io_cred){0}, NULL, path, mode, rdev, NULL);
}

int tree_unnamed(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t mode,
                 bool linkable, struct inode **out)
{
    struct fs_new what = {.mode = S_IFREG | mode, .uid = cred->uid, .gid = cred->gid};
    struct inode *in;
    int err = tree_lookup(cred, dir, path, true, &in);

    if (err)
        return err;
    if (!inode_is_dir(in))
        err = -ENOTDIR;
    if (!err)
        err = inode_access(in, cred, 3);
    if (!err)
        err = in->ops->create_unnamed ? in->ops->create_unnamed(in, &what, linkable, out)
                                      : -EOPNOTSUPP;
    inode_unref(in);
    return err;
}

int tree_symlink(const struct io_cred *cred, struct inode *dir, const char *path,
                 const char *target)
{
    struct fs_new what = {
        .mode = S_IFLNK | 0777, .uid = cred->uid, .gid = cred->gid, .target = target};

    if (!*target)
        return -ENOENT;
    return strlen(target) < PATH_MAX ? make(cred, dir, path, false, &what, NULL, -ENOENT, NULL)
                                     : -ENAMETOOLONG;
}

/* May cred give i another name? Others than its owner only if they could read and write it anyhow,
 * and only a plain file: with a name of their own they could keep it when its owner removes it, or
 * make a privileged program open it. As protected_hardlinks of Linux. */
static int may_link(const struct io_cred *cred, const struct inode *i)
{
    uint32_t mode = __atomic_load_n(&i->mode, __ATOMIC_RELAXED);

    if (inode_is_dir(i))
        return -EPERM;
    if (!cred->uid || cred->uid == __atomic_load_n(&i->uid, __ATOMIC_RELAXED))
        return 0;
    if ((mode & S_IFMT) != S_IFREG || (mode & S_ISUID) ||
        (mode & (S_ISGID | 010)) == (S_ISGID | 010))
        return -EPERM;
    return inode_access(i, cred, 6) ? -EPERM : 0;
}

/* i has got the name where w ended. w->dir is locked. */
static void notify_linked(const struct walk *w, struct inode *i)
{
    if (notify_wanted(i))
        notify_self(i, IN_ATTRIB);
    if (notify_wanted(w->dir)) {
        notify_entered(w->dir, i);
        notify_name(w->dir, &w->last, i, IN_CREATE, 0);
    }
}

/* What w found has lost its name. w->dir is locked. */
static void notify_lost(const struct walk *w)
{
    if (notify_wanted(w->inode))
        notify_unlinked(w->inode);
    if (notify_wanted(w->dir))
        notify_name(w->dir, &w->last, w->inode, IN_DELETE, 0);
}

int tree_link_inode(const struct io_cred *cred, struct inode *i, struct inode *newdir,
                    const char *newpath)
{
    struct walk w;
    int err = may_link(cred, i);

    if (err)
        return err;
    err = tree_walk(cred, newdir, newpath, false, LAST_HOLD, &w);
    if (!err)
        err = may_enter(cred, &w, i->mode & S_IFMT, -ENOENT);
    if (!err && w.dir->fs != i->fs)
        err = -EXDEV;
    if (!err)
        err = w.dir->ops->link(w.dir, &w.last, i);
    if (!err)
        notify_linked(&w, i);
    tree_walk_end(&w);
    return err;
}

int tree_link(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
              struct inode *newdir, const char *newpath)
{
    struct inode *i;
    int err = tree_lookup(cred, olddir, oldpath, false, &i);

    if (!err) {
        err = tree_link_inode(cred, i, newdir, newpath);
        inode_unref(i);
    }
    return err;
}

static int unlink_file(const struct io_cred *cred, struct inode *dir, const char *path)
{
    struct walk w;
    int err = tree_walk(cred, dir, path, false, LAST_HOLD, &w);

    if (!err && !w.last.len) {
        err = tree_may_change(cred, &w);
    } else if (!err) {
        err = tree_may_remove(cred, &w);
        if (!err && inode_is_dir(w.inode))
            err = -EISDIR;
        if (!err)
            err = w.dir->ops->unlink(w.dir, &w.last, w.inode);
        if (!err)
            notify_lost(&w);
    }
    tree_walk_end(
        &w); /* drops the last reference, which frees the file's pages, outside the lock */
    return err;
}

/* Remove the directory w names. w->dir and rename_mutex are locked. */
static int remove_locked(const struct io_cred *cred, struct walk *w)
{
    int err = tree_walk_again_locked(w);

    if (!err)
        err = tree_may_remove(cred, w);
    if (!err && !inode_is_dir(w->inode))
        err = -ENOTDIR;
    if (!err)
        err = mutex_lock_killable(&w->inode->lock);
    if (err)
        return err;
    err = w->dir->ops->unlink(w->dir, &w->last, w->inode);
    mutex_unlock(&w->inode->lock);
    if (!err)
        notify_lost(w);
    return err;
}

static int remove_directory(const struct io_cred *cred, struct inode *dir, const char *path)
{
    struct walk w;
    int err = tree_walk(cred, dir, path, false, LAST_NAME, &w);

    if (!err)
        err = mutex_lock_killable(&rename_mutex);
    if (!err) {
        err = mutex_lock_killable(&w.dir->lock);
        if (!err) {
            err = remove_locked(cred, &w);
            mutex_unlock(&w.dir->lock);
        }
        mutex_unlock(&rename_mutex);
    }
    tree_walk_end(&w);
    return err;
}

int tree_unlink(const struct io_cred *cred, struct inode *dir, const char *path, bool directory)
{
    return (directory ? remove_directory : unlink_file)(cred, dir, path);
}
