/*
 * Memory and strings. Alpha traps on an unaligned quadword, so each function first handles single
 * bytes until the destination is aligned to 8 bytes. It then reads the source in aligned quadwords,
 * which it combines by shifts if source and destination differ in alignment. An aligned quadword
 * does not cross a page boundary, so reading the whole quadword that contains the last byte
 * accesses no page outside the caller's range. The main loops are unrolled: 19 instructions fill
 * 128 bytes, 19 copy 64 bytes, and 44 if source and destination differ in alignment.
 *
 * NO_IDIOMS prevents the compiler from turning these loops into calls of the functions themselves.
 */
#include "kernel/base/string.h"

#undef memcpy
#undef memset
#undef memcmp
#undef strlen

/* The host's C library defines these names, so host tests call the kernel's functions by others. */
#if __STDC_HOSTED__
#define memcpy  string_memcpy
#define memmove string_memmove
#define memset  string_memset
#define memcmp  string_memcmp
#define memchr  string_memchr
#define strlen  string_strlen
#define strnlen string_strnlen
#define strcmp  string_strcmp
#define strncmp string_strncmp
#define strchr  string_strchr
#define strrchr string_strrchr
#define strstr  string_strstr
#endif

#define NO_IDIOMS __attribute__((optimize("no-tree-loop-distribute-patterns")))

typedef uint64_t quad __attribute__((may_alias));

/* A quadword at any address: read as the one or two aligned ones that contain it. */
struct loose_quad {
    uint64_t q;
} __attribute__((packed, may_alias));

/* Four and two bytes, read in the same way, and where they are aligned. */
struct loose_word {
    uint32_t w;
} __attribute__((packed, may_alias));

struct loose_half {
    uint16_t h;
} __attribute__((packed, may_alias));

typedef uint32_t word __attribute__((may_alias));
typedef uint16_t half __attribute__((may_alias));

NO_IDIOMS void *memset(void *dst, int c, size_t n)
{
    unsigned char *d = dst;
    uint64_t fill = (unsigned char)c * 0x0101010101010101UL;

    if (n < 16) {
        while (n--)
            *d++ = (unsigned char)c;
        return dst;
    }
    for (; (uint64_t)d & 7; n--)
        *d++ = (unsigned char)c;
    quad *q = (quad *)d;

    for (; n >= 128; n -= 128, q += 16) {
#pragma GCC unroll 16
        for (unsigned k = 0; k < 16; k++)
            q[k] = fill;
    }
    if (n & 64) {
#pragma GCC unroll 8
        for (unsigned k = 0; k < 8; k++)
            q[k] = fill;
        q += 8;
    }
    if (n & 32) {
        q[0] = fill;
        q[1] = fill;
        q[2] = fill;
        q[3] = fill;
        q += 4;
    }
    if (n & 16) {
        q[0] = fill;
        q[1] = fill;
        q += 2;
    }
    if (n & 8)
        *q++ = fill;
    d = (unsigned char *)q;
    for (n &= 7; n; n--)
        *d++ = (unsigned char)c;
    return dst;
}

/* Copy quadwords; both pointers are aligned. Returns the number of bytes left, fewer than 8. */
NO_IDIOMS static inline size_t copy_aligned(quad **dp, const quad **sp, size_t n)
{
    quad *d = *dp;
    const quad *s = *sp;

    for (; n >= 64; n -= 64, d += 8, s += 8) {
        uint64_t a = s[0], b = s[1], c = s[2], e = s[3];

        d[0] = a;
        d[1] = b;
        d[2] = c;
        d[3] = e;
        a = s[4];
        b = s[5];
        c = s[6];
        e = s[7];
        d[4] = a;
        d[5] = b;
        d[6] = c;
        d[7] = e;
    }
    if (n & 32) {
        uint64_t a = s[0], b = s[1], c = s[2], e = s[3];

        d[0] = a;
        d[1] = b;
        d[2] = c;
        d[3] = e;
        d += 4;
        s += 4;
    }
    if (n & 16) {
        uint64_t a = s[0], b = s[1];

        d[0] = a;
        d[1] = b;
        d += 2;
        s += 2;
    }
    if (n & 8)
        *d++ = *s++;
    *dp = d;
    *sp = s;
    return n & 7;
}

/* The quadword at byte `offset` (1 to 7) of the pair low, high. An extraction takes the offset from
   an address, so that the source's address itself serves. */
static inline uint64_t merge(uint64_t low, uint64_t high, uint64_t offset)
{
#ifdef __alpha__
    return __builtin_alpha_extql(low, offset) | __builtin_alpha_extqh(high, offset);
#else
    unsigned shift = (offset & 7) * 8;

    return low >> shift | high << (64 - shift);
#endif
}

/* Copy when the source is not aligned, n >= 8: combine adjacent quadwords, each of which is loaded
   once. Returns the number of bytes left. The address sanitizer is disabled, because the source's
   first and last quadword also contain bytes outside the source. */
__attribute__((no_sanitize_address)) NO_IDIOMS static size_t
copy_merged(unsigned char **dp, const unsigned char **sp, size_t n)
{
    quad *d = (quad *)*dp;
    uint64_t offset = (uint64_t)*sp;
    const quad *s = (const quad *)(offset & ~7UL);
    uint64_t low = *s++, high;
    size_t done = n & ~7UL, left = done;

    for (; left >= 64; left -= 64, d += 8, s += 8) {
        high = s[0];
        d[0] = merge(low, high, offset);
        low = s[1];
        d[1] = merge(high, low, offset);
        high = s[2];
        d[2] = merge(low, high, offset);
        low = s[3];
        d[3] = merge(high, low, offset);
        high = s[4];
        d[4] = merge(low, high, offset);
        low = s[5];
        d[5] = merge(high, low, offset);
        high = s[6];
        d[6] = merge(low, high, offset);
        low = s[7];
        d[7] = merge(high, low, offset);
    }
    for (; left; left -= 8) {
        high = *s++;
        *d++ = merge(low, high, offset);
        low = high;
    }
    *dp += done;
    *sp += done;
    return n - done;
}

