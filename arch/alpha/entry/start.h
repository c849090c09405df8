/* Putting the machine up: the primary's first steps, then the other CPUs. */
#ifndef ARCH_ALPHA_ENTRY_START_H
#define ARCH_ALPHA_ENTRY_START_H

#include "kernel/main.h"

/* Per-CPU block of this CPU: KGP, entry points, floating point off. Called on each CPU at its
 * start. */
void cpu_enter(unsigned id);
/* Fill in the block of CPU id and the machine's part of its boot thread. */
void cpu_block_boot(unsigned id, uint64_t gp, unsigned whami);
/* For kernel_main: see kernel/main.h. */
extern const struct boot_cpus boot_cpus;

#endif
