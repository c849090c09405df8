/*
 * The census of pool blocks, the side of the owners: whoever has blocks that may outlive processes
 * registers a function that goes through its structures and accounts for each block. The counting
 * of all blocks and the comparison are above (mm/check/census.h).
 */
#ifndef MM_POOL_POOL_CENSUS_H
#define MM_POOL_POOL_CENSUS_H

#include "kernel/base/types.h"

enum census_pool { CENSUS_NONPAGED, CENSUS_PAGED, CENSUS_POOLS };

/* Sizes by CENSUS_GRAIN bytes up to 2560; the last line counts pages of larger ones. */
#define CENSUS_GRAIN 16u
#define CENSUS_SIZES 161u

struct census_sample { /* a block of that size: which one was seen last */
    uint64_t address, size;
};
struct census {
    int64_t blocks[CENSUS_POOLS][CENSUS_SIZES];
    struct census_sample seen[CENSUS_POOLS][CENSUS_SIZES];
    uint64_t errors; /* that explainers found and named on the console */
};

/* A kind of block, so that one that is left over can be called by a name. */
struct census_kind {
    const char *name;
    enum census_pool pool;
    size_t nbytes;
};

/* Register one owner: explain() accounts for each of its blocks, and is called while nothing else
   runs, at IPL 0; it may take mutexes. kinds names its blocks; the table lives for ever. Boot. */
void census_register(void (*explain)(struct census *c), const struct census_kind *kinds,
                     unsigned nkinds);
/* By an explainer: `count` blocks of nbytes are accounted for. */
void census_explain(struct census *c, enum census_pool pool, size_t nbytes, uint64_t count);
/* By an explainer: a count or reference that is wrong. Named on the console. */
void census_error(struct census *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- for who takes the census (mm/check/census.c) ---- */

/* The line of census.blocks that blocks of so many bytes are counted in. */
unsigned census_line(uint64_t nbytes);
/* What one block of that size counts in its line: 1, or its pages in the last line. */
int64_t census_weight(uint64_t nbytes);
/* Have each owner account for its blocks. */
void census_explain_all(struct census *c);
/* Call fn for each registered kind. */
void census_for_each_kind(void (*fn)(void *arg, const struct census_kind *kind), void *arg);

#endif
