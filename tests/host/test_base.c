// SOURCES: kernel/base/format.c kernel/base/string.c kernel/base/string_extra.c kernel/base/treap.c
// SOURCES: kernel/base/chacha.c
/*
 * Formatting, memory and strings, lists, ranges and bits. Copies and fills are compared with a
 * bytewise model for every alignment and length up to a few unrolled rounds, with guard bytes
 * around.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/base/bitops.h"
#include "kernel/base/chacha.h"
#include "kernel/base/format.h"
#include "kernel/base/list.h"
#include "kernel/base/range.h"
#include "kernel/base/string.h"
#include "kernel/base/symbols.h"
#include "kernel/base/treap.h"
#include "userland/lib/include/tap.h"

void *string_memcpy(void *dst, const void *src, size_t n);
void *string_memmove(void *dst, const void *src, size_t n);
void *string_memset(void *dst, int c, size_t n);
int string_memcmp(const void *a, const void *b, size_t n);
void *string_memchr(const void *p, int c, size_t n);
size_t string_strlen(const char *s);
int string_strcmp(const char *a, const char *b);
int string_strncmp(const char *a, const char *b, size_t n);
char *string_strchr(const char *s, int c);
char *string_strrchr(const char *s, int c);
char *string_strstr(const char *s, const char *needle);

/* A symbol table of one function. */
const char *symbol_find(uint64_t address, uint64_t *offset)
{
    if (address < 0x1000 || address >= 0x2000)
        return NULL;
    *offset = address - 0x1000;
    return "function";
}

/* The kernel's formatter must agree with the C library's for the formats that both have. */
__attribute__((format(printf, 1, 2))) static void same(const char *fmt, ...)
{
    char ours[200], theirs[200];
    va_list ap, copy;

    va_start(ap, fmt);
    va_copy(copy, ap);
    size_t n = vformat(ours, sizeof(ours), fmt, ap);
    int m = vsnprintf(theirs, sizeof(theirs), fmt, copy);

    va_end(copy);
    va_end(ap);
    ok(n == (size_t)m && strcmp(ours, theirs) == 0, "\"%s\" gives \"%s\" (\"%s\")", fmt, theirs,
       ours);
}

static void test_format(void)
{
    char small[6];

    same("%d %i %u", -5, 7, 4000000000u);
    same("%ld %lu %lx", INT64_MIN, UINT64_MAX, UINT64_MAX);
    same("%5d|%-5d|%05d|%+d|% d", 42, 42, 42, 42, 42);
    same("%#x %#X %#o %x", 0xbeef, 0xbeef, 8, 0);
    same("%#x %#lx", 0, 0UL);
    same("%08lx|%16lx|%-16lx|", 0x1234UL, 0x1234UL, 0x1234UL);
    same("%.3d|%.0d|%8.3d|%-8.3d|", 5, 0, 5, 5);
    same("%hhu %hd %hhd", 0x1ff, 0x18000, 0x80);
    same("%zu %jd %td", (size_t)9, (intmax_t)-9, (ptrdiff_t)3);
    same("%s|%10s|%-10s|%.2s|%.*s", "abc", "abc", "abc", "abc", 1, "abc");
    same("%c%c%5c|%-5c|%%", 'x', 'y', 'z', 'w');
    same("%*d|%-*d|%*d", 6, 1, 6, 2, -6, 3);
    same("%p", (void *)0x1234);
    ok(format(small, sizeof(small), "%s", "too long") == 8, "the length is that without the cut");
    is_str(small, "too l", "cut and terminated");
    ok(format(NULL, 0, "%d", 12345) == 5, "no buffer: only the length");

    char line[64];

    format(line, sizeof(line), "%pS %pS %pS", (void *)0x1010, (void *)0x1000, (void *)0x3000);
    is_str(line, "function+0x10 function+0 0x3000", "addresses become symbols");
    const char *volatile nothing = NULL;

    format(line, sizeof(line), "%s", nothing);
    is_str(line, "(null)", "a null string is shown");
}

