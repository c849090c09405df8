/* wc [FILE]: counts lines, words and bytes. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "r") : stdin;
    unsigned long lines = 0, words = 0, bytes = 0;
    int c, inside = 0;

    if (!f) {
        fprintf(stderr, "wc: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    while ((c = getc(f)) != EOF) {
        bytes++;
        lines += c == '\n';
        words += !inside && !isspace(c);
        inside = !isspace(c);
    }
    printf("%lu %lu %lu\n", lines, words, bytes);
    return ferror(f) != 0;
}
