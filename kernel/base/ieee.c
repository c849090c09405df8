/*
 * IEEE 754 arithmetic in integers. An operand is unpacked into sign, exponent and a 64-bit fraction
 * whose top bit is 1; its value is fraction / 2^63 * 2^exponent. Operations keep the bits that they
 * shift out at the low end as one sticky bit, and the result is rounded once, when it is packed.
 * A fraction of 64 bits for a result of at most 53 always leaves enough guard bits for that.
 */
#include "kernel/base/ieee.h"

enum number_class { ZERO, FINITE, INFINITE, NOT_A_NUMBER };

struct number {
    enum number_class class;
    bool negative, signaling;
    int exponent;
    uint64_t fraction;
    uint64_t payload; /* of a NaN, as a quiet T */
};

struct format {
    int bits;     /* of the fraction, including the hidden bit */
    int min, max; /* exponents of normal numbers */
};

static const struct format formats[] = {
    [IEEE_S] = {24, -126, 127},
    [IEEE_T] = {53, -1022, 1023},
};

#define T_SIGN     (1UL << 63)
#define T_INFINITY (0x7FFUL << 52)
#define T_QUIET    (1UL << 51)
#define T_NAN      (T_SIGN | T_INFINITY | T_QUIET) /* the canonical one */
#define T_TWO      0x4000000000000000UL
#define TOP        (1UL << 63)

uint64_t ieee_s_to_register(uint32_t memory)
{
    uint64_t sign = memory >> 31, exponent = (memory >> 23) & 0xFF, fraction = memory & 0x7FFFFF;
    uint64_t wide = exponent == 0xFF ? 0x7FF : exponent == 0 ? 0 : exponent + (1023 - 127);

    return sign << 63 | wide << 52 | fraction << 29;
}

uint32_t ieee_s_to_memory(uint64_t reg)
{
    return (uint32_t)((reg >> 32) & 0xC0000000) | (uint32_t)((reg >> 29) & 0x3FFFFFFF);
}

static struct number unpack(uint64_t reg, enum ieee_format f)
{
    const struct format *x = &formats[f];
    uint64_t bits = f == IEEE_S ? ieee_s_to_memory(reg) : reg;
    int width = f == IEEE_S ? 8 : 11;
    uint64_t fraction = bits & ((1UL << (x->bits - 1)) - 1);
    int exponent = (int)((bits >> (x->bits - 1)) & ((1UL << width) - 1));
    struct number n = {.class = FINITE, .negative = reg >> 63};

    if (exponent == (1 << width) - 1) {
        n.class = fraction ? NOT_A_NUMBER : INFINITE;
        n.signaling = fraction && !(fraction >> (x->bits - 2));
        n.payload = (reg & T_SIGN) | T_INFINITY | T_QUIET | fraction << (53 - x->bits);
    } else if (exponent) {
        n.exponent = exponent - 1 + x->min;
        n.fraction = (fraction | 1UL << (x->bits - 1)) << (64 - x->bits);
    } else if (fraction) {
        int shift = __builtin_clzl(fraction);

        n.exponent = x->min - (shift - (64 - x->bits));
        n.fraction = fraction << shift;
    } else {
        n.class = ZERO;
    }
    return n;
}

/* Shift right by n; if a bit that is shifted out is 1, the lowest bit of the result is 1. */
static uint64_t shift_sticky(uint64_t v, int n)
{
    if (n <= 0)
        return v;
    if (n > 63)
        return v != 0;
    return v >> n | ((v & ((1UL << n) - 1)) != 0);
}

/* Is the magnitude to be rounded up when the low `drop` bits of the fraction are dropped? */
static bool rounds_up(uint64_t fraction, int drop, bool negative, enum ieee_round r)
{
    uint64_t low = fraction & ((1UL << drop) - 1), half = 1UL << (drop - 1);

    switch (r) {
    case IEEE_NEAREST:
        return low > half || (low == half && (fraction >> drop) & 1);
    case IEEE_MINUS_INFINITY:
        return low && negative;
    case IEEE_PLUS_INFINITY:
        return low && !negative;
    default:
        return false;
    }
}

