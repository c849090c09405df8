// TAP
// RUN: --smp 1 --icount -m 2G
// SECONDS: 120
/*
 * What the end of a process costs: at most PER_PAGE instructions for each page that it frees, data
 * or page table, and FIXED besides, wherever the pages are, also where each is alone in its page
 * table and in a node of an object's index. On one CPU with --icount a nanosecond is an
 * instruction.
 */
#include <descrip.h>
#include <megalith/info.h>
#include <secdef.h>
#include <signal.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>
#include <vadef.h>

#define PAGE     8192ul
#define SPAN     (8ul << 20) /* what a page of page tables maps */
#define GIB      (1ul << 30)
#define PER_PAGE 150
#define FIXED    200000ul

static volatile uint64_t *began; /* shared with the child */

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static char *map(uint64_t bytes, int flags)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0);

    if (p == MAP_FAILED)
        _exit(1);
    return p;
}

static uint64_t dense(void)
{
    map(GIB, MAP_PRIVATE | MAP_POPULATE);
    return GIB / PAGE + GIB / SPAN;
}
static uint64_t apart(void)
{
    char *p = map(8 * GIB, MAP_PRIVATE);
    uint64_t n = 8 * GIB / PAGE / 40;

    for (uint64_t i = 0; i < n; i++)
        p[i * 40 * PAGE] = 1;
    return n + 8 * GIB / SPAN;
}
/* One page at some place in each `span` bytes. */
static void scatter(uint64_t bytes, uint64_t span, int flags)
{
    char *p = map(bytes, flags);

    for (uint64_t i = 0; i < bytes / span; i++)
        p[i * span + i * 2654435761u % (span / PAGE) * PAGE] = 1;
}
static uint64_t sparse(void)
{
    scatter(64 * GIB, SPAN, MAP_PRIVATE);
    return 2 * (64 * GIB / SPAN);
}
static uint64_t far(void)
{
    scatter(2400 * GIB, 8 * GIB, MAP_PRIVATE);
    return 3 * 300;
}
static uint64_t shared(void)
{
    map(GIB / 4, MAP_SHARED | MAP_POPULATE);
    return GIB / 4 / PAGE + GIB / 4 / SPAN;
}
static uint64_t sparse_shared(void)
{
    scatter(64 * GIB, SPAN, MAP_SHARED);
    return 2 * (64 * GIB / SPAN);
}
static uint64_t forked(void)
{
    map(GIB / 4, MAP_PRIVATE | MAP_POPULATE);
    if (fork() == 0) /* its pages are also the parent's, which has half of them copied */
        _exit(0);
    wait(NULL);
    return GIB / 4 / PAGE + GIB / 4 / SPAN;
}
static uint64_t section(unsigned tables)
{
    static const char name[] = "ENDS";
    struct dsc64$descriptor d = {1,  DSC64$K_DTYPE_T,  DSC64$K_CLASS_S,
                                 -1, sizeof(name) - 1, (char *)name};
    struct _generic_64 region;
    uint64_t length;
    void *va;

    sys$create_region_64(2 * GIB, VA$C_REGION_UCREATE_UOWN, tables, &region, &va, &length);
    if (!(sys$crmpsc_gdzro_64(&d, NULL, 0, GIB / 4, &region, 0, 3,
                              SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT, &va, &length) &
          1))
        _exit(1);
    for (uint64_t at = 0; at < length; at += PAGE)
        ((volatile char *)va)[at] = 1;
    return GIB / 4 / PAGE + GIB / 4 / SPAN;
}
static uint64_t fluid(void) { return section(VA$M_SHARED_PTS); }
static uint64_t fluid_private(void) { return section(0); }
static uint64_t mappings(void)
{
    char *p = map(64 * GIB, MAP_PRIVATE);

    for (uint64_t i = 0; i < 4096; i++) /* 8,192 mappings of one page */
        mprotect(p + 2 * i * PAGE, PAGE, PROT_READ);
    return 2 * 4096;
}

static const struct {
    const char *what;
    uint64_t (*fn)(void);
    unsigned per_page;
} kinds[] = {
    {"1 GiB, private", dense, PER_PAGE},
    {"64 GiB, private, a page in each 8 MiB", sparse, PER_PAGE},
    {"2,400 GiB, private, a page in each 8 GiB", far, PER_PAGE},
    {"8 GiB, private, every 40th page", apart, PER_PAGE},
    {"256 MiB, shared", shared, PER_PAGE},
    {"64 GiB, shared, a page in each 8 MiB", sparse_shared, PER_PAGE},
    {"256 MiB, after a fork", forked, PER_PAGE},
    {"256 MiB of a section, shared page tables", fluid, PER_PAGE},
    {"256 MiB of a section, private page tables", fluid_private, PER_PAGE},
    {"8,192 mappings", mappings, 2 * PER_PAGE},
};

int main(void)
{
    began = (void *)map(PAGE, MAP_SHARED);
    for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        uint64_t took;
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            began[1] = kinds[k].fn();
            began[0] = now();
            kill(getpid(), SIGKILL);
        }
        waitpid(pid, &status, 0);
        took = now() - began[0];
        ok(WIFSIGNALED(status) && took <= FIXED + kinds[k].per_page * began[1],
           "%s: %lu instructions, %.1f for each of %lu pages", kinds[k].what, (unsigned long)took,
           (double)took / (double)began[1], (unsigned long)began[1]);
    }
    return tap_done();
}
