/*
 * Commits and checkpoints. A transaction in the log: descriptors, each followed by the blocks that
 * it names, and one block that says that all of it is there. That one is written when the others
 * have been flushed.
 */
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/journal.h"
#include "kernel/fs/ext4/journal_disk.h"
#include "kernel/fs/ext4/lines.h"
#include "kernel/sched/timer.h"

#define NS_PER_S UINT64_C(1000000000)

static uint32_t tags_most(const struct ext4_journal *j, uint32_t block_bytes)
{
    uint32_t tail = j->incompat & INCOMPAT_SUM_3 ? TAIL_BYTES : 0;

    return (block_bytes - HEAD_BYTES - UUID_BYTES - tail) / j->tag_bytes;
}

uint32_t ext4_log_blocks(const struct ext4_journal *j, uint32_t n)
{
    uint32_t most = tags_most(j, get_be32(j->super + SUPER_BLOCK_BYTES));

    return n + (n + most - 1) / most + 1;
}

/* Nothing can be written any more, because something could not be. */
static int give_up(struct ext4_volume *v, int err)
{
    if (!v->journal->aborted)
        printk("%s: ext4: the journal cannot be written (error %d): nothing is changed any more\n",
               v->name, -err);
    v->journal->aborted = err;
    return err;
}

/* ---- the log ---- */

struct writing {
    uint32_t at;    /* block of the log */
    uint32_t ntags; /* in the descriptor, j->block, which is at: */
    uint32_t descriptor;
    uint32_t left; /* blocks of the transaction */
};

static void begin_block(struct ext4_volume *v, uint8_t *b, uint32_t kind)
{
    memset(b, 0, v->block_bytes);
    put_be32(b + HEAD_MAGIC, JOURNAL_MAGIC);
    put_be32(b + HEAD_KIND, kind);
    put_be32(b + HEAD_SEQUENCE, v->journal->sequence);
}

static void write_log(struct ext4_volume *v, uint32_t at, const uint8_t *bytes)
{
    uint32_t count;
    uint64_t place = ext4_journal_place(v->journal, at, &count);

    ext4_store_write(&v->journal->store, place << v->shift, bytes, v->block_bytes);
}

/* The blocks that it names were written. */
static void end_descriptor(struct ext4_volume *v, struct writing *w)
{
    struct ext4_journal *j = v->journal;
    uint8_t *tail = j->block + v->block_bytes - TAIL_BYTES;

    if (!w->ntags)
        return;
    if (j->incompat & INCOMPAT_SUM_3)
        put_be32(tail, ext4_journal_sum(j->seed, j->block, v->block_bytes));
    write_log(v, w->descriptor, j->block);
    ext4_store_push(&j->store);
    w->ntags = 0;
}

static void put_tag(struct ext4_volume *v, struct writing *w, uint64_t block, uint32_t flags,
                    const uint8_t *bytes)
{
    struct ext4_journal *j = v->journal;
    uint8_t *tag = j->block + HEAD_BYTES + w->ntags * j->tag_bytes + (w->ntags ? UUID_BYTES : 0);
    uint8_t sequence[4];

    flags |= w->ntags ? TAG_SAME : 0;
    put_be32(tag + TAG_BLOCK, (uint32_t)block);
    if (j->tag_bytes > TAG_HIGH)
        put_be32(tag + TAG_HIGH, (uint32_t)(block >> 32));
    if (j->incompat & INCOMPAT_SUM_3) {
        put_be32(sequence, j->sequence);
        put_be32(tag + TAG_FLAGS_3, flags);
        put_be32(tag + TAG_SUM_3,
                 ext4_journal_sum(ext4_journal_sum(j->seed, sequence, sizeof(sequence)), bytes,
                                  v->block_bytes));
    } else {
        put_be16(tag + TAG_FLAGS, flags);
    }
    if (!w->ntags)
        memcpy(tag + j->tag_bytes, j->super + SUPER_UUID, UUID_BYTES);
}

