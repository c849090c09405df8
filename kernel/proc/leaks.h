/*
 * The leak check: when the first process has ended and --validate was asked for, every other
 * process is ended, what the first one had is given back, caches are drained, and the system must
 * be what it was before the first process was made, but for files, permanent sections, shareable
 * names and reservations, each of which is accounted for block by block (mm/check/census.h).
 */
#ifndef KERNEL_PROC_LEAKS_H
#define KERNEL_PROC_LEAKS_H

/* Boot: note what there is, if a check is to come. Before the first process is made. IPL 0. */
void leaks_baseline(void);
/* Check, if one was asked for; panics, naming what is left over. By the first process, which has
   given back all but its structure. IPL 0; waits. */
void leaks_check(void);
/* By the first process, before that: end all others. Panics when one does not end. */
void leaks_end_others(void);

/* Private to kernel/proc: account for the first process's arguments. */
struct census;
void first_census(struct census *c);

#endif
