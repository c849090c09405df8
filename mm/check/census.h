/*
 * The census: every block of both pools that is in use, by size, less those that the structures of
 * the system account for. What is left over is constant as long as nothing leaks: so it is compared
 * between a moment without processes at the beginning and one at the end (kernel/proc/leaks.c).
 *
 * Owners register with mm/pool/pool_census.h.
 */
#ifndef MM_CHECK_CENSUS_H
#define MM_CHECK_CENSUS_H

#include "mm/pool/pool_census.h"

/* Boot: mm's own explainers. */
void census_boot(void);
/* Count. Lookaside lists were drained. IPL 0, nothing else runs. */
void census_take(struct census *c);
/* What `after` has more or less than `before`, a line each on the console. Returns how many lines;
   the first of them goes into text. */
unsigned census_compare(const struct census *before, const struct census *after, char *text,
                        size_t nbytes);

#endif
