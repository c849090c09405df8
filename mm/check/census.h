/*
 * The census: the blocks of both pools that are in use, counted by size, less those for which the
 * structures of the system account. The remainder is constant as long as nothing leaks, so
 * kernel/proc/leaks.c compares a census at the beginning with one at the end, both taken while
 * there are no processes.
 *
 * Owners of blocks register through mm/pool/pool_census.h.
 */
#ifndef MM_CHECK_CENSUS_H
#define MM_CHECK_CENSUS_H

#include "mm/pool/pool_census.h"

/* Register the blocks of mm. Boot. */
void census_boot(void);
/* Take a census. The lookaside lists have been drained, and nothing else runs. IPL 0. */
void census_take(struct census *c);
/* Print the differences between two censuses on the console, one line for each. Returns the number
   of differences, and the first line in text (of nbytes bytes). */
unsigned census_compare(const struct census *before, const struct census *after, char *text,
                        size_t nbytes);

#endif
