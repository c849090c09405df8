/*
 * The tree of names: path look-up, and the calls that change names.
 *
 * A walk holds one directory's mutex at a time, shared, for one look-up, and continues with a
 * reference to what it found (kernel/fs/inode.h states the rules). So the name may have changed by
 * the time the walk has ended. A call that changes names therefore looks the name up again under
 * the mutexes that it changes it with, and the result of that look-up counts. No file's mutex is
 * held together with a directory's, and no user memory is touched: the caller has copied the paths.
 */
#include "kernel/io/tree.h"

#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/fs/memfs.h"
#include "kernel/io/io_private.h"
#include "mm/pool/pool.h"

#define SYMLINKS_MAX 16 /* maximum followed in one look-up (Linux allows 40) */

static struct fs root_fs;
struct inode *inode_root;

/* What a walk does with the last component: look it up; look it up with the directory's mutex held
 * exclusively, and keep the mutex; or leave it to the caller, except that a component with a
 * trailing slash is looked up to find out whether it is a symbolic link. */
enum last { LAST_LOOK, LAST_HOLD, LAST_NAME };

struct walk {
    struct inode *dir;   /* directory of the last component */
    struct inode *inode; /* what the last component names, with a reference; NULL: nothing */
    struct inode *own;   /* reference to dir; NULL: the caller's or the root's is used */
    struct inode *stale; /* reference to what the component named before look_again_locked */
    char *held;          /* PATH_MAX bytes of paged pool, after a link was followed */
    /* The last component; its text is part of the path or of `held`. len 0: the path names the
     * directory itself. */
    struct fs_name last;
    bool slash;  /* the path ended in a slash, so it must name a directory */
    bool locked; /* dir->lock is held exclusively */
};

/* Called with no directory locked, because the reference may be the last one. */
static void drop_stale(struct walk *w)
{
    if (w->stale)
        inode_unref(w->stale);
    w->stale = NULL;
}

static void walk_end(struct walk *w)
{
    if (w->locked)
        mutex_unlock(&w->dir->lock);
    drop_stale(w);
    if (w->own)
        inode_unref(w->own);
    if (w->inode)
        inode_unref(w->inode);
    if (w->held)
        pgd_free(w->held, PATH_MAX);
}

/* May cred follow a link of w->dir? In a sticky directory that all may write (/tmp) anybody could
 * have put a link where a program expects a file, so only its owner follows it there, or everybody
 * if it is of the directory's owner. As protected_symlinks of Linux; this holds for root too,
 * and here for links in the middle of a path too. */
static int may_follow(const struct io_cred *cred, const struct inode *dir, const struct inode *link)
{
    uint32_t mode = __atomic_load_n(&dir->mode, __ATOMIC_RELAXED);
    uint32_t owner = __atomic_load_n(&link->uid, __ATOMIC_RELAXED);

    if ((mode & (S_ISVTX | 002)) != (S_ISVTX | 002) || owner == cred->uid ||
        owner == __atomic_load_n(&dir->uid, __ATOMIC_RELAXED))
        return 0;
    return -EACCES;
}

/* Replace the rest of the path by the target of a link followed by that rest. */
static int follow_link(struct walk *w, struct inode *link, const char **rest)
{
    size_t rest_len = strlen(*rest);
    char *fresh = pgd_alloc(PATH_MAX);
    long n;

    if (!fresh)
        return -ENOMEM;
    n = link->ops->readlink(link, fresh, PATH_MAX);
    if (n >= 0 && (size_t)n + 1 + rest_len + 1 > PATH_MAX)
        n = -ENAMETOOLONG;
    if (n < 0) {
        pgd_free(fresh, PATH_MAX);
        return (int)n;
    }
    fresh[n] = '/';
    memcpy(fresh + n + (rest_len ? 1 : 0), *rest, rest_len + 1);
    if (w->held)
        pgd_free(w->held, PATH_MAX);
    w->held = fresh;
    *rest = fresh;
    return 0;
}

/* Replace the link w->inode by the inode that it leads to without a path. -EOPNOTSUPP: it has a
 * path. */
static int jump(struct walk *w)
{
    struct inode *link = w->inode, *to;
    int err = link->ops->follow ? link->ops->follow(link, &to) : -EOPNOTSUPP;

    if (!err) {
        w->inode = to;
        inode_unref(link);
    }
    return err;
}

/* Continue the walk in the directory `to`, whose reference passes to the walk. */
static void step_to(struct walk *w, struct inode *to)
{
    if (w->own)
        inode_unref(w->own);
    w->own = w->dir = to;
}

