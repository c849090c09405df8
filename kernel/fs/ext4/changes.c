/*
 * The operations of inodes that change names and attributes. Each is one step of the journal
 * (change.h), done under the mount's mutex, in which the nodes of the inodes change; what the
 * kernel's inodes show follows.
 *
 * A new inode is made in memory first, so that nothing can fail after its name is on the disk.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/private.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool_charged.h"

static struct ext4_text text_of(const struct fs_name *name)
{
    return (struct ext4_text){name->text, name->len};
}

/* Have an inode show what its node has. Times of a file's contents are newer in the inode. */
static void show(struct ext4_inode *i)
{
    struct inode *in = &i->inode;

    __atomic_store_n(&in->nlink, i->node.nlink, __ATOMIC_RELAXED);
    __atomic_store_n(&in->ctime_ns, i->node.ctime_ns, __ATOMIC_RELAXED);
    if (inode_is_dir(in)) {
        __atomic_store_n(&in->mtime_ns, i->node.mtime_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&in->size, i->node.size, __ATOMIC_RELAXED);
    }
}

/* i has lost a name. With the last one nobody finds it any more; a directory leaves its parent,
 * which the caller has locked and holds. */
static void show_loss(struct ext4_inode *i)
{
    struct inode *parent = i->inode.parent;

    show(i);
    if (i->node.nlink)
        return;
    ext4_take_out(i);
    if (!parent)
        return;
    i->inode.parent = NULL;
    inode_unref(parent);
}

/* ---- making ---- */

static struct ext4_node node_of(const struct fs_new *what)
{
    int64_t now = (int64_t)clock_wall_ns();

    return (struct ext4_node){.mode = what->mode,
                              .uid = what->uid,
                              .gid = what->gid,
                              .rdev = what->rdev,
                              .atime_ns = now,
                              .mtime_ns = now,
                              .ctime_ns = now};
}

static int make_named(struct ext4_inode *d, const struct fs_name *name, const struct fs_new *what,
                      struct ext4_inode **out)
{
    struct ext4_node n = node_of(what);
    struct ext4 *m = d->mount;
    struct ext4_inode *i;
    int err = ext4_inode_new(m, &d->inode, name, &n, &i);

    if (err)
        return err;
    i->node = n; /* so that the step changes nothing but this */
    err = ext4_make(
        m->volume, &d->node, text_of(name), &i->node,
        (struct ext4_text){what->target, what->target ? (uint32_t)strlen(what->target) : 0});
    if (err) {
        i->node.nlink = 1; /* nothing on the disk is to be freed with it */
        inode_unref(&i->inode);
        return err;
    }
    i->inode.ino = i->node.number;
    i->inode.size = i->node.size;
    ext4_enter_index(i);
    show(i);
    show(d);
    *out = i;
    return 0;
}

int ext4_op_create(struct inode *dir, const struct fs_name *name, const struct fs_new *what,
                   struct inode **out)
{
    struct ext4_inode *d = ext4_inode_of(dir), *i = NULL;
    int err = mutex_lock_killable(&d->mount->mutex);

    if (err)
        return err;
    err = make_named(d, name, what, &i);
    mutex_unlock(&d->mount->mutex);
    if (err)
        return err;
    if (out)
        *out = &i->inode;
    else
        inode_unref(&i->inode);
    return 0;
}

int ext4_op_create_unnamed(struct inode *dir, const struct fs_new *what, bool linkable,
                           struct inode **out)
{
    struct ext4_inode *d = ext4_inode_of(dir), *i = NULL;
    struct ext4_node n = node_of(what);
    int err = mutex_lock_killable(&d->mount->mutex);

    if (err)
        return err;
    err = ext4_inode_new(d->mount, NULL, NULL, &n, &i);
    if (!err) {
        i->node = n;
        err = ext4_make_unnamed(d->mount->volume, d->node.number, &i->node);
        i->linkable = linkable;
        i->inode.ino = i->node.number;
        if (err)
            i->node.nlink = 1;
        else
            show(i);
    }
    mutex_unlock(&d->mount->mutex);
    if (!err)
        *out = &i->inode;
    else if (i)
        inode_unref(&i->inode);
    return err;
}

/* ---- names ---- */

int ext4_op_link(struct inode *dir, const struct fs_name *name, struct inode *in)
{
    struct ext4_inode *d = ext4_inode_of(dir), *i = ext4_inode_of(in);
    int err = mutex_lock_killable(&d->mount->mutex);
    bool first;

    if (err)
        return err;
    first = i->node.nlink == 0;
    if (first && !i->linkable)
        err = -ENOENT;
    if (!err)
        err = ext4_link(d->mount->volume, &d->node, text_of(name), &i->node);
    if (!err) {
        if (first)
            ext4_enter_index(i);
        show(i);
        show(d);
    }
    mutex_unlock(&d->mount->mutex);
    return err;
}

int ext4_op_unlink(struct inode *dir, const struct fs_name *name, struct inode *in)
{
    struct ext4_inode *d = ext4_inode_of(dir), *i = ext4_inode_of(in);
    int err = mutex_lock_killable(&d->mount->mutex);

    if (err)
        return err;
    err = ext4_unlink(d->mount->volume, &d->node, text_of(name), &i->node);
    if (!err) {
        show_loss(i);
        show(d);
    }
    mutex_unlock(&d->mount->mutex);
    return err;
}

