/* monitor: readings of the system (main.c), and the screen that shows them (screen.c). */
#ifndef MONITOR_H
#define MONITOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <megalith/info.h>

#define CPUS 4

/* How a CPU may spend its time; those that are counted late come first. */
enum { SPIN, INTERRUPT, USER, IDLE, KERNEL, KINDS };
struct column {
    unsigned kind;
    const char *name;
};
struct times {
    uint64_t ns[KINDS]; /* so far */
};
struct reading {
    uint64_t ns; /* monotonic */
    unsigned cpus;
    struct times cpu[CPUS];
    uint64_t ready[CPUS]; /* threads that wait for the CPU */
    struct mega_states states;
};

extern const char *const state_names[MEGA_STATES];
extern const struct column columns[KINDS]; /* in the order in which they are shown */
extern volatile sig_atomic_t interrupted;  /* the program is to end */

/* Print a message; returns 1. */
int fail(const char *ident, const char *text, const char *what);
/* Nanoseconds. */
uint64_t monotonic(void);
/* Take a reading of all CPUs at one moment. False: a message was printed. */
bool take(struct reading *r);
/* Let no counter of *now be below that of *before, and the sums stay right. */
void keep_rising(struct reading *now, const struct reading *before);
/* Seconds from one counter to a later one; 0 if it fell. */
double gained(uint64_t now, uint64_t before);

#endif
