/* The superblock and the descriptors of groups: counts of what is free, and checksums. */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/lines.h"
#include "kernel/sched/timer.h"

#define NS_PER_S UINT64_C(1000000000)

unsigned ext2fs_crc16(unsigned crc, const void *buffer, unsigned len);

static bool has_sums(const struct ext4_volume *v)
{
    return ext2fs_has_feature_metadata_csum(v->fs->super);
}

/* ---- the superblock ---- */

int ext4_edit_super(struct ext4_volume *v, struct ext2_super_block **s, uint8_t **block)
{
    int err = ext4_edit(v, SUPERBLOCK_OFFSET >> v->shift, block);

    if (!err)
        *s = (struct ext2_super_block *)(*block + (SUPERBLOCK_OFFSET & (v->block_bytes - 1)));
    return err;
}

void ext4_seal_super(struct ext4_volume *v, struct ext2_super_block *s, bool now)
{
    if (now)
        s->s_wtime = (uint32_t)(clock_wall_ns() / NS_PER_S);
    if (has_sums(v))
        s->s_checksum = ext2fs_crc32c_le(UINT32_MAX, (const uint8_t *)s,
                                         offsetof(struct ext2_super_block, s_checksum));
}

int ext4_count(struct ext4_volume *v, int64_t blocks, int64_t inodes)
{
    bool wide = ext2fs_has_feature_64bit(v->fs->super);
    struct ext2_super_block *s;
    uint64_t free_blocks;
    uint8_t *block;
    int err = ext4_edit_super(v, &s, &block);

    if (err)
        return err;
    free_blocks = (wide ? (uint64_t)s->s_free_blocks_hi << 32 : 0) | s->s_free_blocks_count;
    free_blocks += (uint64_t)blocks;
    if (free_blocks > v->blocks || (int64_t)s->s_free_inodes_count + inodes < 0)
        return -EUCLEAN;
    s->s_free_blocks_count = (uint32_t)free_blocks;
    if (wide)
        s->s_free_blocks_hi = (uint32_t)(free_blocks >> 32);
    s->s_free_inodes_count = (uint32_t)(s->s_free_inodes_count + inodes);
    ext4_seal_super(v, s, false);
    return 0;
}

/* ---- groups ---- */

uint32_t ext4_groups(const struct ext4_volume *v) { return v->fs->group_desc_count; }

uint64_t ext4_group_first(const struct ext4_volume *v, uint32_t group)
{
    const struct ext2_super_block *s = v->fs->super;

    return s->s_first_data_block + (uint64_t)group * s->s_blocks_per_group;
}

uint32_t ext4_group_blocks(const struct ext4_volume *v, uint32_t group)
{
    return (uint32_t)MIN((uint64_t)v->fs->super->s_blocks_per_group,
                         v->blocks - ext4_group_first(v, group));
}

static uint32_t desc_bytes(const struct ext4_volume *v)
{
    return (uint32_t)EXT2_DESC_SIZE(v->fs->super);
}

/* Where the descriptor is, in bytes of the volume. */
static uint64_t desc_place(struct ext4_volume *v, uint32_t group)
{
    uint32_t each = v->block_bytes / desc_bytes(v);
    uint64_t block = ext2fs_descriptor_block_loc2(v->fs, v->fs->super->s_first_data_block,
                                                  group / each);

    return (block << v->shift) + group % each * desc_bytes(v);
}

int ext4_get_group(struct ext4_volume *v, uint32_t number, struct ext4_group *g)
{
    memset(g, 0, sizeof(*g));
    g->number = number;
    if (number >= ext4_groups(v))
        return -EUCLEAN;
    return ext4_lines_read(v->lines, desc_place(v, number), &g->d,
                           MIN(desc_bytes(v), (uint32_t)sizeof(g->d)));
}

static uint16_t sum_of(const struct ext4_volume *v, uint32_t number, const uint8_t *d)
{
    const size_t at = offsetof(struct ext4_group_desc, bg_checksum), end = at + 2;
    uint8_t none[2] = {0, 0};
    uint32_t bytes = desc_bytes(v), crc;

    if (has_sums(v)) {
        crc = ext2fs_crc32c_le(v->fs->csum_seed, (const uint8_t *)&number, sizeof(number));
        crc = ext2fs_crc32c_le(crc, d, at);
        crc = ext2fs_crc32c_le(crc, none, sizeof(none));
        return (uint16_t)ext2fs_crc32c_le(crc, d + end, bytes - end);
    }
    crc = ext2fs_crc16(0xFFFF, v->fs->super->s_uuid, sizeof(v->fs->super->s_uuid));
    crc = ext2fs_crc16(crc, &number, sizeof(number));
    crc = ext2fs_crc16(crc, d, at);
    return (uint16_t)(end < bytes ? ext2fs_crc16(crc, d + end, (unsigned)(bytes - end)) : crc);
}

int ext4_put_group(struct ext4_volume *v, struct ext4_group *g)
{
    uint64_t place = desc_place(v, g->number);
    struct ext4_group_desc *d;
    uint8_t *block;
    int err = ext4_edit(v, place >> v->shift, &block);

    if (err)
        return err;
    d = (struct ext4_group_desc *)(block + (place & (v->block_bytes - 1)));
    memcpy(d, &g->d, MIN(desc_bytes(v), (uint32_t)sizeof(g->d)));
    if (has_sums(v) || ext2fs_has_feature_gdt_csum(v->fs->super))
        d->bg_checksum = sum_of(v, g->number, (const uint8_t *)d);
    return 0;
}

uint32_t ext4_group_free(const struct ext4_group *g, bool inodes)
{
    const struct ext4_group_desc *d = &g->d;

    return inodes ? (uint32_t)d->bg_free_inodes_count_hi << 16 | d->bg_free_inodes_count
                  : (uint32_t)d->bg_free_blocks_count_hi << 16 | d->bg_free_blocks_count;
}

void ext4_group_set_free(struct ext4_group *g, bool inodes, uint32_t n)
{
    if (inodes) {
        g->d.bg_free_inodes_count_hi = (uint16_t)(n >> 16);
        g->d.bg_free_inodes_count = (uint16_t)n;
    } else {
        g->d.bg_free_blocks_count_hi = (uint16_t)(n >> 16);
        g->d.bg_free_blocks_count = (uint16_t)n;
    }
}

/* What others are told of: fs_usage. After a step. */
void ext4_count_free(struct ext4_volume *v)
{
    struct ext2_super_block s;

    if (ext4_lines_read(v->lines, SUPERBLOCK_OFFSET, &s, sizeof(s)))
        return;
    __atomic_store_n(&v->blocks_free,
                     MIN((ext2fs_has_feature_64bit(&s) ? (uint64_t)s.s_free_blocks_hi << 32 : 0) |
                             s.s_free_blocks_count,
                         v->blocks),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&v->inodes_free, MIN(s.s_free_inodes_count, s.s_inodes_count),
                     __ATOMIC_RELAXED);
}
