/*
 * Functions that the files of libext2fs in use call, and that come from files under another licence
 * than the rest of the library, or would bring its writing half with them. The second kind are
 * called only for what volume.c does not ask for: writing, images of e2image, block maps by hash.
 */
#define NO_INLINE_FUNCS /* those that are defined here */
#include <ext2fs/ext2fs.h>
#include <ext2fs/ext2fsP.h>

#include "kernel/fs/ext4/library/memory.h"

blk64_t ext2fs_blocks_count(struct ext2_super_block *super)
{
    uint64_t high = ext2fs_has_feature_64bit(super) ? super->s_blocks_count_hi : 0;

    return high << 32 | super->s_blocks_count;
}

blk64_t ext2fs_group_first_block2(ext2_filsys fs, dgrp_t group)
{
    return fs->super->s_first_data_block + (uint64_t)group * EXT2_BLOCKS_PER_GROUP(fs->super);
}

/* The table in memory has desc_blocks whole blocks, which are as many descriptors as there are
 * groups, or more. NULL: there is no such group, or no table. */
struct ext2_group_desc *ext2fs_group_desc(ext2_filsys fs, struct opaque_ext2_group_desc *table,
                                          dgrp_t group)
{
    size_t each = EXT2_DESC_SIZE(fs->super);

    if (group >= fs->group_desc_count || !table)
        return NULL;
    return (struct ext2_group_desc *)((char *)table + group * each);
}

blk64_t ext2fs_inode_table_loc(ext2_filsys fs, dgrp_t group)
{
    const struct ext4_group_desc *d = (const struct ext4_group_desc *)ext2fs_group_desc(
        fs, fs->group_desc, group);
    uint64_t high = 0;

    if (!d)
        return 0; /* for which the library fails */
    if (ext2fs_has_feature_64bit(fs->super) && EXT2_DESC_SIZE(fs->super) >= sizeof(*d))
        high = d->bg_inode_table_hi;
    return high << 32 | d->bg_inode_table;
}

__u16 ext2fs_bg_checksum(ext2_filsys fs, dgrp_t group)
{
    const struct ext4_group_desc *d = (const struct ext4_group_desc *)ext2fs_group_desc(
        fs, fs->group_desc, group);

    return d ? d->bg_checksum : 0;
}

errcode_t ext2fs_get_array(unsigned long count, unsigned long size, void *ptr)
{
    unsigned long nbytes;
    void *p;

    if (__builtin_mul_overflow(count, size, &nbytes))
        return EXT2_ET_NO_MEMORY;
    p = ext4_library_alloc(nbytes);
    memcpy(ptr, &p, sizeof(p));
    return p ? 0 : EXT2_ET_NO_MEMORY;
}

errcode_t ext2fs_get_arrayzero(unsigned long count, unsigned long size, void *ptr)
{
    errcode_t r = ext2fs_get_array(count, size, ptr);
    void *p;

    memcpy(&p, ptr, sizeof(p));
    if (!r)
        memset(p, 0, count * size);
    return r;
}

/* Those that the compiler does not always expand in line. */
unsigned int ext2fs_div_ceil(unsigned int a, unsigned int b) { return a / b + (a % b != 0); }

__u64 ext2fs_div64_ceil(__u64 a, __u64 b) { return a / b + (a % b != 0); }

/* ---- never called ---- */

errcode_t ext2fs_get_memalign(unsigned long size, unsigned long align, void *ptr)
{
    (void)size, (void)align, (void)ptr;
    return EXT2_ET_OP_NOT_SUPPORTED;
}

void ext2fs_bg_checksum_set(ext2_filsys fs, dgrp_t group, __u16 checksum)
{
    (void)fs, (void)group, (void)checksum;
}

void ext2fs_bg_flags_clear(ext2_filsys fs, dgrp_t group, __u16 flags)
{
    (void)fs, (void)group, (void)flags;
}

void ext2fs_bg_itable_unused_set(ext2_filsys fs, dgrp_t group, __u32 n)
{
    (void)fs, (void)group, (void)n;
}

errcode_t ext2fs_mmp_start(ext2_filsys fs)
{
    (void)fs;
    return EXT2_ET_OP_NOT_SUPPORTED;
}

errcode_t ext2fs_mmp_stop(ext2_filsys fs)
{
    (void)fs;
    return EXT2_ET_OP_NOT_SUPPORTED;
}

void ext2fs_free_block_bitmap(ext2fs_block_bitmap map) { (void)map; }

void ext2fs_free_inode_bitmap(ext2fs_inode_bitmap map) { (void)map; }

/* As ext2fs_free() calls it: to let go of a buffer that was never made. */
errcode_t ext2fs_zero_blocks2(ext2_filsys fs, blk64_t block, int n, blk64_t *bad, int *nbad)
{
    (void)fs, (void)block, (void)n, (void)bad, (void)nbad;
    return fs ? EXT2_ET_OP_NOT_SUPPORTED : 0;
}

const struct ext2fs_nls_table *ext2fs_load_nls_table(int encoding)
{
    (void)encoding;
    return NULL;
}

struct ext2fs_hashmap *ext2fs_hashmap_create(uint32_t (*hash)(const void *, size_t),
                                             void (*free_entry)(void *), size_t size)
{
    (void)hash, (void)free_entry, (void)size;
    return NULL;
}

void ext2fs_hashmap_free(struct ext2fs_hashmap *h) { (void)h; }

uint32_t ext2fs_djb2_hash(const void *text, size_t n)
{
    (void)text, (void)n;
    return 0;
}
