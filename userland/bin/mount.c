/* mount: what is mounted; mount -t ext4 [-o ro|rw[,noload]] DEVICE FOLDER: mount a disk. By the
 * name umount: umount FOLDER...: unmount what is mounted there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static int list(void)
{
    FILE *f = fopen("/proc/mounts", "r");
    int c;

    if (!f) {
        perror("mount: /proc/mounts");
        return 1;
    }
    while ((c = getc(f)) != EOF)
        putchar(c);
    fclose(f);
    return 0;
}

/* Words that are flags are taken out of the options; what is left is for the file system. */
static unsigned long parse(char *options, char *left)
{
    static const struct {
        const char *word;
        unsigned long flag;
    } known[] = {{"ro", MS_RDONLY},         {"rw", 0},
                 {"nosuid", MS_NOSUID},     {"nodev", MS_NODEV},
                 {"noexec", MS_NOEXEC},     {"noatime", MS_NOATIME},
                 {"relatime", MS_RELATIME}, {"defaults", 0}};
    unsigned long flags = 0;

    *left = '\0';
    for (char *word = strtok(options, ","); word; word = strtok(NULL, ",")) {
        size_t k = 0;

        while (k < sizeof(known) / sizeof(known[0]) && strcmp(known[k].word, word) != 0)
            k++;
        if (k < sizeof(known) / sizeof(known[0])) {
            flags |= known[k].flag;
            continue;
        }
        if (*left)
            strcat(left, ",");
        strcat(left, word);
    }
    return flags;
}

static int unmount(int argc, char **argv)
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

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    char *type = "ext4", *options = "", *left;
    unsigned long flags = 0;
    int opt;

    if (strcmp(slash ? slash + 1 : argv[0], "umount") == 0)
        return unmount(argc, argv);
    while ((opt = getopt(argc, argv, "t:o:r")) != -1) {
        if (opt == 't')
            type = optarg;
        else if (opt == 'o')
            options = optarg;
        else if (opt == 'r')
            flags |= MS_RDONLY;
        else
            return 2;
    }
    if (argc == 1)
        return list();
    if (argc - optind != 2) {
        fprintf(stderr, "usage: mount [-t TYPE] [-o OPTION,...] [-r] DEVICE FOLDER\n");
        return 2;
    }
    left = malloc(strlen(options) + 1);
    if (!left)
        return 1;
    flags |= parse(options, left);
    if (mount(argv[optind], argv[optind + 1], type, flags, left) != 0) {
        fprintf(stderr, "mount: %s on %s: %s%s\n", argv[optind], argv[optind + 1], strerror(errno),
                errno == EROFS && !(flags & MS_RDONLY) ? " (try -o ro)" : "");
        return 1;
    }
    return 0;
}
