/*
 * GUID partition tables (UEFI 2.10, 5.3): a header in sector 1 and an array of entries, and copies
 * of both at the end of the disk. Independent of the machine: also built for the host.
 *
 * What is on a disk is not believed: checksums are compared, every number is checked against the
 * disk's size, and a table with overlapping partitions is refused as a whole.
 */
#ifndef KERNEL_BLOCK_GPT_H
#define KERNEL_BLOCK_GPT_H

#include "kernel/base/types.h"

#define GPT_PARTS       15u     /* partitions that get a name */
#define GPT_HEADER      92u     /* bytes of a header */
#define GPT_ENTRY       128u    /* bytes of an entry, or a power of two more ... */
#define GPT_ENTRY_MAX   4096u   /* up to this */
#define GPT_TABLE_BYTES 131072u /* the largest table that is read */

/* What a partition is for, by its type. */
enum gpt_kind {
    GPT_OTHER,
    GPT_CONFIG, /* the configuration blob: 601B1860-D19C-4765-81F5-E16094905E38 */
    GPT_FILES,  /* a file system of Linux: 0FC63DAF-8483-4772-8E79-3D69D8477DE4 */
    GPT_PAGING, /* a page file, as mkswap makes them: 0657FD6D-A4AB-43C4-84E5-0933C84B4F4F */
};

struct gpt_part {
    uint64_t first, sectors; /* sectors 0: there is none */
    enum gpt_kind kind;
};

struct gpt {
    uint64_t first_usable, last_usable; /* sectors that partitions may have */
    uint64_t table;                     /* first sector of the entries */
    uint32_t count, size;               /* of entries, in bytes each */
    uint32_t crc;                       /* that the entries must have */
    uint32_t sum;                       /* of the entries fed so far */
    uint32_t fed;                       /* entries fed so far */
    uint32_t ignored;                   /* partitions beyond the last that gets a name */
    bool bad;                           /* an entry is none */
    struct gpt_part part[GPT_PARTS];    /* by number of the entry */
};

/* Read the header at `at`, of n bytes, that was found in sector `lba` of a disk of so many sectors.
 * 0; -ENOENT: there is none; -EINVAL: a damaged one. Any IPL. */
int gpt_header(struct gpt *g, const void *at, size_t n, uint64_t lba, uint64_t sectors);
/* The next n bytes of the table, whole entries; of the last ones any number may follow the table's
 * end. Called until gpt_entries_left() is 0. */
void gpt_feed(struct gpt *g, const void *at, size_t n);
/* Bytes of the table that were not fed yet. */
static inline uint64_t gpt_entries_left(const struct gpt *g)
{
    return (uint64_t)(g->count - g->fed) * g->size;
}
/* All entries were fed. 0, and ->part is valid; -EINVAL: the checksum is wrong, a partition is not
 * within the sectors that may be used, or two have a sector in common. */
int gpt_end(const struct gpt *g);

/* A disk, and how it is read. */
struct gpt_disk {
    uint64_t sectors;
    uint32_t sector_bytes;
    /* Read nbytes, whole sectors and at most GPT_CHUNK, from a sector of the disk on; 0 or a
     * negative errno. */
    int (*read)(void *arg, uint64_t sector, void *buf, uint32_t nbytes);
    void *arg;
    void *buf; /* GPT_CHUNK bytes, into which it is read */
};
#define GPT_CHUNK 8192u
/* Read the table of a disk, or the copy at its end if the table is damaged, missing, or cannot be
 * read. 0, and *g has it; -ENOENT: there is none; -EINVAL, or an error of read: of those that were
 * found none is good. tables[0] and [1] are the results for the table and for the copy, which is
 * -ENOENT if it was not looked for. Waits as read does. */
int gpt_read(struct gpt *g, const struct gpt_disk *d, int tables[2]);
/* After gpt_read() has failed: could one of the tables not be read, so that the disk may have
 * partitions? */
bool gpt_is_unread(const int tables[2]);
/* The CRC-32 of ISO 3309 of n bytes, continued from that of what came before (0 at first). */
uint32_t gpt_crc32(uint32_t crc, const void *at, size_t n);

#endif
