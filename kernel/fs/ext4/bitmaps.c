/*
 * Bitmaps of groups: which blocks and inodes are in use. A group that has none yet (mke2fs leaves
 * most so, with a flag) gets one when something of it is used first.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/lines.h"

static bool get(const uint8_t *map, uint32_t bit) { return map[bit / 8] >> bit % 8 & 1; }

static void set(uint8_t *map, uint32_t first, uint32_t n, bool value)
{
    for (uint32_t bit = first; bit < first + n; bit++)
        if (value)
            map[bit / 8] |= (uint8_t)(1u << bit % 8);
        else
            map[bit / 8] &= (uint8_t)~(1u << bit % 8);
}

/* The first bit of [from, end) that has the value; end: there is none. */
static uint32_t next(const uint8_t *map, uint32_t from, uint32_t end, bool value)
{
    uint8_t skip = value ? 0 : 0xFF;

    while (from < end) {
        if (from % 8 == 0 && end - from >= 8 && map[from / 8] == skip)
            from += 8;
        else if (get(map, from) == value)
            return from;
        else
            from++;
    }
    return end;
}

static uint64_t place_of(const struct ext4_volume *v, const struct ext4_group *g, bool inodes)
{
    const struct ext4_group_desc *d = &g->d;
    uint64_t high = inodes ? d->bg_inode_bitmap_hi : d->bg_block_bitmap_hi;

    if (!ext2fs_has_feature_64bit(v->fs->super))
        high = 0;
    return high << 32 | (inodes ? d->bg_inode_bitmap : d->bg_block_bitmap);
}

static uint32_t bits_of(const struct ext4_volume *v, const struct ext4_group *g, bool inodes)
{
    return inodes ? v->fs->super->s_inodes_per_group : ext4_group_blocks(v, g->number);
}

static bool is_unmade(const struct ext4_volume *v, const struct ext4_group *g, bool inodes)
{
    const struct ext2_super_block *s = v->fs->super;

    return (s->s_feature_ro_compat &
            (EXT4_FEATURE_RO_COMPAT_GDT_CSUM | EXT4_FEATURE_RO_COMPAT_METADATA_CSUM)) &&
           (g->d.bg_flags & (inodes ? EXT2_BG_INODE_UNINIT : EXT2_BG_BLOCK_UNINIT));
}

static uint32_t sum_of(const struct ext4_volume *v, const uint8_t *map, bool inodes)
{
    const struct ext2_super_block *s = v->fs->super;

    return ext2fs_crc32c_le(v->fs->csum_seed, map,
                            (inodes ? s->s_inodes_per_group : s->s_blocks_per_group) / 8);
}

static bool is_good(const struct ext4_volume *v, const struct ext4_group *g, const uint8_t *map,
                    bool inodes)
{
    const struct ext4_group_desc *d = &g->d;
    uint32_t sum = sum_of(v, map, inodes);
    bool wide = EXT2_DESC_SIZE(v->fs->super) >= EXT4_BG_BLOCK_BITMAP_CSUM_HI_LOCATION;

    if (!ext2fs_has_feature_metadata_csum(v->fs->super))
        return true;
    if ((uint16_t)sum != (inodes ? d->bg_inode_bitmap_csum_lo : d->bg_block_bitmap_csum_lo))
        return false;
    return !wide || sum >> 16 == (inodes ? d->bg_inode_bitmap_csum_hi : d->bg_block_bitmap_csum_hi);
}

static void seal(const struct ext4_volume *v, struct ext4_group *g, const uint8_t *map, bool inodes)
{
    uint32_t sum = ext2fs_has_feature_metadata_csum(v->fs->super) ? sum_of(v, map, inodes) : 0;

    if (inodes) {
        g->d.bg_inode_bitmap_csum_lo = (uint16_t)sum;
        g->d.bg_inode_bitmap_csum_hi = (uint16_t)(sum >> 16);
    } else {
        g->d.bg_block_bitmap_csum_lo = (uint16_t)sum;
        g->d.bg_block_bitmap_csum_hi = (uint16_t)(sum >> 16);
    }
}

/* ---- bitmaps that are not there yet ---- */

/* Mark what of [start, start + count) is in the group. */
static void mark(const struct ext4_volume *v, const struct ext4_group *g, uint8_t *map,
                 uint64_t start, uint64_t count)
{
    uint64_t first = ext4_group_first(v, g->number), end = first + ext4_group_blocks(v, g->number);

    for (uint64_t b = MAX(start, first); b < MIN(start + count, end); b++)
        set(map, (uint32_t)(b - first), 1, true);
}

