/*
 * The tree of names: path look-up. mount.c has mounts.
 *
 * A walk holds one directory's mutex at a time, shared, for one look-up, and continues with a
 * reference to what it found (kernel/fs/inode.h states the rules). So the name may have changed by
 * the time the walk has ended. No file's mutex is held together with a directory's, and no user
 * memory is touched: the caller has copied the paths.
 *
 * A walk that may not leave a directory looks at each ".." whether it is there. That does not
 * suffice where directories move:
 *
 *     walk of x/y/../.. below x             other: rename of x/y to /z
 *     is in y
 *                                           y's parent is the root
 *     goes to the root, which is not x
 *
 * So such a walk ends with -EAGAIN at a ".." if any directory has been moved since it began.
 */
#include "kernel/io/tree.h"

#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/fs/memfs.h"
#include "kernel/fs/name.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree_private.h"
#include "kernel/sched/mutex_inline.h"
#include "mm/pool/pool.h"

#define SYMLINKS_MAX 16 /* maximum followed in one look-up (Linux allows 40) */

struct inode *inode_root;
uint32_t tree_moves;

void tree_walk_drop_stale(struct walk *w)
{
    if (w->stale)
        inode_unref(w->stale);
    w->stale = NULL;
}

void tree_walk_end_all(struct walk *w)
{
    if (w->locked)
        mutex_unlock(&w->dir->lock);
    tree_walk_drop_stale(w);
    if (w->own)
        inode_unref(w->own);
    if (w->inode)
        inode_unref(w->inode);
    if (w->held)
        pgd_free(w->held, w->held_bytes);
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

/* Put the target of a link, followed by the rest of the path, to w->held: a block of so many bytes.
 * -ENAMETOOLONG: they do not fit. */
static int follow_in(struct walk *w, struct inode *link, const char *rest, uint32_t bytes)
{
    size_t rest_len = strlen(rest);
    char *fresh = pgd_alloc(bytes);
    long n;

    if (!fresh)
        return -ENOMEM;
    n = link->ops->readlink(link, fresh, bytes);
    if (n >= 0 && (size_t)n + 1 + rest_len + 1 > bytes)
        n = -ENAMETOOLONG;
    if (n < 0) {
        pgd_free(fresh, bytes);
        return (int)n;
    }
    fresh[n] = '/';
    memcpy(fresh + n + (rest_len ? 1 : 0), rest, rest_len + 1);
    if (w->held)
        pgd_free(w->held, w->held_bytes);
    w->held = fresh;
    w->held_bytes = bytes;
    return 0;
}

/* Cold: else its place in the loop of a walk costs those without links. */
static int __attribute__((noinline, cold)) follow_link(struct walk *w, struct inode *link,
                                                       const char *rest)
{
    int err = follow_in(w, link, rest, PATH_LONG);

    return err == -ENAMETOOLONG ? follow_in(w, link, rest, PATH_MAX) : err;
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

/* May the walk, which may not leave w->root, or not w->dir's file system, go on in its parent? That
 * was read with the directory's mutex held, which who moves the directory holds, too, so that a
 * move before then is seen here. */
static int may_step_up(const struct walk *w, const struct inode *up)
{
    if ((w->resolve & RESOLVE_NO_XDEV) && up->fs != w->dir->fs)
        return -EXDEV;
    if ((w->resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)) &&
        __atomic_load_n(&tree_moves, __ATOMIC_ACQUIRE) != w->moves)
        return -EAGAIN;
    return 0;
}

/* Continue the walk in the parent. */
static int step_up(struct walk *w)
{
    struct inode *up;
    int err;

    if (w->dir == w->root)
        return w->resolve & RESOLVE_BENEATH ? -EXDEV : 0;
    err = mutex_lock_shared_killable(&w->dir->lock);
    if (err)
        return err;
    up = w->dir->parent;
    if (up)
        inode_ref(up);
    mutex_unlock_shared(&w->dir->lock);
    if (!up)
        return -ENOENT; /* dir was removed; it was somebody's working directory */
    err = unlikely(w->resolve) ? may_step_up(w, up) : 0;
    if (err)
        inode_unref(up);
    else
        step_to(w, up);
    return err;
}

/* Continue at the root, for a link with an absolute path. */
static int step_to_root(struct walk *w)
{
    if (w->resolve & RESOLVE_BENEATH)
        return -EXDEV;
    if ((w->resolve & RESOLVE_NO_XDEV) && w->root->fs != w->dir->fs)
        return -EXDEV;
    inode_ref(w->root);
    step_to(w, w->root);
    return 0;
}

/* What the restrictions of the walk say to the next name: nothing of a server's is known here
 * without asking it. */
static int may_look(const struct walk *w)
{
    return (w->resolve & RESOLVE_CACHED) && w->dir->fs != inode_root->fs ? -EAGAIN : 0;
}

/* May the walk look into dir? The superuser may search every directory. */
static int may_search(const struct walk *w, struct inode *dir, const struct io_cred *cred)
{
    int err = cred->uid ? inode_access(dir, cred, 1) : 0;

    return err || !w->resolve ? err : may_look(w);
}

/* And to what was found, which is or is not a link to be followed. */
static int may_go_on(const struct walk *w, bool link)
{
    if (link)
        return w->resolve & RESOLVE_NO_SYMLINKS ? -ELOOP : 0;
    return (w->resolve & RESOLVE_NO_XDEV) && w->inode && w->inode->fs != w->dir->fs ? -EXDEV : 0;
}

/* And to the file to which a link without a path has led. One that leads to a name beside it is an
 * ordinary one, whose text need not be followed (/proc/self). */
static int may_jump(const struct walk *w)
{
    if (__atomic_load_n(&w->inode->parent, __ATOMIC_RELAXED) == w->dir)
        return 0;
    if (w->resolve & RESOLVE_NO_MAGICLINKS)
        return -ELOOP;
    if ((w->resolve & RESOLVE_NO_XDEV) && w->inode->fs != w->dir->fs)
        return -EXDEV;
    return w->resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT) ? -EXDEV : 0;
}