/* Continue the walk in the parent. */
static int step_up(struct walk *w)
{
    struct inode *up;

    mutex_lock_shared(&w->dir->lock);
    up = w->dir->parent;
    if (up)
        inode_ref(up);
    mutex_unlock_shared(&w->dir->lock);
    if (!up)
        return -ENOENT; /* dir was removed; it was somebody's working directory */
    step_to(w, up);
    return 0;
}

/* Continue with the root that covers w->inode. The reference that is dropped is not the last one:
 * the mount holds one. */
static void enter_mount(struct walk *w)
{
    struct inode *covered = w->inode;

    w->inode = covered->covered_by;
    inode_ref(w->inode);
    inode_unref(covered);
}

/* Look w->last up in w->dir: sets w->inode, with a reference, or NULL if the name does not exist.
 * w->dir is locked. */
static inline int look_locked(struct walk *w)
{
    int err = w->dir->ops->lookup(w->dir, &w->last, &w->inode);

    if (err)
        w->inode = NULL;
    else if (unlikely(w->inode->covered_by != NULL))
        enter_mount(w);
    return err == -ENOENT ? 0 : err;
}

/* Set w->last to the component that begins at path. Returns the position after it. */
static inline const char *next_component(struct walk *w, const char *path)
{
    const uint8_t *p = (const uint8_t *)path;
    uint64_t hash = FS_HASH_SEED;
    uint8_t c;

    for (; (c = *p) && c != '/'; p++)
        hash = fs_name_hash(hash, c);
    w->last.text = path;
    w->last.len = (uint32_t)((const char *)p - path);
    w->last.hash = (uint32_t)hash;
    return (const char *)p;
}

/* Is the component "." (1), ".." (2) or a name (0)? */
static inline unsigned dots(const struct fs_name *name)
{
    if (name->text[0] != '.' || name->len > 2 || (name->len == 2 && name->text[1] != '.'))
        return 0;
    return name->len;
}

/* Treat the last component as `how` says, LAST_HOLD or LAST_NAME. */
static int look_last(struct walk *w, enum last how)
{
    if (how == LAST_NAME) {
        w->inode = NULL;
        return 0;
    }
    mutex_lock(&w->dir->lock);
    w->locked = true;
    return look_locked(w);
}

/*
 * Walk path, from dir if it is relative. On success w->dir is the directory of the last component
 * and w->inode what the component names, if anything. The caller calls walk_end in every case.
 */
static int walk(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
                enum last how, struct walk *w)
{
    unsigned links = 0;
    /* A link that was the last component had a trailing slash: the slash then applies to the last
     * component of the link's target, also behind links in the middle of that. */
    bool behind_link = false;
    int err;

    w->dir = *path == '/' || !dir ? inode_root : dir;
    w->inode = w->own = w->stale = NULL;
    w->held = NULL;
    w->slash = w->locked = false;
    if (!*path)
        return -ENOENT;
    for (;;) {
        struct inode *found;
        uint32_t type;
        bool slash;

        while (*path == '/')
            path++;
        if (!*path) { /* the path names the directory itself */
            w->last.len = 0;
            w->inode = w->dir;
            inode_ref(w->inode);
            w->slash = true;
            return 0;
        }
        /* The superuser may search every directory. */
        if (cred->uid && (err = inode_access(w->dir, cred, 1)) != 0)
            return err;
        path = next_component(w, path);
        if (w->last.len > NAME_MAX)
            return -ENAMETOOLONG;
        switch (dots(&w->last)) {
        case 1:
            continue;
        case 2:
            err = step_up(w);
            if (err)
                return err;
            continue;
        }
        slash = *path == '/';
        while (*path == '/')
            path++;
        slash |= behind_link && !*path;
        if (*path || how == LAST_LOOK || (how == LAST_NAME && slash)) {
            mutex_lock_shared(&w->dir->lock);
            err = look_locked(w);
            mutex_unlock_shared(&w->dir->lock);
        } else {
            err = look_last(w, how);
        }
        if (err)
            return err;
        found = w->inode;
        type = found ? __atomic_load_n(&found->mode, __ATOMIC_RELAXED) & S_IFMT : 0;
        if (type == S_IFLNK && (*path || slash || follow)) {
            if (w->locked) {
                mutex_unlock(&w->dir->lock);
                w->locked = false;
            }
            if (++links > SYMLINKS_MAX)
                return -ELOOP;
            err = jump(w);
            if (!err) {
                found = w->inode;
                type = found->mode & S_IFMT;
                goto found_it;
            }
            if (err != -EOPNOTSUPP)
                return err;
            behind_link |= slash && !*path;
            err = may_follow(cred, w->dir, found);
            if (!err)
                err = follow_link(w, found, &path);
            if (err)
                return err;
            inode_unref(found);
            w->inode = NULL;
            if (*path == '/') {
                inode_ref(inode_root);
                step_to(w, inode_root);
            }
            continue;
        }
    found_it:
        if (!*path) {
            w->slash = slash;
            return slash && found && type != S_IFDIR ? -ENOTDIR : 0;
        }
        if (type != S_IFDIR)
            return found ? -ENOTDIR : -ENOENT;
        w->inode = NULL;
        step_to(w, found);
    }
}

