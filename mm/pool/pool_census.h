/*
 * The census of pool blocks, as far as owners of blocks take part. An owner whose blocks may
 * outlive processes registers a function that walks its structures and accounts for each block.
 * The layer above (mm/check/census.h) counts all blocks and compares.
 */
#ifndef MM_POOL_POOL_CENSUS_H
#define MM_POOL_POOL_CENSUS_H

#include "kernel/base/types.h"

enum census_pool { CENSUS_NONPAGED, CENSUS_PAGED, CENSUS_POOLS };

/* Blocks are counted in one line for each CENSUS_GRAIN bytes of size, up to 2560; the last line
   counts the pages of larger blocks. */
#define CENSUS_GRAIN 16u
#define CENSUS_SIZES 161u

struct census_sample { /* the last block of a line that was seen */
    uint64_t address, size;
};
struct census {
    int64_t blocks[CENSUS_POOLS][CENSUS_SIZES];
    struct census_sample seen[CENSUS_POOLS][CENSUS_SIZES];
    uint64_t errors; /* reported by census_error() */
};

/* A kind of block: a leaked block is reported with the names of the kinds that have its size. */
struct census_kind {
    const char *name;
    enum census_pool pool;
    size_t nbytes;
};

/* Register an owner. explain() (may be NULL) accounts for each of its blocks; it is called at IPL 0
   while nothing else runs, and may take mutexes. kinds lists its kinds of blocks, and is never
   freed. Boot. */
void census_register(void (*explain)(struct census *c), const struct census_kind *kinds,
                     unsigned nkinds);
/* Called by explain(): account for `count` blocks of nbytes each. */
void census_explain(struct census *c, enum census_pool pool, size_t nbytes, uint64_t count);
/* Called by explain(): report a wrong count or reference on the console. */
void census_error(struct census *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- for the code that takes the census (mm/check/census.c) ---- */

/* The line of census.blocks in which a block of nbytes is counted. */
unsigned census_line(uint64_t nbytes);
/* What a block of nbytes adds to its line: 1, or the number of its pages in the last line. */
int64_t census_weight(uint64_t nbytes);
/* Call the explain() of each owner. */
void census_explain_all(struct census *c);
/* Call fn for each registered kind. */
void census_for_each_kind(void (*fn)(void *arg, const struct census_kind *kind), void *arg);

#endif
