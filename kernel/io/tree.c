/*
 * The tree of names: directories, lookup, and what changes names.
 *
 * One mutex, tree_lock, protects every directory: lookups take it shared, changes exclusively. It
 * is held for no more than memory accesses (names live in paged pool) and allocations; the files
 * behind the names are used after it is dropped, with a reference. Directories are linear lists in
 * the order of creation; a getdents position is a name's cookie, so a name that is removed
 * meanwhile is skipped and none is given twice.
 */
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/io/inode.h"
#include "kernel/io/open_flags.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool.h"

#define SYMLINKS_MAX 16 /* followed in one lookup; Linux allows 40, but none of ours is deep */

struct inode *inode_root;
struct mutex tree_lock = MUTEX_INIT("tree", MUTEX_TREE, tree_lock);
static uint64_t next_cookie = 3; /* protected by tree_lock; 1 and 2 are . and .. */

struct walk {
    struct inode *dir;   /* directory of the last component; a reference */
    const char *last;    /* last component; its text lies in path or in held */
    size_t last_len;     /* 0: the path names the directory itself */
    bool slash;          /* the path ended in a slash: only a directory will do */
    struct inode *inode; /* what the last component names, a reference; NULL: nothing */
    char *held;          /* PATH_MAX bytes of paged pool once a link was followed */
};

static bool is_dir(const struct inode *i) { return (i->mode & S_IFMT) == S_IFDIR; }
static bool is_link(const struct inode *i) { return (i->mode & S_IFMT) == S_IFLNK; }

static struct dir_name *find_locked(struct inode *dir, const char *text, size_t len)
{
    struct dir_name *d;

    list_for_each_entry(d, &dir->names, link) {
        if (d->len == len && !memcmp(d->text, text, len))
            return d;
    }
    return NULL;
}

static void walk_end(struct walk *w)
{
    if (w->dir)
        inode_unref(w->dir);
    if (w->inode)
        inode_unref(w->inode);
    if (w->held)
        pgd_free(w->held, PATH_MAX);
    *w = (struct walk){0};
}

/* Replace what is still to be walked by a link's target and the rest behind it. */
static int follow_link(struct walk *w, struct inode *link, const char **rest)
{
    size_t rest_len = strlen(*rest);
    char *fresh;

    if (link->target_bytes + 1 + rest_len + 1 > PATH_MAX)
        return -ENAMETOOLONG;
    fresh = pgd_alloc(PATH_MAX);
    if (!fresh)
        return -ENOMEM;
    memcpy(fresh, link->target, link->target_bytes);
    fresh[link->target_bytes] = '/';
    memcpy(fresh + link->target_bytes + (rest_len ? 1 : 0), *rest, rest_len + 1);
    if (w->held)
        pgd_free(w->held, PATH_MAX);
    w->held = fresh;
    *rest = fresh;
    return 0;
}

static void step_to(struct walk *w, struct inode *to)
{
    inode_ref(to);
    inode_unref(w->dir);
    w->dir = to;
}

/*
 * Walk path from dir. On success w->dir is the directory of the last component and w->inode what
 * that names, if anything. tree_lock is held. walk_end is called by the caller in every case.
 */
static int walk_locked(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
                       struct walk *w)
{
    unsigned links = 0;
    bool behind_link = false; /* a slash behind a link that was last: it counts for what that is */
    int err;

    *w = (struct walk){0};
    if (!*path)
        return -ENOENT;
    w->dir = *path == '/' || !dir ? inode_root : dir;
    inode_ref(w->dir);
    for (;;) {
        const char *start;
        struct dir_name *d;
        size_t len;

        while (*path == '/')
            path++;
        if (!*path) { /* the directory itself */
            w->last_len = 0;
            w->inode = w->dir;
            inode_ref(w->inode);
            w->slash = true;
            return 0;
        }
        if (!is_dir(w->dir))
            return -ENOTDIR;
        err = inode_access(w->dir, cred, 1);
        if (err)
            return err;
        for (start = path; *path && *path != '/'; path++)
            ;
        len = (size_t)(path - start);
        if (len > NAME_MAX)
            return -ENAMETOOLONG;
        if (len == 1 && start[0] == '.')
            continue;
        if (len == 2 && start[0] == '.' && start[1] == '.') {
            if (!w->dir->parent)
                return -ENOENT; /* a working directory that was removed */
            step_to(w, w->dir->parent);
            continue;
        }
        d = find_locked(w->dir, start, len);
        w->slash = *path == '/';
        while (*path == '/')
            path++;
        w->slash |= behind_link && !*path;
        if (d && is_link(d->inode) && (*path || w->slash || follow)) {
            struct inode *link = d->inode;

            if (++links > SYMLINKS_MAX)
                return -ELOOP;
            behind_link = w->slash && !*path;
            err = follow_link(w, link, &path);
            if (err)
                return err;
            if (*path == '/')
                step_to(w, inode_root);
            continue;
        }
        if (!*path) {
            w->last = start;
            w->last_len = len;
            if (d) {
                if (w->slash && !is_dir(d->inode))
                    return -ENOTDIR;
                w->inode = d->inode;
                inode_ref(w->inode);
            }
            return 0;
        }
        if (!d)
            return -ENOENT;
        if (!is_dir(d->inode))
            return -ENOTDIR;
        step_to(w, d->inode);
    }
}

