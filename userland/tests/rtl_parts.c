// TAP
// RUN: --smp 1
/* Parts of strings, searches in them, bit fields and numbers, by tables. The unit test of the same
 * name includes this file. */
#include <builtins.h>
#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <limits.h>
#include <ssdef.h>
#include <stdint.h>
#include <stdlib.h>
#include <str$routines.h>
#include <strdef.h>
#include <string.h>
#include <tap.h>

typedef struct dsc$descriptor_s STRING;

static STRING string(const char *s)
{
    return (STRING){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)s};
}

enum part { LEN_EXTR, POS_EXTR, LEFT, RIGHT, REPLACE, ELEMENT };

/* Of "abcde", but of "a,bc,,d" for an element; "XY" replaces. */
static const struct {
    enum part routine;
    int first, second, status;
    const char *want;
} parts[] = {
    {LEN_EXTR, 2, 3, STR$_NORMAL, "bcd"},
    {LEN_EXTR, 5, 1, STR$_NORMAL, "e"},
    {LEN_EXTR, 6, 0, STR$_ILLSTRPOS, ""},
    {LEN_EXTR, 0, 2, STR$_ILLSTRPOS, "ab"},
    {LEN_EXTR, 7, 2, STR$_ILLSTRPOS, ""},
    {LEN_EXTR, 2, -1, STR$_NEGSTRLEN, ""},
    {LEN_EXTR, 2, 5, STR$_ILLSTRSPE, "bcde"},
    {LEN_EXTR, INT_MAX, INT_MAX, STR$_ILLSTRPOS, ""},
    {LEN_EXTR, INT_MIN, INT_MIN, STR$_ILLSTRPOS, ""},
    {LEN_EXTR, 1, INT_MAX, STR$_ILLSTRSPE, "abcde"},
    {POS_EXTR, 2, 4, STR$_NORMAL, "bcd"},
    {POS_EXTR, 1, 5, STR$_NORMAL, "abcde"},
    {POS_EXTR, 3, 3, STR$_NORMAL, "c"},
    {POS_EXTR, 0, 2, STR$_ILLSTRPOS, "ab"},
    {POS_EXTR, 4, 9, STR$_ILLSTRPOS, "de"},
    {POS_EXTR, 8, 9, STR$_ILLSTRPOS, ""},
    {POS_EXTR, 4, 2, STR$_ILLSTRSPE, ""},
    {POS_EXTR, INT_MIN, INT_MAX, STR$_ILLSTRPOS, "abcde"},
    {POS_EXTR, INT_MAX, INT_MIN, STR$_ILLSTRSPE, ""},
    {LEFT, 2, 0, STR$_NORMAL, "ab"},
    {LEFT, 5, 0, STR$_NORMAL, "abcde"},
    {LEFT, 6, 0, STR$_ILLSTRPOS, "abcde"},
    {LEFT, 0, 0, STR$_ILLSTRPOS, ""},
    {LEFT, -1, 0, STR$_ILLSTRPOS, ""},
    {RIGHT, 4, 0, STR$_NORMAL, "de"},
    {RIGHT, 1, 0, STR$_NORMAL, "abcde"},
    {RIGHT, 6, 0, STR$_ILLSTRPOS, ""},
    {RIGHT, 7, 0, STR$_ILLSTRPOS, ""},
    {RIGHT, 0, 0, STR$_ILLSTRPOS, "abcde"},
    {REPLACE, 2, 4, STR$_NORMAL, "aXYe"},
    {REPLACE, 1, 5, STR$_NORMAL, "XY"},
    {REPLACE, 5, 5, STR$_NORMAL, "abcdXY"},
    {REPLACE, 3, 2, STR$_ILLSTRSPE, "abXYcde"},
    {REPLACE, 6, 5, STR$_ILLSTRSPE, "abcdeXY"},
    {REPLACE, 4, 1, STR$_ILLSTRSPE, "abcXYbcde"},
    {REPLACE, 3, INT_MIN, STR$_ILLSTRSPE, "abXYabcde"},
    {REPLACE, 0, 2, STR$_ILLSTRPOS, "XYcde"},
    {REPLACE, 4, 9, STR$_ILLSTRPOS, "abcXY"},
    {REPLACE, INT_MAX, INT_MAX, STR$_ILLSTRPOS, "abcdeXY"},
    {ELEMENT, 0, ',', STR$_NORMAL, "a"},
    {ELEMENT, 1, ',', STR$_NORMAL, "bc"},
    {ELEMENT, 2, ',', STR$_NORMAL, ""},
    {ELEMENT, 3, ',', STR$_NORMAL, "d"},
    {ELEMENT, 4, ',', STR$_NOELEM, NULL},
    {ELEMENT, -1, ',', STR$_NOELEM, NULL},
    {ELEMENT, 0, ';', STR$_NORMAL, "a,bc,,d"},
    {ELEMENT, 1, ';', STR$_NOELEM, NULL},
    {ELEMENT, 0, 0, STR$_INVDELIM, NULL},
};