/* Memory for a further name of a directory; NULL in *out for other inodes. */
static int copy_name(const struct ext4_inode *i, const struct fs_name *name, char **out)
{
    *out = NULL;
    if (!inode_is_dir(&i->inode))
        return 0;
    *out = npp_alloc_charged(name->len, i->account);
    if (!*out)
        return -ENOMEM;
    memcpy(*out, name->text, name->len);
    return 0;
}

static void drop_name(const struct ext4_inode *i, char *text, uint32_t len)
{
    if (text)
        npp_free_charged(text, len, i->account);
}

/* i, if it is a directory, is in `to` now, by a name from copy_name(). */
static void show_move(struct ext4_inode *i, struct inode *to, char *text, uint32_t len)
{
    struct inode *from = i->inode.parent;

    show(i);
    if (!text)
        return;
    drop_name(i, i->name, i->name_len);
    i->name = text;
    i->name_len = len;
    if (from == to)
        return;
    inode_ref(to);
    i->inode.parent = to;
    inode_unref(from); /* the caller has another reference */
}

int ext4_op_rename(struct inode *from, const struct fs_name *old, struct inode *in,
                   struct inode *to, const struct fs_name *name, struct inode *replaced)
{
    struct ext4_inode *f = ext4_inode_of(from), *t = ext4_inode_of(to), *i = ext4_inode_of(in);
    struct ext4_inode *r = replaced ? ext4_inode_of(replaced) : NULL;
    struct ext4 *m = f->mount;
    char *text;
    int err = copy_name(i, name, &text);

    if (!err)
        err = mutex_lock_killable(&m->mutex);
    if (!err) {
        err = ext4_rename(m->volume, &f->node, text_of(old), &i->node, &t->node, text_of(name),
                          r ? &r->node : NULL);
        if (!err) {
            if (r)
                show_loss(r);
            show_move(i, to, text, name->len);
            show(f);
            show(t);
        }
        mutex_unlock(&m->mutex);
    }
    if (err)
        drop_name(i, text, name->len);
    return err;
}

int ext4_op_exchange(struct inode *dir, const struct fs_name *name, struct inode *in,
                     struct inode *to, const struct fs_name *other, struct inode *jn)
{
    struct ext4_inode *d = ext4_inode_of(dir), *t = ext4_inode_of(to), *i = ext4_inode_of(in),
                      *j = ext4_inode_of(jn);
    struct ext4 *m = d->mount;
    char *text, *others = NULL;
    int err = copy_name(i, other, &text);

    if (!err)
        err = copy_name(j, name, &others);
    if (!err)
        err = mutex_lock_killable(&m->mutex);
    if (!err) {
        err = ext4_exchange(m->volume, &d->node, text_of(name), &i->node, &t->node, text_of(other),
                            &j->node);
        if (!err) {
            show_move(i, to, text, other->len);
            show_move(j, dir, others, name->len);
            show(d);
            show(t);
        }
        mutex_unlock(&m->mutex);
    }
    if (err) {
        drop_name(i, text, other->len);
        drop_name(j, others, name->len);
    }
    return err;
}

/* ---- attributes ---- */

static void apply(struct ext4_node *n, const struct fs_change *to)
{
    if (to->which & FS_SET_MODE)
        n->mode = (n->mode & S_IFMT) | (to->mode & 07777);
    if (to->which & FS_SET_OWNER) {
        n->mode &= ~inode_set_id_bits(n->mode);
        n->uid = to->uid != UINT32_MAX ? to->uid : n->uid;
        n->gid = to->gid != UINT32_MAX ? to->gid : n->gid;
    }
    if (to->which & FS_SET_TIMES) {
        n->atime_ns = to->atime_ns != TIME_UNCHANGED ? to->atime_ns : n->atime_ns;
        n->mtime_ns = to->mtime_ns != TIME_UNCHANGED ? to->mtime_ns : n->mtime_ns;
    }
    n->ctime_ns = (int64_t)clock_wall_ns();
}

/* The inode may have newer times of its contents than the node, which are stored with it. */
void ext4_take_times(struct ext4_inode *i)
{
    i->node.mtime_ns = __atomic_load_n(&i->inode.mtime_ns, __ATOMIC_RELAXED);
    i->node.ctime_ns = __atomic_load_n(&i->inode.ctime_ns, __ATOMIC_RELAXED);
}

int ext4_op_change(struct inode *in, const struct fs_change *to)
{
    struct ext4_inode *i = ext4_inode_of(in);
    struct ext4 *m = i->mount;
    struct ext4_node before;
    int err = mutex_lock_killable(&m->mutex);

    if (err)
        return err;
    before = i->node;
    ext4_take_times(i);
    apply(&i->node, to);
    err = ext4_store_node(m->volume, &i->node, &before);
    if (!err) {
        __atomic_store_n(&in->mode, i->node.mode, __ATOMIC_RELAXED);
        __atomic_store_n(&in->uid, i->node.uid, __ATOMIC_RELAXED);
        __atomic_store_n(&in->gid, i->node.gid, __ATOMIC_RELAXED);
        __atomic_store_n(&in->mtime_ns, i->node.mtime_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&in->ctime_ns, i->node.ctime_ns, __ATOMIC_RELAXED);
        if (to->which & FS_SET_TIMES && to->atime_ns != TIME_UNCHANGED)
            __atomic_store_n(&in->atime_ns, i->node.atime_ns, __ATOMIC_RELAXED);
    }
    mutex_unlock(&m->mutex);
    return err;
}