/* One block of the transaction, with its tag. */
static void write_block(struct ext4_volume *v, struct writing *w, uint64_t block,
                        const uint8_t *bytes)
{
    struct ext4_journal *j = v->journal;
    bool escaped = get_be32(bytes) == JOURNAL_MAGIC, last;

    if (!w->ntags) {
        begin_block(v, j->block, JOURNAL_DESCRIPTOR);
        w->descriptor = w->at++;
    }
    last = --w->left == 0 || w->ntags + 1 == tags_most(j, v->block_bytes);
    if (escaped) {
        ext4_store_push(&j->store);
        memcpy(j->escape, bytes, v->block_bytes);
        put_be32(j->escape, 0);
        bytes = j->escape;
    }
    put_tag(v, w, block, (escaped ? TAG_ESCAPED : 0) | (last ? TAG_LAST : 0), bytes);
    w->ntags++;
    write_log(v, w->at++, bytes);
    if (escaped)
        ext4_store_push(&j->store);
    if (last)
        end_descriptor(v, w);
}

static int write_transaction(struct ext4_volume *v, struct writing *w)
{
    const struct ext4_line *line;

    list_for_each_entry(line, &v->lines->held, order) {
        size_t n;

        for (unsigned part = 0; (n = ext4_line_parts(line->changed, &part)) != 0;
             part += (unsigned)(n / EXT4_CHECK)) {
            uint64_t block = (line->number * EXT4_LINE + part * EXT4_CHECK) >> v->shift;
            const uint8_t *bytes = line->data + part * EXT4_CHECK;

            for (size_t done = 0; done < n; done += v->block_bytes)
                write_block(v, w, block++, bytes + done);
        }
    }
    return ext4_store_finish(&v->journal->store);
}

static int write_commit(struct ext4_volume *v, uint32_t at)
{
    struct ext4_journal *j = v->journal;
    uint64_t now = clock_wall_ns();
    int err;

    err = ext4_store_reserve(&j->store);
    if (err)
        return err;
    begin_block(v, j->block, JOURNAL_COMMIT);
    put_be32(j->block + COMMIT_SECONDS, (uint32_t)(now / NS_PER_S >> 32));
    put_be32(j->block + COMMIT_SECONDS + 4, (uint32_t)(now / NS_PER_S));
    put_be32(j->block + COMMIT_NS, (uint32_t)(now % NS_PER_S));
    if (j->incompat & INCOMPAT_SUM_3)
        put_be32(j->block + COMMIT_SUM, ext4_journal_sum(j->seed, j->block, v->block_bytes));
    write_log(v, at, j->block);
    err = ext4_store_finish(&j->store);
    return err ? err : ext4_store_flush(&j->store);
}

/* Blocks without metadata that were freed can be used now. */
static void forget_freed(struct ext4_journal *j)
{
    unsigned kept = 0;

    for (unsigned k = 0; k < j->nfreed; k++)
        if (j->freed[k].metadata)
            j->freed[kept++] = j->freed[k];
    j->nfreed = kept;
}

int ext4_commit(struct ext4_volume *v)
{
    struct ext4_journal *j = v->journal;
    struct writing w = {.at = j->head, .left = j->changed};
    int err;

    if (j->aborted)
        return j->aborted;
    if (!j->changed)
        return 0;
    err = write_transaction(v, &w);
    if (!err)
        err = ext4_store_flush(&j->store);
    if (!err)
        err = write_commit(v, w.at);
    if (err == -ENOMEM) /* nothing says that it is there */
        return err;
    if (err)
        return give_up(v, err);
    ext4_lines_set_logged(v->lines);
    j->head = w.at + 1;
    j->sequence++;
    j->changed = 0;
    j->urgent = false;
    forget_freed(j);
    return 0;
}

/* ---- checkpoints ---- */

static int write_places(struct ext4_volume *v)
{
    struct ext4_store *s = &v->journal->store;
    const struct ext4_line *line;

    list_for_each_entry(line, &v->lines->held, order) {
        size_t n;

        for (unsigned part = 0; (n = ext4_line_parts(line->logged, &part)) != 0;
             part += (unsigned)(n / EXT4_CHECK))
            ext4_store_write(s, line->number * EXT4_LINE + part * EXT4_CHECK,
                             line->data + part * EXT4_CHECK, (uint32_t)n);
    }
    return ext4_store_finish(s);
}

/* The log is as good as empty when its superblock names a transaction that it does not have. */
int ext4_checkpoint(struct ext4_volume *v)
{
    struct ext4_journal *j = v->journal;
    int err = ext4_commit(v);

    if (err || j->head == j->first)
        return err;
    err = write_places(v);
    if (!err)
        err = ext4_journal_write_super(v, j->first);
    if (err == -ENOMEM)
        return err;
    if (err)
        return give_up(v, err);
    ext4_lines_set_placed(v->lines);
    j->head = j->first;
    j->nfreed = 0;
    return 0;
}
