/*
 * The journal of a volume: found, checked, begun and ended. While it may have something that is not
 * in its place, the volume's superblock says that it needs recovery. The flag is set before the
 * log is begun, and cleared after it is empty, each with a flush between: so a log with
 * transactions is never without the flag.
 */
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/lines.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"

#define SUMS         (INCOMPAT_SUM_2 | INCOMPAT_SUM_3)
#define KNOWN        (INCOMPAT_REVOKE | INCOMPAT_64BIT | INCOMPAT_ASYNC | SUMS)
#define LENGTH_LEAST 512u /* blocks: some transactions of some steps */

uint32_t ext4_journal_sum(uint32_t seed, const void *p, size_t n)
{
    return ext2fs_crc32c_le(seed, p, n);
}

static uint32_t field(const struct ext4_journal *j, uint32_t at) { return get_be32(j->super + at); }

/* ---- finding it ---- */

static int map(struct ext4_volume *v, struct ext4_node *n)
{
    struct ext4_journal *j = v->journal;
    uint64_t blocks = MIN(n->size >> v->shift, (uint64_t)UINT32_MAX), at = 0;

    while (at < blocks) {
        struct ext4_run run;
        int err = ext4_find_run(v, n, at, &run);

        if (err)
            return err;
        if (!run.physical || j->nruns == JOURNAL_RUNS)
            return -EROFS;
        run.count = MIN(run.count, blocks - at);
        j->run[j->nruns++] = run;
        at += run.count;
    }
    j->length = (uint32_t)blocks;
    return 0;
}

uint64_t ext4_journal_place(const struct ext4_journal *j, uint32_t block, uint32_t *count)
{
    for (unsigned k = 0; k < j->nruns; k++)
        if (block >= j->run[k].first && block - j->run[k].first < j->run[k].count) {
            *count = (uint32_t)(j->run[k].count - (block - j->run[k].first));
            return j->run[k].physical + (block - j->run[k].first);
        }
    *count = 0;
    return 0;
}

static uint32_t super_sum(struct ext4_journal *j)
{
    uint8_t sum[4];
    uint32_t r;

    memcpy(sum, j->super + SUPER_SUM, sizeof(sum));
    memset(j->super + SUPER_SUM, 0, sizeof(sum));
    r = ext4_journal_sum(UINT32_MAX, j->super, sizeof(j->super));
    memcpy(j->super + SUPER_SUM, sum, sizeof(sum));
    return r;
}

/* Why it cannot be used; NULL: it can. */
static const char *wrong(const struct ext4_volume *v)
{
    struct ext4_journal *j = v->journal;
    uint32_t length = field(j, SUPER_LENGTH), first = field(j, SUPER_FIRST);

    if (field(j, HEAD_MAGIC) != JOURNAL_MAGIC || field(j, HEAD_KIND) != JOURNAL_SUPER_2)
        return "there is none in its place";
    if ((field(j, SUPER_INCOMPAT) & ~(uint32_t)KNOWN) || field(j, SUPER_RO_COMPAT))
        return "it has a feature that is not known, such as fast_commit";
    if ((field(j, SUPER_INCOMPAT) & (INCOMPAT_ASYNC | SUMS)) == INCOMPAT_ASYNC)
        return "it has the feature async_commit without the checksums that it needs";
    if (field(j, SUPER_BLOCK_BYTES) != v->block_bytes || length > j->length ||
        length < LENGTH_LEAST || first == 0 || first > length - LENGTH_LEAST / 2)
        return "its size is wrong";
    if (field(j, SUPER_START) && (field(j, SUPER_START) < first || field(j, SUPER_START) >= length))
        return "its beginning is wrong";
    if ((field(j, SUPER_INCOMPAT) & SUMS) && super_sum(j) != field(j, SUPER_SUM))
        return "its checksum is wrong";
    if (field(j, SUPER_ERROR))
        return "it has an error: run e2fsck";
    return NULL;
}

