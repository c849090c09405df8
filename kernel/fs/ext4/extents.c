/*
 * Changes of a file's tree of extents. A node, in the inode or in a block, has a header and entries
 * in ascending order: extents, or, above them, nodes with the first block that each is for.
 *
 * An extent is added where there is room. If there is none, a node is split, the uppermost one that
 * has to be, and it is looked for again; so every change is one of a node and its parent.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/lines.h"
#include "kernel/fs/stat.h"

#define DEPTH_MOST 5u
#define LEN_MOST   32768u /* blocks of an extent; one that is unwritten has one less */
#define SPLITS     12u    /* that one extent can need, and some more */

/* An extent as its entry says. */
struct extent {
    uint32_t block, count;
    uint64_t physical;
    bool unwritten;
};

/* Where something is: the nodes from the root on, and in each the entry that leads there. */
struct path {
    struct ext4_node *n;
    unsigned depth; /* of the tree: level[depth] has extents */
    struct level {
        struct ext3_extent_header *head;
        uint64_t block; /* 0: the root */
        int at;         /* of its entries; -1: what is looked for comes before all of them */
    } level[DEPTH_MOST + 1];
};

static struct ext3_extent *entries(struct ext3_extent_header *h)
{
    return (struct ext3_extent *)(h + 1);
}

static struct ext3_extent_idx *indexes(struct ext3_extent_header *h)
{
    return (struct ext3_extent_idx *)(h + 1);
}

static struct extent get(const struct ext3_extent *e)
{
    bool unwritten = e->ee_len > LEN_MOST;

    return (struct extent){e->ee_block, unwritten ? e->ee_len - LEN_MOST : e->ee_len,
                           (uint64_t)e->ee_start_hi << 32 | e->ee_start, unwritten};
}

static void put(struct ext3_extent *e, const struct extent *x)
{
    e->ee_block = x->block;
    e->ee_len = (uint16_t)(x->unwritten ? x->count + LEN_MOST : x->count);
    e->ee_start = (uint32_t)x->physical;
    e->ee_start_hi = (uint16_t)(x->physical >> 32);
}

static uint64_t child_of(const struct ext3_extent_idx *i)
{
    return (uint64_t)i->ei_leaf_hi << 32 | i->ei_leaf;
}

void ext4_extent_init(struct ext4_node *n)
{
    struct ext3_extent_header *h =
        (struct ext3_extent_header *)((struct ext2_inode *)n->raw)->i_block;

    memset(h, 0, IN_INODE);
    h->eh_magic = EXT3_EXT_MAGIC;
    h->eh_max = (IN_INODE - sizeof(*h)) / sizeof(struct ext3_extent);
    n->flags |= EXT4_EXTENTS_FL;
}

static uint16_t most_in(const struct ext4_volume *v)
{
    return (uint16_t)((v->block_bytes - sizeof(struct ext3_extent_header)) /
                      sizeof(struct ext3_extent));
}

static bool is_sound(const struct ext4_volume *v, const struct ext3_extent_header *h, bool root,
                     unsigned depth)
{
    uint16_t most = root ? (IN_INODE - sizeof(*h)) / sizeof(struct ext3_extent) : most_in(v);

    return h->eh_magic == EXT3_EXT_MAGIC && h->eh_depth == depth && h->eh_max <= most &&
           h->eh_max > 1 && h->eh_entries <= h->eh_max && (root || h->eh_entries > 0);
}

/* Is what is counted in a node within it? A step that changes another block has changed this one,
 * too, if a damaged volume has both in one place: so before each change. */
static bool is_within(const struct ext4_volume *v, const struct level *l)
{
    uint16_t most = l->block ? most_in(v)
                             : (IN_INODE - sizeof(*l->head)) / sizeof(struct ext3_extent);

    return l->head->eh_max <= most && l->head->eh_entries <= l->head->eh_max;
}

/* Where the checksum of a node is: behind all entries that it can have. */
static uint32_t *tail_of(struct ext3_extent_header *h)
{
    return (uint32_t *)(entries(h) + h->eh_max);
}

static uint32_t sum_of(const struct ext4_volume *v, const struct ext4_node *n,
                       struct ext3_extent_header *h)
{
    return ext2fs_crc32c_le(ext4_node_seed(v, n), (const uint8_t *)h,
                            (size_t)((uint8_t *)tail_of(h) - (uint8_t *)h));
}

/* The node was changed. One that is no node any more (see above) keeps a wrong checksum. */
static void seal(const struct ext4_volume *v, const struct path *p, const struct level *l)
{
    if (l->block && ext2fs_has_feature_metadata_csum(v->fs->super) && is_within(v, l))
        *tail_of(l->head) = sum_of(v, p->n, l->head);
}