int tree_lookup(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
                struct inode **out)
{
    struct walk w;
    int err = walk(cred, dir, path, follow, LAST_LOOK, &w);

    if (!err && !w.inode)
        err = -ENOENT;
    if (!err) {
        *out = w.inode;
        w.inode = NULL;
    }
    walk_end(&w);
    return err;
}

/* Look the last component up again, after the walk, with w->dir now locked exclusively: the name
 * may refer to something else by now, and that counts. If it is now a symbolic link it is not
 * followed. */
static int look_again_locked(struct walk *w)
{
    int err;

    if (!w->last.len)
        return 0;
    w->stale = w->inode;
    err = look_locked(w);
    return !err && w->slash && w->inode && !inode_is_dir(w->inode) ? -ENOTDIR : err;
}

/* Check that the last component of w can be changed: it is a plain name in an existing directory to
 * which cred may write. w->dir is locked. */
static int may_change(const struct io_cred *cred, const struct walk *w)
{
    if (!w->last.len)
        return w->inode == inode_root ? -EBUSY : -EINVAL;
    if (!w->dir->parent)
        return -ENOENT;
    return inode_access(w->dir, cred, 2);
}

/* The same for the removal of a name, which must exist. In a sticky directory (/tmp) only the owner
 * of the file or of the directory may remove it. */
static int may_remove(const struct io_cred *cred, const struct walk *w)
{
    int err = may_change(cred, w);

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
    return w->slash && type != S_IFDIR ? slash : may_change(cred, w);
}

/* Create an inode as `what` describes, under path. */
static int make(const struct io_cred *cred, struct inode *dir, const char *path,
                const struct fs_new *what, bool excl, int slash, struct inode **out)
{
    struct walk w;
    int err = walk(cred, dir, path, !excl, LAST_HOLD, &w);

    if (!err && w.inode && !excl) {
        *out = w.inode;
        w.inode = NULL;
    } else if (!err) {
        err = may_enter(cred, &w, what->mode & S_IFMT, slash);
        if (!err)
            err = w.dir->ops->create(w.dir, &w.last, what, out);
    }
    walk_end(&w);
    return err;
}

int tree_create(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t mode,
                bool excl, struct inode **out)
{
    struct fs_new what = {.mode = mode, .uid = cred->uid, .gid = cred->gid};

    return make(cred, dir, path, &what, excl, -EISDIR, out);
}

int tree_node(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t mode,
              uint32_t rdev, struct inode **out)
{
    struct fs_new what = {.mode = mode, .uid = cred->uid, .gid = cred->gid, .rdev = rdev};

    return make(cred, dir, path, &what, true, -ENOENT, out);
}

