/*
 * Arithmetic that reports overflow, and arithmetic on ranges. A range includes its start and
 * excludes its end. The functions return false, and do not change the result, when it does not fit.
 * Independent of the machine.
 */
#ifndef KERNEL_BASE_RANGE_H
#define KERNEL_BASE_RANGE_H

#include "kernel/base/types.h"

static inline bool add_ok(uint64_t a, uint64_t b, uint64_t *sum)
{
    uint64_t s;

    if (__builtin_add_overflow(a, b, &s))
        return false;
    *sum = s;
    return true;
}

static inline bool sub_ok(uint64_t a, uint64_t b, uint64_t *diff)
{
    if (b > a)
        return false;
    *diff = a - b;
    return true;
}

static inline bool mul_ok(uint64_t a, uint64_t b, uint64_t *product)
{
    uint64_t p;

    if (__builtin_mul_overflow(a, b, &p))
        return false;
    *product = p;
    return true;
}

/* align is a power of two. */
static inline bool align_up_ok(uint64_t v, uint64_t align, uint64_t *up)
{
    uint64_t s;

    if (!add_ok(v, align - 1, &s))
        return false;
    *up = s & ~(align - 1);
    return true;
}

/* End of [start, start+length). */
static inline bool range_end(uint64_t start, uint64_t length, uint64_t *end)
{
    return add_ok(start, length, end);
}

/* Does [start, start+length) lie within [low, high), without wrapping? An empty one at high
   does. */
static inline bool range_within(uint64_t start, uint64_t length, uint64_t low, uint64_t high)
{
    return start >= low && start <= high && length <= high - start;
}

/* Do [a, a_end) and [b, b_end) share a value? */
static inline bool range_overlaps(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
    return a < b_end && b < a_end;
}

#endif
