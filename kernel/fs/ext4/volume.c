/*
 * The library's view of a volume: opening it, and inodes.
 *
 * The library reads through an I/O manager, whose functions are here: they copy from the lines of
 * the mount, and refuse what is not on the volume. What it reads into is as long as it asks for, a
 * block or an inode, so a hostile number of a block leads to a wrong block or to an error.
 */
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/lines.h"
#include "kernel/fs/stat.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"

#define SUPER_OFFSET 1024u
#define NS_PER_S     INT64_C(1000000000)

int ext4_error(errcode_t result)
{
    if (result == 0)
        return 0;
    if (result > 0 && result < EXT2_ET_BASE)
        return -(int)result; /* one of our own, by way of the I/O manager */
    return result == EXT2_ET_NO_MEMORY ? -ENOMEM : -EUCLEAN;
}

/* ---- the I/O manager ---- */

/* The library passes the name of a device, and nothing else, to where it is opened: so the name is
 * the address of the volume, as 16 digits. */
#define NAME_BYTES 17u

static void make_name(char name[NAME_BYTES], const struct ext4_volume *v)
{
    format(name, NAME_BYTES, "%016lx", (unsigned long)(uintptr_t)v);
}

static struct ext4_volume *volume_of_name(const char *name)
{
    uintptr_t at = 0;

    for (; *name; name++)
        at = at << 4 | (uintptr_t)(*name <= '9' ? *name - '0' : *name - 'a' + 10);
    return (struct ext4_volume *)at;
}

static errcode_t io_open(const char *name, int flags, io_channel *out)
{
    struct ext4_volume *v = volume_of_name(name);

    (void)flags;
    *out = &v->io;
    return 0;
}

static errcode_t io_close(io_channel c)
{
    (void)c;
    return 0;
}

static errcode_t io_set_block_size(io_channel c, int n)
{
    c->block_size = n;
    return 0;
}

/* count: of blocks, or, below 0, of bytes. */
static errcode_t io_read(io_channel c, unsigned long long block, int count, void *buf)
{
    struct ext4_volume *v = c->private_data;
    uint64_t nbytes = (uint64_t)(count < 0 ? -(int64_t)count : (int64_t)count * c->block_size);
    uint64_t offset;

    if (__builtin_mul_overflow((uint64_t)block, (uint64_t)c->block_size, &offset))
        return EUCLEAN;
    return -ext4_lines_read(v->lines, offset, buf, nbytes);
}

static errcode_t io_read_short(io_channel c, unsigned long block, int count, void *buf)
{
    return io_read(c, block, count, buf);
}

static struct struct_io_manager manager = {
    .magic = EXT2_ET_MAGIC_IO_MANAGER,
    .name = "lines",
    .open = io_open,
    .close = io_close,
    .set_blksize = io_set_block_size,
    .read_blk = io_read_short,
    .read_blk64 = io_read,
};

/* ---- opening ---- */

/* The checksums of the groups' descriptors, each of which says where inodes are. */
static int check_groups(const struct ext4_volume *v)
{
    for (dgrp_t group = 0; group < v->fs->group_desc_count; group++)
        if (!ext2fs_group_desc_csum_verify(v->fs, group)) {
            printk("%s: ext4: not mounted: the checksum of group %u is wrong\n", v->name, group);
            return -EUCLEAN;
        }
    return 0;
}

/* Before the journal is replayed, what it has written to its place may be there in part. */
static int open_library(struct ext4_volume *v, bool dirty)
{
    int flags = EXT2_FLAG_64BITS | EXT2_FLAG_FORCE | (dirty ? EXT2_FLAG_IGNORE_CSUM_ERRORS : 0);
    char place[NAME_BYTES];
    int err;

    v->io.magic = EXT2_ET_MAGIC_IO_CHANNEL;
    v->io.manager = &manager;
    v->io.private_data = v;
    make_name(place, v);
    err = ext4_error(ext2fs_open2(place, NULL, flags, 0, 0, &manager, &v->fs));
    if (err == -EUCLEAN)
        printk("%s: ext4: not mounted: the superblock is damaged\n", v->name);
    return err || dirty ? err : check_groups(v);
}

