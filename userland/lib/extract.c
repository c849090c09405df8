/*
 * Parts of strings: the STR$ routines that take positions. A position counts from 1. One that is
 * outside of the string is replaced by the nearest that is inside, and the result, a success, says
 * so: STR$_ILLSTRPOS; STR$_NEGSTRLEN for a length below 0; STR$_ILLSTRSPE for an end before the
 * start and for a length beyond the end. That the destination is too short, a warning, comes first.
 */
#include "string_result.h"

#include <libdef.h>
#include <ssdef.h>
#include <stdint.h>
#include <str$routines.h>
#include <strdef.h>
#include <string.h>

/* Stores so many characters of a string from position start on; returns `said` if that went well.
 */
static int store_part(void *destination, const struct text *from, int64_t start, int64_t length,
                      int said)
{
    int status = length > 0 ? mega$string_store(destination, from->at + start - 1, (size_t)length)
                            : mega$string_store(destination, "", 0);

    return status == STR$_NORMAL ? said : status;
}

/* Moves *position between least and most; true if it was outside. */
static bool confine(int64_t *position, int64_t least, int64_t most)
{
    int64_t given = *position;

    if (*position > most)
        *position = most;
    if (*position < least)
        *position = least;
    return *position != given;
}

/* Moves the position at which a part starts into the string, or behind its last character, where
 * the part is empty; true if it was outside of the string. */
static bool confine_start(int64_t *position, const struct text *s)
{
    bool outside = *position < 1 || *position > (int64_t)s->length;

    confine(position, 1, (int64_t)s->length + 1);
    return outside;
}

int str$len_extr(void *destination, const void *source, const int *start, const int *length)
{
    int64_t first, n;
    struct text from;
    int said = STR$_NORMAL;

    if (!start || !length)
        return SS$_ACCVIO;
    if (!mega$text_of(source, &from))
        return mega$string_result(LIB$_INVSTRDES);
    first = *start;
    n = *length;
    if (confine_start(&first, &from))
        said = STR$_ILLSTRPOS;
    else if (n < 0)
        said = STR$_NEGSTRLEN;
    else if (n > (int64_t)from.length + 1 - first)
        said = STR$_ILLSTRSPE;
    confine(&n, 0, (int64_t)from.length + 1 - first);
    return store_part(destination, &from, first, n, said);
}

int str$pos_extr(void *destination, const void *source, const int *start, const int *end)
{
    int64_t first, last;
    struct text from;
    int said = STR$_NORMAL;
    bool moved;

    if (!start || !end)
        return SS$_ACCVIO;
    if (!mega$text_of(source, &from))
        return mega$string_result(LIB$_INVSTRDES);
    first = *start;
    last = *end;
    if (last < first)
        said = STR$_ILLSTRSPE;
    moved = confine_start(&first, &from);
    moved |= confine(&last, 0, (int64_t)from.length);
    if (moved && said == STR$_NORMAL)
        said = STR$_ILLSTRPOS;
    return store_part(destination, &from, first, last + 1 - first, said);
}

int str$left(void *destination, const void *source, const int *end)
{
    struct text from;
    int64_t last;
    bool outside;

    if (!end)
        return SS$_ACCVIO;
    if (!mega$text_of(source, &from))
        return mega$string_result(LIB$_INVSTRDES);
    last = *end;
    outside = last < 1 || last > (int64_t)from.length;
    confine(&last, 0, (int64_t)from.length);
    return store_part(destination, &from, 1, last, outside ? STR$_ILLSTRPOS : STR$_NORMAL);
}

int str$right(void *destination, const void *source, const int *start)
{
    struct text from;
    int64_t first;
    bool outside;

    if (!start)
        return SS$_ACCVIO;
    if (!mega$text_of(source, &from))
        return mega$string_result(LIB$_INVSTRDES);
    first = *start;
    outside = confine_start(&first, &from);
    return store_part(destination, &from, first, (int64_t)from.length + 1 - first,
                      outside ? STR$_ILLSTRPOS : STR$_NORMAL);
}

int str$replace(void *destination, const void *source, const int *start, const int *end,
                const void *replacement)
{
    int64_t first, last;
    struct text parts[3];
    int said = STR$_NORMAL, status;
    bool moved;

    if (!start || !end)
        return SS$_ACCVIO;
    if (!mega$text_of(source, &parts[0]) || !mega$text_of(replacement, &parts[1]))
        return mega$string_result(LIB$_INVSTRDES);
    first = *start;
    last = *end;
    if (last < first)
        said = STR$_ILLSTRSPE;
    moved = confine_start(&first, &parts[0]);
    moved |= confine(&last, 0, (int64_t)parts[0].length);
    if (moved && said == STR$_NORMAL)
        said = STR$_ILLSTRPOS;
    /* After an end before the start what both parts have is there twice. */
    parts[2] = (struct text){parts[0].at ? parts[0].at + last : NULL,
                             parts[0].length - (size_t)last};
    parts[0].length = (size_t)(first - 1);
    status = mega$string_store_all(destination, parts, 3);
    return status == STR$_NORMAL ? said : status;
}

int str$element(void *destination, const int *number, const void *delimiter, const void *source)
{
    struct text from, mark;
    const char *end;
    size_t length;

    if (!number)
        return SS$_ACCVIO;
    if (!mega$text_of(source, &from) || !mega$text_of(delimiter, &mark))
        return mega$string_result(LIB$_INVSTRDES);
    if (mark.length != 1)
        return STR$_INVDELIM;
    for (int n = *number;; n--) {
        end = from.length ? memchr(from.at, mark.at[0], from.length) : NULL;
        length = end ? (size_t)(end - from.at) : from.length;
        if (n == 0)
            return mega$string_store(destination, from.at, length);
        if (n < 0 || !end)
            return STR$_NOELEM;
        from.at += length + 1;
        from.length -= length + 1;
    }
}
