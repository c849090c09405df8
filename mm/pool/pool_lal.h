/*
 * Private to mm/pool*.c: lookaside lists. List i holds packets of (i + 1) * 16 bytes.
 *
 * A head is one quadword: a version in the low bits, an offset in units of 16 bytes above. Paged
 * pool has 32 bits of each; nonpaged pool, which lies in 40 bits of KSEG, has 28 and 36. A packet
 * on a list holds the link (an offset/16) in its first quadword and a seal in its second.
 *
 * Push and pop are compare-and-swaps without a lock. The danger is A-B-A: a CPU reads head A and
 * A's link B; before its swap others pop A, pop B, use B and free A again. Head is A once more,
 * and a swap that looks only at the offset makes B, which is in use, the head. Real LDQ_L/STQ_C
 * would fail, since the location was written meanwhile; here the store-conditional is a comparison
 * of values (docs/platform.md) and would succeed. So each push and each pop changes the version
 * too: for a wrong success a thread has to stop between its two accesses for exactly a multiple of
 * 2^32 (2^28) changes of this one head that leave the same packet on top. At 20 instructions a
 * change that is over 5 * 10^9 instructions of nothing else while a runnable thread waits, and then
 * one chance in 2^28: a stop of that length ends in a time slice long before.
 *
 * The link of A may be read when A is no longer on the list: then what is read is anything (the
 * swap will fail), and the page may be gone (paged pool reads it under a fault fix-up; nonpaged
 * pool never gives memory back).
 */
#ifndef MM_POOL_POOL_LAL_H
#define MM_POOL_POOL_LAL_H

#include "kernel/base/panic.h"
#include "mm/pool/pool_private.h"

/* Nobody has a reason to keep the complement of a block's own address there. */
static inline uint64_t pool_seal(uint64_t p) { return ~p; }

/* A packet leaves a list: nobody wrote to it meanwhile. */
static inline void pool_unseal(const char *pool, uint64_t p, uint64_t size)
{
    uint64_t *q = (uint64_t *)p;

    if (unlikely(q[1] != pool_seal(p)))
        panic("%s pool: free packet %lx of %lu bytes was written to", pool, p, size);
    q[1] = 0;
}

/* A packet goes onto a list, and is not on one yet. */
static inline void pool_seal_set(const char *pool, uint64_t p, uint64_t size)
{
    uint64_t *q = (uint64_t *)p;

    if (unlikely(q[1] == pool_seal(p)))
        panic("%s pool: %lx of %lu bytes is freed twice", pool, p, size);
    q[1] = pool_seal(p);
}

/* The next version of head h, with another offset. bits: of the version. */
static inline uint64_t pool_list_next(uint64_t h, uint64_t offset, unsigned bits)
{
    return offset << bits | ((h + 1) & ((1UL << bits) - 1));
}

/* Push p, sealed, on l, whose head was h a moment ago. */
static inline void pool_list_push(struct pool_list *l, uint64_t h, uint64_t base, unsigned bits,
                                  uint64_t p)
{
    uint64_t offset = (p - base) / POOL_GRAIN;

    do {
        __atomic_store_n((uint64_t *)p, h >> bits, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(&l->head, &h, pool_list_next(h, offset, bits), true,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Packets on the list, about: a pop between its two steps is counted as a packet. Pushes need no
   counter: the version is pushes and pops, and there are fewer packets than versions. */
static inline int64_t pool_list_count_at(const struct pool_list *l, uint64_t head, unsigned bits)
{
    uint64_t pops = __atomic_load_n(&l->pops, __ATOMIC_RELAXED);

    return (int64_t)((head - 2 * pops) << (64 - bits)) >> (64 - bits);
}

static inline int64_t pool_list_count(const struct pool_list *l, unsigned bits)
{
    return pool_list_count_at(l, __atomic_load_n(&l->head, __ATOMIC_RELAXED), bits);
}

static inline uint64_t pool_list_bytes(const struct pool_list *l, unsigned bits, unsigned list)
{
    int64_t n = pool_list_count(l, bits);

    return n > 0 ? (uint64_t)n * (list + 1) * POOL_GRAIN : 0;
}

/*
 * Packets go back to the variable list in batches of one size: popped, sorted, and put there in one
 * walk, under the pool's lock, which is free between two batches. One by one, under one lock, it
 * would be a walk for each packet: ten seconds with interrupts off after 8,191 processes. Popped
 * and put back under one lock: so nobody who has the lock misses memory that is on its way.
 */
#define POOL_BATCH 64u

static inline void pool_batch_sort(uint64_t *p, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        uint64_t moved = p[i];
        unsigned at = i;

        for (; at > 0 && p[at - 1] > moved; at--)
            p[at] = p[at - 1];
        p[at] = moved;
    }
}

static inline void pool_list_stats_of(const struct pool_list *l, unsigned bits,
                                      struct pool_list_stats *s)
{
    uint64_t pops = __atomic_load_n(&l->pops, __ATOMIC_RELAXED);
    int64_t n = pool_list_count(l, bits);

    s->hits = pops - __atomic_load_n(&l->reclaimed, __ATOMIC_RELAXED);
    s->requests = s->hits + __atomic_load_n(&l->misses, __ATOMIC_RELAXED);
    s->count = n > 0 ? (uint64_t)n : 0;
    s->frees = pops + s->count;
}

#endif
