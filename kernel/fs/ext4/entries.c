/*
 * Names entered into directories and removed. A block's entries fill it, so room is what an entry
 * has behind its name, and a removed entry becomes room of the one before. With checksums, a block
 * ends with one, that looks like an entry without a name.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/directory.h"
#include "kernel/fs/ext4/lines.h"
#include "kernel/fs/stat.h"

#define SUM_BYTES 12u
#define TAIL_TYPE 0xDEu

uint32_t ext4_entries_end(const struct ext4_volume *v)
{
    return v->block_bytes - (ext2fs_has_feature_metadata_csum(v->fs->super) ? SUM_BYTES : 0);
}

uint32_t ext4_entry_bytes(uint32_t name_len) { return (ENTRY_BYTES + name_len + 3) & ~3u; }

void ext4_seal_entries(const struct ext4_volume *v, const struct ext4_node *dir, uint8_t *bytes)
{
    uint32_t at = ext4_entries_end(v), sum;
    uint16_t len = SUM_BYTES;

    if (at == v->block_bytes)
        return;
    memset(bytes + at, 0, SUM_BYTES);
    memcpy(bytes + at + 4, &len, sizeof(len));
    bytes[at + 7] = TAIL_TYPE;
    sum = ext2fs_crc32c_le(ext4_node_seed(v, dir), bytes, at);
    memcpy(bytes + at + 8, &sum, sizeof(sum));
}

/* The first block of a directory with an index belongs to that. */
static void seal(const struct ext4_volume *v, const struct ext4_node *dir, uint64_t block,
                 uint8_t *bytes)
{
    if (block == 0 && ext4_has_index(v, dir))
        ext4_seal_index(v, dir, bytes, ROOT_AT);
    else
        ext4_seal_entries(v, dir, bytes);
}

/* As entries say what an inode is. */
static uint8_t type_of(const struct ext4_volume *v, uint32_t mode)
{
    static const uint8_t types[16] = {
        [S_IFREG >> 12] = EXT2_FT_REG_FILE, [S_IFDIR >> 12] = EXT2_FT_DIR,
        [S_IFCHR >> 12] = EXT2_FT_CHRDEV,   [S_IFBLK >> 12] = EXT2_FT_BLKDEV,
        [S_IFIFO >> 12] = EXT2_FT_FIFO,     [S_IFSOCK >> 12] = EXT2_FT_SOCK,
        [S_IFLNK >> 12] = EXT2_FT_SYMLINK};

    return ext2fs_has_feature_filetype(v->fs->super) ? types[(mode & S_IFMT) >> 12] : 0;
}

static void put(uint8_t *at, uint32_t number, uint32_t bytes, const char *text, uint32_t len,
                uint8_t type)
{
    uint16_t n = (uint16_t)bytes;

    memcpy(at, &number, sizeof(number));
    memcpy(at + 4, &n, sizeof(n));
    at[6] = (uint8_t)len;
    at[7] = type;
    memcpy(at + ENTRY_BYTES, text, len);
}

static void set_bytes(uint8_t *at, uint32_t bytes)
{
    uint16_t n = (uint16_t)bytes;

    memcpy(at + 4, &n, sizeof(n));
}

/* The entry with room for `need` bytes; *used: what it has before. */
static bool find_room(const struct ext4_volume *v, const uint8_t *bytes, uint32_t need,
                      struct ext4_entry *e, uint32_t *at, uint32_t *used)
{
    uint32_t end = ext4_entries_end(v);

    for (*at = 0; *at < end; *at += e->bytes) {
        if (ext4_get_entry(v, bytes, *at, end, e))
            return false;
        *used = e->number ? ext4_entry_bytes(e->name_len) : 0;
        if (e->bytes >= *used + need)
            return true;
    }
    return false;
}

bool ext4_put_entry(const struct ext4_volume *v, uint8_t *bytes, const char *text, uint32_t len,
                    const struct ext4_node *n)
{
    uint32_t at, used;
    struct ext4_entry e;

    if (!find_room(v, bytes, ext4_entry_bytes(len), &e, &at, &used))
        return false;
    if (used)
        set_bytes(bytes + at, used);
    put(bytes + at + used, n->number, e.bytes - used, text, len, type_of(v, n->mode));
    return true;
}

/* ---- blocks ---- */

int ext4_grow_directory(struct ext4_volume *v, struct ext4_node *dir, uint64_t *physical,
                        uint8_t **bytes)
{
    uint64_t block = dir->size >> v->shift, goal = 0;
    struct ext4_run run;
    uint32_t got;
    int err = block ? ext4_find_run(v, dir, block - 1, &run) : 0;

    if (!err && block >= (uint64_t)INT32_MAX >> v->shift)
        err = -ENOSPC;
    if (err)
        return err;
    goal = block ? run.physical + 1
                 : ext4_group_first(v, (dir->number - 1) / v->fs->super->s_inodes_per_group);
    err = ext4_take_blocks(v, goal, 1, physical, &got);
    if (!err)
        err = ext4_extent_add(v, dir, (uint32_t)block, 1, *physical, false);
    if (!err)
        err = ext4_fresh(v, *physical, bytes);
    if (err)
        return err;
    set_bytes(*bytes, ext4_entries_end(v));
    dir->size += v->block_bytes;
    return 0;
}

