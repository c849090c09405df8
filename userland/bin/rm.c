/* rm [-f] FILE...: removes files and empty directories. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int force = argc > 1 && !strcmp(argv[1], "-f"), status = 0;

    for (int i = 1 + force; i < argc; i++)
        if (unlink(argv[i]) < 0 && (errno != EISDIR || rmdir(argv[i]) < 0) &&
            !(force && errno == ENOENT)) {
            fprintf(stderr, "rm: %s: %s\n", argv[i], strerror(errno));
            status = 1;
        }
    return status;
}
