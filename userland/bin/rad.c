/*
 * rad [N [--] COMMAND [ARGUMENT...]]: run a command whose home, and that of its children, is memory
 * domain N. Without arguments: list the domains with their CPUs and pages, and mark the home.
 */
#include <errno.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int list(void)
{
    struct mega_process me;
    struct mega_rad r;

    if (!(mega$info(MEGA_INFO_PROCESS, -1, &me, sizeof(me)) & 1))
        return 1;
    for (int64_t i = 0; mega$info(MEGA_INFO_RAD, i, &r, sizeof(r)) & 1; i++) {
        printf("%c%ld: %lu pages, %lu free, CPUs", (uint64_t)i == me.home_rad ? '*' : ' ', (long)i,
               (unsigned long)r.total, (unsigned long)r.free);
        for (unsigned c = 0; c < 64; c++)
            if ((r.cpus >> c) & 1)
                printf(" %u", c);
        putchar('\n');
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long rad;
    char *end, **command = argv + 2;

    if (argc == 1)
        return list();
    errno = 0;
    rad = strtoul(argv[1], &end, 10);
    if (argc > 2 && strcmp(argv[2], "--") == 0)
        command++;
    if (!*command || errno || *end || end == argv[1]) {
        fprintf(stderr, "usage: rad [N [--] COMMAND [ARGUMENT...]]\n");
        return 2;
    }
    if (mega$control(MEGA_CTL_SET_HOME_RAD, rad, 0, 0, 0, 0) != SS$_NORMAL) {
        fprintf(stderr, "rad: there is no memory domain %lu\n", rad);
        return 1;
    }
    execvp(command[0], command);
    fprintf(stderr, "rad: %s: %s\n", command[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
