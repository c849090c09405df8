/* Searches in strings, and strings that are mapped character by character: STR$ routines. */
#define _GNU_SOURCE /* memmem */
#include "string_result.h"

#include <libdef.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <str$routines.h>
#include <strdef.h>
#include <string.h>

#undef str$find_first_substring

#define CHARACTERS 256

/* Position of the first character of the source that is (in) or is not in the set; 0: there is
 * none. */
static unsigned find_first(const void *source, const void *set, bool in)
{
    bool is_there[CHARACTERS] = {false};
    struct text from, wanted;

    if (!mega$text_of(source, &from) || !mega$text_of(set, &wanted))
        return (unsigned)mega$string_result(LIB$_INVSTRDES);
    for (size_t i = 0; i < wanted.length; i++)
        is_there[(unsigned char)wanted.at[i]] = true;
    if (!in && (from.length == 0 || wanted.length == 0)) /* as the manual has it */
        return from.length == 0;
    for (size_t i = 0; i < from.length; i++)
        if (is_there[(unsigned char)from.at[i]] == in)
            return (unsigned)i + 1;
    return 0;
}

unsigned int str$find_first_in_set(const void *source, const void *set)
{
    return find_first(source, set, true);
}

unsigned int str$find_first_not_in_set(const void *source, const void *set)
{
    return find_first(source, set, false);
}

/* How many characters stand before the part; SIZE_MAX: it is not there. */
static size_t offset_of(const struct text *s, const struct text *part)
{
    const char *at;

    if (part->length == 0)
        return 0;
    at = s->length ? memmem(s->at, s->length, part->at, part->length) : NULL;
    return at ? (size_t)(at - s->at) : SIZE_MAX;
}

int mega$str_find_first_substring(int count, const void *source, int *index, int *sub_index, ...)
{
    size_t first = SIZE_MAX, at;
    struct text from, part;
    int which = 0;
    va_list list;
    bool good;

    if (count < 4)
        return mega$string_error(STR$_WRONUMARG);
    good = mega$text_of(source, &from) && index && sub_index;

    va_start(list, sub_index);
    for (int i = 1; good && i <= count - 3; i++) {
        good = mega$text_of(va_arg(list, const void *), &part);
        if (good && (at = offset_of(&from, &part)) < first) {
            first = at;
            which = i;
        }
    }
    va_end(list);
    if (!good)
        return mega$string_result(LIB$_INVSTRDES);
    *index = which ? (int)first + 1 : 0;
    *sub_index = which;
    return which != 0;
}

/* For callers that take the address: it has no substrings. */
int str$find_first_substring(const void *source, int *index, int *sub_index, ...)
{
    return mega$str_find_first_substring(3, source, index, sub_index);
}

int str$translate(void *destination, const void *source, const void *translation, const void *match)
{
    struct text from, to, matched;
    char map[CHARACTERS], *line;
    int status;

    if (!mega$text_of(source, &from) || !mega$text_of(translation, &to) ||
        !mega$text_of(match, &matched))
        return mega$string_result(LIB$_INVSTRDES);
    for (int c = 0; c < CHARACTERS; c++)
        map[c] = (char)c;
    for (size_t i = matched.length; i-- > 0;) /* the first of several that are the same counts */
        map[(unsigned char)matched.at[i]] = i < to.length ? to.at[i] : ' ';
    if (!(line = malloc(from.length + 1)))
        return mega$string_result(LIB$_INSVIRMEM);
    for (size_t i = 0; i < from.length; i++)
        line[i] = map[(unsigned char)from.at[i]];
    status = mega$string_store(destination, line, from.length);
    free(line);
    return status;
}

int str$match_wild(const void *candidate, const void *pattern)
{
    size_t at = 0, p = 0, after_star = 0, tried = 0;
    struct text s, wild;
    bool star = false;

    if (!mega$text_of(candidate, &s) || !mega$text_of(pattern, &wild))
        return mega$string_result(LIB$_INVSTRDES);
    while (at < s.length) {
        if (p < wild.length && wild.at[p] == '*') {
            star = true;
            after_star = ++p;
            tried = at;
        } else if (p < wild.length && (wild.at[p] == '%' || wild.at[p] == s.at[at])) {
            p++;
            at++;
        } else if (star) { /* the last asterisk stands for one character more */
            p = after_star;
            at = ++tried;
        } else {
            return STR$_NOMATCH;
        }
    }
    while (p < wild.length && wild.at[p] == '*')
        p++;
    return p == wild.length ? STR$_MATCH : STR$_NOMATCH;
}

unsigned int str$analyze_sdesc(const void *descriptor, unsigned short *length, char **address)
{
    struct text text;

    if (!mega$text_of(descriptor, &text) || text.length > UINT16_MAX)
        return (unsigned)mega$string_result(LIB$_INVSTRDES);
    if (length)
        *length = (unsigned short)text.length;
    if (address)
        *address = text.at;
    return (unsigned short)text.length;
}
