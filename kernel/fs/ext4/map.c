/*
 * Where the blocks of a file are: by its tree of extents, which the library walks, or by its map of
 * blocks, which is short enough to be walked here. Every number of a block that comes from the disk
 * is compared with the volume's length before it is used.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/lines.h"
#include "kernel/fs/ext4/volume_private.h"

#define DEPTH_MOST 5u  /* of a tree of extents: 4 * 340^5 extents, as Linux has it */
#define WINDOW     64u /* entries of a block map that are looked at together */
#define FOREVER    (UINT64_MAX >> 1)

static bool is_on_volume(const struct ext4_volume *v, uint64_t block, uint64_t count)
{
    return block > v->fs->super->s_first_data_block && block < v->blocks &&
           count <= v->blocks - block;
}

/* ---- extents ---- */

/* The hole around `block`, after the library has found no extent for it: it stands at the last one
 * before, or at the first one, in a node of any level. */
static int find_hole(ext2_extent_handle_t h, uint64_t block, struct ext4_run *run)
{
    struct ext2fs_extent e;
    errcode_t r = ext2fs_extent_get(h, EXT2_EXTENT_CURRENT, &e);

    while (!r && e.e_lblk <= block) {
        r = ext2fs_extent_get(h, EXT2_EXTENT_NEXT_SIB, &e);
        if (!r && e.e_lblk <= block)
            return -EUCLEAN; /* not in order */
        if (r == EXT2_ET_EXTENT_NO_NEXT && (r = ext2fs_extent_get(h, EXT2_EXTENT_UP, &e)) == 0)
            e.e_lblk = 0; /* it has the block: what follows it matters */
    }
    if (r && r != EXT2_ET_EXTENT_NO_UP && r != EXT2_ET_NO_CURRENT_NODE)
        return ext4_error(r);
    *run = (struct ext4_run){block, r ? FOREVER - block : e.e_lblk - block, 0, 0};
    return 0;
}

static int find_extent(struct ext4_volume *v, ext2_extent_handle_t h, uint64_t block,
                       struct ext4_run *run)
{
    struct ext2fs_extent e;
    errcode_t r = ext2fs_extent_goto2(h, 0, block);

    if (r == EXT2_ET_EXTENT_NOT_FOUND || r == EXT2_ET_EXTENT_NO_PREV)
        return find_hole(h, block, run);
    if (!r)
        r = ext2fs_extent_get(h, EXT2_EXTENT_CURRENT, &e);
    if (r)
        return ext4_error(r);
    if (e.e_lblk > block || block - e.e_lblk >= e.e_len || !is_on_volume(v, e.e_pblk, e.e_len))
        return -EUCLEAN;
    *run = (struct ext4_run){e.e_lblk, e.e_len, e.e_pblk, 0};
    if (e.e_flags & EXT2_EXTENT_FLAGS_UNINIT) {
        run->physical = 0;
        run->reserved = e.e_pblk;
    }
    return 0;
}

/* The library allocates a part for each level before it looks at the levels. */
static int by_extents(struct ext4_volume *v, const struct ext4_node *n, uint64_t block,
                      struct ext4_run *run)
{
    struct ext2_inode copy = *raw_of(n); /* which it may change */
    const struct ext3_extent_header *root = (const struct ext3_extent_header *)copy.i_block;
    ext2_extent_handle_t h;
    int err;

    if (root->eh_depth > DEPTH_MOST)
        return -EUCLEAN;
    if (block > UINT32_MAX) {
        *run = (struct ext4_run){block, FOREVER - block, 0, 0};
        return 0;
    }
    err = ext4_error(ext2fs_extent_open2(v->fs, n->number, &copy, &h));
    if (err)
        return err;
    err = find_extent(v, h, block, run);
    ext2fs_extent_free(h);
    return err;
}

/* ---- block maps ---- */

/* The run at the beginning of n > 0 entries, for the blocks from `first` on, each of which stands
 * for one block. */
static int run_of(const struct ext4_volume *v, const uint32_t *entry, uint64_t n, uint64_t first,
                  struct ext4_run *run)
{
    uint64_t count = 1;

    if (entry[0] && !is_on_volume(v, entry[0], 1))
        return -EUCLEAN;
    while (count < n && entry[count] == (entry[0] ? entry[0] + count : 0) &&
           (!entry[0] || is_on_volume(v, entry[count], 1)))
        count++;
    *run = (struct ext4_run){first, count, entry[0], 0};
    return 0;
}

/* Below `table`, a block of entries for 1 << bits blocks each, that of the index-th block. */
static int by_tables(struct ext4_volume *v, uint32_t table, unsigned bits, unsigned levels,
                     uint64_t index, uint64_t block, struct ext4_run *run)
{
    unsigned each = v->shift - 2; /* log2 of the entries of a table */
    uint32_t window[WINDOW];

    for (;; levels--, bits -= each) {
        uint64_t at = index >> bits, span = UINT64_C(1) << bits, n;
        int err;

        if (!table) {
            span <<= each;
            *run = (struct ext4_run){block, span - (index & (span - 1)), 0, 0};
            return 0;
        }
        if (!is_on_volume(v, table, 1))
            return -EUCLEAN;
        index &= span - 1;
        n = levels == 1 ? MIN((uint64_t)WINDOW, (UINT64_C(1) << each) - at) : 1;
        err = ext4_lines_read(v->lines, ((uint64_t)table << v->shift) + at * sizeof(*window),
                              window, n * sizeof(*window));
        if (err)
            return err;
        if (levels == 1)
            return run_of(v, window, n, block, run);
        table = window[0];
    }
}

static int by_map(struct ext4_volume *v, const struct ext4_node *n, uint64_t block,
                  struct ext4_run *run)
{
    const struct ext2_inode *i = raw_of(n);
    unsigned each = v->shift - 2;
    uint64_t index = block;

    if (index < EXT2_NDIR_BLOCKS)
        return run_of(v, i->i_block + index, EXT2_NDIR_BLOCKS - index, block, run);
    index -= EXT2_NDIR_BLOCKS;
    for (unsigned levels = 1; levels <= 3; levels++) {
        uint64_t span = UINT64_C(1) << (each * levels);

        if (index < span)
            return by_tables(v, i->i_block[EXT2_IND_BLOCK + levels - 1], each * (levels - 1),
                             levels, index, block, run);
        index -= span;
    }
    *run = (struct ext4_run){block, FOREVER - block, 0, 0};
    return 0;
}

int ext4_find_run(struct ext4_volume *v, struct ext4_node *n, uint64_t block, struct ext4_run *run)
{
    struct ext4_run *last = &n->last;
    uint64_t skip;
    int err = 0;

    if (block < last->first || block - last->first >= last->count) {
        last->count = 0;
        err = n->flags & EXT4_EXTENTS_FL ? by_extents(v, n, block, last)
                                         : by_map(v, n, block, last);
    }
    if (err) {
        last->count = 0;
        return err;
    }
    skip = block - last->first;
    *run = (struct ext4_run){block, last->count - skip, last->physical ? last->physical + skip : 0,
                             last->reserved ? last->reserved + skip : 0};
    return 0;
}
