/*
 * Misses by virtual page over time, which scripts/tbmap draws. A run may have millions of pages and
 * any length, so what is kept is bounded: a group has at most PAGES_BLOCKS blocks of pages and
 * PAGES_SLICES slices of time. When there would be more of either, two neighbours become one. No
 * miss is lost by that, only where or when it was is known less exactly.
 *
 * A group belongs to one CPU and is used by its thread only.
 */
#ifndef MEGALITH_TB_PAGES_H
#define MEGALITH_TB_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PAGES_BLOCKS      256u
#define PAGES_SLICES      256u
#define PAGES_FIRST_WIDTH 12 /* log2 of the instructions of a slice at the beginning */

struct pages_block {
    uint64_t number; /* of its first page, shifted right by the group's `shift` */
    uint64_t misses[PAGES_SLICES];
};

/* Zeroed: nothing has missed. */
struct pages_group {
    unsigned shift;    /* log2 of the pages of a block */
    unsigned widening; /* how often slices were merged */
    unsigned n;
    struct pages_block *block[PAGES_BLOCKS]; /* by rising numbers */
};

/* Count a miss at that page, after `now` instructions. False: there is no memory; nothing was
 * counted. */
bool pages_count(struct pages_group *g, uint64_t page, uint64_t now);

/* Instructions of a slice, as a power of two. */
unsigned pages_width(const struct pages_group *g);

/* Write the blocks as JSON: a list of [first page, [slice, misses, slice, misses, ...]]. */
void pages_write(const struct pages_group *g, FILE *f);

/* Free the blocks. */
void pages_free(struct pages_group *g);

#endif
