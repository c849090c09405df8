/* Inodes and their names: each call is one step of the journal. */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/stat.h"
#include "kernel/sched/timer.h"

static bool is_dir(const struct ext4_node *n) { return (n->mode & S_IFMT) == S_IFDIR; }

static void touch(struct ext4_node *n, bool contents)
{
    n->ctime_ns = (int64_t)clock_wall_ns();
    if (contents)
        n->mtime_ns = n->ctime_ns;
}

/* One more directory in dir, or, with n = -1, one less. 1 stands for too many to be counted. */
static int count_child(struct ext4_volume *v, struct ext4_node *dir, int n)
{
    if (dir->nlink == 1)
        return 0;
    if (n > 0 && dir->nlink >= LINKS_MOST) {
        if (!ext2fs_has_feature_dir_nlink(v->fs->super))
            return -EMLINK;
        dir->nlink = 1;
        return 0;
    }
    if (n < 0 && dir->nlink <= 2)
        return -EUCLEAN;
    dir->nlink += (uint32_t)n;
    return 0;
}

static int write_dir(struct ext4_volume *v, struct ext4_node *dir)
{
    touch(dir, true);
    return ext4_write_node(v, dir, false);
}

/* ---- making ---- */

/* A short target is in the inode, a longer one in a block of its own. */
static int put_target(struct ext4_volume *v, struct ext4_node *n, struct ext4_text target)
{
    struct ext2_inode *raw = (struct ext2_inode *)n->raw;
    uint64_t block;
    uint8_t *bytes;
    uint32_t got;
    int err;

    if (target.len >= v->block_bytes)
        return -ENAMETOOLONG;
    n->size = target.len;
    if (target.len < IN_INODE) {
        memcpy(raw->i_block, target.text, target.len);
        return 0;
    }
    ext4_extent_init(n);
    err = ext4_take_blocks(v,
                           ext4_group_first(v, (n->number - 1) / v->fs->super->s_inodes_per_group),
                           1, &block, &got);
    if (!err)
        err = ext4_extent_add(v, n, 0, 1, block, false);
    if (!err)
        err = ext4_fresh(v, block, &bytes);
    if (!err)
        memcpy(bytes, target.text, target.len);
    return err;
}

static int make(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
                struct ext4_node *n, struct ext4_text target)
{
    int err = ext4_edit_node(v, dir);

    if (!err)
        err = ext4_new_node(v, dir->number, n);
    if (err)
        return err;
    n->nlink = is_dir(n) ? 2 : 1;
    if (is_dir(n))
        err = count_child(v, dir, 1);
    if (!err && is_dir(n))
        err = ext4_begin_directory(v, n, dir->number);
    if (!err && (n->mode & S_IFMT) == S_IFLNK)
        err = put_target(v, n, target);
    if (!err)
        err = ext4_enter(v, dir, name.text, name.len, n);
    if (!err)
        err = ext4_write_node(v, n, true);
    return err ? err : write_dir(v, dir);
}

int ext4_make(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
              struct ext4_node *n, struct ext4_text target)
{
    unsigned tries = 0;
    int err;

    do {
        err = ext4_step(v);
        if (!err)
            err = ext4_step_end(v, make(v, dir, name, n, target));
    } while (ext4_step_again(v, &err, tries++));
    return err;
}

static int make_unnamed(struct ext4_volume *v, uint32_t near, struct ext4_node *n)
{
    int err = ext4_new_node(v, near, n);

    if (!err)
        err = ext4_write_node(v, n, true);
    return err ? err : ext4_orphan_add(v, n);
}

int ext4_make_unnamed(struct ext4_volume *v, uint32_t near, struct ext4_node *n)
{
    int err = ext4_step(v);

    return err ? err : ext4_step_end(v, make_unnamed(v, near, n));
}

/* ---- names ---- */

static int link_name(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
                     struct ext4_node *n)
{
    int err = ext4_edit_node(v, dir);

    if (!err)
        err = ext4_edit_node(v, n);
    if (!err && n->nlink >= LINKS_MOST)
        err = -EMLINK;
    if (!err && n->nlink == 0 && !n->cutting) /* or else until it is cut */
        err = ext4_orphan_remove(v, n);
    if (err)
        return err;
    n->nlink++;
    touch(n, false);
    err = ext4_enter(v, dir, name.text, name.len, n);
    if (!err)
        err = ext4_write_node(v, n, false);
    return err ? err : write_dir(v, dir);
}

int ext4_link(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
              struct ext4_node *n)
{
    unsigned tries = 0;
    int err;

    do {
        err = ext4_step(v);
        if (!err)
            err = ext4_step_end(v, link_name(v, dir, name, n));
    } while (ext4_step_again(v, &err, tries++));
    return err;
}

