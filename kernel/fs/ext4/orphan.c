/*
 * The list of orphans: inodes that have lost their last name and are still in use, and files that
 * are being cut. The superblock has the first one, and each has the next one's number where deleted
 * inodes have the time of that. So what a power cut leaves is finished when the volume is mounted
 * again, here or by e2fsck.
 *
 * Links are changed on the disk only, never in a node in memory: ext4_write_node() leaves them.
 */
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/lines.h"
#include "kernel/fs/stat.h"
#include "kernel/sched/thread.h"

#define ORPHANS_MOST 65536u /* a longer list is one without end */

static int next_of(struct ext4_volume *v, uint32_t number, uint32_t *next)
{
    struct ext4_node n;
    int err = ext4_read_node_of(v, number, &n);

    *next = raw_of(&n)->i_dtime;
    return err;
}

static bool is_number(const struct ext4_volume *v, uint32_t number)
{
    return number >= EXT2_FIRST_INODE(v->fs->super) && number <= v->fs->super->s_inodes_count;
}

int ext4_orphan_first(struct ext4_volume *v, uint32_t *number)
{
    struct ext2_super_block s;
    int err = ext4_lines_read(v->lines, SUPERBLOCK_OFFSET, &s, sizeof(s));

    if (!err && s.s_last_orphan && !is_number(v, s.s_last_orphan))
        err = -EUCLEAN;
    *number = err ? 0 : s.s_last_orphan;
    return err;
}

static int set_first(struct ext4_volume *v, uint32_t number)
{
    struct ext2_super_block *s;
    uint8_t *block;
    int err = ext4_edit_super(v, &s, &block);

    if (err)
        return err;
    s->s_last_orphan = number;
    ext4_seal_super(v, s, false);
    return 0;
}

int ext4_orphan_add(struct ext4_volume *v, struct ext4_node *n)
{
    uint32_t first;
    int err = ext4_orphan_first(v, &first);

    if (!err)
        err = ext4_set_deleted(v, n->number, first);
    return err ? err : set_first(v, n->number);
}

int ext4_orphan_remove(struct ext4_volume *v, struct ext4_node *n)
{
    uint32_t at, next, behind;
    int err = ext4_orphan_first(v, &at);

    if (!err)
        err = next_of(v, n->number, &behind);
    if (!err)
        err = ext4_set_deleted(v, n->number, 0);
    if (!err && at == n->number)
        return set_first(v, behind);
    for (uint32_t k = 0; !err; k++) {
        if (!is_number(v, at) || k == ORPHANS_MOST)
            return -EUCLEAN;
        err = next_of(v, at, &next);
        if (!err && next == n->number)
            return ext4_set_deleted(v, at, behind);
        at = next;
    }
    return err;
}

/* ---- cutting and erasing ---- */

/* Free some blocks from `first` on. *more: there are others. */
static int cut(struct ext4_volume *v, struct ext4_node *n, uint64_t first, bool *more)
{
    *more = false;
    if (!(n->flags & EXT4_EXTENTS_FL))
        return 0;
    return ext4_extent_punch(v, n, (uint32_t)MIN(first, (uint64_t)UINT32_MAX), UINT32_MAX, more);
}

static int cut_step(struct ext4_volume *v, struct ext4_node *n, bool *more)
{
    int err = ext4_edit_node(v, n);

    if (!err)
        err = cut(v, n, (n->size + v->block_bytes - 1) >> v->shift, more);
    if (!err && !*more && n->cutting) {
        if (n->nlink) /* or else it stays, to be erased */
            err = ext4_orphan_remove(v, n);
        n->cutting = false;
    }
    return err ? err : ext4_write_node(v, n, false);
}

int ext4_cut(struct ext4_volume *v, struct ext4_node *n, bool *more)
{
    int err = ext4_step(v);

    return err ? err : ext4_step_end(v, cut_step(v, n, more));
}

static int erase_step(struct ext4_volume *v, struct ext4_node *n, bool *more)
{
    int err = ext4_edit_node(v, n);

    if (!err)
        err = cut(v, n, 0, more);
    if (err || *more)
        return err ? err : ext4_write_node(v, n, false);
    err = ext4_orphan_remove(v, n);
    if (!err)
        err = ext4_drop_attributes(v, n);
    return err ? err : ext4_free_node(v, n);
}

int ext4_erase(struct ext4_volume *v, struct ext4_node *n, bool *more)
{
    int err = ext4_step(v);

    return err ? err : ext4_step_end(v, erase_step(v, n, more));
}

int ext4_orphans_end(struct ext4_volume *v)
{
    uint32_t number, done = 0;
    int err;

    while ((err = ext4_orphan_first(v, &number)) == 0 && number) {
        struct ext4_node n;
        bool more = true;

        err = ext4_read_node_of(v, number, &n);
        if (!err && ext4_is_mapped(v, &n))
            err = -EUCLEAN; /* nothing of ours: e2fsck can free it */
        n.cutting = true;
        while (!err && more)
            err = thread_killed() ? -EINTR
                  : n.nlink       ? ext4_cut(v, &n, &more)
                                  : ext4_erase(v, &n, &more);
        if (err)
            return err;
        done++;
    }
    if (done)
        printk("%s: ext4: %u files that were removed or cut are finished\n", v->name, done);
    return err;
}
