/*
 * The two copies of the configuration blob in a partition of the system disk (sysman/FORMAT.md, The
 * partition). Each has a sequence number and a checksum. The newer good one counts; a change writes
 * the other one, so that the newer is there whatever happens to the write. No locks, no memory;
 * independent of the machine, and built for the host and for user programs too.
 */
#ifndef SYSMAN_COPIES_H
#define SYSMAN_COPIES_H

#include "sysman/config.h"

#define COPY_HEADER 64u               /* bytes; the blob follows */
#define COPY_UNIT   8192u             /* bytes: copies begin and end at multiples of it */
#define COPY_BYTES  (10u * COPY_UNIT) /* the longest copy, rounded up to units */
#define COPIES      2u

_Static_assert(COPY_HEADER + CONFIG_MAX_BYTES <= COPY_BYTES, "the longest blob fits into a copy");

/* What the header of a copy says. */
struct copy {
    uint64_t sequence;
    uint32_t nbytes; /* of the blob */
};

/* Bytes of each of the copies in a partition of nbytes; 0: it is too small for any. Copy n begins
 * n times as many bytes behind the partition's begin. */
uint32_t copy_room(uint64_t nbytes);
/* Read the header at `at`, of COPY_HEADER bytes. False: there is no copy, or its blob would not fit
 * into `room` bytes, header included. Whether the copy is whole, only copy_is_whole() says. */
bool copy_header(const void *at, uint32_t room, struct copy *c);
/* Is the copy at `at`, with c->nbytes of a blob behind its header, as it was written? */
bool copy_is_whole(const void *at, const struct copy *c);
/* Is a sequence number newer than another one? They wrap around, so neither a hostile disk nor time
 * can exhaust them. */
bool copy_is_newer(uint64_t sequence, uint64_t than);
/* Write the header at `at` of a copy whose blob lies behind it already. */
void copy_seal(void *at, const struct copy *c);

#endif
