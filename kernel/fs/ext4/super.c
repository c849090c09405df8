/*
 * Which superblocks are accepted. libext2fs checks most fields itself; what is checked here first
 * bounds what it allocates and multiplies, and names what is not supported.
 *
 * Features of the first kind (incompat) change what is on the disk so that who does not know them
 * reads wrong bytes: unknown ones are refused. Those of the second kind (ro_compat) may be unknown
 * to who only reads. Those of the third may be unknown to everybody.
 */
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/fs/ext4/volume_private.h"

/* Descriptors of groups are kept in memory: at most 4 MiB of 64 bytes each, for 8 TiB in groups of
 * 128 MiB. */
#define GROUPS_MOST (1u << 16)
#define KNOWN                                                                                      \
    (EXT2_FEATURE_INCOMPAT_FILETYPE | EXT3_FEATURE_INCOMPAT_RECOVER |                              \
     EXT2_FEATURE_INCOMPAT_META_BG | EXT3_FEATURE_INCOMPAT_EXTENTS | EXT4_FEATURE_INCOMPAT_64BIT | \
     EXT4_FEATURE_INCOMPAT_MMP | EXT4_FEATURE_INCOMPAT_FLEX_BG | EXT4_FEATURE_INCOMPAT_EA_INODE |  \
     EXT4_FEATURE_INCOMPAT_CSUM_SEED | EXT4_FEATURE_INCOMPAT_LARGEDIR |                            \
     EXT4_FEATURE_INCOMPAT_INLINE_DATA)

/* As e2fsprogs calls the bits. */
static const char *feature_name(unsigned bit)
{
    static const char *const names[] = {
        [0] = "compression", [1] = "filetype",     [2] = "needs_recovery",
        [3] = "journal_dev", [4] = "meta_bg",      [6] = "extent",
        [7] = "64bit",       [8] = "mmp",          [9] = "flex_bg",
        [10] = "ea_inode",   [12] = "dirdata",     [13] = "metadata_csum_seed",
        [14] = "large_dir",  [15] = "inline_data", [16] = "encrypt",
        [17] = "casefold",
    };

    return bit < ARRAY_SIZE(names) ? names[bit] : NULL;
}

static int check_features(const struct ext2_super_block *s, const char *name, unsigned flags)
{
    uint32_t unknown = s->s_feature_incompat & ~(uint32_t)KNOWN;

    for (unsigned bit = 0; bit < 32; bit++) {
        const char *what = feature_name(bit);

        if (!(unknown >> bit & 1))
            continue;
        if (what)
            printk("%s: ext4: not mounted: the feature %s is not supported\n", name, what);
        else
            printk("%s: ext4: not mounted: the feature FEATURE_I%u is not known\n", name, bit);
    }
    if (unknown)
        return -EOPNOTSUPP;
    if ((s->s_feature_incompat & EXT3_FEATURE_INCOMPAT_RECOVER) && !flags) {
        printk(
            "%s: ext4: not mounted: the journal needs recovery: mount with -o rw, run e2fsck, or "
            "mount with -o noload, without what is only in the journal\n",
            name);
        return -EROFS;
    }
    return 0;
}

/* What is wrong with the sizes; NULL: nothing. */
static const char *wrong(const struct ext2_super_block *s, uint64_t bytes)
{
    uint64_t high = s->s_feature_incompat & EXT4_FEATURE_INCOMPAT_64BIT ? s->s_blocks_count_hi : 0;
    uint64_t blocks = high << 32 | s->s_blocks_count;
    uint32_t block_bytes, shift = s->s_log_block_size + EXT2_MIN_BLOCK_LOG_SIZE;

    if (s->s_rev_level > EXT2_DYNAMIC_REV)
        return "revision";
    if (s->s_log_block_size > EXT2_MAX_BLOCK_LOG_SIZE - EXT2_MIN_BLOCK_LOG_SIZE)
        return "block size";
    block_bytes = 1u << shift;
    if (blocks == 0 || blocks > bytes >> shift)
        return "number of blocks: the volume has fewer";
    if (s->s_first_data_block > (block_bytes == 1024))
        return "first block";
    if (s->s_blocks_per_group == 0 || s->s_blocks_per_group % 8)
        return "size of groups";
    if (s->s_inodes_per_group == 0 || s->s_inodes_per_group > 8 * block_bytes)
        return "number of inodes";
    if (s->s_rev_level >= EXT2_DYNAMIC_REV &&
        (s->s_inode_size < EXT2_GOOD_OLD_INODE_SIZE || s->s_inode_size > block_bytes ||
         (s->s_inode_size & (s->s_inode_size - 1))))
        return "size of inodes";
    if (s->s_rev_level >= EXT2_DYNAMIC_REV && s->s_first_ino < EXT2_GOOD_OLD_FIRST_INO)
        return "first inode";
    return NULL;
}

