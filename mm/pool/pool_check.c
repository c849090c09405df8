/*
 * Fill patterns: see mm/pool/pool_check.h. There is no lock: a block that is being freed or
 * allocated belongs to the caller.
 */
#include "mm/pool/pool_check.h"

#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "sysman/params.h"

uint32_t pool_check;

static uint8_t allocated_pattern(void) { return (uint8_t)(pool_check >> 24); }
static uint8_t free_pattern(void) { return (uint8_t)(pool_check >> 16); }

void pool_check_boot(void) { pool_check = (uint32_t)sysparam(SYSPARAM_POOLCHECK); }

void pool_check_fill(uint64_t p, uint64_t size)
{
    if (pool_check & POOL_CHECK_FREE)
        memset((void *)p, free_pattern(), size);
}

void pool_check_taken(const char *pool, uint64_t p, uint64_t size, uint64_t filled)
{
    uint64_t end = MIN(p + size, filled);

    if ((pool_check & (POOL_CHECK_FREE | POOL_CHECK_LOOK)) == (POOL_CHECK_FREE | POOL_CHECK_LOOK))
        for (uint64_t a = p + POOL_HEAD; a < end; a++)
            if (*(const uint8_t *)a != free_pattern())
                panic("%s pool: free block %lx of %lu bytes was written to: byte %lu is %x, not %x",
                      pool, p, size, a - p, *(const uint8_t *)a, free_pattern());
    if (pool_check & POOL_CHECK_ALLOC)
        memset((void *)p, allocated_pattern(), size);
}
