/* What the files of the screen share. */
#ifndef SCREEN_H
#define SCREEN_H

#include "monitor.h"

#include <stddef.h>

struct process {
    struct mega_process now;
    double used, faults, io; /* since the reading before: seconds of CPU; page faults; calls */
};
struct processes {
    struct process *list;
    size_t count, room;
    uint64_t ns; /* when they were read, monotonic */
};
enum order { BY_CPU, BY_MEMORY, BY_FAULTS, BY_IO, BY_NAME, BY_PID };

/* Read all processes, ordered by pid. before: of the last reading, so ordered. False: there is no
 * memory. */
bool take_processes(struct processes *all, const struct processes *before);
void sort_processes(struct processes *all, enum order how, bool reverse);

#endif