static int load(struct ext4_volume *v, const char *name)
{
    const struct ext2_super_block *s = v->fs->super;
    struct ext4_journal *j = v->journal;
    const char *what = "its blocks are not as they should be";
    struct ext4_node n;
    uint32_t count;
    int err = -EROFS;

    if (!ext2fs_has_feature_journal(v->fs->super) || !s->s_journal_inum)
        what = "there is none in the file system";
    else
        err = ext4_read_node_of(v, s->s_journal_inum, &n);
    if (!err)
        err = map(v, &n);
    if (!err && !j->nruns)
        err = -EROFS;
    if (!err)
        err = ext4_lines_read(v->lines, ext4_journal_place(j, 0, &count) << v->shift, j->super,
                              sizeof(j->super));
    if (!err && (what = wrong(v)) != NULL)
        err = -EROFS;
    if (err == -EROFS)
        printk("%s: ext4: the journal cannot be used: %s\n", name, what);
    return err;
}

/* ---- its superblock, and the volume's ---- */

int ext4_journal_write_super(struct ext4_volume *v, uint32_t start)
{
    struct ext4_journal *j = v->journal;
    uint32_t count;
    uint64_t place = ext4_journal_place(j, 0, &count) << v->shift;
    int err = ext4_store_flush(&j->store);

    if (!err) /* what is written below is not taken back: its flush is not to fail for memory */
        err = ext4_store_reserve(&j->store);
    if (err)
        return err;
    put_be32(j->super + SUPER_START, start);
    put_be32(j->super + SUPER_SEQUENCE, j->sequence);
    put_be32(j->super + SUPER_SUM, 0);
    if (j->incompat & (INCOMPAT_SUM_2 | INCOMPAT_SUM_3))
        put_be32(j->super + SUPER_SUM, super_sum(j));
    memset(j->block, 0, v->block_bytes); /* all of it, since a sector may be as long */
    memcpy(j->block, j->super, sizeof(j->super));
    ext4_store_write(&j->store, place, j->block, v->block_bytes);
    err = ext4_store_finish(&j->store);
    return err ? err : ext4_store_flush(&j->store);
}

/* At once, and not by the journal. */
static int set_needs_recovery(struct ext4_volume *v, bool needs)
{
    struct ext4_journal *j = v->journal;
    struct ext2_super_block *s;
    uint8_t *bytes;
    int err;

    j->nundo = 0;
    err = ext4_edit_super(v, &s, &bytes);
    if (err)
        return err;
    if (needs)
        s->s_feature_incompat |= EXT3_FEATURE_INCOMPAT_RECOVER;
    else
        s->s_feature_incompat &= ~(uint32_t)EXT3_FEATURE_INCOMPAT_RECOVER;
    ext4_seal_super(v, s, true);
    ext4_store_write(&j->store, j->undo[0].block << v->shift, bytes, v->block_bytes);
    err = ext4_store_finish(&j->store);
    if (!err)
        err = ext4_store_flush(&j->store);
    j->changed--; /* no transaction has it: there is none that runs */
    ext4_lines_unchange(v->lines, j->undo[0].block << v->shift, v->block_bytes);
    j->nundo = 0;
    return err;
}

/* The log is empty. From now on it has what this volume's features want. */
static int attach(struct ext4_volume *v)
{
    struct ext4_journal *j = v->journal;
    uint32_t old = field(j, SUPER_INCOMPAT);
    bool wide = ext2fs_has_feature_64bit(v->fs->super);
    int err;

    j->incompat = (old & INCOMPAT_REVOKE) | (wide ? INCOMPAT_64BIT : 0) |
                  (ext2fs_has_feature_metadata_csum(v->fs->super) ? INCOMPAT_SUM_3 : 0);
    put_be32(j->super + SUPER_INCOMPAT, j->incompat);
    put_be32(j->super + SUPER_COMPAT, field(j, SUPER_COMPAT) & ~COMPAT_CHECKSUM);
    j->super[SUPER_SUM_TYPE] = j->incompat & INCOMPAT_SUM_3 ? SUM_CRC32C : 0;
    j->tag_bytes = j->incompat & INCOMPAT_SUM_3 ? TAG_BYTES_3 : wide ? TAG_SUM_3 : TAG_HIGH;
    j->length = field(j, SUPER_LENGTH);
    j->first = j->head = field(j, SUPER_FIRST);
    j->most = MIN(JOURNAL_MOST, (j->length - j->first) / 4);
    err = set_needs_recovery(v, true);
    if (!err)
        err = ext4_journal_write_super(v, j->first);
    j->attached = !err;
    return err;
}

