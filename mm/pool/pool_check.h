/*
 * POOLCHECK: patterns in what is allocated and in what is free, for both pools.
 *
 * The parameter's bytes, from the left: pattern of allocated memory, pattern of free memory, 0,
 * bits: 1 free memory is filled, 2 allocated memory is filled, 4 a block that is allocated is
 * looked at. The usual value is X616400FF: 'a', 'd', everything. It counts from the boot on: a
 * block that was freed before it was filled would look damaged.
 *
 * A free block's first 16 bytes are its header or its link and seal; everything behind them has the
 * pattern, so that a write after a free, and a read that lives on what was there, are found.
 */
#ifndef MM_POOL_POOL_CHECK_H
#define MM_POOL_POOL_CHECK_H

#include "kernel/base/types.h"

#define POOL_CHECK_FREE  1u
#define POOL_CHECK_ALLOC 2u
#define POOL_CHECK_LOOK  4u
#define POOL_HEAD        16u /* bytes of a free block that are not pattern */

extern uint32_t pool_check; /* the parameter; constant after boot, 0: off */

/* [p, p + size) becomes free: fill it. */
void pool_check_fill(uint64_t p, uint64_t size);
/* [p, p + size) was free and is handed out now: look at it (all but its head, below `filled`, the
   end of what ever had the pattern), and fill it. Panics with the place of a damage. */
void pool_check_taken(const char *pool, uint64_t p, uint64_t size, uint64_t filled);
/* Boot, parameters are set, before there is a pool. */
void pool_check_boot(void);

#endif
