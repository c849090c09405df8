/* swapon: what is in page files; swapon DEVICE...: use disks as page files. By the name swapoff:
 * swapoff DEVICE...: bring back what is in them, and use them no longer. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/swap.h>

static int list(void)
{
    FILE *f = fopen("/proc/swaps", "r");
    int c;

    if (!f) {
        perror("swapon: /proc/swaps");
        return 1;
    }
    while ((c = getc(f)) != EOF)
        putchar(c);
    fclose(f);
    return 0;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    int off = strcmp(name, "swapoff") == 0, status = 0;

    if (argc < 2 && !off)
        return list();
    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: %s DEVICE...\n", name);
        return 2;
    }
    for (int k = 1; k < argc; k++)
        if ((off ? swapoff(argv[k]) : swapon(argv[k], 0)) < 0) {
            fprintf(stderr, "%s: %s: %s\n", name, argv[k], strerror(errno));
            status = 1;
        }
    return status;
}
