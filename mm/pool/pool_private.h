/*
 * Private to mm/pool: areas with their boundary bits, the variable list, lookaside lists.
 */
#ifndef MM_POOL_POOL_PRIVATE_H
#define MM_POOL_POOL_PRIVATE_H

#include "mm/pool/pool.h"

#define POOL_GRAIN 16u
#define POOL_LISTS (2560u / POOL_GRAIN) /* largest PAGED_LAL_SIZE */

static inline uint64_t pool_round(uint64_t nbytes)
{
    return (nbytes + POOL_GRAIN - 1) & ~(uint64_t)(POOL_GRAIN - 1);
}

/* ---- areas: mm/pool/pool_var.c ---- */

/*
 * A stretch of pool memory. Bit n of `starts` is set where a block, allocated or free, starts at
 * base + 16 * n; the bit of the end of the area is always set. So [p, p + size) is a block if and
 * only if the bits of p and p + size are set and none between: a free with a wrong address or size
 * is caught, whatever its neighbours are. Bits change under the pool's lock by atomics; a block's
 * own bits do not change while somebody owns it or while it is on a lookaside list, so its owner
 * may look at them without the lock.
 */
struct pool_area {
    uint64_t base, size; /* constant */
    uint64_t *starts;    /* size / 16 + 1 bits */
};

#define POOL_AREA_WORDS(size) \
    ((size) / POOL_GRAIN / 64 + 2) /* one more, read and ignored by the check below */

bool pool_area_is_block(const struct pool_area *a, uint64_t p, uint64_t size);

/* The same in one look at the 64 bits from p's on, for k * 16 bytes; always false above k = 62.
   Behind the bit of the area's end all are clear, so a block beyond it has no end. */
static inline bool pool_area_is_small_block(const struct pool_area *a, uint64_t p, uint64_t k)
{
    uint64_t off = p - a->base, n = off / POOL_GRAIN;

    if (unlikely(k > 62 || off >= a->size || off % POOL_GRAIN))
        return false;

    uint64_t low = __atomic_load_n(&a->starts[n / 64], __ATOMIC_RELAXED) >> (n % 64);
    uint64_t high = __atomic_load_n(&a->starts[n / 64 + 1], __ATOMIC_RELAXED) << 1 << (63 - n % 64);

    return ((low | high) & ((2UL << k) - 1)) == (1 | 1UL << k);
}

/* ---- the variable list: mm/pool/pool_var.c ---- */

struct pool_block { /* header of a free block, in it */
    struct pool_block *next;
    uint64_t size;
};

struct pool_var {                             /* every field and function: under the pool's lock */
    struct pool_block *first;                 /* ascending addresses, no two adjacent in one area */
    uint64_t bytes, blocks;                   /* on the list; atomic for readers without the lock */
    uint64_t total;                           /* bytes of all areas */
    struct pool_area *(*area_of)(uint64_t p); /* NULL: no address of this pool */
    const char *name;
};

/* Make an area part of the pool: its bits are zero, all of it is free. */
void pool_var_add(struct pool_var *v, struct pool_area *a);
/* First fit, size a multiple of 16. `usable` (may be NULL) is asked before [p, p + size), which
   may include the next block's header, is written. NULL: none. */
void *pool_var_alloc(struct pool_var *v, uint64_t size, bool (*usable)(uint64_t p, uint64_t size));
/* Free a block, merged with its free neighbours, and return what it is part of then. below: a block
   on the list at a lower address, which spares the walk to it, or NULL. Panics when p is no block.
 */
struct pool_block *pool_var_free(struct pool_var *v, struct pool_block *below, void *p,
                                 uint64_t size);
void pool_var_stats(const struct pool_var *v, struct pool_stats *s);
int pool_var_check(const struct pool_var *v);
/* Call fn for each block of a, size bytes at p, that is not on the variable list; first: where in
   the list a's free blocks begin, or before. Words of boundary bits for which `there` says no are
   not read: no block starts there. Nobody changes the pool meanwhile. */
void pool_var_used(const struct pool_area *a, const struct pool_block *first,
                   bool (*there)(const uint64_t *word),
                   void (*fn)(void *arg, uint64_t p, uint64_t size), void *arg);

/* ---- lookaside lists: mm/pool/pool_lal.h ---- */

/* A cache line each: lists of different sizes do not disturb each other. */
struct pool_list {
    uint64_t head;      /* atomic */
    uint64_t pops;      /* atomic: packets that left the list */
    uint64_t misses;    /* atomic: requests that found it empty */
    uint64_t reclaimed; /* atomic: of the pops, those back to the variable list */
    int64_t most;       /* atomic: packets that it may hold (paged pool) */
} __attribute__((aligned(64)));

#endif
