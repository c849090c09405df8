/*
 * /bench/growth: what an operation costs beside few and beside many other things of its kind. Each
 * subject has a file with a table of rows, ended by a row without a name; main.c lists the tables.
 * A row is measured at several sizes from `small` to `large`, each in a process of its own, which
 * sets the scene, measures and exits. make bench fails when the cost at `large` is more than `most`
 * times the cost at `small`.
 */
#ifndef GROWTH_H
#define GROWTH_H

#include "../bench.h"

struct growth_row {
    const char *name;   /* the operation, in words */
    const char *beside; /* what there is more and more of */
    uint64_t small, large;
    double most;           /* bound on cost at large / cost at small */
    uint64_t linux_figure; /* Linux/Alpha at `large`; 0: not measured */
    /* Make n of them, and return the instructions that one operation then takes. Called in a
       process of its own; need not clean up. Ends the process (bench_need) when something fails. */
    double (*measure)(uint64_t n);
};

extern const struct growth_row growth_file[], growth_memory[], growth_process[], growth_service[];

/* The median round of b divided by its number of operations. */
static inline double growth_median(struct bench *b, uint64_t operations)
{
    qsort(b->round, (size_t)b->n, sizeof(b->round[0]), bench_compare);
    return (double)b->round[b->n / 2] / (double)operations;
}

#endif
