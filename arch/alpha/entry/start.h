/* Putting the machine up: the primary's first steps, then the other CPUs. */
#ifndef ARCH_ALPHA_ENTRY_START_H
#define ARCH_ALPHA_ENTRY_START_H

#include "kernel/base/types.h"

/* Per-CPU block of this CPU: KGP, entry points, floating point off. Called on each CPU at its start. */
void cpu_enter(unsigned id);
/* Start the other CPUs, one at a time, on page tables ptbr; at most `limit` CPUs in all. Each calls
   sched_secondary(). Returns when all that came up are online. IPL 0. */
void secondaries_start(uint64_t ptbr, unsigned limit);

#endif