#define ROOM  400
#define GUARD 16

static unsigned char from[ROOM], to[ROOM], model[ROOM];

static bool same_after(const char *what, size_t a, size_t b, size_t n)
{
    if (memcmp(to, model, ROOM) == 0)
        return true;
    diag("%s differs: offsets %zu and %zu, %zu bytes", what, a, b, n);
    return false;
}

/* Do a and b compare as their first different bytes do, which are at that position? */
static bool differs(const unsigned char *a, const unsigned char *b, size_t n, size_t position)
{
    int order = string_memcmp(a, b, n);

    return order != 0 && (order < 0) == (a[position] < b[position]);
}

static void test_copies(void)
{
    bool copies = true, fills = true, moves = true, compares = true;

    for (size_t i = 0; i < ROOM; i++)
        from[i] = (unsigned char)(i * 7 + 1);
    for (size_t d = GUARD; d < GUARD + 8; d++)
        for (size_t s = GUARD; s < GUARD + 8; s++)
            for (size_t n = 0; n < 200; n++) {
                for (size_t i = 0; i < ROOM; i++)
                    to[i] = model[i] = 0xEE;
                for (size_t i = 0; i < n; i++)
                    model[d + i] = from[s + i];
                string_memcpy(to + d, from + s, n);
                copies &= same_after("copy", d, s, n);
                compares &= string_memcmp(to + d, from + s, n) == 0;
                if (n) {
                    to[d + n - 1] ^= 1;
                    compares &= differs(to + d, from + s, n, n - 1);
                    to[d + n / 2] ^= 0x80;
                    compares &= differs(to + d, from + s, n, n / 2);
                }
            }
    ok(copies, "memcpy: every alignment and length");
    ok(compares, "memcmp: equal, and different in the last byte or the middle");
    for (size_t d = GUARD; d < GUARD + 8; d++)
        for (size_t n = 0; n < 200; n++) {
            for (size_t i = 0; i < ROOM; i++)
                to[i] = model[i] = 0xEE;
            for (size_t i = 0; i < n; i++)
                model[d + i] = 0x5A;
            string_memset(to + d, 0x35A, n);
            fills &= same_after("fill", d, 0, n);
        }
    ok(fills, "memset: every alignment and length");
    for (size_t d = 0; d < 40; d++)
        for (size_t s = 0; s < 40; s++)
            for (size_t n = 0; n < 150; n += n < 40 ? 1 : 13) {
                for (size_t i = 0; i < ROOM; i++)
                    to[i] = model[i] = (unsigned char)(i * 5);
                for (size_t i = 0; i < n; i++)
                    model[d + i] = to[s + i];
                string_memmove(to + d, to + s, n);
                moves &= same_after("move", d, s, n);
            }
    ok(moves, "memmove: overlapping, both ways");
}

/* At every place in a quadword, with bytes around that a search by quadwords could take for what is
 * looked for. */
static void test_searches(void)
{
    static char buf[64];
    bool lengths = true, found = true;

    for (unsigned at = 0; at < 8; at++)
        for (unsigned n = 0; n < 24; n++)
            for (unsigned around = 0; around < 2; around++) {
                memset(buf, around ? 1 : 0, sizeof(buf));
                memset(buf + at, around ? 0x80 : 0xFF, n);
                buf[at + n] = '\0';
                lengths &= string_strlen(buf + at) == n;
                found &= string_memchr(buf + at, 0, n + 1) == buf + at + n;
                found &= !string_memchr(buf + at, 0, n) && !string_memchr(buf + at, 1, n);
                found &= string_memchr(buf + at, 0, SIZE_MAX) == buf + at + n;
                buf[at + n] = 'c';
                buf[at + n + 1] = 'c';
                found &= string_memchr(buf + at, 'c', 40) == buf + at + n;
            }
    ok(lengths, "strlen: every place and length");
    ok(found, "memchr: every place and length");
}