/* What its superblock says, up to the library. */
static int prepare(struct ext4_volume *v, const struct ext2_super_block *s, unsigned flags,
                   bool replayed)
{
    bool dirty = (flags & EXT4_OPEN_WRITE) && !replayed &&
                 (s->s_feature_incompat & EXT3_FEATURE_INCOMPAT_RECOVER);

    v->shift = s->s_log_block_size + EXT2_MIN_BLOCK_LOG_SIZE;
    v->block_bytes = 1u << v->shift;
    v->block = pgd_alloc(v->block_bytes);
    v->inline_data = pgd_alloc(INLINE_MOST(v->block_bytes));
    return v->block && v->inline_data ? open_library(v, dirty) : -ENOMEM;
}

/* replayed: the journal was; the superblock says still that it has to be. */
static int open_once(struct ext4_lines *l, const char *name, unsigned flags, bool replayed,
                     struct ext4_volume **out)
{
    struct ext4_volume *v = pgd_alloc_zeroed(sizeof(*v));
    const struct ext2_super_block *s;
    const uint8_t *data;
    int err;

    if (!v)
        return -ENOMEM;
    v->lines = l;
    v->name = name;
    err = ext4_lines_look(l, SUPER_OFFSET, SUPERBLOCK_SIZE, &data);
    if (err == -EUCLEAN)
        err = -EINVAL; /* too small for a file system */
    s = (const struct ext2_super_block *)data;
    if (!err)
        err = ext4_check_super(s, l->bytes, name, flags);
    if (!err)
        err = prepare(v, s, flags, replayed);
    if (err) {
        ext4_volume_close(v);
        return err;
    }
    v->blocks = ext2fs_blocks_count(v->fs->super);
    ext4_count_free(v);
    *out = v;
    return 0;
}

/* Have the journal, and finish what was left undone. After a replay v is another one. */
static int begin_writing(struct ext4_volume **v, const char *name, unsigned flags)
{
    struct ext4_lines *l = (*v)->lines;
    bool replayed;
    int err = ext4_journal_open(*v, name, &replayed);

    if (!err && replayed) {
        ext4_volume_close(*v);
        ext4_lines_forget(l);
        *v = NULL;
        err = open_once(l, name, flags, true, v);
        if (!err && !ext4_check_writable((*v)->fs->super, l->volume->disk->sector_bytes, name))
            err = -EROFS; /* what was replayed says so */
        if (!err)
            err = ext4_journal_open(*v, name, &replayed);
        if (!err && replayed)
            err = -EIO; /* what was written is not what is read */
    }
    return err ? err : ext4_orphans_end(*v);
}

int ext4_volume_open(struct ext4_lines *l, const char *name, unsigned flags,
                     struct ext4_volume **out)
{
    struct ext4_volume *v = NULL;
    bool dirty;
    int err = open_once(l, name, flags, false, &v);

    if (err)
        return err;
    dirty = ext2fs_has_feature_journal_needs_recovery(v->fs->super);
    if ((flags & EXT4_OPEN_WRITE) &&
        ext4_check_writable(v->fs->super, l->volume->disk->sector_bytes, name)) {
        err = begin_writing(&v, name, flags);
        if (err == -EROFS && !dirty)
            err = 0;
    } else if ((flags & EXT4_OPEN_WRITE) && dirty) {
        err = -EROFS;
    }
    if (err && v)
        ext4_volume_close(v);
    if (err)
        ext4_lines_forget(l);
    else
        *out = v;
    return err;
}

bool ext4_volume_writes(const struct ext4_volume *v) { return v->journal && !v->journal->aborted; }

