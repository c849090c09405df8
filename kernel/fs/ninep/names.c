/*
 * Names of a shared folder. Every look-up and every change goes to the server: no name is
 * remembered here, so what the host creates and removes is seen at once.
 *
 * A thread that is killed while it waits for the answer leaves a change that the server may still
 * make. Nothing here has been changed then, and the attributes concerned are asked for again.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ninep/private.h"
#include "kernel/fs/notify.h"

static bool is_dir_mode(uint32_t mode) { return (mode & S_IFMT) == S_IFDIR; }

int share_walk(const struct share_inode *i, const struct fs_name *name, uint32_t *fid,
               struct ninep_qid *q)
{
    uint32_t own = fid_hold(i);
    int err = ninep_walk(client_of(i), own, name, fid, q);

    fid_release(i, own);
    return err;
}

int share_lookup(struct inode *dir, const struct fs_name *name, struct inode **out)
{
    struct share_inode *d = share_inode_of(dir);
    struct ninep_qid q;
    uint32_t fid;
    int err = share_walk(d, name, &fid, &q);

    if (!err)
        err = share_found(d->share, dir, name, fid, &q, out);
    if (!err && notify_wanted(dir))
        share_remember(share_inode_of(*out), dir, name);
    return err;
}

/* Find the file that the server has created. Not -ENOMEM: then the open would be made again. */
static int find_created(struct share_inode *d, const struct fs_name *name, struct inode **out)
{
    int err = share_lookup(&d->inode, name, out);

    return err == -ENOMEM ? -EIO : err;
}

/* Create an open file, and find it. */
static int create_file(struct share_inode *d, const struct fs_name *name, const struct fs_new *what,
                       struct inode **out)
{
    struct ninep_qid q;
    uint32_t open_fid;
    int err = share_walk(d, NULL, &open_fid, &q);

    if (err)
        return err;
    err = ninep_create(client_of(d), open_fid, name, what->mode, what->gid);
    if (!err)
        err = find_created(d, name, out);
    if (!err && share_opened(share_inode_of(*out), open_fid))
        return 0;
    ninep_fid_drop(client_of(d), open_fid);
    return err;
}

static int make(struct share_inode *d, uint32_t fid, const struct fs_name *name,
                const struct fs_new *what)
{
    switch (what->mode & S_IFMT) {
    case S_IFLNK:
        return ninep_symlink(client_of(d), fid, name, what->target, what->gid);
    case S_IFDIR:
    case S_IFIFO:
    case S_IFSOCK:
        return ninep_make(client_of(d), fid, name, what->mode, what->gid);
    default: /* devices of the host are none of ours */
        return -EPERM;
    }
}

static int create_other(struct share_inode *d, const struct fs_name *name,
                        const struct fs_new *what, struct inode **out)
{
    uint32_t fid = fid_hold(d);
    int err = make(d, fid, name, what);

    fid_release(d, fid);
    return err ? err : share_lookup(&d->inode, name, out);
}

/* Give a new file to its owner, which the server may refuse: then it belongs to the server's. */
static void give(struct inode *i, const struct fs_new *what)
{
    struct fs_change to = {.which = FS_SET_OWNER, .uid = what->uid, .gid = what->gid};

    if (__atomic_load_n(&i->uid, __ATOMIC_RELAXED) == what->uid &&
        __atomic_load_n(&i->gid, __ATOMIC_RELAXED) == what->gid)
        return;
    (void)share_change(i, &to);
    if (inode_set_id_bits(what->mode)) { /* which the change of the owner has taken away */
        to = (struct fs_change){.which = FS_SET_MODE, .mode = what->mode & 07777};
        (void)share_change(i, &to);
    }
}

int share_create(struct inode *dir, const struct fs_name *name, const struct fs_new *what,
                 struct inode **out)
{
    struct share_inode *d = share_inode_of(dir);
    struct inode *i;
    int err = (what->mode & S_IFMT) == S_IFREG ? create_file(d, name, what, &i)
                                               : create_other(d, name, what, &i);

    share_doubt(dir);
    if (err)
        return err;
    give(i, what);
    if (is_dir_mode(what->mode))
        __atomic_fetch_add(&dir->nlink, 1, __ATOMIC_RELAXED);
    inode_touch(dir);
    if (out)
        *out = i;
    else
        inode_unref(i);
    return 0;
}

