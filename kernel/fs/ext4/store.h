/*
 * Writes to a volume, gathered to long requests, some of which are under way at a time. The caller
 * holds the mutex of the mount; IPL 0; the functions wait for the disk, which always answers or
 * fails, and do not end early for a thread that is to end: what is on its way when they return
 * could reach the disk after something later.
 */
#ifndef KERNEL_FS_EXT4_STORE_H
#define KERNEL_FS_EXT4_STORE_H

#include "kernel/base/types.h"

#define EXT4_STORE_WAY   8u       /* requests under way */
#define EXT4_STORE_PARTS 128u     /* of a request */
#define EXT4_STORE_BYTES 0x20000u /* of a request at most */

struct block_request;
struct block_volume;

struct ext4_store {
    const struct block_volume *volume; /* constant */
    struct ext4_store_part {
        const void *data;
        uint32_t n;
    } part[EXT4_STORE_PARTS]; /* of the request that is being gathered */
    uint64_t start;           /* its place, in bytes of the volume */
    uint32_t nparts, bytes;
    struct block_request *way[EXT4_STORE_WAY];
    uint32_t first, count;       /* in way[] */
    int err;                     /* the first error */
    struct block_request *flush; /* made by ext4_store_reserve(), or NULL */
};

/* Write n bytes (whole sectors, at most EXT4_STORE_BYTES) to an offset. They stay as they are until
 * the next ext4_store_push() or ext4_store_finish(). Errors are told by the latter. */
void ext4_store_write(struct ext4_store *s, uint64_t offset, const void *data, uint32_t n);
/* Begin to write what was gathered: its memory is not needed any more. */
void ext4_store_push(struct ext4_store *s);
/* Wait until all that was written is with the device. 0, -EIO or -ENOMEM: something was not
 * written. */
int ext4_store_finish(struct ext4_store *s);
/* Have the memory for a flush, so that the next one does not fail with -ENOMEM. 0 or -ENOMEM. */
int ext4_store_reserve(struct ext4_store *s);
/* Free that memory. */
void ext4_store_end(struct ext4_store *s);
/* What was finished survives the machine's end. 0, -EIO, -ENOMEM. */
int ext4_store_flush(struct ext4_store *s);

#endif
