/* A journal as it is on disk (jbd2): all numbers have their highest byte first. */
#ifndef KERNEL_FS_EXT4_JOURNAL_DISK_H
#define KERNEL_FS_EXT4_JOURNAL_DISK_H

#include "kernel/base/types.h"

#define JOURNAL_MAGIC       0xC03B3998u
#define JOURNAL_SUPER_BYTES 1024u

enum { /* what a block of the journal is */
       JOURNAL_DESCRIPTOR = 1,
       JOURNAL_COMMIT = 2,
       JOURNAL_SUPER_1 = 3,
       JOURNAL_SUPER_2 = 4,
       JOURNAL_REVOKE = 5,
};

/* Offsets. Each block begins with magic, kind, number of the transaction. */
#define HEAD_MAGIC    0u
#define HEAD_KIND     4u
#define HEAD_SEQUENCE 8u
#define HEAD_BYTES    12u

#define SUPER_BLOCK_BYTES 12u
#define SUPER_LENGTH      16u /* blocks */
#define SUPER_FIRST       20u /* block of the log */
#define SUPER_SEQUENCE    24u /* of the first transaction */
#define SUPER_START       28u /* its block; 0: there is none */
#define SUPER_ERROR       32u
#define SUPER_COMPAT      36u
#define SUPER_INCOMPAT    40u
#define SUPER_RO_COMPAT   44u
#define SUPER_UUID        48u
#define SUPER_SUM_TYPE    80u
#define SUPER_SUM         252u

#define COMPAT_CHECKSUM 0x1u
#define INCOMPAT_REVOKE 0x1u
#define INCOMPAT_64BIT  0x2u
#define INCOMPAT_ASYNC  0x4u
#define INCOMPAT_SUM_2  0x8u
#define INCOMPAT_SUM_3  0x10u
#define INCOMPAT_FAST   0x20u
#define SUM_CRC32C      4u

/* A descriptor has tags, the first of which is followed by a UUID, and ends with a checksum if the
 * journal has them. */
#define TAG_BLOCK   0u
#define TAG_FLAGS_3 4u /* four bytes with INCOMPAT_SUM_3, */
#define TAG_FLAGS   6u /* else two */
#define TAG_HIGH    8u
#define TAG_SUM_3   12u
#define TAG_SUM_2   4u
#define TAG_BYTES_3 16u
#define TAG_ESCAPED 0x1u /* the block began with the magic number, which the log has as zero */
#define TAG_SAME    0x2u /* no UUID follows */
#define TAG_DELETED 0x4u
#define TAG_LAST    0x8u
#define UUID_BYTES  16u
#define TAIL_BYTES  4u /* the checksum of a descriptor or of a list of revoked blocks */

#define REVOKE_BYTES   12u /* with the head */
#define REVOKE_ENTRIES 16u

#define COMMIT_SUM     16u
#define COMMIT_SECONDS 48u
#define COMMIT_NS      56u
#define COMMIT_BYTES   60u

static inline uint32_t get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void put_be32(uint8_t *p, uint32_t n)
{
    p[0] = (uint8_t)(n >> 24);
    p[1] = (uint8_t)(n >> 16);
    p[2] = (uint8_t)(n >> 8);
    p[3] = (uint8_t)n;
}

static inline uint32_t get_be16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }

static inline void put_be16(uint8_t *p, uint32_t n)
{
    p[0] = (uint8_t)(n >> 8);
    p[1] = (uint8_t)n;
}

#endif
