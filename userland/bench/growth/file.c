/* Rows of files: names in a directory, descriptors. */
#define _GNU_SOURCE
#include "growth.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES 16 /* operations in a round */

static char name[32];

static const char *numbered(const char *prefix, uint64_t n)
{
    snprintf(name, sizeof(name), "%s%lu", prefix, (unsigned long)n);
    return name;
}

static void create(const char *path)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

    bench_need(fd >= 0 && close(fd) == 0);
}

/* A new directory with n files, which becomes the working directory. */
static void fill_directory(uint64_t n)
{
    char path[64];

    snprintf(path, sizeof(path), "/tmp/growth%u", (unsigned)getpid());
    bench_need(mkdir(path, 0700) == 0 && chdir(path) == 0);
    for (uint64_t i = 0; i < n; i++)
        create(numbered("f", i));
}

/* Remove what fill_directory has made, since files outlive the process. */
static void empty_directory(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        bench_need(unlink(numbered("f", i)) == 0);
    bench_need(chdir("/") == 0);
    snprintf(name, sizeof(name), "/tmp/growth%u", (unsigned)getpid());
    bench_need(rmdir(name) == 0);
}

static double create_file(uint64_t n)
{
    struct bench b = {0};

    fill_directory(n);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (uint64_t i = 0; i < FILES; i++)
            create(numbered("new", i));
        bench_stop(&b);
        for (uint64_t i = 0; i < FILES; i++)
            bench_need(unlink(numbered("new", i)) == 0);
    }
    empty_directory(n);
    return growth_median(&b, FILES);
}

/* The longest of n creations in one directory, at which its index grows. */
static double longest_creation(uint64_t n)
{
    uint64_t longest = 0;

    fill_directory(0);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t began;

        numbered("f", i);
        began = bench_clock();
        create(name);
        began = bench_clock() - began;
        if (began > longest)
            longest = began;
    }
    empty_directory(n);
    return (double)longest;
}

static double stat_file(uint64_t n)
{
    struct bench b = {0};
    struct stat st;

    fill_directory(n);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (uint64_t i = 0; i < FILES; i++)
            bench_need(stat(numbered("f", i * n / FILES), &st) == 0);
        bench_stop(&b);
    }
    empty_directory(n);
    return growth_median(&b, FILES);
}

static double read_entry(uint64_t n)
{
    static char buffer[32768];
    struct bench b = {0};

    fill_directory(n);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        int fd = open(".", O_RDONLY | O_DIRECTORY);

        bench_need(fd >= 0);
        bench_start(&b);
        while (syscall(SYS_getdents64, fd, buffer, sizeof(buffer)) > 0)
            ;
        bench_stop(&b);
        close(fd);
    }
    empty_directory(n);
    return growth_median(&b, n);
}

/* ---- long names whose FNV-1a hash, which many systems use, is the same for all ---- */

#define FNV_SEED 2166136261u
#define STAGES   14u        /* 2^14 names */
#define BLOCK    6u         /* characters in a stage, each one of 32 */
#define BLOCKS   (1u << 20) /* that are tried */
#define SEEN     (1u << 18)

static char block[STAGES][2][BLOCK];

static void block_text(uint32_t number, char *text)
{
    number *= 0x9E3779B1u; /* spread over all blocks */
    for (unsigned i = 0; i < BLOCK; i++)
        text[i] = (char)('A' + (number >> 5 * i & 31));
}

static uint32_t hash_block(uint32_t hash, const char *text)
{
    for (unsigned i = 0; i < BLOCK; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash;
}

/* Find two blocks that lead from this hash to the same one, which is returned. */
static uint32_t find_pair(uint32_t from, char pair[2][BLOCK])
{
    static uint32_t seen[SEEN]; /* number of a block plus 1, at a place given by its hash */

    memset(seen, 0, sizeof(seen));
    for (uint32_t n = 0; n < BLOCKS; n++) {
        uint32_t hash, at;

        block_text(n, pair[0]);
        hash = hash_block(from, pair[0]);
        at = hash % SEEN;
        if (seen[at]) {
            block_text(seen[at] - 1, pair[1]);
            if (hash_block(from, pair[1]) == hash)
                return hash;
        }
        seen[at] = n + 1;
    }
    bench_need(!"two blocks have the same hash");
    return 0;
}

static const char *equal_name(uint64_t n)
{
    static char text[STAGES * BLOCK + 1];

    for (unsigned i = 0; i < STAGES; i++)
        memcpy(text + i * BLOCK, block[i][n >> i & 1], BLOCK);
    return text;
}

static double stat_equal(uint64_t n)
{
    struct bench b = {0};
    uint32_t hash = FNV_SEED;
    struct stat st;

    for (unsigned i = 0; i < STAGES; i++)
        hash = find_pair(hash, block[i]);
    fill_directory(0);
    for (uint64_t i = 0; i < n; i++)
        create(equal_name(i));
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (uint64_t i = 0; i < FILES; i++)
            bench_need(stat(equal_name(i * n / FILES), &st) == 0);
        bench_stop(&b);
    }
    for (uint64_t i = 0; i < n; i++)
        bench_need(unlink(equal_name(i)) == 0);
    empty_directory(0);
    return growth_median(&b, FILES);
}

