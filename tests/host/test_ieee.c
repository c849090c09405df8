// SOURCES: kernel/base/ieee.c
/*
 * The kernel's floating-point arithmetic in integers, compared with the host's own, in every
 * rounding mode: all pairs of special values, then random values, half of them near the ends of the
 * range. Where the host's result is a NaN any NaN is accepted, because Alpha chooses another one.
 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/ieee.h"
#include "userland/lib/include/tap.h"

#define ROUNDS 100000

static const int modes[] = {FE_TOWARDZERO, FE_DOWNWARD, FE_TONEAREST, FE_UPWARD};
static const uint64_t special[] = {
    0,
    1,
    2,
    0x000FFFFFFFFFFFFF,
    0x0010000000000000,
    0x0010000000000001,
    0x3CA0000000000000,
    0x36A0000000000000,
    0x380FFFFFFFFFFFFF,
    0x3810000000000000,
    0x3FE0000000000000,
    0x3FF0000000000000,
    0x3FF0000000000001,
    0x3FF8000000000000,
    0x4000000000000000,
    0x4330000000000001,
    0x43DFFFFFFFFFFFFF,
    0x43E0000000000000,
    0x47EFFFFFE0000000,
    0x47EFFFFFF0000000,
    0x7FE0000000000000,
    0x7FEFFFFFFFFFFFFF,
    0x7FF0000000000000,
    0x7FF0000000000001,
    0x7FF8000000000000,
};
#define SPECIALS (sizeof(special) / sizeof(special[0]))

static unsigned long wrong[16];
static const char *const names[] = {
    "add",      "subtract",      "multiply", "divide", "square root", "S add",        "S multiply",
    "S divide", "S square root", "T to S",   "S to T", "to integer",  "from integer", "compare"};

static double as_t(uint64_t v)
{
    double d;

    memcpy(&d, &v, 8);
    return d;
}

static uint64_t of_t(double d)
{
    uint64_t v;

    memcpy(&v, &d, 8);
    return v;
}

static uint64_t of_s(float x)
{
    uint32_t v;

    memcpy(&v, &x, 4);
    return ieee_s_to_register(v);
}

static float as_s(uint64_t reg)
{
    uint32_t v = ieee_s_to_memory(reg);
    float x;

    memcpy(&x, &v, 4);
    return x;
}

static void check(int op, uint64_t got, uint64_t want, unsigned flags, int host, uint64_t a,
                  uint64_t b, int mode)
{
    unsigned seen = (host & FE_INVALID ? IEEE_INV : 0) | (host & FE_DIVBYZERO ? IEEE_DZE : 0) |
                    (host & FE_OVERFLOW ? IEEE_OVF : 0) | (host & FE_INEXACT ? IEEE_INE : 0);
    bool same = got == want || (isnan(as_t(got)) && isnan(as_t(want)));

    /* Underflow: Alpha detects tininess before rounding, x86 after it. */
    if (same && (flags & ~IEEE_UNF) == seen)
        return;
    if (wrong[op]++ < 3)
        diag("%s of %016lx, %016lx, mode %d: %016lx, not %016lx; exceptions %x, not %x", names[op],
             (unsigned long)a, (unsigned long)b, mode, (unsigned long)got, (unsigned long)want,
             flags, seen);
}

#define TRY(op, got, want, a, b)                                                     \
    do {                                                                             \
        unsigned flags = 0;                                                          \
        uint64_t result, expected;                                                   \
        result = got;                                                                \
        feclearexcept(FE_ALL_EXCEPT);                                                \
        expected = want;                                                             \
        check(op, result, expected, flags, fetestexcept(FE_ALL_EXCEPT), a, b, mode); \
    } while (0)

static void singles(uint64_t a, uint64_t b, int mode)
{
    enum ieee_round r = (enum ieee_round)mode;
    volatile float x = as_s(a), y = as_s(b);
    uint64_t s = of_s(x), t = of_s(y);

    TRY(5, ieee_add(s, t, IEEE_S, r, &flags), of_s(x + y), s, t);
    TRY(6, ieee_mul(s, t, IEEE_S, r, &flags), of_s(x * y), s, t);
    TRY(7, ieee_div(s, t, IEEE_S, r, &flags), of_s(x / y), s, t);
    TRY(8, ieee_sqrt(s, IEEE_S, r, &flags), of_s(sqrtf(x)), s, 0);
    TRY(10, ieee_convert(s, IEEE_S, IEEE_T, r, &flags), of_t((double)x), s, 0);
}