/* n has one name less, in dir. */
static int lose_name(struct ext4_volume *v, struct ext4_node *dir, struct ext4_node *n)
{
    struct ext4_name any;
    int err = ext4_edit_node(v, n);

    if (!err && ext4_is_mapped(v, n))
        err = -EOPNOTSUPP;
    if (!err && n->nlink == 0)
        err = -EUCLEAN;
    if (!err && is_dir(n)) {
        err = ext4_next_name(v, n, 2, &any);
        err = err == -ENOENT ? count_child(v, dir, -1) : err ? err : -ENOTEMPTY;
    }
    if (err)
        return err;
    n->nlink = is_dir(n) ? 0 : n->nlink - 1;
    touch(n, false);
    if (n->nlink == 0 && !n->cutting) /* or else it is there already */
        err = ext4_orphan_add(v, n);
    return err ? err : ext4_write_node(v, n, false);
}

static int unlink_name(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
                       struct ext4_node *n)
{
    int err = ext4_edit_node(v, dir);

    if (!err)
        err = lose_name(v, dir, n);
    if (!err)
        err = ext4_remove(v, dir, name.text, name.len, n->number);
    return err ? err : write_dir(v, dir);
}

int ext4_unlink(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
                struct ext4_node *n)
{
    int err = ext4_step(v);

    return err ? err : ext4_step_end(v, unlink_name(v, dir, name, n));
}

/* A directory n, which was in `from`, is in `to`. */
static int move_up(struct ext4_volume *v, struct ext4_node *from, struct ext4_node *n,
                   struct ext4_node *to)
{
    static const struct ext4_text dots = {"..", 2};
    int err = from == to || !is_dir(n) ? 0 : ext4_redirect(v, n, dots.text, dots.len, to);

    if (from == to || !is_dir(n) || err)
        return err;
    err = count_child(v, from, -1);
    return err ? err : count_child(v, to, 1);
}

static int rename_name(struct ext4_volume *v, struct ext4_node *from, struct ext4_text old,
                       struct ext4_node *n, struct ext4_node *to, struct ext4_text name,
                       struct ext4_node *replaced)
{
    int err = ext4_edit_node(v, from);

    if (!err)
        err = ext4_edit_node(v, to);
    if (!err)
        err = ext4_edit_node(v, n);
    if (!err && replaced)
        err = lose_name(v, to, replaced);
    if (!err)
        err = replaced ? ext4_redirect(v, to, name.text, name.len, n)
                       : ext4_enter(v, to, name.text, name.len, n);
    if (!err)
        err = ext4_remove(v, from, old.text, old.len, n->number);
    if (!err)
        err = move_up(v, from, n, to);
    if (err)
        return err;
    touch(n, false);
    err = ext4_write_node(v, n, false);
    if (!err)
        err = write_dir(v, from);
    return err || from == to ? err : write_dir(v, to);
}

int ext4_rename(struct ext4_volume *v, struct ext4_node *from, struct ext4_text old,
                struct ext4_node *n, struct ext4_node *to, struct ext4_text name,
                struct ext4_node *replaced)
{
    unsigned tries = 0;
    int err;

    do {
        err = ext4_step(v);
        if (!err)
            err = ext4_step_end(v, rename_name(v, from, old, n, to, name, replaced));
    } while (ext4_step_again(v, &err, tries++));
    return err;
}

static int exchange_names(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
                          struct ext4_node *n, struct ext4_node *to, struct ext4_text other,
                          struct ext4_node *o)
{
    struct ext4_node *const all[] = {dir, to, n, o};
    int err = 0;

    for (unsigned k = 0; !err && k < ARRAY_SIZE(all); k++)
        err = ext4_edit_node(v, all[k]);
    if (!err)
        err = ext4_redirect(v, dir, name.text, name.len, o);
    if (!err)
        err = ext4_redirect(v, to, other.text, other.len, n);
    if (!err)
        err = move_up(v, dir, n, to);
    if (!err)
        err = move_up(v, to, o, dir);
    if (err)
        return err;
    touch(n, false);
    touch(o, false);
    touch(dir, true);
    touch(to, true);
    for (unsigned k = 0; !err && k < ARRAY_SIZE(all); k++)
        err = ext4_write_node(v, all[k], false);
    return err;
}

int ext4_exchange(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
                  struct ext4_node *n, struct ext4_node *to, struct ext4_text other,
                  struct ext4_node *o)
{
    int err = ext4_step(v);

    return err ? err : ext4_step_end(v, exchange_names(v, dir, name, n, to, other, o));
}

int ext4_store_node(struct ext4_volume *v, struct ext4_node *n, const struct ext4_node *before)
{
    int err = ext4_step(v);

    if (!err)
        err = ext4_step_end(v, ext4_write_node(v, n, false));
    if (err)
        *n = *before;
    return err;
}
