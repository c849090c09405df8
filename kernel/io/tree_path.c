/* From an inode to its path. */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/tree_private.h"

#define UNREACHABLE "(unreachable)" /* as Linux says it */

/* rename_mutex is held, so names and parents of directories do not change. */
static long path_locked(struct inode *root, struct inode *dir, char *buf, size_t n)
{
    struct fs_entry e;
    size_t at = n;

    buf[--at] = '\0';
    if (dir == root || dir == inode_root)
        buf[--at] = '/';
    while (dir != root && dir != inode_root) {
        struct inode *parent = dir->parent;
        int err;

        if (!parent)
            return -ENOENT;
        /* what a file system is mounted on has the name of its root */
        err = dir == dir->fs->root ? dir->fs->covered->ops->name_of(dir->fs->covered, &e)
                                   : dir->ops->name_of(dir, &e);
        if (err)
            return err;
        if (at < (size_t)e.len + 1)
            return -ERANGE;
        at -= e.len;
        memcpy(buf + at, e.text, e.len);
        buf[--at] = '/';
        dir = parent;
    }
    if (unlikely(dir != root)) {
        if (at < strlen(UNREACHABLE))
            return -ERANGE;
        at -= strlen(UNREACHABLE);
        memcpy(buf + at, UNREACHABLE, strlen(UNREACHABLE));
    }
    memmove(buf, buf + at, n - at);
    return (long)(n - at);
}

long tree_path(struct inode *dir, char *buf, size_t n)
{
    return tree_path_in(inode_root, dir, buf, n);
}

long tree_path_in(struct inode *root, struct inode *dir, char *buf, size_t n)
{
    long r;

    if (n < 2)
        return -ERANGE;
    r = mutex_lock_shared_killable(&rename_mutex);
    if (r)
        return r;
    r = path_locked(root, dir, buf, n);
    mutex_unlock_shared(&rename_mutex);
    return r;
}

long tree_path_of(struct inode *i, char *buf, size_t n)
{
    struct inode *dir;
    struct fs_entry e;
    long used;

    if (inode_is_dir(i))
        return tree_path(i, buf, n);
    used = i->ops->place_of ? i->ops->place_of(i, &dir, &e) : -ENOENT;
    if (used)
        return used;
    used = tree_path(dir, buf, n);
    inode_unref(dir);
    if (used < 0)
        return used;
    if (used > 2) /* "/" ends in a slash already */
        buf[used++ - 1] = '/';
    if ((size_t)used + e.len > n)
        return -ERANGE;
    memcpy(buf + used - 1, e.text, e.len + 1);
    return used + (long)e.len;
}

/* Is the path that was walked the one that tree_path() would make of its parts? */
static bool is_plain(const struct walk *w, const char *path)
{
    return path[0] == '/' && path[1] != '/' && !w->winding && !w->slash && w->root == inode_root;
}

int tree_lookup_path(const struct io_cred *cred, struct inode *dir, const char *path,
                     struct inode **out, const char **text, char *buf, size_t n)
{
    struct walk w;
    int err = tree_walk(cred, dir, path, true, LAST_LOOK, &w);
    long used;

    *text = path;
    if (!err && !w.inode)
        err = -ENOENT;
    if (!err && !is_plain(&w, path)) {
        *text = buf;
        used = tree_path(w.dir, buf, n);
        if (used > 0 && w.last.len) {
            size_t at = used == 2 ? 1 : (size_t)used; /* "/" ends in a slash already */

            err = at + w.last.len + 1 > n ? -ENAMETOOLONG : 0;
            if (!err) {
                buf[at - 1] = '/';
                memcpy(buf + at, w.last.text, w.last.len);
                buf[at + w.last.len] = '\0';
            }
        }
        err = used < 0 ? (int)used : err;
    }
    if (!err) {
        *out = w.inode;
        w.inode = NULL;
    }
    tree_walk_end(&w);
    return err;
}
