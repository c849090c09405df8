/*
 * What the programs for the model of a hashed page table say of their work (scripts/bench sizing):
 * the clock before and after it, by which the model's counts are found, and the peak virtual size,
 * by which the VHPT paper sizes the table.
 */
#ifndef WORK_H
#define WORK_H

#include "bench.h"

#include <iledef.h>
#include <jpidef.h>
#include <starlet.h>
#include <string.h>

/* Instructions from the first reading of the clock to the second one in work_clock(). */
static uint64_t work_step;

/* The clock. It is read twice in a row, which tells this reading from all others in what the model
 * saw: where a nanosecond is an instruction, once more if an interrupt came between. Elsewhere the
 * host's time, of a model with many tables too, may always lie between. */
static __attribute__((noinline)) uint64_t work_clock(void)
{
    uint64_t second = 0;

    work_step = UINT64_MAX;
    for (int i = 0; i < 64 && work_step > 1000; i++) {
        uint64_t first = bench_clock();

        second = bench_clock();
        work_step = second - first;
    }
    return second;
}

/* The largest size that the program has had, in bytes. */
static inline uint64_t work_peak(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    uint64_t kib = 0;
    char line[128];

    bench_need(f != NULL);
    while (kib == 0 && fgets(line, sizeof(line), f))
        if (strncmp(line, "VmPeak:", 7) == 0)
            kib = strtoull(line + 7, NULL, 10);
    fclose(f);
    bench_need(kib > 0);
    return kib << 10;
}

/* Page faults of the program so far. */
static inline unsigned work_faults(void)
{
    unsigned faults = 0;
    ILE3 list[] = {{sizeof(faults), JPI$_PAGEFLTS, &faults, NULL}, {0, 0, NULL, NULL}};

    bench_need(sys$getjpiw(0, NULL, NULL, list, NULL, NULL, 0) & 1);
    return faults;
}

/* The next of a fixed sequence of numbers below `limit`. */
static inline uint64_t work_next(uint64_t *seed, uint64_t limit)
{
    *seed = *seed * 6364136223846793005ul + 1442695040888963407ul;
    return (*seed >> 33) % limit;
}

/* Begun at `begin` and done: print how much, and a sum that shows that it was done. */
static inline void work_report(uint64_t begin, uint64_t count, uint64_t sum)
{
    uint64_t end = work_clock();

    printf("{\"begin\": %lu, \"end\": %lu, \"step\": %lu, \"peak\": %lu, \"count\": %lu, "
           "\"sum\": %lu}\n",
           (unsigned long)begin, (unsigned long)end, (unsigned long)work_step,
           (unsigned long)work_peak(), (unsigned long)count, (unsigned long)sum);
}

#endif