static uint64_t to_register(uint64_t magnitude, bool negative, enum ieee_format f)
{
    if (f == IEEE_S)
        return ieee_s_to_register((uint32_t)(magnitude | (uint64_t)negative << 31));
    return magnitude | (uint64_t)negative << 63;
}

static uint64_t infinity(bool negative) { return T_INFINITY | (uint64_t)negative << 63; }

static uint64_t overflowed(bool negative, enum ieee_format f, enum ieee_round r, unsigned *flags)
{
    const struct format *x = &formats[f];
    bool to_infinity = r == IEEE_NEAREST || (r == IEEE_MINUS_INFINITY && negative) ||
                       (r == IEEE_PLUS_INFINITY && !negative);

    *flags |= IEEE_OVF | IEEE_INE;
    if (to_infinity)
        return infinity(negative);
    return to_register(((uint64_t)(x->max - x->min + 2) << (x->bits - 1)) - 1, negative, f);
}

/* Round and pack a result. The fraction's top bit is 1, and its lowest bit is sticky. */
static uint64_t pack(bool negative, int exponent, uint64_t fraction, enum ieee_format f,
                     enum ieee_round r, unsigned *flags)
{
    const struct format *x = &formats[f];
    int drop = 64 - x->bits;
    bool tiny = exponent < x->min;
    uint64_t result;
    bool inexact;

    if (tiny)
        fraction = shift_sticky(fraction, x->min - exponent);
    inexact = (fraction & ((1UL << drop) - 1)) != 0;
    result = (fraction >> drop) + rounds_up(fraction, drop, negative, r);
    /* The hidden bit adds one to the exponent field, and so does a carry out of the rounding. */
    if (!tiny)
        result += (uint64_t)(exponent - x->min) << (x->bits - 1);
    if (!tiny && (exponent > x->max || result >> (x->bits - 1) >= (uint64_t)(x->max - x->min + 2)))
        return overflowed(negative, f, r, flags);
    if (inexact)
        *flags |= IEEE_INE | (tiny ? IEEE_UNF : 0);
    return to_register(result, negative, f);
}

static uint64_t zero(bool negative) { return (uint64_t)negative << 63; }

static uint64_t invalid(unsigned *flags)
{
    *flags |= IEEE_INV;
    return T_NAN;
}

/* The result of an operation with a NaN: the second operand if that is one, else the first. */
static uint64_t propagate(const struct number *a, const struct number *b, enum ieee_format f,
                          unsigned *flags)
{
    uint64_t nan = b->class == NOT_A_NUMBER ? b->payload : a->payload;

    if (a->signaling || b->signaling)
        *flags |= IEEE_INV;
    return f == IEEE_S ? nan & ~((1UL << 29) - 1) : nan;
}

static bool either_nan(const struct number *a, const struct number *b)
{
    return a->class == NOT_A_NUMBER || b->class == NOT_A_NUMBER;
}

/* Add two finite numbers. Both fractions are shifted right by one bit, to leave room for the carry;
   the bits that alignment shifts out become sticky. */
static uint64_t add_finite(struct number a, struct number b, enum ieee_format f, enum ieee_round r,
                           unsigned *flags)
{
    uint64_t sum;
    int shift;

    if (a.exponent < b.exponent || (a.exponent == b.exponent && a.fraction < b.fraction)) {
        struct number swap = a;

        a = b;
        b = swap;
    }
    a.fraction >>= 1;
    b.fraction = shift_sticky(b.fraction >> 1, a.exponent - b.exponent);
    sum = a.negative == b.negative ? a.fraction + b.fraction : a.fraction - b.fraction;
    if (sum == 0)
        return zero(r == IEEE_MINUS_INFINITY);
    shift = __builtin_clzl(sum);
    return pack(a.negative, a.exponent + 1 - shift, sum << shift, f, r, flags);
}

