/* The self-check of the whole system: mm/check/validate.h, with everything stopped. */
#ifndef KERNEL_PROC_VALIDATE_H
#define KERNEL_PROC_VALIDATE_H

#include "kernel/sched/freeze.h"
#include "mm/check/validate.h"

/* Done to the system for the time of a check, by tests (kernel/test/plant.c), while it stands. */
struct validate_damage {
    int (*damage)(uint64_t number); /* 0, or -ENODEV: there is nothing to damage */
    void (*repair)(void);           /* after it, in either case */
    uint64_t number;
};

/* Stop the system, check it, let it go on. d: damage, or NULL. 0 with *r; -ETIMEDOUT: *who did not
   stop; -ENOMEM; -ENODEV: it could not be damaged. By a process, or a thread without one and
   without mutexes. IPL 0; waits, at most some seconds and the check. */
int system_validate(const struct validate_damage *d, struct validate_result *r,
                    struct freeze_blocker *who);

/* Boot: the system is to be checked when the first process ends (run_hook.h; scripts/run
   --validate). It panics when memory is inconsistent, or a thread does not stop. */
void system_validate_at_end(void);

#endif