int ext4_check_super(const struct ext2_super_block *s, uint64_t bytes, const char *name,
                     unsigned flags)
{
    const char *what;
    int err;

    if (s->s_magic != EXT2_SUPER_MAGIC)
        return -EINVAL;
    err = check_features(s, name, flags);
    if (err)
        return err;
    what = wrong(s, bytes);
    if (what) {
        printk("%s: ext4: not mounted: wrong %s\n", name, what);
        return -EUCLEAN;
    }
    /* blocks and blocks_per_group are within bounds now */
    if ((ext2fs_blocks_count((struct ext2_super_block *)s) - s->s_first_data_block - 1) /
            s->s_blocks_per_group >=
        GROUPS_MOST) {
        printk("%s: ext4: not mounted: more than %u groups\n", name, GROUPS_MOST);
        return -EFBIG;
    }
    return 0;
}

/* ---- writing ---- */

/* Features with which it is written; others are only read. */
#define WRITTEN_INCOMPAT                                                                           \
    (EXT2_FEATURE_INCOMPAT_FILETYPE | EXT3_FEATURE_INCOMPAT_RECOVER |                              \
     EXT2_FEATURE_INCOMPAT_META_BG | EXT3_FEATURE_INCOMPAT_EXTENTS | EXT4_FEATURE_INCOMPAT_64BIT | \
     EXT4_FEATURE_INCOMPAT_FLEX_BG | EXT4_FEATURE_INCOMPAT_CSUM_SEED |                             \
     EXT4_FEATURE_INCOMPAT_LARGEDIR)
#define WRITTEN_RO_COMPAT                                                      \
    (EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER | EXT2_FEATURE_RO_COMPAT_LARGE_FILE | \
     EXT4_FEATURE_RO_COMPAT_HUGE_FILE | EXT4_FEATURE_RO_COMPAT_GDT_CSUM |      \
     EXT4_FEATURE_RO_COMPAT_DIR_NLINK | EXT4_FEATURE_RO_COMPAT_EXTRA_ISIZE |   \
     EXT4_FEATURE_RO_COMPAT_METADATA_CSUM)

static const char *ro_feature_name(unsigned bit)
{
    static const char *const names[] = {
        [0] = "sparse_super", [1] = "large_file",     [3] = "huge_file", [4] = "uninit_bg",
        [5] = "dir_nlink",    [6] = "extra_isize",    [7] = "snapshot",  [8] = "quota",
        [9] = "bigalloc",     [10] = "metadata_csum", [11] = "replica",  [12] = "read-only",
        [13] = "project",     [14] = "shared_blocks", [15] = "verity",   [16] = "orphan_present",
    };

    return bit < ARRAY_SIZE(names) ? names[bit] : NULL;
}

static void tell(const char *name, const char *feature, char kind, unsigned bit)
{
    if (feature)
        printk("%s: ext4: only read: the feature %s cannot be written\n", name, feature);
    else
        printk("%s: ext4: only read: the feature FEATURE_%c%u is not known\n", name, kind, bit);
}

/* What else is in the way; NULL: nothing. */
static const char *hindrance(const struct ext2_super_block *s, uint32_t sector_bytes)
{
    uint32_t block_bytes = EXT2_MIN_BLOCK_SIZE << s->s_log_block_size;

    if (!(s->s_feature_compat & EXT3_FEATURE_COMPAT_HAS_JOURNAL))
        return "it has no journal";
    if (!(s->s_feature_incompat & EXT3_FEATURE_INCOMPAT_EXTENTS))
        return "it has no extents";
    if (s->s_rev_level < EXT2_DYNAMIC_REV)
        return "it is of the first revision";
    if (block_bytes > PAGE_SIZE || block_bytes < sector_bytes)
        return "its blocks are longer than a page, or shorter than a sector";
    if (s->s_blocks_per_group > 8 * block_bytes)
        return "its groups have more blocks than a bitmap has bits";
    if (s->s_state & EXT2_ERROR_FS)
        return "it has errors: run e2fsck";
    return NULL;
}

bool ext4_check_writable(const struct ext2_super_block *s, uint32_t sector_bytes, const char *name)
{
    uint32_t incompat = s->s_feature_incompat & ~(uint32_t)WRITTEN_INCOMPAT;
    uint32_t ro_compat = s->s_feature_ro_compat & ~(uint32_t)WRITTEN_RO_COMPAT;
    const char *what = hindrance(s, sector_bytes);

    for (unsigned bit = 0; bit < 32; bit++) {
        if (incompat >> bit & 1)
            tell(name, feature_name(bit), 'I', bit);
        if (ro_compat >> bit & 1)
            tell(name, ro_feature_name(bit), 'R', bit);
    }
    if (what)
        printk("%s: ext4: only read: %s\n", name, what);
    return !incompat && !ro_compat && !what;
}
