/*
 * The journal of a volume that is written, and the transaction that runs.
 *
 * Who changes metadata begins a step, edits blocks, and ends it, or undoes it: then everything is
 * as it was before. Steps gather in the running transaction. A commit writes the blocks that it has
 * changed to the log, with two flushes, so that after a power cut all of its steps are done, or
 * none. A checkpoint, always of everything that is in the log, writes these blocks to their places
 * and lets the log begin again from its first block: so the log never wraps.
 *
 * Blocks that were freed are not used for anything else until the commit that frees them, since
 * after a power cut before it they still belong to whom they belonged to; and those that had
 * metadata not until the next checkpoint, since a recovery would write their old contents over the
 * new ones. (So nothing needs to be revoked.)
 *
 * The caller holds the mutex of the mount; IPL 0; the functions wait for the disk.
 */
#ifndef KERNEL_FS_EXT4_JOURNAL_H
#define KERNEL_FS_EXT4_JOURNAL_H

#include "kernel/fs/ext4/journal_disk.h"
#include "kernel/fs/ext4/store.h"
#include "kernel/fs/ext4/volume_private.h"

#define JOURNAL_RUNS  64u  /* stretches of the volume that a journal may have */
#define JOURNAL_FREED 256u /* stretches of freed blocks remembered */
#define STEP_BLOCKS   40u  /* that one step edits at most */
#define STEP_NODES    4u   /* nodes that it changes at most */
#define STEP_FREED    16u  /* stretches that one step frees at most */
#define JOURNAL_MOST  256u /* blocks that a transaction changes at most */

struct ext4_journal {
    struct ext4_store store;
    struct ext4_run run[JOURNAL_RUNS]; /* where the blocks of the journal are */
    unsigned nruns;
    uint8_t super[JOURNAL_SUPER_BYTES];
    uint32_t first, length; /* blocks of the log: [first, length) */
    uint32_t head;          /* where the next transaction is written */
    uint32_t sequence;      /* its number */
    uint32_t incompat;      /* features */
    uint32_t seed;          /* of checksums */
    uint32_t tag_bytes;
    uint32_t most;    /* blocks of a transaction: JOURNAL_MOST, or what a short journal takes */
    uint32_t changed; /* blocks that the running transaction has changed */
    bool attached;    /* recovery would use the log: the superblock says so */
    bool urgent;      /* the running transaction has more than times of files */
    int aborted;      /* a negative errno: nothing is written any more */
    unsigned nundo;   /* edited in this step: */
    struct ext4_undo {
        uint64_t block;
        uint8_t *bytes;   /* as it was; a block of memory, kept */
        bool was_changed; /* in an earlier step */
    } undo[STEP_BLOCKS];
    unsigned nnodes; /* the same of nodes in memory */
    struct ext4_held_node {
        struct ext4_node *node, copy;
    } node[STEP_NODES];
    unsigned nfreed, freed_before; /* freed_before: when the step began */
    struct ext4_freed {
        uint64_t start, count;
        bool metadata;
    } freed[JOURNAL_FREED];
    uint8_t *block;  /* one of the log, while it is made or read */
    uint8_t *escape; /* another one */
};

/* ---- journal.c ---- */

/* Find the journal of a volume, which becomes writable: replay it if that is needed, which changes
 * the volume: then *replayed, and v must be opened again. 0; -EROFS: there is no journal that can
 * be used, as the console says; -EUCLEAN, -EIO, -ENOMEM, -EINTR. */
int ext4_journal_open(struct ext4_volume *v, const char *name, bool *replayed);
/* Nothing of the running transaction is written. */
void ext4_journal_close(struct ext4_volume *v);
void ext4_journal_census(struct census *c, const struct ext4_journal *j, uint32_t block_bytes);
/* Commit, checkpoint, and have the superblock say that nothing needs to be recovered. */
int ext4_journal_detach(struct ext4_volume *v);
/* Where a block of the journal is on the volume, in blocks; *count: how many follow there. 0: it is
 * not in the journal. */
uint64_t ext4_journal_place(const struct ext4_journal *j, uint32_t block, uint32_t *count);
/* Write the journal's superblock: the log begins at `start` (0: it is empty) with the transaction
 * j->sequence. With a flush before and behind it. */
int ext4_journal_write_super(struct ext4_volume *v, uint32_t start);
uint32_t ext4_journal_sum(uint32_t seed, const void *p, size_t n);

/* ---- replay.c ---- */

/* Write what the log has to its places. *next: the number of the next transaction. */
int ext4_replay(struct ext4_volume *v, uint32_t *next);

/* ---- commit.c ---- */

/* Write the running transaction to the log. 0, also if it is empty. After -ENOMEM nothing has
 * changed; after another error the journal is aborted. */
int ext4_commit(struct ext4_volume *v);
/* Commit, and write everything to its place: all blocks that were freed can be used. */
int ext4_checkpoint(struct ext4_volume *v);
/* Blocks of the log that n blocks of a transaction take. */
uint32_t ext4_log_blocks(const struct ext4_journal *j, uint32_t n);

/* ---- step.c ---- */

/* Begin a step, which changes at most STEP_BLOCKS blocks and frees STEP_FREED stretches; may commit
 * earlier ones. 0, -EROFS: nothing can be written (any more), -ENOMEM. */
int ext4_step(struct ext4_volume *v);
/* A block of the volume in memory, to be changed; it stays where it is until the step ends.
 * ext4_fresh: all zeroes, for one that had no metadata before; -EUCLEAN: this step has it already,
 * though a bitmap says that it was free. */
int ext4_edit(struct ext4_volume *v, uint64_t block, uint8_t **out);
int ext4_fresh(struct ext4_volume *v, uint64_t block, uint8_t **out);
/* A node that this step is about to change. */
int ext4_edit_node(struct ext4_volume *v, struct ext4_node *n);
/* After a step that has ended with *err: should it be tried again, for the tries-th time, because
 * blocks that were freed can be used now? *err may become another error. */
bool ext4_step_again(struct ext4_volume *v, int *err, unsigned tries);
/* End the step: with err != 0, everything becomes as it was before. Returns err. */
int ext4_step_end(struct ext4_volume *v, int err);
/* A stretch that was freed, and may not be used yet; and the first such one that has a block of
 * [start, start + count): NULL: there is none. */
int ext4_note_freed(struct ext4_volume *v, uint64_t start, uint64_t count, bool metadata);
const struct ext4_freed *ext4_is_freed(const struct ext4_journal *j, uint64_t start,
                                       uint64_t count);

#endif