/* May requests that change a file go to the server by this fid of i? Not if it stands for another
 * file by now, with the name that was removed: many servers remember names. 0 or a negative errno.
 */
static int check_fid(const struct share_inode *i, uint32_t fid)
{
    struct ninep_attributes a;
    int err;

    if (likely(!__atomic_load_n(&i->lost, __ATOMIC_ACQUIRE)))
        return 0;
    err = ninep_getattr(client_of(i), fid, &a);
    return err ? err : a.qid.path == i->qid.path ? 0 : -ENOENT;
}

int share_link(struct inode *dir, const struct fs_name *name, struct inode *i)
{
    struct share_inode *d = share_inode_of(dir);
    struct share_inode *file = share_inode_of(i);
    uint32_t dir_fid = fid_hold(d), fid = fid_hold(file);
    int err = check_fid(file, fid);

    if (!err)
        err = ninep_link(client_of(d), dir_fid, name, fid);
    fid_release(file, fid);
    fid_release(d, dir_fid);
    share_doubt(i);
    share_doubt(dir);
    if (!err) {
        __atomic_fetch_add(&i->nlink, 1, __ATOMIC_RELAXED);
        inode_touch(dir);
        inode_touch_attributes(i);
    }
    return err;
}

/* A name of i is gone. With its last one i is forgotten: another file may get its number. */
static void lost_name(struct inode *dir, const struct fs_name *name, struct inode *i)
{
    uint32_t links = __atomic_load_n(&i->nlink, __ATOMIC_RELAXED);
    struct share_inode *s = share_inode_of(i);

    mutex_lock(&s->share->lock);
    if (s->place == share_place(dir, name))
        __atomic_store_n(&s->lost, true, __ATOMIC_RELEASE);
    mutex_unlock(&s->share->lock);
    share_doubt(i);
    if (inode_is_dir(i)) {
        struct inode *parent = i->parent;

        __atomic_store_n(&i->nlink, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&i->parent, NULL, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&dir->nlink, 1, __ATOMIC_RELAXED);
        if (parent)
            inode_unref(parent); /* never the last: the caller, which holds its lock, has one */
    } else if (links) {
        __atomic_store_n(&i->nlink, links - 1, __ATOMIC_RELAXED);
    }
    share_unremember(share_inode_of(i));
    if (!__atomic_load_n(&i->nlink, __ATOMIC_RELAXED))
        share_forget(share_inode_of(i));
    inode_touch_attributes(i);
}

int share_unlink(struct inode *dir, const struct fs_name *name, struct inode *i)
{
    struct share_inode *d = share_inode_of(dir);
    uint32_t fid = fid_hold(d);
    int err = ninep_unlink(client_of(d), fid, name, inode_is_dir(i));

    fid_release(d, fid);
    share_doubt(dir);
    if (!err) {
        lost_name(dir, name, i);
        inode_touch(dir);
    }
    return err;
}

/* i has the new name in `to`: record it. */
static void took_name(struct inode *i, struct inode *from, const struct fs_name *old,
                      struct inode *to, const struct fs_name *name)
{
    struct share_inode *s = share_inode_of(i);

    mutex_lock(&s->share->lock);
    if (s->place == share_place(from, old)) /* the server's fids follow */
        s->place = share_place(to, name);
    mutex_unlock(&s->share->lock);
    if (!inode_is_dir(i)) {
        share_unremember(s);
        if (notify_wanted(to))
            share_remember(s, to, name);
        return;
    }
    if (from != to) {
        inode_ref(to);
        __atomic_store_n(&i->parent, to, __ATOMIC_RELAXED);
        __atomic_fetch_add(&to->nlink, 1, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&from->nlink, 1, __ATOMIC_RELAXED);
        inode_unref(from); /* never the last: the caller has one */
    }
    if (share_rename_directory(s, name)) /* no memory: a look-up will make a new inode */
        share_forget(s);
}

int share_rename(struct inode *from, const struct fs_name *old, struct inode *i, struct inode *to,
                 const struct fs_name *name, struct inode *replaced)
{
    struct share_inode *f = share_inode_of(from);
    struct share_inode *t = share_inode_of(to);
    uint32_t from_fid = fid_hold(f), to_fid = fid_hold(t);
    int err = ninep_rename(client_of(f), from_fid, old, to_fid, name);

    fid_release(t, to_fid);
    fid_release(f, from_fid);
    share_doubt(from);
    share_doubt(to);
    share_doubt(i);
    if (err) {
        if (replaced)
            share_doubt(replaced);
        return err;
    }
    if (replaced)
        lost_name(to, name, replaced);
    took_name(i, from, old, to, name);
    inode_touch(to);
    inode_touch(from);
    inode_touch_attributes(i);
    return 0;
}

