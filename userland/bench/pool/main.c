/*
 *     pool [--seed N] [--names N] [--blocks N] [--small N] [--used BYTES] [--users N]
 *          [--transactions N] [--pairs N] [--think US] [--lal N,N...] [--series N]
 *          [--floor 1] [--cost N,N... --cpus N] [--watch SCRIPT [--burst N] [--rest N]]
 *
 * Fragments paged pool into `blocks` free blocks, `small` of them of at most 64 bytes, with `used`
 * bytes in use, by `names` logical names of jobs. Then, for each PAGED_LAL_SIZE of the list, lets
 * users and a bystander work; then lets users work until a shell script has ended.
 *
 * --series  repeats the trial at that many points of the fragmentation, with lookaside lists off
 * --floor   adds a trial whose users take the same mutex but do not use the pool
 * --cost    measures the kernel's own requests with each of these values of PAGED_LAL_SIZE, on one
 *           CPU and on several at once
 * --comb    makes all remainders 48 bytes long and all at once, without a history of replacements
 *
 * Prints one JSON object per line. Times are virtual nanoseconds, which are instructions under
 * --icount on one CPU.
 */
#include "pool.h"

#include <condition.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <sys/mman.h>
#include <test_kernel.h>

struct board *board;
struct options opt = {.seed = 1,
                      .names = 20000,
                      .blocks = 2000,
                      .small = 1500,
                      .users = 4,
                      .transactions = 10,
                      .pairs = 20,
                      .think_us = 20000,
                      .burst = 1,
                      .rest = 1};

void status_need(int status, const char *what)
{
    if (status & 1)
        return;
    fprintf(stderr, "pool: %s: %s\n", what, mega$condition_text(status));
    exit(1);
}

void set_parameter(const char *name, int64_t value)
{
    status_need(mega$control(MEGA_CTL_SET_PARAM, (uint64_t)name, (uint64_t)value, 0, 0, 0),
                "mega$control(SET_PARAM)");
}

static void pause_here(void) { trial("series", 0, 2, WORK_NAMES); }

/* Measure on 1, 2, 4 ... CPUs at once. */
static void costs(void)
{
    for (unsigned i = 0; i < opt.cost_lals; i++)
        for (unsigned cpus = 1; cpus <= opt.cpus; cpus *= 2)
            parallel_cost(opt.cost_lal[i], cpus);
}

static unsigned long number(const char *s)
{
    char *end;
    unsigned long n = strtoul(s, &end, 0);

    bench_need(end != s && *end == '\0');
    return n;
}

static unsigned numbers(char *text, unsigned *to)
{
    unsigned n = 0;

    for (char *s = strtok(text, ","); s && n < 4; s = strtok(NULL, ","))
        to[n++] = (unsigned)number(s);
    return n;
}

int main(int argc, char **argv)
{
    unsigned floor = 0, comb = 0;
    struct {
        const char *name;
        unsigned *to;
    } words[] = {{"--names", &opt.names},
                 {"--blocks", &opt.blocks},
                 {"--small", &opt.small},
                 {"--users", &opt.users},
                 {"--transactions", &opt.transactions},
                 {"--pairs", &opt.pairs},
                 {"--think", &opt.think_us},
                 {"--series", &opt.series},
                 {"--burst", &opt.burst},
                 {"--rest", &opt.rest},
                 {"--cpus", &opt.cpus},
                 {"--comb", &comb},
                 {"--floor", &floor}};

    if (!is_test_kernel()) {
        fprintf(stderr, "pool: %s\n", NEEDS_TEST_KERNEL);
        return 2;
    }
    for (int i = 1; i < argc; i += 2) {
        bool known = false;

        bench_need(i + 1 < argc);
        for (unsigned w = 0; w < sizeof(words) / sizeof(words[0]); w++)
            if (!strcmp(argv[i], words[w].name)) {
                *words[w].to = (unsigned)number(argv[i + 1]);
                known = true;
            }
        if (!strcmp(argv[i], "--seed"))
            opt.seed = number(argv[i + 1]);
        else if (!strcmp(argv[i], "--used"))
            opt.used = number(argv[i + 1]);
        else if (!strcmp(argv[i], "--watch"))
            opt.watch = argv[i + 1];
        else if (!strcmp(argv[i], "--lal"))
            opt.lals = numbers(argv[i + 1], opt.lal);
        else if (!strcmp(argv[i], "--cost"))
            opt.cost_lals = numbers(argv[i + 1], opt.cost_lal);
        else
            bench_need(known);
    }
    bench_need(opt.names <= NAMES_MAX && opt.users <= USERS_MAX && opt.small <= opt.blocks &&
               opt.cpus <= CPUS_MAX);
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench_need(board != MAP_FAILED);
    set_parameter("PAGED_LAL_SIZE", 0);
    names_check(NAME_SMALLEST);
    names_check(208);
    names_check(512);
    links_check();
    landmark_create();
    if (comb)
        pool_comb();
    else
        pool_shatter(pause_here);
    for (unsigned i = 0; i < opt.lals; i++)
        trial("lists", opt.lal[i], opt.transactions, WORK_FULL);
    if (floor)
        trial("floor", 0, opt.transactions, WORK_NONE);
    costs();
    if (opt.watch)
        watched(opt.watch);
    return 0;
}