void ext4_volume_close(struct ext4_volume *v)
{
    ext4_journal_close(v);
    if (v->fs)
        ext2fs_free(v->fs);
    if (v->block)
        pgd_free(v->block, v->block_bytes);
    if (v->inline_data)
        pgd_free(v->inline_data, INLINE_MOST(v->block_bytes));
    pgd_free(v, sizeof(*v));
}

void ext4_volume_census(struct census *c, const struct ext4_volume *v)
{
    if (!v)
        return;
    census_explain(c, CENSUS_PAGED, sizeof(*v), 1);
    if (v->block)
        census_explain(c, CENSUS_PAGED, v->block_bytes, 1);
    if (v->inline_data)
        census_explain(c, CENSUS_PAGED, INLINE_MOST(v->block_bytes), 1);
    ext4_journal_census(c, v->journal, v->block_bytes);
}

void ext4_volume_about(const struct ext4_volume *v, struct ext4_about *a)
{
    a->block_bytes = v->block_bytes;
    a->blocks = v->blocks;
    a->blocks_free = __atomic_load_n(&v->blocks_free, __ATOMIC_RELAXED);
    a->inodes = v->fs->super->s_inodes_count;
    a->inodes_free = __atomic_load_n(&v->inodes_free, __ATOMIC_RELAXED);
}

/* ---- inodes ---- */

/* Seconds with a sign, and, if there is a second word, nanoseconds and two more bits. Years up to
 * 2262 can be told; later ones become the last moment. */
static int64_t time_of(uint32_t seconds, bool more, uint32_t extra)
{
    int64_t s = (int32_t)seconds, ns = 0;

    if (more) {
        s += (int64_t)(extra & 3) << 32;
        ns = extra >> 2;
    }
    if (ns >= NS_PER_S)
        ns = 0;
    return s > INT64_MAX / NS_PER_S - 1 ? INT64_MAX : s * NS_PER_S + ns;
}

static bool has_extra(const struct ext4_volume *v, const struct ext2_inode_large *i, size_t end)
{
    return EXT2_INODE_SIZE(v->fs->super) > EXT2_GOOD_OLD_INODE_SIZE &&
           (size_t)EXT2_GOOD_OLD_INODE_SIZE + i->i_extra_isize >= end;
}

#define EXTRA(i, field) \
    (has_extra(v, i, offsetof(struct ext2_inode_large, field) + sizeof((i)->field)))

static void take_times(const struct ext4_volume *v, const struct ext2_inode_large *i,
                       struct ext4_node *n)
{
    bool a = EXTRA(i, i_atime_extra), m = EXTRA(i, i_mtime_extra), c = EXTRA(i, i_ctime_extra);

    n->atime_ns = time_of(i->i_atime, a, a ? i->i_atime_extra : 0);
    n->mtime_ns = time_of(i->i_mtime, m, m ? i->i_mtime_extra : 0);
    n->ctime_ns = time_of(i->i_ctime, c, c ? i->i_ctime_extra : 0);
}

/* Device numbers are in one of two words, as Linux writes them. */
static uint32_t device_of(const struct ext2_inode_large *i)
{
    uint32_t old = i->i_block[0], new = i->i_block[1];

    if (old)
        return old & 0xFFFF;
    return (new >> 8 & 0xFFF) << 8 | (new & 0xFF);
}

static bool is_known_type(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFLNK:
    case S_IFIFO:
    case S_IFSOCK:
    case S_IFCHR:
    case S_IFBLK:
        return true;
    default:
        return false;
    }
}

