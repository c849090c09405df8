/* Inodes on disk: written, made, freed. */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/lines.h"
#include "kernel/fs/stat.h"
#include "kernel/sched/timer.h"

#define NS_PER_S    INT64_C(1000000000)
#define EXTRA_BYTES 32u /* of a new inode, behind the first 128, up to its project */
#define ACL_MAGIC   0xEA020000u
#define ACL_COUNT   4u  /* offsets in a block of extended attributes: users, ... */
#define ACL_SUM     16u /* and the checksum */

static struct ext2_inode *raw_edit(struct ext4_node *n) { return (struct ext2_inode *)n->raw; }

uint32_t ext4_node_seed(const struct ext4_volume *v, const struct ext4_node *n)
{
    uint32_t generation = raw_of(n)->i_generation;
    uint32_t crc = ext2fs_crc32c_le(v->fs->csum_seed, (const uint8_t *)&n->number,
                                    sizeof(n->number));

    return ext2fs_crc32c_le(crc, (const uint8_t *)&generation, sizeof(generation));
}

bool ext4_is_mapped(const struct ext4_volume *v, const struct ext4_node *n)
{
    const struct ext2_inode *r = raw_of(n);
    bool attributes = r->i_file_acl || r->osd2.linux2.l_i_file_acl_high;

    return !(n->flags & EXT4_EXTENTS_FL) && r->i_blocks > (attributes ? v->block_bytes / 512 : 0);
}

/* In units of 512 bytes, or of blocks if the inode says so. */
int ext4_node_count(struct ext4_volume *v, struct ext4_node *n, int64_t blocks)
{
    struct ext2_inode *r = raw_edit(n);
    bool huge = ext2fs_has_feature_huge_file(v->fs->super);
    uint64_t now = r->i_blocks;

    if (huge)
        now |= (uint64_t)r->osd2.linux2.l_i_blocks_hi << 32;
    if (huge && (n->flags & EXT4_HUGE_FILE_FL))
        now += (uint64_t)blocks;
    else
        now += (uint64_t)(blocks * (int64_t)(v->block_bytes / 512));
    if (now >> (huge ? 48 : 32))
        return blocks > 0 ? -EFBIG : -EUCLEAN;
    r->i_blocks = (uint32_t)now;
    r->osd2.linux2.l_i_blocks_hi = (uint16_t)(now >> 32);
    return 0;
}

/* ---- times ---- */

static int64_t seconds_of(int64_t ns)
{
    return ns >= 0 ? ns / NS_PER_S : -((-ns + NS_PER_S - 1) / NS_PER_S);
}

static uint32_t extra_of(int64_t ns)
{
    int64_t s = seconds_of(ns);

    return (uint32_t)(ns - s * NS_PER_S) << 2 | ((uint32_t)((s - (int32_t)s) >> 32) & 3);
}

static void put_times(struct ext2_inode_large *d, uint32_t bytes, const struct ext4_node *n)
{
    uint32_t end = bytes > EXT2_GOOD_OLD_INODE_SIZE ? EXT2_GOOD_OLD_INODE_SIZE + d->i_extra_isize
                                                    : 0;

    d->i_atime = (uint32_t)seconds_of(n->atime_ns);
    d->i_mtime = (uint32_t)seconds_of(n->mtime_ns);
    d->i_ctime = (uint32_t)seconds_of(n->ctime_ns);
    if (end >= offsetof(struct ext2_inode_large, i_ctime_extra) + 4)
        d->i_ctime_extra = extra_of(n->ctime_ns);
    if (end >= offsetof(struct ext2_inode_large, i_mtime_extra) + 4)
        d->i_mtime_extra = extra_of(n->mtime_ns);
    if (end >= offsetof(struct ext2_inode_large, i_atime_extra) + 4)
        d->i_atime_extra = extra_of(n->atime_ns);
}

/* ---- writing ---- */

static void put_fields(struct ext4_node *n)
{
    struct ext2_inode *r = raw_edit(n);

    r->i_mode = (uint16_t)n->mode;
    r->i_uid = (uint16_t)n->uid;
    r->osd2.linux2.l_i_uid_high = (uint16_t)(n->uid >> 16);
    r->i_gid = (uint16_t)n->gid;
    r->osd2.linux2.l_i_gid_high = (uint16_t)(n->gid >> 16);
    r->i_links_count = (uint16_t)n->nlink;
    r->i_flags = n->flags;
    r->i_size = (uint32_t)n->size;
    r->i_size_high = (uint32_t)(n->size >> 32);
}

/* A feature tells others that there are long files. */
static int allow_large(struct ext4_volume *v)
{
    struct ext2_super_block *s;
    uint8_t *block;
    int err = ext4_edit_super(v, &s, &block);

    if (err)
        return err;
    s->s_feature_ro_compat |= EXT2_FEATURE_RO_COMPAT_LARGE_FILE;
    ext4_seal_super(v, s, false);
    v->fs->super->s_feature_ro_compat |= EXT2_FEATURE_RO_COMPAT_LARGE_FILE;
    return 0;
}

