/*
 * Renaming: a name moves to another place, or two names are exchanged. kernel/fs/inode.h states in
 * which order directories are locked for it, and what rename_mutex prevents.
 */
#include "kernel/base/errno.h"
#include "kernel/io/tree_private.h"

/* Is the directory `up` the directory `down` or an ancestor of it? rename_mutex is held. */
static bool is_ancestor(struct inode *up, struct inode *down)
{
    for (; down && down != up; down = down->parent)
        if (down->parent == down)
            return false;
    return down != NULL;
}

/* Exchange the names at which the two walks ended, with both directories locked, and rename_mutex
 * held exclusively if one of the two inodes is a directory. */
static int exchange_locked(const struct io_cred *cred, struct walk *a, struct walk *b)
{
    struct inode *i = a->inode, *j = b->inode;
    bool di = inode_is_dir(i), dj = inode_is_dir(j);
    int err;

    if ((di && is_ancestor(i, b->dir)) || (dj && is_ancestor(j, a->dir)))
        return -EINVAL;
    if (a->dir != b->dir && ((di && inode_access(i, cred, 2)) || (dj && inode_access(j, cred, 2))))
        return -EACCES; /* its name ".." changes */
    if (!a->dir->ops->exchange)
        return -EINVAL;
    if (di)
        mutex_lock(&i->lock);
    if (dj)
        mutex_lock(&j->lock);
    err = a->dir->ops->exchange(a->dir, &a->last, i, b->dir, &b->last, j);
    if (dj)
        mutex_unlock(&j->lock);
    if (di)
        mutex_unlock(&i->lock);
    return err;
}

/* Rename with both directories locked. moving: rename_mutex is held exclusively, too. -EAGAIN: it
 * is not held and is needed, because a directory is renamed or replaced. */
static int rename_locked(const struct io_cred *cred, struct walk *from, struct walk *to,
                         enum tree_rename_how how, bool moving)
{
    struct inode *i, *replaced;
    int err = tree_walk_again_locked(from);

    if (!err)
        err = tree_walk_again_locked(to);
    if (!err && (!from->last.len || !to->last.len))
        err = -EBUSY;
    if (!err)
        err = tree_may_remove(cred, from);
    if (!err && how == TREE_NEW && to->inode)
        err = -EEXIST;
    if (!err && how == TREE_EXCHANGE && !to->inode)
        err = -ENOENT;
    if (!err)
        err = to->inode ? tree_may_remove(cred, to) : tree_may_change(cred, to);
    if (err)
        return err;
    i = from->inode;
    replaced = to->inode;
    if (i == replaced)
        return 0; /* both names refer to one inode: nothing to do */
    if (from->dir->fs != to->dir->fs)
        return -EXDEV;
    if ((inode_is_dir(i) || (replaced && inode_is_dir(replaced))) && !moving)
        return -EAGAIN;
    if (how == TREE_EXCHANGE)
        return exchange_locked(cred, from, to);
    if (inode_is_dir(i) && is_ancestor(i, to->dir))
        return -EINVAL;
    if (inode_is_dir(i) && from->dir != to->dir && inode_access(i, cred, 2))
        return -EACCES; /* its name ".." changes */
    if (replaced && inode_is_dir(replaced) != inode_is_dir(i))
        return inode_is_dir(replaced) ? -EISDIR : -ENOTDIR;
    if (replaced == from->dir)
        return -ENOTEMPTY;
    if (!replaced && to->slash && !inode_is_dir(i))
        return -ENOTDIR;
    if (!inode_is_dir(i))
        return from->dir->ops->rename(from->dir, &from->last, i, to->dir, &to->last, replaced);
    mutex_lock(&i->lock);
    if (replaced)
        mutex_lock(&replaced->lock);
    err = from->dir->ops->rename(from->dir, &from->last, i, to->dir, &to->last, replaced);
    if (replaced)
        mutex_unlock(&replaced->lock);
    mutex_unlock(&i->lock);
    return err;
}

/* Rename under rename_mutex, between two directories or of a directory. */
static int rename_moving(const struct io_cred *cred, struct walk *from, struct walk *to,
                         enum tree_rename_how how)
{
    struct inode *first = from->dir, *second = to->dir;
    int err;

    mutex_lock(&rename_mutex);
    mutex_lock(&first->lock);
    if (second != first)
        mutex_lock(&second->lock);
    err = rename_locked(cred, from, to, how, true);
    if (second != first)
        mutex_unlock(&second->lock);
    mutex_unlock(&first->lock);
    mutex_unlock(&rename_mutex);
    return err;
}

int tree_rename_how(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
                    struct inode *newdir, const char *newpath, enum tree_rename_how how)
{
    struct walk from, to;
    int err = tree_walk(cred, olddir, oldpath, false, LAST_NAME, &from);

    if (err) {
        tree_walk_end(&from);
        return err;
    }
    err = tree_walk(cred, newdir, newpath, false, LAST_NAME, &to);
    if (!err && from.dir == to.dir) {
        mutex_lock(&from.dir->lock);
        err = rename_locked(cred, &from, &to, how, false);
        mutex_unlock(&from.dir->lock);
        if (err == -EAGAIN) {
            tree_walk_drop_stale(&from);
            tree_walk_drop_stale(&to);
            err = rename_moving(cred, &from, &to, how);
        }
    } else if (!err) {
        err = rename_moving(cred, &from, &to, how);
    }
    tree_walk_end(&from);
    tree_walk_end(&to);
    return err;
}

int tree_rename(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
                struct inode *newdir, const char *newpath)
{
    return tree_rename_how(cred, olddir, oldpath, newdir, newpath, TREE_REPLACE);
}