static int take(enum part routine, int first, int second, STRING *to)
{
    STRING from = string(routine == ELEMENT ? "a,bc,,d" : "abcde"), by = string("XY"), mark;
    char delimiter[2] = {(char)second, 0};

    switch (routine) {
    case LEN_EXTR:
        return str$len_extr(to, &from, &first, &second);
    case POS_EXTR:
        return str$pos_extr(to, &from, &first, &second);
    case LEFT:
        return str$left(to, &from, &first);
    case RIGHT:
        return str$right(to, &from, &first);
    case REPLACE:
        return str$replace(to, &from, &first, &second, &by);
    default:
        mark = string(delimiter);
        return str$element(to, &first, &mark, &from);
    }
}

static void extracts(void)
{
    STRING to = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0}, fixed = {2, DSC$K_DTYPE_T, DSC$K_CLASS_S, 0};
    char two[2];

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        int status = take(parts[i].routine, parts[i].first, parts[i].second, &to);
        size_t n = parts[i].want ? strlen(parts[i].want) : to.dsc$w_length;

        ok(status == parts[i].status && to.dsc$w_length == n &&
               (n == 0 || !parts[i].want || memcmp(to.dsc$a_pointer, parts[i].want, n) == 0),
           "part %zu: routine %d of %d and %d, status %d", i, parts[i].routine, parts[i].first,
           parts[i].second, status);
    }
    fixed.dsc$a_pointer = two;
    is(take(LEN_EXTR, 0, 3, &fixed), STR$_TRU, "that it was cut off comes first");
    ok(memcmp(two, "ab", 2) == 0, "the first characters");
    is(take(REPLACE, 2, 4, &fixed), STR$_TRU, "cut off, too");
    is(str$free1_dx(&to), STR$_NORMAL, "freed");
}

static const struct {
    const char *candidate, *pattern;
    int matches;
} wilds[] = {
    {"HELLO.TXT", "*.TXT", 1},
    {"HELLO.EXE", "*.TXT", 0},
    {"HELLO", "HEL%O", 1},
    {"HELO", "HEL%O", 0},
    {"", "", 1},
    {"", "*", 1},
    {"", "**", 1},
    {"", "%", 0},
    {"a", "", 0},
    {"abcbcd", "a*bcd", 1},
    {"abcbc", "a*bcd", 0},
    {"aaaaab", "*a%b", 1},
    {"hello", "HELLO", 0},
    {"a*b", "a*b", 1},
    {"abc", "*%%%", 1},
    {"abc", "*%%%%", 0},
    {"abc", "a**c", 1},
    {"mississippi", "m*iss*ip%%", 1},
    {"mississippi", "m*iss*ip%%%", 0},
};