/* The last entry of a level that begins at `block` or before. */
static int search(const struct level *l, uint32_t block)
{
    int low = -1, high = l->head->eh_entries; /* both kinds of entries begin with their block */

    while (high - low > 1) {
        int middle = (low + high) / 2;

        if (entries(l->head)[middle].ee_block <= block)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int edit_node(struct ext4_volume *v, struct path *p, unsigned k, uint64_t block)
{
    struct level *l = &p->level[k];
    uint8_t *bytes;
    int err;

    if (block <= v->fs->super->s_first_data_block || block >= v->blocks)
        return -EUCLEAN;
    err = ext4_edit(v, block, &bytes);
    if (err)
        return err;
    l->head = (struct ext3_extent_header *)bytes;
    l->block = block;
    if (!is_sound(v, l->head, false, p->depth - k))
        return -EUCLEAN;
    if (ext2fs_has_feature_metadata_csum(v->fs->super) &&
        *tail_of(l->head) != sum_of(v, p->n, l->head))
        return -EUCLEAN;
    return 0;
}

/* Go to where `block` is, or would be. */
static int find(struct ext4_volume *v, struct ext4_node *n, uint32_t block, struct path *p)
{
    struct level *l = &p->level[0];
    int err = 0;

    p->n = n;
    l->head = (struct ext3_extent_header *)((struct ext2_inode *)n->raw)->i_block;
    l->block = 0;
    p->depth = l->head->eh_depth;
    n->last.count = 0; /* it may not be true any more */
    if (!(n->flags & EXT4_EXTENTS_FL))
        return -EOPNOTSUPP;
    if (p->depth > DEPTH_MOST || !is_sound(v, l->head, true, p->depth))
        return -EUCLEAN;
    for (unsigned k = 0; !err; k++) {
        l = &p->level[k];
        l->at = search(l, block);
        if (k == p->depth)
            break;
        if (!l->head->eh_entries)
            return -EUCLEAN;
        l->at = MAX(l->at, 0);
        err = edit_node(v, p, k + 1, child_of(&indexes(l->head)[l->at]));
    }
    return err;
}

/* ---- nodes ---- */

/* The first entry of level k was changed: the entries above say so. */
static void lift(struct ext4_volume *v, struct path *p, unsigned k)
{
    while (k > 0 && p->level[k].head->eh_entries) {
        uint32_t first = entries(p->level[k].head)[0].ee_block;
        struct level *up = &p->level[--k];

        if (indexes(up->head)[up->at].ei_block == first)
            break;
        indexes(up->head)[up->at].ei_block = first;
        seal(v, p, up);
        if (up->at)
            break;
    }
}

static int insert_entry(const struct ext4_volume *v, struct level *l, int at, const void *entry)
{
    struct ext3_extent *e = entries(l->head);

    if (!is_within(v, l) || at < 0 || at > l->head->eh_entries ||
        l->head->eh_entries == l->head->eh_max)
        return -EUCLEAN;
    memmove(e + at + 1, e + at, (size_t)(l->head->eh_entries - at) * sizeof(*e));
    memcpy(e + at, entry, sizeof(*e));
    l->head->eh_entries++;
    return 0;
}

static int delete_entry(const struct ext4_volume *v, struct level *l, int at)
{
    struct ext3_extent *e = entries(l->head);

    if (!is_within(v, l) || at < 0 || at >= l->head->eh_entries)
        return -EUCLEAN;
    l->head->eh_entries--;
    memmove(e + at, e + at + 1, (size_t)(l->head->eh_entries - at) * sizeof(*e));
    memset(e + l->head->eh_entries, 0, sizeof(*e));
    return 0;
}

/* A block for a node, near the file's others. */
static int new_block(struct ext4_volume *v, struct path *p, uint64_t *block, uint8_t **bytes)
{
    uint64_t goal = p->level[p->depth].block;
    uint32_t got;
    int err = ext4_take_blocks(v, goal, 1, block, &got);

    if (!err)
        err = ext4_node_count(v, p->n, 1);
    return err ? err : ext4_fresh(v, *block, bytes);
}

static void put_index(struct ext3_extent_idx *i, uint32_t first, uint64_t block)
{
    *i = (struct ext3_extent_idx){
        .ei_block = first, .ei_leaf = (uint32_t)block, .ei_leaf_hi = (uint16_t)(block >> 32)};
}

/* The root's entries move to a block of their own, the only one below it. */
static int deepen(struct ext4_volume *v, struct path *p)
{
    struct ext3_extent_header *root = p->level[0].head, *h;
    struct level l = {.head = NULL};
    uint8_t *bytes;
    int err;

    if (p->depth == DEPTH_MOST)
        return -EFBIG;
    err = new_block(v, p, &l.block, &bytes);
    if (err)
        return err;
    l.head = h = (struct ext3_extent_header *)bytes;
    *h = *root;
    h->eh_max = most_in(v);
    memcpy(entries(h), entries(root), root->eh_entries * sizeof(struct ext3_extent));
    seal(v, p, &l);
    root->eh_depth++;
    root->eh_entries = 1;
    put_index(indexes(root), entries(h)[0].ee_block, l.block);
    memset(entries(root) + 1, 0, (size_t)(root->eh_max - 1) * sizeof(struct ext3_extent));
    return 0;
}

/* The upper half of a full node below the root moves to a new one; only its last entry if `block`
 * comes behind all, since others are likely to follow it. The parent has room. */
static int split(struct ext4_volume *v, struct path *p, unsigned k, uint32_t block)
{
    struct level *l = &p->level[k], *up = &p->level[k - 1], other = {.head = NULL};
    unsigned n = l->head->eh_entries, from = n / 2;
    struct ext3_extent_idx index;
    uint8_t *bytes;
    int err = new_block(v, p, &other.block, &bytes);

    if (err)
        return err;
    if (entries(l->head)[n - 1].ee_block < block)
        from = n - 1;
    other.head = (struct ext3_extent_header *)bytes;
    *other.head = *l->head;
    other.head->eh_entries = (uint16_t)(n - from);
    memcpy(entries(other.head), entries(l->head) + from, (n - from) * sizeof(struct ext3_extent));
    memset(entries(l->head) + from, 0, (n - from) * sizeof(struct ext3_extent));
    l->head->eh_entries = (uint16_t)from;
    put_index(&index, entries(other.head)[0].ee_block, other.block);
    err = insert_entry(v, up, up->at + 1, &index);
    if (err)
        return err;
    seal(v, p, l);
    seal(v, p, &other);
    seal(v, p, up);
    return 0;
}

/* Have room where `block` is to be entered. */
static int make_room(struct ext4_volume *v, struct ext4_node *n, uint32_t block, struct path *p)
{
    for (unsigned tries = 0; tries < SPLITS; tries++) {
        int err = find(v, n, block, p);
        unsigned k = p->depth;

        if (err || p->level[k].head->eh_entries < p->level[k].head->eh_max)
            return err;
        while (k > 0 && p->level[k - 1].head->eh_entries == p->level[k - 1].head->eh_max)
            k--;
        err = k ? split(v, p, k, block) : deepen(v, p);
        if (err)
            return err;
    }
    return -EUCLEAN;
}

/* ---- extents ---- */

static bool can_follow(const struct extent *a, const struct extent *b)
{
    return a->unwritten == b->unwritten && a->block + a->count == b->block &&
           a->physical + a->count == b->physical &&
           a->count + b->count <= LEN_MOST - (a->unwritten ? 1 : 0);
}

/* Make x a part of the extent before or behind it. */
static bool merge(struct ext4_volume *v, struct path *p, const struct extent *x)
{
    struct level *l = &p->level[p->depth];
    struct ext3_extent *e = entries(l->head);
    struct extent before, after;

    if (l->at >= 0 && (before = get(&e[l->at]), can_follow(&before, x))) {
        before.count += x->count;
        if (l->at + 1 < l->head->eh_entries &&
            (after = get(&e[l->at + 1]), can_follow(&before, &after))) {
            before.count += after.count;
            (void)delete_entry(v, l, l->at + 1); /* it was just found */
        }
        put(&e[l->at], &before);
    } else if (l->at + 1 < l->head->eh_entries &&
               (after = get(&e[l->at + 1]), can_follow(x, &after))) {
        after = (struct extent){x->block, x->count + after.count, x->physical, x->unwritten};
        put(&e[l->at + 1], &after);
        if (l->at + 1 == 0)
            lift(v, p, p->depth);
    } else {
        return false;
    }
    seal(v, p, l);
    return true;
}

static int insert(struct ext4_volume *v, struct ext4_node *n, const struct extent *x)
{
    struct ext3_extent e;
    struct path p;
    struct level *l;
    int err = find(v, n, x->block, &p);

    if (err || merge(v, &p, x))
        return err;
    err = make_room(v, n, x->block, &p);
    if (err)
        return err;
    l = &p.level[p.depth];
    put(&e, x);
    err = insert_entry(v, l, l->at + 1, &e);
    if (err)
        return err;
    if (l->at + 1 == 0)
        lift(v, &p, p.depth);
    seal(v, &p, l);
    return 0;
}

int ext4_extent_add(struct ext4_volume *v, struct ext4_node *n, uint32_t block, uint32_t count,
                    uint64_t physical, bool unwritten)
{
    int err = insert(v, n, &(struct extent){block, count, physical, unwritten});

    return err ? err : ext4_node_count(v, n, count);
}

/* The entry at the end of the path is gone; so are nodes that are empty without it. */
static int remove_entry(struct ext4_volume *v, struct path *p)
{
    unsigned k = p->depth;
    struct level *l = &p->level[k];
    int err = delete_entry(v, l, l->at);

    while (!err && k > 0 && !l->head->eh_entries) {
        err = ext4_give_blocks(v, l->block, 1, true);
        if (!err)
            err = ext4_node_count(v, p->n, -1);
        l = &p->level[--k];
        if (!err)
            err = delete_entry(v, l, l->at);
    }
    if (err)
        return err;
    if (k == 0 && !l->head->eh_entries)
        l->head->eh_depth = 0;
    if (l->head->eh_entries && l->at == 0)
        lift(v, p, k);
    seal(v, p, l);
    return 0;
}

/* Replace the extent at the end of the path, x, by what of it is outside of [first, end). */
static int carve(struct ext4_volume *v, struct path *p, const struct extent *x, uint32_t first,
                 uint32_t end)
{
    struct level *l = &p->level[p->depth];
    struct extent left = *x, right = *x;

    left.count = first - x->block;
    right.block = end;
    right.count = x->block + x->count - end;
    right.physical += end - x->block;
    if (!left.count && !right.count)
        return remove_entry(v, p);
    put(&entries(l->head)[l->at], left.count ? &left : &right);
    if (!left.count && l->at == 0)
        lift(v, p, p->depth);
    seal(v, p, l);
    return left.count && right.count ? insert(v, p->n, &right) : 0;
}

int ext4_extent_written(struct ext4_volume *v, struct ext4_node *n, uint32_t block, uint32_t count)
{
    struct extent x, part;
    struct path p;
    int err = find(v, n, block, &p);

    if (err)
        return err;
    if (p.level[p.depth].at < 0)
        return -EUCLEAN;
    x = get(&entries(p.level[p.depth].head)[p.level[p.depth].at]);
    if (!x.unwritten || block < x.block || block - x.block + count > x.count)
        return -EUCLEAN;
    part = (struct extent){block, count, x.physical + (block - x.block), false};
    err = carve(v, &p, &x, block, block + count);
    return err ? err : insert(v, n, &part);
}

/* Of the blocks [*first, *end) of an extent those at its end that are in one group. */
static void within_group(const struct ext4_volume *v, const struct extent *x, uint32_t *first,
                         uint32_t end)
{
    const struct ext2_super_block *s = v->fs->super;
    uint64_t last = x->physical + (end - 1 - x->block);
    uint64_t group = (last - s->s_first_data_block) / s->s_blocks_per_group;
    uint64_t from = s->s_first_data_block + group * s->s_blocks_per_group;

    if (x->physical + (*first - x->block) < from)
        *first = x->block + (uint32_t)(from - x->physical);
}

int ext4_extent_punch(struct ext4_volume *v, struct ext4_node *n, uint32_t first, uint32_t end,
                      bool *more)
{
    struct extent x;
    struct path p;
    struct level *l;
    int err;

    *more = false;
    if (first >= end)
        return 0;
    err = find(v, n, end - 1, &p);
    if (err)
        return err;
    l = &p.level[p.depth];
    if (l->at < 0)
        return 0;
    x = get(&entries(l->head)[l->at]);
    if (x.block + x.count <= first)
        return 0;
    if (x.count == 0 || x.physical <= v->fs->super->s_first_data_block ||
        x.physical + x.count > v->blocks)
        return -EUCLEAN;
    first = MAX(first, x.block);
    end = MIN(end, x.block + x.count);
    within_group(v, &x, &first, end);
    err = carve(v, &p, &x, first, end);
    if (!err)
        err = ext4_node_count(v, n, -(int64_t)(end - first));
    if (!err)
        err = ext4_give_blocks(v, x.physical + (first - x.block), end - first,
                               (n->mode & S_IFMT) != S_IFREG);
    *more = true;
    return err;
}
