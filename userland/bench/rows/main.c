#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../alone.h"
#include "rows.h"

const char *self_path;

void need_at(bool holds, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "rows: a call failed at %s:%d\n", file, line);
    alone_end();
    exit(1);
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values)
{
    qsort(values, ROUNDS, sizeof(*values), compare);
    return values[ROUNDS / 2];
}

static void nothing(unsigned times) { (void)times; }

/* What is measured, and nothing else: scripts/profile --within timed finds it by its name. */
static __attribute__((noinline, noclone)) void timed(const struct row *row)
{
    row->run(row->times);
    __asm__ volatile(""); /* no jump in place of the call, which would leave this function early */
}

/* The median round, in instructions. */
static uint64_t measured(const struct row *row)
{
    uint64_t round[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        uint64_t from;

        if (row->before)
            row->before();
        from = now();
        timed(row);
        round[r] = now() - from;
        if (row->after)
            row->after();
    }
    return median(round);
}

/* Is a row wanted: is it among the names, or are there none? */
static bool chosen(const char *name, char **names)
{
    if (!*names)
        return true;
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static void report(const struct row *rows, char **names)
{
    static const struct row none = {.name = "none", .times = 1, .run = nothing};
    uint64_t clock = measured(&none);

    for (; rows->name; rows++) {
        if (!chosen(rows->name, names))
            continue;
        printf("{\"name\": \"%s\", \"instructions\": %.1f, \"times\": %u}\n", rows->name,
               (double)(measured(rows) - clock) / rows->times, rows->times * ROUNDS);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], LEAVE) == 0)
        _exit(0);
    self_path = argv[0];
    need(alone_begin(self_path));
    report(call_rows, argv + 1);
    report(file_rows, argv + 1);
    report(memory_rows, argv + 1);
    report(process_rows, argv + 1);
    alone_end();
    return 0;
}