static void searches(void)
{
    STRING s = string("the quick brown fox"), vowels = string("aeiou"), none = string("");
    STRING letters = string("abcdefghijklmnopqrstuvwxyz"), q = string("q"), fox = string("fox");
    STRING quick = string("quick"), cat = string("cat"), e = string("e"), t = string("t");
    STRING to = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0}, upper = string("AEI");
    unsigned char table[256] = {0}, one = 1, two = 2;
    int index = 9, which = 9;

    for (size_t i = 0; i < sizeof(wilds) / sizeof(wilds[0]); i++) {
        STRING candidate = string(wilds[i].candidate), pattern = string(wilds[i].pattern);

        is(str$match_wild(&candidate, &pattern), wilds[i].matches ? STR$_MATCH : STR$_NOMATCH,
           "\"%s\" and \"%s\"", wilds[i].candidate, wilds[i].pattern);
    }
    is(str$find_first_in_set(&s, &vowels), 3, "the first vowel");
    is(str$find_first_not_in_set(&s, &letters), 4, "what is no letter");
    is(str$find_first_in_set(&s, &none), 0, "nothing is in an empty set");
    is(str$find_first_not_in_set(&s, &none), 0, "and nothing is outside of it");
    is(str$find_first_not_in_set(&none, &s), 1, "of nothing, the first");
    is(str$find_first_not_in_set(&quick, &letters), 0, "nothing else");
    is(str$find_first_substring(&s, &index, &which, &fox, &cat, &quick), 1, "one of three");
    ok(index == 5 && which == 3, "the leftmost");
    is(str$find_first_substring(&s, &index, &which, &cat), 0, "none");
    ok(index == 0 && which == 0, "nowhere");
    is(str$find_first_substring(&s, &index, &which, &cat, &none), 1, "an empty one");
    ok(index == 1 && which == 2, "is everywhere");
    is(str$translate(&to, &s, &upper, &vowels), STR$_NORMAL, "translated");
    ok(to.dsc$w_length == 19 && memcmp(to.dsc$a_pointer, "thE q Ick br wn f x", 19) == 0,
       "what has no counterpart is a blank");
    is(lib$locc(&q, &s), 5, "a character");
    is(lib$locc(&cat, &fox), 0, "is not there");
    is(lib$skpc(&t, &s), 2, "another character");
    is(lib$skpc(&t, &t), 0, "no other");
    is(lib$index(&s, &fox), 17, "a substring");
    is(lib$matchc(&e, &s), 3, "in the other order");
    is(lib$len(&s), 19, "a length");
    table['q'] = table['b'] = 1;
    table[' '] = 3;
    is(lib$scanc(&s, table, &one), 4, "by a table");
    is(lib$scanc(&s, table, &two), 4, "another bit");
    is(lib$spanc(&s, table, &one), 1, "what has not the bit");
    is(lib$ichar(&q), 'q', "a code");
    is(lib$ichar(&none), 0, "of nothing");
    str$free1_dx(&to);
}