static uint64_t add(struct number a, struct number b, enum ieee_format f, enum ieee_round r,
                    unsigned *flags)
{
    if (either_nan(&a, &b))
        return propagate(&a, &b, f, flags);
    if (a.class == INFINITE || b.class == INFINITE) {
        if (a.class == b.class && a.negative != b.negative)
            return invalid(flags);
        return infinity(a.class == INFINITE ? a.negative : b.negative);
    }
    if (a.class == ZERO && b.class == ZERO)
        return zero(a.negative == b.negative ? a.negative : r == IEEE_MINUS_INFINITY);
    if (a.class == ZERO)
        return pack(b.negative, b.exponent, b.fraction, f, r, flags);
    if (b.class == ZERO)
        return pack(a.negative, a.exponent, a.fraction, f, r, flags);
    return add_finite(a, b, f, r, flags);
}

uint64_t ieee_add(uint64_t a, uint64_t b, enum ieee_format f, enum ieee_round r, unsigned *flags)
{
    return add(unpack(a, f), unpack(b, f), f, r, flags);
}

uint64_t ieee_sub(uint64_t a, uint64_t b, enum ieee_format f, enum ieee_round r, unsigned *flags)
{
    struct number y = unpack(b, f);

    y.negative = !y.negative; /* a NaN's payload has its sign already */
    return add(unpack(a, f), y, f, r, flags);
}

uint64_t ieee_mul(uint64_t a, uint64_t b, enum ieee_format f, enum ieee_round r, unsigned *flags)
{
    struct number x = unpack(a, f), y = unpack(b, f);
    bool negative = x.negative != y.negative;
    unsigned __int128 product;
    uint64_t high;
    int shift;

    if (either_nan(&x, &y))
        return propagate(&x, &y, f, flags);
    if (x.class == INFINITE || y.class == INFINITE)
        return x.class == ZERO || y.class == ZERO ? invalid(flags) : infinity(negative);
    if (x.class == ZERO || y.class == ZERO)
        return zero(negative);
    product = (unsigned __int128)x.fraction * y.fraction;
    high = (uint64_t)(product >> 64);
    shift = high & TOP ? 0 : 1;
    /* At most 53 bits of each operand are used, so the bits below these 64 are at most sticky. */
    high = high << shift | ((uint64_t)product != 0);
    return pack(negative, x.exponent + y.exponent + 1 - shift, high, f, r, flags);
}

uint64_t ieee_div(uint64_t a, uint64_t b, enum ieee_format f, enum ieee_round r, unsigned *flags)
{
    struct number x = unpack(a, f), y = unpack(b, f);
    bool negative = x.negative != y.negative;
    uint64_t rest, by, quotient = 0;
    int shift;

    if (either_nan(&x, &y))
        return propagate(&x, &y, f, flags);
    if (x.class == INFINITE)
        return y.class == INFINITE ? invalid(flags) : infinity(negative);
    if (y.class == INFINITE)
        return zero(negative);
    if (y.class == ZERO) {
        if (x.class == ZERO)
            return invalid(flags);
        *flags |= IEEE_DZE;
        return infinity(negative);
    }
    if (x.class == ZERO)
        return zero(negative);
    rest = x.fraction >> 1; /* the lowest bit is 0: no operand has 64 significant bits */
    by = y.fraction >> 1;
    for (int i = 0; i < 63; i++) { /* one bit before the binary point, 62 after it */
        quotient <<= 1;
        if (rest >= by) {
            rest -= by;
            quotient |= 1;
        }
        rest <<= 1;
    }
    shift = __builtin_clzl(quotient);
    return pack(negative, x.exponent - y.exponent + 1 - shift, quotient << shift | (rest != 0), f,
                r, flags);
}

