/*
 * POOLCHECK: fill patterns in allocated and in free blocks of both pools.
 *
 * The bytes of the parameter, from the most significant one: pattern of allocated memory, pattern
 * of free memory, 0, and bits: 1 fills free memory, 2 fills allocated memory, 4 checks a block when
 * it is allocated. The usual value is X616400FF: 'a', 'd', everything. The parameter takes effect
 * at boot only: a block that was freed without being filled would look damaged.
 *
 * The first 16 bytes of a free block are its header, or its link and seal. The rest has the
 * pattern, so that a write after the block was freed is detected, and a read after that does not
 * find the old contents.
 */
#ifndef MM_POOL_POOL_CHECK_H
#define MM_POOL_POOL_CHECK_H

#include "kernel/base/types.h"

#define POOL_CHECK_FREE  1u
#define POOL_CHECK_ALLOC 2u
#define POOL_CHECK_LOOK  4u
#define POOL_HEAD        16u /* bytes of a free block that do not have the pattern */

extern uint32_t pool_check; /* the parameter; constant after boot, 0: off */

/* [p, p + size) becomes free: fill it. The caller owns it. */
void pool_check_fill(uint64_t p, uint64_t size);
/* [p, p + size) was free and is being allocated: check the pattern, except in its first POOL_HEAD
   bytes and from the address `filled` on, where memory never had the pattern; then fill it. Panics
   with the address of the first wrong byte. The caller owns it. pool: name for the message. */
void pool_check_taken(const char *pool, uint64_t p, uint64_t size, uint64_t filled);
/* Boot, after the system parameters are set and before pool_boot(). */
void pool_check_boot(void);

#endif
