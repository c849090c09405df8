/* The self-check of the whole system: mm/check/validate.h, run with all threads stopped. */
#ifndef KERNEL_PROC_VALIDATE_H
#define KERNEL_PROC_VALIDATE_H

#include "kernel/sched/freeze.h"
#include "mm/check/validate.h"

/* Damage that a test (kernel/test/plant.c) does to the system for the duration of a check, while
 * all other threads are stopped. */
struct validate_damage {
    /* 0, or -ENODEV: there is nothing to damage. */
    int (*damage)(uint64_t number);
    /* Called after the check, whether or not `damage` succeeded. */
    void (*repair)(void);
    uint64_t number;
};

/* Stop all threads, check the system, and let it continue. d: damage, or NULL. 0 with the findings
 * in *r; -ETIMEDOUT with the thread that did not stop in *who; -ENOMEM; -ENODEV: d could not be
 * applied. Called by a process, or by a kernel thread that holds no mutexes. IPL 0; waits, for some
 * seconds at most plus the time of the check. */
int system_validate(const struct validate_damage *d, struct validate_result *r,
                    struct freeze_blocker *who);

/* Register a check of the system for the end of the first process (run_hook.h; scripts/run
 * --validate). It panics when memory is inconsistent or a thread does not stop. Boot only. */
void system_validate_at_end(void);

#endif
