/*
 * The variable list of a pool: its free blocks in address order, each with link and size in its
 * first 16 bytes. Allocation is first fit; freed blocks are merged with their neighbours. The code
 * knows nothing of locks, pages or the machine: each pool calls it under its own lock. A block that
 * is freed with a wrong address or size, or twice, causes a panic.
 */
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "mm/pool/pool_check.h"
#include "mm/pool/pool_private.h"

/* ---- boundary bits ---- */

static uint64_t bit_of(const struct pool_area *a, uint64_t p) { return (p - a->base) / POOL_GRAIN; }

static bool starts_at(const struct pool_area *a, uint64_t p)
{
    uint64_t n = bit_of(a, p);

    return (__atomic_load_n(&a->starts[n / 64], __ATOMIC_RELAXED) >> (n % 64)) & 1;
}

static void start_set(struct pool_area *a, uint64_t p)
{
    uint64_t n = bit_of(a, p);

    __atomic_fetch_or(&a->starts[n / 64], 1UL << (n % 64), __ATOMIC_RELAXED);
}

static void start_clear(struct pool_area *a, uint64_t p)
{
    uint64_t n = bit_of(a, p);

    __atomic_fetch_and(&a->starts[n / 64], ~(1UL << (n % 64)), __ATOMIC_RELAXED);
}

static void free_set(struct pool_area *a, const struct pool_block *b)
{
    uint64_t n = bit_of(a, (uint64_t)b);

    if (a->free)
        a->free[n / 64] |= 1UL << (n % 64);
}

static void free_clear(struct pool_area *a, const struct pool_block *b)
{
    uint64_t n = bit_of(a, (uint64_t)b);

    if (a->free)
        a->free[n / 64] &= ~(1UL << (n % 64));
}

/* The last free block of a below b, by the map; NULL: there is none. Looks at one word for each
   64 units of 16 bytes below. */
static struct pool_block *free_below(const struct pool_area *a, const struct pool_block *b)
{
    uint64_t n = bit_of(a, (uint64_t)b), w = n / 64;
    uint64_t word = a->free[w] & ((1UL << (n % 64)) - 1);

    while (!word && w > 0)
        word = a->free[--w];
    if (!word)
        return NULL;
    return (struct pool_block *)(a->base + (w * 64 + bit_highest(word)) * POOL_GRAIN);
}

bool pool_area_is_block(const struct pool_area *a, uint64_t p, uint64_t size)
{
    if (p % POOL_GRAIN || size == 0 || p < a->base || p - a->base >= a->size ||
        size > a->size - (p - a->base))
        return false;

    /* Of the bits after that of p, the first one that is set must be that of the end. */
    uint64_t n = bit_of(a, p), end = bit_of(a, p + size);

    if (!starts_at(a, p))
        return false;
    n++;
    for (uint64_t w = n / 64;; w++) {
        uint64_t word = __atomic_load_n(&a->starts[w], __ATOMIC_RELAXED);

        if (w == n / 64)
            word &= ~0UL << (n % 64);
        if (w == end / 64)
            return word != 0 && w * 64 + bit_lowest(word) == end;
        if (word != 0)
            return false;
    }
}

/* ---- the list ---- */

/* Add to the counts of the list, which are also read without the lock. */
static void count(struct pool_var *v, int64_t blocks, int64_t bytes)
{
    __atomic_store_n(&v->blocks, v->blocks + (uint64_t)blocks, __ATOMIC_RELAXED);
    __atomic_store_n(&v->bytes, v->bytes + (uint64_t)bytes, __ATOMIC_RELAXED);
}

static uint64_t end_of(const struct pool_block *b) { return (uint64_t)b + b->size; }

void *pool_var_alloc(struct pool_var *v, uint64_t size, uint64_t most,
                     bool (*usable)(uint64_t p, uint64_t size))
{
    struct pool_block **link = &v->first;
    struct pool_block *b;

    for (; (b = *link) != NULL && most-- != 0; link = &b->next) {
        if (b->size < size)
            continue;

        struct pool_area *a = v->area_of((uint64_t)b);
        bool split = b->size > size;

        if (usable && !usable((uint64_t)b, size + (split ? sizeof(*b) : 0)))
            return NULL;
        if (split) {
            struct pool_block *rest = (struct pool_block *)((uint64_t)b + size);

            *rest = (struct pool_block){b->next, b->size - size};
            start_set(a, (uint64_t)rest);
            free_set(a, rest);
            *link = rest;
        } else {
            *link = b->next;
            count(v, -1, 0);
        }
        free_clear(a, b);
        count(v, 0, -(int64_t)size);
        return b;
    }
    return NULL;
}

/* Put [b, b + size) of area a on the list and merge it with its neighbours. below: a block on the
   list below b, from which to begin the walk, or NULL; not needed for an area with a map. Returns
   the block that b is part of. */