static void copies(void)
{
    STRING to = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0}, abc = string("abc"), fixed;
    STRING odd = {3, DSC$K_DTYPE_T, 77, (char *)"abc"};
    char line[5], letters[] = "sixsix", *at;
    struct dsc$descriptor_a array = {3, DSC$K_DTYPE_T, DSC$K_CLASS_A, letters, 0, 0, {0}, 1, 6};
    unsigned short n = 3, five = 5, size;

    fixed = (STRING){5, DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    is(lib$scopy_dxdx(&abc, &to), SS$_NORMAL, "copied");
    is(lib$scopy_dxdx(&odd, &to), LIB$_INVSTRDES, "not from a descriptor of another class");
    is(lib$scopy_dxdx(&abc, &odd), LIB$_INVSTRDES, "nor to one");
    is(lib$analyze_sdesc(&to, &n, &at), SS$_NORMAL, "analysed");
    ok(n == 3 && memcmp(at, "abc", 3) == 0, "it is the string");
    is(lib$analyze_sdesc(&odd, &n, &at), LIB$_INVSTRDES, "another class");
    is(str$analyze_sdesc(&abc, &n, &at), 3, "the same by its length");
    is(lib$scopy_r_dx(&five, "vwxyz!", &to), SS$_NORMAL, "by address");
    is(lib$len(&to), 5, "five characters");
    is(str$analyze_sdesc(&array, &size, &at), 6, "an array has its size");
    ok(size == 6 && at == letters, "and its address");
    is(str$copy_dx(&to, &array), STR$_NORMAL, "and is copied");
    ok(to.dsc$w_length == 6 && memcmp(to.dsc$a_pointer, "sixsix", 6) == 0, "whole");
    array.dsc$l_arsize = 65536;
    is(lib$analyze_sdesc(&array, &size, &at), LIB$_INVSTRDES, "but one of 65,536 bytes");
    is(lib$sfree1_dd(&to), SS$_NORMAL, "freed");
    is(lib$sget1_dd(&five, &to), SS$_NORMAL, "and allocated");
    is(lib$char(&fixed, (const unsigned char *)"A"), SS$_NORMAL, "one character");
    ok(memcmp(line, "A    ", 5) == 0, "and blanks");
    lib$movc5(&n, "abcdef", "*", &five, line);
    ok(memcmp(line, "abc**", 5) == 0, "filled up");
    lib$movc5(&five, "vwxyz", "*", &n, line);
    ok(memcmp(line, "vwx**", 5) == 0, "cut off");
    lib$movc5(&n, "vwx", NULL, &n, line);
    ok(memcmp(line, "vwx**", 5) == 0, "without a character where none is needed");
    lib$movc3(&n, line, line + 1);
    ok(memcmp(line, "vvwx*", 5) == 0, "over itself");
    is(lib$sfree1_dd(&to), SS$_NORMAL, "freed");
}

static const struct {
    int position;
    unsigned char size;
    unsigned value;
} fields[] = {
    {0, 1, 1},   {7, 1, 1},   {3, 5, 21},          {0, 32, 0x12345678}, {5, 32, 0xFEDCBA98},
    {63, 1, 1},  {-8, 4, 9},  {-3, 7, 0x55},       {17, 0, 0},          {31, 2, 2},
    {32, 32, 1}, {1, 31, 77}, {39, 25, 0x1FFFFFF},
};

static void bits(void)
{
    unsigned char memory[16], before[16];
    int longs[2] __attribute__((aligned(8))) = {0, 0};
    int a[3] = {-1, -1, 0}, b[3] = {1, 0, 0}, sum[3], three = 3, position = 4, found = 0, zero = 0;
    int most[2] = {-1, INT_MAX}, least[2] = {0, INT_MIN}, minus = -1;
    unsigned char eight = 8;
    short word = 32767, one = 1, sign = 0;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        unsigned char size = fields[i].size;
        unsigned value = fields[i].value;
        int same = 1, extended = (int)value;

        if (size && size < 32 && value >> (size - 1))
            extended = (int)(value | ~0U << size);
        memset(memory, i & 1 ? 0xFF : 0, sizeof(memory));
        memcpy(before, memory, sizeof(memory));
        lib$insv((const int *)&value, &fields[i].position, &size, memory + 4);
        for (int k = -32; k < 96; k++)
            if (k < fields[i].position || k >= fields[i].position + size)
                same &= ((memory[4 + (k >> 3)] ^ before[4 + (k >> 3)]) >> (k & 7) & 1) == 0;
        ok(same && lib$extzv(&fields[i].position, &size, memory + 4) == value &&
               lib$extv(&fields[i].position, &size, memory + 4) == extended,
           "a field of %d bits at %d", size, fields[i].position);
    }
    memset(memory, 0, sizeof(memory));
    is(_BBSSI(37, longs), 0, "bit 37 of longwords");
    is(__TESTBITSSI(longs, 37), 1, "was set");
    ok(longs[0] == 0 && longs[1] == 32, "it is bit 5 of the second");
    is(_BBCCI(37, longs), 0, "it was not clear");
    is(__TESTBITCCI(longs, 37), 1, "it was");
    is(__INTERLOCKED_TESTBITSS_QUAD(longs, 63), 0, "the last of a quadword");
    is(__INTERLOCKED_TESTBITCC_QUAD(longs, 63), 0, "was set");
    ok(longs[0] == 0 && longs[1] == 0, "and is not any more");
    ok(_leadz(0) == 64 && _leadz(1) == 63 && _trailz(0) == 64 && _trailz(8) == 3, "zeros");
    memory[1] = 2;
    is(lib$ffs(&position, &eight, memory, &found), SS$_NORMAL, "a bit that is set");
    is(found, 9, "where it is");
    is(lib$ffc(&position, &eight, memory, &found), SS$_NORMAL, "one that is clear");
    is(found, 4, "the first");
    is(lib$ffs(&zero, &eight, memory, &found), LIB$_NOTFOU, "none");
    is(found, 8, "behind the field");
    is(lib$bbssi(&found, memory), 0, "set");
    is(lib$bbssi(&found, memory), 1, "it was");
    is(lib$bbcci(&found, memory), 1, "cleared");
    is(lib$bbcci(&found, memory), 0, "it was");
    is(memory[1], 2, "no other bit");
    is(lib$addx(a, b, sum, &three), SS$_NORMAL, "a sum of three longwords");
    ok(sum[0] == 0 && sum[1] == 0 && sum[2] == 1, "with its carry");
    is(lib$subx(sum, b, sum, &three), SS$_NORMAL, "a difference");
    ok(sum[0] == -1 && sum[1] == -1 && sum[2] == 0, "with its borrow");
    is(lib$addx(most, b, sum), SS$_INTOVF, "a sum that is too large");
    is(lib$subx(least, b, sum), SS$_INTOVF, "a difference that is too small");
    is(lib$addx(most, least, sum), SS$_NORMAL, "different signs");
    ok(sum[0] == -1 && sum[1] == -1, "-1");
    is(lib$subx(a, b, sum, &minus), LIB$_INVARG, "less than no longwords");
    is(lib$adawi(&one, &word, &sign), LIB$_INTOVF, "a word overflows");
    ok(word == -32768 && sign == -1, "to the least");
}

