/* env [NAME=VALUE...] [COMMAND [ARGUMENT...]] */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    int i = 1;

    (void)argc;
    for (; argv[i] && strchr(argv[i], '='); i++)
        putenv(argv[i]);
    if (argv[i]) {
        execvp(argv[i], argv + i);
        fprintf(stderr, "env: %s: %s\n", argv[i], strerror(errno));
        return errno == ENOENT ? 127 : 126;
    }
    for (char **e = environ; *e; e++)
        puts(*e);
    return 0;
}
