/*
 * Memory and strings. Alpha traps on an unaligned quadword, so each routine first brings the
 * destination to an 8-byte boundary; the source is then read in aligned quadwords, which are merged
 * by shifts where the two differ. An aligned quadword never crosses a page, so reading the whole
 * one that holds the last byte wanted touches no page that the caller did not name. Main loops are
 * unrolled eightfold: 11 instructions for 64 bytes filled, 19 for 64 copied.
 *
 * The compiler must not turn these loops into calls of the very functions they define.
 */
#include "kernel/base/string.h"

#undef memcpy
#undef memset
#undef memcmp
#undef strlen

/* The host's C library has these names; its tests call ours by others. */
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

    for (; n >= 64; n -= 64, q += 8) {
        q[0] = fill;
        q[1] = fill;
        q[2] = fill;
        q[3] = fill;
        q[4] = fill;
        q[5] = fill;
        q[6] = fill;
        q[7] = fill;
    }
    for (; n >= 8; n -= 8)
        *q++ = fill;
    d = (unsigned char *)q;
    while (n--)
        *d++ = (unsigned char)c;
    return dst;
}

/* Both aligned; returns the bytes left over, fewer than 8. */
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
    for (; n >= 8; n -= 8)
        *d++ = *s++;
    *dp = d;
    *sp = s;
    return n;
}

/* The source lies 1..7 bytes off the destination's alignment: merge neighbours. n >= 8. The address
   sanitizer would mind the bytes beside the source that come with its first and last quadword. */
__attribute__((no_sanitize_address)) NO_IDIOMS static size_t
copy_merged(unsigned char **dp, const unsigned char **sp, size_t n)
{
    quad *d = (quad *)*dp;
    unsigned shift = ((uint64_t)*sp & 7) * 8;
    const quad *s = (const quad *)((uint64_t)*sp & ~7UL);
    uint64_t low = *s++;
    size_t done = n & ~7UL;

    for (size_t i = 0; i < done; i += 8) {
        uint64_t high = *s++;

        *d++ = low >> shift | high << (64 - shift);
        low = high;
    }
    *dp += done;
    *sp += done;
    return n - done;
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
    } else if (n >= 8 && (((uint64_t)d | (uint64_t)s) & 7) == 0) { /* short names and the like */
        *(quad *)d = *(const quad *)s;
        d += 8;
        s += 8;
        n -= 8;
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
        /* A forward copy reads each source byte before it writes over it, unless the merging
           copy has read ahead: with less than a quadword between the two, go by bytes. */
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
    for (; n; n--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

void *memchr(const void *p, int c, size_t n)
{
    const unsigned char *s = p;

    for (; n; n--, s++)
        if (*s == (unsigned char)c)
            return (void *)s;
    return NULL;
}

size_t strnlen(const char *s, size_t max)
{
    size_t n = 0;

    while (n < max && s[n])
        n++;
    return n;
}

NO_IDIOMS size_t strlen(const char *s)
{
    size_t n = 0;

    while (s[n])
        n++;
    return n;
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
