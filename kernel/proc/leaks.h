/*
 * The check for leaks, asked for by --validate. When the first process has ended, every other
 * process is killed, the memory of the first one is released and caches are drained. Then the
 * system must be in the state that it had before the first process was created. The exceptions are
 * files, permanent sections, shareable logical names and reservations; each pool block of these is
 * accounted for (mm/check/census.h).
 */
#ifndef KERNEL_PROC_LEAKS_H
#define KERNEL_PROC_LEAKS_H

/* Register the check, to be made when the run has ended (run_hook.h). It panics with the name of
 * what was leaked. Boot only. */
void leaks_at_end(void);

#endif
