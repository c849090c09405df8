/* hexdump [FILE]: sixteen bytes per line, in hexadecimal and as characters. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "r") : stdin;
    unsigned char b[16];
    unsigned long at = 0;
    size_t n;

    if (!f) {
        fprintf(stderr, "hexdump: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    while ((n = fread(b, 1, sizeof(b), f)) > 0) {
        printf("%08lx ", at);
        for (size_t i = 0; i < 16; i++)
            if (i < n)
                printf(" %02x", b[i]);
            else
                printf("   ");
        printf("  ");
        for (size_t i = 0; i < n; i++)
            putchar(b[i] >= ' ' && b[i] < 127 ? b[i] : '.');
        putchar('\n');
        at += n;
    }
    return ferror(f) != 0;
}
