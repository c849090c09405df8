/*
 * Names in a directory: blocks of entries, which may have an index by hashes of the names (htree).
 *
 * An entry is checked before it is used: it lies within its block, whole, and so does its name. The
 * index is used only to find a block, never to find an end: if anything in it is not as expected,
 * or names with one hash go on in another block, all blocks are searched.
 *
 * A directory has no more blocks than the volume; the search asks in each whether the thread is to
 * end.
 */
#include "kernel/fs/ext4/directory.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/lines.h"
#include "kernel/fs/ext4/volume_private.h"
#include "kernel/fs/stat.h"
#include "kernel/sched/thread.h"

#define PLACES 3u /* that of the first byte of a directory */
#define INLINE_DOTS \
    4u /* bytes before the entries of a directory in its inode: the parent's number */

int ext4_get_entry(const struct ext4_volume *v, const uint8_t *bytes, uint32_t at, uint32_t end,
                   struct ext4_entry *e)
{
    uint16_t len;

    if (end - at < ENTRY_BYTES)
        return -EUCLEAN;
    memcpy(&e->number, bytes + at, sizeof(e->number));
    memcpy(&len, bytes + at + 4, sizeof(len));
    e->name_len = bytes[at + 6];
    e->type = bytes[at + 7];
    e->name = bytes + at + ENTRY_BYTES;
    e->bytes = len;
    if (v->block_bytes == 65536) /* two values stand for a whole block */
        e->bytes = len == 65535 || len == 0 ? 65536 : (len & 65532u) | (len & 3u) << 16;
    if (!ext2fs_has_feature_filetype(v->fs->super))
        e->type = 0;
    if (e->bytes < ENTRY_BYTES || e->bytes % 4 || e->bytes > end - at ||
        (e->number && (e->name_len == 0 || e->name_len > e->bytes - ENTRY_BYTES)))
        return -EUCLEAN;
    return 0;
}

static bool is_dots(const struct ext4_entry *e)
{
    return e->name[0] == '.' && (e->name_len == 1 || (e->name_len == 2 && e->name[1] == '.'));
}

int ext4_get_entries(struct ext4_volume *v, const struct ext4_node *dir, uint64_t physical,
                     const uint8_t **bytes)
{
    uint64_t offset = physical << v->shift;
    int err;

    if (v->block_bytes <= EXT4_LINE && ext4_lines_checked(v->lines, offset, v->block_bytes))
        return ext4_lines_look(v->lines, offset, v->block_bytes, bytes);
    err = ext4_error(ext2fs_read_dir_block4(v->fs, physical, v->block, 0, dir->number));
    if (err)
        return err;
    if (v->block_bytes <= EXT4_LINE)
        ext4_lines_set_checked(v->lines, offset, v->block_bytes);
    *bytes = v->block;
    return 0;
}

/* ---- what is looked for ---- */

struct search {
    const char *text; /* a name, or NULL: */
    uint32_t len;
    uint64_t after; /* the first one with a place above that */
    struct ext4_name *out;
};

/* A name as nobody could have made it would lead paths astray. */
static int take(const struct ext4_entry *e, uint64_t place, struct ext4_name *out)
{
    static const uint8_t types[] = {0,
                                    S_IFREG >> 12,
                                    S_IFDIR >> 12,
                                    S_IFCHR >> 12,
                                    S_IFBLK >> 12,
                                    S_IFIFO >> 12,
                                    S_IFSOCK >> 12,
                                    S_IFLNK >> 12};

    if (memchr(e->name, 0, e->name_len) || memchr(e->name, '/', e->name_len))
        return -EUCLEAN;
    out->number = e->number;
    out->type = e->type < ARRAY_SIZE(types) ? types[e->type] : 0;
    out->len = e->name_len;
    memcpy(out->text, e->name, e->name_len);
    out->place = place;
    return 0;
}

