/*
 * ls [-l] [-a] [PATH...]
 *
 * Directories that hostile users fill have 80,000 names and more, with 200 characters in common. So
 * the names lie one behind the other in blocks, and are sorted eight bytes at a time.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool long_form, all;

static int print(const char *folder, const char *name, size_t len)
{
    char path[4096];
    struct stat st;
    char type = '-';

    if (!long_form) {
        fwrite_unlocked(name, 1, len, stdout);
        putc_unlocked('\n', stdout);
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

/* ---- names ---- */

#define BLOCK 65536u /* bytes that are allocated at once */

struct name {
    const uint64_t *text; /* up to the byte at its end; the rest of the last quadword is zero */
    size_t quads;
    uint64_t key; /* one quadword of it as a number, while it is sorted */
};

static void *must_have(void *p)
{
    if (!p) {
        fprintf(stderr, "ls: %s\n", strerror(ENOMEM));
        exit(1);
    }
    return p;
}

/* A copy of text, which is never freed. */
static struct name keep(const char *text)
{
    static uint64_t *block;
    static size_t left; /* quadwords */
    size_t size = strlen(text) + 1, quads = (size + 7) / 8;

    if (quads > left) {
        block = must_have(malloc(BLOCK));
        left = BLOCK / 8;
    }
    left -= quads;
    block[left + quads - 1] = 0;
    memcpy(block + left, text, size);
    return (struct name){block + left, quads, 0};
}

static size_t length(const struct name *n)
{
    return 8 * (n->quads - 1) + strlen((const char *)&n->text[n->quads - 1]);
}

/* Load the keys of n names from their quadwords at `depth`, the first byte of which counts most.
 * False: all are the same, and no key was loaded. */
static bool load_keys(struct name *names, size_t n, size_t depth)
{
    size_t i = 1;

    while (i < n && names[i].text[depth] == names[0].text[depth])
        i++;
    if (i == n)
        return false;
    for (i = 0; i < n; i++)
        names[i].key = __builtin_bswap64(names[i].text[depth]);
    return true;
}

static void swap(struct name *a, struct name *b)
{
    struct name was = *a;

    *a = *b;
    *b = was;
}

/* Move the names with keys below the pivot to the front, and those with keys above it to the end.
 * [*low, *high): the others. */
static void divide(struct name *names, size_t n, uint64_t pivot, size_t *low, size_t *high)
{
    size_t i = 0;

    *low = 0;
    *high = n;
    while (i < *high) {
        if (names[i].key < pivot)
            swap(&names[i++], &names[(*low)++]);
        else if (names[i].key > pivot)
            swap(&names[i], &names[--*high]);
        else
            i++;
    }
}

static void sort(struct name *names, size_t n, size_t depth);

/* A quicksort by the keys that are loaded, and of equal keys by the quadwords after `depth`. Its
 * pivots are random: users choose the names. */
static void sort_by_keys(struct name *names, size_t n, size_t depth)
{
    static uint64_t state;
    size_t low, high;

    if (!state)
        state = ((uint64_t)clock() << 32 ^ (uint64_t)time(NULL)) | 1;
    for (; n > 1; names += high, n -= high) {
        state ^= state << 13; /* xorshift */
        state ^= state >> 7;
        state ^= state << 17;
        divide(names, n, names[(state >> 16) % n].key, &low, &high);
        sort_by_keys(names, low, depth);
        sort(names + low, high - low, depth + 1);
    }
}

/* Sort names whose first `depth` quadwords are the same. */
static void sort(struct name *names, size_t n, size_t depth)
{
    if (n < 2)
        return;
    while (depth < names[0].quads && !load_keys(names, n, depth))
        depth++;
    if (depth < names[0].quads) /* else a name twice, as a file system with an error may have it */
        sort_by_keys(names, n, depth);
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
            return print("", path, strlen(path));
        fprintf(stderr, "ls: %s: %s\n", path, strerror(errno));
        return 1;
    }
    while ((e = readdir(dir))) {
        if (e->d_name[0] == '.' && !all)
            continue;
        if (n == room) { /* by one each time, a long list would be copied again and again */
            room = room ? 2 * room : 64;
            names = must_have(realloc(names, room * sizeof(*names)));
        }
        names[n++] = keep(e->d_name);
    }
    closedir(dir);
    sort(names, n, 0);
    for (size_t i = 0; i < n; i++)
        status |= print(path, (const char *)names[i].text, length(&names[i]));
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