/* Copy up to seven bytes to a destination that is aligned to eight. */
static inline void copy_tail(unsigned char *d, const unsigned char *s, size_t n)
{
    if (n & 4) {
        *(word *)d = ((const struct loose_word *)s)->w;
        d += 4;
        s += 4;
    }
    if (n & 2) {
        *(half *)d = ((const struct loose_half *)s)->h;
        d += 2;
        s += 2;
    }
    if (n & 1)
        *d = *s;
}

NO_IDIOMS void *memcpy(void *dst, const void *src, size_t n)
{
    unsigned char *d = dst;
    const unsigned char *s = src;

    if (n >= 16) {
        for (; (uint64_t)d & 7; n--)
            *d++ = *s++;
        if (((uint64_t)s & 7) == 0)
            n = copy_aligned((quad **)&d, (const quad **)&s, n);
        else
            n = copy_merged(&d, &s, n);
        if (n)
            copy_tail(d, s, n);
        return dst;
    }
    if (((uint64_t)d & 7) == 0) { /* for example short names */
        if (n & 8) {
            *(quad *)d = (uint64_t)s & 7 ? ((const struct loose_quad *)s)->q : *(const quad *)s;
            d += 8;
            s += 8;
        }
        copy_tail(d, s, n);
        return dst;
    }
    while (n--)
        *d++ = *s++;
    return dst;
}

NO_IDIOMS void *memmove(void *dst, const void *src, size_t n)
{
    unsigned char *d = dst;
    const unsigned char *s = src;

    if (d <= s || d >= s + n) {
        /* A forward copy reads each source byte before it overwrites it, except that copy_merged
           reads ahead: when the distance is less than two quadwords, copy by bytes. */
        if (d == s || d >= s + n || s - d >= 16)
            return memcpy(dst, src, n);
        while (n--)
            *d++ = *s++;
        return dst;
    }
    d += n;
    s += n;
    if ((((uint64_t)d ^ (uint64_t)s) & 7) == 0) {
        for (; n && ((uint64_t)d & 7); n--)
            *--d = *--s;
        for (; n >= 8; n -= 8) {
            d -= 8;
            s -= 8;
            *(quad *)d = *(const quad *)s;
        }
    }
    while (n--)
        *--d = *--s;
    return dst;
}

NO_IDIOMS int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;

    if ((((uint64_t)x | (uint64_t)y) & 7) == 0)
        for (; n >= 8 && *(const quad *)x == *(const quad *)y; n -= 8) {
            x += 8;
            y += 8;
        }
    else
        for (; n >= 8 && ((const struct loose_quad *)x)->q == ((const struct loose_quad *)y)->q;
             n -= 8) {
            x += 8;
            y += 8;
        }
    for (; n; n--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

/* The high bit of each byte of v that is 0, up to the first of them; what is above it may be wrong.
   So the lowest bit that is set belongs to the first zero byte. */
static inline uint64_t zero_bytes(uint64_t v)
{
    return (v - 0x0101010101010101UL) & ~v & 0x8080808080808080UL;
}

/* The bytes of an aligned quadword that are below address p, all ones. */
static inline uint64_t bytes_below(const void *p) { return (1UL << ((uint64_t)p & 7) * 8) - 1; }

/* Reads the aligned quadwords that contain bytes of the range. */
__attribute__((no_sanitize_address)) NO_IDIOMS void *memchr(const void *p, int c, size_t n)
{
    const quad *q = (const quad *)((uint64_t)p & ~7UL);
    uint64_t fill = (unsigned char)c * 0x0101010101010101UL, zero;

    if (n == 0)
        return NULL;
    zero = zero_bytes((*q ^ fill) | bytes_below(p));
    while (!zero) {
        if ((uint64_t)++q - (uint64_t)p >= n)
            return NULL;
        zero = zero_bytes(*q ^ fill);
    }
    const char *at = (const char *)q + __builtin_ctzl(zero) / 8;

    return (size_t)(at - (const char *)p) < n ? (void *)at : NULL;
}

size_t strnlen(const char *s, size_t max)
{
    size_t n = 0;

    while (n < max && s[n])
        n++;
    return n;
}

/* Reads the aligned quadwords that contain bytes of the string. */
__attribute__((no_sanitize_address)) NO_IDIOMS size_t strlen(const char *s)
{
    const quad *q = (const quad *)((uint64_t)s & ~7UL);
    uint64_t zero = zero_bytes(*q | bytes_below(s));

    while (!zero)
        zero = zero_bytes(*++q);
    return (size_t)((const char *)q - s) + (size_t)__builtin_ctzl(zero) / 8;
}

int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++)
        b++;
    return (unsigned char)*a - (unsigned char)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n && *a && *a == *b; a++, n--)
        b++;
    return n ? (unsigned char)*a - (unsigned char)*b : 0;
}

char *strchr(const char *s, int c)
{
    for (; *s != (char)c; s++)
        if (!*s)
            return NULL;
    return (char *)s;
}

char *strrchr(const char *s, int c)
{
    const char *last = NULL;

    for (;; s++) {
        if (*s == (char)c)
            last = s;
        if (!*s)
            return (char *)last;
    }
}

char *strstr(const char *s, const char *needle)
{
    size_t n = strlen(needle);

    for (;; s++) {
        if (strncmp(s, needle, n) == 0)
            return (char *)s;
        if (!*s)
            return NULL;
    }
}
