/* Calls on files and folders of /tmp, a file system in memory. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rows.h"

#define FILE_SIZE (64 * 1024)
#define NAMES     100

static char buffer[FILE_SIZE];
static int fd;

static void open_file(void)
{
    fd = open("/tmp/file", O_RDWR | O_CREAT, 0644);
    need(fd >= 0 && write(fd, buffer, FILE_SIZE) == FILE_SIZE);
}

static void close_file(void)
{
    close(fd);
    unlink("/tmp/file");
}

static void open_close(unsigned times)
{
    while (times--)
        need(close(open("/tmp/file", O_RDONLY)) == 0);
}

static void stat_file(unsigned times)
{
    struct stat st;

    while (times--)
        need(stat("/tmp/file", &st) == 0);
}

static void open_link(void)
{
    open_file();
    need(symlink("file", "/tmp/link") == 0);
}

static void close_link(void)
{
    need(unlink("/tmp/link") == 0);
    close_file();
}

static void stat_link(unsigned times)
{
    struct stat st;

    while (times--)
        need(stat("/tmp/link", &st) == 0);
}

static void fstat_file(unsigned times)
{
    struct stat st;

    while (times--)
        need(fstat(fd, &st) == 0);
}

static void seek(unsigned times)
{
    while (times--)
        lseek(fd, 0, SEEK_SET);
}

static void read_n(unsigned times, size_t n)
{
    while (times--)
        need(pread(fd, buffer, n, 0) == (ssize_t)n);
}

static void read_1(unsigned times) { read_n(times, 1); }
static void read_8k(unsigned times) { read_n(times, 8192); }
static void read_64k(unsigned times) { read_n(times, FILE_SIZE); }

static void write_n(unsigned times, size_t n)
{
    while (times--)
        need(pwrite(fd, buffer, n, 0) == (ssize_t)n);
}

static void write_1(unsigned times) { write_n(times, 1); }
static void write_8k(unsigned times) { write_n(times, 8192); }

static void create_unlink(unsigned times)
{
    while (times--) {
        int f = open("/tmp/new", O_WRONLY | O_CREAT | O_EXCL, 0644);

        need(f >= 0 && write(f, "x", 1) == 1 && close(f) == 0 && unlink("/tmp/new") == 0);
    }
}

static void rename_there_and_back(unsigned times)
{
    for (unsigned i = 0; i < times; i += 2)
        need(rename("/tmp/file", "/tmp/other") == 0 && rename("/tmp/other", "/tmp/file") == 0);
}

/* ---- a hundred files, three folders down ---- */

#define DEEP "/tmp/a/b/c"

static void name_of(char *name, unsigned i) { sprintf(name, DEEP "/file%03u", i); }

static void make_tree(void)
{
    char name[64];

    need(mkdir("/tmp/a", 0755) == 0 && mkdir("/tmp/a/b", 0755) == 0 && mkdir(DEEP, 0755) == 0);
    for (unsigned i = 0; i < NAMES; i++) {
        name_of(name, i);
        need(close(open(name, O_WRONLY | O_CREAT, 0644)) == 0);
    }
}

static void remove_tree(void)
{
    char name[64];

    for (unsigned i = 0; i < NAMES; i++) {
        name_of(name, i);
        need(unlink(name) == 0);
    }
    need(rmdir(DEEP) == 0 && rmdir("/tmp/a/b") == 0 && rmdir("/tmp/a") == 0);
}

static void stat_deep(unsigned times)
{
    struct stat st;
    char name[64];

    name_of(name, NAMES - 1);
    while (times--)
        need(stat(name, &st) == 0);
}

static void list_names(unsigned times)
{
    while (times--) {
        DIR *dir = opendir(DEEP);
        unsigned n = 0;

        need(dir != NULL);
        while (readdir(dir))
            n++;
        need(n == NAMES + 2 && closedir(dir) == 0);
    }
}

static void make_few(void)
{
    char name[64];

    need(mkdir("/tmp/few", 0755) == 0);
    for (unsigned i = 0; i < 12; i++) {
        sprintf(name, "/tmp/few/%02u", i);
        need(close(open(name, O_WRONLY | O_CREAT, 0644)) == 0);
    }
}

static void remove_few(void)
{
    char name[64];

    for (unsigned i = 0; i < 12; i++) {
        sprintf(name, "/tmp/few/%02u", i);
        need(unlink(name) == 0);
    }
    need(rmdir("/tmp/few") == 0);
}

/* Open a folder of twelve names, one call for the names, close it. */
static void list_few(unsigned times)
{
    while (times--) {
        int dir = open("/tmp/few", O_RDONLY | O_DIRECTORY);

        need(dir >= 0 && syscall(SYS_getdents64, dir, buffer, sizeof(buffer)) > 0);
        close(dir);
    }
}

const struct row file_rows[] = {
    {"open_close", 200, open_close, open_file, close_file},
    {"stat", 500, stat_file, open_file, close_file},
    {"stat_link", 200, stat_link, open_link, close_link},
    {"fstat", 500, fstat_file, open_file, close_file},
    {"lseek", 500, seek, open_file, close_file},
    {"pread_1", 500, read_1, open_file, close_file},
    {"pread_8k", 200, read_8k, open_file, close_file},
    {"pread_64k", 50, read_64k, open_file, close_file},
    {"pwrite_1", 500, write_1, open_file, close_file},
    {"pwrite_8k", 200, write_8k, open_file, close_file},
    {"create_write_unlink", 100, create_unlink, NULL, NULL},
    {"rename", 100, rename_there_and_back, open_file, close_file},
    {"stat_deep", 200, stat_deep, make_tree, remove_tree},
    {"readdir_100", 20, list_names, make_tree, remove_tree},
    {"getdents", 100, list_few, make_few, remove_few},
    {0},
};