/* Copies of the superblock and of the descriptors, and the group's own bitmaps and inodes. */
static void make_blocks(struct ext4_volume *v, const struct ext4_group *g, uint8_t *map)
{
    const struct ext2_super_block *s = v->fs->super;
    uint64_t high = ext2fs_has_feature_64bit(v->fs->super) ? g->d.bg_inode_table_hi : 0;
    uint64_t first = ext4_group_first(v, g->number);

    if (ext2fs_bg_has_super(v->fs, g->number))
        mark(v, g, map, first, 1 + v->fs->desc_blocks + s->s_reserved_gdt_blocks);
    mark(v, g, map, place_of(v, g, false), 1);
    mark(v, g, map, place_of(v, g, true), 1);
    mark(v, g, map, high << 32 | g->d.bg_inode_table, v->fs->inode_blocks_per_group);
}

/* With meta_bg it would not be known what the group has: such groups stay as they are. */
static int make_map(struct ext4_volume *v, struct ext4_group *g, bool inodes, uint8_t *map)
{
    uint32_t bits = bits_of(v, g, inodes);

    memset(map, 0, v->block_bytes);
    set(map, bits, v->block_bytes * 8 - bits, true);
    if (!inodes && ext2fs_has_feature_meta_bg(v->fs->super))
        return -ENOSPC;
    if (!inodes)
        make_blocks(v, g, map);
    g->d.bg_flags &= (uint16_t)~(inodes ? EXT2_BG_INODE_UNINIT : EXT2_BG_BLOCK_UNINIT);
    return 0;
}

/* The bitmap of a group, to be changed. */
static int edit_map(struct ext4_volume *v, struct ext4_group *g, bool inodes, uint8_t **map)
{
    uint64_t block = place_of(v, g, inodes);
    int err;

    if (block <= v->fs->super->s_first_data_block || block >= v->blocks)
        return -EUCLEAN;
    err = ext4_edit(v, block, map);
    if (err)
        return err;
    if (is_unmade(v, g, inodes))
        return make_map(v, g, inodes, *map);
    return is_good(v, g, *map, inodes) ? 0 : -EUCLEAN;
}

/* ---- blocks ---- */

/* The first stretch of free blocks from bit `from` on, up to `want`; 0: there is none. */
static uint32_t find_free(struct ext4_volume *v, const struct ext4_group *g, const uint8_t *map,
                          uint32_t from, uint32_t want, uint32_t *found)
{
    uint64_t base = ext4_group_first(v, g->number);
    uint32_t end = ext4_group_blocks(v, g->number);

    while ((from = next(map, from, end, false)) < end) {
        uint32_t n = next(map, from, MIN(end, from + want), true) - from;
        const struct ext4_freed *f = ext4_is_freed(v->journal, base + from, n);

        *found = from;
        if (!f)
            return n;
        if (f->start > base + from) { /* what is before it; another one may be there */
            n = (uint32_t)(f->start - base - from);
            while (n && (f = ext4_is_freed(v->journal, base + from, n)) != NULL)
                n = f->start > base + from ? (uint32_t)(f->start - base - from) : 0;
            if (n)
                return n;
        }
        from = f ? (uint32_t)MIN(f->start + f->count - base, (uint64_t)end) : from + 1;
    }
    return 0;
}

static int take_in_group(struct ext4_volume *v, uint32_t number, uint32_t from, uint32_t want,
                         uint64_t *start, uint32_t *count)
{
    struct ext4_group g;
    uint32_t bit, n, left;
    uint8_t *map;
    int err = ext4_get_group(v, number, &g);

    left = ext4_group_free(&g, false);
    if (!err && !left)
        return -ENOSPC;
    if (!err)
        err = edit_map(v, &g, false, &map);
    if (err)
        return err;
    n = find_free(v, &g, map, from, MIN(want, left), &bit);
    if (!n)
        return -ENOSPC;
    set(map, bit, n, true);
    ext4_group_set_free(&g, false, left - n);
    seal(v, &g, map, false);
    *start = ext4_group_first(v, number) + bit;
    *count = n;
    err = ext4_put_group(v, &g);
    return err ? err : ext4_count(v, -(int64_t)n, 0);
}

/* A group that was looked at, and has none, leaves its bitmap among the step's blocks only if that
 * is the group of the goal: of others, a few are looked into. */
int ext4_take_blocks(struct ext4_volume *v, uint64_t goal, uint32_t want, uint64_t *start,
                     uint32_t *count)
{
    uint32_t groups = ext4_groups(v), group, tried = 0;
    uint64_t first = v->fs->super->s_first_data_block;
    int err;

    if (goal < first || goal >= v->blocks)
        goal = first;
    group = (uint32_t)((goal - first) / v->fs->super->s_blocks_per_group);
    err = take_in_group(v, group, (uint32_t)(goal - ext4_group_first(v, group)), want, start,
                        count);
    for (uint32_t k = 1; err == -ENOSPC && k <= groups && tried < 8; k++) {
        uint32_t number = (group + k) % groups;
        struct ext4_group g;
        int got = ext4_get_group(v, number, &g);

        if (got)
            return got;
        if (!ext4_group_free(&g, false))
            continue;
        tried += v->journal->nundo > STEP_BLOCKS / 2;
        err = take_in_group(v, number, 0, want, start, count);
    }
    return err;
}