/* The library checks the number, where the inode is, and its checksum. */
int ext4_read_node_of(struct ext4_volume *v, uint32_t number, struct ext4_node *n)
{
    const struct ext2_inode_large *i = (const struct ext2_inode_large *)v->block;
    int err;

    err = ext4_error(ext2fs_read_inode_full(v->fs, number, (struct ext2_inode *)v->block,
                                            EXT2_INODE_SIZE(v->fs->super)));
    if (err)
        return err;
    if (!is_known_type(i->i_mode))
        return -EUCLEAN;
    n->number = number;
    n->mode = i->i_mode;
    n->uid = (uint32_t)i->osd2.linux2.l_i_uid_high << 16 | i->i_uid;
    n->gid = (uint32_t)i->osd2.linux2.l_i_gid_high << 16 | i->i_gid;
    n->nlink = i->i_links_count;
    n->flags = i->i_flags;
    n->size = i->i_size;
    if ((n->mode & S_IFMT) == S_IFREG || ext2fs_has_feature_largedir(v->fs->super))
        n->size |= (uint64_t)i->i_size_high << 32;
    n->rdev = (n->mode & S_IFMT) == S_IFCHR || (n->mode & S_IFMT) == S_IFBLK ? device_of(i) : 0;
    take_times(v, i, n);
    memcpy(n->raw, i, sizeof(n->raw));
    n->last.count = 0;
    n->hint = n->space = 0;
    n->cutting = false;
    n->changed_in = 0;
    return n->size > INT64_MAX ? -EUCLEAN : 0;
}

int ext4_read_node(struct ext4_volume *v, uint32_t number, struct ext4_node *n)
{
    int err;

    if (number < EXT2_FIRST_INODE(v->fs->super) && number != EXT4_ROOT)
        return -EUCLEAN;
    err = ext4_read_node_of(v, number, n);
    return !err && n->nlink == 0 ? -EUCLEAN : err;
}

/* ---- short files ---- */

int ext4_read_bytes(struct ext4_volume *v, struct ext4_node *n, uint64_t offset, void *buf,
                    size_t count)
{
    if (ext4_is_inline(n)) {
        long have = ext4_read_inline(v, n);
        size_t part = have > 0 && (uint64_t)have > offset ? MIN(count, have - offset) : 0;

        if (have < 0)
            return (int)have;
        memcpy(buf, v->inline_data + offset, part);
        memset((uint8_t *)buf + part, 0, count - part);
        return 0;
    }
    for (size_t done = 0; done < count;) {
        uint64_t at = offset + done;
        struct ext4_run run;
        size_t part;
        int err = ext4_find_run(v, n, at >> v->shift, &run);

        if (err)
            return err;
        part = MIN(count - done, (size_t)(v->block_bytes - (at & (v->block_bytes - 1))));
        if (run.physical)
            err = ext4_lines_read(v->lines,
                                  (run.physical << v->shift) + (at & (v->block_bytes - 1)),
                                  (uint8_t *)buf + done, part);
        else
            memset((uint8_t *)buf + done, 0, part);
        if (err)
            return err;
        done += part;
    }
    return 0;
}

/* A short target is in the inode, where a file has its blocks: that has no blocks but those of an
 * extended attribute, if it has one. */
static bool is_fast(const struct ext4_volume *v, const struct ext4_node *n)
{
    const struct ext2_inode *i = raw_of(n);
    uint32_t attribute = i->i_file_acl || i->osd2.linux2.l_i_file_acl_high ? v->block_bytes / 512
                                                                           : 0;

    return !(n->flags & (EXT4_EXTENTS_FL | EXT4_INLINE_DATA_FL)) && n->size < IN_INODE &&
           i->i_blocks == attribute;
}

long ext4_read_link(struct ext4_volume *v, struct ext4_node *n, char *buf, size_t most)
{
    int err = 0;

    if (n->size == 0 || n->size > v->block_bytes)
        return -EUCLEAN;
    if (n->size > most)
        return -ENAMETOOLONG;
    if (is_fast(v, n))
        memcpy(buf, raw_of(n)->i_block, n->size);
    else
        err = ext4_read_bytes(v, n, 0, buf, n->size);
    if (!err && memchr(buf, 0, n->size))
        err = -EUCLEAN;
    return err ? err : (long)n->size;
}