/* Choose where the walk starts, and what its root is. */
static int walk_begin(struct walk *w, const struct io_cred *cred, struct inode *dir, bool absolute)
{
    w->root = cred->root ? cred->root : inode_root;
    w->dir = dir ? dir : inode_root;
    w->resolve = cred->resolve;
    if (unlikely(w->resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT))) {
        w->root = w->dir;
        w->moves = __atomic_load_n(&tree_moves, __ATOMIC_ACQUIRE);
        if (absolute && (w->resolve & RESOLVE_BENEATH))
            return -EXDEV;
    }
    if (absolute)
        w->dir = w->root;
    return 0;
}

/* Continue with the root that covers w->inode, whose parent is locked. The reference that is
 * dropped is not the last one: the mount holds one. */
static void enter_mount(struct walk *w)
{
    struct inode *covered = w->inode;

    w->inode = covered->covered_by;
    inode_ref(w->inode);
    inode_unref(covered);
}

/* Look w->last up in dir, which is w->dir: sets w->inode, with a reference, or NULL if the name
 * does not exist. dir is locked. */
static inline int look_locked(struct walk *w, struct inode *dir)
{
    int err = dir->ops->lookup(dir, &w->last, &w->inode);

    if (err)
        w->inode = NULL;
    else if (unlikely(w->inode->covered_by != NULL))
        enter_mount(w);
    return err == -ENOENT ? 0 : err;
}

/* The same, with dir locked for that only. */
static inline __attribute__((always_inline)) int look_shared(struct walk *w, struct inode *dir)
{
    int err = mutex_lock_shared_killable_inline(&dir->lock);

    if (unlikely(err))
        return err;
    err = look_locked(w, dir);
    mutex_unlock_shared_inline(&dir->lock);
    return err;
}

/* Is the component "." (1), ".." (2) or a name (0)? */
static inline unsigned dots(const struct fs_name *name)
{
    if (likely((name->few & 0xFF) != '.'))
        return 0;
    return name->few == '.' ? 1 : name->few == ('.' | '.' << 8) ? 2 : 0;
}

/* A char would have to be extended before each comparison. */
static inline uint8_t byte_at(const char *p) { return *(const uint8_t *)p; }

#define TYPE_SHIFT 12 /* of S_IFMT, whose bits so far up would take a constant to be masked */

/* The type of i: S_IFMT of its mode, shifted. */
static inline uint64_t type_of(const struct inode *i)
{
    return (uint64_t)__atomic_load_n(&i->mode, __ATOMIC_RELAXED) >> TYPE_SHIFT & 0xF;
}
enum { TYPE_DIR = S_IFDIR >> TYPE_SHIFT, TYPE_LINK = S_IFLNK >> TYPE_SHIFT };

