/* Strings and characters: the LIB$ routines, which return what the STR$ routines signal. */
#include "string_result.h"

#include <libdef.h>
#include <rtl/characters.h>
#include <ssdef.h>
#include <stdint.h>
#include <str$routines.h>
#include <string.h>

#undef str$position

static int store(void *destination, const char *from, size_t length)
{
    size_t stored;

    return mega$text_store(destination, from, length, &stored);
}

int lib$scopy_dxdx(const void *source, void *destination)
{
    struct text from;

    if (!mega$text_of(source, &from))
        return LIB$_INVSTRDES;
    return store(destination, from.at, from.length);
}

int lib$scopy_r_dx(const unsigned short *length, const char *source, void *destination)
{
    if (!length || (!source && *length))
        return SS$_ACCVIO;
    return store(destination, source, *length);
}

int lib$sget1_dd(const unsigned short *length, void *descriptor)
{
    return length ? mega$text_resize(descriptor, *length) : SS$_ACCVIO;
}

int lib$sfree1_dd(void *descriptor) { return mega$text_resize(descriptor, 0); }

int lib$analyze_sdesc(const void *descriptor, unsigned short *length, char **address)
{
    struct text text;

    if (!length || !address)
        return SS$_ACCVIO;
    if (!mega$text_of(descriptor, &text) || text.length > UINT16_MAX)
        return LIB$_INVSTRDES;
    *length = (unsigned short)text.length;
    *address = text.at;
    return SS$_NORMAL;
}

/* The string of a descriptor; without one, it is signalled. */
static bool open_text(const void *descriptor, struct text *text)
{
    bool good = mega$text_of(descriptor, text);

    if (!good)
        (void)mega$string_result(LIB$_INVSTRDES);
    return good;
}

unsigned int lib$len(const void *string) { return str$analyze_sdesc(string, 0, 0); }

int lib$char(void *destination, const unsigned char *code)
{
    return code ? store(destination, (const char *)code, 1) : SS$_ACCVIO;
}

unsigned int lib$ichar(const void *string)
{
    struct text text;

    return open_text(string, &text) && text.length ? (unsigned char)*text.at : 0;
}

unsigned int lib$index(const void *source, const void *substring)
{
    return str$position(source, substring, 0);
}

unsigned int lib$matchc(const void *substring, const void *source)
{
    return str$position(source, substring, 0);
}

/* Position of the first character that is (wanted) or is not the first one of `character`. */
static unsigned int find(const void *character, const void *source, bool wanted)
{
    struct text mark, from;

    if (!open_text(source, &from) || !open_text(character, &mark) || !mark.length)
        return 0;
    for (size_t i = 0; i < from.length; i++)
        if ((from.at[i] == *mark.at) == wanted)
            return (unsigned)i + 1;
    return 0;
}

unsigned int lib$locc(const void *character, const void *source)
{
    return find(character, source, true);
}

unsigned int lib$skpc(const void *character, const void *source)
{
    return find(character, source, false);
}

/* Position of the first character whose byte of the table has (wanted) or has not bits of *mask. */
static unsigned int scan(const void *source, const unsigned char *table, const unsigned char *mask,
                         bool wanted)
{
    struct text from;

    if (!open_text(source, &from))
        return 0;
    for (size_t i = 0; i < from.length; i++)
        if (((table[(unsigned char)from.at[i]] & *mask) != 0) == wanted)
            return (unsigned)i + 1;
    return 0;
}

unsigned int lib$scanc(const void *source, const unsigned char *table, const unsigned char *mask)
{
    return scan(source, table, mask, true);
}

unsigned int lib$spanc(const void *source, const unsigned char *table, const unsigned char *mask)
{
    return scan(source, table, mask, false);
}

void lib$movc3(const unsigned short *length, const void *source, void *destination)
{
    memmove(destination, source, *length);
}

void lib$movc5(const unsigned short *source_length, const void *source, const char *fill,
               const unsigned short *destination_length, void *destination)
{
    size_t to = *destination_length, n = *source_length < to ? *source_length : to;

    memmove(destination, source, n);
    if (n < to) /* else there need not be a character */
        memset((char *)destination + n, *fill, to - n);
}