static void test_strings(void)
{
    char buf[8];
    uint64_t v = 77;

    is(string_strlen("four"), 4, "strlen");
    ok(string_strcmp("abc", "abd") < 0 && string_strcmp("b", "abc") > 0 && !string_strcmp("", ""),
       "strcmp");
    ok(string_strcmp("\xff", "a") > 0, "characters compare as unsigned");
    ok(string_strncmp("abcX", "abcY", 3) == 0 && string_strncmp("abcX", "abcY", 4) < 0, "strncmp");
    const char *path = "/bin/sh";

    ok(string_strchr(path, 'b') == path + 1 && string_strchr(path, 0) == path + 7 &&
           !string_strchr(path, 'x'),
       "strchr");
    ok(string_strrchr(path, '/') == path + 4 && !string_strrchr(path, 'x'), "strrchr");
    ok(string_strstr(path, "in/") == path + 2 && !string_strstr(path, "shx") &&
           string_strstr(path, "") == path,
       "strstr");
    ok(str_copy(buf, "0123456789", sizeof(buf)) == 10, "str_copy tells the whole length");
    is_str(buf, "0123456", "str_copy truncates");
    str_copy(buf, "ab", sizeof(buf));
    ok(str_append(buf, "cd", sizeof(buf)) == 4 && str_append(buf, "efgh", sizeof(buf)) == 8,
       "str_append");
    is_str(buf, "abcdefg", "appending truncates");
    ok(str_to_u64("0x1F", &v) && v == 31 && str_to_u64("0", &v) && v == 0, "numbers");
    ok(str_to_u64("18446744073709551615", &v) && v == UINT64_MAX, "the greatest number");
    ok(!str_to_u64("18446744073709551616", &v) && !str_to_u64("", &v) && !str_to_u64("12a", &v) &&
           !str_to_u64("0x", &v) && !str_to_u64("-1", &v),
       "text that is not a number is refused");

    uint64_t *page = aligned_alloc(PAGE_SIZE, PAGE_SIZE),
             *copy = aligned_alloc(PAGE_SIZE, PAGE_SIZE);

    memset(page, 0xFF, PAGE_SIZE);
    mem_zero_page(page);
    ok(mem_is_zero(page, PAGE_SIZE), "a zeroed page reads zero");
    bool found = true;

    for (size_t i = 0; i < PAGE_SIZE / 8; i++) {
        page[i] = 1;
        found &= !mem_is_zero(page, PAGE_SIZE);
        page[i] = 0;
    }
    ok(found, "a bit set anywhere in the page is found");
    for (size_t i = 0; i < PAGE_SIZE / 8; i++)
        page[i] = i * 0x123456789;
    mem_copy_page(copy, page);
    ok(memcmp(copy, page, PAGE_SIZE) == 0, "a page is copied completely");
    free(page);
    free(copy);
}

struct item {
    int n;
    struct list link;
};

static int sum_in_order(struct list *head)
{
    struct item *i;
    int digits = 0;

    list_for_each_entry(i, head, link)
        digits = digits * 10 + i->n;
    return digits;
}

static void test_lists(void)
{
    struct list head = LIST_INIT(head), other = LIST_INIT(other);
    struct item items[5], *i, *next;

    for (int n = 0; n < 5; n++) {
        items[n].n = n + 1;
        list_init(&items[n].link);
    }
    ok(list_empty(&head) && !list_first(&head) && !list_pop_head(&head), "empty");
    list_add_tail(&head, &items[1].link);
    list_add_tail(&head, &items[2].link);
    list_add_head(&head, &items[0].link);
    is(sum_in_order(&head), 123, "head and tail");
    list_add_after(&items[0].link, &items[3].link);
    list_add_before(&items[2].link, &items[4].link);
    is(sum_in_order(&head), 14253, "after and before");
    list_remove(&items[3].link);
    list_remove(&items[3].link);
    ok(list_empty(&items[3].link), "removed, twice without harm");
    is(list_length(&head), 4, "length");
    list_for_each_entry_safe(i, next, &head, link)
        if (i->n % 2)
            list_remove(&i->link);
    is(sum_in_order(&head), 2, "removed while walking");
    list_add_tail(&other, &items[0].link);
    list_add_tail(&other, &items[2].link);
    list_splice_tail(&head, &other);
    ok(sum_in_order(&head) == 213 && list_empty(&other), "spliced");
    list_splice_tail(&head, &other);
    is(sum_in_order(&head), 213, "splicing nothing changes nothing");
    ok(list_pop_head(&head) == &items[1].link && list_first(&head) == &items[0].link &&
           list_last(&head) == &items[2].link && list_next(&head, &items[2].link) == NULL &&
           list_prev(&head, &items[2].link) == &items[0].link,
       "neighbours and ends");
}

