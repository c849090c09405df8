/* Strings by descriptors: the STR$ routines. */
#include "descriptor.h"
#include "string_result.h"

#include <ctype.h>
#include <libdef.h>
#include <ssdef.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <str$routines.h>
#include <strdef.h>
#include <string.h>

#undef str$concat
#undef str$trim
#undef str$dupl_char
#undef str$position

int mega$string_error(int status)
{
    lib$signal(status);
    return status;
}

int mega$string_result(int status)
{
    switch (status) {
    case SS$_NORMAL:
        return STR$_NORMAL;
    case LIB$_STRTRU:
        return STR$_TRU;
    case LIB$_INSVIRMEM:
        return mega$string_error(STR$_INSVIRMEM);
    default:
        return mega$string_error(STR$_ILLSTRCLA);
    }
}

int mega$string_store(void *destination, const char *from, size_t length)
{
    size_t stored;

    return mega$string_result(mega$text_store(destination, from, length, &stored));
}

int str$copy_dx(void *destination, const void *source)
{
    struct text from;

    if (!mega$text_of(source, &from))
        return mega$string_result(LIB$_INVSTRDES);
    return mega$string_store(destination, from.at, from.length);
}

int str$copy_r(void *destination, const unsigned short *source_length, const char *source)
{
    if (!source_length || (!source && *source_length))
        return SS$_ACCVIO;
    return mega$string_store(destination, source, *source_length);
}

int str$copy_r_64(void *destination, const unsigned __int64 *source_length, const char *source)
{
    if (!source_length || (!source && *source_length))
        return SS$_ACCVIO;
    return mega$string_store(destination, source, *source_length);
}

/* Has the destination a length of 16 bits, and is this more? Of an array the size has 32. */
static bool is_too_long(const void *destination, size_t length)
{
    struct text text;

    return length > UINT16_MAX && destination && !mega$is_64(destination) &&
           !(mega$buffer_of(destination, &text) && text.length > UINT16_MAX);
}

int mega$string_store_all(void *destination, const struct text *parts, int count)
{
    size_t length = 0;
    char *whole, *at;
    int status;

    for (int i = 0; i < count; i++)
        length += parts[i].length;
    if (is_too_long(destination, length))
        return mega$string_error(STR$_STRTOOLON);
    if (!(whole = at = malloc(length + !length)))
        return mega$string_result(LIB$_INSVIRMEM);
    for (int i = 0; i < count; at += parts[i++].length)
        if (parts[i].length)
            memcpy(at, parts[i].at, parts[i].length);
    status = mega$string_store(destination, whole, length);
    free(whole);
    return status;
}

#define SOURCES_MAX 32

int mega$str_concat(int count, ...)
{
    struct text parts[SOURCES_MAX];
    void *destination;
    va_list list;
    int n = 0;
    bool good = count <= SOURCES_MAX;

    if (count < 2)
        return mega$string_error(STR$_WRONUMARG);
    va_start(list, count);
    destination = va_arg(list, void *);
    while (good && n < count - 1) {
        good = mega$text_of(va_arg(list, const void *), &parts[n]);
        n++;
    }
    va_end(list);
    return good ? mega$string_store_all(destination, parts, n) : mega$string_result(LIB$_INVSTRDES);
}

/* For callers that take the address: it has no sources. */
int str$concat(void *destination, ...) { return mega$str_concat(1, destination); }

int str$append(void *destination, const void *source)
{
    struct text parts[2];

    if (!mega$text_of(destination, &parts[0]) || !mega$text_of(source, &parts[1]))
        return mega$string_result(LIB$_INVSTRDES);
    return mega$string_store_all(destination, parts, 2);
}

int str$prefix(void *destination, const void *source)
{
    struct text parts[2];

    if (!mega$text_of(source, &parts[0]) || !mega$text_of(destination, &parts[1]))
        return mega$string_result(LIB$_INVSTRDES);
    return mega$string_store_all(destination, parts, 2);
}

int str$get1_dx(const unsigned short *length, void *destination)
{
    return length ? mega$string_result(mega$text_resize(destination, *length)) : SS$_ACCVIO;
}

int str$get1_dx_64(const unsigned __int64 *length, void *destination)
{
    return length ? mega$string_result(mega$text_resize(destination, *length)) : SS$_ACCVIO;
}

int str$free1_dx(void *string) { return mega$string_result(mega$text_resize(string, 0)); }

static int same(int c) { return c; }

static int compare(const void *first, const void *second, int (*as)(int))
{
    struct text a, b;

    if (!mega$text_of(first, &a) || !mega$text_of(second, &b))
        return mega$string_result(LIB$_INVSTRDES);
    for (size_t i = 0; i < a.length || i < b.length; i++) {
        int x = as(i < a.length ? (unsigned char)a.at[i] : ' ');
        int y = as(i < b.length ? (unsigned char)b.at[i] : ' ');

        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

int str$compare(const void *first, const void *second) { return compare(first, second, same); }

int str$case_blind_compare(const void *first, const void *second)
{
    return compare(first, second, toupper);
}

int str$compare_eql(const void *first, const void *second)
{
    struct text a, b;

    if (!mega$text_of(first, &a) || !mega$text_of(second, &b))
        return mega$string_result(LIB$_INVSTRDES);
    return a.length != b.length || (a.length && memcmp(a.at, b.at, a.length) != 0);
}

int str$upcase(void *destination, const void *source)
{
    struct text to;
    int status = str$copy_dx(destination, source);

    /* What was not copied is not changed either. */
    if ((status == STR$_NORMAL || status == STR$_TRU) && mega$text_of(destination, &to))
        for (size_t i = 0; i < to.length; i++)
            to.at[i] = (char)toupper((unsigned char)to.at[i]);
    return status;
}

int str$trim(void *destination, const void *source, unsigned short *length)
{
    struct text from;
    size_t stored;
    int status;

    if (!mega$text_of(source, &from))
        return mega$string_result(LIB$_INVSTRDES);
    while (from.length && (from.at[from.length - 1] == ' ' || from.at[from.length - 1] == '\t'))
        from.length--;
    status = mega$text_store(destination, from.at, from.length, &stored);
    if (length)
        *length = (unsigned short)stored;
    return mega$string_result(status);
}

int str$dupl_char(void *destination, const int *count, const char *character)
{
    int n = count ? *count : 1, status;
    bool negative = n < 0;
    char *line;

    if (negative)
        n = 0;
    if (is_too_long(destination, (size_t)n))
        return mega$string_error(STR$_STRTOOLON);
    if (!(line = malloc((size_t)n + 1)))
        return mega$string_result(LIB$_INSVIRMEM);
    memset(line, character ? *character : ' ', (size_t)n);
    status = mega$string_store(destination, line, (size_t)n);
    free(line);
    return negative && status == STR$_NORMAL ? STR$_NEGSTRLEN : status;
}

unsigned int str$position(const void *source, const void *substring, const int *start)
{
    size_t at = start && *start > 0 ? (size_t)*start - 1 : 0;
    struct text s, part;

    if (!mega$text_of(source, &s) || !mega$text_of(substring, &part))
        return (unsigned)mega$string_result(LIB$_INVSTRDES);
    if (part.length == 0)
        return (unsigned)(at <= s.length ? at : s.length) + 1;
    for (; at + part.length <= s.length; at++)
        if (memcmp(s.at + at, part.at, part.length) == 0)
            return (unsigned)at + 1;
    return 0;
}