/* Search entries, the first of which is at `at`; place: of byte 0. -ENOENT: it is not there. */
static int search_entries(const struct ext4_volume *v, const uint8_t *bytes, uint32_t at,
                          uint32_t end, uint64_t place, const struct search *s)
{
    struct ext4_entry e;

    for (; at < end; at += e.bytes) {
        int err = ext4_get_entry(v, bytes, at, end, &e);

        if (err)
            return err;
        if (!e.number || is_dots(&e))
            continue;
        if (s->text ? e.name_len == s->len && memcmp(e.name, s->text, s->len) == 0
                    : place + at > s->after)
            return take(&e, place + at, s->out);
    }
    return -ENOENT;
}

/* In a directory that is in its inode there are two stretches of entries. */
static int search_inline(struct ext4_volume *v, const struct ext4_node *dir, const struct search *s)
{
    long have = ext4_read_inline(v, dir);
    uint64_t n = MIN((uint64_t)have, dir->size);
    int err;

    if (have < 0)
        return (int)have;
    err = search_entries(v, v->inline_data, INLINE_DOTS, (uint32_t)MIN(n, (uint64_t)IN_INODE),
                         PLACES, s);
    if (err == -ENOENT && n > IN_INODE)
        err = search_entries(v, v->inline_data, IN_INODE, (uint32_t)n, PLACES, s);
    return err;
}

static int search_block(struct ext4_volume *v, struct ext4_node *dir, uint64_t block,
                        uint64_t physical, const struct search *s)
{
    const uint8_t *bytes;
    int err = ext4_get_entries(v, dir, physical, &bytes);

    return err ? err : search_entries(v, bytes, 0, v->block_bytes, PLACES + (block << v->shift), s);
}

/* The blocks from one on, below `end`. */
static int search_blocks(struct ext4_volume *v, struct ext4_node *dir, uint64_t block, uint64_t end,
                         const struct search *s)
{
    while (block < end) {
        struct ext4_run run;
        int err = thread_killed() ? -EINTR : ext4_find_run(v, dir, block, &run);

        if (!err && !run.physical) {
            block += MIN(run.count, end - block);
            continue;
        }
        if (!err)
            err = search_block(v, dir, block, run.physical, s);
        if (!err)
            dir->hint = block;
        if (err != -ENOENT)
            return err;
        block++;
    }
    return -ENOENT;
}

static int search_all(struct ext4_volume *v, struct ext4_node *dir, uint64_t first,
                      const struct search *s)
{
    uint64_t end = dir->size >> v->shift;
    int err;

    if (end > v->blocks)
        return -EUCLEAN;
    err = search_blocks(v, dir, first, end, s);
    /* a name may be anywhere, and is often behind the last one that was looked for */
    return err == -ENOENT && s->text ? search_blocks(v, dir, 0, first, s) : err;
}

int ext4_next_name(struct ext4_volume *v, struct ext4_node *dir, uint64_t after,
                   struct ext4_name *out)
{
    struct search s = {.after = after, .out = out};

    if (ext4_is_inline(dir))
        return search_inline(v, dir, &s);
    return search_all(v, dir, after < PLACES ? 0 : (after - PLACES) >> v->shift, &s);
}

/* ---- the index ---- */

#define NOT_KNOWN   1 /* the index does not say where the name is */
#define LEVELS_MOST 3u

struct descent {
    uint32_t hash;
    uint32_t next; /* the lowest hash behind the part that was chosen */
    bool has_next;
};

/* The block below a node, whose entries begin at `at`, that has the hash. */
static int choose(const struct ext4_volume *v, const uint8_t *bytes, uint32_t at, struct descent *d,
                  uint32_t *block)
{
    const uint8_t *first = bytes + at;
    uint32_t most = (v->block_bytes - at) / (uint32_t)sizeof(struct ext4_index_entry), low = 0,
             high;
    struct ext4_index_entry e;
    uint16_t count;

    memcpy(&count, first + 2, sizeof(count)); /* behind the limit */
    if (count == 0 || count > most)
        return NOT_KNOWN;
    high = count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;

        memcpy(&e, first + middle * sizeof(e), sizeof(e));
        if (e.hash <= d->hash)
            low = middle;
        else
            high = middle;
    }
    if (low + 1 < count) {
        memcpy(&e, first + (low + 1) * sizeof(e), sizeof(e));
        d->next = e.hash;
        d->has_next = true;
    }
    memcpy(&e, first + low * sizeof(e), sizeof(e));
    *block = e.block & 0x0FFFFFFF;
    return 0;
}