int tree_lookup(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
                struct inode **out)
{
    struct walk w;
    int err;

    mutex_lock_shared(&tree_lock);
    err = walk_locked(cred, dir, path, follow, &w);
    mutex_unlock_shared(&tree_lock);
    if (!err && !w.inode)
        err = -ENOENT;
    if (!err) {
        *out = w.inode;
        w.inode = NULL;
    }
    walk_end(&w);
    return err;
}

/* A name for inode in dir, which must not have it; takes a reference. */
static int enter_locked(struct inode *dir, const char *text, size_t len, struct inode *inode)
{
    struct dir_name *d = pgd_alloc(sizeof(*d) + len);

    if (!d)
        return -ENOMEM;
    d->inode = inode;
    d->cookie = next_cookie++;
    d->len = (uint8_t)len;
    memcpy(d->text, text, len);
    list_add_tail(&dir->names, &d->link);
    inode_ref(inode);
    inode->nlink++;
    if (is_dir(inode)) {
        inode->parent = dir;
        inode_ref(dir);
        inode->nlink++; /* its own . */
        dir->nlink++;   /* its .. */
    }
    dir->mtime_ns = clock_wall_ns();
    return 0;
}

/* Take a name out; the caller gets the inode's reference. */
static struct inode *remove_locked(struct inode *dir, struct dir_name *d)
{
    struct inode *inode = d->inode;

    list_remove(&d->link);
    pgd_free(d, sizeof(*d) + d->len);
    inode->nlink--;
    if (is_dir(inode)) {
        inode->parent = NULL;
        inode->nlink--;
        dir->nlink--;
        inode_unref(dir); /* never the last: the caller's walk holds one */
    }
    dir->mtime_ns = clock_wall_ns();
    return inode;
}

/* A walk whose last component is to be changed: a plain name in a live directory that cred may
 * write. */
static int may_change(const struct io_cred *cred, const struct walk *w)
{
    if (!w->last_len)
        return w->inode == inode_root ? -EBUSY : -EINVAL;
    if (!w->dir->parent)
        return -ENOENT;
    return inode_access(w->dir, cred, 2);
}

/* Sticky directories (/tmp): only the owner of file or directory takes a name away. */
static int may_remove(const struct io_cred *cred, const struct walk *w)
{
    int err = may_change(cred, w);

    if (err)
        return err;
    if (!w->inode)
        return -ENOENT;
    if ((w->dir->mode & S_ISVTX) && cred->uid && cred->uid != w->inode->uid &&
        cred->uid != w->dir->uid)
        return -EPERM;
    return 0;
}

/* Enter a new inode (the caller's reference is consumed in every case) under the path. */
static int enter_new(const struct io_cred *cred, struct inode *dir, const char *path,
                     struct inode *fresh, bool excl, struct inode **out)
{
    struct walk w;
    int err;

    mutex_lock(&tree_lock);
    err = walk_locked(cred, dir, path, !excl, &w);
    if (!err && w.inode && !excl) {
        *out = w.inode;
        w.inode = NULL;
    } else if (!err && w.inode) {
        err = -EEXIST;
    } else if (!err) {
        err = w.slash && !is_dir(fresh) ? -EISDIR : may_change(cred, &w);
        if (!err)
            err = enter_locked(w.dir, w.last, w.last_len, fresh);
        if (!err && out) {
            inode_ref(fresh);
            *out = fresh;
        }
    }
    mutex_unlock(&tree_lock);
    walk_end(&w);
    inode_unref(fresh);
    return err;
}

int tree_create(const struct io_cred *cred, struct inode *dir, const char *path, uint32_t mode,
                bool excl, struct inode **out)
{
    struct inode *fresh = inode_create(mode, cred);

    return fresh ? enter_new(cred, dir, path, fresh, excl, out) : -ENOMEM;
}

int tree_device(const char *path, uint32_t mode, uint32_t rdev, const struct file_ops *ops,
                void *dev)
{
    struct inode *fresh = inode_create(S_IFCHR | mode, &(struct io_cred){0, 0});

    if (!fresh)
        return -ENOMEM;
    fresh->rdev = rdev;
    fresh->fops = ops;
    fresh->dev = dev;
    return enter_new(&(struct io_cred){0, 0}, NULL, path, fresh, true, NULL);
}

