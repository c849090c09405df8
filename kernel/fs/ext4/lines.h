/*
 * What is kept in memory of a volume's metadata: lines of 8 KiB, which are read as a whole. The
 * caller holds the mutex of the mount; IPL 0; all functions wait for the disk.
 */
#ifndef KERNEL_FS_EXT4_LINES_H
#define KERNEL_FS_EXT4_LINES_H

#include "kernel/base/list.h"

#define EXT4_LINE  PAGE_SIZE /* bytes, which all sizes of sectors divide */
#define EXT4_LINES 256u      /* 2 MiB in all; a power of two */
#define EXT4_CHECK 1024u     /* bytes for which one bit of ext4_line.checked stands */

struct block_volume;
struct census;

struct ext4_line {
    struct list link;  /* of ext4_lines.head, if data is valid */
    struct list order; /* of ext4_lines.order */
    uint64_t number;   /* of the line in the volume */
    uint8_t *data;     /* EXT4_LINE bytes of paged pool; NULL: there was no need or no memory yet */
    uint8_t checked;   /* which of its parts were found good (ext4_lines_set_checked) */
};

struct ext4_lines {
    const struct block_volume *volume; /* constant */
    uint64_t bytes;                    /* of the volume; constant */
    uint16_t account;                  /* that is charged; constant */
    struct list order;                 /* all lines, the one last asked for at the end */
    struct list head[EXT4_LINES];      /* by number */
    struct ext4_line line[EXT4_LINES];
};

/* l is all zeroes. Nothing is read; no memory is taken. */
void ext4_lines_init(struct ext4_lines *l, const struct block_volume *v);
/* Free all memory. */
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
void ext4_lines_census(struct census *c, const struct ext4_lines *l);

#endif
