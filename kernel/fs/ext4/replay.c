/*
 * What a journal has when a volume was not unmounted is written to its places. The log is walked
 * three times: to its end, which is behind the last commit; to see that each block in it is the one
 * that was written, if it has checksums, and which blocks were revoked; and to write. So nothing is
 * written unless all of it can be.
 *
 * A log is hostile: every number is compared with the journal or the volume, and a walk ends after
 * as many blocks as the log has.
 */
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/journal.h"
#include "kernel/fs/ext4/journal_disk.h"
#include "kernel/fs/ext4/lines.h"
#include "mm/pool/pool.h"

#define REVOKED_MOST (1u << 18) /* 8 MiB of memory, while it is replayed */

enum walk { FIND_END, CHECK, WRITE };

struct revoked {
    uint64_t block; /* 0: none */
    uint32_t sequence;
};

struct replaying {
    struct ext4_volume *v;
    struct ext4_journal *j;
    uint32_t at, left; /* left: blocks of the log that were not looked at */
    uint32_t sequence; /* of the transaction there */
    uint32_t end;      /* of the first one that is not whole */
    uint32_t nrevoked; /* how many there may be */
    struct revoked *table;
    uint32_t slots; /* of it: a power of two */
};

static int read_log(struct replaying *r, uint8_t *to)
{
    uint32_t count;
    uint64_t place = ext4_journal_place(r->j, r->at, &count);

    if (!place || !r->left)
        return -EUCLEAN;
    r->left--;
    if (++r->at == r->j->length)
        r->at = r->j->first;
    return ext4_lines_read(r->v->lines, place << r->v->shift, to, r->v->block_bytes);
}

/* Is the checksum at `at` of a block that of the block with zeroes there? */
static bool is_good(const struct replaying *r, uint8_t *b, uint32_t at)
{
    uint32_t sum = get_be32(b + at), found;

    if (!(r->j->incompat & (INCOMPAT_SUM_2 | INCOMPAT_SUM_3)))
        return true;
    put_be32(b + at, 0);
    found = ext4_journal_sum(r->j->seed, b, r->v->block_bytes);
    put_be32(b + at, sum);
    return found == sum;
}

/* ---- revoked blocks ---- */

static struct revoked *slot(const struct replaying *r, uint64_t block)
{
    uint64_t k = block * UINT64_C(0x9E3779B97F4A7C15) >> 32;

    while (r->table[k & (r->slots - 1)].block && r->table[k & (r->slots - 1)].block != block)
        k++;
    return &r->table[k & (r->slots - 1)];
}

static bool is_revoked(const struct replaying *r, uint64_t block)
{
    const struct revoked *s = r->table ? slot(r, block) : NULL;

    return s && s->block && (int32_t)(s->sequence - r->sequence) >= 0;
}

static int take_revoked(struct replaying *r, const uint8_t *b, enum walk w)
{
    uint32_t n = get_be32(b + REVOKE_BYTES), each = r->j->incompat & INCOMPAT_64BIT ? 8 : 4;

    if (n < REVOKE_ENTRIES || n > r->v->block_bytes)
        return -EUCLEAN;
    if (w == FIND_END)
        r->nrevoked += (n - REVOKE_ENTRIES) / each;
    for (uint32_t at = REVOKE_ENTRIES; w == CHECK && at + each <= n; at += each) {
        uint64_t block = each == 8 ? (uint64_t)get_be32(b + at) << 32 | get_be32(b + at + 4)
                                   : get_be32(b + at);
        struct revoked *s = block ? slot(r, block) : NULL;

        if (s)
            *s = (struct revoked){block, r->sequence};
    }
    return r->nrevoked > REVOKED_MOST ? -ENOMEM : 0;
}

static int make_table(struct replaying *r)
{
    if (!r->nrevoked)
        return 0;
    for (r->slots = 16; r->slots < 2 * r->nrevoked;)
        r->slots *= 2;
    r->table = pgd_alloc_zeroed(r->slots * sizeof(*r->table));
    return r->table ? 0 : -ENOMEM;
}

/* ---- blocks ---- */

struct tag {
    uint64_t block;
    uint32_t flags, sum;
};

