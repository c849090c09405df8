/*
 * Numbers of processes, process groups and sessions. One number may serve as all three, and a group
 * or session keeps its number in use after its first process has ended. So each number has a count
 * of uses, and whoever stores a number in a process holds one use of it.
 *
 * All functions: process table lock held. They run for a bounded time, whatever is in use.
 */
#ifndef KERNEL_PROC_NUMBERS_H
#define KERNEL_PROC_NUMBERS_H

#include "kernel/base/types.h"

/* Numbers are below this, as on Linux by default, or below a larger power of two. */
#define NUMBERS_LEAST 32768u
#define NUMBERS_MOST  131072u /* at most below this */

extern uint32_t numbers_end; /* numbers are below this; constant after boot */
/* Boot: numbers are below n, a power of two from NUMBERS_LEAST to NUMBERS_MOST. counts: n zeroes,
 * for good. */
void numbers_boot(uint32_t *counts, uint32_t n);

/* Allocate the next number above the one allocated last, or above 1 when the end is reached, that
 * is not in use; the caller holds one use of it. One must be free. */
uint32_t number_allocate(void);
/* The first number from n on that may be in use, after at most NUMBERS_STEP words of the bitmap; it
 * is not in use if the search has ended there. numbers_end: no number from n on is in use. */
uint32_t number_next(uint32_t n);
/* One more use of a number that is in use. */
void number_use(uint32_t n);
/* One use less. */
void number_release(uint32_t n);

#endif
