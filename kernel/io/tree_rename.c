/*
 * Renaming: a name moves to another place, or two names are exchanged. kernel/fs/inode.h states in
 * which order directories are locked for it, and what rename_mutex prevents.
 */
#include "kernel/base/errno.h"
#include "kernel/fs/notify.h"
#include "kernel/io/tree_private.h"

/* Is the directory `up` the directory `down` or an ancestor of it? rename_mutex is held. */
static bool is_ancestor(struct inode *up, struct inode *down)
{
    for (; down && down != up; down = down->parent)
        if (down->parent == down)
            return false;
    return down != NULL;
}

/* Lock two inodes, or the one that is not NULL. 0, or -EINTR with none locked: the thread is to
 * end, and would have had to wait. */
static int lock_both(struct inode *a, struct inode *b)
{
    int err = a ? mutex_lock_killable(&a->lock) : 0;

    if (err || !b || b == a)
        return err;
    err = mutex_lock_killable(&b->lock);
    if (err && a)
        mutex_unlock(&a->lock);
    return err;
}

static void unlock_both(struct inode *a, struct inode *b)
{
    if (b && b != a)
        mutex_unlock(&b->lock);
    if (a)
        mutex_unlock(&a->lock);
}

/* i has moved from one name to the other, where `replaced` lost its name (NULL: none was there).
 * Both directories are locked. */
static void moved(const struct walk *from, const struct walk *to, struct inode *i,
                  struct inode *replaced)
{
    uint32_t cookie = notify_cookie();

    notify_entered(to->dir, i);
    notify_name(from->dir, &from->last, i, IN_MOVED_FROM, cookie);
    notify_name(to->dir, &to->last, i, IN_MOVED_TO, cookie);
    if (replaced)
        notify_unlinked(replaced);
    notify_self(i, IN_MOVE_SELF);
}

/* Does anybody want to know of a move? */
static bool move_wanted(const struct walk *from, const struct walk *to)
{
    return notify_wanted(from->dir) || notify_wanted(to->dir) || notify_wanted(from->inode) ||
           (to->inode && notify_wanted(to->inode));
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
    err = lock_both(di ? i : NULL, dj ? j : NULL);
    if (err)
        return err;
    err = a->dir->ops->exchange(a->dir, &a->last, i, b->dir, &b->last, j);
    unlock_both(di ? i : NULL, dj ? j : NULL);
    if (!err && move_wanted(a, b)) {
        moved(a, b, i, NULL);
        moved(b, a, j, NULL);
    }
    return err;
}

/* Rename what `from` found, with both directories locked; for a directory rename_mutex is held. */
static int move(struct walk *from, struct walk *to)
{
    struct inode *i = from->inode, *replaced = to->inode;
    bool directory = inode_is_dir(i);
    int err = directory ? lock_both(i, replaced) : 0;

    if (err)
        return err;
    err = from->dir->ops->rename(from->dir, &from->last, i, to->dir, &to->last, replaced);
    if (directory)
        unlock_both(i, replaced);
    if (!err && move_wanted(from, to))
        moved(from, to, i, replaced);
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
    return move(from, to);
}

/* Rename under rename_mutex, between two directories or of a directory. */
static int rename_moving(const struct io_cred *cred, struct walk *from, struct walk *to,
                         enum tree_rename_how how)
{
    int err = mutex_lock_killable(&rename_mutex);

    if (err)
        return err;
    err = lock_both(from->dir, to->dir);
    if (!err) {
        if (from->dir != to->dir)
            __atomic_add_fetch(&tree_moves, 1, __ATOMIC_RELEASE);
        err = rename_locked(cred, from, to, how, true);
        unlock_both(from->dir, to->dir);
    }
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
        err = mutex_lock_killable(&from.dir->lock);
        if (!err) {
            err = rename_locked(cred, &from, &to, how, false);
            mutex_unlock(&from.dir->lock);
        }
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