/* The tag at *at of a descriptor. False: there is none. */
static bool next_tag(const struct replaying *r, const uint8_t *b, uint32_t *at, struct tag *t)
{
    const struct ext4_journal *j = r->j;
    uint32_t tail = j->incompat & (INCOMPAT_SUM_2 | INCOMPAT_SUM_3) ? TAIL_BYTES : 0;
    const uint8_t *p = b + *at;

    if (*at + j->tag_bytes > r->v->block_bytes - tail)
        return false;
    t->block = get_be32(p + TAG_BLOCK);
    if (j->incompat & INCOMPAT_64BIT)
        t->block |= (uint64_t)get_be32(p + TAG_HIGH) << 32;
    t->flags = j->incompat & INCOMPAT_SUM_3 ? get_be32(p + TAG_FLAGS_3) : get_be16(p + TAG_FLAGS);
    t->sum = j->incompat & INCOMPAT_SUM_3 ? get_be32(p + TAG_SUM_3) : get_be16(p + TAG_SUM_2);
    *at += j->tag_bytes + (t->flags & TAG_SAME ? 0 : UUID_BYTES);
    return true;
}

static bool is_whole(const struct replaying *r, const uint8_t *b, const struct tag *t)
{
    uint8_t sequence[4];
    uint32_t sum;

    if (!(r->j->incompat & (INCOMPAT_SUM_2 | INCOMPAT_SUM_3)))
        return true;
    put_be32(sequence, r->sequence);
    sum = ext4_journal_sum(ext4_journal_sum(r->j->seed, sequence, sizeof(sequence)), b,
                           r->v->block_bytes);
    return r->j->incompat & INCOMPAT_SUM_3 ? sum == t->sum : (sum & 0xFFFF) == t->sum;
}

static int take_block(struct replaying *r, const struct tag *t, enum walk w)
{
    uint8_t *b = r->j->escape;
    int err = read_log(r, b);

    if (err || w == FIND_END)
        return err;
    if (t->block >= r->v->blocks || !is_whole(r, b, t))
        return -EUCLEAN;
    if (w != WRITE || is_revoked(r, t->block))
        return 0;
    if (t->flags & TAG_ESCAPED)
        put_be32(b, JOURNAL_MAGIC);
    ext4_store_write(&r->j->store, t->block << r->v->shift, b, r->v->block_bytes);
    ext4_store_push(&r->j->store);
    return 0;
}

static int take_descriptor(struct replaying *r, enum walk w)
{
    uint32_t at = HEAD_BYTES;
    struct tag t = {.flags = 0};
    int err = 0;

    while (!err && !(t.flags & TAG_LAST) && next_tag(r, r->j->block, &at, &t))
        err = take_block(r, &t, w);
    return err;
}

/* ---- walks ---- */

/* The next block that is not the contents of another one. *more: the log goes on. */
static int step(struct replaying *r, enum walk w, bool *more)
{
    uint8_t *b = r->j->block;
    uint32_t kind, tail = r->v->block_bytes - TAIL_BYTES;
    int err = 0;

    *more = false;
    if (!r->left)
        return 0;
    err = read_log(r, b);
    if (err || get_be32(b + HEAD_MAGIC) != JOURNAL_MAGIC ||
        get_be32(b + HEAD_SEQUENCE) != r->sequence)
        return err;
    kind = get_be32(b + HEAD_KIND);
    if ((kind != JOURNAL_DESCRIPTOR && kind != JOURNAL_REVOKE && kind != JOURNAL_COMMIT) ||
        !is_good(r, b, kind == JOURNAL_COMMIT ? COMMIT_SUM : tail))
        return 0;
    *more = true;
    if (kind == JOURNAL_DESCRIPTOR)
        err = take_descriptor(r, w);
    else if (kind == JOURNAL_REVOKE)
        err = take_revoked(r, b, w);
    else
        r->sequence++;
    return err;
}

static int walk(struct replaying *r, enum walk w)
{
    bool more = true;
    int err = 0;

    r->at = get_be32(r->j->super + SUPER_START);
    r->sequence = get_be32(r->j->super + SUPER_SEQUENCE);
    r->left = r->j->length - r->j->first;
    while (!err && more && (w == FIND_END || r->sequence != r->end))
        err = step(r, w, &more);
    if (w == FIND_END) {
        r->end = r->sequence;
        return err == -EUCLEAN ? 0 : err; /* what has no commit may be anything */
    }
    return err;
}

int ext4_replay(struct ext4_volume *v, uint32_t *next)
{
    struct replaying r = {.v = v, .j = v->journal};
    int err = walk(&r, FIND_END), late;

    if (!err)
        err = make_table(&r);
    if (!err)
        err = walk(&r, CHECK);
    if (err == -EUCLEAN)
        printk("%s: ext4: not mounted: the journal is damaged: run e2fsck\n", v->name);
    if (!err)
        err = walk(&r, WRITE);
    late = ext4_store_finish(&v->journal->store);
    if (r.table)
        pgd_free(r.table, r.slots * sizeof(*r.table));
    *next = r.end;
    return err ? err : late;
}