static void integers(uint64_t a, int mode)
{
    enum ieee_round r = (enum ieee_round)mode;
    volatile double x = as_t(a);
    volatile int64_t i = (int64_t)a;

    if (fabs(x) < 9e18)
        TRY(11, ieee_to_int(a, r, &flags), (uint64_t)llrint(x), a, 0);
    TRY(12, ieee_from_int(i, IEEE_T, r, &flags), of_t((double)i), a, 0);
}

static void compares(uint64_t a, uint64_t b)
{
    double x = as_t(a), y = as_t(b);
    bool nan = isnan(x) || isnan(y);
    unsigned f = 0;

    wrong[13] += (ieee_compare(a, b, IEEE_UNORDERED, &f) != 0) != nan;
    wrong[13] += (ieee_compare(a, b, IEEE_EQUAL, &f) != 0) != (!nan && x == y);
    wrong[13] += (ieee_compare(a, b, IEEE_LESS, &f) != 0) != isless(x, y);
    wrong[13] += (ieee_compare(a, b, IEEE_LESS_EQUAL, &f) != 0) != islessequal(x, y);
}

static void all(uint64_t a, uint64_t b)
{
    volatile double x = as_t(a), y = as_t(b);

    for (int mode = 0; mode < 4; mode++) {
        enum ieee_round r = (enum ieee_round)mode;

        fesetround(modes[mode]);
        TRY(0, ieee_add(a, b, IEEE_T, r, &flags), of_t(x + y), a, b);
        TRY(1, ieee_sub(a, b, IEEE_T, r, &flags), of_t(x - y), a, b);
        TRY(2, ieee_mul(a, b, IEEE_T, r, &flags), of_t(x * y), a, b);
        TRY(3, ieee_div(a, b, IEEE_T, r, &flags), of_t(x / y), a, b);
        TRY(4, ieee_sqrt(a, IEEE_T, r, &flags), of_t(sqrt(x)), a, 0);
        TRY(9, ieee_convert(a, IEEE_T, IEEE_S, r, &flags), of_s((float)x), a, 0);
        singles(a, b, mode);
        integers(a, mode);
    }
    fesetround(FE_TONEAREST);
    compares(a, b);
}

static uint64_t random_bits(void)
{
    uint64_t v = 0;

    for (int i = 0; i < 4; i++)
        v = v << 16 | (uint64_t)(rand() & 0xFFFF);
    return v;
}

/* Any bits, bits near one, and numbers whose exponents bring results to the ends of the ranges. */
static uint64_t random_number(void)
{
    uint64_t v = random_bits();
    static const unsigned exponents[] = {0,     1,     52,    0x1FF, 0x37F, 0x381, 0x3FE,
                                         0x3FF, 0x400, 0x434, 0x47E, 0x47F, 0x5FF, 0x7FE};
    unsigned pick = (unsigned)rand() % 20;

    if (pick < sizeof(exponents) / sizeof(exponents[0]))
        v = (v & ~(0x7FFUL << 52)) | (uint64_t)exponents[pick] << 52;
    if (rand() % 3 == 0)
        v &= ~0xFFFFFFFUL;
    return v;
}

int main(void)
{
    srand(1);
    for (size_t i = 0; i < SPECIALS; i++)
        for (size_t k = 0; k < SPECIALS; k++)
            for (unsigned signs = 0; signs < 4; signs++)
                all(special[i] | (uint64_t)(signs & 1) << 63, special[k] | (uint64_t)(signs >> 1)
                                                                               << 63);
    for (int i = 0; i < ROUNDS; i++)
        all(random_number(), random_number());
    for (size_t op = 0; op < sizeof(names) / sizeof(names[0]); op++)
        ok(wrong[op] == 0, "%s: %lu of some %d differ", names[op], wrong[op], ROUNDS * 4);
    return tap_done();
}
