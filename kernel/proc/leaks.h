/*
 * The leak check: when the first process has ended and --validate was asked for, every other
 * process is ended, what the first one had is given back, caches are drained, and the system must
 * be what it was before the first process was made, but for files, permanent sections, shareable
 * names and reservations, each of which is accounted for block by block (mm/check/census.h).
 */
#ifndef KERNEL_PROC_LEAKS_H
#define KERNEL_PROC_LEAKS_H

/* Boot: the check is to be made when the run has ended (run_hook.h). It panics, naming what is left
   over. */
void leaks_at_end(void);

#endif