int tree_symlink(const struct io_cred *cred, struct inode *dir, const char *path,
                 const char *target)
{
    size_t n = strlen(target);
    struct inode *fresh;

    if (!n)
        return -ENOENT;
    if (n >= PATH_MAX)
        return -ENAMETOOLONG;
    fresh = inode_create(S_IFLNK | 0777, cred);
    if (!fresh)
        return -ENOMEM;
    fresh->target = pgd_alloc(n + 1);
    if (!fresh->target) {
        inode_unref(fresh);
        return -ENOMEM;
    }
    memcpy(fresh->target, target, n + 1);
    fresh->target_bytes = (uint32_t)n;
    return enter_new(cred, dir, path, fresh, true, NULL);
}

int tree_link(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
              struct inode *newdir, const char *newpath)
{
    struct inode *i;
    int err = tree_lookup(cred, olddir, oldpath, false, &i);

    if (err)
        return err;
    if (is_dir(i)) {
        inode_unref(i);
        return -EPERM;
    }
    return enter_new(cred, newdir, newpath, i, true, NULL);
}

int tree_unlink(const struct io_cred *cred, struct inode *dir, const char *path, bool directory)
{
    struct inode *gone = NULL;
    struct walk w;
    int err;

    mutex_lock(&tree_lock);
    err = walk_locked(cred, dir, path, false, &w);
    if (!err)
        err = may_remove(cred, &w);
    if (!err && is_dir(w.inode) != directory)
        err = directory ? -ENOTDIR : -EISDIR;
    if (!err && directory && !list_empty(&w.inode->names))
        err = -ENOTEMPTY;
    if (!err)
        gone = remove_locked(w.dir, find_locked(w.dir, w.last, w.last_len));
    mutex_unlock(&tree_lock);
    walk_end(&w);
    if (gone)
        inode_unref(gone); /* outside the lock: the last reference frees the file's pages */
    return err;
}

static bool is_ancestor_locked(struct inode *up, struct inode *down)
{
    for (; down; down = down->parent) {
        if (down == up)
            return true;
        if (down == inode_root)
            break;
    }
    return false;
}

int tree_rename(const struct io_cred *cred, struct inode *olddir, const char *oldpath,
                struct inode *newdir, const char *newpath)
{
    struct walk from = {0}, to = {0};
    struct inode *gone = NULL;
    int err;

    mutex_lock(&tree_lock);
    err = walk_locked(cred, olddir, oldpath, false, &from);
    if (!err)
        err = may_remove(cred, &from);
    if (!err)
        err = walk_locked(cred, newdir, newpath, false, &to);
    if (!err)
        err = to.inode ? may_remove(cred, &to) : may_change(cred, &to);
    if (!err && to.inode == from.inode)
        goto out; /* two names of one file: nothing to do */
    if (!err && is_dir(from.inode) && is_ancestor_locked(from.inode, to.dir))
        err = -EINVAL;
    if (!err && to.inode && is_dir(to.inode) != is_dir(from.inode))
        err = is_dir(to.inode) ? -EISDIR : -ENOTDIR;
    if (!err && to.inode && is_dir(to.inode) && !list_empty(&to.inode->names))
        err = -ENOTEMPTY;
    if (!err && !to.inode && to.slash && !is_dir(from.inode))
        err = -ENOTDIR;
    if (!err) {
        struct dir_name *old = find_locked(from.dir, from.last, from.last_len);
        struct dir_name *target = to.inode ? find_locked(to.dir, to.last, to.last_len) : NULL;

        err = enter_locked(to.dir, to.last, to.last_len,
                           from.inode); /* the only step that can fail */
        if (!err) {
            struct inode *parent = from.inode->parent;

            if (target)
                gone = remove_locked(to.dir, target);
            inode_unref(remove_locked(from.dir, old)); /* from.inode holds another */
            if (is_dir(from.inode))
                from.inode->parent = parent; /* remove_locked cut it off; enter_locked had set it */
        }
    }
out:
    mutex_unlock(&tree_lock);
    walk_end(&from);
    walk_end(&to);
    if (gone)
        inode_unref(gone);
    return err;
}

long tree_path(struct inode *dir, char *buf, size_t n)
{
    size_t at = n;
    long r = -ERANGE;

    if (n < 2)
        return -ERANGE;
    buf[--at] = '\0';
    mutex_lock_shared(&tree_lock);
    if (dir == inode_root)
        buf[--at] = '/';
    while (dir != inode_root) {
        struct inode *parent = dir->parent;
        struct dir_name *d, *found = NULL;

        if (!parent) {
            r = -ENOENT;
            goto out;
        }
        list_for_each_entry(d, &parent->names, link) {
            if (d->inode == dir)
                found = d;
        }
        if (!found || at < (size_t)found->len + 1)
            goto out;
        at -= found->len;
        memcpy(buf + at, found->text, found->len);
        buf[--at] = '/';
        dir = parent;
    }
    memmove(buf, buf + at, n - at);
    r = (long)(n - at);
out:
    mutex_unlock_shared(&tree_lock);
    return r;
}

void tree_boot(void)
{
    struct io_cred root = {0, 0};

    inode_root = inode_create(S_IFDIR | 0755, &root);
    if (!inode_root)
        panic("no memory for the root directory");
    inode_root->parent = inode_root;
    inode_root->nlink = 2;
}
