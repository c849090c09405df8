/* umount FOLDER...: unmount what is mounted there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

int main(int argc, char **argv)
{
    int status = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: umount FOLDER...\n");
        return 2;
    }
    for (int k = 1; k < argc; k++) {
        if (umount2(argv[k], 0) == 0)
            continue;
        fprintf(stderr, "umount: %s: %s\n", argv[k], strerror(errno));
        status = 1;
    }
    return status;
}
