/* The blocks of regular files: had, freed, and the length of a file. */
#include "kernel/base/errno.h"
#include "kernel/fs/ext4/change.h"

#define BLOCKS_MOST   UINT64_C(0xFFFFFFFF) /* of a file */
#define RESERVED_MOST 32767u               /* of an extent that is unwritten */

/* Behind the block before, or in the group of the inode. */
static uint64_t goal_of(struct ext4_volume *v, struct ext4_node *n, uint64_t block)
{
    uint32_t group = (n->number - 1) / v->fs->super->s_inodes_per_group;
    struct ext4_run run;

    if (block && ext4_find_run(v, n, block - 1, &run) == 0 && run.physical)
        return run.physical + 1;
    return ext4_group_first(v, group);
}

/* New blocks in the hole at `block`. */
static int fill(struct ext4_volume *v, struct ext4_node *n, uint64_t block, uint64_t count,
                bool unwritten, struct ext4_run *run)
{
    uint64_t start;
    uint32_t got;
    int err;

    if (block + count > BLOCKS_MOST)
        return -EFBIG;
    err = ext4_take_blocks(v, goal_of(v, n, block), (uint32_t)MIN(count, (uint64_t)RESERVED_MOST),
                           &start, &got);
    if (!err)
        err = ext4_extent_add(v, n, (uint32_t)block, got, start, unwritten);
    *run = (struct ext4_run){block, got, start, 0};
    return err;
}

int ext4_have_blocks(struct ext4_volume *v, struct ext4_node *n, uint64_t block, uint64_t count,
                     struct ext4_run *run, bool *fresh)
{
    int err = ext4_find_run(v, n, block, run);

    *fresh = !err && !run->physical;
    run->count = MIN(run->count, count);
    if (err || run->physical)
        return err;
    if (!run->reserved)
        return fill(v, n, block, run->count, false, run);
    run->physical = run->reserved;
    return ext4_extent_written(v, n, (uint32_t)block, (uint32_t)run->count);
}

static int reserve(struct ext4_volume *v, struct ext4_node *n, uint64_t block, uint64_t count,
                   uint64_t *done)
{
    struct ext4_run run;
    int err = ext4_edit_node(v, n);

    if (!err)
        err = ext4_find_run(v, n, block, &run);
    if (err)
        return err;
    run.count = MIN(run.count, count);
    if (!run.physical && !run.reserved) {
        err = fill(v, n, block, run.count, true, &run);
        if (!err)
            err = ext4_write_node(v, n, false);
    }
    *done = run.count;
    return err;
}

int ext4_reserve_blocks(struct ext4_volume *v, struct ext4_node *n, uint64_t block, uint64_t count,
                        uint64_t *done)
{
    unsigned tries = 0;
    int err;

    do {
        err = ext4_step(v);
        if (!err)
            err = ext4_step_end(v, reserve(v, n, block, count, done));
    } while (ext4_step_again(v, &err, tries++));
    return err;
}

static int punch(struct ext4_volume *v, struct ext4_node *n, uint64_t first, uint64_t end,
                 bool *more)
{
    int err = ext4_edit_node(v, n);

    if (!err)
        err = ext4_extent_punch(v, n, (uint32_t)first, (uint32_t)end, more);
    return err ? err : ext4_write_node(v, n, false);
}

int ext4_punch(struct ext4_volume *v, struct ext4_node *n, uint64_t first, uint64_t end, bool *more)
{
    int err = ext4_step(v);

    *more = false;
    end = MIN(end, BLOCKS_MOST);
    if (first >= end)
        return err;
    return err ? err : ext4_step_end(v, punch(v, n, first, end, more));
}

/* A file without a name is an orphan anyway. */
static int set_size(struct ext4_volume *v, struct ext4_node *n, uint64_t size)
{
    int err = size < n->size && ext4_is_mapped(v, n) ? -EOPNOTSUPP : ext4_edit_node(v, n);

    if (!err && size < n->size && n->nlink && !n->cutting) {
        err = ext4_orphan_add(v, n);
        n->cutting = true;
    }
    n->size = size;
    return err ? err : ext4_write_node(v, n, false);
}

int ext4_set_size(struct ext4_volume *v, struct ext4_node *n, uint64_t size)
{
    int err = ext4_step(v);

    return err ? err : ext4_step_end(v, set_size(v, n, size));
}