static void test_numbers(void)
{
    uint64_t v = 5, map[2] = {UINT64_MAX, 1};

    ok(!add_ok(UINT64_MAX, 1, &v) && v == 5, "a sum that overflows leaves the result alone");
    ok(add_ok(UINT64_MAX - 1, 1, &v) && v == UINT64_MAX, "the greatest sum does not overflow");
    ok(!sub_ok(1, 2, &v) && sub_ok(2, 1, &v) && v == 1, "differences");
    ok(!mul_ok(1UL << 32, 1UL << 32, &v) && mul_ok(1UL << 32, 1UL << 31, &v) && v == 1UL << 63,
       "products");
    ok(!align_up_ok(UINT64_MAX - 5, 8192, &v) && align_up_ok(1, 8192, &v) && v == 8192,
       "alignment");
    ok(range_within(10, 5, 10, 15) && !range_within(10, 6, 10, 15) && !range_within(9, 1, 10, 15) &&
           range_within(15, 0, 10, 15) && !range_within(12, UINT64_MAX, 10, 15),
       "ranges within ranges");
    ok(range_overlaps(0, 10, 9, 20) && !range_overlaps(0, 10, 10, 20) &&
           !range_overlaps(5, 5, 5, 6),
       "overlaps");
    ok(bit_lowest(0x50) == 4 && bit_highest(0x50) == 6 && bit_count(0x50) == 2, "bits");
    ok(power_of_2_below(9) == 8 && power_of_2_above(9) == 16 && power_of_2_above(16) == 16 &&
           power_of_2_above(UINT64_MAX) == 0 && power_of_2_above(0) == 1 && is_power_of_2(1) &&
           !is_power_of_2(0),
       "powers of two");
    ok(bitmap_first_clear(map, 128) == 65 && bitmap_first_clear(map, 65) == 65 &&
           bitmap_first_clear(map, 64) == 64,
       "first clear bit");
}

static int counted_calls;
static uint64_t counted(uint64_t v)
{
    counted_calls++;
    return v;
}

/* Macros must evaluate their arguments once. A second evaluation of wake_all(), for example, would
   return 0, because all threads are awake by then. */
static void test_single_evaluation(void)
{
    uint64_t v = 7;

    ok(MIN(counted(3), 5ul) == 3 && MIN(5ul, counted(3)) == 3 && counted_calls == 2,
       "MIN evaluates each argument once");
    ok(MAX(counted(9), 5ul) == 9 && MAX(5ul, counted(9)) == 9 && counted_calls == 4,
       "MAX evaluates each argument once");
    is(MIN(100ul, MAX(v++, MIN(v, 2ul))), 7, "MIN and MAX can be nested");
    is(v, 8, "and evaluate each argument once then, too");
    ok(MIN(-1, 1) == -1 && MAX(-1l, 1l) == 1 && MIN(UINT64_MAX, 1ul) == 1, "signs and widths");
    is(sizeof(char[CONST_MAX(3, 4)]), 4, "CONST_MAX is a constant");
}

/* ---- search trees ---- */

#define NODES  4000u
#define STRIDE 1024u /* bytes from one node to the next, at most */

/* Insert a node at the right end. */
static void append(struct treap *t, struct treap_node *n)
{
    struct treap_node *last = treap_last(t);

    treap_insert(t, n, last, last ? &last->right : &t->root);
}

