/*
 * What is kept in memory of a volume's metadata: lines of 8 KiB, which are read as a whole. The
 * caller holds the mutex of the mount; IPL 0; all functions wait for the disk.
 *
 * A line with changes is held: it stays until the volume has them. Of each part of it is known
 * whether the running transaction has changed it, and whether the journal has a state of it that is
 * not in its place yet (journal.h).
 */
#ifndef KERNEL_FS_EXT4_LINES_H
#define KERNEL_FS_EXT4_LINES_H

#include "kernel/base/list.h"

#define EXT4_LINE  PAGE_SIZE /* bytes, which all sizes of sectors divide */
#define EXT4_LINES 512u      /* 4 MiB in all; a power of two */
#define EXT4_HELD  384u      /* of them that may be held */
#define EXT4_CHECK 1024u     /* bytes for which one bit of checked, changed and logged stands */

struct block_volume;
struct census;

struct ext4_line {
    struct list link;  /* of ext4_index.head, if data is valid */
    struct list order; /* of ext4_lines.order, or .held */
    uint64_t number;   /* of the line in the volume */
    uint8_t *data;     /* EXT4_LINE bytes of paged pool; NULL: there was no need or no memory yet */
    uint8_t checked;   /* which of its parts were found good (ext4_lines_set_checked) */
    uint8_t changed;   /* which of its parts the running transaction has changed */
    uint8_t logged;    /* which of its parts the journal has, and their places have not */
};

/* In paged pool: nonpaged pool has so many bytes in one piece only while memory is plentiful. */
struct ext4_index {
    struct list head[EXT4_LINES]; /* by number */
    struct ext4_line line[EXT4_LINES];
};

struct ext4_lines {
    const struct block_volume *volume; /* constant */
    uint64_t bytes;                    /* of the volume; constant */
    uint16_t account;                  /* that is charged; constant */
    struct list order;                 /* those not held, the one last asked for at the end */
    struct list held;                  /* those with parts that are changed or logged */
    uint32_t nheld;
    struct ext4_index *index; /* constant until it is freed */
};

/* l is all zeroes. Nothing is read. 0; -ENOMEM. IPL 0. */
int ext4_lines_init(struct ext4_lines *l, const struct block_volume *v);
/* Free all memory, if there is any. */
void ext4_lines_free(struct ext4_lines *l);
/* Copy n bytes at an offset. 0; -EUCLEAN: they are not all on the volume; -EIO; -ENOMEM; -EINTR:
 * the thread is to end. buf is written to only if the result is 0, or n exceeds a line. */
int ext4_lines_read(struct ext4_lines *l, uint64_t offset, void *buf, size_t n);
/* The n bytes at an offset, all in one line; valid until the next call for another place. Results
 * as above. */
int ext4_lines_look(struct ext4_lines *l, uint64_t offset, size_t n, const uint8_t **data);
/* The n bytes that ext4_lines_look() has just found are good: this is remembered as long as the
 * line is kept. And was it? n and offset are multiples of EXT4_CHECK. */
void ext4_lines_set_checked(struct ext4_lines *l, uint64_t offset, size_t n);
bool ext4_lines_checked(struct ext4_lines *l, uint64_t offset, size_t n);
/* The n bytes of a block at an offset, multiples of EXT4_CHECK and all in one line, to be changed
 * until the line is held no more. *was: they were changed already. Results as of ext4_lines_look(),
 * and -ENOMEM if too many lines are held. */
int ext4_lines_change(struct ext4_lines *l, uint64_t offset, size_t n, uint8_t **data, bool *was);
/* Such a block is as it was: it does not count as changed any more. */
void ext4_lines_unchange(struct ext4_lines *l, uint64_t offset, size_t n);
/* The parts of a held line, next to each other, that begin with the first one at or above *part
 * whose bit is in `set`: their bytes, and *part is where they begin. 0: there are none. */
size_t ext4_line_parts(uint8_t set, unsigned *part);
/* The changes of all lines are logged now; they are in their places now. */
void ext4_lines_set_logged(struct ext4_lines *l);
void ext4_lines_set_placed(struct ext4_lines *l);
/* Forget everything, held or not: the volume was changed otherwise, or nothing will be written. */
void ext4_lines_forget(struct ext4_lines *l);
void ext4_lines_census(struct census *c, const struct ext4_lines *l);

#endif
