/* The self-check of the whole system: mm/check/validate.h, with everything stopped. */
#ifndef KERNEL_PROC_VALIDATE_H
#define KERNEL_PROC_VALIDATE_H

#include "kernel/sched/freeze.h"
#include "mm/check/validate.h"

/* Stop the system, check it, let it go on. plant: 0, or the number of an error that is planted
   for the time of the check (mm/check/validate_plant.c), for tests. 0 with *r; -ETIMEDOUT: *who did
   not stop; -ENOMEM; -ENOENT: no such error to plant; -ENODEV: nothing to plant it in. By a
   process, or a thread without one and without mutexes. IPL 0; waits, at most some seconds and the
   check. */
int system_validate(unsigned plant, struct validate_result *r, struct freeze_blocker *who);

/* Boot: the system is to be checked when the first process ends (scripts/run --validate). */
extern bool validate_at_end;
/* Do that: panics when memory is inconsistent, or a thread does not stop. By the first process,
   which has all that it had. IPL 0. */
void system_validate_at_end(void);

#endif
