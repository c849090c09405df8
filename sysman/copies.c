/*
 * Copies of the configuration blob on a disk.
 *
 * What is on the disk is not believed: lengths are checked before they are used, and the checksum
 * covers the whole header and the blob, so a copy of which a part was written is none. The
 * sequence number of a torn copy may be anything; whoever chooses looks at the copies in the order
 * of their numbers, and takes the first one that is whole.
 */
#include "sysman/copies.h"

enum { AT_VERSION = 8, AT_LENGTH = 12, AT_SEQUENCE = 16, AT_CRC = 24, AT_ZERO = 28 };

#define VERSION 1u

static const unsigned char magic[8] = {'M', 'E', 'G', 'A', 'C', 'O', 'P', 'Y'};

static uint64_t get(const unsigned char *p, unsigned n)
{
    uint64_t v = 0;

    for (unsigned k = 0; k < n; k++)
        v |= (uint64_t)p[k] << 8 * k;
    return v;
}

static void put(unsigned char *p, uint64_t v, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        p[k] = (unsigned char)(v >> 8 * k);
}

uint32_t copy_room(uint64_t nbytes)
{
    uint64_t half = nbytes / COPIES / COPY_UNIT * COPY_UNIT;

    return half < COPY_BYTES ? (uint32_t)half : COPY_BYTES;
}

bool copy_header(const void *at, uint32_t room, struct copy *c)
{
    const unsigned char *p = at;

    for (unsigned k = 0; k < sizeof(magic); k++)
        if (p[k] != magic[k])
            return false;
    if (get(p + AT_VERSION, 4) != VERSION)
        return false;
    for (unsigned k = AT_ZERO; k < COPY_HEADER; k++)
        if (p[k])
            return false;
    c->nbytes = (uint32_t)get(p + AT_LENGTH, 4);
    c->sequence = get(p + AT_SEQUENCE, 8);
    return room >= COPY_HEADER && c->nbytes <= room - COPY_HEADER;
}

/* The checksum of header and blob, with the checksum itself as zero. */
static uint32_t sum(const unsigned char *p, uint32_t nbytes)
{
    static const unsigned char zero[4];
    uint32_t crc = config_crc32c(0, p, AT_CRC);

    crc = config_crc32c(crc, zero, sizeof(zero));
    return config_crc32c(crc, p + AT_ZERO, COPY_HEADER - AT_ZERO + nbytes);
}

bool copy_is_whole(const void *at, const struct copy *c)
{
    return sum(at, c->nbytes) == get((const unsigned char *)at + AT_CRC, 4);
}

bool copy_is_newer(uint64_t sequence, uint64_t than) { return (int64_t)(sequence - than) > 0; }

void copy_seal(void *at, const struct copy *c)
{
    unsigned char *p = at;

    for (unsigned k = 0; k < COPY_HEADER; k++)
        p[k] = k < sizeof(magic) ? magic[k] : 0;
    put(p + AT_VERSION, VERSION, 4);
    put(p + AT_LENGTH, c->nbytes, 4);
    put(p + AT_SEQUENCE, c->sequence, 8);
    put(p + AT_CRC, sum(p, c->nbytes), 4);
}
