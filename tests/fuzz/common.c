/* Implements fuzz.h. fuzz_begin() does not reset the static data of this file. */
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/base/list.h"
#include "kernel/base/string.h"
#include "mm/pool/pool.h"

/* Defined by the linker: the beginning and end of the sections. Weak, because a fuzzer may have no
   such section. Declared as bytes, because a section may end at any address: with quadwords the
   compiler would assume that the size is a multiple of 8. */
extern unsigned char __start_fuzz_data[] __attribute__((weak));
extern unsigned char __stop_fuzz_data[] __attribute__((weak));
extern unsigned char __start_fuzz_bss[] __attribute__((weak));
extern unsigned char __stop_fuzz_bss[] __attribute__((weak));

void fuzz_fail(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("WRONG: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    abort();
}

/* ---- the kernel's messages, which are dropped ---- */

void printk(const char *fmt, ...) { (void)fmt; }

__attribute__((weak)) void panic(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("WRONG: panic: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    abort();
}

/* ---- static data ---- */

static unsigned char *kept;

/* Not memcpy, which would report the red zones that AddressSanitizer puts around variables. */
__attribute__((no_sanitize("address"))) static void copy(unsigned char *to,
                                                         const unsigned char *from, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8)
        *(volatile uint64_t *)(to + i) = *(const volatile uint64_t *)(from + i);
    for (size_t i = n & ~(size_t)7; i < n; i++)
        *(volatile unsigned char *)(to + i) = *(const volatile unsigned char *)(from + i);
}

static size_t bytes(const unsigned char *start, const unsigned char *stop)
{
    return (size_t)(stop - start);
}

static size_t whole(size_t n) { return (n + 7) & ~(size_t)7; } /* quadwords, in bytes */

void fuzz_keep(void)
{
    size_t data = bytes(__start_fuzz_data, __stop_fuzz_data);
    size_t bss = bytes(__start_fuzz_bss, __stop_fuzz_bss);

    if (!kept)
        kept = malloc(whole(data) + bss + 1);
    if (!kept)
        fuzz_fail("no memory to keep %zu bytes of static data", data + bss);
    copy(kept, __start_fuzz_data, data);
    copy(kept + whole(data), __start_fuzz_bss, bss);
}

void fuzz_begin(void)
{
    size_t data = bytes(__start_fuzz_data, __stop_fuzz_data);

    if (!kept)
        fuzz_keep();
    copy(__start_fuzz_data, kept, data);
    copy(__start_fuzz_bss, kept + whole(data), bytes(__start_fuzz_bss, __stop_fuzz_bss));
}

/* ---- pools made of malloc; weak, because some fuzzers link the kernel's ---- */

#define MARK 0x506F6F6C506F6F6Cul

struct given { /* in front of each block */
    struct list link;
    uint64_t size, mark;
};

static struct list given = {&given, &given};
long fuzz_pool_bytes, fuzz_pool_fail;
bool fuzz_pool_failed;

void fuzz_pool_begin(void)
{
    while (!list_empty(&given)) {
        struct given *g = list_first_entry(&given, struct given, link);

        list_remove(&g->link);
        free(g);
    }
    fuzz_pool_bytes = fuzz_pool_fail = 0;
    fuzz_pool_failed = false;
}

static void *take(size_t n)
{
    struct given *g;

    if (fuzz_pool_fail && --fuzz_pool_fail == 0) {
        fuzz_pool_failed = true;
        return NULL;
    }
    g = malloc(sizeof(*g) + n);
    if (!g)
        fuzz_fail("no memory on this machine");
    g->size = n;
    g->mark = MARK;
    list_add_tail(&given, &g->link);
    fuzz_pool_bytes += (long)n;
    memset(g + 1, 0xA5, n);
    return g + 1;
}

static void give(void *p, size_t n)
{
    struct given *g = (struct given *)p - 1;

    fuzz_check(g->mark == MARK, "a block is given back that was not given out");
    fuzz_check(g->size == n, "a block of %lu bytes is given back as one of %zu", g->size, n);
    list_remove(&g->link);
    fuzz_pool_bytes -= (long)n;
    free(g);
}

__attribute__((weak)) void *pgd_alloc(size_t n) { return take(n); }
__attribute__((weak)) void *npp_alloc(size_t n) { return take(n); }
__attribute__((weak)) void pgd_free(void *p, size_t n) { give(p, n); }
__attribute__((weak)) void npp_free(void *p, size_t n) { give(p, n); }
__attribute__((weak)) void npp_free_chain(void *first, size_t n)
{
    for (void *next; first; first = next) {
        next = *(void **)first;
        npp_free(first, n);
    }
}
__attribute__((weak)) void *pgd_alloc_zeroed(size_t n)
{
    void *p = take(n);

    return p ? memset(p, 0, n) : NULL;
}
__attribute__((weak)) void *npp_alloc_zeroed(size_t n) { return pgd_alloc_zeroed(n); }
