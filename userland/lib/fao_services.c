/*
 * The services and library routines of formatted output, which differ in where their parameters
 * are and where the text goes. How many arguments a call of $FAO has cannot be known; they are read
 * when a directive wants them, and kept, for !- goes back.
 */
#include "descriptor.h"
#include "fao.h"

#include <libdef.h>
#include <rtl/fao.h>
#include <ssdef.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS_MAX 255 /* as many as a call can have; further ones are 0 */

struct arguments {
    va_list list;
    size_t read;
    int64_t values[ARGUMENTS_MAX];
};

static int64_t from_arguments(void *of, size_t number)
{
    struct arguments *a = of;

    if (number >= ARGUMENTS_MAX)
        return 0;
    while (a->read <= number)
        a->values[a->read++] = va_arg(a->list, long);
    return a->values[number];
}

static int64_t from_longwords(void *of, size_t number)
{
    int32_t value;

    memcpy(&value, (char *)of + number * sizeof(value), sizeof(value));
    return value;
}

static int64_t from_quadwords(void *of, size_t number)
{
    int64_t value;

    memcpy(&value, (char *)of + number * sizeof(value), sizeof(value));
    return value;
}

static int64_t from_nowhere(void *of, size_t number)
{
    (void)of;
    (void)number;
    return 0;
}

static int to_buffer(void *ctrstr, unsigned short *outlen, void *outbuf, mega$fao_source *source,
                     void *of)
{
    struct text control, buffer;
    size_t length;
    int status;

    if (!mega$text_of(ctrstr, &control) || !mega$buffer_of(outbuf, &buffer))
        return SS$_ACCVIO;
    status = mega$fao(control.at, control.length, buffer.at, buffer.length, &length, source, of);
    if (outlen)
        *outlen = (unsigned short)(length < buffer.length ? length : buffer.length);
    return status == SS$_NORMAL && length > buffer.length ? SS$_BUFFEROVF : status;
}

int sys$fao(void *ctrstr, unsigned short *outlen, void *outbuf, ...)
{
    struct arguments a;
    int status;

    a.read = 0;
    va_start(a.list, outbuf);
    status = to_buffer(ctrstr, outlen, outbuf, from_arguments, &a);
    va_end(a.list);
    return status;
}

int sys$faol(void *ctrstr, unsigned short *outlen, void *outbuf, void *prmlst)
{
    return to_buffer(ctrstr, outlen, outbuf, prmlst ? from_longwords : from_nowhere, prmlst);
}

int sys$faol_64(void *ctrstr, unsigned short *outlen, void *outbuf, void *prmlst_64)
{
    return to_buffer(ctrstr, outlen, outbuf, prmlst_64 ? from_quadwords : from_nowhere, prmlst_64);
}

/* Formats twice, for a dynamic string must know its length first. */
static int to_string(void *control_string, unsigned short *length, void *string,
                     mega$fao_source *source, void *of)
{
    struct text control;
    size_t n, stored = 0;
    char *line = NULL;
    int status;

    if (!mega$text_of(control_string, &control))
        return LIB$_INVSTRDES;
    status = mega$fao(control.at, control.length, NULL, 0, &n, source, of);
    if (n && !(line = malloc(n)))
        return LIB$_INSVIRMEM;
    if (status == SS$_NORMAL)
        status = mega$fao(control.at, control.length, line, n, &n, source, of);
    if (status == SS$_NORMAL)
        status = mega$text_store(string, line, n, &stored);
    free(line);
    if (length)
        *length = (unsigned short)stored;
    return status;
}

int lib$sys_fao(void *character_string, unsigned short *resultant_length, void *resultant_string,
                ...)
{
    struct arguments a;
    int status;

    a.read = 0;
    va_start(a.list, resultant_string);
    status = to_string(character_string, resultant_length, resultant_string, from_arguments, &a);
    va_end(a.list);
    return status;
}

int lib$sys_faol(void *character_string, unsigned short *resultant_length, void *resultant_string,
                 void *directive_arguments)
{
    return to_string(character_string, resultant_length, resultant_string,
                     directive_arguments ? from_longwords : from_nowhere, directive_arguments);
}

int lib$sys_faol_64(void *character_string, unsigned short *resultant_length,
                    void *resultant_string, void *directive_arguments)
{
    return to_string(character_string, resultant_length, resultant_string,
                     directive_arguments ? from_quadwords : from_nowhere, directive_arguments);
}
