/* Putting the machine up: the primary's first steps, then the other CPUs. */
#ifndef ARCH_ALPHA_ENTRY_START_H
#define ARCH_ALPHA_ENTRY_START_H

#include "kernel/base/types.h"

/* Per-CPU block of this CPU: KGP, entry points, floating point off. Called on each CPU at its
 * start. */
void cpu_enter(unsigned id);
/* Fill in the block of CPU id and the machine's part of its boot thread. */
void cpu_block_boot(unsigned id, uint64_t gp, unsigned whami);
/* On the primary, when the scheduler stands: from here on clock ticks reach it, and panics stop
 * other CPUs. */
void cpu_online(void);
/* Start the other CPUs, one at a time, on page tables ptbr; at most `limit` CPUs in all. Each goes
   to sched_secondary_start(). Returns when all that came up are online; says on the console which
   did not. IPL 0. */
void secondaries_start(uint64_t ptbr, unsigned limit);

#endif