/* Treat the last component as `how` says, LAST_HOLD or LAST_NAME. */
static int look_last(struct walk *w, enum last how)
{
    int err;

    if (how == LAST_NAME) {
        w->inode = NULL;
        return 0;
    }
    err = mutex_lock_killable(&w->dir->lock);
    if (err)
        return err;
    w->locked = true;
    return look_locked(w, w->dir);
}

int tree_walk(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
              enum last how, struct walk *w)
{
    const bool limited = cred->uid || cred->resolve;
    unsigned links = 0;
    /* A link that was the last component had a trailing slash: the slash then applies to the last
     * component of the link's target, also behind links in the middle of that. */
    bool behind_link = false;
    int err;

    w->inode = w->own = w->stale = NULL;
    w->held = NULL;
    w->slash = w->locked = w->winding = false;
    err = walk_begin(w, cred, dir, *path == '/');
    if (err || !*path)
        return err ? err : -ENOENT;
    for (;;) {
        struct inode *found, *at;
        uint64_t type;
        bool slash, more; /* a slash, another component follows */

        while (byte_at(path) == '/')
            path++;
        if (!byte_at(path)) { /* the path names the directory itself */
            w->last.len = 0;
            w->inode = w->dir;
            inode_ref(w->inode);
            w->slash = true;
            return 0;
        }
    next:
        at = w->dir;
        slash = more = false;
        if (unlikely(limited) && (err = may_search(w, at, cred)) != 0)
            return err;
        path = name_scan(&w->last, path);
        if (w->last.len > NAME_MAX)
            return -ENAMETOOLONG;
        switch (dots(&w->last)) {
        case 1:
            w->winding = true;
            continue;
        case 2:
            w->winding = true;
            err = step_up(w);
            if (err)
                return err;
            continue;
        }
        if (byte_at(path) == '/') {
            path++;
            while (unlikely(byte_at(path) == '/')) {
                w->winding = true;
                path++;
            }
            more = byte_at(path) != 0;
            slash = true;
        }
        if (more) {
            err = look_shared(w, at);
            found = w->inode;
            if (likely(!err && found && type_of(found) == TYPE_DIR && !w->resolve)) {
                w->inode = NULL;
                step_to(w, found);
                goto next;
            }
        } else {
            slash |= behind_link;
            err = how == LAST_LOOK || (how == LAST_NAME && slash) ? look_shared(w, at)
                                                                  : look_last(w, how);
            found = w->inode;
        }
        if (err)
            return err;
        type = found ? type_of(found) : 0;
        if (unlikely(w->resolve)) {
            err = may_go_on(w, type == TYPE_LINK && (more || slash || follow));
            if (err)
                return err;
        }
        if (type == TYPE_LINK && (more || slash || follow)) {
            if (w->locked) {
                mutex_unlock(&w->dir->lock);
                w->locked = false;
            }
            if (++links > SYMLINKS_MAX)
                return -ELOOP;
            w->winding = true;
            err = jump(w);
            if (!err && unlikely(w->resolve))
                err = may_jump(w);
            if (!err) {
                found = w->inode;
                type = type_of(found);
                goto found_it;
            }
            if (err != -EOPNOTSUPP)
                return err;
            behind_link |= slash && !*path;
            err = may_follow(cred, w->dir, found);
            if (!err)
                err = follow_link(w, found, path);
            if (err)
                return err;
            path = w->held;
            inode_unref(found);
            w->inode = NULL;
            if (*path == '/' && (err = step_to_root(w)) != 0)
                return err;
            continue;
        }
    found_it:
        if (!*path) {
            w->slash = slash;
            return slash && found && type != TYPE_DIR ? -ENOTDIR : 0;
        }
        if (type != TYPE_DIR)
            return found ? -ENOTDIR : -ENOENT;
        w->inode = NULL;
        step_to(w, found);
    }
}

int tree_lookup(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
                struct inode **out)
{
    struct walk w;
    int err = tree_walk(cred, dir, path, follow, LAST_LOOK, &w);

    if (!err && !w.inode)
        err = -ENOENT;
    if (!err) {
        *out = w.inode;
        w.inode = NULL;
    }
    tree_walk_end(&w);
    return err;
}

int tree_walk_again_locked(struct walk *w)
{
    int err;

    if (!w->last.len)
        return 0;
    w->stale = w->inode;
    err = look_locked(w, w->dir);
    return !err && w->slash && w->inode && !inode_is_dir(w->inode) ? -ENOTDIR : err;
}

void tree_boot(void)
{
    static struct fs root_fs;

    if (memfs_create(&root_fs))
        panic("no memory for the root directory");
    inode_root = root_fs.root;
}
