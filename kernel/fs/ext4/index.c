/*
 * Names entered into directories with an index (htree). Its blocks have pairs of a hash and a
 * block, in ascending order: names with that hash or a higher one, below the next pair's, are
 * there. The first hash of a block is left out. If one hash goes on in the next block, that one's
 * hash has its lowest bit set, which no name's has.
 *
 * As with extents, what is full is split, the uppermost block first, and the place is looked for
 * again.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/directory.h"
#include "mm/pool/pool.h"

#define SPLITS      8u /* that one name can need, and some more */
#define LEVELS_MOST 3u
#define SUM_BYTES   8u /* behind the entries, if there are checksums: nothing, and the checksum */
#define NAME_LEAST  12u

typedef struct ext4_index_entry pair;

/* One block of the index. */
struct level {
    uint8_t *bytes;
    uint32_t from; /* where its entries begin */
    unsigned at;   /* the one that was chosen */
};

struct route {
    struct level level[LEVELS_MOST + 1];
    unsigned depth; /* level[depth] leads to blocks of names */
    uint32_t hash, leaf;
    unsigned version;
};

static pair *pairs(const struct level *l) { return (pair *)(l->bytes + l->from); }

static unsigned limit_of(const struct ext4_volume *v, uint32_t from)
{
    uint32_t tail = ext2fs_has_feature_metadata_csum(v->fs->super) ? SUM_BYTES : 0;

    return (v->block_bytes - from - tail) / (unsigned)sizeof(pair);
}

/* Where the first pair has a hash, a block has how many pairs there can be, and are. */
static unsigned count_of(const struct level *l) { return pairs(l)[0].hash >> 16; }

static void set_count(const struct ext4_volume *v, struct level *l, unsigned n)
{
    pairs(l)[0].hash = n << 16 | limit_of(v, l->from);
}

void ext4_seal_index(const struct ext4_volume *v, const struct ext4_node *dir, uint8_t *bytes,
                     uint32_t from)
{
    struct level l = {.bytes = bytes, .from = from};
    uint8_t *tail = bytes + from + limit_of(v, from) * sizeof(pair);
    uint32_t sum, none = 0;

    if (!ext2fs_has_feature_metadata_csum(v->fs->super) || count_of(&l) > limit_of(v, from))
        return;
    sum = ext2fs_crc32c_le(ext4_node_seed(v, dir), bytes, from + count_of(&l) * sizeof(pair));
    sum = ext2fs_crc32c_le(sum, tail, sizeof(none));
    sum = ext2fs_crc32c_le(sum, (const uint8_t *)&none, sizeof(none));
    memcpy(tail + 4, &sum, sizeof(sum));
}

static void seal(const struct ext4_volume *v, const struct ext4_node *dir, const struct level *l)
{
    ext4_seal_index(v, dir, l->bytes, l->from);
}

/* ---- finding ---- */

static int edit_block(struct ext4_volume *v, struct ext4_node *dir, uint32_t block, uint8_t **bytes)
{
    struct ext4_run run;
    int err = block < dir->size >> v->shift ? ext4_find_run(v, dir, block, &run) : -EUCLEAN;

    if (!err && !run.physical)
        err = -EUCLEAN;
    return err ? err : ext4_edit(v, run.physical, bytes);
}

/* Choose the pair that has the hash. */
static int choose(const struct ext4_volume *v, struct level *l, uint32_t hash)
{
    unsigned n = count_of(l), low = 0, high = n;

    if (n == 0 || n > limit_of(v, l->from) || (pairs(l)[0].hash & 0xFFFF) != limit_of(v, l->from))
        return -EUCLEAN;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;

        if (pairs(l)[middle].hash <= hash)
            low = middle;
        else
            high = middle;
    }
    l->at = low;
    return 0;
}

static int find(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                struct route *r)
{
    struct ext2_dx_root_info info;
    struct level *l = &r->level[0];
    int err = edit_block(v, dir, 0, &l->bytes);

    if (err)
        return err;
    memcpy(&info, l->bytes + ROOT_AT - sizeof(info), sizeof(info));
    r->version = info.hash_version;
    r->depth = info.indirect_levels;
    l->from = ROOT_AT;
    if (info.info_length != sizeof(info) || r->depth > LEVELS_MOST ||
        !ext4_hash_name(v, r->version, text, len, &r->hash))
        return -EUCLEAN;
    for (unsigned k = 0; !err; k++) {
        l = &r->level[k];
        err = choose(v, l, r->hash);
        if (err)
            break;
        r->leaf = pairs(l)[l->at].block & 0x0FFFFFFF;
        if (k == r->depth)
            break;
        r->level[k + 1].from = NODE_AT;
        err = edit_block(v, dir, r->leaf, &r->level[k + 1].bytes);
    }
    return err ? err : r->leaf ? 0 : -EUCLEAN;
}

