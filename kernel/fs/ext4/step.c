/*
 * Steps: changes of metadata that are done together or not at all. What a step edits is copied
 * first. Some memory for the copies is kept with the journal, so that an edit fails only where the
 * disk does, or where the volume is damaged.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/journal.h"
#include "kernel/fs/ext4/journal_disk.h"
#include "kernel/fs/ext4/lines.h"

/* Is there room for one more step in the transaction, in the log, and in memory? */
static bool has_room(const struct ext4_volume *v)
{
    const struct ext4_journal *j = v->journal;
    uint32_t changed = j->changed + STEP_BLOCKS;

    return changed <= j->most && j->nfreed + STEP_FREED <= JOURNAL_FREED &&
           v->lines->nheld + STEP_BLOCKS <= EXT4_HELD &&
           ext4_log_blocks(j, changed) <= j->length - j->head;
}

int ext4_step(struct ext4_volume *v)
{
    struct ext4_journal *j = v->journal;
    int err = 0;

    if (!j || j->aborted)
        return -EROFS;
    if (!has_room(v))
        err = ext4_commit(v);
    if (!err && !has_room(v))
        err = ext4_checkpoint(v);
    j->nundo = j->nnodes = 0;
    j->freed_before = j->nfreed;
    return err;
}

static struct ext4_undo *find(struct ext4_journal *j, uint64_t block)
{
    for (unsigned k = 0; k < j->nundo; k++)
        if (j->undo[k].block == block)
            return &j->undo[k];
    return NULL;
}

int ext4_edit(struct ext4_volume *v, uint64_t block, uint8_t **out)
{
    struct ext4_journal *j = v->journal;
    struct ext4_undo *u = find(j, block);
    bool was;
    int err;

    if (!u && j->nundo == STEP_BLOCKS)
        return -ENOSPC; /* in many groups, all that is free waits for a commit */
    if (block >= v->blocks)
        return -EUCLEAN;
    err = ext4_lines_change(v->lines, block << v->shift, v->block_bytes, out, &was);
    if (err || u)
        return err;
    u = &j->undo[j->nundo++];
    u->block = block;
    u->was_changed = was;
    memcpy(u->bytes, *out, v->block_bytes);
    j->changed += !was;
    return 0;
}

int ext4_fresh(struct ext4_volume *v, uint64_t block, uint8_t **out)
{
    int err = find(v->journal, block) ? -EUCLEAN : ext4_edit(v, block, out);

    if (!err)
        memset(*out, 0, v->block_bytes);
    return err;
}

static void undo(struct ext4_volume *v, const struct ext4_undo *u)
{
    uint8_t *bytes;
    bool was;

    if (ext4_lines_change(v->lines, u->block << v->shift, v->block_bytes, &bytes, &was))
        return; /* cannot be: the line is held */
    memcpy(bytes, u->bytes, v->block_bytes);
    if (u->was_changed)
        return;
    ext4_lines_unchange(v->lines, u->block << v->shift, v->block_bytes);
    v->journal->changed--;
}

int ext4_step_end(struct ext4_volume *v, int err)
{
    struct ext4_journal *j = v->journal;

    if (err) {
        for (unsigned k = j->nundo; k-- > 0;)
            undo(v, &j->undo[k]);
        for (unsigned k = 0; k < j->nnodes; k++)
            *j->node[k].node = j->node[k].copy;
        j->nfreed = j->freed_before;
    }
    j->nundo = 0;
    ext4_count_free(v);
    (void)ext2fs_flush_icache(v->fs); /* it has other bytes than the lines */
    return err;
}

int ext4_edit_node(struct ext4_volume *v, struct ext4_node *n)
{
    struct ext4_journal *j = v->journal;

    for (unsigned k = 0; k < j->nnodes; k++)
        if (j->node[k].node == n)
            return 0;
    if (j->nnodes == STEP_NODES)
        return -EUCLEAN; /* cannot be */
    j->node[j->nnodes++] = (struct ext4_held_node){n, *n};
    return 0;
}

bool ext4_step_again(struct ext4_volume *v, int *err, unsigned tries)
{
    if (*err != -ENOSPC || tries || !v->journal->nfreed)
        return false;
    *err = ext4_checkpoint(v);
    return *err == 0;
}

int ext4_note_freed(struct ext4_volume *v, uint64_t start, uint64_t count, bool metadata)
{
    struct ext4_journal *j = v->journal;

    if (j->nfreed == JOURNAL_FREED)
        return -ENOMEM;
    j->freed[j->nfreed++] = (struct ext4_freed){start, count, metadata};
    return 0;
}

const struct ext4_freed *ext4_is_freed(const struct ext4_journal *j, uint64_t start, uint64_t count)
{
    for (unsigned k = 0; k < j->nfreed; k++)
        if (j->freed[k].start < start + count && start < j->freed[k].start + j->freed[k].count)
            return &j->freed[k];
    return NULL;
}