static const struct {
    int radix;
    const char *text;
    int good;
    unsigned value;
} numbers[] = {
    {10, "0", 1, 0},
    {10, "1234", 1, 1234},
    {10, "+77", 1, 77},
    {10, "-77", 1, -77U},
    {10, "4294967295", 1, 4294967295U},
    {10, "4294967296", 0, 0},
    {10, "99999999999999999999999", 0, 0},
    {10, "12a", 0, 0},
    {10, " 12", 0, 0},
    {10, "1-2", 0, 0},
    {10, "", 1, 0},
    {10, "-", 1, 0},
    {16, "fFfFfFfF", 1, 0xFFFFFFFF},
    {16, "123456789", 0, 0},
    {16, "-10", 1, -16U},
    {16, "G", 0, 0},
    {16, "@", 0, 0},
    {8, "37777777777", 1, 0xFFFFFFFF},
    {8, "40000000000", 0, 0},
    {8, "8", 0, 0},
};

static void conversions(void)
{
    __int64 wide;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int (*convert)(int, const char *, int *) = numbers[i].radix == 10   ? lib$cvt_dtb
                                                   : numbers[i].radix == 16 ? lib$cvt_htb
                                                                            : lib$cvt_otb;
        int value = 4711, good;

        good = convert((int)strlen(numbers[i].text), numbers[i].text, &value);
        ok(good == numbers[i].good && (unsigned)value == (good ? numbers[i].value : 4711),
           "\"%s\" in radix %d", numbers[i].text, numbers[i].radix);
    }
    is(lib$cvt_dtb_64(20, "18446744073709551615", &wide), 1, "64 bits");
    is(wide, -1, "all of them");
    is(lib$cvt_dtb_64(20, "18446744073709551616", &wide), 0, "65 bits");
    is(lib$cvt_htb_64(17, "-0123456789abcdef", &wide), 1, "in hexadecimal");
    is(wide, -0x0123456789abcdef, "negative");
    is(lib$cvt_otb_64(3, "777", &wide), 1, "in octal");
    is(wide, 511, "511");
}

int main(void)
{
    extracts();
    searches();
    copies();
    bits();
    conversions();
    return tap_done();
}