/* ---- splitting ---- */

/* The count is read again: on a damaged volume, the step may have changed it as something else. */
static int insert_pair(const struct ext4_volume *v, struct level *l, uint32_t hash, uint32_t block)
{
    unsigned n = count_of(l);
    pair *p = pairs(l);

    if (n == 0 || n >= limit_of(v, l->from) || l->at >= n)
        return -EUCLEAN;
    memmove(p + l->at + 2, p + l->at + 1, (n - l->at - 1) * sizeof(*p));
    p[l->at + 1] = (pair){hash, block};
    set_count(v, l, n + 1);
    return 0;
}

/* A new block of the index: an entry that nobody uses, for those who know no index, and pairs. */
static int new_node(struct ext4_volume *v, struct ext4_node *dir, struct level *l, uint32_t *block)
{
    uint64_t physical;
    uint16_t all = (uint16_t)v->block_bytes;
    int err;

    *block = (uint32_t)(dir->size >> v->shift);
    err = ext4_grow_directory(v, dir, &physical, &l->bytes);
    if (err)
        return err;
    memcpy(l->bytes + 4, &all, sizeof(all));
    l->from = NODE_AT;
    l->at = 0;
    return 0;
}

/* The root's pairs move to a block of their own. */
static int deepen(struct ext4_volume *v, struct ext4_node *dir, struct route *r)
{
    unsigned most = ext2fs_has_feature_largedir(v->fs->super) ? 2 : 1;
    struct level *root = &r->level[0], l;
    unsigned n = count_of(root);
    uint32_t block;
    int err = r->depth < most ? new_node(v, dir, &l, &block) : -ENOSPC;

    if (err)
        return err;
    memcpy(pairs(&l), pairs(root), n * sizeof(pair));
    set_count(v, &l, n);
    seal(v, dir, &l);
    pairs(root)[0].block = block;
    set_count(v, root, 1);
    root->bytes[ROOT_AT - sizeof(struct ext2_dx_root_info) +
                offsetof(struct ext2_dx_root_info, indirect_levels)]++;
    seal(v, dir, root);
    return 0;
}

/* The upper half of a block's pairs moves to a new one. The one above has room. */
static int split_node(struct ext4_volume *v, struct ext4_node *dir, struct route *r, unsigned k)
{
    struct level *l = &r->level[k], *up = &r->level[k - 1], other;
    unsigned n = count_of(l), from = n / 2;
    uint32_t hash = pairs(l)[from].hash, block;
    int err = new_node(v, dir, &other, &block);

    if (err)
        return err;
    memcpy(pairs(&other), pairs(l) + from, (n - from) * sizeof(pair));
    set_count(v, &other, n - from);
    set_count(v, l, from);
    err = insert_pair(v, up, hash, block);
    if (err)
        return err;
    seal(v, dir, l);
    seal(v, dir, &other);
    seal(v, dir, up);
    return 0;
}

/* A name of a block that is split. */
struct named {
    uint32_t hash;
    uint16_t at, bytes; /* bytes: that it needs */
};

/* The names of a block, in the order of their hashes. Returns how many, or an error. */
static int sort_names(const struct ext4_volume *v, const struct route *r, const uint8_t *bytes,
                      struct named *name)
{
    uint32_t end = ext4_entries_end(v);
    struct ext4_entry e;
    int n = 0;

    for (uint32_t at = 0; at < end; at += e.bytes) {
        struct named x = {.at = (uint16_t)at};
        int k = n;

        if (ext4_get_entry(v, bytes, at, end, &e))
            return -EUCLEAN;
        if (!e.number)
            continue;
        if (!ext4_hash_name(v, r->version, e.name, e.name_len, &x.hash))
            return -EUCLEAN;
        x.bytes = (uint16_t)ext4_entry_bytes(e.name_len);
        for (; k > 0 && name[k - 1].hash > x.hash; k--)
            name[k] = name[k - 1];
        name[k] = x;
        n++;
    }
    return n;
}

/* Fill a block with some of the names of another one. */
static void gather(const struct ext4_volume *v, const struct ext4_node *dir, uint8_t *to,
                   const uint8_t *from, const struct named *name, int n)
{
    uint32_t at = 0, end = ext4_entries_end(v);

    memset(to, 0, v->block_bytes);
    for (int k = 0; k < n; k++) {
        uint16_t bytes = (uint16_t)(k + 1 < n ? name[k].bytes : end - at);

        memcpy(to + at, from + name[k].at, name[k].bytes);
        memcpy(to + at + 4, &bytes, sizeof(bytes));
        at += name[k].bytes;
    }
    ext4_seal_entries(v, dir, to);
}