uint64_t ieee_sqrt(uint64_t a, enum ieee_format f, enum ieee_round r, unsigned *flags)
{
    struct number x = unpack(a, f);
    uint64_t radicand, rest = 0, root = 0;

    if (x.class == NOT_A_NUMBER)
        return propagate(&x, &x, f, flags);
    if (x.class == ZERO)
        return zero(x.negative);
    if (x.negative)
        return invalid(flags);
    if (x.class == INFINITE)
        return infinity(false);
    /* Each bit of the root needs two bits of the radicand, whose binary point is after the first
       pair. */
    radicand = x.exponent & 1 ? x.fraction : x.fraction >> 1;
    for (int i = 0; i < 57; i++) {
        rest = rest << 2 | radicand >> 62;
        radicand <<= 2;
        root <<= 1;
        if (rest > root << 1) {
            rest -= root << 1 | 1;
            root |= 1;
        }
    }
    return pack(false, (x.exponent - (x.exponent & 1)) / 2, root << 7 | (rest != 0), f, r, flags);
}

/* Compare two numbers that are not NaN: returns -1, 0 or 1. */
static int order(const struct number *a, const struct number *b)
{
    int sign = a->negative ? -1 : 1, magnitude;

    if (a->class == ZERO && b->class == ZERO)
        return 0;
    if (a->class == ZERO)
        return b->negative ? 1 : -1;
    if (b->class == ZERO || a->negative != b->negative)
        return sign;
    if (a->class != b->class)
        magnitude = a->class == INFINITE ? 1 : -1;
    else if (a->class == INFINITE)
        magnitude = 0;
    else if (a->exponent != b->exponent)
        magnitude = a->exponent > b->exponent ? 1 : -1;
    else
        magnitude = a->fraction == b->fraction ? 0 : a->fraction > b->fraction ? 1 : -1;
    return sign * magnitude;
}

uint64_t ieee_compare(uint64_t a, uint64_t b, enum ieee_compare c, unsigned *flags)
{
    struct number x = unpack(a, IEEE_T), y = unpack(b, IEEE_T);
    bool result;

    if (either_nan(&x, &y)) {
        if (x.signaling || y.signaling || c == IEEE_LESS || c == IEEE_LESS_EQUAL)
            *flags |= IEEE_INV;
        return c == IEEE_UNORDERED ? T_TWO : 0;
    }
    result = c == IEEE_EQUAL        ? order(&x, &y) == 0
             : c == IEEE_LESS       ? order(&x, &y) < 0
             : c == IEEE_LESS_EQUAL ? order(&x, &y) <= 0
                                    : false;
    return result ? T_TWO : 0;
}

uint64_t ieee_convert(uint64_t a, enum ieee_format from, enum ieee_format to, enum ieee_round r,
                      unsigned *flags)
{
    struct number x = unpack(a, from);

    switch (x.class) {
    case NOT_A_NUMBER:
        return propagate(&x, &x, to, flags);
    case INFINITE:
        return infinity(x.negative);
    case ZERO:
        return zero(x.negative);
    default:
        return pack(x.negative, x.exponent, x.fraction, to, r, flags);
    }
}

uint64_t ieee_from_int(int64_t v, enum ieee_format to, enum ieee_round r, unsigned *flags)
{
    uint64_t magnitude = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    int shift;

    if (v == 0)
        return zero(false);
    shift = __builtin_clzl(magnitude);
    return pack(v < 0, 63 - shift, magnitude << shift, to, r, flags);
}

uint64_t ieee_to_int(uint64_t a, enum ieee_round r, unsigned *flags)
{
    struct number x = unpack(a, IEEE_T);
    uint64_t v;

    if (x.class == ZERO)
        return 0;
    if (x.class != FINITE) {
        *flags |= IEEE_INV;
        return 0;
    }
    if (x.exponent >= 63) {
        uint64_t low = x.exponent - 63 < 64 ? x.fraction << (x.exponent - 63) : 0;

        if (!(x.exponent == 63 && x.negative && x.fraction == TOP))
            *flags |= IEEE_INV;
        return x.negative ? 0 - low : low;
    }
    if (x.exponent >= 52) { /* the operand is an integer */
        v = x.fraction >> (63 - x.exponent);
    } else {
        uint64_t quarters = shift_sticky(x.fraction, 61 - x.exponent);

        if (quarters & 3)
            *flags |= IEEE_INE;
        v = (quarters >> 2) + rounds_up(quarters, 2, x.negative, r);
    }
    return x.negative ? 0 - v : v;
}
