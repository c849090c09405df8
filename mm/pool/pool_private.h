/*
 * Private to mm/pool: areas and their boundary bits, the variable list, the head of a lookaside
 * list.
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
 * An area is a stretch of pool memory. Boundary bit n of `starts` is set if a block, allocated or
 * free, starts at base + 16 * n; the bit of the end of the area is always set. So [p, p + size) is
 * a block if and only if the bits of p and p + size are set and none between them: freeing a wrong
 * address or size is detected, whatever the neighbours are. Bits change by atomic operations under
 * the pool's lock. The bits of a block do not change while it is allocated or on a lookaside list,
 * so its owner may read them without the lock.
 *
 * A small area may have a second map, of the blocks that are on the variable list: then the place
 * of a freed block in the list is found there, and not by a walk of the list.
 */
struct pool_area {
    uint64_t base, size; /* constant */
    uint64_t *starts;    /* size / 16 + 1 bits */
    uint64_t *free;      /* the same number, of free blocks; or NULL. Pool's lock */
};

/* One word more, which the check below reads and ignores. */
#define POOL_AREA_WORDS(size) ((size) / POOL_GRAIN / 64 + 2)

/* Is [p, p + size) a block of the area? The caller owns the block, or holds the pool's lock. */
bool pool_area_is_block(const struct pool_area *a, uint64_t p, uint64_t size);

/* The same for a block of k * 16 bytes, by one test of the 64 bits from that of p on; always false
   for k above 62. All bits after that of the area's end are clear, so a block that extends beyond
   it fails the test. */
static inline bool pool_area_is_small_block(const struct pool_area *a, uint64_t p, uint64_t k)
{
    uint64_t off = p - a->base, n = off / POOL_GRAIN;

    if (unlikely(k > 62 || off >= a->size || off % POOL_GRAIN))
        return false;

    uint64_t low = __atomic_load_n(&a->starts[n / 64], __ATOMIC_RELAXED) >> (n % 64);
    uint64_t high = __atomic_load_n(&a->starts[n / 64 + 1], __ATOMIC_RELAXED) << 1 << (63 - n % 64);

    return ((low | high) & ((2UL << k) - 1)) == (1 | 1UL << k);
}

/* The same for k of 64 and more, word by word. */
static inline bool pool_area_is_long_block(const struct pool_area *a, uint64_t p, uint64_t k)
{
    uint64_t off = p - a->base, n = off / POOL_GRAIN, w = n / 64, last = (n + k) / 64;

    if (unlikely(k < 64 || off >= a->size || off % POOL_GRAIN || k > (a->size - off) / POOL_GRAIN))
        return false;
    if (__atomic_load_n(&a->starts[w], __ATOMIC_RELAXED) >> (n % 64) != 1)
        return false;
    while (++w < last)
        if (__atomic_load_n(&a->starts[w], __ATOMIC_RELAXED))
            return false;
    return __atomic_load_n(&a->starts[last], __ATOMIC_RELAXED) << (63 - (n + k) % 64) == UINT64_C(1)
                                                                                             << 63;
}

/* ---- the variable list: mm/pool/pool_var.c ---- */

struct pool_block { /* header of a free block, in its first 16 bytes */
    struct pool_block *next;
    uint64_t size;
};

struct pool_var {             /* all fields and functions: under the pool's lock */
    struct pool_block *first; /* in address order; no two blocks of an area are adjacent */
    uint64_t bytes, blocks;   /* on the list; atomic, for readers without the lock */
    uint64_t total;           /* bytes of all areas */
    struct pool_area *(*area_of)(uint64_t p); /* NULL: p is not of this pool */
    const char *name;
};

/* Add an area, all of it free, to the pool. Its bits are zero. */
void pool_var_add(struct pool_var *v, struct pool_area *a);
/* Allocate size bytes (a multiple of 16), first fit, from the first `most` free blocks. `usable`,
   unless NULL, is called before [p, p + size), which includes the header of the remaining free
   block, is written; if it returns false, the allocation fails. NULL: there is no such block. */
void *pool_var_alloc(struct pool_var *v, uint64_t size, uint64_t most,
                     bool (*usable)(uint64_t p, uint64_t size));
/* Free a block, merge it with its free neighbours, and return the free block that it is part of.
   below: a block on the list at a lower address, from which to begin the walk, or NULL. Panics when
   p is not a block of that size. */
struct pool_block *pool_var_free(struct pool_var *v, struct pool_block *below, void *p,
                                 uint64_t size);
void pool_var_stats(const struct pool_var *v, struct pool_stats *s);
int pool_var_check(const struct pool_var *v);
/* Call fn for each block of area a, size bytes at p, that is not on the variable list. first: the
   first free block of a on the list, or one before it. Words of boundary bits for which `there`
   returns false are not read: no block starts there. Nothing changes the pool meanwhile. */
void pool_var_used(const struct pool_area *a, const struct pool_block *first,
                   bool (*there)(const uint64_t *word),
                   void (*fn)(void *arg, uint64_t p, uint64_t size), void *arg);

/* ---- lookaside lists: mm/pool/pool_lal.h ---- */

/* Packets that are moved to variable lists in one hold. */
#define POOL_RECLAIM 2u

/* Each list has a cache line of its own, so that lists of different sizes do not share one. */
struct pool_list {
    uint64_t head;      /* version and offset, see pool_lal.h; atomic */
    uint64_t pops;      /* packets that left the list; atomic */
    uint64_t misses;    /* requests that found it empty; atomic */
    uint64_t reclaimed; /* those of the pops that went to the variable list; atomic */
    int64_t most;       /* packets that it may hold (paged pool); atomic */
} __attribute__((aligned(64)));

#endif