static struct pool_block *pool_var_insert(struct pool_var *v, struct pool_area *a,
                                          struct pool_block *below, struct pool_block *b,
                                          uint64_t size)
{
    struct pool_block *before = a->free ? free_below(a, b) : below;
    struct pool_block *after = before ? before->next : v->first;

    while (after && after < b) {
        before = after;
        after = after->next;
    }
    if ((before && end_of(before) > (uint64_t)b) || (after && (uint64_t)b + size > (uint64_t)after))
        panic("%s pool: %p of %lu bytes is freed twice", v->name, (void *)b, size);

    b->size = size;
    b->next = after;
    free_set(a, b);
    count(v, 1, (int64_t)size);
    if (before)
        before->next = b;
    else
        v->first = b;
    if (after &&
        end_of(b) == (uint64_t)after) { /* areas are never adjacent: both are of one area */
        b->size += after->size;
        b->next = after->next;
        start_clear(a, (uint64_t)after);
        free_clear(a, after);
        pool_check_fill((uint64_t)after, POOL_HEAD);
        count(v, -1, 0);
    }
    if (before && end_of(before) == (uint64_t)b) {
        before->size += b->size;
        before->next = b->next;
        start_clear(a, (uint64_t)b);
        free_clear(a, b);
        pool_check_fill((uint64_t)b, POOL_HEAD);
        count(v, -1, 0);
        return before;
    }
    return b;
}

void pool_var_add(struct pool_var *v, struct pool_area *a)
{
    start_set(a, a->base);
    start_set(a, a->base + a->size);
    v->total += a->size;
    pool_var_insert(v, a, NULL, (struct pool_block *)a->base, a->size);
}

struct pool_block *pool_var_free(struct pool_var *v, struct pool_block *below, void *p,
                                 uint64_t size)
{
    struct pool_area *a = v->area_of((uint64_t)p);

    if (!a || !pool_area_is_block(a, (uint64_t)p, size))
        panic("%s pool: no block of %lu bytes starts at %p", v->name, size, p);
    return pool_var_insert(v, a, below, p, size);
}

void pool_var_stats(const struct pool_var *v, struct pool_stats *s)
{
    s->size = v->total;
    s->free = v->bytes;
    s->free_blocks = v->blocks;
    s->largest = 0;
    s->smallest = v->first ? v->first->size : 0;
    s->free_blocks_le64 = 0;
    for (const struct pool_block *b = v->first; b; b = b->next) {
        s->largest = MAX(s->largest, b->size);
        s->smallest = MIN(s->smallest, b->size);
        s->free_blocks_le64 += b->size <= 64;
    }
}

static int complain(const struct pool_var *v, const struct pool_block *b, const char *what)
{
    printk("%s pool: free block %p: %s\n", v->name, (const void *)b, what);
    return -EINVAL;
}

int pool_var_check(const struct pool_var *v)
{
    uint64_t bytes = 0, blocks = 0;

    for (const struct pool_block *b = v->first; b; b = b->next) {
        struct pool_area *a = v->area_of((uint64_t)b);

        if (!a)
            return complain(v, b, "outside the pool");
        if (!pool_area_is_block(a, (uint64_t)b, b->size))
            return complain(v, b, "its size is wrong");
        if (a->free && b->next && b->next < (struct pool_block *)(a->base + a->size) &&
            free_below(a, b->next) != b)
            return complain(v, b, "the map of free blocks is wrong");
        if (b->next && b->next <= b)
            return complain(v, b, "the next one lies below it");
        if (b->next && end_of(b) == (uint64_t)b->next)
            return complain(v, b, "not merged with the next one");
        bytes += b->size;
        blocks++;
    }
    if (bytes != v->bytes || blocks != v->blocks)
        return complain(v, NULL, "the counts are wrong");
    return 0;
}

/* The first unit of 16 bytes in [n, end) at which a block starts; end when there is none. */
static uint64_t next_start(const struct pool_area *a, uint64_t n, uint64_t end,
                           bool (*there)(const uint64_t *word))
{
    for (; n < end; n = (n | 63) + 1) {
        uint64_t bits = there(&a->starts[n / 64]) ? a->starts[n / 64] >> (n % 64) : 0;

        if (bits)
            return MIN(n + (uint64_t)__builtin_ctzl(bits), end);
    }
    return end;
}

void pool_var_used(const struct pool_area *a, const struct pool_block *first,
                   bool (*there)(const uint64_t *word),
                   void (*fn)(void *arg, uint64_t p, uint64_t size), void *arg)
{
    uint64_t end = a->size / POOL_GRAIN, next;
    const struct pool_block *b = first;

    for (uint64_t n = next_start(a, 0, end, there); n < end; n = next) {
        uint64_t p = a->base + n * POOL_GRAIN;

        next = next_start(a, n + 1, end, there);
        while (b && (uint64_t)b < p)
            b = b->next;
        if ((uint64_t)b != p)
            fn(arg, p, (next - n) * POOL_GRAIN);
    }
}
