/* Initialisation of the CPUs: the primary's first steps, and starting the secondaries. */
#ifndef ARCH_ALPHA_ENTRY_START_H
#define ARCH_ALPHA_ENTRY_START_H

#include "kernel/main.h"

/* Initialise the CPU that runs this, of index id: raise its IPL to the highest, load the address of
   its block (KGP) and the entry points, disable floating point. Its block has been filled in. */
void cpu_enter(unsigned id);
/* Fill in the block of CPU index id, whose hardware id is whami, and the hw part of its boot
   thread. gp is the kernel's GP. Boot, on the primary. */
void cpu_block_boot(unsigned id, uint64_t gp, unsigned whami);
/* The functions that kernel_main calls to start CPUs: kernel/main.h. */
extern const struct boot_cpus boot_cpus;

#endif