int tree_device(const char *path, uint32_t mode, uint32_t rdev)
{
    return tree_node(&(struct io_cred){0}, NULL, path, S_IFCHR | mode, rdev, NULL);
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
    return strlen(target) < PATH_MAX ? make(cred, dir, path, &what, true, -ENOENT, NULL)
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

int tree_link_inode(const struct io_cred *cred, struct inode *i, struct inode *newdir,
                    const char *newpath)
{
    struct walk w;
    int err = may_link(cred, i);

    if (err)
        return err;
    err = walk(cred, newdir, newpath, false, LAST_HOLD, &w);
    if (!err)
        err = may_enter(cred, &w, i->mode & S_IFMT, -ENOENT);
    if (!err && w.dir->fs != i->fs)
        err = -EXDEV;
    if (!err)
        err = w.dir->ops->link(w.dir, &w.last, i);
    walk_end(&w);
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
    int err = walk(cred, dir, path, false, LAST_HOLD, &w);

    if (!err && !w.last.len) {
        err = may_change(cred, &w);
    } else if (!err) {
        err = may_remove(cred, &w);
        if (!err && inode_is_dir(w.inode))
            err = -EISDIR;
        if (!err)
            err = w.dir->ops->unlink(w.dir, &w.last, w.inode);
    }
    walk_end(&w); /* drops the last reference, which frees the file's pages, outside the lock */
    return err;
}

static int remove_directory(const struct io_cred *cred, struct inode *dir, const char *path)
{
    struct walk w;
    int err = walk(cred, dir, path, false, LAST_NAME, &w);

    if (!err) {
        mutex_lock(&rename_mutex);
        mutex_lock(&w.dir->lock);
        err = look_again_locked(&w);
        if (!err)
            err = may_remove(cred, &w);
        if (!err && !inode_is_dir(w.inode))
            err = -ENOTDIR;
        if (!err) {
            mutex_lock(&w.inode->lock);
            err = w.dir->ops->unlink(w.dir, &w.last, w.inode);
            mutex_unlock(&w.inode->lock);
        }
        mutex_unlock(&w.dir->lock);
        mutex_unlock(&rename_mutex);
    }
    walk_end(&w);
    return err;
}

int tree_unlink(const struct io_cred *cred, struct inode *dir, const char *path, bool directory)
{
    return (directory ? remove_directory : unlink_file)(cred, dir, path);
}

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
    int err = look_again_locked(from);

    if (!err)
        err = look_again_locked(to);
    if (!err && (!from->last.len || !to->last.len))
        err = -EBUSY;
    if (!err)
        err = may_remove(cred, from);
    if (!err && how == TREE_NEW && to->inode)
        err = -EEXIST;
    if (!err && how == TREE_EXCHANGE && !to->inode)
        err = -ENOENT;
    if (!err)
        err = to->inode ? may_remove(cred, to) : may_change(cred, to);
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
    int err = walk(cred, olddir, oldpath, false, LAST_NAME, &from);

    if (err) {
        walk_end(&from);
        return err;
    }
    err = walk(cred, newdir, newpath, false, LAST_NAME, &to);
    if (!err && from.dir == to.dir) {
        mutex_lock(&from.dir->lock);
        err = rename_locked(cred, &from, &to, how, false);
        mutex_unlock(&from.dir->lock);
        if (err == -EAGAIN) {
            drop_stale(&from);
            drop_stale(&to);
            err = rename_moving(cred, &from, &to, how);
        }
    } else if (!err) {
        err = rename_moving(cred, &from, &to, how);
    }
    walk_end(&from);
    walk_end(&to);
    return err;
}

int tree_rename(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
                struct inode *newdir, const char *newpath)
{
    return tree_rename_how(cred, olddir, oldpath, newdir, newpath, TREE_REPLACE);
}

/* rename_mutex is held, so names and parents of directories do not change. */
static long path_locked(struct inode *dir, char *buf, size_t n)
{
    struct fs_entry e;
    size_t at = n;

    buf[--at] = '\0';
    if (dir == inode_root)
        buf[--at] = '/';
    while (dir != inode_root) {
        struct inode *parent = dir->parent;
        int err;

        if (!parent)
            return -ENOENT;
        err = dir->ops->name_of(dir, &e);
        if (err)
            return err;
        if (at < (size_t)e.len + 1)
            return -ERANGE;
        at -= e.len;
        memcpy(buf + at, e.text, e.len);
        buf[--at] = '/';
        dir = parent;
    }
    memmove(buf, buf + at, n - at);
    return (long)(n - at);
}

long tree_path(struct inode *dir, char *buf, size_t n)
{
    long r;

    if (n < 2)
        return -ERANGE;
    mutex_lock_shared(&rename_mutex);
    r = path_locked(dir, buf, n);
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

int tree_lookup_path(const struct io_cred *cred, struct inode *dir, const char *path,
                     struct inode **out, char *buf, size_t n)
{
    struct walk w;
    int err = walk(cred, dir, path, true, LAST_LOOK, &w);
    long used;

    if (!err && !w.inode)
        err = -ENOENT;
    if (!err) {
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
    walk_end(&w);
    return err;
}

int tree_mount(const char *path, struct fs *fs)
{
    struct inode *dir;
    int err = tree_lookup(&(struct io_cred){0}, NULL, path, true, &dir);

    if (err)
        return err;
    if (!inode_is_dir(dir))
        err = -ENOTDIR;
    else if (dir->parent == dir || dir->fs != inode_root->fs)
        err = -EBUSY;
    if (!err) {
        fs->next = root_fs.next;
        root_fs.next = fs;
        /* no references: what is mounted on cannot be removed or moved, nor its parent */
        fs->root->parent = dir->parent;
        dir->covered_by = fs->root;
    }
    inode_unref(dir);
    return err;
}

const struct fs *tree_fs(uint32_t dev)
{
    const struct fs *fs = &root_fs;

    while (fs && fs->dev != dev)
        fs = fs->next;
    return fs;
}

void tree_boot(void)
{
    if (memfs_create(&root_fs))
        panic("no memory for the root directory");
    inode_root = root_fs.root;
}
