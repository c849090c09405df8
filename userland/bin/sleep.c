/* sleep SECONDS: a fraction is allowed */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    char *end;
    double seconds = argc == 2 ? strtod(argv[1], &end) : -1;
    struct timespec t;

    if (seconds < 0 || *end || seconds > 1e9) {
        fprintf(stderr, "usage: sleep SECONDS\n");
        return 2;
    }
    t.tv_sec = (time_t)seconds;
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
    return 0;
}