int ext4_give_blocks(struct ext4_volume *v, uint64_t start, uint32_t count, bool metadata)
{
    uint64_t first = v->fs->super->s_first_data_block;
    struct ext4_group g;
    uint32_t bit;
    uint8_t *map;
    int err;

    if (start <= first || start >= v->blocks)
        return -EUCLEAN;
    err = ext4_get_group(v, (uint32_t)((start - first) / v->fs->super->s_blocks_per_group), &g);
    if (!err)
        err = edit_map(v, &g, false, &map);
    if (err)
        return err == -ENOSPC ? -EUCLEAN : err;
    bit = (uint32_t)(start - ext4_group_first(v, g.number));
    if (bit + count > ext4_group_blocks(v, g.number) ||
        next(map, bit, bit + count, false) != bit + count)
        return -EUCLEAN; /* some are free already */
    set(map, bit, count, false);
    ext4_group_set_free(&g, false, ext4_group_free(&g, false) + count);
    seal(v, &g, map, false);
    err = ext4_put_group(v, &g);
    if (!err)
        err = ext4_count(v, count, 0);
    return err ? err : ext4_note_freed(v, start, count, metadata);
}

/* ---- inodes ---- */

static void count_directory(struct ext4_group *g, int32_t n)
{
    uint32_t dirs = ((uint32_t)g->d.bg_used_dirs_count_hi << 16 | g->d.bg_used_dirs_count) +
                    (uint32_t)n;

    g->d.bg_used_dirs_count_hi = (uint16_t)(dirs >> 16);
    g->d.bg_used_dirs_count = (uint16_t)dirs;
}

/* Inodes behind the last one that was ever used have no checksums, and may be anything. */
static void use_table(const struct ext4_volume *v, struct ext4_group *g, uint32_t bit)
{
    uint32_t unused = (uint32_t)g->d.bg_itable_unused_hi << 16 | g->d.bg_itable_unused;
    uint32_t left = v->fs->super->s_inodes_per_group - bit - 1;

    if (unused <= left)
        return;
    g->d.bg_itable_unused_hi = (uint16_t)(left >> 16);
    g->d.bg_itable_unused = (uint16_t)left;
}

static int take_inode_in(struct ext4_volume *v, struct ext4_group *g, bool directory,
                         uint32_t *number)
{
    uint32_t bits = v->fs->super->s_inodes_per_group, bit, left = ext4_group_free(g, true);
    uint32_t reserved = g->number ? 0 : EXT2_FIRST_INODE(v->fs->super) - 1;
    uint8_t *map;
    int err = edit_map(v, g, true, &map);

    if (err)
        return err;
    bit = next(map, MIN(reserved, bits), bits, false);
    if (bit == bits)
        return -ENOSPC;
    set(map, bit, 1, true);
    ext4_group_set_free(g, true, left - 1);
    if (directory)
        count_directory(g, 1);
    use_table(v, g, bit);
    seal(v, g, map, true);
    *number = g->number * bits + bit + 1;
    err = ext4_put_group(v, g);
    return err ? err : ext4_count(v, 0, -1);
}

int ext4_take_inode(struct ext4_volume *v, uint32_t group, bool directory, uint32_t *number)
{
    uint32_t groups = ext4_groups(v), tried = 0;
    int err = -ENOSPC;

    for (uint32_t k = 0; err == -ENOSPC && k < groups && tried < 8; k++) {
        struct ext4_group g;
        int got = ext4_get_group(v, (group + k) % groups, &g);

        if (got)
            return got;
        if (!ext4_group_free(&g, true))
            continue;
        tried++;
        err = take_inode_in(v, &g, directory, number);
    }
    return err;
}

int ext4_give_inode(struct ext4_volume *v, uint32_t number, bool directory)
{
    uint32_t bits = v->fs->super->s_inodes_per_group, bit = (number - 1) % bits;
    struct ext4_group g;
    uint8_t *map;
    int err = ext4_get_group(v, (number - 1) / bits, &g);

    if (!err)
        err = edit_map(v, &g, true, &map);
    if (err)
        return err;
    if (!get(map, bit))
        return -EUCLEAN;
    set(map, bit, 1, false);
    ext4_group_set_free(&g, true, ext4_group_free(&g, true) + 1);
    if (directory)
        count_directory(&g, -1);
    seal(v, &g, map, true);
    err = ext4_put_group(v, &g);
    return err ? err : ext4_count(v, 0, 1);
}
