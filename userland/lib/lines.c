/* Lines of standard input and output. */
#include "descriptor.h"

#include <libdef.h>
#include <megalith/prompt.h>
#include <rmsdef.h>
#include <rtl/misc.h>
#include <ssdef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#undef lib$get_input

static int put(const void *string, const char *end)
{
    struct text text;

    if (!mega$text_of(string, &text))
        return LIB$_INVSTRDES;
    if (text.length)
        fwrite(text.at, 1, text.length, stdout);
    fputs(end, stdout);
    return ferror(stdout) ? LIB$_FATERRLIB : SS$_NORMAL;
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
