/* Zeroing of free pages by idle CPUs. */
#ifndef MM_PHYS_IDLE_ZERO_H
#define MM_PHYS_IDLE_ZERO_H

/* Make idle CPUs begin to zero pages. Boot, after the system parameters are set. */
void idle_zero_boot(void);

#endif
