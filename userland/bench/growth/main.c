/*
 * growth [--ends] [WORD...]: measure the rows whose names contain one of the words, or all; with
 * --ends only at both ends. One JSON object a line, for each row and size:
 *     {"name": "fork, exit and wait", "beside": "children", "n": 4000, "instructions": 45012.0,
 *      "small": 100, "large": 4000, "most": 1.2, "linux": 150000}
 */
#include "growth.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS 4 /* sizes of a row, in equal ratios */

static const struct growth_row *const tables[] = {growth_file, growth_memory, growth_process,
                                                  growth_service};

/* Measure a row at size n in a process of its own, so that nothing of it is left behind. */
static double measure(const struct growth_row *row, uint64_t n, double *shared)
{
    int status;
    pid_t pid = fork();

    bench_need(pid >= 0);
    if (pid == 0) {
        *shared = row->measure(n);
        _exit(0);
    }
    bench_need(waitpid(pid, &status, 0) == pid);
    if (status != 0) {
        fprintf(stderr, "growth: %s beside %lu %s: status 0x%x\n", row->name, (unsigned long)n,
                row->beside, (unsigned)status);
        exit(1);
    }
    return *shared;
}

static void report(const struct growth_row *row, uint64_t n, double cost)
{
    char other[24] = "null";

    if (row->linux_figure)
        snprintf(other, sizeof(other), "%lu", (unsigned long)row->linux_figure);
    printf("{\"name\": \"%s\", \"beside\": \"%s\", \"n\": %lu, \"instructions\": %.1f, "
           "\"small\": %lu, \"large\": %lu, \"most\": %.2f, \"linux\": %s}\n",
           row->name, row->beside, (unsigned long)n, cost, (unsigned long)row->small,
           (unsigned long)row->large, row->most, other);
    fflush(stdout);
}

/* The size of a step: small at step 0, large at the last one, equal ratios in between. */
static uint64_t size_at(const struct growth_row *row, unsigned step)
{
    double ratio = (double)row->large / (double)row->small, power = 1;
    double each = ratio;

    if (step == 0)
        return row->small;
    if (step == STEPS - 1)
        return row->large;
    for (unsigned i = 0; i < 60; i++) /* Newton: the root of order STEPS - 1 of the ratio */
        each -= (each * each * each - ratio) / (3 * each * each);
    for (unsigned i = 0; i < step; i++)
        power *= each;
    return (uint64_t)((double)row->small * power + 0.5);
}

static bool chosen(const struct growth_row *row, int argc, char **argv)
{
    bool any = false;

    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            continue;
        if (strstr(row->name, argv[i]))
            return true;
        any = true;
    }
    return !any;
}

int main(int argc, char **argv)
{
    bool ends = argc > 1 && !strcmp(argv[1], "--ends");
    double *shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    _Static_assert(STEPS == 4, "size_at takes the third root");
    bench_need(shared != MAP_FAILED);
    bench_clock_cost();
    for (unsigned t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (const struct growth_row *row = tables[t]; row->name; row++)
            for (unsigned step = 0; step < STEPS && chosen(row, argc, argv); step++)
                if (!ends || step == 0 || step == STEPS - 1) {
                    uint64_t n = size_at(row, step);

                    report(row, n, measure(row, n, shared));
                }
    return 0;
}