static int get_index_block(struct ext4_volume *v, struct ext4_node *dir, uint32_t block,
                           const uint8_t **bytes)
{
    struct ext4_run run;
    int err;

    if (block >= dir->size >> v->shift)
        return NOT_KNOWN;
    err = ext4_find_run(v, dir, block, &run);
    if (err)
        return err;
    return run.physical ? ext4_get_entries(v, dir, run.physical, bytes) : NOT_KNOWN;
}

bool ext4_hash_name(const struct ext4_volume *v, unsigned version, const void *text, uint32_t len,
                    uint32_t *hash)
{
    const struct ext2_super_block *super = v->fs->super;

    if (version > EXT2_HASH_TEA)
        return false;
    if (super->s_flags & EXT2_FLAGS_UNSIGNED_HASH)
        version += EXT2_HASH_LEGACY_UNSIGNED - EXT2_HASH_LEGACY;
    return ext2fs_dirhash((int)version, text, (int)len, super->s_hash_seed, hash, NULL) == 0;
}

/* As the first block says that names are hashed. */
static int begin_descent(const struct ext4_volume *v, const uint8_t *root, const struct search *s,
                         struct descent *d, unsigned *levels)
{
    struct ext2_dx_root_info info;

    memcpy(&info, root + ROOT_AT - sizeof(info), sizeof(info));
    *levels = info.indirect_levels;
    return info.info_length == sizeof(info) && info.indirect_levels <= LEVELS_MOST &&
                   ext4_hash_name(v, info.hash_version, s->text, s->len, &d->hash)
               ? 0
               : NOT_KNOWN;
}

static int search_index(struct ext4_volume *v, struct ext4_node *dir, const struct search *s)
{
    struct descent d = {.has_next = false};
    const uint8_t *bytes;
    unsigned levels = 0;
    uint32_t block = 0;
    struct ext4_run run;
    int err = get_index_block(v, dir, 0, &bytes);

    if (!err)
        err = begin_descent(v, bytes, s, &d, &levels);
    if (!err)
        err = choose(v, bytes, ROOT_AT, &d, &block);
    for (; !err && levels; levels--) {
        err = get_index_block(v, dir, block, &bytes);
        if (!err)
            err = choose(v, bytes, NODE_AT, &d, &block);
    }
    if (!err && (block == 0 || block >= dir->size >> v->shift))
        err = NOT_KNOWN;
    if (!err)
        err = ext4_find_run(v, dir, block, &run);
    if (!err)
        err = run.physical ? search_block(v, dir, block, run.physical, s) : NOT_KNOWN;
    if (err == -ENOENT && d.has_next && d.next == (d.hash | 1)) /* the next block goes on */
        err = NOT_KNOWN;
    return err;
}

bool ext4_has_index(const struct ext4_volume *v, const struct ext4_node *dir)
{
    return (dir->flags & EXT2_INDEX_FL) && ext2fs_has_feature_dir_index(v->fs->super);
}

static int find(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                struct ext4_name *found)
{
    struct search s = {.text = text, .len = len, .out = found};
    int err = NOT_KNOWN;

    if (ext4_is_inline(dir))
        err = search_inline(v, dir, &s);
    else if (ext4_has_index(v, dir))
        err = search_index(v, dir, &s);
    if (err == NOT_KNOWN || err == -EUCLEAN)
        err = ext4_is_inline(dir) ? -EUCLEAN : search_all(v, dir, dir->hint, &s);
    return err;
}

int ext4_find_name(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                   uint32_t *number)
{
    struct ext4_name found;
    int err = find(v, dir, text, len, &found);

    if (!err)
        *number = found.number;
    return err;
}

int ext4_locate(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                struct ext4_name *found, uint64_t *block, uint32_t *at)
{
    int err = ext4_is_inline(dir) ? -EOPNOTSUPP : find(v, dir, text, len, found);

    if (err)
        return err;
    *block = (found->place - PLACES) >> v->shift;
    *at = (uint32_t)((found->place - PLACES) & (v->block_bytes - 1));
    return 0;
}
