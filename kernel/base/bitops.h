/* Bits, powers of two, alignment, bitmaps of quadwords. Independent of the machine. */
#ifndef KERNEL_BASE_BITOPS_H
#define KERNEL_BASE_BITOPS_H

#include "kernel/base/types.h"

/* Index of the lowest or highest set bit. v is not zero. */
static inline unsigned bit_lowest(uint64_t v) { return (unsigned)__builtin_ctzl(v); }
static inline unsigned bit_highest(uint64_t v) { return 63u - (unsigned)__builtin_clzl(v); }
static inline unsigned bit_count(uint64_t v) { return (unsigned)__builtin_popcountl(v); }

static inline bool is_power_of_2(uint64_t v) { return v != 0 && (v & (v - 1)) == 0; }
/* Largest power of two not above v; v is not zero. */
static inline uint64_t power_of_2_below(uint64_t v) { return 1UL << bit_highest(v); }
/* Smallest power of two not below v; 0 when it does not fit, 1 for 0. */
static inline uint64_t power_of_2_above(uint64_t v)
{
    if (v <= 1)
        return 1;
    return bit_highest(v - 1) == 63 ? 0 : 2UL << bit_highest(v - 1);
}

/* align is a power of two. align_up wraps to 0 at the end of the number range; align_up_ok of
   range.h reports that. */
static inline uint64_t align_down(uint64_t v, uint64_t align) { return v & ~(align - 1); }
static inline uint64_t align_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) & ~(align - 1);
}
static inline bool is_aligned(uint64_t v, uint64_t align) { return (v & (align - 1)) == 0; }
static inline uint64_t div_round_up(uint64_t v, uint64_t by) { return v / by + (v % by != 0); }
static inline uint64_t page_round_up(uint64_t v) { return align_up(v, PAGE_SIZE); }
static inline uint64_t page_round_down(uint64_t v) { return align_down(v, PAGE_SIZE); }

/* Bitmaps: bit n is bit n%64 of word n/64. Not atomic. */
#define BITMAP_WORDS(nbits) (((nbits) + 63) / 64)
static inline bool bitmap_test(const uint64_t *map, uint64_t n)
{
    return (map[n / 64] >> (n % 64)) & 1;
}
static inline void bitmap_set(uint64_t *map, uint64_t n) { map[n / 64] |= 1UL << (n % 64); }
static inline void bitmap_clear(uint64_t *map, uint64_t n) { map[n / 64] &= ~(1UL << (n % 64)); }
/* First clear bit of nbits, or nbits. */
static inline uint64_t bitmap_first_clear(const uint64_t *map, uint64_t nbits)
{
    for (uint64_t w = 0; w * 64 < nbits; w++)
        if (~map[w] != 0) {
            uint64_t n = w * 64 + bit_lowest(~map[w]);

            return n < nbits ? n : nbits;
        }
    return nbits;
}

#endif