int share_name_of(struct inode *dir, struct fs_entry *to)
{
    const struct share_inode *i = share_inode_of(dir);

    to->len = i->name_len;
    memcpy(to->text, i->name, i->name_len);
    to->text[i->name_len] = '\0';
    return 0;
}

long share_readlink(struct inode *i, char *buf, size_t n)
{
    struct share_inode *l = share_inode_of(i);
    uint32_t fid = fid_hold(l);
    long r = ninep_readlink(client_of(l), fid, buf, n);

    fid_release(l, fid);
    return r;
}

int share_set_attributes(const struct share_inode *i, uint32_t which,
                         const struct ninep_attributes *a)
{
    uint32_t fid = fid_hold(i);
    int err = share_is_removed(i) ? -ENOENT : check_fid(i, fid);

    if (!err)
        err = ninep_set_attributes(client_of(i), fid, which, a);
    fid_release(i, fid);
    return err;
}

int share_drop_set_ids(struct share_inode *i)
{
    uint32_t mode = __atomic_load_n(&i->inode.mode, __ATOMIC_RELAXED);
    uint32_t bits = inode_set_id_bits(mode);
    struct ninep_attributes a = {.mode = mode & ~bits};
    int err = bits ? share_set_attributes(i, NINEP_SET_MODE, &a) : 0;

    if (!bits)
        return 0;
    if (!err || share_is_removed(
                    i)) /* a server that may not change the mode drops them itself, at the write */
        __atomic_fetch_and(&i->inode.mode, ~bits, __ATOMIC_RELAXED);
    share_doubt(&i->inode);
    return err == -EINTR ? err : 0;
}

/* A file without a name, which the server may not find: it keeps its attributes here. */
static void change_here(struct inode *in, uint32_t which, const struct ninep_attributes *a)
{
    uint32_t type = __atomic_load_n(&in->mode, __ATOMIC_RELAXED) & S_IFMT;

    if (which & NINEP_SET_MODE)
        __atomic_store_n(&in->mode, type | (a->mode & 07777), __ATOMIC_RELAXED);
    if (which & NINEP_SET_UID)
        __atomic_store_n(&in->uid, a->uid, __ATOMIC_RELAXED);
    if (which & NINEP_SET_GID)
        __atomic_store_n(&in->gid, a->gid, __ATOMIC_RELAXED);
    if (which & NINEP_SET_ATIME)
        __atomic_store_n(&in->atime_ns, a->atime_ns, __ATOMIC_RELAXED);
    if (which & NINEP_SET_MTIME)
        __atomic_store_n(&in->mtime_ns, a->mtime_ns, __ATOMIC_RELAXED);
    inode_touch_attributes(in);
}

int share_change(struct inode *in, const struct fs_change *to)
{
    struct share_inode *i = share_inode_of(in);
    struct ninep_attributes a = {.mode = to->mode,
                                 .uid = to->uid,
                                 .gid = to->gid,
                                 .atime_ns = to->atime_ns,
                                 .mtime_ns = to->mtime_ns};
    uint32_t which = 0;
    int err;

    if (to->which & FS_SET_MODE)
        which |= NINEP_SET_MODE;
    if (to->which & FS_SET_OWNER) {
        which |= to->uid != UINT32_MAX ? NINEP_SET_UID : 0;
        which |= to->gid != UINT32_MAX ? NINEP_SET_GID : 0;
    }
    if (to->which & FS_SET_TIMES) {
        which |= to->atime_ns != TIME_UNCHANGED ? NINEP_SET_ATIME : 0;
        which |= to->mtime_ns != TIME_UNCHANGED ? NINEP_SET_MTIME : 0;
    }
    err = which ? share_set_attributes(i, which, &a) : 0;
    if (err == -ENOENT && share_is_removed(i)) {
        change_here(in, which, &a);
        return to->which & FS_SET_OWNER ? share_drop_set_ids(i) : 0;
    }
    if (!err && (to->which & FS_SET_OWNER))
        err = share_drop_set_ids(i);
    share_doubt(in);
    /* What became of it: a server without privileges accepts owners and does not set them. */
    return err ? err : share_refresh_own(i);
}
