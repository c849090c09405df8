/*
 * Private to mm/pool: lookaside lists. List i holds packets of (i + 1) * 16 bytes.
 *
 * The head of a list is one quadword: a version in the low bits, and above it the offset of the
 * first packet in units of 16 bytes. Paged pool has 32 bits of each; nonpaged pool, which lies in
 * the 40 bits of KSEG, has 28 and 36. A packet on a list has the link (also offset/16) in its first
 * quadword and a seal in its second.
 *
 * Push and pop change the head by compare-and-swap, without a lock. The danger is A-B-A:
 *
 *     this CPU                        other CPUs
 *     load head: A
 *     load link of A: B
 *                                     pop A, pop B, use B, free A
 *     head is A: swap it for B        (B is in use, but now the head)
 *
 * On a real Alpha, LDQ_L/STQ_C would fail, because the location was written meanwhile. Here the
 * store-conditional compares values (docs/platform.md) and would succeed. So each push and each pop
 * also changes the version: for a wrong success a thread has to stop between its two accesses for
 * exactly a multiple of 2^32 (2^28) changes of this one head that leave the same packet on top. At
 * 20 instructions a change that is over 5 * 10^9 instructions of nothing else while a runnable
 * thread waits, and then one chance in 2^28; the end of a time slice ends such a stop long before.
 *
 * The link of A may be read when A is no longer on the list. The value is then arbitrary, and the
 * swap fails; in paged pool even the page may be gone, so the link is read under a fault fix-up.
 * Nonpaged pool never frees its pages.
 */
#ifndef MM_POOL_POOL_LAL_H
#define MM_POOL_POOL_LAL_H

#include "kernel/base/panic.h"
#include "mm/pool/pool_private.h"

/* The seal of a packet on a list: the complement of its own address, which no user of a block has a
   reason to store there. */
static inline uint64_t pool_seal(uint64_t p) { return ~p; }

/* A packet of size bytes has left a list: check that it was not written to, and clear the seal. */
static inline void pool_unseal(const char *pool, uint64_t p, uint64_t size)
{
    uint64_t *q = (uint64_t *)p;

    if (unlikely(q[1] != pool_seal(p)))
        panic("%s pool: free packet %lx of %lu bytes was written to", pool, p, size);
    q[1] = 0;
}

/* A packet of size bytes is about to go onto a list: check that it is on none, and set the seal. */
static inline void pool_seal_set(const char *pool, uint64_t p, uint64_t size)
{
    uint64_t *q = (uint64_t *)p;

    if (unlikely(q[1] == pool_seal(p)))
        panic("%s pool: %lx of %lu bytes is freed twice", pool, p, size);
    q[1] = pool_seal(p);
}

/* Head h with another offset and the next version. bits: number of bits of the version. */
static inline uint64_t pool_list_next(uint64_t h, uint64_t offset, unsigned bits)
{
    return offset << bits | ((h + 1) & ((1UL << bits) - 1));
}

/* Push n packets, which are sealed and linked, onto l: those from `offset` on, up to the packet
   `last`. h: a recent value of the head. This is as many pushes, so the version rises by n. */
static inline void pool_list_push_chain(struct pool_list *l, uint64_t h, unsigned bits,
                                        uint64_t offset, uint64_t last, uint64_t n)
{
    do {
        __atomic_store_n((uint64_t *)last, h >> bits, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(&l->head, &h, pool_list_next(h + n - 1, offset, bits),
                                          true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Push packet p, which is sealed, onto l. h: a recent value of the head. base: the address that has
   offset 0. */
static inline void pool_list_push(struct pool_list *l, uint64_t h, uint64_t base, unsigned bits,
                                  uint64_t p)
{
    pool_list_push_chain(l, h, bits, (p - base) / POOL_GRAIN, p, 1);
}

/* Approximate number of packets on the list: a pop that has changed the head and not yet the
   counter makes it too large. Pushes need no counter: the version is the sum of pushes and pops,
   and there are fewer packets than versions. */
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
 * Packets return to the variable list in batches of one size. A batch is popped, sorted, and
 * inserted in one walk of the list under the pool's lock, which is released between two batches.
 * Inserted one by one, each packet would cost a walk: ten seconds with interrupts blocked after
 * 8,191 processes. Popping and inserting happen under the same hold of the lock, so that an
 * allocation under the lock does not miss memory that is on neither list.
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