/* ---- descriptors ---- */

static void raise_descriptors(uint64_t n)
{
    struct rlimit all = {n + 5, n + 5}, old;

    bench_need(getrlimit(RLIMIT_NOFILE, &old) == 0);
    if (old.rlim_cur < n + 5)
        bench_need(setrlimit(RLIMIT_NOFILE, &all) == 0);
}

static void fill_descriptors(uint64_t n)
{
    raise_descriptors(n);
    for (int fd = 0; (uint64_t)fd + 1 < n;) {
        fd = dup(0);
        bench_need(fd >= 0);
    }
}

static double dup_and_close(uint64_t n)
{
    struct bench b = {0};

    fill_descriptors(n);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < FILES; i++)
            bench_need(close(dup(0)) == 0);
        bench_stop(&b);
    }
    return growth_median(&b, FILES);
}

/* One end of a pipe that others wait for, too. */
static double poll_one(uint64_t n)
{
    struct bench b = {0};
    int fds[2];
    pid_t *waiter = calloc(n, sizeof(*waiter));

    bench_need(waiter && pipe(fds) == 0);
    for (uint64_t i = 0; i < n; i++) {
        waiter[i] = fork();
        bench_need(waiter[i] >= 0);
        if (waiter[i] == 0) {
            struct pollfd p = {fds[0], POLLIN, 0};

            poll(&p, 1, -1);
            _exit(0);
        }
    }
    for (uint64_t i = 0; i < n + 10; i++)
        syscall(SYS_sched_yield);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        struct pollfd p = {fds[0], POLLIN, 0};

        bench_start(&b);
        for (int i = 0; i < FILES; i++)
            bench_need(poll(&p, 1, 0) == 0);
        bench_stop(&b);
    }
    bench_need(write(fds[1], "x", 1) == 1);
    for (uint64_t i = 0; i < n; i++)
        bench_need(waitpid(waiter[i], NULL, 0) == waiter[i]);
    return growth_median(&b, FILES);
}

/* ---- locks ---- */

/* Lock all of the file, or none of it. */
static bool lock_all(int fd, short kind)
{
    struct flock l = {.l_type = kind, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

/* Share a file with n who do, each for itself, and try to have it alone. */
static double lock_shared(uint64_t n)
{
    struct bench b = {0};
    int fd = -1;

    raise_descriptors(n);
    for (uint64_t i = 0; i <= n; i++) {
        fd = open("/tmp/growth_lock", O_RDWR | O_CREAT, 0600);
        bench_need(fd >= 0 && lock_all(fd, F_RDLCK));
    }
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < FILES; i++) {
            bench_need(lock_all(fd, F_UNLCK) && lock_all(fd, F_RDLCK));
            bench_need(!lock_all(fd, F_WRLCK));
        }
        bench_stop(&b);
    }
    bench_need(unlink("/tmp/growth_lock") == 0);
    return growth_median(&b, FILES);
}

const struct growth_row growth_file[] = {
    {"create and close a file", "files in the directory", 100, 10000, 1.3, 29000, create_file},
    {"the longest creation of a file", "files in the directory", 1000, 10000, 1.5, 0,
     longest_creation},
    {"stat a file", "files in the directory", 100, 10000, 1.3, 5000, stat_file},
    {"stat a file of a common hash", "files of that hash", 100, 10000, 1.7, 0, stat_equal},
    {"read a directory, each entry", "files in the directory", 100, 10000, 1.5, 500, read_entry},
    {"dup and close", "descriptors", 10, 60000, 1.4, 1000, dup_and_close},
    {"lock and unlock a file", "who share it", 100, 10000, 1.5, 0, lock_shared},
    {"poll a pipe", "processes that poll it", 10, 500, 1.3, 0, poll_one},
    {.name = NULL},
};
