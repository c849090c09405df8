/* cat [FILE...]: copies files to standard output; - is standard input. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int copy(int fd, const char *name)
{
    static char buffer[65536];
    ssize_t n;

    while ((n = read(fd, buffer, sizeof(buffer))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fprintf(stderr, "cat: %s: %s\n", name, strerror(errno));
            return 1;
        }
        for (ssize_t done = 0; done < n;) {
            ssize_t w = write(1, buffer + done, (size_t)(n - done));

            if (w < 0 && errno == EINTR)
                continue;
            if (w < 0) {
                fprintf(stderr, "cat: write: %s\n", strerror(errno));
                return 1;
            }
            done += w;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0;

    if (argc == 1)
        return copy(0, "standard input");
    for (int i = 1; i < argc; i++) {
        int fd = strcmp(argv[i], "-") ? open(argv[i], O_RDONLY) : 0;

        if (fd < 0) {
            fprintf(stderr, "cat: %s: %s\n", argv[i], strerror(errno));
            status = 1;
            continue;
        }
        status |= copy(fd, argv[i]);
        if (fd)
            close(fd);
    }
    return status;
}
