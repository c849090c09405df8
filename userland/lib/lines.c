/* Lines of standard input and output. */
#include "descriptor.h"

#include <errno.h>
#include <libdef.h>
#include <megalith/prompt.h>
#include <rmsdef.h>
#include <rtl/misc.h>
#include <ssdef.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef lib$get_input

/* Not all at once if the file or line cannot take it so. */
static bool write_all(const char *at, size_t length)
{
    while (length) {
        ssize_t n = write(fileno(stdout), at, length);

        if (n < 0 && errno != EINTR)
            return false;
        at += n < 0 ? 0 : n;
        length -= n < 0 ? 0 : (size_t)n;
    }
    return true;
}

/* Writes a record, by one call, so that it is one message of a mailbox; behind what the program has
 * written by <stdio.h>. That is not used here: an AST routine may have interrupted this. */
static int put(const void *string, const char *end)
{
    char short_record[256], *record = short_record;
    size_t after = strlen(end);
    struct text text;
    bool written;

    if (!mega$text_of(string, &text))
        return LIB$_INVSTRDES;
    if (__fpending(stdout) && fflush(stdout) != 0)
        return LIB$_FATERRLIB;
    if (text.length + after > sizeof(short_record) && !(record = malloc(text.length + after)))
        return LIB$_FATERRLIB;
    if (text.length)
        memcpy(record, text.at, text.length);
    memcpy(record + text.length, end, after);
    written = write_all(record, text.length + after);
    if (record != short_record)
        free(record);
    return written ? SS$_NORMAL : LIB$_FATERRLIB;
}

int lib$put_output(const void *message_string) { return put(message_string, "\n"); }

int lib$get_input(void *resultant_string, const void *prompt_string,
                  unsigned short *resultant_length)
{
    char *line = NULL;
    size_t size = 0, stored = 0;
    ssize_t n;
    int status;

    if (isatty(STDIN_FILENO)) {
        if (prompt_string && (status = put(prompt_string, "")) != SS$_NORMAL)
            return status;
        n = mega$prompt_line("", &line, &size);
    } else {
        fflush(stdout);
        n = getline(&line, &size, stdin);
    }
    if (n < 0) {
        free(line);
        return RMS$_EOF;
    }
    if (n && line[n - 1] == '\n')
        n--;
    status = mega$text_store(resultant_string, line, (size_t)n, &stored);
    free(line);
    if (resultant_length)
        *resultant_length = (unsigned short)stored;
    return status == LIB$_STRTRU ? LIB$_INPSTRTRU : status;
}