static int replay(struct ext4_volume *v, const char *name)
{
    struct ext4_journal *j = v->journal;
    uint32_t next = 0;
    int err;

    j->incompat = field(j, SUPER_INCOMPAT);
    j->first = field(j, SUPER_FIRST);
    j->length = field(j, SUPER_LENGTH);
    j->tag_bytes = j->incompat & INCOMPAT_SUM_3 ? TAG_BYTES_3
                                                : (j->incompat & INCOMPAT_64BIT ? 12u : 8u) +
                                                      (j->incompat & INCOMPAT_SUM_2 ? 2u : 0u);
    err = ext4_replay(v, &next);
    if (err)
        return err;
    printk("%s: ext4: the journal was replayed: %u transactions\n", name,
           next - field(j, SUPER_SEQUENCE));
    j->sequence = next + 1; /* none that was not finished has this number */
    return ext4_journal_write_super(v, 0);
}

static struct ext4_journal *make(const struct ext4_volume *v)
{
    struct ext4_journal *j = pgd_alloc_charged(sizeof(*j), v->lines->account);

    if (!j)
        return NULL;
    memset(j, 0, sizeof(*j));
    j->store.volume = v->lines->volume;
    j->block = pgd_alloc_charged(v->block_bytes, v->lines->account);
    j->escape = pgd_alloc_charged(v->block_bytes, v->lines->account);
    for (unsigned k = 0; k < STEP_BLOCKS; k++)
        j->undo[k].bytes = pgd_alloc_charged(v->block_bytes, v->lines->account);
    return j;
}

static bool is_whole(const struct ext4_journal *j)
{
    bool whole = j->block && j->escape;

    for (unsigned k = 0; k < STEP_BLOCKS; k++)
        whole &= j->undo[k].bytes != NULL;
    return whole;
}

int ext4_journal_open(struct ext4_volume *v, const char *name, bool *replayed)
{
    struct ext4_journal *j = v->journal = make(v);
    int err;

    *replayed = false;
    if (!j)
        return -ENOMEM;
    err = is_whole(j) ? load(v, name) : -ENOMEM;
    if (!err) {
        j->seed = ext4_journal_sum(UINT32_MAX, j->super + SUPER_UUID, UUID_BYTES);
        j->sequence = field(j, SUPER_SEQUENCE);
        *replayed = field(j, SUPER_START) != 0;
        err = *replayed ? replay(v, name) : attach(v);
    }
    if (err)
        ext4_journal_close(v);
    return err;
}

void ext4_journal_close(struct ext4_volume *v)
{
    struct ext4_journal *j = v->journal;

    if (!j)
        return;
    ext4_store_end(&j->store);
    for (unsigned k = 0; k < STEP_BLOCKS; k++)
        if (j->undo[k].bytes)
            pgd_free_charged(j->undo[k].bytes, v->block_bytes, v->lines->account);
    if (j->block)
        pgd_free_charged(j->block, v->block_bytes, v->lines->account);
    if (j->escape)
        pgd_free_charged(j->escape, v->block_bytes, v->lines->account);
    pgd_free_charged(j, sizeof(*j), v->lines->account);
    v->journal = NULL;
}

void ext4_journal_census(struct census *c, const struct ext4_journal *j, uint32_t block_bytes)
{
    if (!j)
        return;
    census_explain(c, CENSUS_PAGED, sizeof(*j), 1);
    for (unsigned k = 0; k < STEP_BLOCKS; k++)
        if (j->undo[k].bytes)
            census_explain(c, CENSUS_PAGED, block_bytes, 1);
    if (j->block)
        census_explain(c, CENSUS_PAGED, block_bytes, 1);
    if (j->escape)
        census_explain(c, CENSUS_PAGED, block_bytes, 1);
}

int ext4_journal_detach(struct ext4_volume *v)
{
    struct ext4_journal *j = v->journal;
    int err = ext4_checkpoint(v);

    if (!err && j->attached)
        err = ext4_journal_write_super(v, 0);
    if (!err && j->attached)
        err = set_needs_recovery(v, false);
    j->attached &= err != 0;
    return err;
}
