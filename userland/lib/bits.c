/* Bit fields, bits with interlock, and numbers of several longwords, as instructions of the VAX
 * treated them. */
#include <libdef.h>
#include <rtl/bits.h>
#include <rtl/handler.h>
#include <ssdef.h>
#include <stdbool.h>
#include <stdint.h>

#undef lib$addx
#undef lib$subx

#define FIELD_MAX 32 /* bits of a field */

/* The byte that has bit number *position, which becomes the number of the bit in it. */
static unsigned char *byte_of(const void *base, int64_t *position)
{
    unsigned char *byte = (unsigned char *)(uintptr_t)base + (*position >> 3);

    *position &= 7;
    return byte;
}

/* Is this the size of a field? If not, signals. */
static bool is_size(unsigned size)
{
    if (size > FIELD_MAX)
        lib$signal(SS$_ROPRAND);
    return size <= FIELD_MAX;
}

/* The bits of a field, touching no byte outside of it. */
static uint64_t field(const void *base, int64_t position, unsigned size)
{
    const unsigned char *byte = byte_of(base, &position);
    uint64_t bits = 0;

    for (unsigned i = 0; i * 8 < size + (unsigned)position; i++)
        bits |= (uint64_t)byte[i] << i * 8;
    return bits >> position & ((UINT64_C(1) << size) - 1);
}

unsigned int lib$extzv(const int *position, const unsigned char *size, const void *base)
{
    return is_size(*size) ? (unsigned)field(base, *position, *size) : 0;
}

int lib$extv(const int *position, const unsigned char *size, const void *base)
{
    uint64_t bits = is_size(*size) ? field(base, *position, *size) : 0;

    if (*size && *size < FIELD_MAX && bits >> (*size - 1))
        bits |= ~UINT64_C(0) << *size;
    return (int)bits;
}

void lib$insv(const int *source, const int *position, const unsigned char *size, void *base)
{
    int64_t at = *position;
    unsigned char *byte = byte_of(base, &at);
    uint64_t mask, bits;

    if (!is_size(*size))
        return;
    mask = ((UINT64_C(1) << *size) - 1) << at;
    bits = (uint64_t)(uint32_t)*source << at;
    for (; mask; mask >>= 8, bits >>= 8, byte++)
        *byte = (unsigned char)((*byte & ~mask) | (bits & mask));
}

static int find(const int *position, const unsigned char *size, const void *base, int *found,
                uint64_t flip)
{
    uint64_t bits;

    if (!is_size(*size))
        return SS$_ROPRAND;
    bits = (field(base, *position, *size) ^ flip) & ((UINT64_C(1) << *size) - 1);
    *found = *position + (bits ? __builtin_ctzl(bits) : *size);
    return bits ? SS$_NORMAL : LIB$_NOTFOU;
}

int lib$ffs(const int *position, const unsigned char *size, const void *base, int *found)
{
    return find(position, size, base, found, 0);
}

int lib$ffc(const int *position, const unsigned char *size, const void *base, int *found)
{
    return find(position, size, base, found, ~UINT64_C(0));
}

int lib$bbssi(const int *position, void *base)
{
    int64_t at = *position;
    unsigned char *byte = byte_of(base, &at);

    return __atomic_fetch_or(byte, (unsigned char)(1u << at), __ATOMIC_SEQ_CST) >> at & 1;
}

int lib$bbcci(const int *position, void *base)
{
    int64_t at = *position;
    unsigned char *byte = byte_of(base, &at);

    return __atomic_fetch_and(byte, (unsigned char)~(1u << at), __ATOMIC_SEQ_CST) >> at & 1;
}

int lib$adawi(const short *add, short *sum, short *sign)
{
    int16_t after;
    int32_t exact;

    if ((uintptr_t)sum & 1)
        return SS$_ROPRAND;
    after = __atomic_add_fetch(sum, *add, __ATOMIC_SEQ_CST);
    exact = (int16_t)(after - *add) + *add;
    *sign = (short)((after > 0) - (after < 0));
    return exact == after ? LIB$_NORMAL : LIB$_INTOVF;
}

/* The sum of two numbers of n longwords and a carry, after b was inverted (flip). */
static int add(const int *a, const int *b, int *result, const int *length, uint32_t flip)
{
    uint64_t sum = flip & 1; /* of the one's complement, 1 more is the two's */
    bool overflow = false;
    int n = length ? *length : 2;

    if (n < 0)
        return LIB$_INVARG;
    for (int i = 0; i < n; i++) {
        uint32_t x = (uint32_t)a[i], y = (uint32_t)b[i] ^ flip;

        sum += (uint64_t)x + y;
        overflow = ((x ^ (uint32_t)sum) & (y ^ (uint32_t)sum)) >> 31;
        result[i] = (int)(uint32_t)sum;
        sum >>= 32;
    }
    return overflow ? SS$_INTOVF : SS$_NORMAL;
}

int lib$addx(const int *addend, const int *augend, int *sum, const int *length)
{
    return add(addend, augend, sum, length, 0);
}

int lib$subx(const int *minuend, const int *subtrahend, int *difference, const int *length)
{
    return add(minuend, subtrahend, difference, length, UINT32_MAX);
}
