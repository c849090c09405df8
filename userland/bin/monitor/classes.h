/* The classes of figures that monitor shows (classes.c). */
#ifndef CLASSES_H
#define CLASSES_H

#include "screen.h"

enum subject { SYSTEM, PROCESSES, PAGE, IO, DISK, POOL, LOCK, SUBJECTS };
extern const char *const subject_names[SUBJECTS];

/* The class of a name, which may be abbreviated; SUBJECTS: there is none, or several. */
enum subject subject_of(const char *name);

/* A figure, by its name: its value, and the average, least and highest of all values so far. The
 * average is over time; a level has lasted since the reading before. */
struct figure {
    char name[48];
    double current, least, most;
    double sum, seconds; /* of values by their time; the time */
    unsigned long readings;
    /* Those of rates are counted up in between. */
    bool rate, seen;
    double counted;
};
struct figures {
    enum subject subject;
    uint64_t ns; /* when they were taken, monotonic */
    struct figure *list;
    size_t count, room;
};

/* Take a reading of a class, one of PAGE and those after it. At the first reading of a class, or if
 * f is of another one, there are no rates. The states are those of now; the lists of processes
 * those of this reading and of the one before. False: there is no memory. */
bool take_figures(struct figures *f, enum subject subject, const struct mega_states *states,
                  const struct processes *now, const struct processes *before);

/* Show a class every interval (ns), until an interrupt, or `ending` ns or `count` readings have
 * passed (count 0: no limit); at a terminal also until q or the end of input. Returns the exit
 * status. */
int screen(enum subject subject, bool terminal, uint64_t interval, uint64_t ending, uint64_t count);

#endif
