/*
 * The census: every block of both pools that is in use, by size, less those that the structures of
 * the system account for. What is left over is constant as long as nothing leaks: so it is compared
 * between a moment without processes at the beginning and one at the end (kernel/proc/leaks.c).
 *
 * Owners of what may outlive processes register a function that goes through their structures and
 * explains each block of them. Called while nothing else runs; IPL 0, mutexes may be taken.
 */
#ifndef MM_CHECK_CENSUS_H
#define MM_CHECK_CENSUS_H

#include "kernel/base/types.h"

enum census_pool { CENSUS_NONPAGED, CENSUS_PAGED, CENSUS_POOLS };

/* Sizes by 16 bytes up to 2560; the last line counts pages of larger ones. */
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

/* The explaining of one owner, and the kinds of its blocks (a table that lives for ever). Boot. */
void census_register(void (*explain)(struct census *c), const struct census_kind *kinds,
                     unsigned nkinds);
/* By an explainer: `count` blocks of nbytes are accounted for. */
void census_explain(struct census *c, enum census_pool pool, size_t nbytes, uint64_t count);
/* By an explainer: a count or reference that is wrong. Named on the console. */
void census_error(struct census *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Boot: mm's own explainers. */
void census_boot(void);
/* Count. Lookaside lists were drained. IPL 0, nothing else runs. */
void census_take(struct census *c);
/* What `after` has more or less than `before`, a line each on the console. Returns how many lines;
   the first of them goes into text. */
unsigned census_compare(const struct census *before, const struct census *after, char *text,
                        size_t nbytes);

#endif
