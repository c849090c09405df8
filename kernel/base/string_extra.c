/* What kernel/base/string.h has beyond the standard; builds for the host beside its C library. */
#include "kernel/base/string.h"

#define NO_IDIOMS __attribute__((optimize("no-tree-loop-distribute-patterns")))

size_t str_copy(char *dst, const char *src, size_t size)
{
    size_t n = strlen(src);

    if (size) {
        size_t cut = MIN(n, size - 1);

        memcpy(dst, src, cut);
        dst[cut] = 0;
    }
    return n;
}

size_t str_append(char *dst, const char *src, size_t size)
{
    size_t n = strnlen(dst, size);

    return n + str_copy(dst + n, src, size - n);
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

bool str_to_u64(const char *s, uint64_t *v)
{
    uint64_t base = 10, sum = 0;

    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        base = 16;
        s += 2;
    }
    if (!*s)
        return false;
    for (; *s; s++) {
        uint64_t digit = (uint64_t)digit_value(*s);

        if (digit >= base || __builtin_mul_overflow(sum, base, &sum) ||
            __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    *v = sum;
    return true;
}

NO_IDIOMS void mem_zero_page(void *page)
{
    uint64_t *q = page, *end = q + PAGE_SIZE / 8;

    do {
        q[0] = 0;
        q[1] = 0;
        q[2] = 0;
        q[3] = 0;
        q[4] = 0;
        q[5] = 0;
        q[6] = 0;
        q[7] = 0;
        q += 8;
    } while (q != end);
}

NO_IDIOMS void mem_copy_page(void *dst, const void *src)
{
    uint64_t *d = dst, *end = d + PAGE_SIZE / 8;
    const uint64_t *s = src;

    do {
        uint64_t a = s[0], b = s[1], c = s[2], e = s[3];
        uint64_t f = s[4], g = s[5], h = s[6], i = s[7];

        d[0] = a;
        d[1] = b;
        d[2] = c;
        d[3] = e;
        d[4] = f;
        d[5] = g;
        d[6] = h;
        d[7] = i;
        d += 8;
        s += 8;
    } while (d != end);
}

/* Two instructions a quadword (a load and an OR), and four for 32 of them. */
bool mem_is_zero(const void *p, size_t n)
{
    const uint64_t *q = p, *end = q + n / 8;

    for (; end - q >= 32; q += 32) {
        uint64_t a = 0, b = 0, c = 0, d = 0;

#pragma GCC unroll 8
        for (unsigned i = 0; i < 32; i += 4) {
            a |= q[i];
            b |= q[i + 1];
            c |= q[i + 2];
            d |= q[i + 3];
        }
        if (a | b | c | d)
            return false;
    }
    for (; q != end; q++)
        if (*q)
            return false;
    return true;
}