/* Where an inode is on the disk, to be changed. */
static int edit_inode(struct ext4_volume *v, uint32_t number, struct ext2_inode_large **d)
{
    uint32_t bytes = EXT2_INODE_SIZE(v->fs->super), each = v->fs->super->s_inodes_per_group;
    uint64_t at = (uint64_t)((number - 1) % each) * bytes;
    uint64_t table = ext2fs_inode_table_loc(v->fs, (number - 1) / each);
    uint8_t *block;
    int err = table ? ext4_edit(v, table + (at >> v->shift), &block) : -EUCLEAN;

    if (!err)
        *d = (struct ext2_inode_large *)(block + (at & (v->block_bytes - 1)));
    return err;
}

static void seal(struct ext4_volume *v, uint32_t number, struct ext2_inode_large *d)
{
    (void)ext2fs_inode_csum_set(v->fs, number, d);
    (void)ext2fs_flush_icache(v->fs); /* it has other bytes */
}

int ext4_set_deleted(struct ext4_volume *v, uint32_t number, uint32_t value)
{
    struct ext2_inode_large *d;
    int err = edit_inode(v, number, &d);

    if (err)
        return err;
    d->i_dtime = value;
    seal(v, number, d);
    return 0;
}

int ext4_write_node(struct ext4_volume *v, struct ext4_node *n, bool fresh)
{
    uint32_t bytes = EXT2_INODE_SIZE(v->fs->super), deleted;
    struct ext2_inode_large *d;
    int err = edit_inode(v, n->number, &d);

    if (!err && n->size > INT32_MAX && !ext2fs_has_feature_large_file(v->fs->super))
        err = allow_large(v);
    if (err)
        return err;
    put_fields(n);
    if (fresh)
        memset(d, 0, bytes);
    deleted = d->i_dtime;
    memcpy(d, n->raw, sizeof(n->raw));
    d->i_dtime = deleted;
    if (fresh && bytes > EXT2_GOOD_OLD_INODE_SIZE) {
        d->i_extra_isize = EXTRA_BYTES;
        d->i_crtime = (uint32_t)seconds_of(n->ctime_ns);
        d->i_crtime_extra = extra_of(n->ctime_ns);
    }
    put_times(d, bytes, n);
    seal(v, n->number, d);
    memcpy(n->raw, d, sizeof(n->raw));
    n->changed_in = v->journal->sequence;
    return 0;
}

/* ---- making and freeing ---- */

static void put_device(struct ext2_inode *r, uint32_t rdev)
{
    uint32_t major = rdev >> 8, minor = rdev & 0xFF;

    if (major < 256)
        r->i_block[0] = major << 8 | minor;
    else
        r->i_block[1] = minor | major << 8;
}

int ext4_new_node(struct ext4_volume *v, uint32_t near, struct ext4_node *n)
{
    uint32_t type = n->mode & S_IFMT;
    int err = ext4_take_inode(v, (near - 1) / v->fs->super->s_inodes_per_group, type == S_IFDIR,
                              &n->number);

    if (err)
        return err;
    memset(n->raw, 0, sizeof(n->raw));
    raw_edit(n)->i_generation = (uint32_t)clock_wall_ns() ^ n->number * 0x9E3779B9u;
    n->size = 0;
    n->nlink = 0;
    n->flags = 0;
    n->last.count = 0;
    n->hint = n->space = 0;
    n->cutting = false;
    if (type == S_IFREG || type == S_IFDIR)
        ext4_extent_init(n);
    if (type == S_IFCHR || type == S_IFBLK)
        put_device(raw_edit(n), n->rdev);
    return 0;
}

/* A time of deletion that is no number of an inode, as those of orphans are. */
int ext4_free_node(struct ext4_volume *v, struct ext4_node *n)
{
    bool directory = (n->mode & S_IFMT) == S_IFDIR;
    int err;

    n->nlink = 0;
    n->size = 0;
    err = ext4_write_node(v, n, false);
    if (!err)
        err = ext4_set_deleted(
            v, n->number,
            MAX((uint32_t)((int64_t)clock_wall_ns() / NS_PER_S), v->fs->super->s_inodes_count + 1));
    return err ? err : ext4_give_inode(v, n->number, directory);
}

int ext4_drop_attributes(struct ext4_volume *v, struct ext4_node *n)
{
    struct ext2_inode *r = raw_edit(n);
    uint64_t block = (uint64_t)r->osd2.linux2.l_i_file_acl_high << 32 | r->i_file_acl;
    uint32_t magic, users;
    uint8_t *bytes;
    int err;

    if (!block)
        return 0;
    err = ext4_edit(v, block, &bytes);
    if (err)
        return err;
    memcpy(&magic, bytes, sizeof(magic));
    memcpy(&users, bytes + ACL_COUNT, sizeof(users));
    if (magic != ACL_MAGIC || users == 0)
        return -EUCLEAN;
    r->i_file_acl = 0;
    r->osd2.linux2.l_i_file_acl_high = 0;
    err = ext4_node_count(v, n, -1);
    if (!err && users == 1)
        return ext4_give_blocks(v, block, 1, true);
    users--;
    memcpy(bytes + ACL_COUNT, &users, sizeof(users));
    if (!err && ext2fs_has_feature_metadata_csum(v->fs->super)) {
        uint32_t sum = 0;

        memcpy(bytes + ACL_SUM, &sum, sizeof(sum));
        sum = ext2fs_crc32c_le(v->fs->csum_seed, (const uint8_t *)&block, sizeof(block));
        sum = ext2fs_crc32c_le(sum, bytes, v->block_bytes);
        memcpy(bytes + ACL_SUM, &sum, sizeof(sum));
    }
    return err;
}
