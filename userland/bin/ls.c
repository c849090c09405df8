/* ls [-l] [-a] [PATH...] */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool long_form, all;

static int print(const char *folder, const char *name)
{
    char path[4096];
    struct stat st;
    char type = '-';

    if (!long_form) {
        puts(name);
        return 0;
    }
    snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name);
    if (lstat(path, &st) < 0) {
        fprintf(stderr, "ls: %s: %s\n", path, strerror(errno));
        return 1;
    }
    if (S_ISDIR(st.st_mode))
        type = 'd';
    else if (S_ISCHR(st.st_mode))
        type = 'c';
    else if (S_ISFIFO(st.st_mode))
        type = 'p';
    else if (S_ISLNK(st.st_mode))
        type = 'l';
    printf("%c%03o %4lu %5u %5u %12ld %s\n", type, st.st_mode & 0777, (unsigned long)st.st_nlink,
           st.st_uid, st.st_gid, (long)st.st_size, name);
    return 0;
}

struct name {
    char *text;
    size_t size; /* with the byte at the end */
};

/* As strcmp, which here takes 11 instructions for each byte that two names have in common. */
static int by_name(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    return memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);
}

static int list(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    struct name *names = NULL;
    size_t n = 0, room = 0;
    int status = 0;

    if (!dir) {
        if (errno == ENOTDIR)
            return print("", path);
        fprintf(stderr, "ls: %s: %s\n", path, strerror(errno));
        return 1;
    }
    while ((e = readdir(dir))) {
        if (e->d_name[0] == '.' && !all)
            continue;
        if (n == room) { /* by one each time, a long list would be copied again and again */
            room = room ? 2 * room : 64;
            names = realloc(names, room * sizeof(*names));
        }
        if (!names || !(names[n].text = strdup(e->d_name))) {
            fprintf(stderr, "ls: %s: %s\n", path, strerror(ENOMEM));
            exit(1);
        }
        names[n].size = strlen(e->d_name) + 1;
        n++;
    }
    closedir(dir);
    if (n)
        qsort(names, n, sizeof(*names), by_name);
    for (size_t i = 0; i < n; i++)
        status |= print(path, names[i].text);
    return status;
}

int main(int argc, char **argv)
{
    int c, status = 0;

    while ((c = getopt(argc, argv, "la")) != -1) {
        if (c == '?')
            return 2;
        long_form |= c == 'l';
        all |= c == 'a';
    }
    if (optind == argc)
        return list(".");
    for (int i = optind; i < argc; i++) {
        if (argc - optind > 1)
            printf("%s:\n", argv[i]);
        status |= list(argv[i]);
    }
    return status;
}
