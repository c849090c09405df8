/* The first line of a script: script.h. */
#include "kernel/proc/script.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"

#define LAST (SCRIPT_LINE_MAX - 1) /* where a NUL ends the line at the latest */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static char *skip_blanks(char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

static char *skip_word(char *p, const char *end)
{
    while (p < end && *p && !is_blank(*p))
        p++;
    return p;
}

int script_parse(char *line, size_t n, const char **interp, const char **argument)
{
    char *end, *p;

    if (n < 2 || line[0] != '#' || line[1] != '!')
        return 0;
    memset(line + n, 0, SCRIPT_LINE_MAX - n);
    end = memchr(line, '\n', LAST);
    if (!end) { /* the line may go on behind the buffer, but the name must end within it */
        end = line + LAST;
        if (skip_word(skip_blanks(line + 2, end), end) == end)
            return -ENOEXEC;
    }
    while (end > line + 2 && is_blank(end[-1]))
        end--;
    *end = '\0';
    p = skip_blanks(line + 2, end);
    if (!*p)
        return -ENOEXEC;
    *interp = p;
    p = skip_word(p, end);
    *argument = NULL;
    if (!*p)
        return 1;
    *p++ = '\0';
    p = skip_blanks(p, end);
    if (*p)
        *argument = p;
    return 1;
}