/* Where the upper half of the bytes begins. */
static int middle(const struct named *name, int n)
{
    uint32_t all = 0, low = 0;
    int k;

    for (k = 0; k < n; k++)
        all += name[k].bytes;
    for (k = 0; k < n - 1 && low < all / 2; k++)
        low += name[k].bytes;
    return MAX(k, 1);
}

/* room: for a copy of the block, and what sort_names() fills. */
static int split_names(struct ext4_volume *v, struct ext4_node *dir, struct route *r, uint8_t *room)
{
    struct named *name = (struct named *)(room + v->block_bytes);
    struct level *l = &r->level[r->depth];
    uint32_t block = (uint32_t)(dir->size >> v->shift), hash;
    uint8_t *bytes, *other;
    uint64_t physical;
    int err = edit_block(v, dir, r->leaf, &bytes), n, half;

    if (err)
        return err;
    memcpy(room, bytes, v->block_bytes);
    n = sort_names(v, r, room, name);
    if (n < 2)
        return n < 0 ? n : -EUCLEAN;
    half = middle(name, n);
    err = ext4_grow_directory(v, dir, &physical, &other);
    if (err)
        return err;
    gather(v, dir, bytes, room, name, half);
    gather(v, dir, other, room, name + half, n - half);
    hash = name[half].hash | (name[half - 1].hash == name[half].hash);
    err = insert_pair(v, l, hash, block);
    if (!err)
        seal(v, dir, l);
    return err;
}

/* Make room, in a block of names, or in one of the index above it. */
static int split(struct ext4_volume *v, struct ext4_node *dir, struct route *r)
{
    size_t size = v->block_bytes + v->block_bytes / NAME_LEAST * sizeof(struct named);
    unsigned k = r->depth + 1;
    uint8_t *room;
    int err;

    while (k > 0 && count_of(&r->level[k - 1]) == limit_of(v, r->level[k - 1].from))
        k--;
    if (k <= r->depth)
        return k ? split_node(v, dir, r, k) : deepen(v, dir, r);
    room = pgd_alloc(size);
    if (!room)
        return -ENOMEM;
    err = split_names(v, dir, r, room);
    pgd_free(room, size);
    return err;
}

int ext4_index_enter(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                     const struct ext4_node *n)
{
    for (unsigned tries = 0; tries < SPLITS; tries++) {
        struct route r;
        uint8_t *bytes;
        int err = find(v, dir, text, len, &r);

        if (!err)
            err = edit_block(v, dir, r.leaf, &bytes);
        if (err)
            return err;
        if (ext4_put_entry(v, bytes, text, len, n)) {
            ext4_seal_entries(v, dir, bytes);
            return 0;
        }
        err = split(v, dir, &r);
        if (err)
            return err;
    }
    return -ENOSPC; /* many names with one hash */
}

/* ---- making ---- */

int ext4_index_make(struct ext4_volume *v, struct ext4_node *dir)
{
    const uint32_t dot = ext4_entry_bytes(1), dots = dot + ext4_entry_bytes(2);
    struct ext2_dx_root_info info = {.hash_version = v->fs->super->s_def_hash_version,
                                     .info_length = sizeof(info)};
    struct level root = {.from = ROOT_AT};
    uint8_t *bytes, *first;
    uint64_t physical;
    struct ext4_entry e;
    uint16_t all;
    int err = edit_block(v, dir, 0, &first);

    if (!err)
        err = ext4_get_entry(v, first, dot, v->block_bytes, &e);
    if (!err &&
        (e.name_len != 2 || e.bytes < ext4_entry_bytes(2) || info.hash_version > EXT2_HASH_TEA))
        err = -EUCLEAN;
    if (!err)
        err = ext4_grow_directory(v, dir, &physical, &bytes);
    if (err)
        return err;
    for (uint32_t at = dot + e.bytes, to = 0, end = ext4_entries_end(v); at < end; at += e.bytes) {
        uint32_t n;

        if (ext4_get_entry(v, first, at, end, &e))
            return -EUCLEAN;
        n = e.number ? ext4_entry_bytes(e.name_len) : 0;
        if (at + e.bytes >= end) { /* the last one gets the rest */
            n = end - to;
            memcpy(bytes + to, first + at, MIN(e.bytes, n));
        } else if (n) {
            memcpy(bytes + to, first + at, n);
        }
        all = (uint16_t)n;
        if (n)
            memcpy(bytes + to + 4, &all, sizeof(all));
        to += n;
    }
    ext4_seal_entries(v, dir, bytes);
    memset(first + dots, 0, v->block_bytes - dots);
    all = (uint16_t)(v->block_bytes - dot);
    memcpy(first + dot + 4, &all, sizeof(all));
    memcpy(first + ROOT_AT - sizeof(info), &info, sizeof(info));
    root.bytes = first;
    set_count(v, &root, 1);
    pairs(&root)[0].block = 1;
    dir->flags |= EXT2_INDEX_FL;
    seal(v, dir, &root);
    return 0;
}
