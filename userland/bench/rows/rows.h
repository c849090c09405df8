/*
 * Calls and faults that every kernel of this kind has, each measured by itself: the same static
 * program runs here (scripts/run --icount) and as /init of Linux/Alpha (scripts/linux-base), so
 * that the figures compare the same work. It uses nothing but POSIX and what Linux shares with it.
 *
 * A row is measured in ROUNDS rounds; before() and after() are not measured. run() does the
 * operation `times` times. The figure is the median round divided by `times`. Arguments are the
 * names of rows to be measured; without any, all are.
 */
#ifndef ROWS_H
#define ROWS_H

#include <stdbool.h>
#include <stddef.h>

#define ROUNDS 9
#define PAGE   8192ul

struct row {
    const char *name;
    unsigned times;
    void (*run)(unsigned times);
    void (*before)(void);
    void (*after)(void);
};

/* Each ends with a row without a name. */
extern const struct row call_rows[], file_rows[], memory_rows[], process_rows[];

extern const char *self_path; /* of this program; with the argument LEAVE it exits at once */
#define LEAVE "leave"

/* The program ends if a call that a row depends on has failed. */
void need_at(bool holds, const char *file, int line);
#define need(holds) need_at(holds, __FILE__, __LINE__)

#endif
