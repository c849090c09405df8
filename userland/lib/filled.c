#include <filled.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define NARROW 80
#define WIDEST 4096
#define INDENT 4 /* of a field in a line of its own */

unsigned mega$columns(void)
{
    const char *said = getenv("COLUMNS");
    unsigned long columns = said ? strtoul(said, NULL, 10) : 0;
    struct winsize size;

    if (!columns && ioctl(1, TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    return columns < NARROW ? NARROW : columns > WIDEST ? WIDEST : (unsigned)columns;
}

void mega$print_filled(unsigned indent, const char *format, ...)
{
    unsigned width = mega$columns(), column = 0;
    char text[4096], *p = text;
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    while (*p) {
        int blanks = (int)strspn(p, " "), word = (int)strcspn(p + blanks, " ,\n");

        word += p[blanks + word] == ',';
        if (column > indent && column + (unsigned)(blanks + word) > width) {
            printf("\n%*s", (int)indent, "");
            column = indent;
            p += blanks;
            blanks = 0;
        }
        fwrite(p, 1, (size_t)(blanks + word), stdout);
        column += (unsigned)(blanks + word);
        p += blanks + word;
        if (*p == '\n') {
            putchar(*p++);
            column = 0;
        }
    }
    putchar('\n');
}

void mega$print_first(const char *text, unsigned width)
{
    if (strlen(text) > width)
        printf("%s\n%*s", text, (int)width, "");
    else
        printf("%-*s", (int)width, text);
}

void mega$print_last(unsigned column, const char *text)
{
    if (!*text)
        putchar('\n');
    else if (column + 2 + strlen(text) > mega$columns())
        printf("\n%*s%s\n", INDENT, "", text);
    else
        printf("  %s\n", text);
}