/* The mean depth of a tree whose elements, of so many bytes, lie one behind the other. */
static double mean_depth(char *memory, size_t stride)
{
    struct treap t = {NULL};
    unsigned long sum = 0;

    for (size_t i = 0; i < NODES; i++)
        append(&t, (struct treap_node *)(memory + i * stride));
    for (struct treap_node *n = treap_first(&t); n; n = treap_next(n))
        for (const struct treap_node *above = n; above; above = above->up)
            sum++;
    return (double)sum / NODES;
}

/* A random tree of 4,000 nodes has a mean depth of 2 ln 4,000 - 1.8 or 14.7, with a standard
   deviation of 0.6. */
static void test_tree_depth(void)
{
    static const size_t strides[] = {64, 96, 128, 192, 224, 1024};
    char *memory = calloc(NODES, STRIDE);
    double most = 0;

    for (size_t s = 0; s < ARRAY_SIZE(strides); s++)
        for (uint64_t boot = 0; boot < 32; boot++) {
            treap_secret = treap_secret * 6364136223846793005u + 1442695040888963407u;
            most = MAX(most, mean_depth(memory, strides[s]));
        }
    ok(most < 20, "trees of elements at equal distances are %.1f deep in the mean", most);
    free(memory);
}

/* Do the nodes of t, of which there are n, come in the order of `at`, and do their numbers find
   them? */
static bool counts_rightly(const struct treap *t, struct treap_node **at, unsigned n)
{
    const struct treap_node *next = treap_first(t);

    for (unsigned i = 0; i < n; i++, next = treap_next(next))
        if (next != at[i] || treap_nth(t, i) != at[i])
            return false;
    return !next && !treap_nth(t, n) && !treap_nth(t, UINT64_MAX);
}

/* A tree that counts, against an array, while nodes are appended and taken out at random. */
static void test_counting_tree(void)
{
    enum { MOST = 64 };
    static struct treap_node nodes[2048], *at[MOST];
    unsigned n = 0, good = 0, random = 1;
    struct treap t = {NULL};

    for (unsigned i = 0; i < ARRAY_SIZE(nodes); i++) {
        random = random * 1103515245u + 12345u;
        if (n == MOST || (n && (random >> 16) % 3 == 0)) {
            unsigned k = (random >> 18) % n;

            treap_take_out(&t, at[k]);
            memmove(&at[k], &at[k + 1], (--n - k) * sizeof(at[0]));
        } else {
            treap_append(&t, &nodes[i]);
            at[n++] = &nodes[i];
        }
        good += counts_rightly(&t, at, n);
    }
    is(good, ARRAY_SIZE(nodes), "a tree that counts finds its n-th node after each change");
}

/* The example of RFC 8439, 2.3.2. */
static void test_chacha(void)
{
    static const uint32_t key[CHACHA_KEY] = {0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C,
                                             0x13121110, 0x17161514, 0x1B1A1918, 0x1F1E1D1C};
    static const uint32_t tail[CHACHA_TAIL] = {1, 0x09000000, 0x4A000000, 0};
    static const uint32_t expected[CHACHA_WORDS] = {0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3,
                                                    0xC7F4D1C7, 0x0368C033, 0x9AAA2204, 0x4E6CD4C3,
                                                    0x466482D2, 0x09AA9F07, 0x05D7C214, 0xA2028BD9,
                                                    0xD19C12B5, 0xB94E16DE, 0xE883D0CB, 0x4E3C50A2};
    uint32_t block[CHACHA_WORDS];

    chacha_block(block, key, tail);
    ok(!memcmp(block, expected, sizeof(block)), "a block of ChaCha20 is as RFC 8439 has it");
}

int main(void)
{
    test_chacha();
    test_format();
    test_single_evaluation();
    test_copies();
    test_searches();
    test_strings();
    test_lists();
    test_numbers();
    test_tree_depth();
    test_counting_tree();
    return tap_done();
}
