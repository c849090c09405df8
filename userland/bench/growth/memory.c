/* Rows of memory: copies after many forks, mappings. */
#include "growth.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE   8192ul
#define COPIES 64ul /* pages that one round copies */

static char *map(uint64_t pages, int prot, int flags)
{
    char *p = mmap(NULL, pages * PAGE, prot, MAP_ANONYMOUS | flags, -1, 0);

    bench_need(p != MAP_FAILED);
    return p;
}

static void write_pages(volatile char *p, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++)
        p[i * PAGE] = 1;
}

/*
 * A process forks, its child forks, and so on for n generations. Every one stays, and writes a page
 * of its own before it forks, so that each has something that the next one inherits. The last
 * generation then writes pages that the first one had written, and that all have shared since.
 */
static double copy_on_write(uint64_t n)
{
    char *area = map(COPIES * BENCH_ROUNDS, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    char *own = map(n, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    double *result = (double *)map(1, PROT_READ | PROT_WRITE, MAP_SHARED);
    struct bench b = {0};
    uint64_t generation;
    int status = 0;
    pid_t pid = 0;

    write_pages(area, COPIES * BENCH_ROUNDS);
    for (generation = 0; generation < n && pid == 0; generation++) {
        own[generation * PAGE] = 1;
        area[0] = 1; /* the newest copy of this page is nearest */
        pid = fork();
        bench_need(pid >= 0);
    }
    if (pid != 0) {
        bench_need(waitpid(pid, &status, 0) == pid && status == 0);
        if (generation > 1)
            _exit(0);
        return *result;
    }
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        write_pages(area + (unsigned)r * COPIES * PAGE, COPIES);
        bench_stop(&b);
    }
    *result = growth_median(&b, COPIES);
    _exit(0);
}

/* Make n mappings that cannot be merged, with a hole of one page behind each. */
static void map_with_holes(uint64_t n)
{
    char *all = map(2 * n, PROT_READ, MAP_PRIVATE);

    bench_need(munmap(all, 2 * n * PAGE) == 0);
    for (uint64_t i = 0; i < n; i++)
        bench_need(mmap(all + 2 * i * PAGE, PAGE, PROT_READ,
                        MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, -1, 0) == all + 2 * i * PAGE);
}

static double map_and_unmap(uint64_t n, uint64_t pages)
{
    struct bench b = {0};

    map_with_holes(n);
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < 16; i++)
            bench_need(munmap(map(pages, PROT_READ | PROT_WRITE, MAP_PRIVATE), pages * PAGE) == 0);
        bench_stop(&b);
    }
    return growth_median(&b, 16);
}

/* One page fits into the first hole; two fit into none. */
static double map_one(uint64_t n) { return map_and_unmap(n, 1); }
static double map_two(uint64_t n) { return map_and_unmap(n, 2); }

const struct growth_row growth_memory[] = {
    {"copy-on-write fault", "generations of fork", 1, 300, 1.1, 7800, copy_on_write},
    {"mmap and munmap of a page", "mappings", 200, 20000, 2.0, 27000, map_one},
    {"mmap and munmap above all holes", "mappings", 200, 20000, 2.0, 27000, map_two},
    {.name = NULL},
};