int ext4_begin_directory(struct ext4_volume *v, struct ext4_node *dir, uint32_t parent)
{
    uint32_t dot = ext4_entry_bytes(1);
    uint64_t physical;
    uint8_t *bytes;
    int err = ext4_grow_directory(v, dir, &physical, &bytes);

    if (err)
        return err;
    put(bytes, dir->number, dot, ".", 1, type_of(v, S_IFDIR));
    put(bytes + dot, parent, ext4_entries_end(v) - dot, "..", 2, type_of(v, S_IFDIR));
    ext4_seal_entries(v, dir, bytes);
    return 0;
}

/* ---- names ---- */

static int enter_at(struct ext4_volume *v, struct ext4_node *dir, uint64_t physical,
                    const char *text, uint32_t len, const struct ext4_node *n)
{
    uint8_t *bytes;
    int err = ext4_edit(v, physical, &bytes);

    if (err)
        return err;
    if (!ext4_put_entry(v, bytes, text, len, n))
        return -EUCLEAN;
    ext4_seal_entries(v, dir, bytes);
    return 0;
}

/* Where there is room, from dir->space on, or in another block. */
static int enter(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                 const struct ext4_node *n)
{
    uint64_t end = dir->size >> v->shift, physical;
    uint8_t *bytes;
    int err;

    for (; dir->space < end; dir->space++) {
        const uint8_t *there;
        struct ext4_entry e;
        struct ext4_run run;
        uint32_t at, used;

        err = ext4_find_run(v, dir, dir->space, &run);
        if (!err && run.physical)
            err = ext4_get_entries(v, dir, run.physical, &there);
        if (err)
            return err;
        if (run.physical && find_room(v, there, ext4_entry_bytes(len), &e, &at, &used))
            return enter_at(v, dir, run.physical, text, len, n);
    }
    if (end == 1 && ext2fs_has_feature_dir_index(v->fs->super)) {
        err = ext4_index_make(v, dir);
        return err ? err : ext4_index_enter(v, dir, text, len, n);
    }
    err = ext4_grow_directory(v, dir, &physical, &bytes);
    return err ? err : enter_at(v, dir, physical, text, len, n);
}

int ext4_enter(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
               const struct ext4_node *n)
{
    return ext4_has_index(v, dir) ? ext4_index_enter(v, dir, text, len, n)
                                  : enter(v, dir, text, len, n);
}

/* The block of an entry, to be changed, and where the entry is in it; *before: the one before. */
static int edit_entry(struct ext4_volume *v, struct ext4_node *dir, uint64_t block, uint32_t at,
                      uint8_t **bytes, uint32_t *before)
{
    struct ext4_run run;
    int err = ext4_find_run(v, dir, block, &run);

    if (!err && !run.physical)
        err = -EUCLEAN;
    if (!err)
        err = ext4_edit(v, run.physical, bytes);
    *before = 0;
    for (uint32_t k = 0; !err && k < at;) {
        struct ext4_entry e;

        err = ext4_get_entry(v, *bytes, k, v->block_bytes, &e);
        *before = k;
        k += e.bytes;
    }
    return err;
}

int ext4_remove(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                uint32_t number)
{
    struct ext4_name found;
    struct ext4_entry e, e0;
    uint32_t at, before;
    uint64_t block;
    uint8_t *bytes;
    int err = ext4_locate(v, dir, text, len, &found, &block, &at);

    if (!err && found.number != number)
        err = -ENOENT;
    if (!err)
        err = edit_entry(v, dir, block, at, &bytes, &before);
    if (!err)
        err = ext4_get_entry(v, bytes, at, v->block_bytes, &e);
    if (!err && at)
        err = ext4_get_entry(v, bytes, before, v->block_bytes, &e0);
    if (err)
        return err;
    if (at)
        set_bytes(bytes + before, e0.bytes + e.bytes);
    else
        memset(bytes, 0, sizeof(uint32_t)); /* the number: the entry is free */
    if (at)
        memset(bytes + at, 0, ENTRY_BYTES + e.name_len);
    ext4_seal_entries(v, dir, bytes);
    dir->space = MIN(dir->space, block);
    return 0;
}

int ext4_redirect(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                  const struct ext4_node *n)
{
    bool up = len == 2 && memcmp(text, "..", 2) == 0;
    uint32_t at = ext4_entry_bytes(1), before;
    struct ext4_name found;
    uint64_t block = 0;
    uint8_t *bytes;
    int err = up ? 0 : ext4_locate(v, dir, text, len, &found, &block, &at);

    if (!err)
        err = edit_entry(v, dir, block, at, &bytes, &before);
    if (err)
        return err;
    if (up && (bytes[at + 6] != 2 || memcmp(bytes + at + ENTRY_BYTES, "..", 2) != 0))
        return -EUCLEAN;
    memcpy(bytes + at, &n->number, sizeof(n->number));
    bytes[at + 7] = type_of(v, n->mode);
    seal(v, dir, block, bytes);
    return 0;
}
