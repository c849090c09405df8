/* Page faults and calls that map memory. A `time` of a row of faults is a page. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rows.h"

#define PAGES 512u
#define RW    (PROT_READ | PROT_WRITE)

static volatile char *area;
static pid_t other;
static int fd;

static void write_pages(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        area[i * PAGE] = 1;
}

static void read_pages(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        (void)area[i * PAGE];
}

static void map_as(int flags)
{
    void *p = mmap(NULL, PAGES * PAGE, RW, flags | MAP_ANONYMOUS, -1, 0);

    need(p != MAP_FAILED);
    area = p;
}

static void map_private(void) { map_as(MAP_PRIVATE); }
static void map_shared(void) { map_as(MAP_SHARED); }
static void unmap(void) { need(munmap((void *)area, PAGES * PAGE) == 0); }
static void unmap_pages(unsigned n) { need(munmap((void *)area, n * PAGE) == 0); }

/* An idle CPU may zero pages in advance. */
static void map_after_idle(void)
{
    map_private();
    need(nanosleep(&(struct timespec){0, 20000000}, NULL) == 0);
}

static void map_written(void)
{
    map_private();
    write_pages(PAGES);
}

static void map_read(void)
{
    map_private();
    read_pages(PAGES);
}

/* ---- memory shared with another process ---- */

/* Start one that lives until stop_other(). It has run when this returns. */
static void start_other(void (*first)(void))
{
    int ready[2];
    char c;

    need(pipe(ready) == 0);
    other = fork();
    need(other >= 0);
    if (other == 0) {
        if (first)
            first();
        need(write(ready[1], "x", 1) == 1);
        for (;;)
            pause();
    }
    need(read(ready[0], &c, 1) == 1);
    close(ready[0]);
    close(ready[1]);
}

static void stop_other(void)
{
    kill(other, SIGKILL);
    need(waitpid(other, NULL, 0) == other);
}

static void map_forked(void)
{
    map_written();
    start_other(NULL);
}

static void map_was_forked(void)
{
    map_forked();
    stop_other();
}

static void unmap_forked(void)
{
    stop_other();
    unmap();
}

static void touch_all(void) { write_pages(PAGES); }

static void map_valid_elsewhere(void)
{
    map_shared();
    start_other(touch_all);
}

/* Every page once, in an order without neighbours: 181 has no factor in common with PAGES. */
static void read_at_random(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        (void)area[i * 181 % PAGES * PAGE];
}

/* ---- calls ---- */

static void map_unmap(unsigned times)
{
    while (times--)
        need(munmap(mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE) == 0);
}

static void map_touch_unmap(unsigned times)
{
    while (times--) {
        volatile char *p = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        *p = 1;
        munmap((void *)p, PAGE);
    }
}

static void protect_pair(unsigned times)
{
    while (times--)
        need(mprotect((void *)area, 128 * PAGE, PROT_READ) == 0 &&
             mprotect((void *)area, 128 * PAGE, RW) == 0);
}

static void grow_shrink(unsigned times)
{
    while (times--) {
        volatile char *p = sbrk(PAGE);

        *p = 1;
        sbrk(-(intptr_t)PAGE);
    }
}

static void populate(int flags)
{
    void *p = mmap(NULL, PAGES * PAGE, RW, flags | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    need(p != MAP_FAILED);
    area = p;
}

static void populate_private(unsigned n)
{
    (void)n;
    populate(MAP_PRIVATE);
}

static void populate_shared(unsigned n)
{
    (void)n;
    populate(MAP_SHARED);
}

static void open_file(void)
{
    static char page[PAGE];

    fd = open("/tmp/mapped", O_RDWR | O_CREAT, 0644);
    need(fd >= 0 && write(fd, page, PAGE) == (ssize_t)PAGE);
}

static void close_file(void)
{
    close(fd);
    unlink("/tmp/mapped");
}

static void map_file(unsigned times)
{
    while (times--) {
        volatile char *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

        (void)*p;
        munmap((void *)p, PAGE);
    }
}

const struct row memory_rows[] = {
    {"demand_zero", PAGES, write_pages, map_private, unmap},
    {"demand_zero_idle", PAGES, write_pages, map_after_idle, unmap},
    {"read_zero", PAGES, read_pages, map_private, unmap},
    {"write_after_read", PAGES, write_pages, map_read, unmap},
    {"unmap", PAGES, unmap_pages, map_written, NULL},
    {"copy_on_write", PAGES, write_pages, map_forked, unmap_forked},
    {"copy_reuse", PAGES, write_pages, map_was_forked, unmap},
    {"shared_first", PAGES, write_pages, map_shared, unmap},
    {"shared_valid", PAGES, read_at_random, map_valid_elsewhere, unmap_forked},
    {"populate_private", PAGES, populate_private, NULL, unmap},
    {"populate_shared", PAGES, populate_shared, NULL, unmap},
    {"mmap_munmap", 100, map_unmap, NULL, NULL},
    {"mmap_touch_munmap", 100, map_touch_unmap, NULL, NULL},
    {"mmap_file_touch", 100, map_file, open_file, close_file},
    {"mprotect_pair", 20, protect_pair, map_written, unmap},
    {"brk_touch", 100, grow_shrink, NULL, NULL},
    {0},
};
