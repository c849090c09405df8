/*
 * Common functions of the benchmarks. Under scripts/run --icount with one CPU an instruction is a
 * nanosecond of virtual time, so CLOCK_MONOTONIC counts user and kernel instructions. Every figure
 * is the median of BENCH_ROUNDS rounds, less the cost of reading the clock; the interval clock
 * interrupts some of the rounds (about 0.1 % of the time).
 *
 * One JSON object per line on standard output:
 *     {"name": "pipe_round_trip", "instructions": 3210.5}
 * "instructions" is per operation. What Linux needs for the same work is measured by a program that
 * runs on both (userland/bench/rows).
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BENCH_ROUNDS 9

static inline uint64_t bench_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The difference between two consecutive readings of the clock. */
static inline uint64_t bench_clock_cost(void)
{
    static uint64_t cost;
    uint64_t least = cost;

    for (int i = 0; cost == 0 && i < 64; i++) {
        uint64_t before = bench_clock(), d = bench_clock() - before;

        if (i == 0 || d < least)
            least = d;
    }
    cost = least;
    return cost;
}

struct bench {
    uint64_t round[BENCH_ROUNDS];
    int n;
    uint64_t started;
};

static inline void bench_start(struct bench *b) { b->started = bench_clock(); }

static inline void bench_stop(struct bench *b)
{
    uint64_t d = bench_clock() - b->started, cost = bench_clock_cost();

    b->round[b->n++] = d > cost ? d - cost : 0;
}

static inline int bench_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Print the median round divided by its number of operations. */
static inline void bench_report(const char *name, struct bench *b, uint64_t operations)
{
    qsort(b->round, (size_t)b->n, sizeof(b->round[0]), bench_compare);
    printf("{\"name\": \"%s\", \"instructions\": %.1f}\n", name,
           (double)b->round[b->n / 2] / (double)operations);
    fflush(stdout);
}

/* Exit with a message unless the condition holds: a benchmark that failed must print no figure. */
#define bench_need(condition)                                                         \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: %s is not so\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#endif
