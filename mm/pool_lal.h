/*
 * Private to mm/pool*.c: lookaside lists. List i holds packets of (i + 1) * 16 bytes.
 *
 * A head is one quadword: an offset in units of 16 bytes in the low bits, a version above. Paged
 * pool has 32 bits of each, nonpaged pool, which lies in 40 bits of KSEG, 36 and 28. A packet on a
 * list holds the link (an offset/16) in its first quadword and a seal in its second.
 *
 * Push and pop are compare-and-swaps without a lock. The danger is A-B-A: a CPU reads head A and
 * A's link B; before its swap others pop A, pop B, use B and free A again. Head is A once more,
 * and a swap that looks only at the offset makes B, which is in use, the head. Real LDQ_L/STQ_C
 * would fail, since the location was written meanwhile; here the store-conditional is a comparison
 * of values (platform.md) and would succeed. So each push and each pop changes the version too:
 * for a wrong success a thread has to stop between its two accesses for exactly a multiple of 2^32
 * (2^28) changes of this one head that leave the same packet on top. At 20 instructions a change
 * that is over 5 * 10^9 instructions of nothing else while a runnable thread waits, and then one
 * chance in 2^28: a stop of that length ends in a time slice long before.
 *
 * The link of A may be read when A is no longer on the list: then what is read is anything (the
 * swap will fail), and the page may be gone (paged pool reads it under a fault fix-up; nonpaged
 * pool never gives memory back).
 */
#ifndef MM_POOL_LAL_H
#define MM_POOL_LAL_H

#include "kernel/base/panic.h"
#include "mm/pool_private.h"

#define POOL_SEAL 0x6C61736B65656C21UL

static inline uint64_t pool_seal(uint64_t p) { return POOL_SEAL ^ p; }

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

/* Push p, sealed, on l. */
static inline void pool_list_push(struct pool_list *l, uint64_t base, unsigned bits, uint64_t p)
{
    const uint64_t mask = (1UL << bits) - 1;
    uint64_t off = (p - base) / POOL_GRAIN;
    uint64_t h = __atomic_load_n(&l->head, __ATOMIC_RELAXED);
    uint64_t next;

    do {
        uint64_t top = h & mask;

        __atomic_store_n((uint64_t *)p, top, __ATOMIC_RELAXED);
        next = h - top + off + mask + 1;
    } while (
        !__atomic_compare_exchange_n(&l->head, &h, next, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    __atomic_fetch_add(&l->frees, 1, __ATOMIC_RELAXED);
}

/* Packets on the list, about (the three counters are read one after the other). */
static inline uint64_t pool_list_count(const struct pool_list *l)
{
    uint64_t hits = __atomic_load_n(&l->requests, __ATOMIC_RELAXED) -
                    __atomic_load_n(&l->misses, __ATOMIC_RELAXED);
    uint64_t frees = __atomic_load_n(&l->frees, __ATOMIC_RELAXED);

    return frees > hits ? frees - hits : 0;
}

static inline void pool_list_stats_of(const struct pool_list *l, struct pool_list_stats *s)
{
    s->requests = __atomic_load_n(&l->requests, __ATOMIC_RELAXED);
    s->hits = s->requests - __atomic_load_n(&l->misses, __ATOMIC_RELAXED);
    s->frees = __atomic_load_n(&l->frees, __ATOMIC_RELAXED);
    s->count = pool_list_count(l);
}

#endif
